"""Where the rank of a constraint changes, the effort does not jump, and no motion is braked."""

import numpy as np
import pinocchio
import pytest
from arms import URDF, pinocchio_solution, place_in, random_urdf, slider_crank_case
from hypothesis import given
from hypothesis import strategies as st

from projected_control import SimulatedArm, run
from projected_control.control import (
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    Law,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
)
from projected_control.control.loop import ControlLoop
from projected_control.control.rank_change import LET_GO
from projected_control.control.references import Sine, Sines
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointAtPoint, PointOnPlane, Stack
from projected_control.model.coordinates import Coordinates
from projected_control.model.linalg import svd
from projected_control.model.projection import FADED, TOLERANCE, Projection
from projected_control.model.span import SVD, share_kept
from projected_control.simulation import Plant

GAINS = MotionGains(100.0, 20.0, 10.0)
LAWS = {
    "PIDC": lambda model: MotionController(model, GAINS),
    "IDC": lambda model: MotionController(model, GAINS, Law.IDC),
    "hybrid": lambda model: ForceController(model, GAINS, ForceGains()),
    "operational space": lambda model: OperationalSpaceController(model, GAINS),
    "impedance": lambda model: ImpedanceController(model, Impedance(100.0), gains=GAINS),
}
STEP = 1e-3


def crank_model(gravity=0.0, passive=()):
    _, line = slider_crank_case()
    arm = Arm.from_urdf(URDF / "slider_crank.urdf.xacro", gravity=gravity, passive=passive)
    return ConstrainedArm(arm, line, Coordinates.of_joints([arm.joint_names[0]]))


def crank_at(angle, rate):
    """The state of the crank on its own branch."""
    return np.array([angle, 2.0 * np.pi - 2.0 * angle]), rate * np.array([1.0, -2.0])


def efforts(controller, angles, rate, acceleration):
    """Tick by tick along these angles, the reference where the crank is."""
    found = []
    for angle in angles:
        q, v = crank_at(angle, rate)
        controller.motion[:] = [[angle], [rate], [acceleration]]
        if controller.force is not None:
            controller.force.measured[:] = 0.0
        found.append(controller.update(q, v).total.copy())
    return np.array(found)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("acceleration", [0.0, 5.0])
def test_a_crank_passes_its_singular_pose_without_a_jolt(law, acceleration):
    """At 1 rad/s, one tick in the very pose: A = 0. It was 20 N·m, of damping alone, and 30."""
    angles = 1.5 * np.pi + STEP * np.arange(-6, 7)
    controller = LAWS[law](crank_model(9.81))
    seen = efforts(controller, angles, 1.0, acceleration)
    assert np.abs(np.diff(seen, axis=0)).max() < 0.06


def test_what_is_damped_in_the_singular_pose_is_what_was_free_before():
    """And after `LET_GO` in it, all of it."""
    controller = LAWS["PIDC"](crank_model())
    singular, v = crank_at(1.5 * np.pi, 0.0)
    controller.motion[:] = [[1.5 * np.pi], [0.0], [0.0]]
    controller.update(*crank_at(1.5 * np.pi - 0.01, 0.0))
    before = controller.model.P.copy()
    ticks = round(LET_GO / controller.period)
    shares = []
    for _ in range(ticks + 1):
        controller.update(singular, v)
        P = controller.model.P
        assert controller.model.rank == 0
        shares.append(np.linalg.norm(np.eye(2) - P))  # 1: all of the direction is kept
        np.testing.assert_allclose(P @ before, before, atol=1e-9)
    assert shares[0] > 0.999
    assert np.diff(shares).max() <= 1e-12
    assert np.diff(shares).min() > -1.6 / ticks
    np.testing.assert_array_equal(P, np.eye(2))


@pytest.mark.parametrize("law", ["PIDC", "hybrid", "operational space"])
def test_damping_does_not_hold_a_crank_back_in_its_singular_pose(law):
    """In closed loop the error is that without damping; it was four to five times as much."""
    errors = {}
    for damping in (0.0, 10.0):
        model = crank_model()
        controller = LAWS[law](model)
        controller._terms.gains[2] = damping
        q, v = crank_at(1.5 * np.pi - 40 * STEP, 1.0)
        loop = ControlLoop(controller, Sines([q[0]], [[Sine(1.0, 1.0 / (2.0 * np.pi))]]))
        plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint))
        seen, ranks = [], []

        def note(_, tick, seen=seen, ranks=ranks, controller=controller):
            seen.append(abs(controller.error[0, 0]))
            ranks.append(controller.model.rank)

        run(loop, SimulatedArm(plant, q, v), 80, note)
        assert min(ranks) == 0
        errors[damping] = max(seen)
    assert errors[10.0] < 1.1 * errors[0.0]


def test_where_one_motor_loses_control_it_is_said_as_before():
    """What was constrained is kept for the motion, not for whether the motors reach it."""
    controller = PassiveJointController(crank_model(passive=("joint_2",)), GAINS)
    angles = 1.5 * np.pi + STEP * np.arange(-6, 7)
    seen = efforts(controller, angles[:6], 1.0, 5.0)
    assert np.abs(seen[:, 0]).min() > 1.0
    np.testing.assert_array_equal(efforts(controller, angles[6:7], 1.0, 5.0), 0.0)
    assert not controller.controllable
    assert np.abs(efforts(controller, angles[7:], 1.0, 5.0)[:, 0]).min() > 1.0


# Rows that are nearly parallel: the second singular value goes through the tolerance slowly


SEVEN = Arm.from_urdf(random_urdf(3, 7))


def planes_model(angle):
    """Seven joints, the end on two planes that are nearly the same."""
    arm = SEVEN.twin()
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    normals = [[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]]
    planes = Stack([PointOnPlane("end_7", place, normal) for normal in normals])
    return ConstrainedArm(arm, planes, Coordinates.of_joints(["joint_1", "joint_2"]))


def walk(model, ticks, forwards=True):
    """States along both planes at a speed of 1.55 rad/s."""
    exact = ConstrainedArm(model.arm.twin(), model.constraint, tolerance=1e-9)
    direction = np.random.default_rng(0).normal(size=7)
    q, states = np.full(7, 0.4), []
    for _ in range(ticks):
        exact.evaluate(q, np.zeros(7))
        v = exact.P @ direction
        v *= 1.55 / np.linalg.norm(v)
        states.append((q.copy(), v if forwards else -v))
        q = q + STEP * v
        for _ in range(3):
            exact.evaluate(q, np.zeros(7))
            q = q - exact.A_pinv @ exact.residual
    return states if forwards else states[::-1]


@pytest.mark.parametrize("law", [law for law in LAWS if law != "IDC"])
@pytest.mark.parametrize("forwards", [True, False])
def test_nearly_parallel_rows_come_and_go_without_a_step(law, forwards):
    """2 to 6 N·m it was, where the second singular value crossed 1e-4; now as beside it."""
    model = planes_model(2.3e-4)
    controller = LAWS[law](model)
    seen, sizes = [], []
    for q, v in walk(model, 400, forwards):
        model.evaluate(q, v)
        controller.motion[:] = model.theta, model.theta_rate, np.zeros(2)
        if controller.force is not None:
            controller.force.measured[:] = 0.0
        seen.append(controller.update(q, v).total.copy())
        sizes.append(model.singular_values.min())
    assert min(sizes) < TOLERANCE < max(sizes)
    steps = np.abs(np.diff(seen, axis=0)).max(axis=1)
    assert steps.max() < 0.06
    assert steps.max() < 4.0 * np.median(steps)


@pytest.mark.parametrize("law", [law for law in LAWS if law != "IDC"])
def test_the_effort_is_a_continuous_function_of_the_singular_value(law):
    """All of the way from a row that counts to one that does not, without any memory."""
    seen = []
    q, v = walk(planes_model(1e-3), 1)[0]
    for angle in np.geomspace(5e-4, 5e-6, 150):
        controller = LAWS[law](planes_model(angle))
        controller.motion[:] = np.array([[0.4, 0.4], [0.3, -0.2], [2.0, 1.0]])
        if controller.force is not None:
            controller.force.measured[:] = 0.0
        seen.append(controller.update(q, v).total.copy())
    change = np.ptp(seen, axis=0).max()
    assert change > 0.1
    assert np.abs(np.diff(seen, axis=0)).max() < 0.2 * change


# The share


@given(st.floats(1e-9, 1e-2))
def test_the_share_is_whole_above_the_tolerance_and_never_amplifies_more_than_a_tenth(sigma):
    share = share_kept(sigma, FADED * TOLERANCE, TOLERANCE)
    assert 0.0 <= share <= 1.0
    assert share / sigma <= 1.1 / TOLERANCE
    if sigma > TOLERANCE:
        assert share == 1.0
    if sigma <= FADED * TOLERANCE:
        assert share == 0.0
    near = share_kept(sigma * (1.0 + 1e-6), FADED * TOLERANCE, TOLERANCE)
    assert abs(near - share) < 2e-6


@given(st.integers(0, 2**32 - 1), st.floats(-5.0, -3.0))
def test_a_model_whose_directions_fade_is_the_model_above_the_tolerance(seed, size):
    """And below it P and A⁺ have the share, while a plain model, a plant's, cuts."""
    random = np.random.default_rng(seed)
    model = planes_model(10.0**size)
    faded = ConstrainedArm(model.arm.twin(), model.constraint)
    faded.fade()
    q, v = np.full(7, 0.4) + 0.1 * random.normal(size=7), random.normal(size=7)
    model.evaluate(q, v)
    faded.evaluate(q, v)
    plain = Projection.of(model.A)
    np.testing.assert_allclose(model.P, plain.P, atol=1e-12)
    least = faded.singular_values.min()
    if least > TOLERANCE:
        np.testing.assert_array_equal(faded.P, model.P)
        np.testing.assert_array_equal(faded.A_pinv, model.A_pinv)
        return
    s = SVD.view(SVD.new(m=2, n=7), m=2, n=7)
    svd(model.A, s.U, s.sigma, s.V)
    share = share_kept(least, FADED * TOLERANCE, TOLERANCE)
    assert np.trace(model.P) == pytest.approx(6.0)
    assert np.trace(faded.P) == pytest.approx(6.0 - share)


# Against Pinocchio's own constrained dynamics, which knows no rank


ELBOW = np.array([0.0, 0.35, 0.0, 0.0, 0.0, 0.0, 0.0])
FOLLOWED = ["joint_1", "joint_3", "joint_5", "joint_7"]


def stretched(bend):
    """Seven joints, the flange held at a point, the elbow bent by so much: σ falls with it."""
    arm = Arm.from_urdf(URDF / "seven_joints.urdf")
    q = ELBOW + bend * np.array([0.1, 0.0, 0.2, -1.0, 0.3, 0.2, 0.0])
    place = arm.update(q, np.zeros(7)).frame("flange").position
    model = ConstrainedArm(arm, PointAtPoint("flange", place), Coordinates.of_joints(FOLLOWED))
    exact = ConstrainedArm(arm.twin(), model.constraint, tolerance=1e-9).evaluate(q, np.zeros(7))
    return model, q, 0.01 * exact.P @ np.random.default_rng(0).normal(size=7)


def by_pinocchio(arm, q, v, effort):
    """q̈ and our Aᵀλ of a flange that Pinocchio holds at a point."""
    contact = pinocchio.RigidConstraintModel(
        pinocchio.ContactType.CONTACT_3D,
        arm.pinocchio_model,
        *place_in(arm, "flange"),
        pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )
    acceleration, _ = pinocchio_solution(arm, q, v, effort, contact)
    arm.update(q, v)
    return acceleration, effort - arm.h - arm.M @ acceleration


@pytest.mark.parametrize("law", ["PIDC", "hybrid", "operational space", "impedance"])
@pytest.mark.parametrize("bend", np.geomspace(3e-5, 0.3, 12))
def test_a_law_and_the_dynamics_of_pinocchio_agree_above_the_tolerance(law, bend):
    """q̈ that is asked for is what Pinocchio's arm does, and λ_d its force: 1e-9, at τ itself 1e-8.

    In and below the fade all rows that count hold as well, and the one that fades is missed by no
    more than the tolerance times what the acceleration misses.
    """
    model, q, v = stretched(bend)
    controller = LAWS[law](model)
    controller.hold(q, v)
    controller.motion[1:] = model.theta_rate, [0.3, -0.2, 0.1, 0.2]
    asked = np.zeros(3)
    if controller.force is not None:
        asked = np.array([3.0, -5.0, 8.0])
        controller.force.set_reference(asked)
        controller.force.measured[:] = asked
    effort = controller.update(q, v).total.copy()
    u_p, A = controller.terms.u_p.copy(), model.A.copy()
    acceleration, force = by_pinocchio(model.arm.twin(), q, v, effort)
    missed = u_p - acceleration
    size = 1.0 + np.abs(u_p).max()
    least = model.singular_values.min()
    if least > TOLERANCE:
        # Near the tolerance rounding counts by 1/σ, in either solution.
        accuracy = 1e-9 * max(1.0, 10.0 * TOLERANCE / least)
        assert np.abs(missed).max() < accuracy * size
        if controller.force is not None:
            np.testing.assert_allclose(force, A.T @ asked, atol=1e-9 * (1.0 + np.abs(effort).max()))
        return
    assert np.abs(A @ missed).max() < TOLERANCE * np.linalg.norm(missed) + 1e-9 * size
    assert np.linalg.norm(model.A_pinv @ model.b) <= 1.1 / TOLERANCE * np.linalg.norm(model.b)
