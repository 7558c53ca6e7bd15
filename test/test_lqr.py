"""Gains by LQR in the subspace that a constraint leaves."""

import json

import numpy as np
import pinocchio
import pytest
import yaml
from scipy.linalg import expm, solve_continuous_are

from projected_control.apps.cli import main
from projected_control.apps.experiments.standing import POSTURE, configuration, feet_of, load
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnLine
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.planning.lqr import LinearMotion, linearise, lqr
from projected_control.planning.stance import on_feet
from projected_control.resources import arms_folder, share_file
from projected_control.simulation.plant import Plant

PEERS = (
    pytest.mark.peers,
    pytest.mark.skipif(arms_folder() is None, reason="example-robot-data is missing"),
)

CRANK = share_file("urdf", "slider_crank.urdf.xacro")


def crank(gravity=9.81):
    arm = Arm.from_urdf(CRANK, passive=["joint_2"], gravity=gravity)
    line = PointOnLine("tip", [0, 0, 0], [1, 0, 0], [0, -1, 0])
    return ConstrainedArm(arm, line, Coordinates.of_joints(["joint_1"]))


def test_a_double_integrator_has_the_gains_of_the_textbook():
    motion = LinearMotion(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [2.0]]), np.zeros(1))
    found = lqr(motion, [9.0, 4.0], 0.25)
    # u = −K x, K = (√(q/r), √(q_v/r + 2 √(q/r)/b)), and G = b K.
    assert found.gain[0] == pytest.approx([6.0, np.sqrt(16.0 + 6.0)])
    assert found.stiffness[0, 0] == pytest.approx(12.0)
    assert found.cost_ratio == pytest.approx(1.0)


def test_the_crank_is_linear_as_its_closed_form_says():
    """(3 − 2 cos 2q) q̈ + 2 sin(2q) q̇² + g cos q = f₁, passive: differentiated at rest."""
    q = np.array([0.6, 2 * np.pi - 1.2])
    motion = linearise(crank(), q)
    inertia = 3.0 - 2.0 * np.cos(1.2)
    assert motion.effort[0] == pytest.approx(9.81 * np.cos(0.6))
    assert motion.A[1] == pytest.approx([9.81 * np.sin(0.6) / inertia, 0.0], abs=1e-6)
    assert motion.B[:, 0] == pytest.approx([0.0, 1.0 / inertia])


def by_pinocchio(arm, feet, q):
    """The centre of mass's acceleration by Pinocchio's own contacts, of q, v and the effort."""
    model, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    contacts = pinocchio.StdVec_RigidConstraintModel()
    datas = pinocchio.StdVec_RigidConstraintData()
    for foot in feet:
        frame = model.frames[model.getFrameId(foot)]
        contacts.append(
            pinocchio.RigidConstraintModel(
                pinocchio.ContactType.CONTACT_3D,
                model,
                frame.parentJoint,
                frame.placement,
                pinocchio.ReferenceFrame.LOCAL,
            )
        )
        datas.append(contacts[-1].createData())
    pinocchio.initConstraintDynamics(model, data, contacts, datas)
    solver = pinocchio.ProximalSettings(1e-15, 1e-12, 20)

    def acceleration(at, v, effort):
        place = arm.pinocchio_q(at)
        a = pinocchio.constraintDynamics(
            model, data, place, v, effort, contacts, datas, solver
        ).copy()
        pinocchio.centerOfMass(model, data, place, v, a)
        return data.acom[0].copy()

    return acceleration


@pytest.mark.parametrize(
    "robot",
    [
        "quadruped",
        pytest.param("solo12", marks=PEERS),
        pytest.param("anymal", marks=PEERS),
    ],
)
def test_a_and_b_are_differences_of_pinocchios_constraint_dynamics(robot):
    """On the reduced model of three robots, about a posture that is not symmetric."""
    arm, known = load(robot)
    feet, q = feet_of(arm), configuration(arm, known, POSTURE)
    q[6:] += 0.1 * np.random.default_rng(3).uniform(-1.0, 1.0, arm.n - 6)
    centre = Coordinates([Coordinate.centre_of_mass(axis) for axis in "xyz"])
    model = ConstrainedArm(arm, on_feet(arm, feet, q), centre)
    motion, rest, step = linearise(model, q), np.zeros(arm.n), 1e-5
    model.evaluate(q, rest)
    ways = np.linalg.pinv(model.J_theta @ model.P)
    effort = np.concatenate([np.zeros(6), motion.effort])
    moves = by_pinocchio(arm.twin(), feet, q)
    assert moves(q, rest, effort) == pytest.approx(np.zeros(3), abs=1e-8)
    for i, way in enumerate(ways.T):
        there, back = (moves(arm.moved(q, s * step * way), rest, effort) for s in (1.0, -1.0))
        assert motion.A[3:, i] == pytest.approx((there - back) / (2.0 * step), abs=1e-4)
        there, back = (moves(q, s * step * way, effort) for s in (1.0, -1.0))
        assert motion.A[3:, 3 + i] == pytest.approx((there - back) / (2.0 * step), abs=1e-6)
    for i, one in enumerate(np.eye(arm.n)[6:]):
        there, back = (moves(q, rest, effort + s * one) for s in (1.0, -1.0))
        assert motion.B[3:, i] == pytest.approx(0.5 * (there - back), abs=1e-8)


def test_gains_are_scipys_on_the_reduced_model_of_a_robot_with_legs():
    from test_floating_base import FEET, POSE, ROBOT, standing

    arm = ROBOT.twin()
    motion = linearise(ConstrainedArm(arm, on_feet(arm, FEET, standing()), POSE), standing())
    Q, R = np.repeat([100.0, 4.0], POSE.size), np.full(12, 30.0**-2)
    found = lqr(motion, Q, R)
    X = solve_continuous_are(motion.A, motion.B, np.diag(Q), np.diag(R))
    expected = np.diag(1.0 / R) @ motion.B.T @ X
    assert found.gain == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.cost_ratio >= 1.0 - 1e-9
    assert np.linalg.eigvals(motion.A - motion.B @ found.gain).real.max() < 0.0


def test_the_plant_falls_as_the_linear_motion_does():
    model, q, e = crank(), np.array([0.6, 2 * np.pi - 1.2]), 1e-4
    motion = linearise(model, q)
    plant = Plant(crank(), 1e-3)
    plant.reset([q[0] + e, 2 * np.pi - 2 * (q[0] + e)])
    for _ in range(200):
        plant.step([motion.effort[0], 0.0])
    assert plant.q[0] - q[0] == pytest.approx((expm(0.2 * motion.A) @ [e, 0.0])[0], rel=1e-3)


def test_what_has_no_gains_is_refused():
    still = LinearMotion(np.diag([1.0, 1.0]), np.array([[0.0], [1.0]]), np.zeros(1))
    with pytest.raises(Uncontrollable, match="Riccati"):
        lqr(still, 1.0, 1.0)
    model, place = crank(), [0.6, 2 * np.pi - 1.2]
    both = Coordinates.of_joints(["joint_1", "joint_2"])
    for coordinates, reason in ((both, "independent"), (None, "coordinates")):
        chosen = ConstrainedArm(model.arm, model.constraint, coordinates)
        with pytest.raises(InvalidValue, match=reason):
            linearise(chosen, place)


def test_tune_lqr_writes_gains_that_are_stable(tmp_path, capsys):
    file = str(share_file("config", "slider_crank.yaml"))
    command = ["tune", file, "--node", "passive_joint_controller", "--lqr", "--out", str(tmp_path)]
    assert main([*command, "--json", "--error", "0.05"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert max(found["spectral_radius"]) < 1.0
    written = yaml.safe_load((tmp_path / "tuned.yaml").read_text())
    gains = written["passive_joint_controller"]["ros__parameters"]
    assert gains["gains.stiffness"] == found["gains.stiffness"]
    assert main([*command, "--error", "1e-9"]) == 2
    assert "would diverge" in capsys.readouterr().err
    assert main(["tune", file, "--error", "0.1"]) == 2
    assert "--lqr" in capsys.readouterr().err
    assert main([*command, "--error", "-1"]) == 2
