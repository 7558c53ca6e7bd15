"""What is looked at before a running controller takes a reference: where it leads, and how.

The quantities and their margins are those of the flight check. It works on a loop of its own, so
that the one that runs is not touched, and looks at few enough instants to be done in the time of
some ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Approach, MotionLimits, Reference
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.planning.flight_check import instants, look_along
from projected_control.planning.following import Follower
from projected_control.planning.margins import RED, Quantity, in_words

FEWEST, MOST = 8, 150
"""How many parts a reference is looked at in, at least and at most; the knots of a curve come on
top."""

BETWEEN = 4  # into how many parts their distances are divided where only the reference is looked at
ROUNDING = 1e-6  # share by which a bound may be exceeded without a word


class WayBounds(NamedTuple):
    """How far and how fast a reference may lead."""

    distance: Array  # from where the arm is, k [m or rad]
    motion: MotionLimits  # what a set-point asks for on its way
    # Whether the rates and accelerations of `motion` bound what comes by a topic or an
    # action, too.
    slow: bool = False
    # Whether the arm is followed along the way, and how near it comes to its limits.
    looks: bool = True


class WayCheck:
    """Looks at references for a controller.

    Args:
        loop: Of the controller; its own, as it is evaluated here.
        model: Of the same arm, constraint and coordinates; its own, too.
        bounds: How far and how fast they may lead.
        posture: Where motions are drawn to that no coordinate describes, n, or None for nowhere, of
            an arm that stands at q: what counts where none is given that runs.
        delay: From a state to the effect of its answer [samples].
    """

    def __init__(
        self,
        loop: ControlLoop,
        model: ConstrainedArm,
        bounds: WayBounds,
        posture: Callable[[Array], Array | None] = lambda q: None,
        delay: int = 1,
    ) -> None:
        self.bounds = bounds
        self._loop, self._model, self._posture, self._delay = loop, model, posture, delay

    @property
    def _coordinates(self) -> Coordinates:
        assert self._model.coordinates is not None  # no controller is built without
        return self._model.coordinates

    def require(
        self,
        reference: Reference,
        q: Array,
        begin: float,
        *,
        bounded: bool,
        running: ControlLoop | None = None,
    ) -> None:
        """Raise where a reference must not be followed, with what is in the way.

        Args:
            reference: What is to be followed.
            q: Where the arm is, n [rad or m].
            begin: From when on [s].
            bounded: Whether the distance counts, and the rates and accelerations where `WayBounds`
                says so: for what comes by a topic or an action.
            running: What is to follow it where it runs already: its posture and λ_d count.
        """
        times = _instants(reference, begin)
        if bounded:
            value, rate, acceleration = _between(reference, times)
            self._require_near(
                value,
                q,
                begin,
                "Positions count from the coordinate's own zero unless the message's "
                "header.frame_id is relative: then they count from where the reference is. If you "
                "mean to go that far, set reference.max_distance",
            )
            if self.bounds.looks and self.bounds.slow:
                self._require_slow(rate, acceleration)
        if self.bounds.looks:
            self._require_way(times, *_motion(reference, times), q, running)

    def require_beginning(self, reference: Reference, q: Array, begin: float) -> None:
        """Raise where a reference of parameters begins further away than it may lead.

        What comes after its approach may lead further: that is the path which was asked for. One
        that is not approached is looked at as a whole.

        Args:
            reference: What is to be followed.
            q: Where the arm is, n [rad or m].
            begin: From when on [s].
        """
        if isinstance(reference, Approach):
            value = reference.beginning[None]
        else:
            value, _, _ = _between(reference, _instants(reference, begin))
        self._require_near(
            value,
            q,
            begin,
            "The numbers of reference.offset, centre and points count from the coordinate's own "
            "zero: begin where the arm is, lead it there before (~/reference), or, if you mean to "
            "go that far, set reference.max_distance with it",
        )

    def _require_near(self, value: Array, q: Array, begin: float, advice: str) -> None:
        model, bound = self._model, self.bounds.distance
        model.evaluate(q, np.zeros(model.n), begin)
        here = model.theta.copy()
        away = np.abs(self._coordinates.difference(value, here)).max(axis=0)
        i = int(np.argmax(away / bound))
        if away[i] > (1.0 + ROUNDING) * bound[i]:
            name = self._coordinates.names[i]
            raise InvalidValue(
                f"it leads {name} {away[i]:.4g} away from where the arm is ({here[i]:.4g}), "
                f"allowed are {bound[i]:.4g} (reference.max_distance). {advice}"
            )

    def _require_slow(self, rate: Array, acceleration: Array) -> None:
        limits = self.bounds.motion.array(self._model.k)
        for article, what, values, bound in (
            ("a", "rate", rate, limits[0]),
            ("an", "acceleration", acceleration, limits[1]),
        ):
            allowed = np.maximum(bound, np.abs(values[0]))  # where it moves already
            over = np.abs(values).max(axis=0) / allowed
            i = int(np.argmax(over))
            if over[i] > 1.0 + ROUNDING:
                raise InvalidValue(
                    f"it asks {self._coordinates.names[i]} for {article} {what} of "
                    f"{np.abs(values[:, i]).max():.4g}, allowed are {bound[i]:.4g} "
                    f"(reference.max_{what}): give its points more time, or raise that"
                )

    def _require_way(
        self,
        times: Array,
        value: Array,
        rate: Array,
        acceleration: Array,
        q: Array,
        running: ControlLoop | None,
    ) -> None:
        model, coordinates = self._model, self._coordinates
        places, rates, changes = (np.zeros((times.size, model.n)) for _ in range(3))
        if running is None:
            posture, led = self._posture(q), None
        else:
            posture, led = running.controller.drawn_to, running.force_reference
        follower, rest = Follower(model, q, posture, explain=False), np.zeros(model.n)
        for i, time in enumerate(times):
            follower.time = time
            places[i] = follower.at(value[i])
            model.evaluate(places[i], rest, time)
            target = model.terms.target[1:3].copy()
            G_pinv = np.linalg.pinv(model.terms.jacobian, rcond=1e-9)
            moved = coordinates.velocity(value[i], rate[i])
            rates[i] = G_pinv @ np.concatenate([target[0], moved])
            model.evaluate(places[i], rates[i], time)
            asked = np.concatenate([target[1], acceleration[i]]) - model.terms.bias
            changes[i] = G_pinv @ asked
        desired = None if led is None else np.array([led.at(time).value for time in times])
        seen = look_along(
            self._loop, model, times, places, rates, changes, desired, delay=self._delay
        )
        for quantity in seen.quantities:
            if _gets_worse(quantity):
                at = quantity.worst
                where = in_words(coordinates.names, seen.theta[at])
                raise InvalidValue(
                    f"on its way, after {times[at] - times[0]:.3g} s ({where}), {quantity.name} "
                    f"would be {quantity.value:.4g}, its limit is {quantity.limit:.4g} "
                    f"{quantity.unit}".rstrip()
                    + "; go another way, or more slowly"
                )


def _gets_worse(quantity: Quantity) -> bool:
    """Whether a limit is reached on the way, and not left again: back into a range is allowed."""
    return not quantity.least > RED and not quantity.least >= float(quantity.margin[0])


def _motion(reference: Reference, times: Array) -> tuple[Array, Array, Array]:
    """Values, rates and accelerations at some instants, N × k each."""
    points = [reference.at(time) for time in times]
    value, rate, acceleration = (np.array(each) for each in zip(*points, strict=True))
    return value, rate, acceleration


def _between(reference: Reference, times: Array) -> tuple[Array, Array, Array]:
    """The same, at these instants and some between them."""
    between = np.linspace(times[:-1], times[1:], BETWEEN, endpoint=False).T.ravel()
    return _motion(reference, np.append(between, times[-1]))


def _instants(reference: Reference, begin: float) -> Array:
    """When to look: evenly, and where the pieces of a curve begin, up to as many."""
    times = instants(reference, begin, FEWEST, MOST)
    if reference.table is None:
        return times
    knots = reference.table.begin
    knots = knots[(knots > begin) & (knots < times[-1])]
    chosen = knots[np.unique(np.linspace(0, knots.size - 1, min(knots.size, MOST)).astype(int))]
    return np.unique(np.concatenate([times, chosen]))
