"""The force loop on surfaces that give: where it is stable, what it damps, and what is refused."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from arms import slider_model, spatial_model, state_on
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from projected_control.apps.cli import main
from projected_control.control import ForceController, ForceGains, ForceLoop, MotionGains
from projected_control.control.activation import obstacles
from projected_control.control.contact import RIGID, Contact
from projected_control.control.contact_stability import ContactLoop, normal_masses
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, UnstableForceLoop
from projected_control.planning import assemble

T = 1e-3
REAL = ForceLoop(1.0, 20.0, T, 20.0, 3)  # the force loop of config/real.yaml

RADII = {
    (5e3, 2.0): (1.0129, 0.9994, 0.9878, 0.9863),
    (5e3, 4.0): (1.0095, 0.9997, 0.9871, 0.9837),
    (5e4, 2.0): (1.0361, 0.9958, 0.9891, 0.9888),
    (5e4, 4.0): (1.0273, 0.9988, 0.9888, 0.9884),
    (5e5, 2.0): (1.0514, 1.0218, 1.1412, 1.2289),
    (5e5, 4.0): (1.0538, 0.9895, 1.0219, 1.1020),
}
"""Spectral radii with ζ = 0, 0.3, 0.7 and 1, by stiffness [N/m] and mass [kg]."""


def loop_on(stiffness, mass, damping=0.0, force=REAL):
    return ContactLoop(force, damping, np.atleast_1d(stiffness), np.atleast_1d(mass))


@pytest.mark.parametrize(("surface", "radii"), RADII.items())
def test_spectral_radii_of_the_real_gains(surface, radii):
    K, m = surface
    for zeta, radius in zip((0.0, 0.3, 0.7, 1.0), radii, strict=True):
        loop = loop_on(K, m, 2.0 * zeta * np.sqrt(K * m))
        assert loop.spectral_radius == pytest.approx(radius, abs=5e-5)
        assert loop.stable == (radius < 1.0)


@pytest.mark.parametrize("zeta", [0.3, 0.7, 1.0])
def test_with_one_sample_of_delay_the_stiffest_surface_is_stable(zeta):
    quick = replace(REAL, delay=1)
    for m in (2.0, 4.0):
        loop = loop_on(5e5, m, 2.0 * zeta * np.sqrt(5e5 * m), quick)
        assert loop.spectral_radius == pytest.approx(0.9895, abs=2e-4)


@given(
    st.floats(1e3, 1e6),
    st.floats(0.5, 20.0),
    st.floats(0.0, 2.0),
    st.floats(0.0, 5.0),
    st.floats(0.1, 100.0),
    st.floats(2.0, 200.0),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.001, 0.02]),
)
def test_against_the_difference_equations(K, m, zeta, G_F, G_I, cutoff, delay, rate):
    """Of x and ẋ through the matrix exponential, in SI units and in another order."""
    force = ForceLoop(G_F, G_I, T, cutoff, delay, rate)
    d_n, a = 2.0 * zeta * np.sqrt(K * m), force.pole
    held = expm(T * np.array([[0.0, 1.0, 0.0], [-K / m, 0.0, 1.0 / m], [0.0, 0.0, 0.0]]))
    n = delay + 4  # u of the last d ticks, the newest first; x, ẋ, filtered, integral
    whole, x, v, f, s = np.zeros((n, n)), delay, delay + 1, delay + 2, delay + 3
    # Time passes under the oldest u; then the tick looks at where that has led.
    whole[x, x], whole[x, v], whole[x, delay - 1] = held[0]
    whole[v, x], whole[v, v], whole[v, delay - 1] = held[1]
    whole[f] = (1.0 - a) * K * whole[x]
    whole[f, f] += a
    whole[s] = -G_I * T * whole[f]
    whole[s, s] += 1.0
    whole[0] = -(G_F + rate / T) * whole[f] + whole[s] - d_n * whole[v]
    whole[0, f] += rate / T
    for i in range(1, delay):
        whole[i, i - 1] = 1.0
    scale = np.ones(n)
    scale[x], scale[v] = K, np.sqrt(K * m)
    expected = np.abs(np.linalg.eigvals(scale[:, None] * whole / scale)).max()
    assert loop_on(K, m, d_n, force).spectral_radius == pytest.approx(expected, abs=1e-6)


def test_a_rigid_surface_has_no_mode():
    assert not RIGID.gives
    assert ContactLoop(REAL, 0.0, RIGID.stiffnesses, np.array([2.0])).spectral_radius == 0.0


def test_what_is_refused_says_what_would_do():
    """500 N/mm, 2 kg and three samples of delay: no d_n is stable at these gains."""
    loop = loop_on(5e5, 2.0)
    assert loop.damping_bounds is None
    with pytest.raises(UnstableForceLoop, match=r"500000|5e\+05 N/m") as refused:
        loop.require_stable()
    message = str(refused.value)
    assert "its spectral radius is 1.0514" in message
    assert "3 samples of delay" in message
    less = re.search(
        r"proportional (\S+) and force.integral (\S+) with force.normal_damping (\S+) N", message
    )
    assert less, message
    G_F, G_I, d_n = (float(number) for number in less.groups())
    assert G_F < 1.0
    assert loop_on(5e5, 2.0, d_n, replace(REAL, proportional=G_F, integral=G_I)).stable


def test_the_bounds_of_damping_are_where_it_becomes_unstable():
    loop = loop_on([5e3, 5e4], [2.0, 4.0])
    low, high = loop.damping_bounds
    for inside in (1.001 * low, 0.999 * high):
        assert replace(loop, damping=inside).stable
    for outside in (0.99 * low, 1.01 * high):
        assert not replace(loop, damping=outside).stable
    with pytest.raises(UnstableForceLoop, match="normal_damping between"):
        loop.require_stable()


def test_largest_speed_without_bounce():
    """10 N and 3 kg: 82, 26 and 8 mm/s on 5, 50 and 500 N/mm."""
    for K, speed in ((5e3, 0.0816), (5e4, 0.0258), (5e5, 0.00816)):
        assert loop_on(K, 3.0).bounce_speed(10.0) == pytest.approx(speed, rel=5e-3)
    assert loop_on([5e3, 5e5], [1.0, 3.0]).bounce_speed(-10.0) == pytest.approx(0.00816, rel=5e-3)


@pytest.mark.parametrize("wrong", [(5e4, 5e3), (1.0, 2.0, 3.0)])
def test_a_range_is_two_numbers_the_smaller_first(wrong):
    with pytest.raises(InvalidValue, match=r"contact\.stiffness must be one number"):
        Contact(wrong)


@given(st.integers(0, 2**32 - 1))
def test_masses_are_what_answers_a_force_along_the_normal(seed):
    """With one row, A q̈ = (u_λ − λ)/m_n; with three, each mode by itself."""
    model = spatial_model()
    state_on(model, seed, np.full(7, 0.4), 0.3)
    masses = normal_masses(model, np.ones(3))
    modes = np.linalg.eigvalsh(model.A @ np.linalg.solve(model.M, model.A.T))
    np.testing.assert_allclose(np.sort(masses), np.sort(1.0 / modes), rtol=1e-9)
    one = normal_masses(model, [0.0, 1.0, 0.0])
    held = model.A[[0, 2]]
    K = np.linalg.inv(np.block([[model.M, held.T], [held, np.zeros((2, 2))]]))[:7, :7]
    np.testing.assert_allclose(one, 1.0 / (model.A[1] @ K @ model.A[1]), rtol=1e-8)


def controller_with(gains):
    controller = ForceController(slider_model(), MotionGains(480.0, 45.0), gains)
    q, v = state_on(controller.model, 3, np.array([-3.8, 2.4, 1.4]), 0.3)
    controller.force.set_reference([5.0])
    controller.force.measured[:] = 3.0
    return controller, q, v


def test_damping_acts_against_the_motion_across_the_constraint():
    """u_λ has −d_n A q̇, which a velocity across the slider shows; none along it."""
    plain, q, v = controller_with(ForceGains(1.0, 0.0, 20.0))
    damped, _, _ = controller_with(ForceGains(1.0, 0.0, 20.0, normal_damping=70.0))
    np.testing.assert_allclose(damped.update(q, v).total, plain.update(q, v).total, atol=1e-12)
    across = v + 0.1 * plain.model.A_pinv[:, 0]
    rate = float((plain.model.A @ across)[0])
    difference = damped.update(q, across).total - plain.update(q, across).total
    np.testing.assert_allclose(difference, -70.0 * rate * plain.model.A[0], rtol=1e-9)
    assert abs(rate) > 0.05


def test_a_change_of_damping_is_blended_in():
    controller, q, v = controller_with(ForceGains(1.0, 0.0, 20.0))
    controller.force.set_gains(ForceGains(1.0, 0.0, 20.0, normal_damping=100.0), 0.1)
    seen = []
    for tick in range(120):
        controller.update(q, v, tick * T)
        seen.append(float(controller.terms.normal_damping[0]))
    assert 0.0 <= seen[0] < 2.0
    assert seen[-1] == 100.0
    assert np.diff(seen).min() >= 0.0
    assert np.diff(seen).max() < 2.0


def test_gains_are_refused_where_the_arm_is():
    """On a surface, from when the model was evaluated; the old gains stay."""
    controller, _q, _v = controller_with(ForceGains(1.0, 20.0, 20.0, delay=3))
    force = controller.force
    with pytest.raises(UnstableForceLoop, match=r"surface of 5000 N/m"):
        force.set_contact(Contact((5e3,)))
    m = float(force.masses[0])
    enough = ForceGains(1.0, 20.0, 20.0, delay=3, normal_damping=1.4 * np.sqrt(5e3 * m))
    force.set_gains(enough, 0.0)
    controller.advance()
    force.set_contact(Contact((5e3,)))
    with pytest.raises(UnstableForceLoop, match="normal_damping between"):
        force.set_gains(replace(enough, normal_damping=0.0))
    assert force.gains is enough
    assert force.contact.stiffness == (5e3,)
    place = assemble(controller.model.arm, controller.model.constraint, [-3.8, 2.4, 1.4])
    loop = ControlLoop(controller, Constant(np.zeros(controller.model.k)))
    assert obstacles(loop, place, 0.005) == []
    force.gains = replace(enough, normal_damping=0.0)
    assert any("would diverge on a surface" in each for each in obstacles(loop, place, 0.005))


def test_a_way_over_unstable_gains_is_refused():
    """Both ends are stable on the surface and on a rigid one; half the way is not."""
    first = ForceGains(9.4, 0.0, 4.03, normal_damping=0.0, delay=3)
    controller, _q, _v = controller_with(first)
    force = controller.force
    m = float(force.masses[0])
    critical = 2.0 * np.sqrt(12500.0) * m
    begin = replace(first, normal_damping=0.942 * critical)
    last = ForceGains(0.05, 0.0, 31.0, normal_damping=0.0462 * critical, delay=3)
    force.set_gains(begin, 0.0)
    controller.advance()
    force.set_contact(Contact((12500.0 * m,)))
    for gains in (begin, last):
        assert force.contact_loop(gains).stable
    with pytest.raises(UnstableForceLoop, match="on the way to these gains on a surface"):
        force.set_gains(last)
    assert force.gains is begin
    force.set_gains(last, 0.0)  # at once there is no way between


def checked(capsys, *arguments):
    status = main(["check", "config/seven_joints.yaml", "--json", "--start-only", *arguments])
    return status, json.loads(capsys.readouterr().out)


SURFACE = ("--set", "contact.stiffness:=[5000.0,50000.0]")


def test_check_says_what_a_surface_takes(capsys):
    status, plain = checked(capsys)
    assert status == 0
    assert "contact_stiffness" not in plain
    status, numbers = checked(capsys, *SURFACE)
    assert status == 1
    assert "would diverge on a surface" in " ".join(numbers["troubles"])
    low, high = numbers["stable_normal_damping"]
    damping = f"force.normal_damping:={np.sqrt(low * high):.1f}"
    status, numbers = checked(capsys, *SURFACE, "--set", damping)
    assert status == 0, numbers["troubles"]
    assert numbers["contact_spectral_radius"] < 1.0 < numbers["contact_gain_margin"]
    m = max(numbers["normal_mass"])
    assert numbers["largest_touch_speed"] == pytest.approx(10.0 / np.sqrt(5e4 * m))


def test_a_surface_that_gives_needs_a_force_that_is_measured(capsys):
    arguments = [*SURFACE, "--set", "force.source:=model"]
    assert main(["check", "config/seven_joints.yaml", "--json", *arguments]) == 2
    assert "the model does not know the force" in capsys.readouterr().err


def test_a_surface_that_gives_is_refused_with_passive_joints(capsys):
    arguments = [*SURFACE, "--set", "force.enabled:=true"]
    file = "config/slider_crank.yaml"
    assert main(["check", file, "--node", "passive_joint_controller", "--json", *arguments]) == 2
    assert "arm with passive joints" in capsys.readouterr().err


def test_the_flight_check_looks_at_the_surface_along_the_way(capsys):
    arguments = [*SURFACE, "--set", "force.normal_damping:=400.0"]
    main(["check", "config/seven_joints.yaml", "--json", *arguments])
    flight = json.loads(capsys.readouterr().out)["flight"]
    names = {each["name"]: each for each in flight["quantities"]}
    assert names["gain margin of the force loop on its surface"]["value"] > 0.0
