"""Parameters of a running controller: right ones come in smoothly, wrong ones change nothing."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from fleet import THREE_LINK, Fleet
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.ros.messages import tag_of
from projected_control.settings.nodes import ARM, FORCE, parameters_of

RATE = 200.0  # largest change of effort [N·m/s]: a fifth of a N·m a tick

SETTINGS = {
    **THREE_LINK,
    "payload.link": "tip",
    "lockstep": True,
    "limits.effort": [30.0],
    "limits.above_description": True,
    "limits.effort_rate": [RATE],
    "friction.coulomb": [0.3],  # so that there is an error for the gains to act on
    "friction.viscous": [0.3],
}
NAN = float("nan")


@pytest.fixture(scope="module")
def started(shared_fleet: Fleet) -> Fleet:
    """An arm and a controller, as they start."""
    shared_fleet.commands = shared_fleet.record(Float64MultiArray, "effort_controller/commands")
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    shared_fleet.until_said(FORCE, "following", level=0)
    shared_fleet.before = shared_fleet.all_parameters(FORCE)
    return shared_fleet


@pytest.fixture
def running(started: Fleet) -> Fleet:
    """A controller on its way along a sine, in lockstep, with the settings it started with."""
    changed = started.changed_parameters(FORCE, started.before)
    if any(not parameters_of(FORCE)[name].live for name in changed):
        started.change(FORCE, "deactivate")
    if changed:
        started.put(FORCE, changed)
    if started.state(FORCE) != "active":
        assert started.trigger(f"/{ARM}/reset").success
        started.activate(FORCE)
    started.until_said(FORCE, "following", level=0)
    return started


def later(fleet: Fleet, ticks: int) -> dict[str, Any]:
    """The numbers of the run, this many ticks on."""
    now = fleet.summary(FORCE)["ticks"]
    fleet.until_counted(FORCE, "ticks", now + ticks)
    return fleet.summary(FORCE)


def largest_step(fleet: Fleet, change: Callable[[], None]) -> float:
    """Of the effort from tick to tick while something is changed [N·m].

    It is changed again where commands escape us, because the listener waits too long for its turn.
    """
    for _ in range(5):
        fleet.commands.clear()
        change()
        messages = fleet.commands.drain()
        efforts = np.array([list(message.data) for message in messages])
        tags = np.array([message.layout.data_offset for message in messages])
        ticks = np.diff(tags) / (tag_of(1_000_000) - tag_of(0))
        steps = np.abs(np.diff(efforts, axis=0)).max(axis=1)
        assert (ticks >= 0).all()
        assert (steps[ticks == 0] == 0.0).all()
        if ticks.max() <= 10:
            return float((steps[ticks > 0] / ticks[ticks > 0]).max())
    raise AssertionError("commands escaped us five times")


@pytest.mark.parametrize("blend_time", [0.2, 0.0])
def test_gains_times_four(running: Fleet, blend_time: float) -> None:
    """No effort steps by more than the rate allows, in any tick, blended or not."""
    running.put(FORCE, {"gains.blend_time": blend_time})
    limited = later(running, 1)["events"].get("rate limited", 0)

    def change() -> None:
        for stiffness, damping in (([400.0], [40.0]), ([100.0], [20.0]), ([400.0, 400.0], [40.0])):
            running.put(FORCE, {"gains.stiffness": stiffness, "gains.damping": damping})
            later(running, 300)

    step = largest_step(running, change)
    limited = later(running, 1)["events"].get("rate limited", 0) - limited
    assert 0.0 < step <= RATE * 1e-3 + 1e-9
    assert blend_time > 0.0 or limited > 0  # at once, it takes the limit to hold it back


def test_gains_count(running: Fleet) -> None:
    """With four times the stiffness, friction leaves about a quarter of the error."""
    errors = []
    for stiffness in (100.0, 1600.0):
        running.put(FORCE, {"gains.stiffness": [stiffness], "gains.damping": [2 * stiffness**0.5]})
        before = later(running, 400)
        after = later(running, 1000)
        ticks = np.array([before["ticks"], after["ticks"]])
        squares = np.array([before["tracking_rms"], after["tracking_rms"]]) ** 2 * ticks
        errors.append(np.sqrt(np.diff(squares)[0] / np.diff(ticks)[0]))
    assert errors[1] < 0.25 * errors[0]


def rms(fleet: Fleet, ticks: int) -> float:
    """Of the tracking error over the next so many ticks."""
    before, after = later(fleet, 1), later(fleet, ticks)
    counts = np.array([before["ticks"], after["ticks"]])
    squares = np.array([before["tracking_rms"], after["tracking_rms"]]) ** 2 * counts
    return float(np.sqrt(np.diff(squares)[0] / np.diff(counts)[0]))


def test_a_load_is_taken_up_live(running: Fleet) -> None:
    """The arm takes up 4 kg, without friction: the error is a tenth when the controller knows."""
    usual = {name: SETTINGS[name] for name in ("friction.coulomb", "friction.viscous")}
    try:
        running.put(ARM, {"payload.mass": 4.0, **{name: [0.0] for name in usual}})
        later(running, 2000)
        unknown = rms(running, 2000)
        running.put(FORCE, {"payload.mass": 4.0})
        later(running, 2000)
        assert rms(running, 2000) < 0.1 * unknown
    finally:
        running.put(ARM, {"payload.mass": 0.0, **usual})


def test_limits_set_live_bind_and_are_told(running: Fleet) -> None:
    """A force ceiling below λ_d, then motors at a third: on /diagnostics and in ~/state."""
    try:
        running.put(FORCE, {"force.reference": [4.0]})
        later(running, 300)
        assert running.diagnosis(FORCE).values["limits"] == "none binds"
        running.put(FORCE, {"limits.force": [2.0], "limits.prefer": "force"})
        said = running.until_said(FORCE, "limits: force ceiling of ", level=1)
        assert said.values["limits"].startswith("force ceiling of ")
        wanted = {"limits.force": [100.0], "limits.prefer": "motion", "limits.force_answer": "stop"}
        running.put(FORCE, wanted)
        assert running.get(FORCE, list(wanted)) == list(wanted.values())
        running.until_said(FORCE, "following", level=0)
        running.commands.clear()
        later(running, 2000)
        efforts = np.array([list(message.data) for message in running.commands.drain()])
        here = running.record(JointState, f"{FORCE}/state")
        running.put(FORCE, {"limits.effort": (np.abs(efforts).max(axis=0) / 3.0).tolist()})
        said = running.until_said(FORCE, "limits: torque of joint_", "motion at ")
        assert said.values["limits"].startswith("torque of joint_")
        later(running, 2000)
        states = [dict(zip(s.name, s.position, strict=True)) for s in here.drain()]
        running.forget(here)
        assert min(state["motion/share"] for state in states) < 1.0
        assert any(int(state[f"joint_{i}/binds"]) & 1 for state in states for i in (1, 2, 3))
    finally:
        running.put(FORCE, {"limits.effort": SETTINGS["limits.effort"]})


def test_a_number_is_taken_for_a_list_of_one(running: Fleet) -> None:
    """As everybody types it first: ros2 param set … gains.stiffness 200.0."""
    (before,) = running.get(FORCE, ["gains.stiffness"])
    running.put(FORCE, {"gains.stiffness": 200.0})
    ticks = later(running, 300)["ticks"]
    assert ticks > 0
    running.put(FORCE, {"gains.stiffness": before})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"gains.stiffness": [-1.0]}, "at least"),
        ({"gains.stiffness": [1.0, 2.0, 3.0]}, "one per coordinate"),
        ({"gains.stiffness": []}, "one per coordinate"),
        ({"gains.stiffness": ["stiff"]}, "must be a number"),
        ({"gains.stiffness": [NAN]}, "must be finite"),
        ({"gains.damping": [1e9]}, "at most"),
        ({"gains.damping": "20"}, "gains.damping must be a number, got '20'"),
        ({"gains.null_damping": NAN}, "null_damping"),
        ({"gains.null_damping": "much"}, "null_damping"),
        ({"force.delay": 1.5}, "whole number"),
        ({"force.anti_windup": "please"}, "back_calculation"),
        ({"limits.effort": [0.0]}, "at least"),
        ({"limits.effort": [1.0, 2.0]}, "one per joint"),
        ({"limits.lower": [1.0], "limits.upper": [-1.0]}, "inconsistent"),
        ({"limits.above_description": False}, "limits.effort of joint_1 is 30, the description's"),
        (
            {"limits.above_description": False, "limits.effort": [], "limits.velocity": [100.0]},
            "limits.velocity of joint_1 is 100, the description's 20",
        ),
        ({"limits.latch_time": 0.0}, "out of range"),
        ({"limits.force_stop": 5.0}, "must be above the one that is reported"),
        ({"limits.force": [-1.0]}, "at least"),
        ({"limits.force": [1.0, 2.0]}, "one per row"),
        ({"limits.force": [NAN]}, "must be finite"),
        ({"limits.prefer": "speed"}, "force, motion"),
        ({"limits.force_answer": "shout"}, "hold_back, stop"),
        ({"limits.return_margin": 0.1}, "cannot change while the node is active"),
        ({"force.sign": -1}, "cannot change while the node is active"),
        ({"massless_links": ["tip"]}, "cannot change while the node is active"),
        ({"force.max_step": 0.0}, "out of range"),
        ({"force.max_rate": NAN}, "out of range"),
        ({"force.reference": [500.0]}, "force.max_step allows 100 N"),
        ({"reference.kind": "square"}, "hold, line, raster, sine"),
        ({"reference.amplitude": [0.1, 0.1, 0.1]}, "one per coordinate"),
        ({"force.reference": [1.0, 2.0]}, "force.reference"),
        ({"gains.null_damping": 5.0, "force.cutoff": -1.0}, "force.cutoff"),
    ],
)
def test_wrong_values(running: Fleet, values: dict[str, Any], reason: str) -> None:
    """Refused with the reason; the old ones stay, also of what would have been right."""
    assert reason in running.refused(FORCE, values)


def test_another_law_and_its_gains(running: Fleet) -> None:
    """An impedance on the same node: it follows; bad matrices are refused, good ones come in."""
    running.change(FORCE, "deactivate")
    running.put(FORCE, {"law": "impedance", "impedance.stiffness": [400.0, 5.0]})
    running.activate(FORCE)
    running.until_said(FORCE, "following", level=0)
    for values, reason in (
        ({"impedance.stiffness": [400.0, -5.0]}, "positive definite"),
        ({"impedance.stiffness": [400.0, 1.0, 2.0, 5.0]}, "symmetric"),
        ({"impedance.stiffness": [1.0, 2.0, 3.0]}, "got 3"),
        ({"impedance.stiffness": [NAN]}, "must be finite"),
        ({"impedance.stiffness": [1e6]}, "would diverge here"),
    ):
        assert reason in running.refused(FORCE, values)

    def change() -> None:
        running.put(FORCE, {"impedance.stiffness": [400.0, 5.0]})
        running.put(FORCE, {"impedance.stiffness": [800.0, 20.0, 20.0, 8.0]})
        later(running, 400)

    assert largest_step(running, change) <= RATE * 1e-3 + 1e-9
    running.until_said(FORCE, "following", level=0)


def test_unstable_force_gains(running: Fleet) -> None:
    """Refused with the bound."""
    reason = running.refused(FORCE, {"force.proportional": 30.0})
    assert "G_F must stay below" in reason
    assert "G_F must stay below" in running.refused(FORCE, {"force.cutoff": 0.0})
    running.until_said(FORCE, "following", level=0)


def test_force_gains_change_live(running: Fleet) -> None:
    running.until_said(FORCE)
    before = running.diagnosis(FORCE).number("force loop gain margin")
    running.put(FORCE, {"force.cutoff": 20.0})
    running.until_counted(FORCE, "force loop gain margin", 1.5 * before)
    running.until_said(FORCE, "following", level=0)


WRONG_FORCES = [[NAN], [1.0, 2.0], [2e6]]


@pytest.mark.parametrize("numbers", WRONG_FORCES, ids=["not finite", "of another size", "too much"])
def test_a_refused_force_reference_is_on_diagnostics_until_one_is_taken(
    running: Fleet, numbers: list[float]
) -> None:
    topic = running.publisher(Float64MultiArray, f"{FORCE}/force_reference")
    topic.publish(Float64MultiArray(data=numbers))
    diagnosis = running.until_said(FORCE, "force reference refused: 1 numbers", level=1)
    assert diagnosis.number("references refused") >= 1
    topic.publish(Float64MultiArray(data=[1.0]))
    running.until_said(FORCE, "following", level=0)


def test_a_refused_reference_is_on_diagnostics_until_one_is_taken(running: Fleet) -> None:
    topic = running.publisher(JointTrajectory, f"{FORCE}/reference")
    point = JointTrajectoryPoint(positions=[0.0])
    topic.publish(JointTrajectory(joint_names=["tip.u"], points=[point]))
    diagnosis = running.until_said(FORCE, "reference refused: unknown coordinate", level=1)
    assert "tip.u" in diagnosis.values["last refusal"]
    here = running.record(JointState, f"{FORCE}/state")
    state = running.more(here, 1)[-1]
    running.forget(here)
    now = dict(zip(state.name, state.position, strict=True))["tip.x/desired"]
    point = JointTrajectoryPoint(positions=[now])
    topic.publish(JointTrajectory(joint_names=["tip.x"], points=[point]))
    running.until_said(FORCE, "following", level=0)
    running.put(FORCE, {"reference.kind": "hold"})
    running.put(FORCE, {"reference.kind": "sine"})


def test_what_needs_an_inactive_node(running: Fleet) -> None:
    """All that is not live is refused, and changes nothing."""
    fixed = [p for p in parameters_of(FORCE).values() if not p.live]
    assert len(fixed) > 20
    others = {str: "other", float: 7.0, int: 7, list: [7.0]}
    now = running.get(FORCE, [p.name for p in fixed])
    for parameter, default in zip(fixed, now, strict=True):
        value = (not default) if isinstance(default, bool) else others[type(default)]
        reason = running.refused(FORCE, {parameter.name: value})
        words = ("cannot change while the node is active", "unknown", "must be", "out of range")
        assert any(word in reason for word in words), reason
    running.until_said(FORCE, "following", level=0)


def test_whole_numbers_for_real_ones(running: Fleet) -> None:
    """`ros2 param set … 7` means 7.0."""
    running.put(FORCE, {"gains.null_damping": 7, "gains.stiffness": [150, 150]})
    assert running.get(FORCE, ["gains.null_damping", "gains.stiffness"]) == [7.0, [150.0, 150.0]]


def test_reference_changes_live(running: Fleet) -> None:
    """Another sine, and a stop, without a jump."""
    jumps = later(running, 1)["events"].get("reference jumped", 0)

    def change() -> None:
        running.put(FORCE, {"reference.amplitude": [0.1, 0.1], "reference.frequency": [0.7, 0.3]})
        later(running, 300)
        running.put(FORCE, {"reference.kind": "hold"})
        assert later(running, 300)["events"].get("reference jumped", 0) == jumps
        running.put(FORCE, {"reference.kind": "sine"})
        later(running, 300)
        running.until_said(FORCE, "following", level=0)

    assert largest_step(running, change) <= RATE * 1e-3 + 1e-9


def test_diagnostics_rate(running: Fleet) -> None:
    """More often than the arm, which speaks 20 times per second on the same computer; then less."""
    diagnostics = running.record(DiagnosticArray, "/diagnostics")

    def counted(rate: float) -> int:
        """How often the controller speaks while the arm does so twenty times."""
        running.put(FORCE, {"diagnostics_rate": rate})
        diagnostics.clear()

        def said_by(node: str) -> int:
            return sum(m.status[0].name == node for m in diagnostics.messages)

        running.until(lambda: said_by(ARM) >= 20, "twenty diagnoses of the arm")
        return said_by(FORCE)

    assert counted(5.0) < 20 < counted(50.0)
    running.forget(diagnostics)


def test_saturation(running: Fleet) -> None:
    """Limits far below what the motion takes are never passed, and saying so is counted."""
    assert running.change(FORCE, "deactivate")
    running.put(FORCE, {"limits.effort": [0.05, 0.04, 0.03], "constraint.residual_tolerance": 0.01})
    running.commands.clear()
    assert running.change(FORCE, "activate")
    assert later(running, 500)["events"]["effort limited"] > 100
    efforts = np.abs([list(message.data) for message in running.commands.drain()])
    assert (efforts <= [0.05, 0.04, 0.03]).all()
    assert (efforts.max(axis=0) > 0.02).all()


def test_inactive_changes_rebuild(running: Fleet) -> None:
    """What only counts at configuration can change between two activations."""
    assert running.change(FORCE, "deactivate")
    running.put(FORCE, {"coordinates": ["joint_1", "joint_2"], "reference.kind": "hold"})
    assert running.change(FORCE, "activate")
    running.until_said(FORCE, "following")
    names = later(running, 10)["tracking_rms_by_coordinate"]
    assert list(names) == ["joint_1", "joint_2"]
