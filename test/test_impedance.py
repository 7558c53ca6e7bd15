"""Impedance: the response asked for, energy, the same along a plane, and what is refused."""

import numpy as np
import pytest
from arms import planar_chain_model, three_link_arm
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest
from scipy.integrate import solve_ivp

from projected_control import SimulatedArm
from projected_control.apps.bench.tick_cases import spatial_urdf
from projected_control.control import ForceGains, Impedance, ImpedanceController
from projected_control.control.disturbance import Disturbance
from projected_control.control.laws.impedance import geometric_mean
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, UnknownName, UnstableMotionLoop
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.simulation import Plant

HOME = np.array([0.3, 0.8, -0.5, 0.9, -0.7, -0.4, -0.2])
UP = [0.0, 0.0, 1.0]


K = np.diag([400.0, 300.0, 500.0, 20.0, 25.0, 30.0])
FULL = K + 0.2 * np.sqrt(np.outer(np.diag(K), np.diag(K))) * (1.0 - np.eye(6))
INERTIA = np.diag([2.0, 3.0, 4.0, 0.2, 0.3, 0.4])
ALONG = [0, 1, 3, 4, 5]  # coordinates that the plane leaves: all but tip.z


def model(held=False):
    """Seven joints, the tip's place and orientation; free, or the tip on a plane."""
    arm = Arm.from_urdf(spatial_urdf())
    tip = arm.update(HOME, np.zeros(7)).frame("tip")
    members = [
        *(Coordinate.position("tip", axis) for axis in "xyz"),
        *Coordinate.orientation("tip", tip.rotation.copy()),
    ]
    plane = PointOnPlane("tip", tip.position, UP) if held else None
    return ConstrainedArm(arm, plane, Coordinates(members))


def made(held=False, **kind):
    controller = ImpedanceController(model(held), Impedance(FULL, 0.7, **kind))
    if controller.impedance.shaped:
        controller.set_disturbance(Disturbance("observer", effort_limit=1e6), 0.0)
    return controller


CONTROLLERS = PerTest(
    {
        (held, kind): lambda held=held, kind=kind, more=more: made(held, **more)
        for held in (False, True)
        for kind, more in {
            "by ratio": {},
            "damping given": {"damping": 0.1 * FULL},
            "shaped": {"inertia": INERTIA},
        }.items()
    }
)


def response(controller, q, v, tip_force):
    """θ̈ under the law's effort and a force at the tip, of which the observer knows."""
    at = controller.model
    at.evaluate(q, v)
    pushed = at.arm.frame("tip").jacobian.T @ tip_force
    controller._terms.disturbance[:] = pushed
    effort = controller.update(q, v).total
    acceleration = projected(Problem.of(at, effort + pushed)).acceleration
    return at.J_theta @ acceleration + at.theta_bias


@pytest.mark.parametrize("kind", ["by ratio", "damping given", "shaped"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "on a plane"])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_response_to_a_force_at_the_tip_is_the_one_asked_for(held, kind, seed):
    """Λ (θ̈ − θ̈_d) = K e + D ė + F along what can move, with the arm's Λ or Λ_d, to 1e-6.

    By ratio, D = 2ζ Λ # K, worked out here by another formula. Free it is at any velocity; on the
    plane the arm is at rest and its reference moves, so that the plane has no say in θ̈.
    """
    controller = CONTROLLERS[held, kind]
    at, random = controller.model, np.random.default_rng(seed)
    q, v = HOME.copy(), np.zeros(7)
    if not held:
        q, v = q + 0.2 * random.normal(size=7), random.normal(size=7)
    at.evaluate(q, v)
    controller.motion[0] = at.theta + 0.05 * random.normal(size=6)
    controller.motion[1, :3], controller.motion[2, :3] = random.normal(size=(2, 3))
    controller.motion[1:, 3:] = 0.0
    rows = ALONG if held else list(range(6))
    if held:
        controller.motion[1:, 2] = 0.0
    force = random.normal(size=6) * [20.0, 20.0, 20.0, 2.0, 2.0, 2.0]
    found = response(controller, q, v, force)[rows]
    stiff, damping, inertia = (
        None if x is None else x[np.ix_(rows, rows)] for x in controller.impedance.matrices(6)
    )
    if inertia is None:
        inertia = np.linalg.inv(controller.mobility[np.ix_(rows, rows)])
    if kind == "by ratio":
        damping = 1.4 * geometric_mean(inertia, stiff)
    e, e_rate = controller.error
    spring = controller.impedance.matrices(6)[0][rows] @ e  # a held coordinate's error pulls too
    pull = spring + damping @ e_rate[rows] + force[rows]
    asked = controller.motion[2, rows] + np.linalg.solve(inertia, pull)
    np.testing.assert_allclose(found, asked, rtol=0.0, atol=1e-6 * max(1.0, abs(asked).max()))


def test_every_mode_has_the_damping_ratio():
    """The roots of Λ s² + D s + K have ζ = 0.7, each of the six pairs, to 1e-9."""
    inertia = geometric_mean(INERTIA, INERTIA + FULL / 300.0)
    D = 1.4 * geometric_mean(inertia, FULL)
    zero, one = np.zeros((6, 6)), np.eye(6)
    system = np.block(
        [[zero, one], [-np.linalg.solve(inertia, FULL), -np.linalg.solve(inertia, D)]]
    )
    roots = np.linalg.eigvals(system)
    np.testing.assert_allclose(-roots.real / np.abs(roots), 0.7, rtol=1e-9)


def test_on_a_plane_the_force_goes_on_across_it():
    """The spring pulls off the plane with 25 N and more; λ stays λ_d to 1e-8."""
    controller = ImpedanceController(
        model(True), Impedance(FULL), ForceGains(integral=0.0), projected=True
    )
    at = controller.model
    at.evaluate(HOME, np.zeros(7))
    controller.motion[0] = at.theta + 0.05
    controller.force.set_reference([7.0])
    controller.force.measured[:] = 7.0
    effort = controller.update(HOME, np.zeros(7)).total
    assert projected(Problem.of(at, effort)).multipliers[0] == pytest.approx(7.0, abs=1e-8)
    open_loop = ImpedanceController(model(True), Impedance(FULL), ForceGains(), projected=False)
    open_loop.motion[0] = at.theta + 0.05
    open_loop.force.set_reference([7.0])
    effort = open_loop.update(HOME, np.zeros(7)).total
    pressed = projected(Problem.of(open_loop.model, effort)).multipliers[0]
    assert abs(pressed - 7.0) > 20.0  # it knows of no plane: the spring presses on it as well
    assert not open_loop.feeds_force_back


# In time


def planar(held=False, shaped=False, **kind):
    """Three links in a horizontal plane, moved by the tip's x and y; free, or x on a slider."""
    arm = three_link_arm()
    start = np.array([-2.2, 1.4, 0.9])
    place = arm.update(start, np.zeros(3)).frame("tip").position.copy()
    members = [Coordinate.position("tip", axis) for axis in "xy"]
    plane = PointOnPlane("tip", place, [0.0, 1.0, 0.0]) if held else None
    at = ConstrainedArm(arm, plane, Coordinates(members))
    inertia = [3.0, 5.0] if shaped else None
    controller = ImpedanceController(at, Impedance([300.0, 200.0], 0.4, inertia=inertia, **kind))
    if shaped:
        controller.set_disturbance(Disturbance("observer", effort_limit=1e6), 0.0)
    at.evaluate(start, np.zeros(3))
    controller.motion[0], controller.motion[1:] = at.theta, 0.0
    return controller, start


def pushed_motion(controller, q, v, force):
    """q̈ under the law and a force at the tip (x, y), at once and all the time."""
    at = controller.model
    at.evaluate(q, v)
    effort = at.arm.frame("tip").jacobian[:2].T @ force
    controller._terms.disturbance[:] = effort
    total = controller.update(q, v).total + effort
    return projected(Problem.of(at, total)).acceleration


@pytest.mark.parametrize("held", [False, True], ids=["free", "on a slider"])
def test_a_step_of_force_is_answered_as_by_mass_spring_and_damper(held):
    """Shaped: 3 kg, 300 N/m, ζ = 0.4 under 6 N along x, for half a second, to 1e-6 m."""
    controller, q = planar(held, shaped=True)
    x0, force = controller.motion[0, 0], np.array([6.0, 0.0])

    def rate(_, state):
        return np.concatenate([state[3:], pushed_motion(controller, state[:3], state[3:], force)])

    times = np.linspace(0.0, 0.5, 26)
    start = np.concatenate([q, np.zeros(3)])
    run = solve_ivp(rate, (0.0, 0.5), start, t_eval=times, rtol=1e-9, atol=1e-10)
    arm = controller.model.arm.twin()
    x = [arm.update(q, np.zeros(3)).frame("tip").position[0] - x0 for q in run.y[:3].T]
    natural, zeta = np.sqrt(300.0 / 3.0), 0.4
    damped = natural * np.sqrt(1.0 - zeta**2)
    swing = np.cos(damped * times) + zeta * natural / damped * np.sin(damped * times)
    expected = 6.0 / 300.0 * (1.0 - np.exp(-zeta * natural * times) * swing)
    np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("shaped", [False, True], ids=["natural", "shaped"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "on a slider"])
def test_against_a_passive_environment_energy_only_falls(held, shaped):
    """Spring of the law, moving inertia and a wall of 2000 N/m: their sum falls by what D takes.

    The balance closes to 1e-6 J over 0.4 s and the sum never grows; the natural law's has the term
    ½ ėᵀΛ̇ė of the inertia that changes with the pose, which is accounted.
    """
    controller, q = planar(held, shaped)
    at, wall, place = controller.model, 2000.0, controller.motion[0].copy()
    controller.motion[0, 0] += 0.06  # drawn against a wall at 2 cm
    rows = [0] if held else [0, 1]

    def inertia(q):
        if shaped:
            return np.diag([3.0, 5.0])[np.ix_(rows, rows)]
        at.evaluate(q, np.zeros(3))
        return np.linalg.inv(controller.mobility[np.ix_(rows, rows)])

    def wall_force(x):
        return np.array([-wall * max(x[0] - place[0] - 0.02, 0.0), 0.0])

    def powers(q, v):
        """Taken by the damper, and given by the inertia that changes."""
        at.evaluate(q, v)
        rate = at.theta_rate[rows].copy()
        Lambda, step = inertia(q), 1e-6
        stiff = np.diag([300.0, 200.0])[np.ix_(rows, rows)]
        D = 0.8 * geometric_mean(Lambda, stiff)
        changes = (inertia(q + step * v) - inertia(q - step * v)) / (2.0 * step)
        return rate @ D @ rate, 0.5 * rate @ changes @ rate

    def rate(_, state):
        q, v = state[:3], state[3:6]
        at.evaluate(q, v)
        acceleration = pushed_motion(controller, q, v, wall_force(at.theta))
        return np.concatenate([v, acceleration, powers(q, v)])

    def stored(q, v):
        at.evaluate(q, v)
        e, moving = controller.motion[0] - at.theta, at.theta_rate[rows].copy()
        deep, spring = max(at.theta[0] - place[0] - 0.02, 0.0), [300.0, 200.0] * e**2
        return 0.5 * (moving @ inertia(q) @ moving + spring.sum() + wall * deep**2)

    start = np.concatenate([q, np.zeros(5)])
    run = solve_ivp(rate, (0.0, 0.4), start, max_step=0.004, rtol=1e-8, atol=1e-10)
    energy = np.array([stored(s[:3], s[3:6]) for s in run.y.T])
    taken, given_back = run.y[6], run.y[7]
    np.testing.assert_allclose(energy, energy[0] - taken + given_back, rtol=0.0, atol=1e-6)
    assert np.diff(energy).max() < 1e-6
    assert taken[-1] > 0.2 * energy[0]
    assert at.theta[0] - place[0] > 0.02  # it leans on the wall


# On a loop, and what is refused


def change_of_effort(seconds):
    """What the first tick with twenty times the stiffness adds to the effort [N·m]."""
    controller, q = planar()
    plant = Plant(ConstrainedArm(controller.model.arm.twin(), None), 1e-3)
    loop = ControlLoop(controller, Constant(controller.motion[0] + 0.02))
    arm = SimulatedArm(plant, q, period=1e-3)
    efforts = []
    for tick in range(260):
        if tick == 50:
            controller.set_impedance(Impedance([6000.0, 4000.0], 0.4), seconds)
        efforts.append(loop.update(arm.read()).effort.copy())
        arm.write(efforts[-1])
    assert not controller.blending
    np.testing.assert_allclose(controller._terms.impedance[:4], [6000.0, 0.0, 0.0, 4000.0])
    return np.abs(efforts[50] - efforts[49]).max()


def test_a_change_of_stiffness_blends_in():
    """At once the guard holds it back, 1 N·m a tick; blended there is hardly a step."""
    assert change_of_effort(0.0) == pytest.approx(1.0)
    assert change_of_effort(0.2) < 0.05


@pytest.mark.parametrize(
    ("impedance", "words"),
    [
        ({"stiffness": [100.0, -1.0]}, "stiffness must be positive definite.*eigenvalue -1"),
        ({"stiffness": [1.0, 2.0, 2.0, 1.0]}, "stiffness must be positive definite"),
        ({"stiffness": [1.0, 2.0, 3.0, 9.0]}, "stiffness must be symmetric"),
        ({"stiffness": [1.0, 2.0, 3.0]}, "one number, 2 numbers.*= 4 numbers, got 3"),
        ({"stiffness": np.nan}, "stiffness must be finite"),
        ({"stiffness": 1.0, "damping": [-1.0, 1.0]}, "damping must not be negative"),
        ({"stiffness": 1.0, "inertia": 0.0}, "inertia must be positive definite"),
        ({"stiffness": 1.0, "damping_ratio": -0.1}, "damping ratio must not be negative"),
        ({"stiffness": 1.0, "frame": "tip"}, "no three coordinates are components"),
    ],
)
def test_what_is_no_impedance_is_refused(impedance, words):
    at = planar()[0].model
    with pytest.raises(InvalidValue, match=words):
        ImpedanceController(at, Impedance(**impedance))


def test_a_frame_must_exist_and_its_axes_turn_the_stiffness():
    with pytest.raises(UnknownName, match="elbow"):
        ImpedanceController(model(), Impedance(FULL, frame="elbow"))
    at = model()
    turned = ImpedanceController(at, Impedance(K, frame="tip"))
    at.evaluate(HOME, np.zeros(7))
    R = at.arm.frame("tip").rotation
    T = np.kron(np.eye(2), R)
    plain = ImpedanceController(at, Impedance(T @ K @ T.T))
    efforts = []
    for controller in (turned, plain):
        controller.motion[0] = at.theta + 0.03
        efforts.append(controller.update(HOME, 0.1 * HOME).total.copy())
    np.testing.assert_allclose(*efforts, rtol=0.0, atol=1e-10)


def test_what_would_diverge_is_refused_with_what_would_not():
    controller, q = planar()
    controller.model.evaluate(q, np.zeros(3))
    with pytest.raises(UnstableMotionLoop, match=r"fastest mode has .* Hz, with 1 sample of delay"):
        controller.set_impedance(Impedance(1e7))
    controller.set_delay(20)
    with pytest.raises(UnstableMotionLoop, match="20 samples") as refused:
        controller.set_impedance(Impedance(50000.0, 1.0))
    factor = float(str(refused.value).rsplit(" ", 1)[1])
    controller.set_impedance(Impedance(50000.0 * factor, 1.0))  # what it says would do, does
    assert controller.impedance.stiffness == 50000.0 * factor


def test_what_contradicts_an_impedance_is_refused():
    controller, _ = planar()
    for kind, words in (("integral", "take back"), ("observer", "cancel the force")):
        with pytest.raises(InvalidValue, match=words):
            controller.set_disturbance(Disturbance(kind))
    with pytest.raises(InvalidValue, match="cannot change while"):
        controller.set_impedance(Impedance(100.0, inertia=1.0))
    with pytest.raises(InvalidValue, match="needs the projected law"):
        ImpedanceController(controller.model, Impedance(1.0, inertia=1.0), projected=False)


def test_joints_as_coordinates_and_a_passive_one():
    """Joint impedance of the motors that there are: a passive joint is asked for nothing."""
    at = planar_chain_model(passive=("joint_4",))
    controller = ImpedanceController(at, Impedance(50.0))
    q = np.array([0.7, 0.7, -0.7, -1.2])
    at.evaluate(q, np.zeros(4))
    controller.motion[0] = at.theta + 0.1
    effort = controller.update(q, np.zeros(4)).total
    assert effort[3] == 0.0
    found = at.J_theta @ projected(Problem.of(at, effort)).acceleration + at.theta_bias
    np.testing.assert_allclose(found, controller.mobility @ [5.0, 5.0], rtol=1e-6)
