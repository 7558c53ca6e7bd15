"""The sampled loops of force and motion: where they are stable, and that simulations agree."""

import re

import numpy as np
import pytest
from arms import slider_model
from hypothesis import assume, given
from hypothesis import strategies as st

from projected_control import SimulatedArm
from projected_control import run as take_through
from projected_control.control import ForceController, ForceGains, ForceLoop, MotionGains
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.stability import NEGLIGIBLE, MotionLoop
from projected_control.errors import InvalidValue, UnstableForceLoop, UnstableMotionLoop
from projected_control.planning import assemble
from projected_control.simulation import ForceSensor, Plant

T = 1e-3
GAIN = st.floats(0.0, 50.0)
INTEGRAL = st.floats(0.0, 500.0)
CUTOFF = st.floats(0.5, 400.0)
DELAY = st.integers(1, 8)


@given(GAIN, INTEGRAL, CUTOFF)
def test_one_sample_of_delay_against_the_closed_form(proportional, integral, cutoff):
    """Stable ⇔ G_F + G_I T/2 < coth(ω_c T/2)."""
    bound = 1.0 / np.tanh(np.pi * cutoff * T)
    used = proportional + integral * T / 2.0
    assume(abs(used - bound) > 1e-6)
    loop = ForceLoop(proportional, integral, T, cutoff)
    assert loop.stable == (used < bound)
    assert loop.proportional_bound == pytest.approx(bound - integral * T / 2.0, rel=1e-6)


@given(GAIN, INTEGRAL)
def test_without_a_filter_the_bound_is_one(proportional, integral):
    used = proportional + integral * T / 2.0
    assume(abs(used - 1.0) > 1e-6)
    assert ForceLoop(proportional, integral, T).stable == (used < 1.0)


@given(GAIN, INTEGRAL, CUTOFF, DELAY, st.sampled_from([0.0, 0.001, 0.02]))
def test_roots_against_the_difference_equations(proportional, integral, cutoff, delay, rate):
    """The spectral radius is that of the loop as one matrix: delay line, filter, integral."""
    loop = ForceLoop(proportional, integral, T, cutoff, delay, rate)
    a, step = loop.pole, integral * T
    # State: u of the last d ticks (newest first), filtered λ, integral.
    A = np.zeros((delay + 2, delay + 2))
    filtered = np.zeros(delay + 2)
    filtered[delay - 1], filtered[delay] = 1.0 - a, a
    summed = -step * filtered
    summed[delay + 1] += 1.0
    A[0] = -(proportional + rate / T) * filtered + summed
    A[0, delay] += rate / T
    A[1:delay, : delay - 1] = np.eye(delay - 1)
    A[delay], A[delay + 1] = filtered, summed
    # The matrix without an integral keeps the idle root at one.
    roots = np.linalg.eigvals(A)
    if integral * T < NEGLIGIBLE:
        roots = np.delete(roots, np.argmin(np.abs(roots - 1.0)))
    assert loop.spectral_radius == pytest.approx(np.abs(roots).max(), abs=1e-5)


@pytest.mark.parametrize(("delay", "hertz"), [(1, 110.0), (2, 64.0)])
def test_the_gain_of_the_paper_needs_a_slow_filter(delay, hertz):
    """G_F = 3 at 1 kHz; and it diverges without any filter."""
    loop = ForceLoop(3.0, 0.1, T, None, delay)
    assert not loop.stable
    assert loop.cutoff_bound == pytest.approx(hertz, rel=0.01)
    assert ForceLoop(3.0, 0.1, T, hertz, delay).stable
    assert not ForceLoop(3.0, 0.1, T, hertz + 1.0, delay).stable


@given(st.floats(0.1, 20.0), st.floats(0.0, 20.0), CUTOFF, DELAY)
def test_gain_margin_is_the_factor_to_the_bound(proportional, integral, cutoff, delay):
    margin = ForceLoop(proportional, integral, T, cutoff, delay).gain_margin
    for factor, stable in [(0.999, True), (1.001, False)]:
        scaled = factor * margin
        loop = ForceLoop(scaled * proportional, scaled * integral, T, cutoff, delay)
        assert loop.stable is stable


def test_no_gains_no_bound():
    assert ForceLoop(0.0, 0.0, T, 50.0).gain_margin == np.inf
    assert ForceLoop(0.0, 0.0, T, 50.0).stable
    assert ForceLoop(0.5, 0.0, T).cutoff_bound == np.inf


@given(st.floats(0.0, 100.0), st.floats(0.0, 3000.0), st.none() | CUTOFF, DELAY)
def test_what_is_refused_is_refused_with_the_bound_and_a_way_out(
    proportional, integral, cutoff, delay
):
    loop = ForceLoop(proportional, integral, T, cutoff, delay)
    if loop.stable:
        assert loop.require_stable() is loop
        return
    with pytest.raises(UnstableForceLoop) as refusal:
        loop.require_stable()
    message = str(refusal.value)
    assert f"{delay} sample" in message
    offers = message.split("; ")[1].split(" or ")
    for offer in offers:
        values = {"G_F": proportional, "G_I": integral, "the filter cut-off": cutoff}
        changes = re.findall(r"(G_F|G_I|the filter cut-off) to ([0-9.e+-]+)", offer)
        assert changes, message
        values |= {what: float(number) for what, number in changes}
        tried = ForceLoop(values["G_F"], values["G_I"], T, values["the filter cut-off"], delay)
        assert tried.stable, message


def test_the_refusal_names_the_bound():
    with pytest.raises(UnstableForceLoop, match=r"G_F must stay below 3\.2.*got 5.*lower G_F to 2"):
        ForceLoop(5.0, 0.1, T, 100.0).require_stable()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1.0, 0.0, T), "G_F must not be negative"),
        ((1.0, np.nan, T), "G_I must be finite"),
        ((1.0, 0.0, 0.0), "period must be positive"),
        ((1.0, 0.0, T, -5.0), "cut-off must be positive"),
        ((1.0, 0.0, T, 5.0, 0), "delay must be 1 to 100"),
        ((1.0, 0.0, T, 5.0, 101), "delay must be 1 to 100"),
    ],
)
def test_bad_loops_are_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        ForceLoop(*values)


@pytest.fixture(scope="module")
def arm_at_rest():
    """The 3R arm holding still on its slider, under a loop whose gain can be set at will."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, [-3.8, 2.4, 1.4])
    plant = Plant(slider_model(), T)

    def run(delay, cutoff, proportional, integral, ticks):
        """λ over time after a step of λ_d, so small that the arm stays where it is."""
        stable = ForceGains(1e-3, integral, cutoff, delay)
        controller = ForceController(model, MotionGains(480.0, 45.0), stable)
        controller._terms.force_gains[0] = proportional  # past the refusal
        controller.hold(q)
        loop = ControlLoop(
            controller,
            Constant(controller.motion[0]),
            limits=Limits.of(model.arm, effort=1e9, effort_rate=1e15),
            force_reference=Constant([1e-6]),
        )
        hardware = SimulatedArm(plant, q, sensor=ForceSensor(delay=delay - 1))
        forces = []
        take_through(
            loop, hardware, ticks, lambda _, tick: forces.append(hardware.truth.multipliers[0])
        )
        return np.array(forces)

    return run


@pytest.mark.parametrize("delay", range(1, 7))
def test_the_simulated_arm_is_stable_inside_the_bound_and_diverges_outside(delay, arm_at_rest):
    """3 % on either side of G_F's bound; the growth per tick is that of the largest root."""
    cutoff, integral = 50.0, 1.0
    bound = ForceLoop(0.0, integral, T, cutoff, delay).proportional_bound
    for factor in (0.97, 1.03):
        force = arm_at_rest(delay, cutoff, factor * bound, integral, 400)
        swing = np.abs(np.diff(force, 2))  # without the slow decay of the integral
        early, late = swing[98:198].max(), swing[298:398].max()
        loop = ForceLoop(factor * bound, integral, T, cutoff, delay)
        assert loop.stable == (factor < 1.0)
        assert (late < 0.5 * early) if loop.stable else (late > 2.0 * early)
        if not loop.stable:
            growth = (late / early) ** (1.0 / 200)
            assert growth == pytest.approx(loop.spectral_radius, abs=2e-4)


# The motion loop

STIFFNESS = st.floats(1.0, 1e6)
DAMPING = st.floats(0.5, 2500.0)


def largest_error(loop, samples):
    """The error after a unit step, in the second half of the samples; the recursion itself."""
    e, rate, late = 1.0, 0.0, [0.0] * (loop.delay - 1)
    largest = 0.0
    for i in range(samples):
        late.append(-loop.stiffness * e - loop.damping * rate)
        u = late.pop(0)
        e, rate = e + T * rate + 0.5 * T**2 * u, rate + T * u
        if i > samples // 2:
            largest = max(largest, abs(e))
        if abs(e) > 1e12:
            return np.inf
    return largest


@given(STIFFNESS, DAMPING)
def test_one_sample_of_delay_is_stable_between_two_dampings(stiffness, damping):
    """Stable ⇔ G_P T/2 < G_D < 2/T, and so say the roots."""
    low, high = stiffness * T / 2.0, 2.0 / T
    assume(min(abs(damping / low - 1.0), abs(damping / high - 1.0)) > 1e-4)
    loop = MotionLoop(stiffness, damping, T)
    assert loop.stable == (low < damping < high)
    assert loop.stable == (loop.spectral_radius < 1.0)
    if low < 0.9 * high:
        assert loop.damping_bounds == pytest.approx((low, high), rel=1e-6)
    if damping < high:
        assert loop.stiffness_bound == pytest.approx(2.0 * damping / T, rel=1e-6)


@given(STIFFNESS, DAMPING, st.integers(2, 12))
def test_the_recursion_agrees_with_the_roots(stiffness, damping, delay):
    loop = MotionLoop(stiffness, damping, T, delay)
    radius = loop.spectral_radius
    assume(abs(radius - 1.0) > 5e-3)
    samples = int(np.clip(12.0 / abs(np.log(radius)), 200, 20_000))
    assert (largest_error(loop, samples) < 1.0) == loop.stable


@pytest.mark.parametrize(("stiffness", "damping"), [(400.0, 40.0), (100.0, 20.0), (480.0, 45.0)])
@pytest.mark.parametrize("delay", [1, 4])
def test_integral_action_has_a_margin_upwards_and_one_downwards(stiffness, damping, delay):
    """Small gains are the unstable ones there: G_P G_D > K_I without sampling."""

    def scaled(factor):
        return MotionLoop(factor * stiffness, factor * damping, T, delay, integral=500.0)

    up, down = scaled(1.0).gain_margin, scaled(1.0).reduction_margin
    assert down == pytest.approx(np.sqrt(stiffness * damping / 500.0), rel=0.05)
    assert up > 3.0
    for inside, outside in ((0.999 * up, 1.001 * up), (1.001 / down, 0.999 / down)):
        assert scaled(inside).stable
        assert not scaled(outside).stable
    assert MotionLoop(stiffness, damping, T, delay).reduction_margin == np.inf


def test_a_stiffness_too_small_for_its_integral_is_refused_with_both_bounds():
    with pytest.raises(UnstableMotionLoop) as refused:
        MotionLoop(10.0, 40.0, T, integral=500.0).require_stable()
    low, high = map(
        float, re.findall(r"stiffness between (\S+) and (\S+) 1/s²", str(refused.value))[0]
    )
    assert low == pytest.approx(500.0 / 40.0, rel=0.03)
    for stiffness, stable in ((1.01 * low, True), (0.99 * low, False), (0.99 * high, True)):
        assert MotionLoop(stiffness, 40.0, T, integral=500.0).stable is stable
    most = float(re.findall(r"disturbance.integral below (\S+) 1/s³", str(refused.value))[0])
    assert MotionLoop(10.0, 40.0, T, integral=0.99 * most).stable


@pytest.mark.parametrize("delay", [2, 5, 10])
def test_bounds_of_a_delayed_loop_are_where_stability_ends(delay):
    loop = MotionLoop(480.0, 45.0, T, delay)
    assert loop.stable
    low, high = loop.damping_bounds
    for damping, stable in ((low * 1.01, True), (low * 0.99, False), (high * 0.99, True)):
        assert MotionLoop(480.0, damping, T, delay).stable is stable
    assert not MotionLoop(480.0, high * 1.01, T, delay).stable
    assert not MotionLoop(loop.stiffness_bound * 1.01, 45.0, T, delay).stable
    omega = np.sqrt(loop.critical_bound)
    assert MotionLoop((0.99 * omega) ** 2, 1.98 * omega, T, delay).stable
    assert not MotionLoop((1.01 * omega) ** 2, 2.02 * omega, T, delay).stable


@pytest.mark.parametrize(
    ("stiffness", "damping", "delay", "reason"),
    [
        (1e5, 20.0, 1, r"tip\.x.*at 1000 Hz.*damping between 50 and 2000 1/s.*below 4e\+04 1/s²"),
        (100.0, 2500.0, 1, "damping between 0.05 and 2000 1/s"),
        (1e5, 300.0, 20, "20 samples of delay.*it takes the stiffness below"),
    ],
)
def test_unstable_motion_is_refused_with_the_bound(stiffness, damping, delay, reason):
    with pytest.raises(UnstableMotionLoop, match=reason):
        MotionLoop(stiffness, damping, T, delay).require_stable("tip.x")


def test_weak_damping_is_a_warning():
    assert MotionLoop(100.0, 20.0, T).warning() == ""
    assert re.search(r"ζ = 0\.04; ζ = 0\.7 takes 14 1/s", MotionLoop(100.0, 0.8, T).warning("x"))
