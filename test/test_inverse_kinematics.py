"""Inverse kinematics: residuals, priorities, singular poses, joint limits, what cannot be met."""

import numpy as np
import pinocchio
import pytest
from arms import planar_chain_model, random_urdf, slider_crank_case, slider_model, three_link_arm
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, UnknownName, Unreachable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    LoopClosure,
    Moving,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    PointOnSphere,
    Stack,
)
from projected_control.model.constraints.moving import Travel
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.planning import (
    InverseKinematics,
    Stop,
    Task,
    assemble,
    manipulability,
    map_reach,
    start_of,
)
from projected_control.planning.steps import (
    LARGEST_STEP,
    damped_inverse,
    free_step,
    limited_step,
)
from projected_control.planning.tasks import SquareAxis, TaskLevel
from projected_control.resources import share_file

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=settings.default.max_examples // 5)
"""For what takes a whole search per example."""

LEVEL = [0.0, 0.0, 1.0]
REACH = float(np.sqrt(0.7**2 - 0.27**2))  # how far along its slider the 3R arm reaches [m]

ARM6, ARM7 = (Arm.from_urdf(random_urdf(5, n)) for n in (6, 7))


def pinocchio_pose(arm, q, frame):
    """A frame's pose by Pinocchio alone, on a model and data of its own."""
    model = pinocchio.buildModelFromXML(arm.urdf)
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, np.asarray(q))
    return data.oMf[model.getFrameId(frame)]


def levels_of(seed, rows, n=7, rank_deficient=True):
    """Random levels, the second half of each repeating its first where that is asked for."""
    random = np.random.default_rng(seed)
    levels = []
    for m in rows:
        J = random.normal(size=(m, n))
        if rank_deficient and m > 1:
            J[-1] = J[0] * random.uniform(-2.0, 2.0)
        levels.append(TaskLevel(random.normal(size=m), J))
    return levels


# Steps


@given(seed=SEEDS, rows=st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_a_lower_level_never_moves_a_higher_one(seed, rows):
    """What the step does to a level is the same to 1e-9 with and without the levels below it."""
    levels = levels_of(seed, rows)
    still = np.zeros(7)
    whole = free_step(levels, [0.02] * len(rows), 10.0 * np.ones(7))
    for i in range(1, len(rows) + 1):
        part = free_step(levels[:i], [0.02] * i, still)
        for level in levels[:i]:
            np.testing.assert_allclose(level.jacobian @ (whole - part), 0.0, atol=1e-9)


@given(seed=SEEDS, exponent=st.floats(-12.0, 0.0), damping=st.floats(1e-3, 1.0))
def test_damped_steps_are_bounded_however_near_a_singular_pose(seed, exponent, damping):
    random = np.random.default_rng(seed)
    U, _ = np.linalg.qr(random.normal(size=(3, 3)))
    V, _ = np.linalg.qr(random.normal(size=(7, 3)))
    J = U @ np.diag([1.0, 0.5, 10.0**exponent]) @ V.T
    inverse, left = damped_inverse(J, damping)
    assert np.linalg.norm(inverse, 2) <= 1.0 / damping * (1.0 + 1e-12)
    np.testing.assert_allclose(J @ left, 0.0, atol=1e-9)
    if min(10.0**exponent, 0.5) >= damping:
        np.testing.assert_allclose(inverse, np.linalg.pinv(J), atol=1e-9 / damping**2)


@given(seed=SEEDS)
def test_steps_stay_within_the_limits_and_are_never_long(seed):
    random = np.random.default_rng(seed)
    q = random.uniform(-1.0, 1.0, 7)
    lower, upper = q - random.uniform(0.0, 0.3, 7), q + random.uniform(0.0, 0.3, 7)
    levels = levels_of(seed, [3, 2])
    step = limited_step(levels, [0.02, 0.02], q, lower, upper, random.normal(size=7))
    assert (q + step >= lower - 1e-15).all()
    assert (q + step <= upper + 1e-15).all()
    assert np.abs(step).max() <= LARGEST_STEP + 1e-12


# Poses


@FEW
@given(seed=SEEDS)
def test_a_reachable_pose_is_reached_and_pinocchio_agrees(seed):
    """Position and rotation of a random arm's end to 1e-8, joints within their limits."""
    random = np.random.default_rng(seed)
    target = pinocchio_pose(ARM7, random.uniform(-2.5, 2.5, 7), "end_7")
    task = Task.pose("end_7", target.translation, target.rotation)
    found = InverseKinematics(ARM7, None, [task]).solve(random.uniform(-1.0, 1.0, 7), strict=False)
    assume(found.met)  # 21 starts do not find every one: how many is asserted below
    pose = pinocchio_pose(ARM7, found.q, "end_7")
    np.testing.assert_allclose(pose.translation, target.translation, atol=1e-8)
    np.testing.assert_allclose(pose.rotation, target.rotation, atol=1e-8)
    assert (found.q >= ARM7.limits.lower).all()
    assert (found.q <= ARM7.limits.upper).all()
    assert found.stopped is Stop.MET
    assert found.task("pose of end_7").error <= 1e-9


def test_restarts_find_nearly_all_reachable_poses():
    """Of 10 poses of a random arm of seven joints 9 at least; without restarts fewer."""
    random, once, again = np.random.default_rng(1), 0, 0
    for _ in range(10):
        target = pinocchio_pose(ARM7, random.uniform(-2.5, 2.5, 7), "end_7")
        task = Task.pose("end_7", target.translation, target.rotation)
        guess = random.uniform(-1.0, 1.0, 7)
        once += InverseKinematics(ARM7, None, [task], restarts=0).solve(guess, strict=False).met
        again += InverseKinematics(ARM7, None, [task]).solve(guess, strict=False).met
    assert again >= 9
    assert once < again


@FEW
@given(seed=SEEDS)
def test_what_is_left_free_is_nearest_the_posture(seed):
    """At the result, the way to the posture lies across the tasks: q₀ − q ∈ R(Jᵀ)."""
    random = np.random.default_rng(seed)
    q = random.uniform(-1.0, 1.0, 7)
    place = pinocchio_pose(ARM7, q, "end_7").translation
    posture = q + random.uniform(-0.2, 0.2, 7)
    ik = InverseKinematics(ARM7, None, [Task.position("end_7", place)], posture=posture)
    found = ik.solve(q)
    J = ARM7.update(found.q, np.zeros(7)).frame("end_7").jacobian[:3]
    free = np.eye(7) - np.linalg.pinv(J) @ J
    np.testing.assert_allclose(free @ (posture - found.q), 0.0, atol=1e-6)


# Priorities


@FEW
@given(seed=SEEDS)
def test_a_lower_task_costs_a_higher_one_nothing(seed):
    """A lower task out of reach leaves the error of a higher one as it is without it."""
    random = np.random.default_rng(seed)
    q = random.uniform(-1.0, 1.0, 6)
    place = pinocchio_pose(ARM6, q, "end_6").translation
    first = Task.position("end_6", place, "first")
    second = Task.position("end_3", 5.0 * random.normal(size=3), "second")
    ik = InverseKinematics(ARM6, None, [first, second], restarts=1)
    found = ik.solve(q + random.uniform(-0.1, 0.1, 6), strict=False)
    assert found.task("first").error <= 1e-9
    assert not found.task("second").met
    assert found.stopped in (Stop.NO_BETTER, Stop.ITERATIONS)


@FEW
@given(reach=st.floats(1.3, 3.0), angle=st.floats(-3.0, 3.0))
def test_out_of_reach_misses_by_what_the_arm_is_too_short(reach, angle):
    """Four links of 0.3 m stretched out: the error is the distance less 1.2 m, and it says so."""
    arm = planar_chain_model().arm
    goal = reach * np.array([np.cos(angle), np.sin(angle)])
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xy"])
    ik = InverseKinematics(
        arm, None, [Task(tip, goal, "tip")], lower=-np.inf, upper=np.inf, restarts=0
    )
    found = ik.solve([0.1, 0.5, 0.5, 0.5], strict=False)
    assert found.task("tip").error == pytest.approx(reach - 1.2, abs=1e-4)
    assert found.task("tip").reason == "it is out of reach: no joint brings it nearer"


def test_the_lower_of_two_tasks_that_contradict_each_other_gives_way():
    arm = planar_chain_model().arm
    tasks = [Task(Coordinates([Coordinate.position("tip", "x")]), [x], f"{x}") for x in (0.5, 0.7)]
    found = InverseKinematics(arm, None, tasks, restarts=2).solve(
        [0.1, 0.5, 0.5, 0.5], strict=False
    )
    assert found.task("0.5").met
    assert found.task("0.7").residual == pytest.approx([-0.2], abs=1e-9)
    assert found.task("0.7").reason == "what is needed for it is taken by 0.5"
    assert "0.7 is missed by 0.2 m" in found.phrase
    with pytest.raises(Unreachable, match=r"'chain' cannot do what is asked: 0.7 is missed by"):
        InverseKinematics(arm, None, tasks, restarts=0).solve([0.1, 0.5, 0.5, 0.5])


def test_a_task_with_a_singular_direction_of_its_own_passes_it():
    """A stretched arm asked to fold: nothing moves it at first order, the second start does."""
    arm = planar_chain_model().arm
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xy"])
    found = InverseKinematics(arm, None, [Task(tip, [0.6, 0.0])]).solve(np.zeros(4))
    assert found.met
    assert found.starts == 2


@pytest.mark.parametrize("short", [1e-3, 1e-6, 1e-9])
def test_poses_next_to_a_singular_one_are_reached(short):
    """The tip so far short of stretched out [m], where J loses rank as the root of it."""
    arm = planar_chain_model().arm
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xy"])
    found = InverseKinematics(arm, None, [Task(tip, [1.2 - short, 0.0])]).solve(
        [0.3, 0.4, 0.5, 0.6]
    )
    assert found.task("tip.x, tip.y").error <= 1e-9


# Constraints


def test_redundant_rows_of_a_constraint_do_no_harm():
    """A planar loop closed in space: six rows of which some repeat others, and a coordinate."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    point = PointAtPoint("end_7", place)
    height = Coordinates([Coordinate.position("end_5", "z")])
    goal = arm.frame("end_5").position[2] + 0.02
    once, thrice = (
        InverseKinematics(arm, Stack([point] * k), [Task(height, [goal])]).solve(np.full(7, 0.5))
        for k in (1, 3)
    )
    assert once.task("constraint").error <= 1e-9
    np.testing.assert_allclose(once.q, thrice.q, atol=1e-7)


def test_a_five_bar_is_closed_and_its_tip_put_somewhere():
    file = share_file("urdf", "five_bar.urdf.xacro")
    arm = Arm.from_urdf(file, passive=["left_elbow", "right_elbow"])
    loop = LoopClosure("tip", "right_tip", plane_normal=[0, -1, 0])
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xz"])
    found = InverseKinematics(arm, loop, [Task(tip, [0.05, 0.4])]).solve([2.2, -1.2, 0.94, 1.2])
    at = arm.update(found.q, np.zeros(4))
    np.testing.assert_allclose(at.frame("tip").position, at.frame("right_tip").position, atol=1e-9)
    np.testing.assert_allclose(at.frame("tip").position[[0, 2]], [0.05, 0.4], atol=1e-9)


def test_a_constraint_that_moves_is_met_where_it_is_then():
    arm = three_link_arm()
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], plane_normal=LEVEL)
    rising = Moving(line, Travel(*(np.array([x]) for x in (0.05, 0.0, 0.0, 0.0))))
    for time in (0.0, 2.0):
        found = InverseKinematics(arm, rising).solve([-3.0, 2.0, 1.0], time=time)
        height = arm.update(found.q, np.zeros(3)).frame("tip").position[1]
        assert height == pytest.approx(-0.27 + 0.05 * time, abs=1e-9)


def test_a_constraint_out_of_reach_is_named_before_all_tasks():
    arm = three_link_arm()
    line = PointOnLine("tip", [0.0, -0.9, 0.0], [1.0, 0.0, 0.0], plane_normal=LEVEL)
    x = Coordinates([Coordinate.position("tip", "x")])
    with pytest.raises(Unreachable, match=r"constraint is missed by 0\.2 m: it is out of reach"):
        InverseKinematics(arm, line, [Task(x, [0.0])]).solve([-3.0, 2.0, 1.0])


def test_reach_along_a_constraint_is_said():
    """The 3R arm on its slider: x reaches √(0.7² − 0.27²), and 0.9 m is too far."""
    model = slider_model()
    x = Task(Coordinates([Coordinate.position("tip", "x")]), [0.9], "x")
    found = InverseKinematics(model.arm, model.constraint, [x], restarts=3).solve(
        [-3.0, 2.0, 1.0], strict=False
    )
    assert found.task("constraint").met
    assert found.task("x").residual == pytest.approx([REACH - 0.9], abs=1e-4)
    assert found.task("x").reason == "it is out of reach along the constraint"


# Limits


def test_limits_hold_and_the_joint_that_stops_a_task_is_named():
    """Two links of 1 m: with the elbow bent by 0.5 at least, the tip comes to 2 cos 0.25 m."""
    arm, _ = slider_crank_case()
    tip = Task(Coordinates([Coordinate.position("tip", axis) for axis in "xz"]), [1.99, 0.0], "tip")
    ik = InverseKinematics(arm, None, [tip], lower=[-3.0, 0.5], upper=[3.0, 3.0], restarts=3)
    found = ik.solve([0.5, 1.0], strict=False)
    assert found.q[1] == pytest.approx(0.5)
    assert found.task("tip").error == pytest.approx(1.99 - 2.0 * np.cos(0.25), abs=1e-6)
    assert f"kept from it by {arm.joint_names[1]} at its lower limit 0.5" in found.phrase
    assert found.nearest.joint == arm.joint_names[1]
    assert found.nearest.margin == pytest.approx(0.0, abs=1e-9)


def test_the_other_branch_is_found_where_the_near_one_is_beyond_a_limit():
    arm, _ = slider_crank_case()
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xz"])
    for low, high in ((0.0, 3.0), (-3.0, 0.0)):
        ik = InverseKinematics(arm, None, [Task(tip, [1.0, 0.8])], lower=[-3, low], upper=[3, high])
        q = ik.solve([0.0, 0.3]).q
        assert low <= q[1] <= high


@FEW
@given(seed=SEEDS)
def test_assemble_stays_within_the_limits_of_the_description(seed):
    random = np.random.default_rng(seed)
    plane = PointOnPlane(
        "end_7", pinocchio_pose(ARM7, random.uniform(-2, 2, 7), "end_7").translation, LEVEL
    )
    q = assemble(ARM7, plane, random.uniform(-6.0, 6.0, 7))
    assert (q >= ARM7.limits.lower).all()
    assert (q <= ARM7.limits.upper).all()
    assert abs(plane.residual(ARM7.twin().update(q, np.zeros(7)))) <= 1e-9


# Along a motion


@FEW
@given(seed=SEEDS)
def test_a_start_lies_within_the_limits_of_the_description(seed):
    """A place and a rate that the arm has somewhere in its range, from a guess of its own."""
    rng = np.random.default_rng(seed)
    low, high = ARM7.limits.lower, ARM7.limits.upper
    there, guess = rng.uniform(low, high), rng.uniform(low, high)
    tip = ARM7.frame_names[-1]
    model = ConstrainedArm(
        ARM7.twin(), None, Coordinates([Coordinate.position(tip, axis) for axis in "xyz"])
    )
    goal = model.evaluate(there, np.zeros(7)).theta.copy()
    try:
        start = start_of(model, Constant(goal), guess)
    except Unreachable:
        assume(False)
    assert (start.q >= low).all()
    assert (start.q <= high).all()
    np.testing.assert_allclose(model.evaluate(start.q, start.v).theta, goal, atol=1e-8)


def test_tracking_is_following_but_for_the_limits():
    """Nearest the posture as `solve` has it; beyond the ranges where following ends."""
    arm = three_link_arm()
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xy"])
    task = Task(tip, [0.3, 0.3])
    posture = np.array([0.2, 0.6, 0.4])
    ik = InverseKinematics(arm, None, [task], posture=posture, lower=-3.0, upper=3.0)
    q = ik.track([0.1, 0.8, 0.5], [[0.3, 0.3]])
    np.testing.assert_allclose(q, ik.solve([0.1, 0.8, 0.5]).q, atol=1e-7)
    np.testing.assert_allclose(ik.values_at(q), [0.3, 0.3], atol=1e-10)
    narrow = InverseKinematics(arm, None, [task], lower=q - 0.05, upper=q + 0.05)
    away = [0.3, 0.15]
    assert narrow.follow(q, [away]) is None
    further = narrow.track(q, [away])
    assert np.abs(further - q).max() > 0.05
    np.testing.assert_allclose(narrow.values_at(further), away, atol=1e-10)
    assert narrow.track(q, [[5.0, 0.0]]) is None


@pytest.mark.parametrize("search", ["track", "follow"])
def test_an_axis_stays_square_to_a_surface_that_bends(search):
    """On a sphere the tool points to its centre wherever it goes, whatever values are given."""
    q = np.array([0.3, -0.6, 0.5, 0.9, -0.4, 0.6, 0.2])
    pose = pinocchio_pose(ARM7, q, "end_7")
    axis, centre = pose.rotation[:, 2], pose.translation + 0.5 * pose.rotation[:, 2]
    ball = PointOnSphere("end_7", centre, 0.5)
    across = [pose.rotation[:, 0], pose.rotation[:, 1]]
    members = [Coordinate.position("end_7", "x"), Coordinate.position("end_7", "y")]
    members += [Coordinate.tilt("end_7", LEVEL, d, f"lean_{i}") for i, d in enumerate(across)]
    coordinates = Coordinates(members)
    model = ConstrainedArm(ARM7.twin(), ball, coordinates)
    ik = InverseKinematics(
        ARM7, ball, [Task(coordinates, np.zeros(4))], lower=-np.inf, upper=np.inf
    )
    ik.equations.square = SquareAxis.of(model, q)
    wanted = np.zeros(4)
    wanted[:2] = pose.translation[:2] + np.array([0.01, -0.02])
    found = getattr(ik, search)(q, [wanted])
    there = pinocchio_pose(ARM7, found, "end_7")
    np.testing.assert_allclose(there.translation[:2], wanted[:2], atol=1e-8)
    to_centre = (centre - there.translation) / 0.5
    np.testing.assert_allclose(there.rotation[:, 2], to_centre, atol=1e-7)
    assert there.rotation[:, 2] @ axis < 1.0 - 1e-4


# What is refused


def test_what_makes_no_sense_is_refused_with_the_reason():
    arm = three_link_arm()
    x = Coordinates([Coordinate.position("tip", "x")])
    with pytest.raises(InvalidValue, match=r"values of the task 'tip.x' must have shape 1, got 2"):
        Task(x, [0.1, 0.2])
    with pytest.raises(InvalidValue, match="must be finite"):
        Task(x, [np.nan])
    with pytest.raises(InvalidValue, match="tasks are named twice"):
        InverseKinematics(arm, None, [Task(x, [0.1]), Task(x, [0.2])])
    with pytest.raises(InvalidValue, match="are not below upper ones"):
        InverseKinematics(arm, lower=1.0, upper=0.0)
    with pytest.raises(InvalidValue, match="guess must be finite"):
        InverseKinematics(arm, None, [Task(x, [0.1])]).solve([np.nan, 0.0, 0.0])
    with pytest.raises(InvalidValue, match="there are 1 tasks, and 2 lists"):
        InverseKinematics(arm, None, [Task(x, [0.1])]).solve(np.zeros(3), [[0.1], [0.2]])
    with pytest.raises(UnknownName, match="unknown frame 'tap'; there are: tip"):
        InverseKinematics(arm, None, [Task.position("tap", np.zeros(3))])
    with pytest.raises(UnknownName, match="unknown task 'y'"):
        InverseKinematics(arm, None, [Task(x, [0.1])]).solve([-3.0, 2.0, 1.0]).task("y")


# Manipulability and reach


@given(q=st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)))
def test_manipulability_of_two_links_is_yoshikawas(q):
    """√det(J Jᵀ) = l₁ l₂ |sin q₂|."""
    arm, _ = slider_crank_case()
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xz"])
    found = manipulability(ConstrainedArm(arm, None, tip), np.array(q))
    assert found.measure == pytest.approx(abs(np.sin(q[1])), abs=1e-9)
    assert 0.0 <= found.isotropy <= 1.0


@given(q=st.floats(0.1, 3.0))
def test_manipulability_on_a_constraint_is_of_what_it_leaves(q):
    """The slider-crank: x = 2 cos q₁ along (1, −2)/√5, so that it is 2 |sin q₁|/√5."""
    arm, line = slider_crank_case()
    x = Coordinates([Coordinate.position("tip", "x")])
    found = manipulability(ConstrainedArm(arm, line, x), np.array([q, -2.0 * q]))
    assert found.measure == pytest.approx(2.0 * np.sin(q) / np.sqrt(5.0), abs=1e-6)


def test_the_map_of_two_links_is_a_disc_and_of_a_short_range_half_a_ring():
    """Links of 1 m: π 2² m². An elbow between π/2 and 3 reaches from 2 cos 1.5 to √2 m."""
    arm, _ = slider_crank_case()
    tip = Coordinates([Coordinate.position("tip", axis) for axis in "xz"])
    disc = map_reach(arm, None, tip, [0.3, 0.5], spacing=0.1)
    assert disc.area == pytest.approx(4.0 * np.pi, rel=0.03)
    assert disc.whole
    assert disc.holds([[1.9, 0.0], [2.2, 0.0]]).tolist() == [True, False]
    ring = map_reach(
        arm, None, tip, [0.3, 2.0], spacing=0.1, lower=[-6.0, 0.5 * np.pi], upper=[6.0, 3.0]
    )
    inner, outer = 2.0 * np.cos(1.5), np.sqrt(2.0)
    assert ring.area == pytest.approx(np.pi * (outer**2 - inner**2), rel=0.06)
    assert not ring.holds([0.0, 0.0])[0]


def test_the_map_of_an_arm_on_a_slider_ends_where_it_is_stretched():
    model = slider_model()
    start = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0])
    found = map_reach(model.arm, model.constraint, model.coordinates, start, spacing=[0.05, 0.3])
    low, high = found.extent
    assert high[0] == pytest.approx(REACH, abs=0.05)
    assert low[0] == pytest.approx(-REACH, abs=0.05)
    assert (found.manipulability >= 0.0).all()
    assert ((found.margin >= 0.0) & (found.margin <= 1.0)).all()


# Beside Pink


@pytest.mark.peers
def test_pink_finds_the_same_pose():
    """Six joints, so that a pose near the guess has one solution: the same to 1e-6."""
    pink = pytest.importorskip("pink", reason="Pink is not installed: pip install pin-pink daqp")
    solver = pytest.importorskip("qpsolvers").available_solvers
    if not solver:
        pytest.skip("qpsolvers has no solver: pip install daqp")
    random = np.random.default_rng(0)
    model = pinocchio.buildModelFromXML(ARM6.urdf)
    for _ in range(5):
        guess = random.uniform(-1.0, 1.0, 6)
        target = pinocchio_pose(ARM6, guess + random.uniform(-0.2, 0.2, 6), "end_6")
        configuration = pink.Configuration(model, model.createData(), guess)
        task = pink.FrameTask("end_6", position_cost=1.0, orientation_cost=1.0)
        task.set_target(target)
        for _ in range(100):
            velocity = pink.solve_ik(configuration, [task], 1.0, solver=solver[0], damping=1e-12)
            configuration.integrate_inplace(velocity, 1.0)
        ours = Task.pose("end_6", target.translation, target.rotation)
        found = InverseKinematics(ARM6, None, [ours]).solve(guess)
        np.testing.assert_allclose(found.q, configuration.q, atol=1e-6)
