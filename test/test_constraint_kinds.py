"""Every kind of constraint against Pinocchio's constrained dynamics, and what each one means."""

import numpy as np
import pinocchio
import pytest
from arms import random_state, random_urdf
from kinds import KINDS, POINT, TOOL, hills

from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.arm import Arm, OffsetFrame
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    Angle,
    Distance,
    FrameFixed,
    Hinge,
    JointCoupling,
    JointLocked,
    LoopClosure,
    Moving,
    Parallel,
    PointAtPoint,
    PointOnCircle,
    PointOnCylinder,
    PointOnHeightMap,
    PointOnSphere,
    Stack,
)
from projected_control.model.constraints.moving import Travel
from projected_control.model.constraints.poses import rotation_matrix
from projected_control.model.dynamics import Problem, projected
from projected_control.model.height_map import HeightMap
from projected_control.model.projection import Projection
from projected_control.planning import assemble
from projected_control.simulation import Plant

NINE = Arm.from_urdf(random_urdf(3, 9))
TIP, OTHER = "end_9", "link_0"


def held(arm, name, seed=0):
    """An arm assembled on a constraint of a kind, with a velocity that the constraint allows."""
    constraint = KINDS[name](TIP, "end_2")
    random = np.random.default_rng(seed)
    for _ in range(20):
        try:
            q = assemble(arm, constraint, random.uniform(-1.5, 1.5, arm.n))
            break
        except Unreachable:
            continue
    model = ConstrainedArm(arm, constraint).evaluate(q, np.zeros(arm.n))
    return constraint, q, model.P @ random.normal(size=arm.n)


OURS = [
    name
    for name in KINDS
    if not name.startswith(("own", "stack", "redundant", "moving", "joint and", "loop with"))
]


@pytest.mark.parametrize("name", OURS)
def test_accelerations_and_forces_are_pinocchios(name):
    """q̈, λ and F under random efforts, A and Ȧq̇ of Pinocchio's side by differences of Φ alone."""
    arm = NINE.twin()
    constraint, q, v = held(arm, name)
    assert np.linalg.norm(constraint.residual(arm.update(q, v))) < 1e-9
    probe, step = arm.twin(), 1e-5

    def residual(place):
        return constraint.residual(probe.update(place, np.zeros(arm.n)))

    A = np.array(
        [(residual(q + step * e) - residual(q - step * e)) / (2 * step) for e in np.eye(arm.n)]
    ).T
    far = 1e-4
    bias = (residual(q + far * v) - 2 * residual(q) + residual(q - far * v)) / far**2
    effort = np.random.default_rng(1).normal(size=arm.n) * 5.0
    data = arm.pinocchio_model.createData()
    pinocchio.computeAllTerms(arm.pinocchio_model, data, q, v)
    expected = pinocchio.forwardDynamics(arm.pinocchio_model, data, effort, A, bias, 0.0)
    found = projected(Problem.of(ConstrainedArm(arm, constraint).evaluate(q, v), effort))
    np.testing.assert_allclose(found.acceleration, expected, rtol=1e-5, atol=1e-5)
    force = -A.T @ np.array(data.lambda_c)
    np.testing.assert_allclose(found.constraint_force, force, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(found.multipliers, -np.array(data.lambda_c), rtol=1e-5, atol=2e-5)


def contact(arm, kind, frame, other=None, target=None):
    """Pinocchio's own constraint between two frames, or a frame and the world."""
    model = arm.pinocchio_model
    first = model.frames[model.getFrameId(frame)]
    if other is None:
        joint, place = 0, target
    else:
        second = model.frames[model.getFrameId(other)]
        joint, place = second.parentJoint, second.placement * target
    return pinocchio.RigidConstraintModel(
        kind, model, first.parentJoint, first.placement, joint, place, pinocchio.LOCAL
    )


@pytest.mark.parametrize("name", ["point", "weld", "weld to a frame", "loop in six directions"])
def test_points_and_welds_are_pinocchios_contacts(name):
    """The same constraint, written by Pinocchio itself."""
    arm = NINE.twin()
    _, q, v = held(arm, name)
    turn = np.eye(3) if name == "point" else rotation_matrix("pose", [0.3, -0.4, 0.5])
    kind = pinocchio.ContactType.CONTACT_3D if name == "point" else pinocchio.ContactType.CONTACT_6D
    other = "end_2" if "frame" in name or "loop" in name else None
    model = arm.pinocchio_model
    contacts = pinocchio.StdVec_RigidConstraintModel()
    contacts.append(contact(arm, kind, TIP, other, pinocchio.SE3(turn, np.array(POINT))))
    datas = pinocchio.StdVec_RigidConstraintData()
    datas.append(contacts[0].createData())
    data = model.createData()
    pinocchio.initConstraintDynamics(model, data, contacts, datas)
    effort = np.random.default_rng(1).normal(size=arm.n) * 5.0
    settings = pinocchio.ProximalSettings(1e-12, 1e-12, 50)
    expected = pinocchio.constraintDynamics(model, data, q, v, effort, contacts, datas, settings)
    constraint = KINDS[name](TIP, "end_2")
    found = projected(Problem.of(ConstrainedArm(arm, constraint).evaluate(q, v), effort))
    np.testing.assert_allclose(found.acceleration, expected, rtol=1e-6, atol=1e-6)


def test_what_the_new_rows_mean():
    arm = NINE.twin().update(*random_state(NINE, 3))
    tip, other = arm.frame(TIP), arm.frame("end_2")
    r, n = tip.position - POINT, np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    across = np.linalg.norm(r - (n @ r) * n)
    circle = PointOnCircle(TIP, POINT, n, 0.3)
    np.testing.assert_allclose(circle.residual(arm), [n @ r, across - 0.3], atol=1e-14)
    assert circle.row_names == ("axial", "radial")
    gap = np.linalg.norm(r)
    assert PointOnSphere(TIP, POINT, 0.3).residual(arm)[0] == pytest.approx(gap - 0.3)
    assert PointOnCylinder(TIP, POINT, n, 0.3).residual(arm)[0] == pytest.approx(across - 0.3)
    rod = np.linalg.norm(tip.position - other.position)
    assert Distance(TIP, 0.2, "end_2").residual(arm)[0] == pytest.approx(rod - 0.2)
    axis = tip.rotation @ np.array(TOOL)
    alpha = np.arccos(axis @ n)
    near = Angle(TIP, TOOL, n, alpha + 1e-4).residual(arm)[0]
    assert near == pytest.approx(-1e-4, rel=1e-3)
    place = other.rotation.T @ (tip.position - other.position)
    np.testing.assert_allclose(
        FrameFixed(TIP, ["tx", "tz"], [0.1, 9.0, 0.2], other="end_2").residual(arm),
        place[[0, 2]] - [0.1, 0.2],
        atol=1e-14,
    )
    q = arm.q
    assert JointCoupling("joint_3", "joint_1", -2.0, 0.1).residual(arm)[0] == pytest.approx(
        q[2] + 2.0 * q[0] - 0.1
    )
    assert JointLocked("joint_3", 0.4).residual(arm)[0] == pytest.approx(q[2] - 0.4)


@pytest.mark.parametrize("directions", [["rx"], ["rx", "rz"], ["rx", "ry", "rz"], ["ry", "rz"]])
def test_rotation_rows_are_small_angles_about_their_axes(directions):
    """From the pose they hold, a turn by a small vector φ in the other's axes gives its parts."""
    arm = NINE.twin().update(*random_state(NINE, 4))
    other, tip = (arm.frame(name).rotation for name in ("end_2", TIP))
    phi = 1e-5 * np.array([1.0, -2.0, 3.0])
    relative = other.T @ tip
    turn = np.eye(3) + np.cross(np.eye(3), phi)  # exp(φ×), to first order
    pose = turn.T @ relative
    angles = [
        np.arctan2(pose[2, 1], pose[2, 2]),
        np.arcsin(-pose[2, 0]),
        np.arctan2(pose[1, 0], pose[0, 0]),
    ]
    found = FrameFixed(TIP, directions, POINT, angles, "end_2").residual(arm)
    expected = [phi["xyz".index(d[1])] for d in directions]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("turned", [0.0, 1.0, 2.0, 3.1])
def test_a_hinge_keeps_its_five_rows_all_the_way_round(turned):
    """Unlike rows that are angles of a turn, which lose one at half a turn."""
    arm = NINE.twin().update(*random_state(NINE, 5))
    tip = arm.frame(TIP)
    axis = np.array([0.0, 0.0, 1.0])
    c, s = np.cos(turned), np.sin(turned)
    along = tip.rotation @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]) @ axis
    hinge = Hinge(TIP, axis, tip.position, along)
    assert np.linalg.norm(hinge.residual(arm)) < 1e-12
    assert Projection.of(hinge.jacobian(arm)).rank == 5
    free = FrameFixed(TIP, ["tx", "ty", "tz", "rx", "ry"], tip.position)
    assert Projection.of(free.jacobian(arm)).rank == 5


def test_antiparallel_is_not_parallel():
    """The rows vanish for both; the residual tells them apart."""
    arm = NINE.twin().update(*random_state(NINE, 6))
    along = arm.frame(TIP).rotation @ np.array(TOOL)
    assert np.linalg.norm(Parallel(TIP, TOOL, along).residual(arm)) < 1e-12
    assert np.linalg.norm(Parallel(TIP, TOOL, -along).residual(arm)) >= 1.0
    q = assemble(arm, Parallel(TIP, TOOL, -along), arm.q)
    found = arm.update(q, np.zeros(arm.n)).frame(TIP).rotation @ np.array(TOOL)
    np.testing.assert_allclose(found, -along, atol=1e-9)


def test_a_height_map_goes_through_its_heights_and_bends_without_jumps():
    surface = hills()
    x, y = np.meshgrid(np.linspace(0, 2, 21), np.linspace(0, 2, 21), indexing="ij")
    heights = 0.1 * np.sin(3 * x) * np.cos(2 * y) + 0.05 * x * y
    for i, j in ((0, 0), (3, 7), (20, 20), (12, 20)):
        assert surface(x[i, j], y[i, j]) == pytest.approx(heights[i, j], abs=1e-12)
    for place in ((0.1, 0.33), (1.0, 0.7), (1.9, 1.55)):  # at the seams between pieces, along x
        before = np.array(surface.derivatives(place[0] - 1e-9, place[1]))
        after = np.array(surface.derivatives(place[0] + 1e-9, place[1]))
        np.testing.assert_allclose(before, after, atol=1e-6)
    assert surface(2.05, 2.05) == pytest.approx(surface(2.0, 2.0), abs=0.05)


def test_offsets_from_a_link_and_constraints_that_travel():
    """A tool that the description does not name, on a plane that rises."""
    text = random_urdf(3, 7)
    arm = Arm.from_urdf(text, frames={"pen": OffsetFrame("end_7", [0.1, 0.0, 0.2], [0, 0.5, 0])})
    arm.update(*random_state(arm, 0))
    end, pen = arm.frame("end_7"), arm.frame("pen")
    np.testing.assert_allclose(pen.position, end.position + end.rotation @ [0.1, 0, 0.2])
    np.testing.assert_allclose(
        pen.rotation, end.rotation @ rotation_matrix("pen", [0, 0.5, 0]), atol=1e-12
    )
    ball = PointAtPoint("pen", pen.position)
    rising = Moving(ball, Travel(*np.array([[0, 0, 0.1], [0.02, 0, 0], [1.0, 0, 0], [0, 0, 0]])))
    model = ConstrainedArm(arm, rising)
    plant = Plant(model, 1e-3)
    plant.reset(arm.q, None)
    for _ in range(250):
        plant.step(np.zeros(7))
    moved = arm.update(plant.q, plant.v).frame("pen").position - pen.position
    np.testing.assert_allclose(moved, [0.02, 0.0, 0.025], atol=1e-9)
    with pytest.raises(InvalidValue, match="is in the description already"):
        Arm.from_urdf(text, frames={"link_2": OffsetFrame("end_7")})
    with pytest.raises(KeyError, match="unknown link of frame 'pen': 'hand'"):
        Arm.from_urdf(text, frames={"pen": OffsetFrame("hand")})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Angle(TIP, TOOL, [0, 0, 1], 0.01), "use the kind 'parallel'"),
        (lambda: Angle(TIP, TOOL, [0, 0, 1], np.pi), "use the kind 'parallel'"),
        (lambda: Distance(TIP, 0.3), "give one of both"),
        (lambda: Distance(TIP, 0.3, "end_2", POINT), "give one of both"),
        (lambda: Distance(TIP, 0.0, "end_2"), "length must be positive"),
        (lambda: PointOnCircle(TIP, POINT, [0, 0, 1], -1.0), "radius of the circle must be pos"),
        (lambda: PointOnCircle(TIP, POINT, [0, 0, 1], 1.0, [0, 1, 0]), "is not along the normal"),
        (lambda: FrameFixed(TIP, ["tx", "rq"]), "unknown directions 'rq'"),
        (lambda: FrameFixed(TIP, ["tx", "tx"]), "each once"),
        (lambda: LoopClosure(TIP, TIP), "joins two frames"),
        (lambda: LoopClosure(TIP, OTHER, [0, 0, 1], directions=["tx"]), "directions say all"),
        (lambda: JointCoupling("joint_1", "joint_1"), "cannot be coupled to itself"),
        (lambda: HeightMap(np.zeros((3, 9)), 0.1), "at least 4 × 4 heights"),
        (lambda: HeightMap(np.full((5, 5), np.nan), 0.1), "heights must be finite"),
        (lambda: HeightMap(np.zeros((5, 5)), [0.1, 0.1, 0.1]), "spacing must be one number"),
        (lambda: PointOnHeightMap(TIP, hills(), POINT, [0, 0, 0]), "must have a direction"),
        (lambda: Stack([JointLocked("a", 0.0)] * 2, ["a", "a"]), "need as many names"),
    ],
)
def test_what_makes_no_constraint_is_refused(make, message):
    with pytest.raises((InvalidValue, KeyError), match=message):
        make()


def test_units_of_rows_decide_what_counts_as_singular():
    """A row in rad is scaled by a length; P stays what it is, and λ in units of its own."""
    arm = NINE.twin()
    q, v = random_state(arm, 7)
    weld = FrameFixed(TIP)
    plain = ConstrainedArm(arm, weld).evaluate(q, v)
    P, A_pinv, A = plain.P.copy(), plain.A_pinv.copy(), plain.A.copy()
    scaled = ConstrainedArm(arm, weld, row_length=0.05).evaluate(q, v)
    np.testing.assert_allclose(scaled.P, P, atol=1e-9)
    np.testing.assert_allclose(scaled.A, A, atol=1e-12)
    np.testing.assert_allclose(scaled.A_pinv, A_pinv, atol=1e-8)
    expected = np.linalg.svd(A * np.array([1, 1, 1, 0.05, 0.05, 0.05])[:, None])[1]
    np.testing.assert_allclose(np.sort(scaled.singular_values)[::-1], expected, rtol=1e-9)
