"""The clock of the path: it waits where motion is given up, and comes back within its limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import T, build, opened

from projected_control import Runner
from projected_control.control.limits import Limits
from projected_control.control.path_clock import (
    GAIN,
    LAG,
    LEARNT,
    POSSIBLE,
    SINCE,
    SLOW,
    PathClock,
    evaluate_slowed,
    lead_clock,
    note_path,
)
from projected_control.control.references import (
    MotionLimits,
    Reference,
    ReferencePoint,
    SetPoint,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.control.silence import SilenceAnswer, answer_silence, silence_array
from projected_control.control.state import RawState
from projected_control.control.terms import CONTROL, ControlTerms
from projected_control.model.motion_tables import evaluate_motion
from projected_control.model.rotations import Topology, angular_motion
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import read_recording
from projected_control.runs.replay import replay

MOST = 2.0  # the reference's largest acceleration here [m/s²]


def terms(k: int = 1) -> ControlTerms:
    """Those of a controller of k coordinates, all zero."""
    sizes = {"n": k, "m": 0, "k": k, "p": 0}
    c = CONTROL.view(CONTROL.new(**sizes), **sizes)
    c.period[0], c.reference_acceleration[:], c.motion_share[0] = T, MOST, 1.0
    return c


class Followed(NamedTuple):
    """One tick: reference as followed, error, rate and lag of the path, place."""

    motion: np.ndarray
    error: float
    rate: float
    lag: float
    place: float


def follow(reference: Reference, limit: float, seconds: float, waits: bool = True):
    """A mass follows a reference by PIDC's error equation, with accelerations up to a limit."""
    c, table, followed = terms(), reference.table.array(), []
    x, v = (part[0] for part in reference.at(0.0)[:2])
    for i in range(round(seconds / T)):
        evaluate_slowed(i * T, False, table, c)
        motion = c.motion[:, 0].copy()
        e, e_rate = motion[0] - x, motion[1] - v
        asked = motion[2] + 45.0 * e_rate + 480.0 * e
        reached = min(max(asked, -limit), limit)
        followed.append(Followed(motion, e, 1.0 - c.path_clock[SLOW], c.path_clock[LAG], x))
        c.motion_share[0] = float(reached == asked)
        c.given_up[0], c.motion_reached[0] = reached - asked, reached
        if waits and (c.motion_share[0] < 1.0 or c.path_clock[POSSIBLE] != 0.0):
            lead_clock(True, i * T, False, table, c)
        x, v = x + T * v + 0.5 * T * T * reached, v + T * reached
    return followed


REST = ReferencePoint(*np.zeros((3, 1)))
GOAL = 0.5


@pytest.mark.parametrize(("limit", "late"), [(1.2, 0.34), (0.6, 1.0)])
def test_a_set_point_beyond_the_limits_is_reached_later_and_not_overshot(limit, late):
    """2 m/s² are asked for: clipped, the mass goes 32 and 372 mm too far."""
    asked = SetPoint(REST, [GOAL], MotionLimits((0.5,), (MOST,), (20.0,)))
    waited, clipped = (follow(asked, limit, 6.0, waits) for waits in (True, False))
    assert max(tick.place for tick in clipped) > GOAL + 0.03
    assert max(tick.place for tick in waited) < GOAL + 0.002
    assert max(abs(tick.error) for tick in waited) < 0.0025
    assert abs(waited[-1].place - GOAL) < 1e-6
    assert waited[-1].lag == pytest.approx(late, abs=0.05)
    assert waited[-1].rate == 1.0


def test_a_sine_settles_at_the_rate_that_the_limits_allow():
    """60 % of its acceleration can be had: √0.6 of its rate, and no error but a tenth of a mm."""
    sine = Sines([0.0], [[Sine(0.2, 0.5)]])
    limit = 0.6 * 0.2 * np.pi**2
    waited, clipped = (follow(sine, limit, 20.0, waits) for waits in (True, False))
    settled = waited[len(waited) // 2 :]
    assert max(abs(tick.error) for tick in clipped[len(clipped) // 2 :]) > 0.4
    assert max(abs(tick.error) for tick in settled) < 5e-4
    rates = np.array([tick.rate for tick in settled])
    assert rates.mean() == pytest.approx(np.sqrt(0.6), rel=0.05)
    assert rates.max() < 0.85


def test_what_is_followed_has_the_rate_and_acceleration_it_says():
    """θ̇_d and θ̈_d are the derivatives of θ_d by the arm's time, also while the rate changes."""
    c, table = terms(), Sines([0.1], [[Sine(0.2, 0.3, 0.4)]]).table.array()
    c.path_clock[SLOW], c.path_clock[POSSIBLE] = 0.9, 1e9
    seen, rates = [], []
    for i in range(4000):
        evaluate_slowed(i * T, False, table, c)
        seen.append(c.motion[:, 0].copy())
        rates.append(1.0 - c.path_clock[SLOW])
        lead_clock(True, i * T, False, table, c)
    value, rate, acceleration = np.array(seen).T
    steps = np.gradient(value, T), np.gradient(rate, T)
    inner = slice(2, -2)
    np.testing.assert_allclose(steps[0][inner], rate[inner], atol=2e-3)
    np.testing.assert_allclose(steps[1][inner], acceleration[inner], atol=2e-2)
    assert np.abs(acceleration).max() < MOST
    assert np.diff(rates).min() >= 0.0
    assert rates[-1] == 1.0
    assert np.abs(np.diff(rates, 2)).max() < 1e-4  # smoothly: ṙ does not jump


@settings(max_examples=200)
@given(
    lost=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
    rate=st.lists(st.floats(-10, 10), min_size=2, max_size=2),
    bend=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2),
    slow=st.floats(0.0, 1.0),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_rate_is_between_none_and_full_and_falls_only_along_what_was_lost(
    lost, rate, bend, slow, share
):
    c, table = terms(2), Waypoints([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]).table.array()
    c.path_clock[[SLOW, POSSIBLE]] = slow, 1.0
    c.motion[1], c.motion[2] = rate, bend
    c.path_motion[:] = rate, bend
    c.motion_share[0], c.given_up[:], c.motion_reached[:] = share, lost, lost
    lead_clock(True, 0.5, False, table, c)
    assert np.isfinite(c.path_clock).all()
    assert 0.0 <= c.path_clock[SLOW] <= 1.0
    if c.path_clock[GAIN] == 0.0 and c.path_clock[SLOW] > slow:  # not for what is ahead
        along = np.array(rate) / T + 2.0 * (1.0 - slow) * np.array(bend)
        assert along @ lost < 0.0


def test_a_state_that_is_no_time_leaves_the_clock_alone():
    c, table = terms(), Sines([0.1], [[Sine(0.2, 0.3)]]).table.array()
    c.path_clock[[LAG, SLOW, SINCE, POSSIBLE]] = 0.2, 0.5, 1.0, 3.0
    before = c.path_clock.copy()
    evaluate_slowed(np.nan, False, table, c)
    lead_clock(True, np.nan, False, table, c)
    np.testing.assert_array_equal(c.path_clock, before)


def test_a_turning_path_is_seen_as_its_angular_velocity():
    """δ of an orientation is an angular acceleration: the path's own is compared with that."""
    rng = np.random.default_rng(5)
    phi, rate, second = rng.normal(size=(3, 3))
    c, r, gain = terms(3), 0.7, 0.3
    c.topology[:] = Topology.ROTATION, Topology.ROTATION_GOES_ON, Topology.ROTATION_GOES_ON
    c.motion[:] = phi, r * rate, r * r * second + gain * rate
    note_path(r, gain, c)
    omega, alpha = angular_motion(tuple(phi), tuple(rate), tuple(second))
    np.testing.assert_allclose(c.path_motion, [omega, alpha], rtol=1e-12)


# In a loop

WEAK = 0.01  # motors that can do next to nothing of the motion [N·m]


class Bare(Reference):
    """Another reference without its table, which Python is asked for in every tick."""

    def __init__(self, reference: Reference) -> None:
        self._reference, self.size = reference, reference.size

    def at(self, time: float) -> ReferencePoint:
        return self._reference.at(time)


def give_up(loop, effort: float | None) -> None:
    """Have motors no more than this from the next tick on [N·m]; None for what they have."""
    arm = loop.controller.model.arm
    loop.guard.set_limits(Limits.of(arm) if effort is None else Limits.of(arm, effort=effort))


def waiting_run(law: str, ticks: int, bare: bool = False):
    """A run in which motion is given up for a while; what was followed, and the loop."""
    loop, arm = build(law)
    if bare:
        loop.set_reference(Bare(loop.reference))
    runner = Runner(loop, arm)
    runner.open()
    rows = runner.keep(ticks)
    for i in range(ticks):
        if i in (50, 120):
            give_up(loop, WEAK if i == 50 else None)
        runner.step()
    return rows, loop


@pytest.mark.parametrize("law", ["hybrid", "operational_space"])
def test_rows_tell_the_rate_and_the_lag_and_the_motion_is_that_of_the_paths_time(law):
    rows, loop = waiting_run(law, 400)
    stamp, rate, lag = (rows.column(name) for name in ("stamp", "path_rate", "path_lag"))
    assert (rate[:49] == 1.0).all()
    assert 0.0 < rate.min() < 0.9
    assert (np.diff(lag) >= 0.0).all()
    assert lag[-1] > 0.01
    followed = rows.column("motion")
    for i in range(0, 400, 7):
        place = loop.reference.at(stamp[i] - lag[i]).value
        np.testing.assert_allclose(followed[i, 0], place, atol=1e-12)
    assert loop.path.lag == lag[-1]
    assert loop.path.time(stamp[-1]) == stamp[-1] - lag[-1]


def test_a_reference_that_python_writes_waits_as_one_with_a_table():
    """But for the look ahead, which needs the table: after that the rates differ."""
    tables, written = waiting_run("hybrid", 119)[0], waiting_run("hybrid", 119, bare=True)[0]
    for name in ("path_rate", "path_lag", "motion", "effort"):
        np.testing.assert_allclose(
            written.column(name), tables.column(name), atol=1e-9, err_msg=name
        )
    rows = waiting_run("hybrid", 600, bare=True)[0]
    assert rows.column("path_rate").min() < 0.9
    assert rows.column("path_rate")[-1] > 0.95


def test_a_new_reference_begins_where_the_path_is_at_its_full_rate():
    _, loop = waiting_run("hybrid", 100)
    now = 100 * T
    here = loop.beginning(now)
    rate = loop.path.rate
    assert rate < 0.95
    own = loop.reference.at(loop.path.time(now))
    np.testing.assert_allclose(here.value, own.value)
    np.testing.assert_allclose(here.rate, rate * own.rate)
    loop.set_reference(SetPoint(here, here.value + 0.01, begin=now))
    state = loop.controller.model
    give_up(loop, None)
    loop.update(RawState(state.arm.q.copy(), state.arm.v.copy(), now, np.zeros(6)))
    assert (loop.path.rate, loop.path.lag) == (1.0, 0.0)
    np.testing.assert_allclose(loop.controller.motion[1], here.rate, atol=1e-12)


@pytest.mark.parametrize("bare", [False, True])
def test_a_recording_of_a_path_that_waits_is_replayed_to_the_last_bit(bare, tmp_path):
    loop, arm = build("hybrid")
    if bare:
        loop.set_reference(Bare(loop.reference))
    runner, recorder = Runner(loop, arm), Recorder(tmp_path / "run.mcap")
    runner.open()
    loop.controller.terms.path_clock[[LAG, SLOW, POSSIBLE, LEARNT]] = 0.02, 0.6, 1.0, 0.0
    try:
        runner.record(recorder)
        for _ in range(300):
            runner.step()
    finally:
        recorder.close()
    recording = read_recording(tmp_path / "run.mcap")
    rate, lag = recording.column("path_rate"), recording.column("path_lag")
    assert rate[0] < 0.5 < 0.7 < rate[-1]
    assert lag[-1] > 0.05
    done = replay(recording, build("hybrid")[0])
    assert done.difference == 0.0
    for name in ("path_rate", "path_lag", "motion"):
        np.testing.assert_array_equal(done.as_recording.column(name), recording.column(name))
    np.testing.assert_array_equal(recording.quantities()["path/rate"], rate)


@pytest.mark.parametrize("answer", [SilenceAnswer.STOP, SilenceAnswer.FINISH])
def test_in_silence_a_path_that_waits_is_braked_from_where_it_is(answer):
    """Its table is replaced by one that begins at the arm's time, and the clock with it."""
    loop, arm = opened("hybrid")
    model, a = loop.controller.model, loop.arguments
    start = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    loop.set_reference(SetPoint(start, start.value + 0.01, MotionLimits((0.05,), (1.0,), (20.0,))))
    end, seen = loop.reference.end, []
    clock = loop.controller.terms.path_clock
    silence = silence_array(model.m, model.k, answer, 0.05, 0.1)
    for i in range(500):
        if i == 50:
            clock[[LAG, SLOW, SINCE, POSSIBLE]] = 0.1, 0.5, i * T, 1.0
        answer_silence(
            int(i >= 100), i * T, a.sizes, a.choices, a.control_work,
            a.reference, a.force_reference, silence,
        )  # fmt: skip
        arm.write(loop.update(arm.read()).effort)
        if i != 50:
            seen.append(loop.controller.motion.copy())
    motion = np.array(seen)
    assert np.abs(np.diff(motion[60:, 0], 2, axis=0)).max() < 3e-6  # no jump where it begins
    assert np.abs(motion[-1, 1]).max() == 0.0
    gone = motion[-1, 0] - start.value
    if answer == SilenceAnswer.FINISH:
        np.testing.assert_allclose(gone, 0.01, atol=1e-9)
        assert (clock[LAG], clock[SLOW]) == (0.0, 0.0)
    else:
        assert (np.abs(gone) < 0.009).all()
    assert end < 0.5


def test_a_clock_that_has_not_waited_gives_the_reference_itself():
    clock, reference = PathClock(np.zeros(6)), Sines([0.1], [[Sine(0.2, 0.3)]])
    assert (clock.rate, clock.lag, clock.time(3.0)) == (1.0, 0.0, 3.0)
    motion = np.empty((3, 1))
    evaluate_motion(3.0, reference.table.array(), motion)
    np.testing.assert_array_equal(np.array(clock.at(reference, 3.0)), motion)
    assert GAIN == 2
