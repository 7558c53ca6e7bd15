"""Control of the constraint force: its own error equation, untouched by the motion."""

from functools import cache

import numpy as np
import pytest
from arms import raw_state, slider_model, spatial_model, state_on
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest

from projected_control import SimulatedArm, run
from projected_control.control import (
    AntiWindup,
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
)
from projected_control.control.activation import obstacles
from projected_control.control.events import Event
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Reference, ReferencePoint, Sine, Sines
from projected_control.errors import InvalidValue, UnstableForceLoop
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane, Stack
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric
from projected_control.planning import assemble
from projected_control.simulation import FRICTIONLESS, ForceSensor, JointFriction, Plant

SEEDS = st.integers(0, 2**32 - 1)
NEAR = {3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
T = 1e-3
MOTION = MotionGains(480.0, 45.0)
HYBRIDS = PerTest(
    {
        "3R on its slider": lambda: ForceController(slider_model(), MOTION, ForceGains()),
        "7 joints, 3 rows": lambda: ForceController(spatial_model(), MOTION, ForceGains()),
        "7 joints, weighted": lambda: ForceController(
            spatial_model(metric=Metric(np.linspace(0.5, 4.0, 7))), MOTION, ForceGains()
        ),
    }
)


def prepare(controller, seed):
    """A random state on the constraint; random references, measurement and memory."""
    model, random = controller.model, np.random.default_rng(seed)
    q, v = state_on(model, seed, NEAR[model.n], 0.3)
    controller.reset()
    controller.motion[:] = random.normal(size=(3, model.k))
    controller.motion[0] += model.theta
    controller.force.set_reference(random.normal(0.0, 20.0, model.m))
    controller.force.measured[:] = random.normal(0.0, 20.0, model.m)
    return q, v


def answer(controller, q, v):
    """q̈ and λ under the law's effort, for one and the same memory of the force loop."""
    measured = controller.force.measured.copy()
    controller.force.reset()
    controller.force.measured[:] = measured
    effort = controller.update(q, v).total.copy()
    solution = projected(Problem.of(controller.model, effort))
    return solution.acceleration, solution.multipliers, effort


def command(controller):
    """u_λ as the equation has it, from the loop's own error and integral."""
    force = controller.force
    return force.desired + force.gains.proportional * force.error + force.integral


@pytest.mark.parametrize("name", HYBRIDS)
@given(seed=SEEDS)
def test_the_constraint_takes_exactly_the_force_commanded(name, seed):
    """λ = u_λ whatever the motion, so that (G_F + 1) e = −G_I ∫e."""
    controller = HYBRIDS[name]
    q, v = prepare(controller, seed)
    _, multipliers, effort = answer(controller, q, v)
    scale = 1.0 + np.linalg.norm(np.linalg.pinv(controller.model.A).T @ effort)
    assert np.linalg.norm(multipliers - command(controller)) < 1e-9 * scale


@pytest.mark.parametrize("name", HYBRIDS)
@given(seed=SEEDS)
def test_force_and_motion_leave_each_other_alone(name, seed):
    controller = HYBRIDS[name]
    q, v = prepare(controller, seed)
    random = np.random.default_rng(seed + 1)
    acceleration, multipliers, effort = answer(controller, q, v)
    controller.force.desired[:] += random.normal(0.0, 20.0, controller.model.m)
    pressed = answer(controller, q, v)
    size = np.linalg.norm(acceleration)
    assert np.linalg.norm(pressed[0] - acceleration) < 1e-9 * size
    assert np.linalg.norm(pressed[2] - effort) > 1e-3
    controller.motion[:] += random.normal(size=controller.motion.shape)
    moved = answer(controller, q, v)
    scale = 1.0 + np.linalg.norm(np.linalg.pinv(controller.model.A).T @ moved[2])
    assert np.linalg.norm(moved[1] - pressed[1]) < 1e-9 * scale
    assert np.linalg.norm(moved[0] - acceleration) > 1e-3
    assert np.linalg.norm(multipliers - pressed[1]) > 1e-3


def test_where_rows_repeat_the_force_itself_is_the_one_commanded():
    """The slider twice: λ is not unique, F = Aᵀ u_λ is."""
    one = slider_model()
    twice = ConstrainedArm(one.arm, Stack([one.constraint] * 2), one.coordinates)
    controller = ForceController(twice, MOTION, ForceGains())
    q, v = prepare(controller, 3)
    _, _, effort = answer(controller, q, v)
    force = projected(Problem.of(twice, effort)).constraint_force
    np.testing.assert_allclose(force, twice.A.T @ command(controller), atol=1e-9)


def test_one_of_two_rows_that_share_a_force_cannot_be_controlled_alone():
    """The slider twice, its first row alone asked for 10 N: λ was (−12.2, −12.2), the arm let go.

    It is refused; and where it comes about while the arm moves, nothing is pressed.
    """
    one = slider_model()
    twice = ConstrainedArm(one.arm, Stack([one.constraint] * 2), one.coordinates)
    controller = ForceController(twice, MOTION, ForceGains())
    q, v = prepare(controller, 3)
    controller.force.control_rows([0])
    controller.force.set_reference([10.0, 0.0])
    loop = ControlLoop(controller, Constant(np.zeros(2)))
    (said,) = [text for text in obstacles(loop, q, 1e-6) if "the force of rows" in text]
    assert "rows [0] alone cannot be controlled" in said
    assert "2 rows, of which 1 are independent, share it" in said
    controller.force.integral[:] = 0.0
    controller.update(q, v)
    np.testing.assert_array_equal(controller.effort.normal, 0.0)
    np.testing.assert_array_equal(controller.force.integral, 0.0)


def test_rows_that_depend_on_none_beside_them_are_controlled_alone():
    """The slider twice and a joint besides: the joint's row, or the other two together."""
    one = spatial_model()
    held = one.arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_5").position
    plane = PointOnPlane("end_5", held, [0.0, 0.0, 1.0])
    model = ConstrainedArm(one.arm, Stack([plane, plane, one.constraint]), one.coordinates)
    controller = ForceController(model, MOTION, ForceGains())
    loop = ControlLoop(controller, Constant(np.zeros(4)))
    q = np.full(7, 0.4)
    for rows, alone in (([0, 1], True), ([2, 3], True), ([0, 2], False), ([1, 2, 3, 4], False)):
        controller.force.control_rows(rows)
        said = [text for text in obstacles(loop, q, 1e-3) if "the force of rows" in text]
        assert bool(said) is not alone


# --- In time.


class Biased(ForceSensor):
    """Reads too much by a constant: a disturbance that only the integral takes out."""

    disturbed = True

    def draw(self, readings, size):
        return super().draw(readings, size) + 5.0


def hold_still(gains, seconds, sensor, wanted, guard_limits=None, reference=None):
    """The 3R arm at rest on its slider under force control; λ and the loop's memory over time."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR[3])
    controller = ForceController(model, MOTION, gains)
    controller.hold(q)
    hardware = SimulatedArm(Plant(slider_model(), T), q, sensor=sensor)
    limits = guard_limits or {"effort": 1e6, "effort_rate": 1e12}
    loop = ControlLoop(
        controller,
        reference or Constant(controller.motion[0].copy()),
        limits=Limits.of(model.arm, **limits),
        force_reference=wanted if isinstance(wanted, Reference) else Constant(wanted),
    )
    record = []

    def observe(_, tick):
        force = controller.force
        record.append(
            [hardware.truth.multipliers[0], force.error[0], force.integral[0], tick.report.events]
        )

    run(loop, hardware, round(seconds / T), observe)
    return np.array(record)


@pytest.mark.parametrize("delay", [1, 3])
def test_a_step_of_the_reference_answers_as_the_sampled_loop(delay):
    """Against the difference equations of filter, integral and delay, written out: 1e-9."""
    G_F, G_I, cutoff, wanted = 1.5, 30.0, 30.0, 20.0
    gains = ForceGains(G_F, G_I, cutoff, delay)
    record = hold_still(gains, 0.4, Biased(delay=delay - 1), [wanted])
    a = np.exp(-2.0 * np.pi * cutoff * T)
    force, filtered, integral = [0.0], np.nan, 0.0
    for k in range(len(record)):
        measured = force[max(k - delay + 1, 0)] + 5.0
        filtered = measured if k == 0 else filtered + (1.0 - a) * (measured - filtered)
        e = wanted - filtered
        integral += G_I * T * e
        force.append(wanted + G_F * e + integral)
    np.testing.assert_allclose(record[:, 0], force[:-1], atol=1e-9)
    assert record[-1, 0] == pytest.approx(wanted - 5.0, abs=0.2)


def test_the_error_decays_at_the_rate_of_its_equation():
    """(G_F + 1) ė + G_I e = 0: a decay by G_I/(1 + G_F) = 5 1/s, once the filter has settled."""
    record = hold_still(ForceGains(3.0, 20.0, 50.0), 0.5, Biased(), [20.0])
    e = record[:, 1]
    rate = np.log(e[200] / e[400]) / 0.2
    assert rate == pytest.approx(20.0 / 4.0, rel=0.01)


def test_a_force_trajectory_is_followed():
    """Its feed-forward makes λ = λ_d one sample late, with nothing left for the feedback."""
    wanted = Sines([10.0], [[Sine(5.0, 1.0)]])
    record = hold_still(ForceGains(3.0, 0.1, 50.0), 0.5, ForceSensor(), wanted)
    expected = np.array([wanted.at(k * T).value[0] for k in range(len(record))])
    np.testing.assert_allclose(record[100:, 0], expected[99:-1], atol=0.15)


# --- The experiment of Aghili IX.

RODS = Sines([-0.075, 0.0], [[Sine(0.225, 0.5, np.pi / 9)], []])
FRICTION = JointFriction(0.3, 0.05)
TABLE = [
    # law, friction, the controller's y₀, RMS, peak
    (Law.IDC, FRICTIONLESS, -0.27, 2.483, 2.830),
    (Law.PIDC, FRICTIONLESS, -0.27, 1.500, 1.950),
    (Law.HYBRID, FRICTIONLESS, -0.27, 2.483, 2.830),
    (Law.IDC, FRICTION, -0.27, 2.829, 3.686),
    (Law.PIDC, FRICTION, -0.27, 1.623, 2.401),
    (Law.HYBRID, FRICTION, -0.27, 2.597, 3.330),
    (Law.IDC, FRICTION, -0.28, 3.762, 4.652),
    (Law.PIDC, FRICTION, -0.28, 1.623, 2.401),
    (Law.HYBRID, FRICTION, -0.28, 2.597, 3.330),
]
ROW_NAMES = [
    f"{law.name}, friction {friction.coulomb}, y₀ {place}" for law, friction, place, *_ in TABLE
]


@cache
def course(row):
    """Efforts and forces of a row of the table over 4 s, one line per tick."""
    law, friction, place, *_ = TABLE[row]
    model, truth = slider_model(place), slider_model()
    controller = (
        ForceController(model, MOTION, ForceGains(3.0, 0.1, 50.0))
        if law is Law.HYBRID
        else MotionController(model, MOTION, law)
    )
    start = RODS.at(0.0)
    q = assemble(truth.arm, truth.constraint, [-3.0, 2.0, 1.0], truth.coordinates, start.value)
    truth.evaluate(q, np.zeros(3))
    rows = np.vstack([truth.J_theta, truth.A])
    v = np.linalg.solve(rows, np.append(start.rate, 0.0))
    hardware = SimulatedArm(Plant(truth, T, friction=friction), q, v)
    limits = Limits.of(model.arm, effort_rate=1e9)
    efforts, forces = [], []

    def observe(_, tick):
        efforts.append(tick.report.effort.copy())
        forces.append(hardware.truth.multipliers[0])

    loop = ControlLoop(controller, RODS, limits=limits)
    statistics = run(loop, hardware, 4000, observe)
    assert statistics.events == {}
    return np.array(efforts), np.array(forces[1:])


@pytest.mark.parametrize("row", range(len(TABLE)), ids=ROW_NAMES)
def test_the_arm_of_the_paper(row):
    """RMS of ‖f‖ and largest joint torque over 4 s, within 1 %."""
    efforts, _ = course(row)
    *_, rms, peak = TABLE[row]
    assert np.sqrt((efforts**2).sum(axis=1).mean()) == pytest.approx(rms, rel=0.01)
    assert np.abs(efforts).max() == pytest.approx(peak, rel=0.01)


def test_with_friction_the_force_falls_by_one_plus_the_gain():
    """From IDC, which leaves the friction's whole share in λ, to hybrid: by 1 + G_F = 4."""
    found = {}
    for row, (law, friction, place, *_) in enumerate(TABLE):
        if friction is FRICTION and place == -0.27:
            found[law] = np.sqrt((course(row)[1] ** 2).mean())
    assert found[Law.IDC] / found[Law.HYBRID] == pytest.approx(4.0, rel=0.02)
    assert found[Law.PIDC] > found[Law.IDC]


# --- Limits and windup.


class Pulse(Reference):
    """A force that the motors cannot give, from 0.1 s to 0.6 s; then one they can."""

    size = 1

    def at(self, time):
        value = 300.0 if 0.1 <= time < 0.6 else 10.0
        return ReferencePoint(np.array([value]), np.zeros(1), np.zeros(1))


@pytest.fixture(scope="module")
def saturated():
    """Each strategy through the pulse. The motors are as strong as λ = 50 N takes, each of them, so
    that the clipped effort still moves nothing."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR[3])
    row = model.evaluate(q, np.zeros(3)).A[0]
    limits = {"effort": 50.0 * np.abs(row), "effort_rate": 1e9}
    records = {}
    for strategy in AntiWindup:
        gains = ForceGains(1.0, 20.0, 50.0, anti_windup=strategy)
        records[strategy] = hold_still(gains, 1.2, ForceSensor(), Pulse(), limits)
    return records


def overshoot(record):
    """Largest |λ − λ_d| between 20 ms and 70 ms after the pulse [N]."""
    return np.abs(record[620:670, 0] - 10.0).max()


def settling(record):
    """Time after the pulse until λ stays within 1 N of λ_d [s]."""
    outside = np.flatnonzero(np.abs(record[600:, 0] - 10.0) > 1.0)
    return (outside[-1] + 1) * T


def test_the_pulse_saturates_the_motors(saturated):
    for record in saturated.values():
        limited = record[105:595, 3].astype(int) & int(Event.EFFORT_LIMITED)
        assert (limited != 0).mean() > 0.95


def test_without_anti_windup_the_integral_winds_up(saturated):
    """The motors go on pressing for the time the integral needs to come back: 50 N, not 10 N."""
    record = saturated[AntiWindup.NONE]
    assert record[:, 2].max() == pytest.approx(100.0)  # its limit
    assert overshoot(record) == pytest.approx(40.0)
    assert settling(record) > 0.3


def test_conditional_integration_waits(saturated):
    record = saturated[AntiWindup.CONDITIONAL]
    assert np.ptp(record[110:600, 2]) == 0.0
    assert overshoot(record) < 3.0
    assert settling(record) < 0.12


def test_back_calculation_leads_the_integral_back(saturated):
    """Its integral rests where what the limits take away balances the error, far from its limit."""
    record = saturated[AntiWindup.BACK_CALCULATION]
    assert np.ptp(record[400:600, 2]) < 1.0
    assert np.abs(record[:, 2]).max() < 10.0
    assert overshoot(record) < 3.0
    assert settling(record) < 0.12


def test_integral_stays_within_its_limit():
    gains = ForceGains(0.0, 50.0, 50.0, integral_limit=3.0)
    record = hold_still(gains, 0.3, Biased(), [20.0])
    assert np.abs(record[:, 2]).max() == pytest.approx(3.0)


def stopped_loop(strategy):
    """A loop whose arm is past a position limit while λ is far from λ_d."""
    model = slider_model()
    gains = ForceGains(1.0, 20.0, 50.0, anti_windup=strategy)
    controller = ForceController(model, MOTION, gains)
    q = assemble(model.arm, model.constraint, NEAR[3])
    controller.hold(q)
    limits = Limits.of(model.arm, effort=1e3, effort_rate=1e9, hold_time=0.0, latch_time=10.0)
    reference = Constant(controller.motion[0].copy())
    loop = ControlLoop(controller, reference, limits=limits, force_reference=Constant([30.0]))
    return loop, q


@pytest.mark.parametrize("strategy", AntiWindup)
@pytest.mark.parametrize("trouble", ["stop", "zero", "no measurement"])
def test_the_integral_rests_while_others_decide(strategy, trouble):
    """A second of stop, of zero effort or without a measurement, and the integral is as before."""
    loop, q = stopped_loop(strategy)
    rest = np.zeros(3)

    def tick(k, place, force):
        return loop.update(raw_state(loop.controller.model, place, rest, force, k * T))

    for k in range(10):
        tick(k, q, 5.0)
    before = loop.controller.force.integral.copy()
    assert abs(before[0]) > 1.0
    place = {"stop": q + 2 * np.pi, "zero": q * np.nan, "no measurement": q}[trouble]
    for k in range(10, 1010):
        tick(k, place, np.nan if trouble == "no measurement" else 5.0)
    np.testing.assert_array_equal(loop.controller.force.integral, before)
    report = tick(1010, q, 5.0)
    assert report.action == 0
    assert abs(loop.controller.force.integral[0] - before[0]) < 1.0


# --- Input.


def test_a_measurement_that_is_not_finite_is_skipped():
    controller = HYBRIDS["3R on its slider"]
    q, v = prepare(controller, 1)
    controller.force.measured[:] = 3.0
    controller.update(q, v)
    controller.force.measured[:] = np.nan
    controller.update(q, v)
    assert controller.force.filtered[0] == 3.0
    assert np.isfinite(controller.effort.total).all()


def test_without_any_measurement_the_force_is_fed_forward():
    controller = HYBRIDS["3R on its slider"]
    q, v = prepare(controller, 1)
    controller.force.measured[:] = np.nan
    _, multipliers, _ = answer(controller, q, v)
    np.testing.assert_allclose(multipliers, controller.force.desired, rtol=1e-9)


def test_unstable_gains_leave_the_running_ones_unharmed():
    model = slider_model()
    steady, tried = (ForceController(model, MOTION, ForceGains()) for _ in range(2))
    q, v = state_on(model, 1, NEAR[3])
    for k in range(100):
        for controller in (steady, tried):
            controller.force.measured[:] = 3.0
        if k == 50:
            for gains in (ForceGains(3.0, 0.1, 200.0), ForceGains(3.0, 0.1, None)):
                with pytest.raises(UnstableForceLoop, match="must stay below"):
                    tried.force.set_gains(gains)
            with pytest.raises(InvalidValue, match="blend time"):
                tried.force.set_gains(ForceGains(1.0), seconds=-1.0)
        expected = steady.update(q, v).total.copy()
        np.testing.assert_array_equal(tried.update(q, v).total, expected)
    assert tried.force.gains == ForceGains()
    assert not tried.blending


def test_gains_are_refused_where_the_loop_would_be_unstable_on_the_way():
    """G_F = 20 with 15 Hz and G_F = 0.9 without a filter are stable, the mean of them is not."""
    controller = ForceController(slider_model(), MOTION, ForceGains(20.0, 0.1, 15.0))
    with pytest.raises(UnstableForceLoop, match=r"on the way .* lower G_F alone first"):
        controller.force.set_gains(ForceGains(0.9, 0.1, None))
    assert not controller.blending
    for gains in (ForceGains(0.9, 0.1, 15.0), ForceGains(0.9, 0.1, None)):
        controller.force.set_gains(gains)
        while controller.blending:
            controller.advance()
    controller.force.set_gains(ForceGains(20.0, 0.1, 15.0), seconds=0.0)
    assert not controller.blending


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"proportional": -1.0}, "G_F must not be negative"),
        ({"proportional": np.nan}, "G_F must be finite"),
        ({"integral": np.inf}, "G_I must be finite"),
        ({"integral": -0.1}, "G_I must not be negative"),
        ({"cutoff": -1.0}, "cut-off must be positive"),
        ({"delay": 0}, "delay must be 1 to 100"),
        ({"delay": 1.5}, "whole samples"),
        ({"integral_limit": 0.0}, "integral limit must be positive"),
        ({"tracking_time": -1.0}, "tracking time must be positive"),
    ],
)
def test_bad_force_gains_are_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        ForceGains(**values)


def test_bad_force_references_are_refused():
    force = HYBRIDS["7 joints, 3 rows"].force
    force.set_reference([1.0, 2.0, 3.0])
    with pytest.raises(InvalidValue, match="λ_d must have shape 3, got 2"):
        force.set_reference([1.0, 2.0])
    with pytest.raises(InvalidValue, match="λ_d must be finite"):
        force.set_reference([1.0, np.nan, 3.0])
    np.testing.assert_array_equal(force.desired, [1.0, 2.0, 3.0])
    model = slider_model()
    free = ConstrainedArm(model.arm, None, model.coordinates)
    with pytest.raises(InvalidValue, match="needs a constraint"):
        ForceController(free, MOTION, ForceGains())
    with pytest.raises(UnstableForceLoop):
        ForceController(model, MOTION, ForceGains(delay=6))
