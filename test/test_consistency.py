"""Rows that contradict each other: refused before anything moves, and said by a tick."""

import re

import numpy as np
import pytest
import yaml
from arms import raw_state, slider_model
from plane_arms import on_plane

from projected_control.apps.cli import main
from projected_control.control import MotionController, MotionGains
from projected_control.control.activation import obstacles
from projected_control.control.events import Action, Event
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Waypoints
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.consistency import contradiction
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving, PointOnLine, Stack
from projected_control.model.constraints.moving import Travel
from projected_control.planning import assemble, start_of
from projected_control.settings.nodes import MOTION
from projected_control.simulation import Plant

NEAR = [-3.8, 2.4, 1.4]
NAMED = r"the rows table\.\S+, tray\.\S+ of the constraint depend on each other and contradict"


def line(y=-0.27, angle=0.0):
    along = [np.cos(angle), np.sin(angle), 0.0]
    return PointOnLine("tip", [0.0, y, 0.0], along, plane_normal=[0.0, 0.0, 1.0])


def travel(rate=0.0, amplitude=0.0, phase=0.0):
    numbers = (rate, amplitude, 1.0, phase)
    return Travel(*(np.array([number]) for number in numbers))


def model_of(*parts):
    plain = slider_model()
    return ConstrainedArm(plain.arm, Stack(parts, ["table", "tray"]), plain.coordinates)


def on_the_line():
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR)
    return q, Constant(model.evaluate(q, np.zeros(3)).theta.copy())


CONTRADICTING = {
    "one moves": (line(), Moving(line(), travel(0.1)), "velocities are .*0.1"),
    "one swings": (line(), Moving(line(), travel(0.0, 0.01)), "velocities are"),
    "one begins to swing": (
        line(),
        Moving(line(), travel(0.0, 0.01, np.pi / 2)),
        "accelerations are",
    ),
    "one will move": (
        line(),
        Moving(line(), Waypoints([5.0, 6.0], [[0.0], [0.02]])),
        r"velocities \(at 5",
    ),
    "one from above": (
        line(),
        Moving(line(angle=np.pi), travel(0.1)),
        "velocities are",
    ),
    "apart": (line(), line(-0.2701), "distances are"),
}
CONSISTENT = {
    "both rest": (line(), line()),
    "both move": tuple(Moving(line(), travel(0.02, 0.01)) for _ in range(2)),
    "across": (line(), Moving(line(angle=np.pi / 2), travel(0.1))),
}


@pytest.mark.parametrize("case", CONTRADICTING)
def test_what_contradicts_itself_is_refused_by_name(case):
    """Start, simulated plant and whatever takes an arm over; the average was taken before."""
    *parts, why = CONTRADICTING[case]
    model, (q, reference) = model_of(*parts), on_the_line()
    controller = MotionController(model, MotionGains(100.0, 20.0))
    with pytest.raises(InvalidValue, match=f"{NAMED}.*{why}"):
        Plant(model_of(*parts)).reset(q)
    against = obstacles(ControlLoop(controller, reference), q, 0.1)
    (found,) = [each for each in against if "contradict" in each]
    assert "the rows table." in found
    assert ", tray." in found
    if case != "apart":  # there is no place on both
        with pytest.raises(InvalidValue, match=f"{NAMED}.*{why}"):
            start_of(model, reference, q)


def test_check_refuses_a_file_that_contradicts_itself(tmp_path, capsys):
    """The same plane twice, one of them with a motion of 2 cm/s."""
    values = {k: v for k, v in on_plane(6).items() if not k.startswith("constraint.")}
    plane = {"kind": "point_on_plane", "frame": "flange", "point": [0.0, 0.0, 0.4]}
    plane["direction"] = [0.0, 0.0, -1.0]
    moving = {**plane, "motion": {"rate": [0.02]}}
    values["constraints"] = {"names": ["table", "tray"], "table": plane, "tray": moving}
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}))
    assert main(["check", str(file), "--node", MOTION]) == 1
    assert re.search(rf"{NAMED}.*velocities are \[0.0, 0.02\]", capsys.readouterr().out)


@pytest.mark.parametrize("case", CONSISTENT)
def test_what_agrees_is_not_refused(case):
    model = model_of(*CONSISTENT[case])
    q, _ = on_the_line()
    assert contradiction(model.arm, model.constraint, q) == ""


def test_a_tick_that_meets_it_says_so_and_its_effort_does_not_jump():
    """From the first tick in which one of two equal lines moves; steps stay below 0.01 N·m."""
    leaving = Waypoints([0.05, 0.55], [[0.0], [0.02]])
    model, (q, reference) = model_of(line(), Moving(line(), leaving)), on_the_line()
    controller = MotionController(model, MotionGains(480.0, 45.0))
    limits = Limits.of(model.arm, effort=1e3, effort_rate=1e9)
    loop = ControlLoop(controller, reference, limits=limits)
    loop.begin(raw_state(model, q, np.zeros(3), None, 0.0))
    events, efforts = [], []
    for k in range(200):
        report = loop.update(raw_state(model, q, np.zeros(3), None, 1e-3 * k))
        assert report.action is Action.FOLLOW
        events.append(bool(report.events & Event.CONSTRAINTS_CONTRADICT))
        efforts.append(report.effort.copy())
    assert Event.CONSTRAINTS_CONTRADICT.phrase == "constraints contradict"
    assert events.index(True) in range(51, 60)
    assert all(events[60:])
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.01


def test_a_plant_that_meets_it_says_so():
    """Lines that are the same only where the arm is later: known when the plant gets there."""
    parts = CONTRADICTING["one will move"][:2]
    plant = Plant(model_of(*parts))
    q, _ = on_the_line()
    plant.terms.time[0], plant._q[:] = 5.5, q
    with pytest.raises(SimulationFailed, match=NAMED):
        plant.step(np.zeros(3))
