"""The constraint force without a sensor: what each observer sees, and what it cannot."""

from typing import NamedTuple

import numpy as np
import pytest
from arms import slider_model, spatial_model, state_on
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest

from projected_control import SimulatedArm, run
from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.force_kernels import force_from_momentum
from projected_control.control.force_source import ForceSource
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric
from projected_control.planning import assemble
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE
from projected_control.simulation import FRICTIONLESS, JointFriction, Plant

T = 1e-3
NEAR = {3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
MODELS = PerTest({"3R on its slider": slider_model, "7 joints, 3 rows": spatial_model})
FRICTION = JointFriction(0.3, 0.05)


def MODEL(model):
    return ForceSource(model, "model")


def momentum(bandwidth):
    return lambda model: ForceSource(model, "momentum", bandwidth=bandwidth, period=T)


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_model_gives_the_force_that_follows_from_the_effort(name, seed):
    """λ of (32) is that of the block matrix's solution: 1e-9."""
    model = MODELS[name]
    q, v = state_on(model, seed, NEAR[model.n], 0.3)
    effort = np.random.default_rng(seed).normal(0.0, 10.0, model.n)
    model.evaluate(q, v)
    expected = projected(Problem.of(model, effort))
    estimate = ForceSource(model, "model").at_present(effort)
    scale = 1.0 + np.linalg.norm(expected.multipliers)
    assert np.linalg.norm(estimate - expected.multipliers) < 1e-9 * scale


class Watched(NamedTuple):
    """One row per tick: λ, the observer's λ, F, friction's torque, A⁺, what friction adds to λ."""

    true: np.ndarray
    seen: np.ndarray
    force: np.ndarray
    friction: np.ndarray
    A_pinv: np.ndarray
    added: np.ndarray


def watch(observer_of, friction=FRICTIONLESS, ticks=1500):
    """The 3R arm on its sine, PIDC alone, and an observer beside it."""
    model = slider_model()
    controller = MotionController(model, MotionGains(480.0, 45.0))
    reference = Sines([-0.075, 0.0], [[Sine(0.225, 0.5, np.pi / 9)], []])
    start = reference.at(0.0)
    q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0], model.coordinates, start.value)
    model.evaluate(q, np.zeros(3))
    v = np.linalg.solve(np.vstack([model.J_theta, model.A]), [*start.rate, 0.0])
    seen = slider_model()
    observer = observer_of(seen)
    hardware = SimulatedArm(Plant(slider_model(), T, friction=friction), q, v)
    limits = Limits.of(model.arm, effort=1e3, effort_rate=1e9)
    record, acting = [], np.zeros(3)

    def observe(_, tick):
        nonlocal acting
        seen.evaluate(tick.state.q, tick.state.v)
        estimate = observer.at_present(acting)
        rubbing = friction.effort(tick.state.v)
        rubbed, smooth = (
            projected(Problem.of(seen, f)).multipliers[0] for f in (acting + rubbing, acting)
        )
        record.append(
            Watched(
                hardware.truth.multipliers[0],
                estimate[0],
                hardware.truth.constraint_force,
                rubbing,
                seen.A_pinv[:, 0].copy(),
                rubbed - smooth,
            )
        )
        acting = tick.report.effort.copy()

    run(ControlLoop(controller, reference, limits=limits), hardware, ticks, observe)
    return Watched(*(np.array(column) for column in zip(*record, strict=True)))


def late(force, A_pinv, bandwidth):
    """λ of a force, late by the first-order lag of a momentum observer."""
    decay = np.exp(-2.0 * np.pi * bandwidth * T)
    multipliers = (A_pinv * force).sum(axis=1)
    filtered = np.zeros_like(multipliers)
    for k in range(1, len(multipliers)):
        filtered[k] = decay * filtered[k - 1] + (1.0 - decay) * multipliers[k]
    return filtered


def test_in_motion_the_model_is_exact_where_it_knows_all():
    watched = watch(MODEL)
    np.testing.assert_allclose(watched.seen[1:], watched.true[1:], atol=1e-9)
    assert np.abs(watched.true).max() > 5.0


def test_the_model_does_not_see_friction():
    """What it misses is what friction alone adds to λ."""
    watched = watch(MODEL, FRICTION)
    np.testing.assert_allclose((watched.seen + watched.added)[1:], watched.true[1:], atol=1e-9)
    assert np.abs(watched.added[1:]).max() > 1.0


@pytest.mark.parametrize("bandwidth", [5.0, 50.0])
def test_momentum_follows_the_force_late_by_its_bandwidth_alone(bandwidth):
    """Against λ through the same lag, once the first 100 ms have passed: 0.02 N of 8.

    R(Aᵀ) turns as the arm moves: where efforts are filtered and not λ, 5 Hz are off by 0.8 N.
    """
    watched = watch(momentum(bandwidth))
    expected = late(watched.force, watched.A_pinv, bandwidth)
    np.testing.assert_allclose(watched.seen[100:], expected[100:], atol=0.02)


def test_what_was_tared_is_not_late_either():
    """F₀ that stays the same at the joints is no force, wherever the arm turns: 1e-12 N."""
    model = slider_model()
    observer = momentum(5.0)(model)
    observer.set_effort_tare([3.0, -2.0, 1.0])
    force = np.empty(1)
    for k in range(200):
        model.evaluate(NEAR[3] + 0.4 * np.sin(0.05 * k), np.zeros(3))
        observer.terms.innovation[:] = [-3.0, 2.0, -1.0]
        force_from_momentum(2, model.terms, observer.terms, force)
        assert abs(force[0]) < 1e-12


def test_momentum_sees_friction_as_a_part_of_the_force():
    """It cannot tell them apart: it reports the normal part of F − τ, τ the torque of friction.

    To 1 % of λ, but for the few ticks within which a joint turns round and its friction changes.
    """
    watched = watch(momentum(50.0), FRICTION)
    expected = late(watched.force - watched.friction, watched.A_pinv, 50.0)
    size = np.abs(watched.true).max()
    off = np.abs(watched.seen - expected)[100:] / size
    assert np.quantile(off, 0.97) < 0.01
    assert off.max() < 0.06
    assert (
        np.abs(watched.seen - late(watched.force, watched.A_pinv, 50.0))[100:].max() > 0.05 * size
    )


def test_momentum_converges_on_a_constant_force_as_an_exponential():
    """At rest under λ = 20 N: 63 % after 1/K, 99 % after 4.6/K."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR[3])
    model.evaluate(q, np.zeros(3))
    observer = momentum(20.0)(model)
    effort = 20.0 * model.A[0]
    found = [observer.at_present(effort)[0] for _ in range(100)]
    K = 2.0 * np.pi * 20.0
    np.testing.assert_allclose(found, 20.0 * (1.0 - np.exp(-K * T * np.arange(100))), atol=1e-9)
    observer.reset()
    assert observer.at_present(effort)[0] == 0.0


def test_momentum_survives_a_state_that_is_not_finite():
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR[3])
    observer = momentum(50.0)(model)
    effort = 20.0 * model.evaluate(q, np.zeros(3)).A[0]
    for _ in range(200):
        observer.at_present(effort)
    model.evaluate(np.full(3, np.nan), np.zeros(3))
    assert np.isnan(observer.at_present(effort)).all()
    model.evaluate(q, np.zeros(3))
    for _ in range(3):
        assert observer.at_present(effort)[0] == pytest.approx(20.0, rel=1e-6)


def hybrid_run(observer_of):
    """Force control with a sensor, or with an observer in its place; λ over time."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, NEAR[3])
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains(2.0, 10.0, 50.0))
    controller.hold(q)
    hardware = SimulatedArm(Plant(slider_model(), T), q, measures_force=observer_of is None)
    loop = ControlLoop(
        controller,
        Constant(controller.motion[0].copy()),
        limits=Limits.of(model.arm, effort=1e3, effort_rate=1e9),
        force_reference=Constant([20.0]),
        force_source=observer_of(model) if observer_of else "sensor",
    )
    loop.begin = lambda _: loop.reset()  # the sensor's first reading is of an arm without effort
    forces = []
    run(loop, hardware, 600, lambda _, tick: forces.append(hardware.truth.multipliers[0]))
    return np.array(forces), loop.multipliers.copy()


def test_the_loop_runs_on_the_model_as_on_a_sensor():
    measured, _ = hybrid_run(None)
    observed, last = hybrid_run(MODEL)
    np.testing.assert_allclose(observed, measured, atol=1e-9)
    np.testing.assert_allclose(last, observed[-1], atol=1e-9)


def test_the_loop_runs_on_the_momentum_observer():
    """Its lag comes on top of the filter's: the force still settles where it should."""
    observed, last = hybrid_run(momentum(100.0))
    assert observed[-1] == pytest.approx(20.0, rel=0.01)
    assert last[0] == pytest.approx(20.0, rel=0.01)


def test_a_metric_changes_nothing():
    """The observers work in the metric's coordinates and give the same λ."""
    effort = np.array([1.0, -2.0, 3.0])
    found = []
    for metric in (None, Metric(np.array([1.0, 2.0, 3.0]))):
        model = slider_model(metric=metric)
        q, v = state_on(slider_model(), 3, NEAR[3], 0.3)
        pressing = 20.0 * slider_model().evaluate(q, np.zeros(3)).A[0]
        observer = momentum(50.0)(model)
        for _ in range(20):
            model.evaluate(q, np.zeros(3))
            pressed = observer.at_present(pressing)
            model.evaluate(q, v)
            found.append([*pressed, *MODEL(model).at_present(effort)])
    np.testing.assert_allclose(found[:20], found[20:], atol=1e-9)


def test_bad_observers_are_refused():
    model = slider_model()
    with pytest.raises(InvalidValue, match="bandwidth must be positive"):
        momentum(0.0)(model)
    with pytest.raises(InvalidValue, match="period must be positive"):
        ForceSource(model, "momentum", period=-1.0)
    with pytest.raises(UnknownName, match="model, momentum, sensor"):
        ForceSource(model, "guess")


def test_a_free_arm_has_no_force():
    free = ConstrainedArm(slider_model().arm, None, slider_model().coordinates)
    assert MODEL(free).at_present(np.zeros(3)).shape == (0,)


MOMENTUM = {"force.source": "momentum"}
OBSERVER = {"disturbance.kind": "observer"}


@pytest.mark.parametrize("hardware", ["topics", "ros2_control", "plugin"])
@pytest.mark.parametrize(("states", "why"), [("current", "motor currents"), ("none", "no efforts")])
@pytest.mark.parametrize("asked", [MOMENTUM, OBSERVER], ids=["momentum", "observer"])
def test_observers_are_refused_where_the_arm_does_not_report_torques(asked, states, why, hardware):
    said = {"effort_states": states, "hardware": hardware}
    ((name, kind),) = asked.items()
    with pytest.raises(InvalidValue, match=rf"{name} {kind} takes the effort that is sent.*{why}"):
        build.check_observers(settings_of(**asked, **said))
    build.check_observers(settings_of(**said))


@pytest.mark.parametrize("asked", [MOMENTUM, OBSERVER], ids=["momentum", "observer"])
@pytest.mark.parametrize("hardware", ["ros2_control", "plugin"])
def test_behind_ros2_control_an_observer_waits_to_be_told_what_the_efforts_are(asked, hardware):
    with pytest.raises(InvalidValue, match="set effort_states to torque if the effort of its"):
        build.build_loop(FORCE, settings_of(**asked, hardware=hardware))
    build.check_observers(settings_of(**asked, hardware=hardware, effort_states="torque"))
    build.check_observers(settings_of(**asked))  # a simulated arm, on topics


def settings_of(**changes):
    """The three-link arm's force controller."""
    layers = Layers.read([share_file("config", "three_link_slider.yaml")])
    return layers.controller(FORCE).changed(changes)
