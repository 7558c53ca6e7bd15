"""The plugin without ros2_control: whose time it goes by, and clocks that cannot be believed."""

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE, ActingRun
from loops import LAWS, T, build

from projected_control import Runner
from projected_control.control.events import Action, Event
from projected_control.native.updates import Phase, Report, Section

pytestmark = NEEDS_NATIVE


def test_stamps_lie_on_a_grid_until_cycles_are_missed():
    run = ActingRun("pidc")
    run.go(10)
    run.acting.time_ns += 400_000  # woke up late
    assert run.state().sections[Section.NOW][0] == pytest.approx(0.010, abs=1e-12)
    run.acting.time_ns += 5_000_000
    run.acting.now_ns += 5_000_000
    state = run.state()
    assert state.sections[Section.NOW][0] == pytest.approx(0.016, abs=1e-12)
    assert state.sections[Section.REPORT][Report.OVERRUNS] == 1


def test_stamps_are_those_of_an_arm_that_has_a_clock():
    """However late the manager is: what counts is when the state was measured."""
    run = ActingRun("pidc", arm_clock=True)
    run.go(10)
    run.acting.time_ns += 1_700_000  # the manager woke up late, the arm made one period
    assert run.state().sections[Section.NOW][0] == pytest.approx(0.010, abs=1e-12)
    run.acting.arm_seconds += 2 * T  # and now it has made three, but the manager is in time
    assert run.state().sections[Section.NOW][0] == pytest.approx(0.013, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_cycles_that_do_not_come_are_the_same_for_arm_and_loop(law):
    """An arm with a clock, a manager that is late at random: as in process with the same gaps."""
    run = ActingRun(law, arm_clock=True)
    loop, hardware = build(law)
    runner, random = Runner(loop, hardware), np.random.default_rng(5)
    runner.open()
    for i in range(1000):
        gap = int(random.choice([0, 0, 0, 0, 0, 0, 0, 1, 2, 3])) if i else 0
        for _ in range(gap):  # the arm goes on under the effort that it had
            assert run.plant.read(run.effort) == 0
            hardware.read()
            hardware.write(hardware.plant.terms.effort.copy())
        run.acting.arm_seconds += gap * T
        run.acting.time_ns += gap * 1_000_000 + int(random.integers(0, 1_900_000))
        run.go(1)
        state = runner.step().state
        np.testing.assert_allclose(run.plant.q, state.q, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("fault", ["nan", "frozen", "back", "ahead"])
def test_a_clock_of_the_arm_that_cannot_be_believed_ends_in_zero(fault):
    run = ActingRun("hybrid", arm_clock=True)
    run.go(100)
    stood = run.acting.arm_seconds
    # Less the period that a cycle adds.
    shown = {"nan": np.nan, "frozen": stood - T, "back": stood - 1.0, "ahead": stood + 10.0}[fault]
    for _ in range(300):
        run.acting.arm_seconds = shown
        effort = run.go(1)
        assert np.isfinite(effort).all()
    assert not effort.any()
    run.acting.arm_seconds = shown
    expected = {
        "nan": Event.STATE_NOT_FINITE,
        "frozen": Event.STATE_STALE,
        "back": Event.TIME_WENT_BACK,
        "ahead": Event.STATE_NOT_FINITE,
    }
    assert run.report(Report.EVENTS) & expected[fault]


@pytest.mark.parametrize("glitch", [81_234.5, 0.0])
def test_a_glitch_of_the_arms_clock_is_over_when_it_is_over(glitch):
    run = ActingRun("hybrid", arm_clock=True)
    run.go(100)
    stood = run.acting.arm_seconds
    run.acting.arm_seconds = glitch
    run.go(1)
    run.acting.arm_seconds = stood + T
    run.go(100)
    state = run.state()
    assert state.sections[Section.REPORT][Report.ACTION] == Action.FOLLOW
    assert state.sections[Section.NOW][0] == pytest.approx(0.201, abs=1e-9)


def test_a_clock_in_another_unit_moves_nothing():
    """Milliseconds for seconds: the reference does not run away, and the guard says why."""
    run = ActingRun("hybrid", arm_clock=True)
    for _ in range(300):
        run.go(1)
        run.acting.arm_seconds += 999.0 * T
    assert not run.effort.any()
    assert run.report(Report.EVENTS) & Event.STATE_NOT_FINITE
    assert run.state().sections[Section.NOW][0] < 1.0


def test_clocks_may_drift_apart():
    """By half a thousandth, for 45 s: that is more than the clock may be ahead at once."""
    run = ActingRun("pidc", arm_clock=True)
    for _ in range(45):
        run.go(1000)
        run.acting.arm_seconds += 0.5e-3
    report = run.state().sections[Section.REPORT]
    assert report[Report.ACTION] == Action.FOLLOW
    assert report[Report.EVENTS_SINCE] & Event.STATE_NOT_FINITE == 0


def test_a_stop_can_begin_while_the_arm_does_not_tell_its_time():
    """The node falls silent in a cycle in which the time is missing: it brakes all the same."""
    run = ActingRun("hybrid", arm_clock=True, patience=0.05, seconds=0.1)
    run.go(100)
    run.go(49, beats=False)
    known = run.acting.arm_seconds
    run.acting.arm_seconds = np.nan
    run.go(3, beats=False)
    run.acting.arm_seconds = known + 3 * T
    run.go(600, beats=False)
    report = run.state(beats=False).sections[Section.REPORT]
    assert report[Report.PHASE] == Phase.SILENT
    assert report[Report.ACTION] == Action.STOP
    assert np.abs(run.plant.v).max() < 1e-2
