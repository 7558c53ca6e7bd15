"""The way along a constraint as a coordinate: how far out the drawer, how far round the valve."""

import numpy as np
import pytest

from projected_control import SimulatedArm, run
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, UnknownName
from projected_control.settings import build
from projected_control.settings.nodes import ARM, MOTION, checked, checked_controller

START = [0.2, 0.5, 0.1, -1.5, 0.2, 1.0, 0.3]
HELD = {"robot_description_file": "seven_joints.urdf", "constraint.frame": "flange"}


def place():
    arm = build.build_arm(checked(ARM, {**HELD, "constraint.kind": "none"}))
    return arm.update(np.array(START), np.zeros(7)).frame("flange")


def angles(R):
    """Roll, pitch and yaw."""
    return [np.arctan2(R[2, 1], R[2, 2]), np.arcsin(-R[2, 0]), np.arctan2(R[1, 0], R[0, 0])]


def constraint_of(kind):
    """A constraint that the flange is on at the start, and its way there."""
    flange = place()
    p = flange.position
    return {
        "point_on_line": ({"point": p - [0.0, 0.1, 0.0], "direction": [0.0, 2.0, 0.0]}, 0.1),
        "frame_fixed": (
            {
                "point": p + np.array([0.05, 0.0, 0.0]),
                "orientation": angles(flange.rotation),
                "directions": ["ty", "tz", "rx", "ry", "rz"],
            },
            -0.05,
        ),
        "point_on_circle": (
            {"point": p - [0.1, 0.0, 0.0], "direction": [0.0, 0.0, 1.0], "radius": [0.1]},
            0.0,
        ),
        "hinge": (
            {"point": p, "axis": [0.0, 0.0, 1.0], "direction": flange.rotation[:, 2]},
            None,
        ),
    }[kind]


def settings_of(kind, **more):
    given, _ = constraint_of(kind)
    values = {
        name: list(map(float, value)) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    return {
        **HELD,
        "constraint.kind": kind,
        **{f"constraint.{name}": value for name, value in values.items()},
        "coordinates": ["way"],
        "coordinate.names": ["way"],
        "coordinate.way.kind": "way",
        "simulation.start": START,
        **more,
    }


def built(node, values):
    kind = {name: v for name, v in values.items() if not name.startswith("simulation")}
    return checked_controller(node, kind)


@pytest.mark.parametrize("kind", ["point_on_line", "frame_fixed", "point_on_circle", "hinge"])
def test_an_arm_goes_along_its_constraint(kind):
    """Half a second towards 0.1 m or rad from where it is: e(t) = 0.1 (1 + 10 t) exp(−10 t)."""
    values = settings_of(kind)
    loop = build.build_loop(MOTION, built(MOTION, values))
    model = loop.controller.model
    theta = float(model.evaluate(np.array(START), np.zeros(7)).theta[0])
    _, begins = constraint_of(kind)
    assert begins is None or theta == pytest.approx(begins, abs=1e-12)
    arm = {
        name: v
        for name, v in values.items()
        if name != "coordinates" and not name.startswith("gains")
    }
    plant = build.build_plant(checked(ARM, arm))
    assert isinstance(plant, SimulatedArm)
    loop.set_reference(Constant([theta + 0.1]))
    run(loop, plant, 500)
    assert plant.plant.state.residual < 1e-9
    found = float(model.evaluate(plant.truth.q, plant.truth.v).theta[0])
    assert theta + 0.1 - found == pytest.approx(0.1 * 6.0 * np.exp(-5.0), abs=1e-4)


def test_turns_round_a_circle_are_counted():
    """Four steps of a quarter turn each, and the way is a whole one, not zero again."""
    values = settings_of("point_on_circle")
    model = build.build_model(built(MOTION, values))
    arm, centre = model.arm, np.array(values["constraint.point"])
    q, ways = np.array(START), []
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        goal = centre + 0.1 * np.array([np.cos(angle), np.sin(angle), 0.0])
        for _ in range(30):
            tip = arm.update(q, np.zeros(7)).frame("flange")
            q = q + np.linalg.pinv(tip.jacobian[:3]) @ (goal - tip.position)
        ways.append(float(model.evaluate(q, np.zeros(7)).theta[0]))
    np.testing.assert_allclose(ways, np.linspace(0.0, 2.0 * np.pi, 9), atol=1e-9)


def several(**more):
    """A line and a plane under names."""
    line = settings_of("point_on_line")
    named = {
        name.replace("constraint.", "constraints.rail."): value
        for name, value in line.items()
        if not name.startswith("simulation")
    }
    table = {"kind": "point_on_plane", "frame": "flange", "direction": [0.0, 0.0, 1.0]}
    named |= {f"constraints.table.{name}": value for name, value in table.items()}
    named["constraints.table.point"] = named["constraints.rail.point"]
    named["constraints.names"] = ["rail", "table"]
    return checked_controller(MOTION, {**named, **more})


def test_the_constraint_is_named_where_there_are_several():
    model = build.build_model(several(**{"coordinate.way.constraint": "rail"}))
    theta = model.evaluate(np.array(START), np.zeros(7)).theta
    np.testing.assert_allclose(theta, [0.1], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, InvalidValue, "coordinate.way.constraint must name one of rail, table"),
        (
            {"coordinate.way.constraint": "rial"},
            UnknownName,
            "unknown coordinate.way.constraint 'rial'; there are: rail",
        ),
        (
            {"coordinate.way.constraint": "table"},
            InvalidValue,
            r"constraints.table \(point_on_plane\) leaves no single way to go along; "
            "point_on_line, point_on_circle, frame_fixed, hinge do",
        ),
    ],
)
def test_what_is_no_way_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        build.build_model(several(**given))


def test_a_pad_leaves_more_than_one_way():
    values = settings_of("frame_fixed", **{"constraint.directions": ["tz", "rx", "ry"]})
    with pytest.raises(InvalidValue, match="this one leaves tx, ty, rz"):
        build.build_model(built(MOTION, values))
