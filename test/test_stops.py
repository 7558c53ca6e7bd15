"""A damped stop: it carries the arm, holds it where it came to rest, and leans on nothing."""

from dataclasses import replace

import numpy as np
import pytest
from arms import raw_state, slider_model
from plane_arms import made, on_plane

from projected_control import Runner
from projected_control.control import MotionController, MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.motion import STOP_DAMPING, STOP_GIVE, STOP_STIFFNESS
from projected_control.control.references import Constant, Waypoints
from projected_control.control.rejoining import RETURN_ACCELERATION, RETURN_RATE
from projected_control.control.stability import MotionLoop
from projected_control.errors import InvalidValue
from projected_control.settings.nodes import FORCE, MOTION

JUMP = 1.0  # of a reference, by which the guard stops the arm [m or rad]


class Stopped:
    """An arm that follows for a while, and is then stopped."""

    def __init__(self, kind, values):
        self.loop, self.arm = made(kind, values)
        self.runner = Runner(self.loop, self.arm)
        self.runner.open()
        self.actions = []
        self.go(50)
        place = self.loop.controller.model.theta.copy()
        self.loop.set_reference(Constant(place + JUMP))
        self.q = self.arm.truth.q.copy()

    def go(self, ticks):
        for _ in range(ticks):
            report = self.loop.update(self.arm.read())
            self.arm.write(report.effort)
            self.actions.append(report.action)
        return report

    @property
    def moved(self):
        """How far any joint went since the stop began [rad]."""
        return float(np.abs(self.arm.truth.q - self.q).max())


@pytest.mark.parametrize("law", ["hybrid", "operational_space"])
def test_a_stop_under_force_control_does_not_lean_on_the_surface(law):
    """λ = 0, where projection alone would lean 40 N of a six-joint arm's weight on the plane."""
    stopped = Stopped(FORCE, on_plane(6, law=law))
    stopped.go(400)
    assert stopped.actions[-1] is Action.STOP
    assert abs(stopped.arm.truth.multipliers[0]) < 0.05


def test_a_stop_under_motion_control_leans_as_the_law_does():
    """That is the method: nothing is spent across the constraint; `check` says how much."""
    stopped = Stopped(MOTION, on_plane(6))
    before = stopped.arm.truth.multipliers[0]
    stopped.go(400)
    assert abs(before) > 10.0
    assert stopped.arm.truth.multipliers[0] == pytest.approx(before, rel=0.02)


@pytest.mark.parametrize("kind", [MOTION, FORCE])
def test_an_arm_heavier_than_described_does_not_sink_in_a_stop(kind):
    """Ten per cent more mass, 3 s: 0.08 rad, where damping alone lets it sink without end."""
    stopped = Stopped(kind, on_plane(6, simulation__mass_factor=1.1))
    stopped.go(1000)
    soon = stopped.moved
    stopped.go(2000)
    assert stopped.actions[-1] is Action.STOP
    assert soon < 0.1
    assert abs(stopped.moved - soon) < 0.01


def test_who_pushes_an_arm_in_a_stop_moves_it_along():
    """It gives way after 0.1 rad, and stays where it was pushed to."""
    stopped = Stopped(MOTION, on_plane(6))
    stopped.go(600)
    held = stopped.loop.controller.terms.anchor.copy()
    state = stopped.arm.read()
    pushed = state.q + np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    stopped.loop.update(state._replace(q=pushed, stamp=state.stamp + 1e-3))
    moved = stopped.loop.controller.terms.anchor - held
    assert moved[0] == pytest.approx(pushed[0] - STOP_GIVE - held[0])
    assert np.abs(moved[1:]).max() < 1e-3


def test_what_a_stop_has_moved_is_held_from_there_on():
    """A reference ends a stop that lasts; the posture is where the arm is, not where it began."""
    stopped = Stopped(MOTION, on_plane(6, limits__latch_time=0.2))
    stopped.go(300)
    model = stopped.loop.controller.model
    terms = stopped.loop.controller.terms
    terms.posture[:] += 0.4  # as if the arm had been led away meanwhile
    before = stopped.loop.guard.sent.copy()
    stopped.loop.set_reference(Constant(model.theta.copy()))
    report = stopped.go(1)
    assert report.action is Action.FOLLOW
    np.testing.assert_allclose(terms.posture, model.arm.q, atol=1e-12)
    np.testing.assert_allclose(report.effort, before, atol=0.5)


@pytest.mark.parametrize(("rate", "delay"), [(1000.0, 6), (1000.0, 20), (100.0, 1), (200.0, 6)])
def test_a_held_stop_is_a_stable_loop(rate, delay):
    assert MotionLoop(STOP_STIFFNESS, STOP_DAMPING, 1.0 / rate, delay).stable


# What latches.

MODEL = slider_model()
START = np.array([-3.8, 2.4, 1.4])


def slider_loop(latch_time):
    limits = Limits.of(MODEL.arm, latch_time=latch_time, residual=1e9, frozen_time=9.0)
    place = MODEL.evaluate(START, np.zeros(3)).theta.copy()
    controller = MotionController(MODEL, MotionGains(480.0, 45.0))
    loop = ControlLoop(controller, Constant(place), limits=limits)
    loop.begin(raw_state(MODEL, START, np.zeros(3), 0.0, 0.0))
    return loop


def test_states_that_are_bad_most_of_the_time_latch():
    """Ninety bad ones, two good ones, and so on: no bad spell lasts for the latch time."""
    loop = slider_loop(0.1)
    for k in range(1, 400):
        q = START if k % 92 < 2 else np.full(3, np.nan)
        report = loop.update(raw_state(MODEL, q, np.zeros(3), 0.0, 1e-3 * k))
    assert report.action is Action.ZERO
    assert loop.guard.latched is Action.ZERO


def test_efforts_that_are_not_finite_latch():
    loop = slider_loop(0.1)
    loop.controller.terms.gains[0, 0] = np.nan
    for k in range(1, 120):
        report = loop.update(raw_state(MODEL, START, np.zeros(3), 0.0, 1e-3 * k))
        assert Event(report.events) & (Event.EFFORT_NOT_FINITE | Event.LATCHED)
        assert not report.effort.any()
    assert loop.guard.latched is Action.ZERO


# What comes after a stop that was shorter than the latch time.

SPEED = 0.1  # of a reference that goes on while the arm is stopped [m/s]


class Interrupted:
    """An arm led along at `SPEED`, and kept from following for a while."""

    def __init__(self, how, seconds=0.9, after=3000, **changes):
        kind = FORCE if changes else MOTION
        self.loop, self.arm = made(kind, on_plane(6, **changes))
        self.how = how
        Runner(self.loop, self.arm).open()
        place = self.loop.controller.model.theta.copy()
        rate = np.array([0.0, SPEED])
        self.loop.set_reference(
            Waypoints(
                [0.0, 1.0, 2.5, 3.5],
                [place, place + 0.5 * rate, place + 2.0 * rate, place + 2.5 * rate],
                [0.0 * rate, rate, rate, 0.0 * rate],
            )
        )
        self.theta, self.efforts, self.actions, self.farthest = [], [], [], 0.0
        self.forces = []
        self.go(1000)
        self.go(round(1000 * seconds), broken=True)
        self.begun = len(self.theta)
        self.error = self.loop.controller.error[0, 1]
        self.farthest = 0.0
        self.go(after)

    def go(self, ticks, broken=False):
        limits = self.loop.guard.limits
        if self.how == "stop":
            upper = np.full(limits.upper.size, -9.0) if broken else limits.upper
            self.loop.guard.set_limits(replace(limits, upper=upper))
        for _ in range(ticks):
            state = self.arm.read()
            if broken and self.how == "zero":
                state = state._replace(q=np.full(state.q.size, np.nan))
            report = self.loop.update(state)
            self.arm.write(report.effort)
            self.forces.append(self.arm.truth.multipliers[0])
            self.theta.append(self.loop.controller.model.theta.copy())
            self.efforts.append(report.effort.copy())
            self.actions.append(report.action)
            self.farthest = max(self.farthest, np.abs(self.loop.controller.error[0]).max())
        self.loop.guard.set_limits(limits)

    @property
    def steps(self):
        """Largest change of an effort from tick to tick, from then on [N·m]."""
        return np.abs(np.diff(np.array(self.efforts[self.begun :]), axis=0)).max(axis=1)

    @property
    def rates(self):
        """θ̇ from the end of the interruption on [m/s]."""
        return np.diff(np.array(self.theta[self.begun :]), axis=0) * 1000.0


@pytest.mark.parametrize("law", ["pidc", "hybrid", "operational_space", "impedance"])
def test_after_a_short_stop_the_arm_goes_back_to_its_reference_within_bounds(law):
    """9 cm behind at 0.1 m/s: with all of it at once a soft law asks for 2.7 m/s², others more."""
    run = Interrupted("stop", **({} if law == "pidc" else {"law": law}))
    assert run.actions[run.begun - 1] is Action.STOP
    assert all(action is Action.FOLLOW for action in run.actions[run.begun :])
    assert run.error > 0.08
    assert np.abs(run.rates).max() < RETURN_RATE + 1.78 * SPEED
    accelerations = np.diff(run.rates, axis=0) * 1000.0
    assert np.abs(accelerations).max() < RETURN_ACCELERATION + 0.2  # and the reference's own
    assert run.steps.max() < 0.03  # of 0.1 N·m that limits.effort_rate allows
    assert np.abs(run.loop.controller.error[0]).max() < 1e-5


def test_what_is_reported_on_the_way_back_is_the_error_of_the_reference():
    run = Interrupted("stop", after=100)
    model, terms = run.loop.controller.model, run.loop.controller.terms
    assert terms.rejoin[1] > 0.9
    assert run.loop.controller.error[0] == pytest.approx(terms.motion[0] - model.theta, abs=1e-12)
    assert run.loop.controller.error[0, 1] > 0.08
    run.loop.controller.reset()
    assert not terms.rejoin.any()


@pytest.mark.parametrize("how", ["stop", "zero"])
def test_a_stop_of_a_few_ticks_is_hardly_felt(how):
    run = Interrupted(how, seconds=0.005)
    assert run.actions.count(Action.FOLLOW) == len(run.actions) - 5
    assert run.farthest < 2e-3


def test_an_arm_that_was_let_go_is_not_drawn_to_where_it_was_held_before():
    """Its next stop begins where it is then."""
    stopped = Stopped(MOTION, on_plane(6))
    stopped.go(600)
    terms = stopped.loop.controller.terms
    state = stopped.arm.read()
    for k in range(30):
        stamp = state.stamp + 1e-3 * k
        stopped.loop.update(state._replace(q=np.full(6, np.nan), stamp=stamp))
    fallen = state.q + 0.05
    stopped.loop.update(state._replace(q=fallen, stamp=state.stamp + 0.031))
    np.testing.assert_array_equal(terms.anchor, fallen)
    assert terms.stop_for[0] == pytest.approx(1e-3)


PRESSED = 10.0  # λ_d of an arm that is interrupted while it presses [N]
RATE = 50.0  # of `force.max_rate` there [N/s]


def pressing(how, seconds=0.5, after=600, **changes):
    """An arm that is kept from following while it presses, limits of its own effort far away."""
    more = {"force__reference": [PRESSED], "force__source": "model", "limits__effort_rate": 1e5}
    return Interrupted(how, seconds, after, **{"law": "hybrid", **more, **changes})


@pytest.mark.parametrize("law", ["hybrid", "operational_space", "impedance"])
def test_after_a_stop_the_force_comes_back_within_its_rate(law):
    """10 N at 50 N/s: 0.2 s, where it was 10 N in one tick; before the filter G_F comes on top."""
    run = pressing("stop", law=law, force__max_rate=RATE)
    assert run.forces[999] == pytest.approx(PRESSED, abs=0.1)
    assert abs(run.forces[run.begun - 1]) < 0.05
    back = np.array(run.forces[run.begun :])
    assert abs(back[0]) < 0.1
    gain = run.loop.controller.force.gains.proportional
    assert np.diff(back).max() < 1.01 * (1.0 + gain) * RATE * 1e-3
    assert back[150] == pytest.approx(0.15 * RATE, abs=0.3)
    assert back[250:] == pytest.approx(PRESSED, abs=0.1)
    assert run.loop.controller.terms.withheld[0] == 0.0


def test_an_integral_comes_back_with_the_force_and_waits_meanwhile():
    """5 N of it, at λ_d = −5 N: there is nothing to lead back; at λ_d = 5 N they are 10 N."""
    run = pressing("stop", after=0, force__max_rate=RATE)
    force, terms = run.loop.controller.force, run.loop.controller.terms
    force.integral[:] = 0.5 * PRESSED
    run.loop.set_force_reference(Constant(np.array([0.5 * PRESSED])))
    run.go(101)
    assert terms.withheld[0] == pytest.approx(1.0 - 0.1 * RATE / PRESSED)
    assert force.integral[0] == 0.5 * PRESSED
    terms.withheld[0] = 1.0
    run.loop.set_force_reference(Constant(np.array([-0.5 * PRESSED])))
    run.go(1)
    assert terms.withheld[0] == 0.0


@pytest.mark.parametrize(("how", "left"), [("stop", 1.0), ("zero", 1.0), ("hold", 0.0)])
def test_what_has_let_go_of_the_force_leads_it_back(how, left):
    """A held effort has held λ, too."""
    limits = {"limits__velocity": [20.0] * 6, "limits__above_description": True}  # it falls
    if how == "hold":
        limits["limits__hold_time"] = 1.0
    run = pressing("stop" if how == "stop" else "zero", seconds=0.2, after=1, **limits)
    assert run.actions[run.begun - 1].name == how.upper()
    assert run.actions[-1] is Action.FOLLOW
    assert run.loop.controller.terms.withheld[0] == left


def test_a_rate_that_is_changed_while_the_force_comes_back_counts_at_once():
    run = pressing("stop", after=51, force__max_rate=RATE)
    terms, force = run.loop.controller.terms, run.loop.controller.force
    assert terms.withheld[0] == pytest.approx(1.0 - 0.05 * RATE / PRESSED, abs=2e-3)
    force.set_gains(replace(force.gains, max_rate=4.0 * RATE), 0.0)
    before = terms.withheld[0]
    run.go(10)
    assert before - terms.withheld[0] == pytest.approx(0.04 * RATE / PRESSED, rel=0.01)
    with pytest.raises(InvalidValue, match="largest rate of λ_d must be positive"):
        replace(force.gains, max_rate=0.0)
