"""When to be where on a path: as fast as joint rates, torques, accelerations and jerks allow.

Along a path q(s) the torques are linear in u = s̈ and x = ṡ²,

    f = a(s) u + b(s) x + c(s),   a = M q',  b = M q'' + C(q, q') q',  c = g + Aᵀλ_d,

and so are the coordinates' accelerations, θ̈ = θ' u + θ'' x; rates bound ṡ alone. Because
dx/ds = 2u, the fastest motion comes out of two passes over s (Pham and Pham, 2018): backwards,
from how large an x the rest of the path can still be gone through; forwards, the largest u that
stays below that. Every pass solves a problem in the two unknowns u and x, here in closed form.

What comes out changes its acceleration by steps. A moving average over the time makes it
jerk-limited, s̈ = (ṡ(t + T/2) − ṡ(t − T/2)) / T. Averaging mixes speeds of neighbouring places, so
the result is checked against all limits, and the path is gone through more slowly around those
places where one is exceeded, until none is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import InvalidValue

ROUNDS = 12
"""How often the path is slowed down where a limit is exceeded, before it is slowed as a whole."""

STEP = 2e-3  # distance of the instants at which the smoothed motion is checked [s]
SHORTEST_AVERAGE = 0.02  # shortest time over which speeds are averaged [s]
KEPT = 1e-6  # by how much of itself a limit may be exceeded: rounding

SMALL = 1e-12


@dataclass(frozen=True)
class PathBounds:
    """What may be asked for along a path, N places, r numbers that are linear in u and x."""

    s: Array  # places, increasing, N
    fastest: Array  # largest ṡ, N
    # slope, bend, rest: a, b and c of each number, N × r.
    slope: Array
    bend: Array
    rest: Array
    largest: Array  # |a u + b x + c| up to which it is allowed, N × r
    names: tuple[str, ...]  # what the numbers are, for messages, r
    # Derivatives θ', θ'', θ''' of what is to be jerk-limited, over its limit, 3 × N × k.
    jerk: Array

    def require_rest(self) -> None:
        """Raise where not even standing still is within the limits."""
        over = np.abs(self.rest) - self.largest
        if (over <= 0.0).all():
            return
        i, j = np.unravel_index(int(np.argmax(over)), over.shape)
        raise InvalidValue(
            f"the path cannot be followed: standing still at {self.s[i]:.4g} of {self.s[-1]:.4g} "
            f"along it, {self.names[j]} is {abs(self.rest[i, j]):.4g} and may be "
            f"{self.largest[i, j]:.4g}, besides friction"
        )

    def scaled(self, factor: Array) -> PathBounds:
        """The same with speeds smaller by a factor per place, and what moves by its square."""
        left = self.largest - np.abs(self.rest)
        return replace(
            self,
            fastest=self.fastest * factor,
            largest=np.abs(self.rest) + left * (factor**2)[:, None],
        )


class Timing(NamedTuple):
    """A motion along a path."""

    times: Array  # from zero on [s]
    s: Array  # where
    rate: Array  # ṡ
    acceleration: Array  # s̈


def time_path(bounds: PathBounds) -> Timing:
    """The jerk-limited motion along a path, from rest to rest, within its bounds.

    Raises:
        InvalidValue: Where the arm cannot even stand still somewhere on the path.
    """
    bounds.require_rest()
    factor = np.ones(bounds.s.size)
    timing, ratio = _smoothed(bounds, bounds)
    for _ in range(ROUNDS):
        if ratio.max() <= 1.0 + KEPT:
            return timing
        worst = _worst_by_place(bounds.s, timing, ratio)
        factor = factor / np.where(worst > 1.0 + KEPT, 1.02 * worst, 1.0)
        timing, ratio = _smoothed(bounds.scaled(factor), bounds)
    return _stretched(timing, float(ratio.max()))


def fastest_squares(bounds: PathBounds) -> Array:
    """x = ṡ² of the fastest motion from rest to rest, N; its acceleration jumps."""
    lower, upper = _accelerations(bounds)
    ceiling = np.minimum(bounds.fastest**2, _highest(lower, upper, bounds))
    step, count = np.diff(bounds.s), bounds.s.size
    reach = np.zeros(count)
    for i in range(count - 2, -1, -1):
        # lower(x) <= u <= (reach[i + 1] - x) / (2 step), every line of lower against that one
        offset = reach[i + 1] / (2.0 * step[i]) - lower[0][i]
        slope = -1.0 / (2.0 * step[i]) - lower[1][i]
        down = slope < -SMALL
        bound = np.min(offset[down] / -slope[down], initial=ceiling[i])
        reach[i] = max(bound, 0.0)
    x = np.zeros(count)
    for i in range(count - 1):
        u = np.min(upper[0][i] + upper[1][i] * x[i], initial=np.inf)
        x[i + 1] = min(max(x[i] + 2.0 * step[i] * u, 0.0), reach[i + 1])
    return x


Lines = tuple[Array, Array]  # offsets and slopes of u as linear functions of x, each N × r


def _accelerations(bounds: PathBounds) -> tuple[Lines, Lines]:
    """Between which lines u has to lie: |a u + b x + c| <= L solved for u."""
    a, b, c, limit = bounds.slope, bounds.bend, bounds.rest, bounds.largest
    flat = np.abs(a) < SMALL
    safe = np.where(flat, 1.0, np.abs(a))
    sign = np.where(a < 0.0, -1.0, 1.0)
    line = -sign * b / safe
    middle = -sign * c / safe
    low, high = middle - limit / safe, middle + limit / safe
    low, high = np.where(flat, -np.inf, low), np.where(flat, np.inf, high)
    line = np.where(flat, 0.0, line)
    return (low, line), (high, line)


def _highest(lower: Lines, upper: Lines, bounds: PathBounds) -> Array:
    """The largest x at which some u is allowed, N: each lower line against each upper one."""
    gap = upper[0][:, :, None] - lower[0][:, None, :]
    slope = upper[1][:, :, None] - lower[1][:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(slope < -SMALL, gap / -slope, np.inf)
    highest: Array = np.min(each, axis=(1, 2), initial=np.inf)
    flat = (np.abs(bounds.slope) < SMALL) & (np.abs(bounds.bend) > SMALL)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(
            flat,
            (bounds.largest - bounds.rest * np.sign(bounds.bend)) / np.abs(bounds.bend),
            np.inf,
        )
    return np.minimum(highest, np.min(alone, axis=1, initial=np.inf))


def _smoothed(bounds: PathBounds, against: PathBounds) -> tuple[Timing, Array]:
    """The fastest motion, averaged over time; and what it takes of the limits at every instant."""
    rate = np.sqrt(fastest_squares(bounds))
    mean = 0.5 * (rate[1:] + rate[:-1])
    if not (mean > 0.0).all():
        i = int(np.argmin(mean))
        raise InvalidValue(
            f"the path cannot be followed: at {bounds.s[i]:.4g} of {bounds.s[-1]:.4g} along it no "
            "speed is within the limits"
        )
    took = np.diff(bounds.s) / mean
    clock = np.concatenate([[0.0], np.cumsum(took)])
    jumps = np.abs(np.diff(rate) / took)[:, None] * np.abs(against.jerk[0])[1:]
    width = max(SHORTEST_AVERAGE, 2.5 * float(jumps.max(initial=0.0)))
    count = max(int(np.ceil((clock[-1] + width) / STEP)), 8) + 1
    times = np.linspace(0.0, clock[-1] + width, count)
    ahead, behind = times, times - width

    def speed(t: Array) -> Array:
        return np.interp(t, clock, rate, left=0.0, right=0.0)

    def place(t: Array) -> Array:
        inside = np.clip(t, 0.0, clock[-1])
        i = np.clip(np.searchsorted(clock, inside, side="right") - 1, 0, took.size - 1)
        tau = inside - clock[i]
        return np.asarray(
            bounds.s[i] + tau * (rate[i] + 0.5 * tau * (rate[i + 1] - rate[i]) / took[i])
        )

    v = (place(ahead) - place(behind)) / width
    a = (speed(ahead) - speed(behind)) / width
    s = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(times))])
    s *= bounds.s[-1] / s[-1]
    timing = Timing(times, s, v, a)
    return timing, _ratios(against, timing)


def _ratios(bounds: PathBounds, timing: Timing) -> Array:
    """What a motion takes of each limit, the largest at every instant; one is all of it."""
    times, s, v, a = timing
    ratio = v / np.interp(s, bounds.s, bounds.fastest)
    at = np.clip(np.searchsorted(bounds.s, s, side="right") - 1, 0, bounds.s.size - 2)
    share = ((s - bounds.s[at]) / (bounds.s[at + 1] - bounds.s[at]))[:, None]

    def along(values: Array) -> Array:
        return np.asarray((1.0 - share) * values[at] + share * values[at + 1])

    rest = along(bounds.rest)
    moving = along(bounds.slope) * a[:, None] + along(bounds.bend) * (v**2)[:, None]
    # What is left beside the force at rest is what slowing down can give back.
    left = np.maximum(along(bounds.largest) - np.sign(moving) * rest, SMALL)
    ratio = np.maximum(ratio, np.sqrt(np.max(np.abs(moving) / left, axis=1, initial=0.0)))
    change = np.gradient(a, times)[:, None]
    first, second, third = (along(row) for row in bounds.jerk)
    jerk = first * change + 3.0 * second * (v * a)[:, None] + third * (v**3)[:, None]
    return np.asarray(np.maximum(ratio, np.cbrt(np.max(np.abs(jerk), axis=1, initial=0.0))))


def _worst_by_place(s: Array, timing: Timing, ratio: Array) -> Array:
    """The largest ratio around each place of the grid, N."""
    worst = np.zeros(s.size)
    np.maximum.at(worst, np.clip(np.searchsorted(s, timing.s), 0, s.size - 1), ratio)
    reach = max(s.size // 100, 2)
    padded = np.pad(worst, reach)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
    return np.asarray(windows.max(axis=1))


def _stretched(timing: Timing, ratio: float) -> Timing:
    """The whole motion slower, so that nothing is exceeded."""
    slower = max(ratio, 1.0)
    return Timing(
        timing.times * slower,
        timing.s,
        timing.rate / slower,
        timing.acceleration / slower**2,
    )
