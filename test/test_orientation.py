"""Orientation on SO(3): rotation vectors, derivatives, the error's equation, errors near π."""

import numpy as np
import pytest
from arms import random_state, random_urdf
from hypothesis import given, settings
from hypothesis import strategies as st
from per_test import PerTest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from projected_control.control import MotionController, MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    Reference,
    ReferencePoint,
    Waypoints,
)
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates, coordinate_named
from projected_control.model.dynamics import Problem, projected
from projected_control.model.rotations import (
    angular_motion,
    difference_rate,
    quaternion_of,
    quaternion_of_axes,
    rotation_vector,
    turn_between,
)
from projected_control.planning import start_of
from projected_control.settings import build
from projected_control.settings.nodes import MotionControllerSettings

TIP = "end_7"
NUMBERS = st.floats(-1.0, 1.0)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
HOME = np.full(7, 0.4)


def seven_joints():
    return Arm.from_urdf(random_urdf(3, 7))


def model():
    """The orientation of the tip, and one position; three motions are left free."""
    theta = [*Coordinate.orientation(TIP), Coordinate.position(TIP, "z")]
    return ConstrainedArm(seven_joints(), None, Coordinates(theta))


CONTROLLERS = PerTest(
    {
        "one gain": lambda: MotionController(model(), MotionGains(64.0, 16.0)),
        "a gain each": lambda: MotionController(
            model(), MotionGains([100.0, 64.0, 36.0, 64.0], [20.0, 12.0, 10.0, 16.0])
        ),
    }
)


def turning(arm, q):
    return Rotation.from_matrix(arm.update(q, np.zeros(arm.n)).frame(TIP).rotation)


@given(a=VECTORS, b=VECTORS, scale=st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1.8]))
def test_rotation_vectors_are_scipys(a, b, scale):
    a, b = scale * np.array(a), 1.8 * np.array(b)
    A, B = Rotation.from_rotvec(a), Rotation.from_rotvec(b)
    expected = (A * B.inv()).as_rotvec()
    if np.linalg.norm(expected) < np.pi - 1e-6:
        np.testing.assert_allclose(turn_between(tuple(a), tuple(b)), expected, atol=1e-9)
    columns = [tuple(column) for column in A.as_matrix().T]
    r = quaternion_of_axes(*columns)
    found = Rotation.from_rotvec(rotation_vector(r))
    assert (found * A.inv()).magnitude() < 1e-12
    np.testing.assert_allclose(np.abs(np.dot(r, quaternion_of(tuple(a)))), 1.0, atol=1e-12)


@given(
    phi=VECTORS, rate=VECTORS, second=VECTORS, scale=st.sampled_from([0.0, 0.01, 0.04, 1.0, 3.0])
)
def test_angular_motion_is_the_derivative(phi, rate, second, scale):
    """ω and ω̇ against central differences of exp: 1e-7 and 1e-5."""
    phi, rate, second = scale * np.array(phi), np.array(rate), np.array(second)

    def at(t):
        return Rotation.from_rotvec(phi + rate * t + 0.5 * second * t * t)

    def omega(t, step=1e-4):
        return (at(t + step) * at(t - step).inv()).as_rotvec() / (2 * step)

    found, alpha = angular_motion(tuple(phi), tuple(rate), tuple(second))
    np.testing.assert_allclose(found, omega(0.0), atol=1e-7)
    step = 1e-3
    slope = (omega(step) - omega(-step)) / (2 * step)
    np.testing.assert_allclose(alpha, slope, atol=1e-5)


@given(a=VECTORS, b=VECTORS, omega=VECTORS, other=VECTORS, scale=st.sampled_from([1e-9, 0.02, 1.0]))
def test_the_rate_of_a_difference_is_its_derivative(a, b, omega, other, scale):
    """ė of log(R_a R_bᵀ) against central differences, 1e-6; small differences and up to 2.7 rad."""
    omega, other = np.array(omega), np.array(other)
    B = Rotation.from_rotvec(b)
    A = Rotation.from_rotvec(scale * 1.55 * np.array(a)) * B

    def difference(t):
        turned = Rotation.from_rotvec(omega * t) * A
        return (turned * (Rotation.from_rotvec(other * t) * B).inv()).as_rotvec()

    step = 1e-5
    slope = (difference(step) - difference(-step)) / (2 * step)
    e = tuple(difference(0.0).tolist())
    found = difference_rate(e, tuple(omega.tolist()), tuple(other.tolist()))
    np.testing.assert_allclose(found, slope, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_value_jacobian_and_bias_match_finite_differences(seed):
    """The value is log(R zeroᵀ), J_θ q̇ its angular velocity, the bias the rest of ω̇."""
    arm, probe = seven_joints(), seven_joints()
    zero = Rotation.random(random_state=seed)
    theta = Coordinates(Coordinate.orientation(TIP, zero.as_matrix()))
    q, v = random_state(arm, seed)
    R = turning(probe, q)
    arm.update(q, v)
    found = Rotation.from_rotvec(theta.value(arm))
    assert (found * (R * zero.inv()).inv()).magnitude() < 1e-12
    step = 1e-6
    columns = [
        (turning(probe, q + step * e) * turning(probe, q - step * e).inv()).as_rotvec() / (2 * step)
        for e in np.eye(arm.n)
    ]
    np.testing.assert_allclose(theta.jacobian(arm), np.transpose(columns), atol=1e-8)

    def rate(x):
        return theta.jacobian(probe.update(x, np.zeros(arm.n))) @ v

    step = 1e-4
    near = (rate(q + step * v) - rate(q - step * v)) / (2 * step)
    far = (rate(q + 2 * step * v) - rate(q - 2 * step * v)) / (4 * step)
    np.testing.assert_allclose(theta.bias(arm), (4 * near - far) / 3, rtol=1e-6, atol=1e-6)


def follow(controller, q, v, reference, seconds):
    """The closed loop, integrated finely; state and error at the end."""
    arm = controller.model
    controller.reset()

    def slope(time, y):
        controller.motion[:] = reference.at(time)
        controller.update(y[:7], y[7:])
        effort = controller.effort.total
        return np.concatenate([y[7:], projected(Problem.of(arm, effort)).acceleration])

    done = solve_ivp(slope, (0.0, seconds), np.concatenate([q, v]), rtol=1e-8, atol=1e-10)
    assert done.success
    slope(seconds, done.y[:, -1])
    return done.y[:, -1], controller.error.copy()


@pytest.mark.parametrize("size", [1e-3, 1e-4])
def test_small_errors_obey_the_linear_equation(size):
    """ë + G_D ė + G_P e = 0 with gains of its own for each axis, but for the error's square."""
    controller = CONTROLLERS["a gain each"]
    theta = controller.model.evaluate(HOME, np.zeros(7)).theta.copy()
    away = size * np.array([0.6, -0.5, 0.8, 0.0])
    goal = theta.copy()
    goal[:3] = (Rotation.from_rotvec(away[:3]) * Rotation.from_rotvec(theta[:3])).as_rotvec()
    _, error = follow(controller, HOME, np.zeros(7), Constant(goal), 0.15)
    G_P, G_D, _ = controller.gains.array(4)
    for i in range(3):
        e, e_rate = expm(0.15 * np.array([[0.0, 1.0], [-G_P[i], -G_D[i]]])) @ [away[i], 0.0]
        assert abs(error[0, i] - e) < 2.0 * size**2 + 1e-8
        assert abs(error[1, i] - e_rate) < 20.0 * size**2 + 1e-7
        assert abs(e) > 0.2 * abs(away[i])


@settings(max_examples=8)
@given(axis=VECTORS, angle=st.floats(0.3, 2.8))
def test_large_errors_converge(axis, angle):
    """From up to 160° away, about any axis: after 2 s below a thousandth of where it began."""
    if np.linalg.norm(axis) < 0.1:
        axis = (0.0, 0.0, 1.0)
    controller = CONTROLLERS["one gain"]
    theta = controller.model.evaluate(HOME, np.zeros(7)).theta.copy()
    turn = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis))
    goal = theta.copy()
    goal[:3] = (turn * Rotation.from_rotvec(theta[:3])).as_rotvec()
    _, error = follow(controller, HOME, np.zeros(7), Constant(goal), 2.0)
    assert np.linalg.norm(error[0, :3]) < 1e-3 * angle


def test_a_moving_reference_is_followed():
    """Begun on it, with its angular velocity, the tip stays on it: 1e-6 rad after 1 s."""
    controller = CONTROLLERS["one gain"]
    theta = controller.model.evaluate(HOME, np.zeros(7)).theta.copy()
    goal = theta + np.array([0.7, -0.4, 0.6, 0.0])
    rates = [[0.5, 0.2, -0.3, 0.0], [0.0, 0.0, 0.0, 0.0]]
    reference = Waypoints([0.0, 1.0], [theta, goal], rates)
    start = start_of(controller.model, reference, HOME)
    end, error = follow(controller, start.q, start.v, reference, 1.0)
    assert np.abs(error).max() < 1e-6
    expected = Rotation.from_rotvec(goal[:3])
    assert (turning(seven_joints(), end[:7]) * expected.inv()).magnitude() < 1e-6


class Turning(Reference):
    """The tip turns about a fixed axis, faster and faster, and keeps its height."""

    size = 4

    def __init__(self, omega, alpha, height):
        self._omega, self._alpha, self._height = omega, alpha, height

    def at(self, time):
        value = np.array([*(self._omega + 0.5 * self._alpha * time) * time, self._height])
        rate = np.array([*(self._omega + self._alpha * time), 0.0])
        return ReferencePoint(value, rate, np.array([*self._alpha, 0.0]))


OMEGA = np.array([3.0, -2.0, 1.7])  # ω_d at first [rad/s]; its ω̇_d points along it, at twice that
GAINS = {
    "a gain each": MotionGains([100.0, 64.0, 36.0, 64.0], [20.0, 12.0, 10.0, 16.0]),
    "one gain": MotionGains(64.0, 16.0),
}


def follow_from_away(away, gains, seconds):
    """A tip `away` [rad] from a turning reference, but turning with it; e, s, and (e, s) after."""
    arm = seven_joints()
    zero = arm.update(HOME, np.zeros(7)).frame(TIP)
    apart = Rotation.from_rotvec(away) * Rotation.from_matrix(zero.rotation)
    theta = [*Coordinate.orientation(TIP, apart.as_matrix()), Coordinate.position(TIP, "z")]
    held = ConstrainedArm(arm, None, Coordinates(theta))
    at = held.evaluate(HOME, np.zeros(7))
    v = np.linalg.pinv(at.J_theta) @ np.array([*OMEGA, 0.0])
    reference = Turning(OMEGA, 2.0 * OMEGA, zero.position[2])
    controller = MotionController(held, gains)
    controller.reset()
    controller.motion[:] = reference.at(0.0)
    controller.update(HOME, v)
    began = controller.error[:, :3].copy()
    _, error = follow(controller, HOME, v, reference, seconds)
    return began, error[:, :3]


@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("size", [1e-2, 1e-3])
def test_small_errors_about_a_turning_reference_obey_the_linear_equation(size, gains):
    """ë + G_D ė + G_P e = 0, but for the error's square, at 4 rad/s and 8 rad/s²."""
    away, seconds = size * np.array([0.3, 0.8, -0.5]), 0.15
    began, ended = follow_from_away(away, GAINS[gains], seconds)
    np.testing.assert_allclose(began[0], away, atol=1e-12)
    np.testing.assert_allclose(began[1], np.cross(OMEGA, away), atol=1e-12)  # ω = ω_d
    G_P, G_D, _ = GAINS[gains].array(4)
    for i in range(3):
        system = np.array([[0.0, 1.0], [-G_P[i], -G_D[i]]])
        expected = expm(seconds * system) @ began[:, i]
        np.testing.assert_allclose(ended[0, i], expected[0], atol=3.0 * size**2 + 1e-8)
        np.testing.assert_allclose(ended[1, i], expected[1], atol=30.0 * size**2 + 1e-7)
    assert np.abs(ended).max() > 0.1 * size


@pytest.mark.parametrize("gains", GAINS)
def test_large_errors_about_a_turning_reference_obey_their_equation(gains):
    """From 2.2 rad away: s = ω_d − ω + ω_d × e, ṡ = −G_D s − G_P e, to 1e-6.

    With one gain ½ G_P eᵀe + ½ sᵀs falls at the rate G_D sᵀs, however the reference turns.
    """
    away, seconds = 2.2 * np.array([0.6, 0.0, 0.8]), 0.3
    began, ended = follow_from_away(away, GAINS[gains], seconds)
    G_P, G_D = GAINS[gains].array(4)[:2, :3]

    def error(time, R):
        turned = Rotation.from_rotvec((OMEGA + OMEGA * time) * time)
        return (turned * Rotation.from_matrix(R.reshape(3, 3)).inv()).as_rotvec()

    def slope(time, y):
        e, s, omega_d = error(time, y[:9]), y[9:12], OMEGA * (1.0 + 2.0 * time)
        omega = omega_d + np.cross(omega_d, e) - s
        turning = np.cross(omega, y[:9].reshape(3, 3), axisb=0, axisc=0)
        return np.concatenate([turning.reshape(-1), -G_D * s - G_P * e, [(G_D * s) @ s]])

    R = Rotation.from_rotvec(-away).as_matrix()  # where R_d is the zero at first
    begin = np.concatenate([R.reshape(-1), began[1], [0.0]])
    done = solve_ivp(slope, (0.0, seconds), begin, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(ended[0], error(seconds, done[:9]), atol=1e-6)
    np.testing.assert_allclose(ended[1], done[9:12], atol=1e-5)
    if gains == "one gain":
        before, after = (0.5 * G_P[0] * e @ e + 0.5 * s @ s for e, s in (began, ended))
        assert before - after == pytest.approx(done[12], rel=1e-5)
        assert after < 0.5 * before


def test_errors_near_half_a_turn_are_refused():
    """A reference 3.1 rad away is no place to go to: a loop brakes."""
    controller = CONTROLLERS["one gain"]
    theta = controller.model.evaluate(HOME, np.zeros(7)).theta.copy()
    far, near = theta.copy(), theta.copy()
    for goal, angle in ((far, 3.1), (near, 2.9)):
        turn = Rotation.from_rotvec([0.0, angle, 0.0])
        goal[:3] = (turn * Rotation.from_rotvec(theta[:3])).as_rotvec()
    for goal, action in ((far, Action.STOP), (near, Action.FOLLOW)):
        loop = ControlLoop(controller, Constant(goal))
        step = loop.update(RawState(HOME, np.zeros(7), 0.0))
        assert step.action is action
        assert bool(step.events & Event.REFERENCE_JUMPED) is (action is Action.STOP)


def test_the_same_orientation_has_no_error_however_it_is_written():
    theta = Coordinates(Coordinate.orientation(TIP))
    half = np.array([np.pi - 0.01, 0.0, 0.0])
    np.testing.assert_allclose(theta.difference(half, half - [2 * np.pi, 0, 0]), 0.0, atol=1e-12)
    several = theta.difference(np.array([half, 0 * half]), half - [0.1, 0.0, 0.0])
    np.testing.assert_allclose(several[0], [0.1, 0.0, 0.0], atol=1e-12)


def test_names_in_parameter_files():
    class Settings:
        plane_normal = ()

    arm = seven_joints()
    names = [f"{TIP}.rx", f"{TIP}.ry", f"{TIP}.rz"]
    theta = Coordinates([coordinate_named(name, arm, Settings()) for name in names])
    assert theta.names == tuple(names)
    assert theta.functions == Coordinates(Coordinate.orientation(TIP)).functions
    for wrong in (names[:2], names[::-1], [names[0], *names[2:]]):
        with pytest.raises(InvalidValue, match=r"end_7\.rx, \.ry and \.rz, in this order"):
            Coordinates([coordinate_named(name, arm, Settings()) for name in wrong])
    with pytest.raises(InvalidValue, match="must be a rotation matrix"):
        Coordinate.orientation(TIP, 2.0 * np.eye(3))


def own_settings(**more):
    return MotionControllerSettings.of(
        {
            "robot_description": random_urdf(3, 7),
            "constraint.kind": "none",
            "coordinates": ["grip.rx", "grip.ry", "grip.rz", f"{TIP}.z"],
            "coordinate.names": ["grip"],
            "coordinate.grip.kind": "orientation",
            "coordinate.grip.frame": TIP,
            **more,
        }
    )


def test_where_an_orientation_counts_from_is_a_parameter():
    """coordinate.NAME.zero, roll, pitch and yaw: the value is log(R zeroᵀ)."""
    angles = [0.4, -0.7, 1.1]
    model = build.build_model(own_settings(**{"coordinate.grip.zero": angles}))
    assert model.coordinates.names == ("grip.rx", "grip.ry", "grip.rz", f"{TIP}.z")
    R = turning(seven_joints(), HOME)
    expected = R * Rotation.from_euler("xyz", angles).inv()
    found = Rotation.from_rotvec(model.evaluate(HOME, np.zeros(7)).theta[:3])
    assert (found * expected.inv()).magnitude() < 1e-12
    plain = build.build_model(own_settings()).evaluate(HOME, np.zeros(7)).theta[:3]
    np.testing.assert_allclose(plain, R.as_rotvec(), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"coordinate.grip.zero": [0.1, 0.2]}, r"coordinate.grip.zero"),
        ({"coordinate.grip.frame": ""}, "needs coordinate.grip.frame"),
        ({"coordinates": ["grip"]}, "there are three: grip.rx, grip.ry, grip.rz"),
        ({"coordinate.grip.kind": "tilt"}, "there are three: grip.rx, grip.ry, grip.rz"),
        ({"coordinates": ["grip.rx", "grip.ry"]}, "in this order"),
    ],
)
def test_an_orientation_that_is_not_whole_is_refused(given, message):
    with pytest.raises(InvalidValue, match=message):
        build.build_model(own_settings(**given))


@pytest.mark.parametrize("phi", [[0.0, 0.0, 0.0], [0.4, -0.2, 0.7], [0.0, 3.0, 0.1]])
def test_rate_of_a_rotation_vector_from_an_angular_velocity(phi):
    """The inverse of ω = (I + a K + b K²) φ̇, beside SciPy's rotations a moment later."""
    theta = Coordinates([*Coordinate.orientation(TIP), Coordinate.joint("joint_1")])
    omega, step = np.array([0.3, -0.5, 0.2, 0.7]), 1e-6
    rate = theta.rate([*phi, 0.0], omega)
    np.testing.assert_allclose(theta.velocity([*phi, 0.0], rate), omega, atol=1e-12)
    moved = Rotation.from_rotvec(step * omega[:3]) * Rotation.from_rotvec(phi)
    np.testing.assert_allclose((moved.as_rotvec() - phi) / step, rate[:3], atol=1e-5)
    assert rate[3] == omega[3]
