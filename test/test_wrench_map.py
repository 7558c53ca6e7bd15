"""W⁺ of a configuration in the kernel: the same as `Constraint.multiplier_map` has it."""

import numpy as np
import pytest
from arms import random_state, random_urdf
from kinds import KINDS

from projected_control.control import MotionController, MotionGains
from projected_control.control.force_source import ForceSource
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.wrench_map import WRENCH, bend_directions, update_map, write_map
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    FunctionConstraint,
    LoopClosure,
    Moving,
    PointAtPoint,
    PointOnHeightMap,
    PointOnLine,
    PointOnPlane,
    Stack,
)
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kinds import AngleAbout, HeadingInPlane, JointPosition
from projected_control.model.height_map import HeightMap

ARM = Arm.from_urdf(random_urdf(3, 7))
X, Y, Z = np.eye(3)
LINE = PointOnLine("end_7", [0.1, 0.2, 0.3], [1, 2, 3])
HEADING = FunctionConstraint([HeadingInPlane("end_7", X, X, Y), JointPosition("joint_2")])
HILLS = HeightMap(0.1 * np.sin(np.arange(30.0).reshape(6, 5)), 0.4)
CASES = {
    "line, sensor on another link": (LINE, "end_5"),
    "point, sensor on another link": (PointAtPoint("end_7", [0.1, 0.2, 0.3]), "end_4"),
    "moving plane": (Moving(PointOnPlane("end_6", [0, 0, 0.3], Z), Constant([0.0])), "end_3"),
    "heading": (HEADING, "end_7"),
    "closure with heading": (LoopClosure("end_7", "end_4", Z, 0.3), "end_6"),
    "hills": (PointOnHeightMap("end_7", HILLS, [-1.0, -1.0, 0.1]), "end_5"),
    "hills below another constraint": (
        Stack([LINE, PointOnHeightMap("end_6", HILLS, [-1.0, -1.0, 0.1], [1.0, 2.0, 3.0])]),
        "end_4",
    ),
    "round a point": (FunctionConstraint([AngleAbout("end_7", np.zeros(3), X, Y)]), "end_5"),
    "rows that repeat": (Stack([LINE, LINE, HEADING]), "end_6"),
    "more rows than a wrench has": (Stack([LINE, PointAtPoint("end_6", [0, 0, 0]), LINE]), "end_5"),
}


@pytest.mark.parametrize("name", CASES)
def test_map_is_that_of_the_constraint(name):
    constraint, frame = CASES[name]
    terms = WRENCH.view(WRENCH.new(m=constraint.rows), m=constraint.rows)
    table = ConstrainedArm(ARM, constraint).table
    assert write_map(ARM, constraint, frame, terms, table)
    result = np.empty((constraint.rows, 6))
    for seed in range(20):
        ARM.update(*random_state(ARM, seed))
        bend_directions(ARM.placements, table.table, terms)
        update_map(ARM.placements, terms, result)
        expected = constraint.multiplier_map(ARM, frame)
        np.testing.assert_allclose(result, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))
    ARM.update(np.full(7, np.nan), np.zeros(7))
    bend_directions(ARM.placements, table.table, terms)
    update_map(ARM.placements, terms, result)
    assert np.isnan(result).all()


def test_a_constraint_with_its_own_wrench_is_left_to_python():
    class Own(PointAtPoint):
        def wrench_basis(self, arm, frame):
            return np.eye(6, 3)

    terms = WRENCH.view(WRENCH.new(m=3), m=3)
    assert not write_map(ARM, Own("end_7", [0, 0, 0]), "end_5", terms)
    assert not write_map(ARM, Stack([Own("end_7", [0, 0, 0])]), "end_5", terms)


def test_placements_are_pinocchios_own():
    q, v = random_state(ARM, 5)
    ARM.update(q, v)
    place = ARM.attachment("end_7")
    line = ARM.placements[place.joint]
    np.testing.assert_array_equal(line[:9].reshape((3, 3)).T, place.joint_rotation)
    np.testing.assert_array_equal(line[9:12], place.joint_translation)
    np.testing.assert_array_equal(ARM.placements[0, :12], [*np.eye(3).ravel(), 0, 0, 0])
    before = line.copy()
    ARM.update(q + 0.1, v)
    assert not np.array_equal(line, before)


@pytest.mark.parametrize("name", sorted(name for name in KINDS if "own" not in name))
def test_a_loop_with_any_kind_of_ours_needs_no_python(name):
    """With a sensor on another link: its wrench is turned into λ by the compiled tick."""
    constraint = KINDS[name]("end_7", "end_4")
    in_python = {"redundant stack", "stack with a moving one"}  # with a constraint of one's own
    model = ConstrainedArm(ARM.twin(), constraint, Coordinates.of_joints(["joint_1"]))
    source = ForceSource(model, frame="end_5")
    controller = MotionController(model, MotionGains.from_bandwidth(1.0), period=1e-3)
    loop = ControlLoop(controller, Constant([0.0]), force_source=source)
    parts = [part for part in loop.python_parts if "motion is a function" not in part]
    assert bool(parts) == (name in in_python), parts
