"""Every kind of constraint: its A and Ȧq̇ against finite differences, its λ, its refusals."""

import numpy as np
import pytest
from arms import UPRIGHT, random_state, slider_crank_case, three_link_arm
from kinds import ARMS, KINDS, LEVEL, POINT, ScaledLine, wave

from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    FunctionConstraint,
    LoopClosure,
    Moving,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    Stack,
    Target,
    plane_axes,
)
from projected_control.model.dynamics import Problem, projected
from projected_control.model.function_kinds import JointPosition, PositionAlong


def wrapped(difference):
    """Headings jump by 2π where they wrap; nothing else changes as much."""
    return np.where(
        np.abs(difference) > np.pi, difference - 2 * np.pi * np.sign(difference), difference
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("case", ARMS.values(), ids=ARMS.keys())
def test_jacobian_and_bias_match_finite_differences(case, kind):
    make, tip, other = case
    arm, constraint = make(), kind(tip, other)
    probe = arm.twin()
    model = ConstrainedArm(arm, constraint)

    def residual(q):
        return constraint.residual(probe.update(q, np.zeros(arm.n)))

    def jacobian(q):
        return constraint.jacobian(probe.update(q, np.zeros(arm.n)))

    for seed in range(4):
        q, v = random_state(arm, seed)
        arm.update(q, v)
        A, bias = constraint.jacobian(arm), constraint.bias(arm)
        assert A.shape == (constraint.rows, arm.n)
        assert bias.shape == residual(q).shape == (constraint.rows,)
        step = 1e-6
        columns = [
            wrapped(residual(q + step * e) - residual(q - step * e)) / (2 * step)
            for e in np.eye(arm.n)
        ]
        right = np.abs(residual(q)) != 1.0  # on the wrong side of an axis the residual is put at ±1
        np.testing.assert_allclose(A[right], np.transpose(columns)[right], atol=2e-8)
        step = 1e-4
        near = (jacobian(q + step * v) - jacobian(q - step * v)) @ v / (2 * step)
        far = (jacobian(q + 2 * step * v) - jacobian(q - 2 * step * v)) @ v / (4 * step)
        np.testing.assert_allclose(bias, (4 * near - far) / 3, rtol=1e-7, atol=1e-7)
        model.evaluate(q, v)
        np.testing.assert_allclose(model.A, A, atol=1e-14)
        target = constraint.target(0.0)
        x, _, x_acceleration = target or np.zeros((3, constraint.rows))
        np.testing.assert_allclose(model.residual, residual(q) - x, atol=1e-14)
        np.testing.assert_allclose(model.b, x_acceleration - bias, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_rows_mean(seed, spatial_arm):
    q, v = random_state(spatial_arm, seed)
    arm = spatial_arm.update(q, v)
    tip, other = (arm.frame(name) for name in ("end_7", "end_4"))
    along, normal = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), np.array([0.6, 0.8, 0.0])
    offset = tip.position - POINT
    line = PointOnLine("end_7", POINT, [1.0, 2.0, 3.0]).residual(arm)
    distance = np.linalg.norm(np.cross(offset, along))
    assert np.linalg.norm(line) == pytest.approx(distance, rel=1e-12)
    plane = PointOnPlane("end_7", POINT, 5.0 * normal).residual(arm)
    np.testing.assert_allclose(plane, [normal @ offset], atol=1e-14)
    point = PointAtPoint("end_7", POINT).residual(arm)
    np.testing.assert_allclose(point, offset, atol=1e-14)
    loop = LoopClosure("end_7", "end_4").residual(arm)
    np.testing.assert_allclose(loop, tip.position - other.position, atol=1e-14)


def test_heading_of_a_loop_is_between_the_two_frames():
    """Not from the world's axis: the slider's own direction counts, and so does a link's."""
    arm = three_link_arm(slider_angle=0.7).update(np.array([0.1, 0.2, 0.3]), np.zeros(3))
    rows = LoopClosure("tip", "slider", LEVEL, heading=0.25).residual(arm)
    assert rows[2] == pytest.approx(0.6 - 0.7 - 0.25, abs=1e-14)
    rows = LoopClosure("tip", "link_1", LEVEL, heading=0.25).residual(arm)
    assert rows[2] == pytest.approx(0.5 - 0.25, abs=1e-14)


def test_line_of_a_planar_arm_is_one_equation_along_the_papers_normal():
    """Horizontal slider, q2 = −2 q1: the row is the height, A = [2 cos q1, cos q1]."""
    arm, line = slider_crank_case()
    q = np.array([0.9, -1.8])
    np.testing.assert_allclose(line.residual(arm.update(q, np.zeros(2))), [0.0], atol=1e-15)
    np.testing.assert_allclose(line.jacobian(arm), [[2 * np.cos(0.9), np.cos(0.9)]], atol=1e-14)


def test_moving_constraint_follows_its_target(planar_arm):
    q, v = random_state(planar_arm, 0)
    still = PointOnLine("tip", POINT, [1.0, 0.0, 0.0])
    model = ConstrainedArm(planar_arm, Moving(still, wave))
    assert model.moves
    for time in (0.0, 0.4, 2.0):
        model.evaluate(q, v, time)
        target = wave(time)
        np.testing.assert_allclose(model.residual, still.residual(planar_arm) - target.x)
        bias = still.bias(planar_arm)
        np.testing.assert_allclose(model.b, target.x_acceleration - bias, atol=1e-14)
        np.testing.assert_allclose(model.normal_rate, model.A_pinv @ target.x_rate, atol=1e-14)
    assert not ConstrainedArm(planar_arm, still).moves


def test_stack_of_still_and_moving_has_zeros_for_the_still(planar_arm):
    line = PointOnLine("tip", POINT, [1.0, 0.0, 0.0])
    stack = Stack([PointOnPlane("tip", POINT, LEVEL), Moving(line, wave)])
    np.testing.assert_allclose(stack.target(0.4).x, [0.0, *wave(0.4).x])
    np.testing.assert_allclose(stack.target(0.4).x_rate, [0.0, *wave(0.4).x_rate])
    assert Stack([line, line]).target(0.4) is None


def test_multiplier_is_the_force_on_the_constraint():
    """A tip that is pushed up against a ceiling with 5 N: λ = 5 N along the normal."""
    arm = three_link_arm(plane="vertical")
    q = np.array([0.4, -0.3, 0.2])
    table = PointOnPlane("tip", arm.update(q, np.zeros(3)).frame("tip").position, LEVEL)
    model = ConstrainedArm(arm, table).evaluate(q, np.zeros(3))
    effort = model.h + model.A[0] * 5.0
    np.testing.assert_allclose(projected(Problem.of(model, effort)).multipliers, [5.0], rtol=1e-12)


def test_rows_of_an_own_kind_are_not_bypassed(spatial_arm):
    """A subclass that overrides what its rows say is asked, not its rows."""
    q, v = random_state(spatial_arm, 0)
    plain = ConstrainedArm(spatial_arm, PointOnLine("end_7", POINT, [1.0, 2.0, 3.0]))
    A = plain.evaluate(q, v).A.copy()
    scaled = ConstrainedArm(spatial_arm, ScaledLine("end_7", POINT, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(scaled.evaluate(q, v).A, 3.0 * A, atol=1e-14)


def test_one_constraint_serves_several_arms(planar_arm):
    line = PointOnLine("tip", POINT, [1.0, 0.0, 0.0], LEVEL)
    other = planar_arm.twin()
    planar_arm.update(np.zeros(3), np.zeros(3))
    other.update(np.ones(3), np.ones(3))
    first = line.residual(planar_arm)
    assert np.abs(line.residual(other) - first).max() > 0.1
    np.testing.assert_array_equal(line.residual(planar_arm), first)


@pytest.mark.parametrize(
    ("normal", "expected"),
    [
        (LEVEL, ([1, 0, 0], [0, 1, 0])),
        (UPRIGHT, ([1, 0, 0], [0, 0, 1])),
        ([1.0, 0.0, 0.0], ([0, 1, 0], [0, 0, 1])),
    ],
)
def test_axes_of_a_plane(normal, expected):
    np.testing.assert_allclose(plane_axes(normal), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PointOnLine("tip", [np.nan, 0, 0], [1, 0, 0]), "point of the line must be finite"),
        (lambda: PointOnLine("tip", [0, 0], [1, 0, 0]), "point of the line must have shape 3"),
        (lambda: PointOnLine("tip", POINT, [0, 0, 0]), "must have a direction, got the zero"),
        (lambda: PointOnLine("tip", POINT, [0, 0, 1], LEVEL), "is not in the plane with normal"),
        (lambda: PointOnPlane("tip", POINT, [0, np.inf, 0]), "normal of the plane must be finite"),
        (lambda: PointOnPlane("tip", POINT, [0, 0, 0]), "normal of the plane must have a direct"),
        (lambda: PointAtPoint("tip", [1, 2, 3, 4]), "point must have shape 3, got 4"),
        (lambda: LoopClosure("tip", "link_1", heading=0.0), "needs the plane it is measured in"),
        (lambda: LoopClosure("tip", "link_1", LEVEL, np.nan), "heading must be finite"),
        (lambda: Stack([]), "a stack needs at least one constraint"),
        (lambda: FunctionConstraint([]), "at least one equation"),
        (
            lambda: Moving(PointOnPlane("tip", POINT, LEVEL), wave),
            "x of the moving constraint must have shape 1, got 2",
        ),
        (
            lambda: Moving(
                PointOnPlane("tip", POINT, LEVEL),
                lambda t: Target(np.zeros(1), np.array([np.nan]), np.zeros(1)),
            ),
            "x_rate of the moving constraint must be finite",
        ),
    ],
)
def test_bad_constraints_are_refused(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()


def test_unknown_frames_and_joints_are_named(planar_arm):
    with pytest.raises(UnknownName, match="unknown frame 'hand'; there are: base_link"):
        ConstrainedArm(planar_arm, PointOnPlane("hand", POINT, LEVEL))
    with pytest.raises(UnknownName, match="unknown frame 'hand'"):
        LoopClosure("tip", "hand").residual(planar_arm)
    with pytest.raises(UnknownName, match="unknown joint 'elbow'"):
        FunctionConstraint([JointPosition("elbow")]).residual(planar_arm)


def test_point_rows_may_be_mixed_freely(planar_arm):
    """A row between two frames that are one is always zero."""
    same = FunctionConstraint([PositionAlong("tip", np.array([1.0, 0.0, 0.0]), 0.0, "tip")])
    planar_arm.update(*random_state(planar_arm, 0))
    assert same.residual(planar_arm)[0] == 0.0
    np.testing.assert_array_equal(same.jacobian(planar_arm), 0.0)
