"""λ and the wrench at a frame: one is turned into the other, and both do the same work."""

from functools import cache

import numpy as np
import pytest
from arms import random_state, random_urdf, slider_model, three_link_arm
from hypothesis import given
from hypothesis import strategies as st
from kinds import ARMS, KINDS, LEVEL, POINT, TipOnCircle, wave

from projected_control import SimulatedArm
from projected_control.control.wrench_map import WRENCH, bend_directions, update_map, write_map
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    FunctionConstraint,
    LoopClosure,
    Moving,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    Stack,
)
from projected_control.model.constraints.wrenches import moved_reference
from projected_control.model.dynamics import Problem, projected
from projected_control.model.function_kinds import HeadingInPlane, JointPosition, PositionAlong
from projected_control.planning import assemble
from projected_control.simulation import Plant

SEEDS = st.integers(0, 10_000)
BOTH_ENDS = {
    name for name in KINDS if name.startswith("loop") or name.endswith((" frame", " frames"))
}
BRANCHED = {"stack", "stack with a moving one"}
AT_THE_TIP = sorted(set(KINDS) - BOTH_ENDS - BRANCHED - {"joint and heading", "gear", "lock"})


@cache
def seven_joints(seed, branching):
    return Arm.from_urdf(random_urdf(seed, 7, branching=branching))


def random_arm(seed, branching=False):
    """One of twenty arms with seven joints, in a state of its own."""
    arm = seven_joints(seed % 20, branching)
    return arm.update(*random_state(arm, seed))


def power(arm, constraint, frames, multipliers):
    """What the wrenches at these frames do to the surroundings per second [W]."""
    return sum(
        constraint.wrench(arm, frame, multipliers) @ (arm.frame(frame).jacobian @ arm.v)
        for frame in frames
    )


@pytest.mark.parametrize("name", AT_THE_TIP)
@given(seed=SEEDS)
def test_wrench_and_multipliers_do_the_same_work(name, seed):
    """λᵀ A q̇ = wᵀ J q̇, at the frame that is held and at any other on the same link."""
    arm = random_arm(seed)
    constraint = KINDS[name]("end_7", "end_4")
    multipliers = np.random.default_rng(seed).normal(size=constraint.rows)
    expected = multipliers @ constraint.jacobian(arm) @ arm.v
    for frame in ("end_7", "link_7"):
        found = power(arm, constraint, [frame], multipliers)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", sorted(BOTH_ENDS))
@given(seed=SEEDS)
def test_a_loop_works_at_both_its_ends(name, seed):
    """Each end measures the opposite of the other; together they do the work of λ."""
    arm = random_arm(seed, branching=True)
    constraint = KINDS[name]("end_7", "end_4")
    multipliers = np.random.default_rng(seed).normal(size=constraint.rows)
    expected = multipliers @ constraint.jacobian(arm) @ arm.v
    for ends in (("end_7", "end_4"), ("link_7", "link_4")):
        assert power(arm, constraint, ends, multipliers) == pytest.approx(expected, abs=1e-9)
    force, reaction = (constraint.wrench(arm, end, multipliers)[:3] for end in ("end_7", "end_4"))
    np.testing.assert_allclose(force, -reaction, atol=1e-14)


@pytest.mark.parametrize("name", AT_THE_TIP)
@given(seed=SEEDS)
def test_from_wrench_to_multipliers_and_back(name, seed):
    """At the held frame, elsewhere on its link, further up the arm, and under its base."""
    arm = random_arm(seed)
    constraint = KINDS[name]("end_7", "end_4")
    frames = ("end_7", "link_7", "link_3", "link_0")
    if name.startswith("own") or name == "redundant stack":
        frames = frames[:2]  # by hand, the link that is held has to be moved by all joints
    multipliers = np.random.default_rng(seed).normal(size=constraint.rows)
    for frame in frames:
        wrench = constraint.wrench(arm, frame, multipliers)
        found = constraint.multipliers(arm, frame, wrench)
        np.testing.assert_allclose(constraint.wrench(arm, frame, found), wrench, atol=1e-8)
        if name == "redundant stack":  # of all λ that fit, the smallest
            assert np.linalg.norm(found) < np.linalg.norm(multipliers)
        else:
            np.testing.assert_allclose(found, multipliers, atol=1e-8)


@pytest.mark.parametrize("frame", ["end_7", "end_4", "link_7", "link_4"])
def test_multipliers_of_a_loop_from_either_end(frame):
    arm = random_arm(5, branching=True)
    constraint = LoopClosure("end_7", "end_4")
    wrench = constraint.wrench(arm, frame, np.array([1.0, -2.0, 3.0]))
    np.testing.assert_allclose(constraint.multipliers(arm, frame, wrench), [1.0, -2.0, 3.0])


@pytest.mark.parametrize("frame", ["link_0", "link_2"])
def test_a_loop_is_not_felt_by_what_carries_both_its_ends(frame):
    """Forces inside the chain beyond a sensor cancel where the loop is closed; so they are."""
    arm = random_arm(3)
    constraint = LoopClosure("end_7", "end_4")
    W = constraint.wrench_basis(arm, frame)
    np.testing.assert_array_equal(W[:3], 0.0)
    gap = arm.frame("end_7").position - arm.frame("end_4").position
    np.testing.assert_allclose(W[3:].T, [np.cross(gap, axis) for axis in np.eye(3)], atol=1e-14)


def test_a_stack_exerts_what_its_parts_exert():
    """A tip in a corner between two walls presses on both."""
    arm = random_arm(1)
    walls = Stack(
        [PointOnPlane("end_7", POINT, [1, 0, 0]), PointOnPlane("end_7", POINT, [0, 1, 0])]
    )
    np.testing.assert_allclose(
        walls.wrench(arm, "end_7", np.array([3.0, -2.0])), [3, -2, 0, 0, 0, 0], atol=1e-14
    )
    found = walls.multipliers(arm, "end_7", np.array([3.0, -2.0, 7.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, [3.0, -2.0], atol=1e-14)


def test_a_stack_on_two_links_is_felt_by_what_carries_them():
    """At the tip only the tip's part is felt; at the link further up, both."""
    arm = random_arm(1)
    both = KINDS["stack"]("end_7", "end_4")
    assert both.frame == "end_7"
    W = both.wrench_basis(arm, "end_7")
    assert W[:, 0].any()
    np.testing.assert_array_equal(W[:, 1:], 0.0)
    np.testing.assert_allclose(both.multipliers(arm, "end_7", W @ [2.0, 5.0, 5.0]), [2, 0, 0])
    multipliers = np.array([2.0, -1.0, 4.0])
    for frame in ("end_4", "link_1"):
        wrench = both.wrench(arm, frame, multipliers)
        np.testing.assert_allclose(both.multipliers(arm, frame, wrench), multipliers, atol=1e-10)


def test_a_moving_constraint_exerts_what_it_moves():
    arm = random_arm(2)
    still = PointOnLine("end_7", POINT, [1.0, 0.0, 0.0])
    moving = Moving(still, wave)
    assert moving.frame == "end_7"
    assert moving.basis_is_constant("end_7")
    for frame in ("end_7", "link_7"):
        W = still.wrench_basis(arm, frame)
        np.testing.assert_array_equal(moving.wrench_basis(arm, frame), W)
        np.testing.assert_array_equal(
            moving.multiplier_map(arm, frame), still.multiplier_map(arm, frame)
        )


@pytest.mark.parametrize("frame", ["tip", "link_3", "base_link"])
def test_friction_along_the_line_is_not_taken_for_constraint_force(frame, planar_arm):
    """Wherever the sensor is: λ is the force across the line, whatever acts along it."""
    line = PointOnLine("tip", POINT, [1.0, 0.0, 0.0], LEVEL)
    planar_arm.update(*random_state(planar_arm, 1))
    at_tip = np.array([7.0, 2.5, 1.0, 0.0, 0.0, 0.0])
    measured = moved_reference(planar_arm, "tip", frame) @ at_tip
    np.testing.assert_allclose(line.multipliers(planar_arm, frame, measured), [2.5], atol=1e-13)


@given(seed=SEEDS)
def test_heading_exerts_a_moment_and_a_joint_nothing(seed):
    arm = random_arm(seed)
    heading = HeadingInPlane("end_7", np.array([0.0, 0.6, 0.8]), *np.eye(3)[:2])
    constraint = FunctionConstraint([JointPosition("joint_2"), heading])
    W = constraint.wrench_basis(arm, "link_7")
    np.testing.assert_array_equal(W[:, 0], 0.0)
    np.testing.assert_array_equal(W[:3], 0.0)
    row = constraint.jacobian(arm)[1]
    np.testing.assert_allclose(
        arm.frame("link_7").jacobian.T @ W[:, 1], row, atol=1e-9 + 1e-9 * abs(row).max()
    )
    np.testing.assert_array_equal(W, constraint.wrench_basis(arm, "end_7"))


def test_heading_of_a_planar_arm_is_the_moment_about_the_normal(planar_arm):
    planar_arm.update(*random_state(planar_arm, 0))
    rigid = LoopClosure("tip", "base_link", LEVEL, heading=0.0)
    expected = np.zeros((6, 3))
    expected[[0, 1, 5], [0, 1, 2]] = 1.0
    np.testing.assert_allclose(rigid.wrench_basis(planar_arm, "tip"), expected, atol=1e-14)


def test_constraint_by_hand_gives_the_smallest_wrench_that_fits(planar_arm):
    """Of the circle it is the force along the radius, without any moment."""
    planar_arm.update(*random_state(planar_arm, 0))
    radius = planar_arm.frame("tip").position / np.linalg.norm(planar_arm.frame("tip").position)
    circle = TipOnCircle("tip", 0.45)
    W = circle.wrench_basis(planar_arm, "tip")
    np.testing.assert_allclose(W[:, 0], [*radius, 0.0, 0.0, 0.0], atol=1e-9)
    assert not circle.basis_is_constant("tip")


@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("case", ARMS.values(), ids=ARMS.keys())
def test_a_basis_said_to_be_constant_is(name, case):
    make, tip, other = case
    constraint = KINDS[name](tip, other)
    for frame in (tip, other):
        bases = []
        for seed in range(3):
            arm = make()
            arm.update(*random_state(arm, seed))
            bases.append(constraint.wrench_basis(arm, frame))
        same = all(np.array_equal(bases[0], basis) for basis in bases)
        assert same or not constraint.basis_is_constant(frame)
    if name in ("line", "plane", "point", "moving", "loop"):
        assert constraint.basis_is_constant(tip)


@pytest.mark.parametrize("name", ["line", "loop with heading", "stack", "own"])
def test_a_state_that_is_not_finite_has_no_multipliers(name):
    arm = random_arm(1)
    arm.update(np.full(7, np.nan), np.zeros(7))
    found = KINDS[name]("end_7", "end_4").multipliers(arm, "link_7", np.ones(6))
    assert np.isnan(found).all()


@pytest.mark.parametrize(
    ("constraint", "frame"),
    [
        (PointOnPlane("tip", POINT, LEVEL), "tip"),
        (LoopClosure("tip", "link_1"), "tip"),
        (FunctionConstraint([JointPosition("joint_1")]), None),
        (FunctionConstraint([JointPosition("joint_1"), PositionAlong("tip", np.eye(3)[0])]), "tip"),
        (
            Stack([FunctionConstraint([JointPosition("joint_1")]), PointAtPoint("tip", POINT)]),
            "tip",
        ),
    ],
)
def test_where_the_force_is_measured_unless_told_otherwise(constraint, frame):
    assert constraint.frame == frame


def test_the_force_of_a_slider_is_what_a_sensor_at_its_tip_reads():
    """λ from the dynamics, as a force across the slider in the world."""
    model = slider_model()
    model.evaluate(np.array([-2.8, 2.0, 0.8]), np.array([0.1, -0.2, 0.3]))
    multipliers = projected(Problem.of(model, np.array([1.0, -2.0, 0.5]))).multipliers
    wrench = model.constraint.wrench(model.arm, "tip", multipliers)
    np.testing.assert_allclose(wrench, [0.0, multipliers[0], 0.0, 0.0, 0.0, 0.0], atol=1e-14)


def test_an_arm_of_few_joints_measures_what_it_can():
    """A by-hand constraint on a two-joint arm: the wrench still loads the joints as λ does."""
    arm = three_link_arm()
    arm = Arm.from_urdf(arm.urdf, joints=["joint_1", "joint_2"])
    arm.update(*random_state(arm, 4))
    circle = TipOnCircle("tip", 0.4)
    W = circle.wrench_basis(arm, "tip")
    np.testing.assert_allclose(arm.frame("tip").jacobian.T @ W, circle.jacobian(arm).T, atol=1e-10)


def corner():
    """A tip between two walls, on seven joints under gravity."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    q = np.full(7, 0.4)
    place = arm.update(q, np.zeros(7)).frame("end_7").position
    walls = [PointOnPlane("end_7", place, normal) for normal in ([1, 0, 0], [0, 1, 1])]
    return arm, Stack(walls), q


def two_links():
    """A tip on a table and an elbow on a rail."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    q = np.full(7, 0.4)
    arm.update(q, np.zeros(7))
    table = PointOnPlane("end_7", arm.frame("end_7").position, LEVEL)
    rail = PointOnLine("end_4", arm.frame("end_4").position, [1.0, 0.0, 0.0])
    return arm, Stack([table, rail]), q


def closed_chain():
    """The tip of a planar arm hinged to its base."""
    arm = three_link_arm(l1=0.3, l2=0.4, l3=0.3)
    loop = LoopClosure("tip", "base_link", LEVEL)
    return arm, loop, assemble(arm, loop, [0.5, 2.0, 2.0])


@pytest.mark.parametrize(
    ("make", "frame"),
    [
        (corner, None),
        (corner, "link_7"),
        (corner, "link_2"),
        (two_links, "end_4"),
        (two_links, "link_0"),
        (closed_chain, None),
        (closed_chain, "link_3"),
        (closed_chain, "link_1"),
    ],
)
def test_a_simulated_sensor_gives_the_multipliers_of_the_dynamics(make, frame):
    """Of stacks and loops too, and wherever the sensor sits, as long as the force passes it."""
    arm, constraint, q = make()
    port = SimulatedArm(Plant(ConstrainedArm(arm, constraint)), q, frame=frame)
    port.hold(np.linspace(3.0, -2.0, arm.n))
    wrench = port.read().wrench
    expected = port.truth.multipliers
    assert np.abs(expected).min() > 0.1
    assert np.abs(wrench).max() > 0.1
    found = constraint.multipliers(arm, port.frame, wrench)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(KINDS) - {n for n in KINDS if "own" in n}))
@pytest.mark.parametrize("frame", ["end_7", "link_3", "end_4"])
def test_the_compiled_map_is_pythons(name, frame):
    """W⁺ as the tick has it, at the frame that is held, further up the arm, and at the other."""
    arm = random_arm(4)
    constraint = KINDS[name]("end_7", "end_4")
    w = WRENCH.view(WRENCH.new(m=constraint.rows), m=constraint.rows)
    model = ConstrainedArm(arm, constraint)
    if not write_map(arm, constraint, frame, w, model.table):
        assert any(word in name for word in ("redundant", "stack with"))
        return
    found = np.empty((constraint.rows, 6))
    bend_directions(arm.placements, model.table.table, w)
    update_map(arm.placements, w, found)
    np.testing.assert_allclose(found, constraint.multiplier_map(arm, frame), atol=1e-9)
