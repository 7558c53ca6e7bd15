"""The simulated arm: the papers' motions, accuracy, energy, friction, sensors, assembly."""

import numpy as np
import pytest
from arms import (
    free_fall_case,
    random_state,
    random_urdf,
    slider_crank_case,
    three_link_arm,
)
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from projected_control import SimulatedArm
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, SimulationFailed, Unreachable
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
    Target,
)
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import (
    Problem,
    Regularisation,
    block_matrix,
    condition_numbers,
    gauss,
    operational_space,
    projected,
)
from projected_control.model.function_kinds import JointPosition
from projected_control.model.projection import Metric
from projected_control.planning import assemble, start_of
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import ARM, SimulatedArmSettings, own_values
from projected_control.simulation import (
    DORMAND_PRINCE,
    RK4,
    TABLEAUX,
    ForceSensor,
    JointFriction,
    Plant,
)

LEVEL = [0.0, 0.0, 1.0]
LIFT = """<robot name="lift"><link name="base"/>
<joint name="rail" type="prismatic"><parent link="base"/><child link="load"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="99" velocity="9"/></joint>
<link name="load"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
"""2 kg on a vertical rail."""


# --- the papers' motions ------------------------------------------------------------------------


def test_free_fall_meets_the_paper():
    """Moura IV-A: mean condition numbers over 200 steps of 10 ms, and one acceleration."""
    arm, slider, start = free_fall_case()
    model = ConstrainedArm(arm, slider)
    plant = Plant(model, 0.01, tableau=DORMAND_PRINCE)
    plant.reset(start)
    rest = np.zeros(3)
    numbers, difference, residual = [], 0.0, 0.0
    for sample in range(201):
        if sample:
            plant.step(rest)
        state = plant.state
        numbers.append(condition_numbers(model.M, model.P))
        problem = Problem.of(model, rest)
        solutions = [projected(problem, kind) for kind in Regularisation]
        solutions += [road(problem) for road in (operational_space, gauss, block_matrix)]
        for solution in solutions:
            error = np.linalg.norm(solution.acceleration - state.acceleration)
            difference = max(difference, error / np.linalg.norm(state.acceleration))
            np.testing.assert_allclose(solution.multipliers, state.multipliers, rtol=1e-9)
        residual = max(residual, state.residual)
    mean = {name: np.mean([n[name] for n in numbers]) for name in numbers[0]}
    assert {name: round(value, 1) for name, value in mean.items()} == {
        "M": 70.4,
        "R1": 25.6,
        "R2": 52.2,
        "R3": 42.6,
        "R4": 50.5,
        "Rstar": 18.5,
    }
    assert all(n["Rstar"] <= min(n.values()) * (1 + 1e-9) for n in numbers)
    assert plant.time == pytest.approx(2.0)
    assert difference <= 1e-12
    assert residual <= 1e-12


def slider_crank_plant(gravity, step=0.01, **arguments):
    arm, slider = slider_crank_case(gravity)
    return Plant(ConstrainedArm(arm, slider), step, **arguments)


def on_branch(q1):
    """Aghili VIII: q2 = 2π − 2 q1."""
    return [q1, 2.0 * np.pi - 2.0 * q1]


def test_slider_crank_passes_its_singularity_when_the_paper_says():
    plant = slider_crank_plant(0.0)
    plant.reset(on_branch(2.0 * np.pi / 3.0))
    before = plant.q[0]
    while plant.q[0] < 1.5 * np.pi:
        before = plant.q[0]
        plant.step([1.0, 0.0])
    share = (1.5 * np.pi - before) / (plant.q[0] - before)
    assert plant.time - 0.01 * (1.0 - share) == pytest.approx(3.719, abs=5e-4)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_slider_crank_moves_as_its_closed_form(gravity):
    """(3 − 2cos 2q1) q̈1 + 2 sin(2q1) q̇1² + g cos q1 = f1 − 2 f2, past π/2 + kπ, k = 1 to 4."""
    f1, f2, seconds = 1.0, 0.3, 5.0

    def closed_form(time, y):
        q, v = y
        load = f1 - 2.0 * f2 - gravity * np.cos(q) - 2.0 * np.sin(2.0 * q) * v**2
        return [v, load / (3.0 - 2.0 * np.cos(2.0 * q))]

    times = np.linspace(0.0, seconds, 51)
    start = [2.0 * np.pi / 3.0, 2.0]
    expected = solve_ivp(closed_form, (0.0, seconds), start, t_eval=times, rtol=1e-11, atol=1e-11)
    plant = slider_crank_plant(gravity, 0.0025)
    plant.reset(on_branch(start[0]), [start[1], -2.0 * start[1]])
    for sample, (q1, v1) in enumerate(expected.y.T):
        if sample:
            for _ in range(40):
                plant.step([f1, f2])
        np.testing.assert_allclose(plant.q, on_branch(q1), atol=1e-6)
        np.testing.assert_allclose(plant.v, [v1, -2.0 * v1], atol=1e-5)
    assert expected.y[0, -1] > 4.5 * np.pi


def random_runs(**arguments):
    """30 slider-cranks left to themselves for 10 s: how far each gets, and its energy error [J]."""
    random = np.random.default_rng(0)
    for _ in range(30):
        plant = slider_crank_plant(9.81, **arguments)
        q1, v1 = random.uniform(-np.pi, np.pi), random.uniform(-3.0, 3.0)
        energy = plant.reset(on_branch(q1), [v1, -2.0 * v1]).energy
        try:
            for _ in range(1000):
                plant.step([0.0, 0.0])
        except SimulationFailed:
            yield plant, np.inf
        else:
            yield plant, abs(plant.state.energy - energy)


def test_slider_crank_passes_its_singularities_from_any_start():
    for plant, error in random_runs():
        assert error <= 1e-2
        state = plant.state
        assert state.residual <= 1e-12
        assert 2.0 * state.q[0] + state.q[1] == pytest.approx(2.0 * np.pi, abs=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_without_velocity_correction_it_does_not():
    """About 25 of the 30 leave the constraint or the finite numbers; half of them surely."""
    lost = sum(error == np.inf for _, error in random_runs(correct_velocity=False))
    assert lost >= 15


# --- accuracy -----------------------------------------------------------------------------------


def integrate_oscillator(tableau, time, y, step):
    """One step of ẏ = (y₂, t − y₁), with the weights as the plant's kernels use them."""
    slopes, at = np.zeros((tableau.weights.size, 2)), y
    for s, weights in enumerate(tableau.following):
        slopes[s] = at[1], time + tableau.nodes[s] * step - at[0]
        at = y + step * (weights @ slopes)
    return at


@pytest.mark.parametrize(("tableau", "order"), [(RK4, 4), (DORMAND_PRINCE, 5)])
def test_order_of_the_integrators(tableau, order):
    """Without a constraint: ẏ = (y₂, −y₁ + t) has a closed solution."""
    assert tableau in TABLEAUX.values()
    assert tableau.order == order
    np.testing.assert_allclose(tableau.stages.sum(axis=1), tableau.nodes, atol=1e-15)
    assert tableau.weights.sum() == pytest.approx(1.0, abs=1e-15)
    errors = []
    for steps in (20, 40):
        y, step = np.array([1.0, 1.0]), 2.0 / steps
        for k in range(steps):
            y = integrate_oscillator(tableau, k * step, y, step)
        errors.append(np.linalg.norm(y - [np.cos(2.0) + 2.0, 1.0 - np.sin(2.0)]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize(("tableau", "order"), [(RK4, 4), (DORMAND_PRINCE, 5)])
def test_order_is_kept_on_the_constraint(tableau, order):
    """The corrections after each step are of the order of the local error."""
    arm, slider, start = free_fall_case()
    model = ConstrainedArm(arm, slider)
    ends = []
    for steps in (25, 50, 400):
        plant = Plant(model, 0.5 / steps, tableau=tableau)
        plant.reset(start)
        for _ in range(steps):
            plant.step(np.zeros(3))
        ends.append(np.concatenate([plant.q, plant.v]))
    coarse, fine = (np.linalg.norm(end - ends[2]) for end in ends[:2])
    assert np.log2(coarse / fine) >= order - 0.3


def test_free_arm_is_a_pendulum():
    """Small swings of link 1 alone: T = 2π √(I / m g l), I about the joint."""
    arm = Arm.from_urdf(
        LIFT.replace("prismatic", "revolute")
        .replace('"0 0 1"', '"0 1 0"')
        .replace('<mass value="2"/>', '<origin xyz="0 0 -0.5"/><mass value="2"/>')
    )
    period = 2.0 * np.pi * np.sqrt((1.0 + 2.0 * 0.25) / (2.0 * 9.81 * 0.5))
    plant = Plant(ConstrainedArm(arm), period / 400)
    energy = plant.reset([1e-3]).energy
    for _ in range(400):
        plant.step([0.0])
    assert plant.q[0] == pytest.approx(1e-3, rel=1e-6)
    state = plant.state
    assert state.energy == pytest.approx(energy, abs=1e-13)
    assert state.multipliers.shape == (0,)
    assert (state.rank, state.residual) == (0, 0.0)


# --- energy -------------------------------------------------------------------------------------


def run(plant, effort, seconds):
    """Largest gap in the books: energy gained less work done [J]."""
    energy, gap = plant.state.energy, 0.0
    for _ in range(round(seconds / plant.step_size)):
        plant.step(effort(plant.time))
        state = plant.state
        gap = max(gap, abs(state.energy - energy - state.work))
    return gap


def test_motors_and_friction_account_for_the_energy():
    arm, slider, start = free_fall_case()
    friction = JointFriction(coulomb=[0.5, 0.3, 0.2], viscous=0.4, blend=0.05)
    plant = Plant(ConstrainedArm(arm, slider), 1e-3, friction=friction)
    plant.reset(start)
    assert run(plant, lambda t: [8.0 * np.sin(6.0 * t), 5.0, -3.0], 1.0) <= 1e-5
    assert plant.state.work < -50.0


def driven(amplitude, rows):
    def motion(time):
        x = np.zeros((3, rows))
        x[:, 0] = amplitude * np.array(
            [1 - np.cos(3 * time), 3 * np.sin(3 * time), 9 * np.cos(3 * time)]
        )
        return Target(*x)

    return motion


@pytest.mark.parametrize("redundant", [False, True])
def test_moving_constraint_accounts_for_the_energy(redundant):
    """The rail of the free fall is driven sideways; the same with each of its rows twice."""
    arm, slider, start = free_fall_case()
    moving = Moving(slider, driven(0.1, 1))
    constraint = Stack([moving, moving]) if redundant else moving
    model = ConstrainedArm(arm, constraint)
    plant = Plant(model, 1e-3)
    energy = plant.reset(start).energy
    gap = run(plant, lambda t: np.zeros(3), 0.7)
    state = plant.state
    assert gap <= 1e-6
    assert abs(state.energy - energy) > 0.1  # all of it through the constraint
    assert state.residual <= 1e-12
    x_rate = constraint.target(state.time).x_rate
    np.testing.assert_allclose(model.A @ state.v, x_rate, atol=1e-12)


def test_lift_takes_its_weight_and_its_acceleration():
    """2 kg raised by t²/2: λ = −m (g + a) = −21.62 N, after 1 s E = m g/2 + m/2 = 10.81 J."""
    rail = Moving(
        FunctionConstraint([JointPosition("rail")]),
        lambda t: Target(np.array([0.5 * t * t]), np.array([t]), np.array([1.0])),
    )
    plant = Plant(ConstrainedArm(Arm.from_urdf(LIFT), rail), 0.01)
    energy = plant.reset([0.0]).energy
    gap = run(plant, lambda t: [0.0], 1.0)
    state = plant.state
    np.testing.assert_allclose(state.multipliers, [-21.62], rtol=1e-12)
    np.testing.assert_allclose([state.q[0], state.v[0]], [0.5, 1.0], rtol=1e-12)
    assert state.energy - energy == pytest.approx(10.81, rel=1e-12)
    assert state.work == pytest.approx(10.81, rel=1e-9)
    assert gap <= 1e-9


# --- friction -----------------------------------------------------------------------------------


def single_joint(**friction):
    """Link 1 of the 3R arm, the rest locked straight, in the horizontal plane; its inertia."""
    arm = three_link_arm_joint_1()
    return Plant(ConstrainedArm(arm), 1e-3, friction=JointFriction(**friction)), float(arm.M[0, 0])


def three_link_arm_joint_1():
    return Arm.from_urdf(three_link_arm().urdf, joints=["joint_1"])


def test_coulomb_friction_brings_a_joint_to_rest():
    """ω = ω₀ − τ t / I until it stands, at t = I ω₀ / τ; and there it stays."""
    plant, inertia = single_joint(coulomb=0.6, blend=5e-3)
    plant.reset([0.0], [2.0])
    stop = inertia * 2.0 / 0.6
    gap = run(plant, lambda t: [0.0], 0.5 * stop)
    assert plant.v[0] == pytest.approx(2.0 - 0.6 * plant.time / inertia, rel=1e-9)
    gap = max(gap, run(plant, lambda t: [0.0], 0.7 * stop))
    assert abs(plant.v[0]) < 1e-6
    rest = plant.q[0]
    assert rest == pytest.approx(0.5 * 2.0 * stop, rel=1e-2)
    run(plant, lambda t: [0.0], 0.5)
    assert plant.q[0] == pytest.approx(rest, abs=1e-6)
    state = plant.state
    assert state.work == pytest.approx(-0.5 * inertia * 4.0, rel=1e-4)


def test_viscous_friction_decays_exponentially():
    plant, inertia = single_joint(viscous=1.5)
    plant.reset([0.0], [2.0])
    gap = run(plant, lambda t: [0.0], 1.0)
    assert plant.v[0] == pytest.approx(2.0 * np.exp(-1.5 * plant.time / inertia), rel=1e-9)
    assert gap <= 1e-9


def test_bad_friction_is_refused(planar_arm):
    with pytest.raises(InvalidValue, match=r"coulomb friction must be finite and not neg.*-1\.0"):
        JointFriction(coulomb=-1.0)
    with pytest.raises(InvalidValue, match="viscous friction must be finite"):
        JointFriction(viscous=[1.0, np.nan])
    with pytest.raises(InvalidValue, match="blend velocity must be positive"):
        JointFriction(blend=0.0)
    refusal = "coulomb friction must be one number or 3, one per joint"
    with pytest.raises(InvalidValue, match=refusal):
        Plant(ConstrainedArm(planar_arm), friction=JointFriction(coulomb=[1.0, 2.0]))


# --- sensors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_sensor_delays(delay):
    sensor = ForceSensor(delay=delay)
    readings = [sensor.read(np.array([float(k)]))[0] for k in range(10)]
    assert readings == [float(max(0, k - delay)) for k in range(10)]
    sensor.reset()
    assert sensor.read(np.array([7.0]))[0] == 7.0


def test_sensor_noise():
    sensor = ForceSensor(noise=0.5, seed=3)
    truth = np.array([2.0, -1.0])
    readings = np.array([sensor.read(truth) for _ in range(4000)])
    np.testing.assert_allclose(readings.mean(axis=0), truth, atol=0.05)
    np.testing.assert_allclose(readings.std(axis=0), 0.5, rtol=0.05)
    sensor.reset()
    np.testing.assert_array_equal(sensor.read(truth), readings[0])
    np.testing.assert_array_equal(truth, [2.0, -1.0])


def test_sensor_keeps_no_hold_of_what_it_is_given():
    sensor, multipliers = ForceSensor(delay=1), np.array([1.0])
    sensor.read(multipliers)
    multipliers[0] = 9.0
    assert sensor.read(multipliers)[0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": -1.0}, "noise must not be negative, got -1"),
        ({"noise": np.nan}, "noise must be finite"),
        ({"delay": -1}, "whole number of samples, got -1"),
        ({"delay": 1.5}, "whole number of samples, got 1.5"),
    ],
)
def test_bad_sensors_are_refused(arguments, message):
    with pytest.raises(InvalidValue, match=message):
        ForceSensor(**arguments)


# --- assembly -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_assembly_is_the_nearest_configuration(seed, planar_arm):
    """No other search finds one nearer the guess."""
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], LEVEL)
    random = np.random.default_rng(seed)
    guess = random.uniform(-1.0, 1.0, 3)
    q = assemble(planar_arm, line, guess)
    probe = planar_arm.twin()
    assert np.linalg.norm(line.residual(probe.update(q, np.zeros(3)))) <= 1e-12
    found = [
        minimize(
            lambda x: np.sum((x - guess) ** 2),
            guess + random.normal(0.0, 0.3, 3),
            constraints={
                "type": "eq",
                "fun": lambda x: line.residual(probe.update(x, np.zeros(3))),
            },
            method="SLSQP",
        )
        for _ in range(5)
    ]
    nearest = min(np.linalg.norm(r.x - guess) for r in found if r.success)
    assert np.linalg.norm(q - guess) <= nearest + 1e-4


def test_assembly_leaves_alone_what_fits(planar_arm):
    q, v = random_state(planar_arm, 0)
    tip = planar_arm.update(q, v).frame("tip").position
    np.testing.assert_allclose(assemble(planar_arm, PointAtPoint("tip", tip), q), q, atol=1e-12)
    np.testing.assert_array_equal(assemble(planar_arm, None, q), q)
    np.testing.assert_array_equal(planar_arm.q, q)
    np.testing.assert_array_equal(planar_arm.v, v)


def test_assembly_with_coordinates(planar_arm):
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], LEVEL)
    theta = Coordinates([Coordinate.position("tip", "x"), Coordinate.heading("tip", LEVEL)])
    q = assemble(planar_arm, line, [0.1, -1.0, 0.5], theta, [0.2, -0.4])
    planar_arm.update(q, np.zeros(3))
    np.testing.assert_allclose(theta.value(planar_arm), [0.2, -0.4], atol=1e-12)
    np.testing.assert_allclose(planar_arm.frame("tip").position[1], -0.27, atol=1e-12)
    q = assemble(planar_arm, None, [0.0, 0.1, 0.2], theta, [0.3, 9.0])
    value = theta.value(planar_arm.update(q, np.zeros(3)))
    np.testing.assert_allclose(theta.difference(value, [0.3, 9.0]), 0.0, atol=1e-12)


def test_assembly_of_a_loop_in_space():
    arm = Arm.from_urdf(random_urdf(3, 9, branching=True))
    loop = LoopClosure("end_9", "end_7")
    guess, _ = random_state(arm, 0)
    q = assemble(arm, loop, guess)
    assert np.linalg.norm(loop.residual(arm.update(q, np.zeros(9)))) <= 1e-12


def test_assembly_on_a_moving_constraint(planar_arm):
    plane = PointOnPlane("tip", [0.0, 0.3, 0.0], [0.0, 1.0, 0.0])
    moving = Moving(plane, driven(0.1, 1))
    q = assemble(planar_arm, moving, [0.3, 0.4, 0.5], time=0.5)
    height = planar_arm.update(q, np.zeros(3)).frame("tip").position[1]
    assert height == pytest.approx(0.3 + 0.1 * (1 - np.cos(1.5)), abs=1e-12)


def test_assembly_from_a_singular_guess(planar_arm):
    """Stretched along the normal of the line, no first step helps."""
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], LEVEL)
    q = assemble(planar_arm, line, [np.pi / 2, 0.0, 0.0])
    height = planar_arm.update(q, np.zeros(3)).frame("tip").position[1]
    assert height == pytest.approx(-0.27, abs=1e-9)


def test_unreachable_is_said_with_the_distance(planar_arm):
    line = PointOnLine("tip", [0.0, 0.9, 0.0], [1.0, 0.0, 0.0], LEVEL)
    with pytest.raises(Unreachable, match=r"no configuration of 'three_link_slider'.*by 0\.2"):
        assemble(planar_arm, line, [0.1, 0.2, 0.3])
    near = PointOnLine("tip", [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], LEVEL)
    x = Coordinates([Coordinate.position("tip", "x")])
    with pytest.raises(Unreachable, match=r"tip\.x is missed by 0\.807 m: it is out of reach"):
        assemble(planar_arm, near, [0.1, 0.2, 0.3], x, [1.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 0.0],), "guess must have shape 3, got 2"),
        (([0.0, np.nan, 0.0],), "guess must be finite"),
        (([0.0] * 3, Coordinates.of_joints(["joint_1"])), "give both or none"),
        (([0.0] * 3, Coordinates.of_joints(["joint_1"]), [1.0, 2.0]), "must have shape 1, got 2"),
    ],
)
def test_bad_assemblies_are_refused(arguments, message, planar_arm):
    with pytest.raises(InvalidValue, match=message):
        assemble(planar_arm, PointOnPlane("tip", [0, 0, 0], [0, 1, 0]), *arguments)


# --- refusals -----------------------------------------------------------------------------------


def test_a_start_on_a_reference_is_within_the_joints_limits():
    """From guesses beyond them; where only a joint beyond its limit gets there, it is refused."""
    arm = Arm.from_urdf(share_file("urdf", "seven_joints.urdf"))
    theta = Coordinates([Coordinate.position("flange", axis) for axis in "xyz"])
    model, random = ConstrainedArm(arm, None, theta), np.random.default_rng(5)
    for _ in range(5):
        q = random.uniform(0.7 * arm.limits.lower, 0.7 * arm.limits.upper)
        place = model.evaluate(q, np.zeros(7)).theta.copy()
        start = start_of(model, Constant(place), 3.0 * q)
        assert (start.q >= arm.limits.lower - 1e-12).all()
        assert (start.q <= arm.limits.upper + 1e-12).all()
    folded = np.array([0.0, 0.3, 0.0, -2.9, 0.0, 0.0, 0.0])  # joint 4 ends at -2.6
    narrow = Coordinates([Coordinate.joint(name) for name in arm.joint_names])
    with pytest.raises(Unreachable, match="within its joints' limits"):
        start_of(ConstrainedArm(arm, None, narrow), Constant(folded), folded)


def test_start_off_the_constraint_is_refused_with_the_distance():
    arm, slider, start = free_fall_case()
    plant = Plant(ConstrainedArm(arm, slider))
    off = start + np.array([0.1, 0.0, 0.0])
    away = abs(slider.residual(arm.update(off, np.zeros(3)))[0])
    assert away > 0.1
    with pytest.raises(InvalidValue, match=f"not on the constraint: it is off by {away:.3g}"):
        plant.reset(off)


def test_start_is_put_on_the_constraint():
    arm, slider, start = free_fall_case()
    model = ConstrainedArm(arm, slider)
    state = Plant(model).reset(start + np.array([1e-8, 0.0, 0.0]), [1.0, 2.0, 3.0])
    assert state.residual <= 1e-12
    np.testing.assert_allclose(model.A @ state.v, 0.0, atol=1e-14)
    assert state.work == 0.0


def test_states_are_copies():
    arm, slider, start = free_fall_case()
    plant = Plant(ConstrainedArm(arm, slider))
    before = plant.reset(start)
    kept = [np.copy(x) for x in before]
    plant.step([5.0, 0.0, 0.0])
    for value, copy in zip(before, kept, strict=True):
        np.testing.assert_array_equal(value, copy)


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        ([np.nan, 0.0, 0.0], "effort must be finite"),
        ([0.0, np.inf, 0.0], "effort must be finite"),
        ([0.0, 0.0], "effort must have shape 3, got 2"),
        (1.0, "effort must have shape 3, got a single number"),
    ],
)
def test_bad_effort_is_refused_and_nothing_moves(effort, message):
    arm, slider, start = free_fall_case()
    plant = Plant(ConstrainedArm(arm, slider))
    plant.reset(start)
    with pytest.raises(InvalidValue, match=message):
        plant.step(effort)
    np.testing.assert_array_equal(plant.q, start)
    assert plant.time == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda plant: plant.reset([0.0, np.nan, 0.0]), "initial position q must be finite"),
        (lambda plant: plant.reset([0.0, 0.0]), "initial position q must have shape 3, got 2"),
        (lambda plant: plant.reset([0.0] * 3, [0.0]), "initial velocity must have shape 3, got 1"),
        (lambda plant: plant.reset([0.0] * 3, time=np.nan), "time must be finite"),
        (lambda plant: Plant(plant.model, 0.0), "integration step must be positive, got 0"),
        (lambda plant: Plant(plant.model, tolerance=-1.0), "position correction must be positive"),
        (
            lambda plant: Plant(
                ConstrainedArm(plant.model.arm, metric=Metric.from_limits([1.0, 2.0, 3.0]))
            ),
            "a plant has no metric",
        ),
    ],
)
def test_bad_plants_are_refused(call, message, planar_arm):
    with pytest.raises(InvalidValue, match=message):
        call(Plant(ConstrainedArm(planar_arm)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_failures_are_said():
    arm, slider, start = free_fall_case()
    plant = Plant(ConstrainedArm(arm, slider), 0.1)
    plant.reset(start)
    with pytest.raises(SimulationFailed, match=r"left the finite numbers at t = 0 s.*smaller step"):
        plant.step([1e300, 0.0, 0.0])
    assert plant.time == 0.0
    unreachable = Moving(slider, lambda t: Target(*(np.array([x]) for x in (9 * t**3, 0.0, 0.0))))
    plant = Plant(ConstrainedArm(arm, unreachable), 0.1)
    plant.reset(start)
    with pytest.raises(SimulationFailed, match=r"left its constraint at t = .* off by"):
        run(plant, lambda t: np.zeros(3), 2.0)


SLIDER = own_values(ARM, read_parameter_file(share_file("config", "three_link_slider.yaml")))


def limp_arm(stops: bool, **more) -> SimulatedArm:
    settings = SimulatedArmSettings.of({**SLIDER, "simulation.stops": stops, **more})
    return build.build_plant(settings)


@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("step", [0.001, 0.005])
def test_a_limp_arm_ends_at_its_stops(step, sticks):
    """A push that would turn a joint away for good; where it comes to rest is within its range."""
    friction = {"friction.coulomb": [0.01], "friction.viscous": [0.1], "friction.sticks": sticks}
    for stops in (True, False):
        arm = limp_arm(stops, **friction, **{"simulation.step": step, "rate": 1.0 / step})
        plant, limits = arm.plant, arm.plant.model.arm.limits
        furthest = 0.0
        for _ in range(round(6.0 / step)):
            plant.step([0.0, 0.0, -0.5])
            furthest = max(furthest, float((limits.lower - plant.q).max()))
        if not stops:
            assert furthest > 3.0
            continue
        assert furthest < 0.2
        assert (plant.q > limits.lower - (0.0 if step == 0.001 else 0.05)).all()  # ω goes with it
        assert abs(plant.v[2]) < 1e-2
        assert plant.state.residual < 1e-9


def test_stops_only_take_energy():
    """Seven joints that fall against their stops: nothing is thrown back with more than it had."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    plant = Plant(ConstrainedArm(arm), stops=np.outer([-1.0, 1.0], np.full(7, 0.2)))
    plant.reset(np.zeros(7), np.full(7, 3.0))
    energies = []
    for _ in range(2000):
        plant.step(np.zeros(7))
        energies.append(plant.state.energy)
    assert max(energies) <= energies[0]
    assert energies[-1] < 0.5 * energies[0]
    assert np.abs(plant.q).max() < 0.4


def test_without_stops_nothing_changes_within_the_range():
    """To the bit: what stops do is not computed before a joint is there."""
    states = [limp_arm(stops).plant for stops in (True, False)]
    for _ in range(100):
        for plant in states:
            plant.step([0.1, 0.0, 0.0])
    assert (states[0].q == states[1].q).all()


def test_a_push_an_effort_that_is_held_and_brakes():
    """What is held stays in force from period to period; a push is added; brakes stop time."""
    arms = [limp_arm(True) for _ in range(2)]
    push = np.array([0.1, -0.2, 0.3])
    arms[0].push = push
    arms[0].hold([1.0, 0.5, 0.0])
    for _ in range(20):
        arms[0].move()
        arms[1].write(np.array([1.0, 0.5, 0.0]) + push)
    assert (arms[0].plant.q == arms[1].plant.q).all()
    assert (arms[0].effort_peaks == [1.1, 0.3, 0.3]).all()
    arms[0].braked, before = True, arms[0].plant.q
    arms[0].write(np.array([5.0, 5.0, 5.0]))
    assert (arms[0].plant.q == before).all()
    assert arms[0].plant.time == pytest.approx(20 * arms[0].period)


def test_faults_are_in_what_an_arm_tells():
    """In process as on topics: each fault changes its part, and the arm goes on as it does."""
    arm = limp_arm(True)
    arm.hold([1.0, 0.5, 0.0])

    def told(fault):
        arm.fault = fault
        arm.move()
        return arm.read(), arm.truth

    first, _ = told("none")
    frozen, truth = told("frozen")
    assert (frozen.q == first.q).all()
    assert (truth.q != first.q).any()
    assert frozen.stamp == truth.time
    state, truth = told("nan")
    assert np.isnan(state.q).all()
    assert (state.v == truth.v).all()
    told("none")
    state, truth = told("back")
    assert state.stamp == 0.0
    assert truth.time == pytest.approx(5 * arm.period)
    state, truth = told("back")
    assert state.stamp == truth.time
    assert told("no_wrench")[0].wrench is None
    assert told("silent")[0] is None
    assert told("none")[0].wrench is not None


def test_a_late_sensor_begins_anew_with_each_start():
    """After a reset no reading is of the run before."""
    arm = limp_arm(True, **{"sensor.delay": 3})
    first = arm.read().wrench
    for _ in range(10):
        arm.write(np.ones(3))
        arm.read()
    arm.reset()
    assert (arm.read().wrench == first).all()
