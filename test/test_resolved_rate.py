"""Resolved-rate control: velocities for tasks by priority, on the constraint, within limits."""

import golden_recordings
import numpy as np
import pytest
from arms import spatial_model, state_on

from projected_control import Runner, SimulatedArm
from projected_control.apps.bench.tick_cases import SETUPS
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.compiled import COMPILED
from projected_control.control import (
    ComputedTorqueController,
    Limits,
    MotionGains,
    Posture,
    ResolvedRateController,
)
from projected_control.control.events import Action, Event
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines, Waypoints
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.native import library
from projected_control.native.plant_file import plant_sections
from projected_control.native.session import begin_sections
from projected_control.native.simulation import NativeSimulation
from projected_control.native.updates import Status, Update, encode
from projected_control.runs.port import SteppedArm
from projected_control.runs.recording import read_recording
from projected_control.runs.simulated import require_efforts
from projected_control.simulation import Plant

T = 1e-3
GAINS = MotionGains(40.0, 8.0)  # K = 5 1/s


def slider(coordinates=("tip.x",), **options):
    """The planar arm on its slider, in the middle of its reach; model and start."""
    setup = SETUPS[3]
    arm, q = setup.load(()), np.array(setup.start)
    constraint = setup.constraint(arm.update(q, np.zeros(3)))
    followed = [
        Coordinate.position("tip", "x") if name == "tip.x" else Coordinate.joint(name)
        for name in coordinates
    ]
    model = ConstrainedArm(arm, constraint, Coordinates(followed), **options)
    return model.evaluate(q, np.zeros(3)), q


def driven(model, q, *, drive=200.0, period=T):
    """A simulated arm with drives."""
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint), period)
    plant.drive = drive
    return SimulatedArm(plant, q, period=period)


def ran(controller, reference, q, ticks, limits=None, **options):
    """Rows of a run."""
    loop = ControlLoop(controller, reference, limits=limits)
    runner = Runner(loop, driven(controller.model, q, **options))
    runner.open()
    kept = runner.keep(ticks)
    for _ in range(ticks):
        runner.step()
    return kept


def asked(controller, q, v, motion):
    """q̇ of a controller at a state, for θ_d and θ̇_d."""
    controller.motion[0], controller.motion[1] = motion
    return np.array(controller.update(q, v).total)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_stadelmanns_formula_in_the_free_directions(seed):
    """Two levels by pseudo-inverses of their own, the constraint the first: 1e-10."""
    model = spatial_model()
    q, v = state_on(model, seed)
    random = np.random.default_rng(seed)
    levels = np.array((1, 2, 2, 3)[: model.k])
    controller = ResolvedRateController(model, GAINS, levels, T)
    controller.set_posture(Posture(tuple(q + 0.1), 9.0, 0.0))
    model.evaluate(q, v)
    wished = model.theta + random.uniform(-0.05, 0.05, model.k), random.normal(size=model.k)
    found = asked(controller, q, v, wished)
    J, N = np.array(model.J_theta), np.array(model.P)
    target = wished[1] + 5.0 * (wished[0] - model.theta)
    expected = np.zeros(model.n)
    for level in (1, 2, 3):
        rows = levels == level
        inverse = np.linalg.pinv(J[rows] @ N, rcond=1e-9)
        expected += inverse @ (target[rows] - J[rows] @ expected)
        N = N - inverse @ (J[rows] @ N)
    expected += N @ (3.0 * (q + 0.1 - q))
    assert found == pytest.approx(expected, abs=1e-8)
    assert np.abs(model.A @ found).max() < 1e-10


def test_the_error_dies_away_as_its_gains_say():
    """ė = −K e, K = G_P / G_D = 5/s, but for what drives of 200/s are late: K/D = 2.5 %."""
    model, q = slider()
    goal = Constant(model.theta + 0.05)
    error = ran(ResolvedRateController(model, GAINS, period=T), goal, q, 600).column("error")[:, 0]
    times = T * np.arange(error.size)
    assert np.abs(error - 0.05 * np.exp(-5.0 * times)).max() < 0.025 * 0.05


def test_it_follows_a_moving_reference_on_a_constraint_that_moves():
    """With ẋ_d fed forward the error is that of the drives alone; ‖Φ‖ stays at rounding."""
    model, q = slider()
    plane = Moving(model.constraint, Sines(np.zeros(1), [[Sine(0.01, 0.5, 0.0)]]))
    model = ConstrainedArm(model.arm, plane, model.coordinates).evaluate(q, np.zeros(3))
    reference = Sines(np.array(model.theta), [[Sine(0.05, 0.4, 0.0)]])
    kept = ran(ResolvedRateController(model, GAINS, period=T), reference, q, 1500)
    assert np.abs(kept.column("error")[700:]).max() < 2e-3
    assert kept.column("true_residual").max() < 1e-9


def test_a_lower_task_never_moves_a_higher_one():
    """Joint 1 has the direction that the tip leaves, and costs it what one sample bends: 0.1 mm."""
    model, q = slider(("tip.x", "joint_1", "joint_2"))
    alone, _ = slider()
    goal = model.theta + np.array([0.04, 0.5, -0.5])
    controller = ResolvedRateController(model, GAINS, (1, 2, 3), T)
    both = ran(controller, Constant(goal), q, 800)
    tip = ran(ResolvedRateController(alone, GAINS, period=T), Constant(goal[:1]), q, 800)
    assert both.column("error")[:, 0] == pytest.approx(tip.column("error")[:, 0], abs=2e-4)
    assert abs(both.column("error")[-1, 1]) < 0.02  # two free directions: joint 1 has the other
    assert abs(both.column("error")[-1, 2]) > 0.1


@pytest.mark.parametrize("velocity", [0.3, 1.0])
def test_velocities_stay_below_their_limits_in_every_tick(velocity):
    """What is sent by 1 %, and what the arm does; the whole slows down, the path waits for it."""
    model, q = slider()
    limits = Limits.of(model.arm, velocity=velocity)
    away = model.theta + 0.15
    points = Waypoints([0.0, 0.2, 2.0], [model.theta, away, away], order=3)
    kept = ran(ResolvedRateController(model, GAINS, period=T), points, q, 1500, limits)
    assert np.abs(kept.column("effort")).max() <= 0.99 * velocity + 1e-12
    assert np.abs(kept.column("true_v")).max() <= velocity
    seen = Event(int(np.bitwise_or.reduce(kept.column("events").astype(np.int64).reshape(-1))))
    assert Event.VELOCITY_HELD in seen
    assert Event.VELOCITY_LIMIT not in seen
    assert kept.column("motion_share").min() < 1.0
    assert abs(kept.column("error")[-1, 0]) < 0.01
    sent, A = kept.column("effort"), []
    for place in kept.column("q"):
        model.evaluate(place, np.zeros(3))
        A.append(model.A[0].copy())
    assert np.abs(np.sum(np.array(A) * sent, axis=1)).max() < 1e-9  # slower, never aside


def test_a_joint_comes_near_the_end_of_its_range_and_never_beyond():
    """0.1 s away from it at any speed; it waits there, and comes back when it is asked to."""
    model, q = slider()
    joint = 1
    lower = model.arm.limits.lower.copy()
    upper = model.arm.limits.upper.copy()
    controller = ResolvedRateController(model, GAINS, period=T)
    free = ran(controller, Constant(model.theta - 0.08), q, 1500).column("q")
    moved = free[-1] - free[0]
    joint = int(np.argmax(np.abs(moved)))
    end = q[joint] + 0.5 * moved[joint]
    (upper if moved[joint] > 0.0 else lower)[joint] = end
    model.evaluate(q, np.zeros(3))
    limits = Limits.of(model.arm, lower=lower, upper=upper)
    controller = ResolvedRateController(model, GAINS, period=T)
    kept = ran(controller, Constant(model.theta - 0.08), q, 2500, limits)
    beyond = (kept.column("true_q")[:, joint] - end) * np.sign(moved[joint])
    assert beyond.max() <= 0.0
    assert beyond.max() > -0.01
    events = kept.column("events").astype(np.int64).reshape(-1)
    assert Event.RANGE_HELD in Event(int(events[-1]))
    assert not np.any(events & int(Event.POSITION_LIMIT))


def test_a_stop_dies_away_within_half_a_second():
    """A reference that jumps: velocities fall with the damping of a stop, then rest."""
    model, q = slider()
    controller = ResolvedRateController(model, GAINS, period=T)
    reference = Sines(np.array(model.theta), [[Sine(0.1, 1.0, 0.0)]])
    loop = ControlLoop(controller, reference)
    runner = Runner(loop, driven(model, q))
    runner.open()
    for _ in range(100):
        runner.step()
    before = np.abs(loop.guard.sent).max()
    loop.set_reference(Constant(model.theta + 3.0))
    sizes = [np.abs(runner.step().report.effort).max() for _ in range(600)]
    assert loop.report.action is Action.STOP
    assert before > 0.1
    assert sizes[0] == pytest.approx(before, rel=0.05)
    assert sizes[-1] < 0.01 * before


def test_a_state_that_is_not_finite_holds_the_velocity_shortly_and_then_sends_zero():
    model, q = slider()
    loop = ControlLoop(ResolvedRateController(model, GAINS, period=T), Constant(model.theta + 0.1))
    loop.begin(RawState(q, np.zeros(3), 0.0))
    held = loop.update(RawState(q, np.zeros(3), 0.0)).effort.copy()
    assert np.abs(held).max() > 0.1
    lost = RawState(np.full(3, np.nan), np.zeros(3), T)
    sent = [loop.update(lost._replace(stamp=T * (1 + i))).effort.copy() for i in range(200)]
    np.testing.assert_array_equal(sent[0], held)
    assert not sent[-1].any()


def test_a_push_is_an_effort_to_a_drive_too():
    """The arm gives way by what the push is over the drive's bandwidth, and no more."""
    model, q = slider()
    loop = ControlLoop(ResolvedRateController(model, GAINS, period=T), Constant(model.theta))
    arm = driven(model, q)
    runner = Runner(loop, arm)
    runner.open()
    arm.push[:] = [0.0, 0.0, 2.0]
    for _ in range(400):
        runner.step()
    tip = abs(runner.loop.controller.error[0, 0])
    assert 1e-4 < tip < 0.1


# What takes it, and what does not


def test_efforts_and_velocities_are_not_mistaken_for_each_other():
    model, q = slider()
    law = ResolvedRateController(model, GAINS, period=T)
    with pytest.raises(InvalidValue, match=r"resolved_rate sends velocities, and this arm takes e"):
        Runner(ControlLoop(law, Constant(model.theta)), driven(model, q, drive=0.0)).open()
    port = SteppedArm(3)
    port.put(q, np.zeros(3), 0.0)
    with pytest.raises(InvalidValue, match="velocities are for simulated arms in process"):
        Runner(ControlLoop(law, Constant(model.theta)), port).open()
    joints = ConstrainedArm(model.arm, None, Coordinates.of_joints(model.arm.joint_names))
    torque = ComputedTorqueController(joints, GAINS, T)
    with pytest.raises(InvalidValue, match="sends efforts, and this arm takes velocities"):
        Runner(ControlLoop(torque, Constant(q)), driven(model, q)).open()


def test_drives_are_refused_where_efforts_are_commanded():
    """By nodes, and by a controller manager."""
    model, q = slider()
    with pytest.raises(InvalidValue, match="what a controller manager commands are efforts"):
        plant_sections(driven(model, q))
    with pytest.raises(InvalidValue, match="leave it out, or run in process"):
        require_efforts(driven(model, q), "a node's commands")
    require_efforts(driven(model, q, drive=0.0), "a node's commands")


def test_what_was_recorded_replays_with_difference_zero(tmp_path):
    """By parameters, as `demo --in-process` runs it: the reference is followed, too."""
    path = tmp_path / "rate.mcap"
    own = {"law": "resolved_rate", "simulation.drive": 200.0, "recording.file": str(path)}
    asked = settings_for("motion", 0.4, "paper", True, own)
    golden_recordings.record(asked, ())
    assert golden_recordings.difference(path) == 0.0
    recording = read_recording(path)
    assert np.abs(recording.column("error")).max() < 0.01
    assert np.ptp(recording.column("theta")[:, 0]) > 1e-3


@pytest.mark.parametrize(
    ("drive", "reason"), [(2000.0, "at most 1000 1/s"), (-1.0, "drive must"), (np.nan, "drive")]
)
def test_a_drive_that_cannot_be_is_refused(drive, reason):
    model, q = slider()
    with pytest.raises(InvalidValue, match=reason):
        driven(model, q, drive=drive)


def test_joints_without_a_motor_have_no_drive():
    arm, q = SETUPS[3].load(("joint_3",)), np.array(SETUPS[3].start)
    constraint = SETUPS[3].constraint(arm.update(q, np.zeros(3)))
    model = ConstrainedArm(arm, constraint, Coordinates.of_joints(["joint_1"]))
    with pytest.raises(InvalidValue, match="joint_3 have none of: take another law"):
        ResolvedRateController(model, GAINS, period=T)
    with pytest.raises(InvalidValue, match="a motor at every joint, and joint_3 has none"):
        driven(model, q)


REASON = library.reason_against() if COMPILED else "the kernels are not compiled"
native = pytest.mark.skipif(bool(REASON), reason=f"no native loop: {REASON}")


@native
def test_a_native_run_is_the_python_run():
    """Law, bounds and drives in C++: bit for bit."""
    model, q = slider()
    reference = Sines(np.array(model.theta), [[Sine(0.1, 1.0, 0.0)]])
    limits = Limits.of(model.arm, velocity=0.5)
    kept = ran(ResolvedRateController(model, GAINS, period=T), reference, q, 500, limits)
    again, _ = slider()
    loop = ControlLoop(ResolvedRateController(again, GAINS, period=T), reference, limits=limits)
    hardware = driven(again, q)
    Runner(loop, hardware).open()
    rows = NativeSimulation(loop, hardware).run(500).rows
    for name in ("effort", "true_q", "true_v", "error", "events", "motion_share"):
        np.testing.assert_array_equal(rows.column(name), kept.column(name), err_msg=name)


@native
def test_the_plugin_refuses_it():
    from acting import Acting

    model, _ = slider()
    loop = ControlLoop(ResolvedRateController(model, GAINS, period=T), Constant(model.theta))
    silence = silence_array(model.m, model.k, SilenceAnswer.STOP, 0.1, 0.2)
    sections = begin_sections(loop, silence, 0.01)
    answer = Acting(model.arm.joint_names, T).receive(encode(Update.BEGIN, 7, 1, sections))
    assert answer.status is Status.VALUE
    assert "the law sends velocities: here efforts are sent" in answer.reason
