"""W⁺ of a configuration in the kernel: the same as `Constraint.multiplier_map` has it."""

import numpy as np
import pytest
from arms import random_state, random_urdf

from projected_control.control.references import Constant
from projected_control.control.wrench_map import WRENCH, update_map, write_map
from projected_control.model.arm import Arm
from projected_control.model.constraints import (
    FunctionConstraint,
    LoopClosure,
    Moving,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    Stack,
)
from projected_control.model.function_kinds import HeadingInPlane, JointPosition

ARM = Arm.from_urdf(random_urdf(3, 7))
X, Y, Z = np.eye(3)
LINE = PointOnLine("end_7", [0.1, 0.2, 0.3], [1, 2, 3])
HEADING = FunctionConstraint([HeadingInPlane("end_7", X, X, Y), JointPosition("joint_2")])
CASES = {
    "line, sensor elsewhere": (LINE, "end_5"),
    "point, sensor elsewhere": (PointAtPoint("end_7", [0.1, 0.2, 0.3]), "end_4"),
    "moving plane": (Moving(PointOnPlane("end_6", [0, 0, 0.3], Z), Constant([0.0])), "end_3"),
    "heading": (HEADING, "end_7"),
    "closure with heading": (LoopClosure("end_7", "end_4", Z, 0.3), "end_6"),
    "rows that repeat": (Stack([LINE, LINE, HEADING]), "end_6"),
    "more rows than a wrench has": (Stack([LINE, PointAtPoint("end_6", [0, 0, 0]), LINE]), "end_5"),
}


@pytest.mark.parametrize("name", CASES)
def test_map_is_that_of_the_constraint(name):
    constraint, frame = CASES[name]
    terms = WRENCH.view(WRENCH.new(m=constraint.rows), m=constraint.rows)
    assert write_map(ARM, constraint, frame, terms)
    result = np.empty((constraint.rows, 6))
    for seed in range(20):
        ARM.update(*random_state(ARM, seed))
        update_map(ARM.placements, terms, result)
        expected = constraint.multiplier_map(ARM, frame)
        np.testing.assert_allclose(result, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))
    ARM.update(np.full(7, np.nan), np.zeros(7))
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
