"""Directions that no coordinate describes are held where the arm stood at the start."""

import json

import numpy as np
import pytest
import yaml
from acting_runs import NEEDS_NATIVE, ActingRun
from plane_arms import controller, made, on_plane, start

from projected_control import Runner, run
from projected_control.apps.cli import main
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.control import MotionController, MotionGains, Posture
from projected_control.control.events import Action, Event, events_in
from projected_control.control.references import Constant
from projected_control.runs.replay import replay
from projected_control.settings import build
from projected_control.settings.nodes import FORCE, MOTION

HEAVIER = {"simulation__mass_factor": 1.1}
DRIFTED = Event.POSTURE_DRIFTED


def drift(values, ticks=1000):
    """How far any joint of an arm went that is to stay where it is [rad]; the events; the loop."""
    loop, hardware = made(MOTION, values)
    q, seen = hardware.truth.q.copy(), 0

    def look(_, tick):
        nonlocal seen
        seen |= tick.report.events

    run(loop, hardware, ticks, look)
    return float(np.abs(hardware.truth.q - q).max()), seen, loop.controller


@pytest.mark.parametrize("joints", [6, 7])
def test_an_arm_that_is_heavier_than_described_stays_where_it_stood(joints):
    """Ten per cent more mass, the preset gentle: 0.03 rad, where damping alone leaves 0.76."""
    stays, events, held = drift(on_plane(joints, **HEAVIER))
    assert stays < 0.04
    assert DRIFTED not in events_in(events)
    assert held.undescribed == joints - 3
    assert held.held_by == "a posture, where the arm stood at the start (100 1/s²)"
    if joints == 6:
        goes, _, damped = drift(on_plane(joints, **HEAVIER, posture__hold=0.0))
        assert goes > 0.5
        assert damped.held_by == "nothing: they are only damped"


def test_a_controller_of_a_script_holds_when_it_is_told_to():
    values = on_plane(6)
    own = MotionController(build.build_model(controller(MOTION, values)), MotionGains(100.0, 20.0))
    own.hold(start(values))
    assert own.held_by == "nothing: they are only damped"
    own.set_posture(Posture.held())
    own.hold(start(values))
    assert own.undescribed == 3
    assert own.held_by == "a posture, where the arm stood at the start (100 1/s²)"


@pytest.mark.long
def test_it_stays_for_a_minute():
    stays, events, _ = drift(on_plane(6, **HEAVIER), 60_000)
    assert stays < 0.06
    assert DRIFTED not in events_in(events)


def test_a_posture_that_is_too_soft_drifts_with_an_event():
    goes, events, _ = drift(on_plane(6, **HEAVIER, posture__hold=4.0))
    assert goes > 0.1
    assert DRIFTED in events_in(events)
    assert DRIFTED.phrase == "posture drifted"


def test_coordinates_that_describe_everything_leave_nothing_to_hold():
    settings = settings_for("force", 1.0, "paper", True, {}).controller
    loop = build.build_loop(FORCE, settings)
    loop.controller.hold([-3.0, 2.0, 1.0])
    assert (loop.controller.undescribed, loop.controller.posture_acts) == (0, False)
    assert loop.controller.held_by == "there are none"
    assert "posture" not in [name for _, name in loop.controller.motion_loops(1)]


def test_an_arm_that_is_led_by_hand_is_not_held():
    loop, _ = made(MOTION, on_plane(6, law="gravity", constraint__kind="none"))
    assert not loop.controller.posture_acts
    assert "led by hand" in loop.controller.held_by


@NEEDS_NATIVE
def test_the_plugins_session_holds_it_to_the_last_bit():
    """500 cycles of the acting side on its own simulated arm, and the loop in Python."""
    values = on_plane(6, **HEAVIER)
    loop, hardware = made(MOTION, values)
    Runner(loop, hardware).open()
    q = hardware.truth.q.copy()
    acting_run = ActingRun((loop, hardware))
    acting_run.go(500)
    again, arm = made(MOTION, values)
    Runner(again, arm).open()
    expected = [again.update(row).effort.copy() for row in acting_run.rows]
    np.testing.assert_array_equal(acting_run.efforts, expected)
    assert 0.005 < np.abs(acting_run.rows[-1].q - q).max() < 0.04


def test_it_is_replayed_to_the_last_bit_and_with_other_gains_too(tmp_path):
    pytest.importorskip("mcap", reason="mcap is not installed (pip install mcap)")
    values = on_plane(6, **HEAVIER)
    loop, hardware = made(MOTION, values)
    run(loop, hardware, 200, record=tmp_path / "run.mcap")
    again, _ = made(MOTION, values)
    assert replay(tmp_path / "run.mcap", again).difference == 0.0
    stiffer, _ = made(MOTION, {**values, "gains.stiffness": [50.0]})
    anew = replay(tmp_path / "run.mcap", stiffer, anew=True)
    assert anew.runner.loop.controller.posture_acts


def checked(tmp_path, capsys, values, *options):
    values = {name: value for name, value in values.items() if not name.startswith("simulation.m")}
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
    status = main(["check", str(file), "--node", MOTION, *options])
    return status, capsys.readouterr().out


def test_check_says_how_many_there_are_and_what_holds_them(tmp_path, capsys):
    status, said = checked(tmp_path, capsys, on_plane(6), "--json")
    found = json.loads(said)
    assert status == 0
    assert found["undescribed_directions"] == 3
    assert "where the arm stood at the start" in found["held_by"]
    assert not any("no posture" in warning for warning in found["warnings"])
    _, said = checked(tmp_path, capsys, on_plane(6, posture__hold=0.0))
    assert "3 of the arm's 5 free directions have no coordinate and no posture" in said
    _, said = checked(tmp_path, capsys, on_plane(6, law="gravity", constraint__kind="none"))
    assert "no posture" not in said


def test_check_says_how_hard_the_arm_leans_on_its_constraint(tmp_path, capsys):
    """PIDC leaves to the plane what it can carry; the force of a run is the one that was said."""
    values = on_plane(6)
    status, said = checked(tmp_path, capsys, values)
    assert status == 0
    assert "leans on the constraint what weight it can" in said
    loop, hardware = made(MOTION, values)
    settings = controller(MOTION, values)
    flight = build.fly(build.build_loop(MOTION, settings), settings, hardware.truth.q.copy())
    ((low, high),) = flight.lean.values()
    run(loop, hardware, 200)
    measured = float(hardware.truth.multipliers[0])
    assert measured == pytest.approx(low, abs=0.05)
    assert measured == pytest.approx(high, abs=0.05)
    assert abs(low) > 10.0
    pressing = controller(FORCE, {**values, "force.reference": [5.0]})
    flight = build.fly(build.build_loop(FORCE, pressing), pressing, hardware.truth.q.copy())
    assert not flight.leans
    assert flight.lean == {next(iter(flight.lean)): pytest.approx((5.0, 5.0), abs=1e-6)}


@pytest.mark.parametrize(("kind", "leans"), [(MOTION, True), (FORCE, False)])
def test_check_says_how_hard_the_arm_leans_in_a_stop(tmp_path, capsys, kind, leans):
    """As the simulated arm does in one: PIDC some 40 N, what has a force loop nothing."""
    values = on_plane(6)
    _, said = checked(tmp_path, capsys, values, "--node", kind)
    (line,) = [line for line in said.splitlines() if "in a damped stop [N or N·m]" in line]
    low, high = (float(word) for word in line.split()[-3::2])
    loop, hardware = made(kind, values)
    Runner(loop, hardware).open()
    for k in range(700):
        if k == 50:
            loop.set_reference(Constant(loop.controller.model.theta + 1.0))
        hardware.write(loop.update(hardware.read()).effort)
    assert loop.report.action is Action.STOP
    measured = float(hardware.truth.multipliers[0])
    assert (abs(measured) > 10.0) is leans
    assert measured == pytest.approx(low, rel=0.02, abs=0.05)
    assert measured == pytest.approx(high, rel=0.02, abs=0.05)
