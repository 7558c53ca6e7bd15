"""The clock of the path: it slows down where limits take motion away, so that no error piles up.

A reference θ(s) is a motion over its own time s, which passes at a rate r between 0 and 1:

    s = t − lag,    d lag/dt = 1 − r,    θ̇_d = r θ̇(s),    θ̈_d = r² θ̈(s) + ṙ θ̇(s).

**It falls** at once, by as much as makes the path ask for what the arm could do. Of the
acceleration that was asked for, limits took δ away (reached − asked); a step Δr changes what is
asked for along the path in one period T by p Δr, p = θ̇/T + 2 r θ̈, so

    Δr = pᵀδ / pᵀp    where that is negative, and more than rounding.

At rest, where θ̇ is zero, r² θ̈ becomes what is possible; in motion ṙ θ̇ takes all of δ along the
path, and the error along it obeys its equation as if there were no limit. Where the arm cannot
*brake* as the path does, pᵀδ is positive and r stays: slower would ask for more braking.

**It comes back** where nothing is given up, and looks ahead for that: an arm that could not be set
in motion as its path asked cannot be brought to rest so either. The acceleration α that was reached
along θ̈ when some of it was last given up bounds the rate for the next `AHEAD` of the path,
r² |θ̈| ≤ α, and the rate goes to the largest that this allows, 1 at most. α grows by the share
`TRUST` in a second, for limits depend on the pose; it is forgotten `FORGET` after motion was last
given up. ṙ stays below `RETURN`, and r² |θ̈| + ṙ |θ̇| below the reference's largest
acceleration in every coordinate. A path at rest has its full rate at once; a new reference begins
with r = 1, no lag, and nothing known of α.

What has been waited for is not made up for: the path ends `lag` later. λ_d and the motion of a
driven constraint do not wait: a force is asked for at its time, and the world goes on.

`rejoining` leads an arm back that was stopped, while its reference has gone on; here the arm
follows all the time, and the reference waits for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Numbers, compiled, kernel
from projected_control.control.references import Reference, ReferencePoint
from projected_control.control.terms import CLOCK_NUMBERS, ControlTerms
from projected_control.model.kinematics import vector
from projected_control.model.motion_tables import evaluate_motion
from projected_control.model.rotations import Topology, angular_motion

Array = NDArray[np.float64]

LAG, SLOW, GAIN, SINCE, POSSIBLE, LEARNT = range(CLOCK_NUMBERS)
"""Places in `ControlTerms.path_clock`: the lag [s] at the time `SINCE` [s], 1 − r, ṙ [1/s], the
acceleration that was possible [m/s² or rad/s²] at the time `LEARNT` [s]. All are zero where no
motion has been given up."""

RETURN = 5.0
"""Largest ṙ on the way back [1/s]."""

EASE = 0.2
"""Time in which ṙ grows to its largest, and over which it fades out where r is to stay [s]."""

AHEAD, LOOKS = 1.0, 10
"""How far ahead the path is looked at [s], and how often on the way."""

TRUST = 0.05
"""By which share α grows in a second."""

TELLING = 0.2
"""Share of the largest |θ̈| ahead from which on a place says something of what is possible there,
and share of its own |θ̈| that is possible at least: an error is no reason to stand still."""

FORGET = 20.0
"""After which it is forgotten [s]."""

UNKNOWN = 1e9
"""α where no acceleration of the path was too large so far [m/s² or rad/s²]."""

NEGLIGIBLE = 1e-6
"""|Δr| of one tick up to which what was given up does not count: a thousandth in a second."""

CLOSE = 1e-6
"""1 − r from which on a path has its full rate again."""

_LEAST_RATE = 1e-3
"""r below which the path's own rate is not found from what Python wrote: it stands still there, so
that the last one is right."""

_ROTATION = int(Topology.ROTATION)


@kernel
def lag_at(stamp: float, clock: Numbers) -> float:
    """By how much the path is late at a time [s]; its own time is the difference of the two.

    Args:
        stamp: Time of a state [s].
        clock: What begins with the numbers of a clock, such as a controller's workspace.
    """
    return clock[LAG] + clock[SLOW] * max(stamp - clock[SINCE], 0.0)


@compiled
def begin_clock(clock: Array) -> None:
    """Of a new reference: no lag, full rate."""
    for i in range(CLOCK_NUMBERS):
        clock[i] = 0.0


@compiled
def slow_down(clock: Array, motion: Array) -> None:
    """From value, rate and acceleration by the path's time to those by the arm's."""
    r, gain = 1.0 - clock[SLOW], clock[GAIN]
    for i in range(motion.shape[1]):
        motion[2, i] = r * r * motion[2, i] + gain * motion[1, i]
        motion[1, i] = r * motion[1, i]


@compiled
def note_path(r: float, gain: float, c: ControlTerms) -> None:
    """θ̇ and θ̈ by the path's own time, as J_θ counts them, from c.motion at this r and ṙ."""
    for i in range(c.topology.size):
        if int(c.topology[i]) < _ROTATION:
            rate = c.motion[1, i] / r
            c.path_motion[0, i] = rate
            c.path_motion[1, i] = (c.motion[2, i] - gain * rate) / (r * r)
        elif int(c.topology[i]) == _ROTATION:
            omega, alpha = angular_motion(
                vector(c.motion[0], i), vector(c.motion[1], i), vector(c.motion[2], i)
            )
            for j in range(3):
                rate = omega[j] / r
                c.path_motion[0, i + j] = rate
                c.path_motion[1, i + j] = (alpha[j] - gain * rate) / (r * r)


@compiled
def evaluate_slowed(stamp: float, written: bool, reference: Array, c: ControlTerms) -> None:
    """The reference of a path that has waited, into c.motion.

    Args:
        stamp: Time of the state [s]; for one that is not a number the clock stands still.
        written: Whether Python writes the table in every tick: as `PathClock.at` gives it, by the
            arm's time.
        reference: The table in force.
        c: With the clock, which goes on to this time.
    """
    clock = c.path_clock
    if np.isfinite(stamp):
        clock[LAG] = lag_at(stamp, clock)
        clock[SINCE] = stamp
    evaluate_motion(stamp if written else stamp - clock[LAG], reference, c.motion)
    if not written:
        note_path(1.0, 0.0, c)
        slow_down(clock, c.motion)
    elif 1.0 - clock[SLOW] > _LEAST_RATE:
        note_path(1.0 - clock[SLOW], clock[GAIN], c)


@compiled
def learn(stamp: float, peak: float, c: ControlTerms) -> None:
    """α of a tick in which motion was given up: what was reached along the path's acceleration.

    Where something else than that was cut (more than all of it, another direction, or where the
    path asks for little: a push, a step of the torque), what was known before holds on.

    Args:
        stamp: Time of the state [s].
        peak: The largest |θ̈| ahead [m/s² or rad/s²].
        c: The path's motion, its clock, and what was reached.
    """
    clock, reached, lost, squares = c.path_clock, 0.0, 0.0, 0.0
    r = 1.0 - clock[SLOW]
    for i in range(c.topology.size):
        acceleration = c.path_motion[1, i]
        reached += acceleration * c.motion_reached[i]
        lost += acceleration * c.given_up[i]
        squares += acceleration * acceleration
    clock[LEARNT], size = stamp, np.sqrt(squares)
    if -r * r * squares < lost < 0.0 and size > TELLING * peak:
        clock[POSSIBLE] = max(reached / size, TELLING * size)
    elif clock[POSSIBLE] == 0.0:
        clock[POSSIBLE] = UNKNOWN


@compiled
def largest_ahead(time: float, written: bool, reference: Array, c: ControlTerms) -> float:
    """The largest |θ̈| of the path from its time on [m/s² or rad/s²], as far as it is known."""
    most = 0.0
    for i in range(c.topology.size):
        most += c.path_motion[1, i] * c.path_motion[1, i]
    for j in range(0 if written else LOOKS):
        evaluate_motion(time + (j + 1.0) * AHEAD / LOOKS, reference, c.path_ahead)
        squares = 0.0
        for i in range(c.topology.size):
            squares += c.path_ahead[2, i] * c.path_ahead[2, i]
        most = max(most, squares)
    return np.sqrt(most)


@compiled
def find_gain(wanted: float, c: ControlTerms) -> float:
    """ṙ towards another rate, smoothly and within the reference's acceleration."""
    clock, T = c.path_clock, c.period[0]
    r, bound = 1.0 - clock[SLOW], RETURN
    for i in range(c.topology.size):
        rate, acceleration = abs(c.path_motion[0, i]), abs(c.path_motion[1, i])
        most = min(c.reference_acceleration[i], clock[POSSIBLE])
        spare = max(most - r * r * acceleration, 0.0)
        if spare < bound * rate:
            bound = spare / rate
    step = RETURN * T / EASE
    gain = min(max((wanted - r) / EASE, clock[GAIN] - step), clock[GAIN] + step)
    return min(max(gain, -bound), bound)


@compiled
def wait_for_contact(stamp: float, moves: bool, c: ControlTerms) -> None:
    """r goes to zero while a contact is lost; at once where the path is at rest."""
    clock, T = c.path_clock, c.period[0]
    clock[LEARNT] = stamp
    if clock[POSSIBLE] == 0.0:
        clock[POSSIBLE] = UNKNOWN
    clock[GAIN] = find_gain(0.0, c) if moves else 0.0
    clock[SLOW] = min(clock[SLOW] - T * clock[GAIN], 1.0) if moves else 1.0
    if 1.0 - clock[SLOW] < CLOSE:
        clock[SLOW], clock[GAIN] = 1.0, 0.0


@compiled
def lead_clock(
    follows: bool, stamp: float, written: bool, reference: Array, c: ControlTerms
) -> None:
    """After a tick in which motion was given up, or of a path that is slow: r for the next one.

    Args:
        follows: Whether this tick followed the reference.
        stamp: Time of its state [s].
        written, reference: See `evaluate_slowed`.
        c: What was given up, the path's motion and its clock.
    """
    clock, T = c.path_clock, c.period[0]
    if not np.isfinite(stamp):
        return
    if clock[SLOW] == 0.0:
        note_path(1.0, 0.0, c)
        clock[SINCE] = stamp
    lost, rates, squares, r = 0.0, 0.0, 0.0, 1.0 - clock[SLOW]
    for i in range(c.topology.size):
        by_rate, by_bend = c.path_motion[0, i] / T, 2.0 * r * c.path_motion[1, i]
        lost += (by_rate + by_bend) * c.given_up[i]
        rates += by_rate * by_rate
        squares += by_bend * by_bend
    size = np.sqrt(rates) + np.sqrt(squares)
    peak = largest_ahead(stamp - clock[LAG], written, reference, c)
    if c.path_waits[0] != 0.0:
        wait_for_contact(stamp, size > 0.0, c)
    elif not (size > 0.0 and np.isfinite(size)):  # at rest
        clock[SLOW] = clock[GAIN] = 0.0
    elif follows and c.motion_share[0] < 1.0 and abs(lost) > NEGLIGIBLE * size * size:
        learn(stamp, peak, c)
        clock[GAIN] = 0.0
        if lost < 0.0:
            clock[SLOW] = min(clock[SLOW] - lost / (size * size), 1.0)
    else:
        clock[POSSIBLE] *= 1.0 + TRUST * T
        wanted = 1.0
        if peak > clock[POSSIBLE]:
            wanted = np.sqrt(clock[POSSIBLE] / peak)
        clock[GAIN] = find_gain(wanted, c)
        clock[SLOW] = min(max(clock[SLOW] - T * clock[GAIN], 0.0), 1.0)
        if clock[SLOW] < CLOSE and wanted == 1.0:
            clock[SLOW] = clock[GAIN] = 0.0
    if clock[SLOW] == 0.0 and stamp > clock[LEARNT] + FORGET:
        clock[POSSIBLE] = 0.0


class PathClock:
    """A path's clock as the last tick left it.

    Args:
        clock: `ControlTerms.path_clock`.
    """

    def __init__(self, clock: Array) -> None:
        self._clock = clock

    @property
    def rate(self) -> float:
        """r, from 0 where the path stands still to 1."""
        return 1.0 - float(self._clock[SLOW])

    @property
    def lag(self) -> float:
        """How much later the path is than it was asked for [s]."""
        return float(self._clock[LAG])

    def time(self, stamp: float) -> float:
        """The path's own time at a time of the arm [s]."""
        return stamp - lag_at(stamp, self._clock)

    def at(self, reference: Reference, stamp: float) -> ReferencePoint:
        """Where a reference is at a time of the arm [s], with the rate that it has there."""
        clock = self._clock
        if clock[LAG] == 0.0 and clock[SLOW] == 0.0:
            return reference.at(stamp)
        motion = np.array(reference.at(self.time(stamp)))
        slow_down(clock, motion)
        return ReferencePoint(*motion)
