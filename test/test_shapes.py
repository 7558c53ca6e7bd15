"""What constraints look like: every kind's shapes, where they are, and that they move."""

import numpy as np
import pytest
from kinds import KINDS, LEVEL, POINT, wave

from projected_control.model.constraints import (
    Line,
    LoopClosure,
    Moving,
    Plane,
    Point,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    Stack,
    Target,
)


def test_a_line_is_drawn_through_its_point():
    (shape,) = PointOnLine("tip", POINT, [0.0, 3.0, 4.0]).shapes()
    assert isinstance(shape, Line)
    assert shape.frame is None
    np.testing.assert_allclose(shape.point, POINT)
    np.testing.assert_allclose(shape.direction, [0.0, 0.6, 0.8])


def test_a_plane_is_drawn_with_its_normal():
    (shape,) = PointOnPlane("tip", POINT, [0.0, 0.0, 5.0]).shapes()
    assert isinstance(shape, Plane)
    np.testing.assert_allclose(shape.point, POINT)
    np.testing.assert_allclose(shape.normal, LEVEL)


def test_a_plane_is_drawn_as_far_as_it_goes():
    """A level one by its edges, an oblique one by where it leaves its box, others as asked."""
    extent = [0.5, 2.0, 1.0, -1.0, -1.0, -1.0]  # two corners, in any order
    (shape,) = PointOnPlane("tip", [0.0, 0.0, 0.2], [0.0, 0.0, -1.0], extent).shapes()
    middle, *sides = shape.piece(np.array([0.4, 0.0, 0.7]), (1.0, 1.0))
    np.testing.assert_allclose(middle, [-0.05, 0.0, 0.2], atol=1e-12)
    reach = np.abs(sides).max(axis=0)
    np.testing.assert_allclose(reach, [0.55, 1.0, 0.0], atol=1e-12)
    (tilted,) = PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.6, 0.8], extent).shapes()
    middle, *sides = tilted.piece(np.zeros(3), (9.0, 9.0))
    corners = [middle + a * sides[0] + b * sides[1] for a in (-1, 1) for b in (-1, 1)]
    np.testing.assert_allclose(np.min(corners, axis=0), [-1.0, -1.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(np.max(corners, axis=0), [0.5, 4.0 / 3.0, 0.75], atol=1e-12)
    (endless,) = PointOnPlane("tip", POINT, LEVEL).shapes()
    _, *sides = endless.piece(np.zeros(3), (0.3, 0.3))
    np.testing.assert_allclose(np.linalg.norm(sides, axis=1), 0.3)


def test_a_point_is_drawn_where_it_is():
    (shape,) = PointAtPoint("tip", POINT, LEVEL).shapes()
    assert isinstance(shape, Point)
    np.testing.assert_allclose(shape.position, POINT)


def test_a_loop_is_drawn_at_both_frames():
    shapes = LoopClosure("tip", "link_1").shapes()
    assert all(isinstance(shape, Point) and not shape.position.any() for shape in shapes)
    assert [shape.frame for shape in shapes] == ["tip", "link_1"]


def test_what_moves_is_drawn_where_it_is_at_a_time(spatial_arm):
    """A point of the line that is drawn satisfies Φ = x(t)."""
    still = PointOnLine("end_7", POINT, [1.0, 0.0, 0.0])
    for time in (0.0, 0.7):
        (shape,) = Moving(still, wave).shapes(time)
        tip = spatial_arm.frame("end_7").position
        gap = still.residual(spatial_arm) - wave(time).x
        away = np.linalg.norm(np.cross(tip - shape.point, shape.direction))
        assert away == pytest.approx(np.linalg.norm(gap), rel=1e-9)


@pytest.mark.parametrize("height", [0.0, 0.25])
def test_a_lifted_table_and_a_lifted_point(height):
    def lifted(rows):
        def motion(time):
            return Target(height * np.eye(3)[2][-rows:], np.zeros(rows), np.zeros(rows))

        return motion

    (plane,) = Moving(PointOnPlane("tip", POINT, LEVEL), lifted(1)).shapes()
    (point,) = Moving(PointAtPoint("tip", POINT), lifted(3)).shapes()
    expected = [POINT[0], POINT[1], POINT[2] + height]
    np.testing.assert_allclose(plane.point, expected)
    np.testing.assert_allclose(point.position, expected)


def test_a_stack_is_drawn_with_each_part_where_it_is():
    stack = Stack(
        [
            PointOnPlane("tip", POINT, LEVEL),
            Moving(PointOnLine("tip", POINT, [1.0, 0.0, 0.0]), wave),
            LoopClosure("tip", "link_1"),
        ]
    )
    plane, line, *ends = stack.shapes(0.5)
    np.testing.assert_allclose(plane.point, POINT)
    assert np.linalg.norm(line.point - POINT) == pytest.approx(0.1 * np.sin(0.5))
    assert [shape.frame for shape in ends] == ["tip", "link_1"]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_can_be_asked_for_shapes(name):
    shapes = KINDS[name]("tip", "link_2").shapes(0.3)
    nowhere = name in ("own", "own with bias", "joint and heading", "gear", "lock")
    assert bool(shapes) != nowhere
