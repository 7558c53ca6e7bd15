"""Robots with legs of example-robot-data: torques beside QR, a QP and Pinocchio's dynamics."""

import numpy as np
import pinocchio
import pytest

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import run_task
from projected_control.apps.experiments.standing import POSTURE, configuration, feet_of, load
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import FrameFixed, Stack
from projected_control.model.constraints.poses import DIRECTIONS
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.planning.stance import CONTACT_FORCE, POINT, on_feet, stand
from projected_control.resources import arm_description, arms_folder

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        arms_folder() is None,
        reason="example-robot-data is missing: pip install 'projected_control[arms]'",
    ),
]

TALOS = "arms/talos_data/robots/talos_reduced.urdf"
SOLES = ["left_sole_link", "right_sole_link"]


@pytest.mark.parametrize(
    ("robot", "mu", "norm"),
    [
        ("solo12", None, 1.123153),
        ("solo12", 0.3, 1.169240),
        ("solo12", 0.1, 1.340950),
        ("a1", None, 9.269560),
    ],
)
def test_the_table_of_standing_robots(robot, mu, norm):
    arm, known = load(robot)
    q = configuration(arm, known, POSTURE)
    found = stand(arm, feet_of(arm), q, friction=mu)
    assert found.norm == pytest.approx(norm, abs=2e-6)
    if mu is None:
        needed = {"solo12": 0.327, "a1": 0.224}[robot]
        assert found.friction_needed == pytest.approx(needed, abs=5e-4)


@pytest.mark.parametrize(
    "robot", ["a1", "b1", "go1", "go2", "anymal", "anymal_c", "hyq", "laikago"]
)
def test_every_quadruped_stands_on_what_it_weighs(robot):
    arm, known = load(robot)
    found = stand(arm, feet_of(arm), configuration(arm, known, POSTURE))
    mass = sum(inertia.mass for inertia in arm.pinocchio_model.inertias)
    assert found.forces.sum(axis=0) == pytest.approx([0.0, 0.0, 9.81 * mass], abs=1e-8)


def test_the_least_contact_force_of_solo12_is_that_of_pinocchios_own_example():
    """examples/static-contact-dynamics.py, by Pinocchio's functions alone: LOCAL frames, pinv."""
    arm, known = load("solo12")
    q, feet, model = configuration(arm, known, POSTURE), feet_of(arm), arm.pinocchio_model
    data, place, rest = model.createData(), arm.pinocchio_q(q), np.zeros(arm.n)
    gravity = pinocchio.rnea(model, data, place, rest, rest)
    pinocchio.framesForwardKinematics(model, data, place)
    numbers = [model.getFrameId(foot) for foot in feet]
    J = np.vstack(
        [
            pinocchio.computeFrameJacobian(model, data, place, i, pinocchio.LOCAL)[:3]
            for i in numbers
        ]
    )
    pinocchio.framesForwardKinematics(model, data, place)
    forces = np.linalg.pinv(J[:, :6].T) @ gravity[:6]
    turned = [data.oMf[i].rotation @ f for i, f in zip(numbers, forces.reshape(4, 3), strict=True)]
    found = stand(arm, feet, q, criterion=CONTACT_FORCE)
    assert found.effort == pytest.approx(gravity[6:] - J[:, 6:].T @ forces, abs=1e-9)
    assert found.forces == pytest.approx(np.array(turned), abs=1e-9)


def scene(name, seed):
    """A robot at a random state on its feet: model, q, v and an acceleration that fits."""
    random = np.random.default_rng(seed)
    if name.startswith("talos"):
        arm = Arm.from_urdf(arm_description(TALOS), base="floating")
        q = 0.3 * random.uniform(-1.0, 1.0, arm.n)
        held = on_feet(arm, SOLES, q, DIRECTIONS)
        if name == "talos, rows that repeat":
            twin = arm.twin().update(q, np.zeros(arm.n))
            again = FrameFixed("leg_left_6_link", POINT, twin.frame("leg_left_6_link").position)
            held = Stack([held, again], ["soles", "again"])
    else:
        arm, known = load(name)
        q = configuration(arm, known, POSTURE) + 0.3 * random.uniform(-1.0, 1.0, arm.n)
        held = on_feet(arm, feet_of(arm), q)
    model = ConstrainedArm(arm, held).evaluate(q, np.zeros(arm.n))
    v = model.P @ random.normal(size=arm.n)
    model.evaluate(q, v)
    return model, q, v, model.P @ random.normal(size=arm.n) + model.A_pinv @ model.b


SCENES = ["solo12", "anymal", "talos", "talos, rows that repeat"]


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("seed", range(5))
def test_least_torque_is_that_of_qr_and_of_a_qp(name, seed):
    quadprog = pytest.importorskip("quadprog")
    model, q, v, acceleration = scene(name, seed)
    found = inverse_dynamics(model, q, v, acceleration).effort[6:]
    model.evaluate(q, v)
    needed = model.h + model.M @ acceleration
    Q, _ = np.linalg.qr(model.A.T, mode="complete")
    _, sigma, Vt = np.linalg.svd(model.A)
    free = Vt[model.rank :] if model.rank < model.m else Q[:, model.rank :].T
    assert sigma[model.rank - 1] > 1e-6
    by_qr = np.linalg.pinv(free[:, 6:]) @ (free @ needed)
    assert found == pytest.approx(by_qr, abs=1e-10 * max(1.0, np.abs(found).max()))
    # min ‖τ‖² + ε‖λ‖²,  Sᵀτ − Aᵀλ = h + M q̈, in the rows that say something.
    m, motors = model.rank, model.n - 6
    rows = np.linalg.svd(model.A, full_matrices=False)[2][:m]
    G = np.diag(np.r_[np.ones(motors), np.full(m, 1e-9)])
    C = np.hstack([np.vstack([np.zeros((6, motors)), np.eye(motors)]), -rows.T])
    solved = quadprog.solve_qp(G, np.zeros(motors + m), C.T, needed, model.n)[0]
    assert found == pytest.approx(solved[:motors], abs=1e-6 * max(1.0, np.abs(found).max()))


@pytest.mark.parametrize("name", SCENES[:3])
def test_under_these_torques_it_moves_as_pinocchio_says(name):
    model, q, v, acceleration = scene(name, 11)
    effort, arm = inverse_dynamics(model, q, v, acceleration).effort, model.arm
    inner, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    place, rest, axes = arm.pinocchio_q(q), np.zeros(arm.n), pinocchio.LOCAL_WORLD_ALIGNED
    M, h = pinocchio.crba(inner, data, place), pinocchio.rnea(inner, data, place, v, rest)
    M = np.triu(M) + np.triu(M, 1).T
    pinocchio.forwardKinematics(inner, data, place, v, rest)
    pinocchio.updateFramePlacements(inner, data)
    rows, bias = [], []
    for foot in SOLES if name == "talos" else feet_of(arm):
        number, size = inner.getFrameId(foot), 6 if name == "talos" else 3
        J = pinocchio.computeFrameJacobian(inner, data, place, number, axes)
        drift = pinocchio.getFrameClassicalAcceleration(inner, data, number, axes).vector
        rows.append(J[:size])
        bias.append(drift[:size])
    J, gamma = np.vstack(rows), np.concatenate(bias)
    m = gamma.size
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.lstsq(whole, np.concatenate([effort - h, -gamma]), rcond=1e-12)[0]
    assert acceleration == pytest.approx(expected[: arm.n], abs=1e-6)


@pytest.mark.parametrize(
    "task", ["stand_still", "squat", "anymal_stand_still", "anymal_squat", "lean"]
)
@pytest.mark.parametrize("engine", ["built_in", "mujoco"])
def test_tasks_of_robots_with_legs(task, engine):
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    asked = settings_for(task, 1.6, "paper", True, {})
    arm = asked.arm.changed({"simulation.engine": engine})
    run = run_task(asked.case.node, asked.controller, arm, asked.ticks)
    late = run.samples.times > 1.0
    bound = 5e-4 if engine == "built_in" else 5e-3
    assert np.abs(run.error[late]).max() < bound
    moved = np.ptp(run.samples.theta[late], axis=0).max()
    assert moved < 1e-3 if "still" in task else moved > 0.02
    if task == "lean":  # 5 cm to both sides
        aside = run.samples.theta[:, 1] - 0.001221
        assert [aside.max(), aside.min()] == pytest.approx([0.05, -0.05], abs=bound)
