"""The sampled force loop: where it is stable, and that a simulated arm agrees."""

import re

import numpy as np
import pytest
from arms import slider_model
from hypothesis import assume, given
from hypothesis import strategies as st

from projected_control.control import ForceController, ForceGains, ForceLoop, MotionGains
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.stability import NEGLIGIBLE
from projected_control.errors import InvalidValue, UnstableForceLoop
from projected_control.ports import SimulatedArm
from projected_control.ports import run as take_through
from projected_control.simulation import ForceSensor, Plant, assemble

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


@given(GAIN, INTEGRAL, CUTOFF, DELAY)
def test_roots_against_the_difference_equations(proportional, integral, cutoff, delay):
    """The spectral radius is that of the loop as one matrix: delay line, filter, integral."""
    loop = ForceLoop(proportional, integral, T, cutoff, delay)
    a, step = loop.pole, integral * T
    # State: u of the last d ticks (newest first), filtered λ, integral.
    A = np.zeros((delay + 2, delay + 2))
    filtered = np.zeros(delay + 2)
    filtered[delay - 1], filtered[delay] = 1.0 - a, a
    summed = -step * filtered
    summed[delay + 1] += 1.0
    A[0] = -proportional * filtered + summed
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
