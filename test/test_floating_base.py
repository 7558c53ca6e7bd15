"""A base that floats: its configuration as a group, its kinematics, and how a robot stands."""

import json
from types import SimpleNamespace

import golden_recordings
import numpy as np
import pinocchio
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task, run_task
from projected_control.apps.experiments.catalogue import Options
from projected_control.control.gains import MotionGains
from projected_control.control.laws.least_contact_force import LeastContactForceController
from projected_control.control.laws.passive import PassiveJointController
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Waypoints
from projected_control.errors import InvalidDescription, InvalidValue, Uncontrollable, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, JointLocked
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.floating_base import BASE
from projected_control.planning import assemble
from projected_control.planning.stance import CONTACT_FORCE, on_feet, stand
from projected_control.resources import share_file
from projected_control.ros.live_changes import prepare_change
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.inspection import inspect
from projected_control.simulation.plant import Plant

FEET = ["front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot"]
LEGS = np.tile([0.0, 0.8, -1.6], 4)
ROBOT = Arm.from_urdf(share_file("urdf", "quadruped.urdf.xacro"), base="floating")
POSE = Coordinates([Coordinate.centre_of_mass("z"), *Coordinate.orientation("trunk")])
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def arm():
    return ROBOT.twin()


def state(seed):
    """A random configuration as Pinocchio has it, and a velocity."""
    random, model = np.random.default_rng(seed), ROBOT.pinocchio_model
    q = np.concatenate([random.uniform(-1, 1, 3), random.normal(size=4), random.uniform(-2, 2, 12)])
    return pinocchio.normalize(model, q), random.normal(size=model.nv)


def standing(seed=0, scale=0.0):
    """Joints near the usual posture, base anywhere near upright."""
    random = np.random.default_rng(seed)
    q = np.concatenate([np.zeros(6), LEGS])
    return q + scale * random.uniform(-1.0, 1.0, q.size)


def test_a_floating_base_is_six_passive_joints_and_pinocchios_q_is_one_longer(arm):
    assert (arm.n, arm.nq, arm.floats) == (18, 19, True)
    assert arm.joint_names[:6] == BASE
    assert arm.passive == set(BASE)
    assert arm.actuated.tolist() == [0.0] * 6 + [1.0] * 12
    assert arm.limits.effort[:6].tolist() == [0.0] * 6
    assert np.isinf(arm.limits.lower).tolist() == [True] * 6 + [False] * 12


@given(seeds)
@settings(max_examples=15)
def test_configurations_are_added_and_subtracted_as_pinocchio_does_it(seed):
    model, (q, step), (other, _) = ROBOT.pinocchio_model, state(seed), state(seed + 1)
    moved = ROBOT.pinocchio_q(ROBOT.moved(q, step))
    assert pinocchio.difference(model, pinocchio.integrate(model, q, step), moved) == pytest.approx(
        np.zeros(18), abs=1e-12
    )
    assert ROBOT.difference(q, other) == pytest.approx(
        pinocchio.difference(model, q, other), abs=1e-9
    )


class HeldByHand(Constraint):
    """A foot held at its place, of which nothing is known but Φ and A."""

    def __init__(self, foot):
        self._foot = foot

    rows, frame = 3, None

    def residual(self, arm):
        return arm.frame(self._foot).position

    def jacobian(self, arm):
        return arm.frame(self._foot).jacobian[:3]


@given(seeds)
@settings(max_examples=15)
def test_the_bias_of_a_constraint_that_gives_none_is_that_of_the_group(seed):
    """Ȧq̇ by differences along q ⊕ q̇ dt: what Pinocchio says of the foot's acceleration."""
    arm, (q, v) = ROBOT.twin(), state(seed)
    arm.update(q, v)
    found = HeldByHand("hind_left_foot").bias(arm)
    assert found == pytest.approx(arm.frame("hind_left_foot").bias[:3], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 3.0, np.pi - 1e-9, np.pi])
def test_half_a_turn_is_no_edge_to_the_group(arm, angle):
    q = standing()
    q[3:6] = angle * np.array([0.6, 0.0, 0.8])
    step = np.full(18, 0.05)
    there = arm.moved(q, step)
    assert np.linalg.norm(there[3:6]) <= np.pi + 1e-12
    assert arm.difference(q, there) == pytest.approx(step, abs=1e-8)


@given(seeds)
@settings(max_examples=15)
def test_frames_move_as_pinocchio_says(seed):
    arm, (q, v) = ROBOT.twin(), state(seed)
    model, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    arm.update(q, v)
    found, number = arm.frame("hind_left_foot"), model.getFrameId("hind_left_foot")
    pinocchio.forwardKinematics(model, data, q, v, np.zeros(18))
    axes = pinocchio.LOCAL_WORLD_ALIGNED
    expected = pinocchio.getFrameClassicalAcceleration(model, data, number, axes).linear
    assert found.bias[:3] == pytest.approx(expected, abs=1e-10)
    jacobian = pinocchio.computeFrameJacobian(model, data, q, number, axes)
    assert found.jacobian == pytest.approx(jacobian, abs=1e-12)


@given(seeds)
@settings(max_examples=15)
def test_least_torque_is_that_of_mistry_and_righetti_and_of_the_law(seed):
    """(I + H) P h by QR: the last rows of Qᵀ are the equations without λ (Mistry 2010)."""
    arm, q = ROBOT.twin(), standing(seed, 0.3)
    model = ConstrainedArm(arm, on_feet(arm, FEET, q), POSE).evaluate(q, np.zeros(18))
    Q, _ = np.linalg.qr(model.A.T, mode="complete")
    free = Q[:, model.rank :].T
    tau = np.linalg.pinv(free[:, 6:]) @ (free @ model.h)
    found = stand(arm, FEET, q)
    assert found.effort == pytest.approx(tau, abs=1e-10)
    law = PassiveJointController(model, MotionGains(1, 1))
    sent = law.stop(q, np.zeros(18)).total
    assert sent[:6].tolist() == [0.0] * 6
    assert sent[6:] == pytest.approx(tau, abs=1e-10)


@given(seeds)
@settings(max_examples=15)
def test_least_contact_force_is_that_of_pinocchios_own_example(seed):
    """static-contact-dynamics.py: the feet's forces carry the base with the least norm."""
    arm, q = ROBOT.twin(), standing(seed, 0.3)
    found = stand(arm, FEET, q, criterion=CONTACT_FORCE)
    arm.update(q, np.zeros(18))
    jacobians = np.vstack([arm.frame(foot).jacobian[:3] for foot in FEET])
    forces = np.linalg.pinv(jacobians[:, :6].T) @ arm.h[:6]
    assert found.forces.reshape(-1) == pytest.approx(forces, abs=1e-9)
    assert found.effort == pytest.approx(arm.h[6:] - jacobians[:, 6:].T @ forces, abs=1e-9)
    model = ConstrainedArm(arm, on_feet(arm, FEET, q), POSE).evaluate(q, np.zeros(18))
    sent = LeastContactForceController(model, MotionGains(1, 1)).stop(q, np.zeros(18)).total
    assert sent[6:] == pytest.approx(found.effort, abs=1e-9)
    assert sent[:6].tolist() == [0.0] * 6


def test_forces_stay_in_their_cones_and_the_least_torque_is_where_they_need_not(arm):
    q, free = standing(), stand(arm, FEET, standing())
    norms = []
    for mu in (0.05, 0.1, 1.0):
        found = stand(arm, FEET, q, friction=mu)
        over = np.abs(found.forces[:, :2]).sum(axis=1) - mu * found.forces[:, 2]
        assert max(over.max(), found.slack, found.acceleration) < 1e-8
        norms.append(found.norm)
    assert norms[0] > norms[1] > norms[2]
    assert norms[2] == pytest.approx(free.norm, abs=1e-9)


def test_two_point_feet_are_refused_and_no_foot_falls(arm):
    with pytest.raises(Uncontrollable, match="cannot give this motion"):
        stand(arm, FEET[:2], standing())
    with pytest.raises(InvalidValue, match="falls"):
        stand(arm, [], standing())


def test_feet_are_put_where_they_are_wanted_with_the_base_anywhere(arm):
    q = standing()
    q[:6] = [0.3, -0.2, 0.1, 0.5, -0.4, 2.9]
    held = on_feet(arm, FEET, standing())
    found = assemble(arm, held, q)
    assert np.linalg.norm(held.residual(arm.update(found, np.zeros(18)))) < 1e-9


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"base": "flying"}, "floating"),
        ({"base": "floating", "passive": ["knee"]}, "knee"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, reason):
    with pytest.raises(UnknownName, match=reason):
        Arm.from_urdf(share_file("urdf", "quadruped.urdf.xacro"), **arguments)


def test_a_base_without_mass_or_with_joints_of_its_names_is_refused():
    with pytest.raises(InvalidValue, match="needs a mass"):
        Arm.from_urdf(share_file("urdf", "seven_joints.urdf"), base="floating")
    text = share_file("urdf", "seven_joints.urdf").read_text()
    first = next(part for part in text.split('"') if part.startswith("joint"))
    with pytest.raises(InvalidDescription, match="base_rx"):
        Arm.from_urdf(text.replace(f'"{first}"', '"base_rx"'), base="floating")


def test_a_quaternion_has_the_length_one_and_the_base_no_coordinates_of_a_joint(arm):
    with pytest.raises(InvalidValue, match="length one"):
        arm.update(np.concatenate([np.zeros(7), LEGS]), np.zeros(18))
    with pytest.raises(InvalidValue, match=r"link\.rx"):
        ConstrainedArm(arm, JointLocked("base_rx", 0.0))
    with pytest.raises(InvalidValue, match=r"link\.rx"):
        ConstrainedArm(arm, None, Coordinates([Coordinate.joint("base_x", arm)]))


def test_a_thrown_robot_keeps_its_momentum_and_energy_beyond_half_a_turn(arm):
    """The plant integrates the base as the group it is: to the order of its method."""
    model, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    plant = Plant(ConstrainedArm(arm), 2e-3)
    v = np.zeros(18)
    v[:6], v[6:] = [1.0, 0.5, 3.0, 4.0, -9.0, 6.0], 0.5
    begin = plant.reset(standing(), v)
    gravity = float(sum(i.mass for i in model.inertias)) * model.gravity.linear

    def momentum(state):
        now = pinocchio.computeCentroidalMomentum(model, data, arm.pinocchio_q(state.q), state.v)
        return np.concatenate([now.linear - gravity * state.time, now.angular])

    before, turns, last = momentum(begin), 0, begin.q
    for _ in range(400):
        plant.step()
        turns += bool(plant.q[3:6] @ last[3:6] < 0.0)
        last = plant.q
    end = plant.state
    assert turns >= 1
    assert np.linalg.norm(end.q[3:6]) <= np.pi + 1e-12
    assert momentum(end) == pytest.approx(before, abs=1e-4)
    assert end.energy == pytest.approx(begin.energy, abs=1e-4)


def test_a_robot_on_its_feet_stands_under_the_least_torque(arm):
    """An unstable equilibrium: it is left slowly, by rounding alone, and never the ground."""
    q = standing()
    feet, effort = on_feet(arm, FEET, q), np.zeros(18)
    effort[6:] = stand(arm, FEET, q).effort
    plant = Plant(ConstrainedArm(arm.twin(), feet), 1e-3)
    plant.reset(q)
    plant.apply(effort)
    assert np.abs(plant.state.acceleration).max() < 1e-9
    for _ in range(100):
        plant.step()
    assert plant.state.residual < 1e-10
    assert np.abs(arm.difference(q, plant.q)).max() < 1e-6


def ran(task, seconds, law="pidc", **more):
    asked = settings_for(task, seconds, "paper", True, {"law": law})
    return run_task(
        asked.case.node, asked.controller.changed(on_cones(**more)), asked.arm, asked.ticks
    )


def on_cones(friction=None):
    """What makes feet of the controller stick that were held both ways."""
    if friction is None:
        return {}
    kind = {"kind": "point_at_point", "directions": [], "one_sided": True, "direction": [0, 0, -1]}
    each = {f"constraints.{foot}.{name}": value for foot in FEET for name, value in kind.items()}
    return each | {"contact.friction": friction}


@pytest.mark.parametrize("law", ["pidc", "least_contact_force", "operational_space"])
def test_a_robot_squats_under_every_law(law):
    run = ran("quadruped", 1.5, law)
    late = run.samples.times > 1.0
    assert np.abs(run.error[late]).max() < 5e-4
    assert np.ptp(run.samples.theta[:, 2]) > 0.03
    assert run.samples.residual.max() < 1e-9
    assert np.abs(run.kept.column("effort")[:, :6]).max() == 0.0


def ground(run):
    """What the ground really exerted on the feet, but for the start, N × 4 × 3."""
    return -run.kept.column("true_multipliers")[2:].reshape(-1, 4, 3)


def used(forces):
    """The largest √(λ_x² + λ_y²)/λ_z of the feet."""
    return (np.linalg.norm(forces[..., :2], axis=-1) / forces[..., 2]).max()


@pytest.mark.parametrize("law", ["pidc", "least_contact_force", "operational_space"])
def test_cones_are_kept_without_a_force_loop_and_cost_nothing_where_they_do_not_bind(law):
    held = ran("quadruped", 1.2, law)
    wide, tight = (ran("quadruped", 1.2, law, friction=mu) for mu in (1.0, 0.1))
    assert (wide.kept.column("effort") == held.kept.column("effort")).all()
    assert used(ground(tight)) <= 0.1
    assert ground(tight)[..., 2].min() > 10.0
    late = tight.samples.times > 1.0
    assert np.abs(tight.error[late]).max() < 1e-5
    assert used(ground(held)) == pytest.approx(
        0.1590 if law != "least_contact_force" else 0, abs=2e-3
    )


def test_within_its_cones_it_stands_by_the_least_torque():
    """Beside SciPy's SLSQP, at an instant of the squat: the same motion, and no less torque."""
    run = ran("quadruped", 0.3, friction=0.1)
    column, model = run.kept.column, run.loop.controller.model
    q, v, sent = (column(name)[-1] for name in ("q", "v", "effort"))
    model.evaluate(q, v, float(column("stamp")[-1]))
    M, A, n = model.M, model.A, model.n
    whole = np.block([[M, -A.T], [A, np.zeros((12, 12))]])
    found = np.linalg.solve(whole, np.concatenate([sent - model.h, model.b]))
    needed = model.h + M @ found[:n]
    facets = np.array([[-np.cos(a), -np.sin(a)] for a in (2 * np.arange(8) + 1) * np.pi / 8])
    cone = np.column_stack([facets, np.full(8, 0.1 * np.cos(np.pi / 8))])
    cones = np.kron(np.eye(4), cone)
    best = scipy.optimize.minimize(
        lambda force: 0.5 * np.sum((needed - A.T @ force)[6:] ** 2),
        found[n:],
        jac=lambda force: -A[:, 6:] @ (needed - A.T @ force)[6:],
        constraints=[
            {"type": "eq", "fun": lambda f: (needed - A.T @ f)[:6], "jac": lambda f: -A.T[:6]},
            {"type": "ineq", "fun": lambda f: cones @ f, "jac": lambda f: cones},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert best.success
    assert (cones @ found[n:]).min() == pytest.approx(0.0, abs=1e-6)
    assert sent[6:] == pytest.approx((needed - A.T @ best.x)[6:], abs=1e-5)


def test_a_foot_swings_where_it_is_asked_to():
    """On three feet, held: the fourth goes up and forward by its own coordinates."""
    arm, q = ROBOT.twin(), standing()
    arm.update(q, np.zeros(18))
    model = ConstrainedArm(
        arm,
        on_feet(arm, FEET[1:], q),
        Coordinates(
            [
                *(Coordinate.centre_of_mass(axis) for axis in "xyz"),
                *Coordinate.orientation("trunk"),
                *(Coordinate.position(FEET[0], axis) for axis in "xyz"),
            ]
        ),
    )
    assert model.k == 9
    loop = ControlLoop(
        PassiveJointController(model, MotionGains(400.0, 40.0)), Constant(np.zeros(model.k))
    )
    plant = Plant(ConstrainedArm(ROBOT.twin(), on_feet(arm, FEET[1:], q)), 1e-3)
    port = SimulatedArm(plant, q)
    loop.controller.hold(q)
    start = model.theta.copy()
    goal = start + np.array([*np.zeros(6), 0.03, 0.0, 0.05])
    loop.set_reference(Waypoints([0.0, 0.5], [start, goal], np.zeros((2, model.k))))
    kept = (runner := Runner(loop, port)).keep(700)
    runner.run(700)
    foot = ROBOT.twin().update(kept.column("true_q")[-1], np.zeros(18)).frame(FEET[0]).position
    before = ROBOT.twin().update(q, np.zeros(18)).frame(FEET[0]).position
    assert foot - before == pytest.approx([0.03, 0.0, 0.05], abs=1e-4)
    assert np.abs(kept.column("effort")[:, :6]).max() == 0.0


def test_least_contact_force_leaves_no_force_to_choose():
    asked = settings_for("quadruped", 1.0, "paper", True, {"law": "least_contact_force"})
    with pytest.raises(InvalidValue, match="leaves no force to choose"):
        build.build_controller(asked.case.node, asked.controller.changed({"force.enabled": True}))


def test_a_cone_changes_while_the_robot_moves_without_a_force_loop():
    asked = settings_for("quadruped", 0.4, "paper", True, {})
    controller = asked.controller.changed(on_cones(0.5))
    runner, _ = ready_task(asked.case.node, controller, asked.arm)
    tight = controller.changed({"contact.friction": 0.1})
    prepare_change(runner.loop, tight, ["contact.friction"], running=True)(runner.loop, 0.0)
    kept = runner.keep(20, 10)
    runner.run(200)
    assert used(-kept.column("true_multipliers")[2:].reshape(-1, 4, 3)) <= 0.1
    with pytest.raises(InvalidValue, match=r"contact\.stiffness"):
        prepare_change(
            runner.loop,
            controller.changed({"contact.stiffness": [1e4]}),
            ["contact.stiffness"],
            running=True,
        )


def test_a_cone_of_feet_that_do_not_stick_is_said_to_keep_nothing():
    node, settled = "passive_joint_controller", settings_for("quadruped", 1.0, "paper", True, {})
    start = settled.arm.simulation.start
    idle = settled.controller.changed({"contact.friction": 0.5})
    kept = settled.controller.changed(on_cones(0.5))
    found = [inspect(node, each, None, start).warnings for each in (idle, kept)]
    assert ["contact.friction keeps no" in " ".join(each) for each in found] == [True, False]


@pytest.mark.parametrize("feet", [[], FEET[:2]])
def test_what_the_motors_cannot_hold_is_said_before_the_start(arm, feet):
    """Free fall leaves the base to no motor, two point feet its turning about the line of them."""
    held = on_feet(arm, feet, standing()) if feet else None
    controller = PassiveJointController(ConstrainedArm(arm, held, POSE), MotionGains(1, 1))
    with pytest.raises(Uncontrollable, match="base_rx"):
        controller.require_controllable(standing())


def test_mujoco_has_the_same_robot(arm):
    """Accelerations, velocities and the way of a thrown robot; the axes of its base differ."""
    pytest.importorskip("mujoco")
    from projected_control.simulation.mujoco_plant import MujocoPlant

    (q, v), effort = state(7), np.random.default_rng(1).normal(size=18)
    plants = [kind(ConstrainedArm(arm.twin()), 1e-4) for kind in (Plant, MujocoPlant)]
    for plant in plants:
        plant.reset(q, v)
        plant.apply(effort)
    ours, theirs = (plant.state for plant in plants)
    assert theirs.acceleration == pytest.approx(ours.acceleration, rel=1e-7, abs=1e-7)
    assert theirs.v == pytest.approx(ours.v, abs=1e-12)
    for _ in range(100):
        for plant in plants:
            plant.step()
    ours, theirs = (plant.state for plant in plants)
    assert arm.difference(ours.q, theirs.q) == pytest.approx(np.zeros(18), abs=2e-3)
    assert theirs.v == pytest.approx(ours.v, abs=2e-2)


def test_a_robot_stands_and_squats_on_mujoco():
    pytest.importorskip("mujoco")
    asked = settings_for("quadruped", 1.5, "paper", True, {})
    arm = asked.arm.changed({"simulation.engine": "mujoco"})
    run = run_task(asked.case.node, asked.controller, arm, asked.ticks)
    late = run.samples.times > 1.0
    assert np.abs(run.error[late]).max() < 5e-3
    assert run.samples.residual.max() < 1e-3


def test_what_was_recorded_replays_with_difference_zero(tmp_path):
    path = tmp_path / "squat.mcap"
    squat = settings_for("quadruped", 0.3, "paper", True, {"recording.file": str(path)})
    golden_recordings.record(squat, ())
    assert golden_recordings.difference(path) == 0.0


def test_reproduce_standing_by_the_least_contact_force(capsys):
    from projected_control.apps.cli import main

    assert main(["reproduce", "standing", "--json", "--criterion", "contact_force"]) == 0
    found = json.loads(capsys.readouterr().out)
    least = stand(ROBOT.twin(), FEET, standing(), criterion=CONTACT_FORCE)
    assert found["criterion"] == CONTACT_FORCE
    assert found["lambda"] == pytest.approx(least.forces.reshape(-1))
    assert found["torque_norm"] > 6.3


def test_a_cone_without_a_solution_is_a_gap_in_the_curve(monkeypatch):
    from projected_control.apps.experiments import standing as experiment

    def fails(*args, friction=None, **more):
        if friction is not None and friction > 0.5:
            raise InvalidValue("not found")
        return stand(*args, friction=friction, **more)

    monkeypatch.setattr(experiment, "stand", fails)
    outcome = experiment.run(Options(), lambda *_: None)
    (line, _) = outcome.pictures[0].draw().axes[0].lines
    solved = experiment.SHOWN <= 0.5
    assert np.isfinite(line.get_ydata()).tolist() == solved.tolist()


def test_where_it_is_not_served_it_is_refused():
    pytest.importorskip("rclpy")
    from projected_control.ros.controller_node import ControllerNode
    from projected_control.ros.simulated_arm import SimulatedArmNode

    asked = settings_for("quadruped", 1.0, "paper", True, {})
    node = SimpleNamespace(kind=asked.case.node)
    with pytest.raises(InvalidValue, match=r"a node cannot have a floating base.*joint_states"):
        ControllerNode._build(node, asked.controller)
    with pytest.raises(InvalidValue, match=r"a node cannot have a floating base.*joint_states"):
        SimulatedArmNode._build(node, asked.arm)


def test_its_tasks_are_refused_where_nodes_would_run_them(capsys):
    from projected_control.apps.cli import main

    assert main(["demo", "--task", "quadruped"]) == 2
    assert "--in-process" in capsys.readouterr().err


def test_reproduce_standing(capsys):
    from projected_control.apps.cli import main

    assert main(["reproduce", "standing", "--json", "--mu", "0.1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["robot"], len(found["effort"])) == ("quadruped", 12)
    assert found["torque_norm"] == pytest.approx(np.linalg.norm(found["effort"]))
    assert sum(found["lambda"][2::3]) == pytest.approx(9.81 * found["mass"])
    for wrong, reason in (
        (["--posture", "1", "2"], "3 angles"),
        (["--robot", "cow"], "solo12"),
        (["--feet", "hoof"], "hoof"),
        (["--mu", "-1"], "mu"),
        (["--feet", *FEET[:3]], "would have to pull at front_left_foot"),
        (["--feet", *FEET[:3], "--mu", "0.5"], "keep it still"),
    ):
        assert main(["reproduce", "standing", "--json", *wrong]) != 0
        assert reason in capsys.readouterr().err
