"""Where λ comes from: one owner decides, whatever else is measured."""

import numpy as np
import pytest
from arms import UNIT_LINKS, raw_state, slider_model, state_on, three_link_arm

from projected_control import Runner, SimulatedArm, SteppedArm, run
from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.force_source import ForceSource
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.runs.tare import measure_tare
from projected_control.simulation import Plant

T = 1e-3
GAINS = MotionGains(480.0, 45.0)
NEAR = np.array([-3.8, 2.4, 1.4])


def hybrid(source="sensor", **limits):
    """A hybrid loop on the 3R arm at rest, and where it rests."""
    model = slider_model()
    q, _ = state_on(model, 1, NEAR, 0.1)
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    controller = ForceController(model, GAINS, ForceGains(0.0, 0.0, 50.0))
    limits = Limits.of(model.arm, effort_rate=1e9, **limits)
    reference, desired = Constant(place), Constant([5.0])
    loop = ControlLoop(
        controller, reference, limits=limits, force_reference=desired, force_source=source
    )
    return loop, q


@pytest.mark.parametrize("source", ["model", "momentum"])
def test_an_observer_is_asked_whatever_the_sensor_says(source):
    """500 N on the sensor, for ever; with λ_d = 5 N and no feedback λ is 5 N."""
    loop, q = hybrid(source)
    assert not loop.needs_wrench
    for k in range(300):
        report = loop.update(raw_state(loop.controller.model, q, np.zeros(3), 500.0, k * T))
    assert report.action is Action.FOLLOW
    assert loop.multipliers[0] == pytest.approx(5.0, rel=1e-6)


def test_a_wrench_that_is_too_old_is_noticed_where_it_is_needed():
    loop, q = hybrid(force_time=0.01)
    fresh = raw_state(loop.controller.model, q, np.zeros(3), 5.0, 0.0)
    assert loop.update(fresh).events == 0
    old = fresh._replace(stamp=T, wrench_age=0.011)
    report = loop.update(old)
    assert (report.action, report.events) == (Action.STOP, Event.FORCE_STALE)
    none = loop.update(RawState(q, np.zeros(3), 2 * T))
    assert (none.action, none.events) == (Action.STOP, Event.FORCE_STALE)
    assert loop.update(fresh._replace(stamp=3 * T)).events == 0


def test_where_it_is_only_looked_at_an_old_wrench_is_no_force():
    model = slider_model()
    q, _ = state_on(model, 1, NEAR, 0.1)
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    loop = ControlLoop(MotionController(model, GAINS), Constant(place))
    state = raw_state(model, q, np.zeros(3), 3.0, 0.0)
    assert loop.update(state).events == 0
    assert loop.multipliers[0] == 3.0
    assert loop.update(state._replace(stamp=T, wrench_age=1.0)).events == 0
    assert np.isnan(loop.multipliers[0])


def test_axes_are_those_of_this_very_tick():
    """The sensor's link turns by a radian per tick: λ is the same every time."""
    model = slider_model()
    source = ForceSource(model)
    source.set_axes("tip")
    controller = MotionController(model, GAINS)
    limits = Limits.of(model.arm, residual=1e9, reference_jump=1e9)
    loop = ControlLoop(controller, Constant([0.0, 0.0]), limits=limits, force_source=source)
    for k in range(5):
        q = NEAR + k
        world = np.array([0.0, 7.0, 0.0, 0.0, 0.0, 0.0])  # along the slider's normal
        tip = model.arm.twin().update(q, np.zeros(3)).frame("tip").rotation
        wrench = np.concatenate([tip.T @ world[:3], tip.T @ world[3:]])
        loop.update(RawState(q, np.zeros(3), k * T, wrench))
        assert loop.multipliers[0] == pytest.approx(7.0, rel=1e-12)


def test_axes_that_nobody_has_are_refused():
    model = slider_model()
    with pytest.raises(UnknownName, match="tip"):
        ForceSource(model).set_axes("nowhere")
    port = SteppedArm(3, wrench_frame="nowhere")
    q, _ = state_on(model, 1, NEAR, 0.1)
    port.put(q, np.zeros(3), 0.0)
    loop = ControlLoop(MotionController(model, GAINS), Constant(model.theta.copy()))
    with pytest.raises(Exception, match=r"axes that the arm does not have: .*wrench_frame"):
        Runner(loop, port).open()


def test_a_bias_of_the_sensor_is_taken_away():
    loop, q = hybrid()
    loop.force_source.set_offset(np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
    loop.update(raw_state(loop.controller.model, q, np.zeros(3), 5.0, 0.0))
    assert loop.multipliers[0] == pytest.approx(3.0)


def test_the_weight_of_the_tool_is_taken_away():
    """2 kg beyond the sensor, seen in axes that turn: what is left is the constraint's force."""
    model = slider_model()
    source = ForceSource(model)
    source.set_axes("tip")
    source.set_tool(2.0, [0.1, 0.0, 0.0])
    limits = Limits.of(model.arm, residual=1e9, reference_jump=1e9)
    controller = MotionController(model, GAINS)
    loop = ControlLoop(controller, Constant([0.0, 0.0]), limits=limits, force_source=source)
    for k in range(5):
        q = NEAR + k
        R = model.arm.twin().update(q, np.zeros(3)).frame("tip").rotation
        weight = np.array([0.0, 0.0, -2.0 * 9.81])
        moment = np.cross(R @ [0.1, 0.0, 0.0], weight)
        shown = np.array([0.0, 7.0, 0.0, 0.0, 0.0, 0.0]) - [*weight, *moment]
        wrench = np.concatenate([R.T @ shown[:3], R.T @ shown[3:]])
        loop.update(RawState(q, np.zeros(3), k * T, wrench))
        assert loop.multipliers[0] == pytest.approx(7.0, rel=1e-12)
        np.testing.assert_allclose(source._terms.wrench, [0, 7, 0, 0, 0, 0], atol=1e-12)


def test_a_sensor_that_disagrees_with_the_model_is_said():
    """λ = 5 N by the model; the sensor shows 5 N, 14 N (within the 10 N), then 16 N."""
    loop, q = hybrid()
    seen = []
    for k in range(1500):
        shown = 5.0 if k < 500 else 14.0 if k < 1000 else 16.0
        report = loop.update(raw_state(loop.controller.model, q, np.zeros(3), shown, k * T))
        seen.append(report.events)
        assert report.action is Action.FOLLOW
    assert set(seen[:1000]) == {0}
    assert seen[1300:] == [Event.FORCE_DISAGREES] * 200


def test_a_force_from_before_our_effort_acts_is_not_compared():
    """500 N in the first nineteen ticks are of an effort that was not ours: they stop nothing."""
    loop, q = hybrid()
    answers = []
    for k in range(150):
        shown = 5.0 if 19 <= k < 70 else 500.0
        report = loop.update(raw_state(loop.controller.model, q, np.zeros(3), shown, k * T))
        answers.append(bool(report.events & Event.FORCE_FAR_OFF))
    assert answers.index(True) == 99  # the second of two comparisons in a row, one in twenty ticks


def test_without_an_effort_nothing_is_compared():
    """At rest under brakes λ is not determined."""
    loop, q = hybrid()
    loop.guard._terms.effort[:] = 0.0
    for k in range(500):
        state = raw_state(loop.controller.model, q, np.zeros(3), 500.0, k * T)
        assert not loop.update(state).events & Event.FORCE_DISAGREES


# The arm has left its constraint: an event like the others, on every tick, everywhere.


def test_off_the_constraint_nothing_is_sent():
    loop, q = hybrid(residual=0.005)
    model = loop.controller.model
    assert loop.update(raw_state(model, q, np.zeros(3), 5.0, 0.0)).events == 0
    away = q + 0.02
    report = loop.update(raw_state(model, away, np.zeros(3), 5.0, T))
    assert (report.action, report.events) == (Action.ZERO, Event.LEFT_CONSTRAINT)
    assert not report.effort.any()
    assert report.reasons == ["left constraint"]
    assert loop.update(raw_state(model, q, np.zeros(3), 5.0, 2 * T)).events == 0


def test_a_state_that_is_no_number_has_not_left_the_constraint():
    loop, q = hybrid()
    report = loop.update(raw_state(loop.controller.model, q * np.nan, np.zeros(3), 5.0, 0.0))
    assert report.events == Event.STATE_NOT_FINITE


def test_a_runner_says_that_the_arm_has_left_its_constraint():
    """No slider holds the arm: the run is lost within the tick that shows it."""
    model = slider_model()
    q, _ = state_on(model, 1, NEAR, 0.1)
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    free = ConstrainedArm(model.arm.twin(), None, Coordinates.of_joints(["joint_1"]))
    loop = ControlLoop(MotionController(model, GAINS), Constant(place))
    port = SimulatedArm(Plant(free), q, 0.1 * model.A_pinv[:, 0])  # 0.1 m/s off the slider
    runner = Runner(loop, port)
    runner.open()
    ticks = 0
    while not runner.lost and ticks < 1000:
        tick = runner.step()
        ticks += 1
    assert tick.report.events & Event.LEFT_CONSTRAINT
    assert not tick.report.effort.any()
    assert "the arm has left its constraint: ‖Φ‖ = 0.02" in runner.lost
    assert 1 < ticks <= 200  # 0.02 m at 0.1 m/s or more


def test_a_run_in_process_ends_too():
    """The same arm: `run` ends with zero, and says why."""
    model = slider_model()
    q, _ = state_on(model, 1, NEAR, 0.1)
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    free = ConstrainedArm(model.arm.twin(), None, Coordinates.of_joints(["joint_1"]))
    port = SimulatedArm(Plant(free), q, 0.1 * model.A_pinv[:, 0])
    statistics = run(ControlLoop(MotionController(model, GAINS), Constant(place)), port, 1000)
    assert statistics.ticks <= 200
    assert "has left its constraint" in statistics.lost


def test_a_run_starts_from_what_the_arm_needs():
    """Under gravity at 1 N·m/s: the first effort carries the arm, none is rate limited."""
    arm = three_link_arm(**UNIT_LINKS)
    joints = Coordinates.of_joints(list(arm.joint_names))
    model = ConstrainedArm(arm, None, joints)
    q = np.array([0.3, 0.4, 0.5])
    limits = Limits.of(arm, effort=100.0, effort_rate=1.0)
    loop = ControlLoop(MotionController(model, GAINS), Constant(q), limits=limits)
    loop.begin(RawState(q, np.zeros(3), 0.0))
    report = loop.update(RawState(q, np.zeros(3), 0.0))
    assert report.events == 0
    np.testing.assert_allclose(report.effort, arm.update(q, np.zeros(3)).h, rtol=1e-9)
    assert np.abs(report.effort).max() > 5.0


class Biased(SimulatedArm):
    """A sensor at the tip that turns with it, has a bias and carries a tool."""

    wrench_frame = "tip"
    bias = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])
    mass, centre = 1.5, np.array([0.0, 0.05, 0.02])
    speed = 0.0

    def read(self):
        state = super().read()
        R = self.plant.model.arm.frame("tip").rotation
        carried = np.array([0.0, 0.0, 9.81 * self.mass])
        shown = [*(R.T @ carried), *(R.T @ np.cross(R @ self.centre, carried))]
        return state._replace(wrench=shown + self.bias, v=state.v + self.speed)


def free_arm(kind=Biased):
    """The 3R arm of a force controller, out of contact."""
    loop, q = hybrid()
    plant = Plant(ConstrainedArm(loop.controller.model.arm.twin(), None))
    return loop, kind(plant, q)


def test_tare_finds_the_bias_of_a_sensor():
    loop, port = free_arm()
    loop.force_source.set_tool(Biased.mass, Biased.centre)
    np.testing.assert_allclose(measure_tare(loop, port), Biased.bias, atol=1e-9)


def test_an_arm_that_moves_is_not_tared():
    class Moving(Biased):
        speed = 0.2

    with pytest.raises(ProjectedControlError, match=r"the arm moves at 0\.2"):
        measure_tare(*free_arm(Moving))


def test_without_wrenches_nothing_is_tared():
    loop, port = free_arm(SimulatedArm)
    with pytest.raises(ProjectedControlError, match="only 0 of 5 wrenches came"):
        measure_tare(loop, port, samples=5)


def test_a_port_that_cannot_be_opened_for_a_tare_is_closed():
    """Else it would keep its topics, one of which commands the arm."""
    closed = []

    class Unreachable(SimulatedArm):
        def open(self):
            raise ProjectedControlError("no joint state")

        def close(self):
            closed.append(self)

    loop, port = free_arm(Unreachable)
    with pytest.raises(ProjectedControlError, match="no joint state"):
        measure_tare(loop, port)
    assert closed == [port]
