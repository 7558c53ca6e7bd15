"""Stability of the sampled loops: of the force and of the motion.

**Force.** The constraint force answers the torque without any dynamics in between, so one sample
of delay makes the proportional gain a loop gain: in continuous time every positive gain is stable,
in a computer it is not. With a first-order low-pass on the measured force, a = exp(−ω_c T), and d
samples of delay, the loop has the characteristic polynomial

    z^(d−1) (z − 1)(z − a) + (1 − a) [G_F (z − 1) + G_I T z],

and z times that with (1 − a) (G_V/T) (z − 1)² on top where the error's rate counts, too. For d = 1
it is stable exactly where G_F + G_I T/2 < coth(ω_c T/2), and without a filter where G_F + G_I T/2
< 1, both without G_V.

**Motion.** Inverse dynamics makes every coordinate a double integrator, ë = u, which a computer
drives through a zero-order hold. With u = −G_P e − G_D ė acting d samples after the state it
answers, the loop has the characteristic polynomial

    z^(d−1) (z − 1)² + (G_P T²/2)(z + 1) + G_D T (z − 1).

For d = 1 it is stable exactly where G_P T/2 < G_D < 2/T. Integral action K_I ∫ e makes it

    (z − 1) [z^(d−1) (z − 1)² + (G_P T²/2)(z + 1) + G_D T (z − 1)] + (K_I T³/2) z (z + 1),

a disturbance observer with the pole α = exp(−K T), whose model has ρ times the true inertia,

    (z − 1)² [z^(d−1) (z − 1) + (1 − α) ρ] + ρ (z − α) [(G_P T²/2)(z + 1) + G_D T (z − 1)].

For d = 1 and ρ = 1 the observer's pole stands by itself; with more delay it believes that efforts
act which are still on their way. docs/equations.md derives all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, UnstableForceLoop, UnstableMotionLoop

MAX_DELAY = 100

NEGLIGIBLE = 1e-9
"""G_I T below which the integral's own root is at one to rounding; it is left out then."""


@dataclass(frozen=True)
class ForceLoop:
    """The force loop as the sampled system it is."""

    proportional: float  # G_F
    integral: float  # G_I [1/s]
    period: float  # T [s]
    # Cut-off frequency of the low-pass on the measured force [Hz]; None without one.
    cutoff: float | None = None
    delay: int = 1  # d, from torque to its effect in the measurement [samples]; at least one
    derivative: float = 0.0  # G_V [s]

    def __post_init__(self) -> None:
        validate.not_negative("proportional force gain G_F", self.proportional)
        validate.not_negative("integral force gain G_I", self.integral)
        validate.positive("period", self.period)
        if self.cutoff is not None:
            validate.positive("force filter cut-off", self.cutoff)
        if self.delay != int(self.delay) or not 1 <= self.delay <= MAX_DELAY:
            raise InvalidValue(f"delay must be 1 to {MAX_DELAY} whole samples, got {self.delay}")

    @property
    def pole(self) -> float:
        """a = exp(−ω_c T) of the low-pass, zero without one."""
        if self.cutoff is None:
            return 0.0
        return float(np.exp(-2.0 * np.pi * self.cutoff * self.period))

    @property
    def spectral_radius(self) -> float:
        """Magnitude of the slowest root; the loop is stable below one."""
        a, feedback = self.pole, np.zeros(2)
        feedback[0] = (1.0 - a) * (self.proportional + self.integral * self.period)
        feedback[1] = -(1.0 - a) * self.proportional
        polynomial: NDArray[Any] = np.zeros(self.delay + 2)
        polynomial[:3] = 1.0, -(1.0 + a), a
        polynomial[-2:] += feedback
        if self.derivative > 0.0:
            rate = (1.0 - a) * self.derivative / self.period
            polynomial = np.polyadd([*polynomial, 0.0], rate * np.array([1.0, -2.0, 1.0]))
        if self.integral * self.period < NEGLIGIBLE:
            polynomial = np.polydiv(polynomial, [1.0, -1.0])[0]
        return float(np.abs(np.roots(polynomial)).max(initial=0.0))

    @property
    def stable(self) -> bool:
        """Whether all roots lie inside the unit circle."""
        return self.spectral_radius < 1.0

    def times(self, factor: float) -> ForceLoop:
        """With all gains so many times as large."""
        return replace(
            self,
            proportional=factor * self.proportional,
            integral=factor * self.integral,
            derivative=factor * self.derivative,
        )

    @property
    def gain_margin(self) -> float:
        """The factor by which all gains may grow before the loop diverges; below one it does."""
        return _gain_margin(self)

    @property
    def proportional_bound(self) -> float:
        """The G_F from which on the loop diverges, all else as it is; zero where none is stable."""
        found = self._proportional_range
        return 0.0 if found is None else found[1]

    @property
    def _proportional_range(self) -> tuple[float, float] | None:
        return stable_range(
            lambda gain: replace(self, proportional=gain).stable, self.proportional or 1.0
        )

    @property
    def cutoff_bound(self) -> float:
        """The filter cut-off [Hz] above which the loop diverges, all else as it is."""
        return largest_stable(
            lambda hertz: replace(self, cutoff=hertz).stable, self.cutoff or 1.0 / self.period
        )

    def require_stable(self) -> ForceLoop:
        """Itself, or an error that says what would be stable."""
        if self.stable:
            return self
        gains, hertz = self._proportional_range, self.cutoff_bound
        filtered = "no filter" if self.cutoff is None else f"a {self.cutoff:g} Hz filter"
        samples = f"{self.delay} sample{'s' if self.delay > 1 else ''}"
        if self.derivative > 0.0 and replace(self, derivative=0.0).stable:
            bound = largest_stable(
                lambda rate: replace(self, derivative=rate).stable, self.derivative, self.derivative
            )
            reason = f"G_V must stay below {bound:.4g} s, got {self.derivative:g}"
            advice = [f"lower G_V (force.derivative) to {0.8 * bound:.3g} s"]
        elif gains is not None and gains[0] == 0.0:
            reason = f"G_F must stay below {gains[1]:.4g}, got {self.proportional:g}"
            advice = [f"lower G_F to {0.8 * gains[1]:.3g}"]
        elif gains is not None:
            low, high = gains
            reason = f"G_F must lie between {low:.4g} and {high:.4g}, got {self.proportional:g}"
            advice = [f"set G_F to {0.5 * (low + high):.3g}"]
        else:
            less = 0.8 * self.gain_margin
            reason = "G_I is too much by itself"
            advice = [
                f"lower G_F to {less * self.proportional:.3g} and "
                f"G_I to {less * self.integral:.3g} 1/s"
            ]
        if hertz > 0.0:
            advice.append(f"lower the filter cut-off to {0.8 * hertz:.3g} Hz")
        raise UnstableForceLoop(
            f"the force loop would diverge: with G_I = {self.integral:g} 1/s, {filtered} and "
            f"{samples} of delay at {1.0 / self.period:g} Hz, {reason}; {' or '.join(advice)}"
        )

    def warning(self) -> str:
        """In words, that a stable loop is close to diverging; or nothing."""
        if not self.stable or self.gain_margin >= LITTLE_MARGIN:
            return ""
        twice = self.times(2.0)
        advice = [f"force.proportional {0.5 * self.gain_margin * self.proportional:.3g}"]
        if (hertz := twice.cutoff_bound) > 0.0:
            advice.append(f"force.cutoff {hertz:.3g} Hz")
        return (
            f"the force loop rings: it would diverge with {self.gain_margin:.3g} times its gains "
            f"at {1.0 / self.period:g} Hz and a delay of {self.delay}; "
            f"{' or '.join(advice)} leaves a factor of two"
        )


LITTLE_MARGIN = 1.3
"""Gain margin below which the force loop rings for so long that a warning is due."""


@lru_cache(maxsize=32)  # asked for at every diagnosis, changed when gains change
def _gain_margin(loop: ForceLoop) -> float:
    if loop.proportional == loop.integral == loop.derivative == 0.0:
        return float("inf")

    return growth_margin(lambda factor: loop.times(factor).stable)


STEPS_PER_OCTAVE = 16
"""How finely a stretch of stable gains is sought: one narrower than 4 % may be missed."""


def stable_range(
    stable: Callable[[float], bool], near: float, least: float = 2.0**-20, limit: float = 2.0**20
) -> tuple[float, float] | None:
    """The stretch of stable values that holds one, or that lies nearest to it.

    Small gains may be the unstable ones, as with integral action; so it is sought from the value
    in question outwards, not from zero.

    Args:
        stable: Whether a value is stable.
        near: The value in question, above zero.
        least, limit: Where the search ends; a stretch that reaches there ends at 0 or infinity.

    Returns:
        Where stability begins and ends; None where nothing is stable.
    """
    inside = _nearest_stable(stable, min(max(near, least), limit), least, limit)
    if inside is None:
        return None
    return (
        _stable_edge(stable, inside, least, 0.5, 0.0),
        _stable_edge(stable, inside, limit, 2.0, float("inf")),
    )


def _nearest_stable(
    stable: Callable[[float], bool], near: float, least: float, limit: float
) -> float | None:
    ratio = 2.0 ** (1.0 / STEPS_PER_OCTAVE)
    for i in range(int(np.log(limit / least) / np.log(ratio)) + 2):
        for value in (near / ratio**i, near * ratio**i):
            if least <= value <= limit and stable(value):
                return value
    return None


def _stable_edge(
    stable: Callable[[float], bool], inside: float, last: float, step: float, beyond: float
) -> float:
    """Where stability ends from a stable value on, by a bisection; `beyond` past the last one."""
    outside = inside * step
    while stable(outside):
        if outside > last if step > 1.0 else outside < last:
            return beyond
        inside, outside = outside, outside * step
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


def largest_stable(
    stable: Callable[[float], bool], near: float = 1.0, limit: float = 2.0**20
) -> float:
    """The end of the stretch of stable values that holds one or lies nearest to it; 0 for none."""
    found = stable_range(stable, near, limit=limit)
    return 0.0 if found is None else found[1]


def growth_margin(stable: Callable[[float], bool]) -> float:
    """The factor by which gains may grow before a loop diverges.

    Args:
        stable: Whether the loop is with this many times its gains.

    Returns:
        Below one where it diverges already; zero where no smaller gains would mend that.
    """
    found = stable_range(stable, 1.0)
    return found[1] if found is not None and found[0] <= 1.0 else 0.0


WEAK_DAMPING = 0.3
"""Damping ratio below which the motion loop rings for so long that a warning is due."""


INERTIA_RATIO = 1.3
"""The model's inertia over the true one, or the reverse, up to which a loop with a disturbance
observer must be stable."""


def _slowest(polynomial: NDArray[Any]) -> float:
    return float(np.abs(np.roots(polynomial)).max(initial=0.0))


@dataclass(frozen=True)
class MotionLoop:
    """The loop of one coordinate as the sampled system it is."""

    stiffness: float  # G_P [1/s²]
    damping: float  # G_D [1/s]
    period: float  # T [s]
    delay: int = 1  # d, from a state to the effect of its answer [samples]; at least one
    integral: float = 0.0  # K_I [1/s³]; zero for none
    observer: float = 0.0  # bandwidth K/2π of a disturbance observer [Hz]; zero for none

    def __post_init__(self) -> None:
        validate.positive("stiffness G_P", self.stiffness)
        validate.positive("damping G_D", self.damping)
        validate.not_negative("integral gain K_I", self.integral)
        validate.not_negative("bandwidth of the disturbance observer", self.observer)
        if self.integral > 0.0 and self.observer > 0.0:
            raise InvalidValue("integral action and a disturbance observer: one at a time")
        validate.positive("period", self.period)
        if self.delay != int(self.delay) or not 1 <= self.delay <= MAX_DELAY:
            raise InvalidValue(f"delay must be 1 to {MAX_DELAY} whole samples, got {self.delay}")

    @property
    def spectral_radius(self) -> float:
        """Magnitude of the slowest root; the loop is stable below one.

        With an observer, of the worst of the inertias that its model may have.
        """
        if self.observer > 0.0:
            ratios = (1.0 / INERTIA_RATIO, 1.0, INERTIA_RATIO)
            return max(_slowest(self._with_observer(ratio)) for ratio in ratios)
        return _slowest(self._with_integral() if self.integral > 0.0 else self._alone())

    def _feedback(self) -> NDArray[Any]:
        """(G_P T²/2)(z + 1) + G_D T (z − 1)."""
        spring = 0.5 * self.stiffness * self.period**2
        friction = self.damping * self.period
        return np.array([spring + friction, spring - friction])

    def _alone(self) -> NDArray[Any]:
        polynomial = np.zeros(self.delay + 2)
        polynomial[:3] = 1.0, -2.0, 1.0
        polynomial[-2:] += self._feedback()
        return polynomial

    def _with_integral(self) -> NDArray[Any]:
        added = 0.5 * self.integral * self.period**3 * np.array([1.0, 1.0, 0.0])
        return np.polyadd(np.polymul([1.0, -1.0], self._alone()), added)

    def _with_observer(self, ratio: float) -> NDArray[Any]:
        pole = np.exp(-2.0 * np.pi * self.observer * self.period)
        inner = np.zeros(self.delay + 1)
        inner[:2] = 1.0, -1.0
        inner[-1] += (1.0 - pole) * ratio
        fed_back = ratio * np.polymul([1.0, -pole], self._feedback())
        return np.polyadd(np.polymul([1.0, -2.0, 1.0], inner), fed_back)

    @property
    def stable(self) -> bool:
        """Whether all roots lie inside the unit circle."""
        if self.delay == 1 and self.integral == 0.0 and self.observer == 0.0:
            return 0.5 * self.stiffness * self.period < self.damping < 2.0 / self.period
        return self.spectral_radius < 1.0

    @property
    def damping_ratio(self) -> float:
        """ζ = G_D / (2 √G_P) of the loop without sampling."""
        return float(self.damping / (2.0 * np.sqrt(self.stiffness)))

    @property
    def stiffness_bounds(self) -> tuple[float, float] | None:
        """The G_P between which the loop is stable, all else as it is; None where there are none.

        The first is zero unless integral action needs a stiffness.
        """
        scale = self.damping / self.period
        found = stable_range(
            lambda share: replace(self, stiffness=share * scale).stable, self.stiffness / scale
        )
        return None if found is None else (scale * found[0], scale * found[1])

    @property
    def stiffness_bound(self) -> float:
        """The G_P from which on the loop diverges, all else as it is; zero where none is stable."""
        bounds = self.stiffness_bounds
        return 0.0 if bounds is None else bounds[1]

    @property
    def critical_bound(self) -> float:
        """The G_P from which on the loop diverges with critical damping, G_D = 2 √G_P."""

        def critical(omega: float) -> MotionLoop:
            return replace(self, stiffness=omega**2, damping=2.0 * omega)

        near = float(np.sqrt(self.stiffness)) * self.period
        omega = largest_stable(lambda share: critical(share / self.period).stable, near)
        return float((omega / self.period) ** 2)

    @property
    def damping_bounds(self) -> tuple[float, float] | None:
        """The dampings [1/s] between which the loop is stable; None where there are none."""
        first, last = 0.4 * self.stiffness * self.period, 4.0 / self.period  # d = 1 and a margin
        if first >= last:
            return None
        return stable_range(
            lambda damping: replace(self, damping=damping).stable, self.damping, first, last
        )

    def _times(self, factor: float) -> MotionLoop:
        return replace(self, stiffness=factor * self.stiffness, damping=factor * self.damping)

    @property
    def gain_margin(self) -> float:
        """The factor by which stiffness and damping may grow before the loop diverges."""
        return growth_margin(lambda factor: self._times(factor).stable)

    @property
    def reduction_margin(self) -> float:
        """The factor by which they may be divided before it does; infinite without integral action.

        An arm that is heavier than its model divides them so. Below one where it diverges already.
        """
        if self.integral == 0.0 and self.stable:
            return float("inf")
        return growth_margin(lambda factor: self._times(1.0 / factor).stable)

    def require_stable(self, name: str = "") -> MotionLoop:
        """Itself, or an error that says what would be stable.

        Args:
            name: Name of the coordinate, for the message.
        """
        if self.stable:
            return self
        samples = f"{self.delay} sample{'s' if self.delay > 1 else ''}"
        advice = []
        if (bounds := self.damping_bounds) is not None:
            low, high = bounds
            advice.append(f"with this stiffness the damping between {low:.4g} and {high:.4g} 1/s")
        if (bounds := self.stiffness_bounds) is not None:
            low, high = bounds
            between = f"between {low:.4g} and" if low > 0.0 else "below"
            advice.append(f"with this damping the stiffness {between} {high:.4g} 1/s²")
        if not advice:
            bound = replace(self, integral=0.0, observer=0.0).critical_bound
            without = ", and no disturbance.kind" if self.integral or self.observer else ""
            advice.append(
                f"the stiffness below {bound:.4g} 1/s², with a damping of twice its square root"
                f"{without}"
            )
        more = ""
        if self.integral > 0.0:
            more = f", disturbance.integral {self.integral:g} 1/s³"
            bound = largest_stable(
                lambda gain: replace(self, integral=gain).stable, self.integral, 1e9
            )
            if bound > 0.0:
                advice.insert(0, f"disturbance.integral below {bound:.4g} 1/s³")
        if self.observer > 0.0:
            more = f", disturbance.bandwidth {self.observer:g} Hz"
            bound = largest_stable(
                lambda hertz: replace(self, observer=hertz).stable, self.observer
            )
            if bound > 0.0:
                advice.insert(0, f"disturbance.bandwidth below {bound:.4g} Hz")
        raise UnstableMotionLoop(
            f"the motion loop{f' of {name}' if name else ''} would diverge: with gains.stiffness "
            f"{self.stiffness:g} 1/s², gains.damping {self.damping:g} 1/s{more} and {samples} of "
            f"delay at {1.0 / self.period:g} Hz; it takes {', or '.join(advice)}"
        )

    def warning(self, name: str = "") -> str:
        """In words, that a stable loop is hardly damped; or nothing."""
        if self.damping_ratio >= WEAK_DAMPING:
            return ""
        better = 1.4 * np.sqrt(self.stiffness)
        return (
            f"the motion{f' of {name}' if name else ''} is hardly damped: gains.damping "
            f"{self.damping:g} 1/s with gains.stiffness {self.stiffness:g} 1/s² gives "
            f"ζ = {self.damping_ratio:.2g}; ζ = 0.7 takes {better:.3g} 1/s"
        )
