"""`simulate`, a start that carries the weight, and which coordinate is at fault where one is."""

from types import SimpleNamespace

import numpy as np
import pytest

import projected_control as pc
from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.apps.demo.display import quantities
from projected_control.apps.demo.report import motion_figure
from projected_control.control.activation import obstacles
from projected_control.errors import InvalidValue

Q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, np.pi - 2.05, 0.0])  # the tool points straight down


def wiping_arm():
    arm = pc.Arm.from_urdf(
        pc.share_file("urdf", "seven_joints.urdf"),
        frames={"tool": pc.OffsetFrame("flange", [0.0, 0.0, 0.1])},
    )
    place = arm.update(Q, np.zeros(7)).frame("tool").position.copy()
    return arm, place, pc.PointOnPlane("tool", point=place, normal=[0, 0, -1])


def plain(value):
    """All that is in nested dictionaries."""
    if not isinstance(value, dict):
        return [value]
    return [each for item in value.values() for each in plain(item)]


def test_a_new_script_holds_its_force_from_the_first_tick_on():
    """A limp arm leans on the table with all its weight, one that is carried with what it is to."""
    arm, place, table = wiping_arm()
    tool = pc.Coordinates([pc.Coordinate.position("tool", axis) for axis in "xy"])
    model = pc.ConstrainedArm(arm, table, tool)
    controller = pc.ForceController(model, pc.MotionGains(100, 20), pc.ForceGains(integral=20.0))
    wipe = pc.Sines(place[:2], [[pc.Sine(0.02, 0.5)], []])
    press = pc.Constant([10.0])
    done = pc.simulate(model, controller, wipe, 0.2, force_reference=press, guess=Q)
    limp = pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), table)), Q)
    assert abs(limp.truth.multipliers[0] - 10.0) > 20.0
    assert np.abs(done.force[:, 0] - 10.0).max() < 0.5
    assert done.time.size == 200
    assert done.q.shape == done.effort.shape == (200, 7)
    assert np.abs(done.error).max() < 1e-4
    assert done.statistics.events == {}
    assert {type(x) for x in plain(done.statistics.summary())} <= {int, float, str}


@pytest.mark.parametrize(("force", "expected"), [(None, 0.0), ([10.0], 10.0), ([-3.0], -3.0)])
def test_an_arm_whose_weight_is_carried_presses_with_what_is_asked(force, expected):
    arm, _, table = wiping_arm()
    port = pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), table)), Q, 0.1 * np.ones(7))
    port.carry(force)
    for _ in range(2):
        state = port.open()
        assert port.truth.multipliers[0] == pytest.approx(expected, abs=1e-9)
        assert state.wrench[2] == pytest.approx(-expected, abs=1e-9)  # the normal points down
    with pytest.raises(InvalidValue, match="force at the start"):
        port.carry([1.0, 2.0])


def obstacle(*more):
    arm, _, table = wiping_arm()
    tilt = pc.Coordinate.tilt
    coordinates = [
        pc.Coordinate.position("tool", "x"),
        pc.Coordinate.position("tool", "y"),
        tilt("tool", [0, 0, 1], [1, 0, 0], "lean_x"),
        tilt("tool", [0, 0, 1], [0, 1, 0], "lean_y"),
        *more,
    ]
    model = pc.ConstrainedArm(arm, table, pc.Coordinates(coordinates))
    controller = pc.MotionController(model, pc.MotionGains(100, 20))
    loop = pc.ControlLoop(controller, pc.Constant(np.zeros(model.k)))
    return "; ".join(obstacles(loop, Q, 1.0))


@pytest.mark.parametrize(
    ("off", "fault"), [(0.0, "turn is not defined there"), (1e-4, "turn say the same there")]
)
def test_a_turn_about_the_tools_own_axis_is_named_with_the_axis_that_would_do(off, fault):
    """An axis that points along the direction about which it turns, exactly or nearly."""
    rotation = wiping_arm()[0].update(Q, np.zeros(7)).frame("tool").rotation
    axis = rotation.T @ [off, 0.0, 1.0]
    said = obstacle(pc.Coordinate.about("tool", [0, 0, 1], axis, "turn"))
    assert "the coordinates do not describe what the constraint leaves free here: " in said
    assert fault in said
    assert "; with turn's axis [" in said
    axis = [int(x) for x in said.split("turn's axis [")[1].split("]")[0].split(",")]
    assert obstacle(pc.Coordinate.about("tool", [0, 0, 1], axis, "turn")) == ""


def test_coordinates_that_say_the_same_are_named():
    said = obstacle(pc.Coordinate.position("tool", "x", "again"))
    assert "tool.x, again say the same there; " in said
    assert "in place of again would do" in said


def test_errors_are_shown_with_their_units():
    """Of each coordinate its own: tip.x is a length, tip.angle an angle."""
    settings = settings_for("motion", 0.2, "paper", True, {})
    assert settings.units == {"tip.x": "m", "tip.angle": "rad"}
    state = {"tip.x/error": 4.83e-5, "tip.angle/error": -1e-3}
    monitor = SimpleNamespace(latest=state, diagnostics={}, controller="", units=settings.units)
    monitor.real_time_factor = None
    shown = dict(quantities(monitor))
    assert shown["tip.x error"] == "+0.048 mm"
    assert shown["tip.angle error"] == "-1.000 mrad"
    lines = {name: np.zeros(3) for name in ("tip.x", "tip.x/desired", "tip.x/error")}
    figure = motion_figure(np.arange(3.0), lines, settings.units)
    assert [axis.get_ylabel() for axis in figure.axes] == ["tip.x\n(m)", "tip.x error\n(mm)"]


def test_a_run_in_process_tells_how_far_it_is():
    told = []
    settings = settings_for("motion", 0.2, "paper", True, {})
    run_in_process(settings, lambda what, share: told.append((what.split()[0], share)))
    assert told[:2] == [("building", 0.0), ("building", 1.0)]
    assert [what for what, _ in told[2:]] == ["simulating"] * 101
    assert told[-1][1] == 1.0
