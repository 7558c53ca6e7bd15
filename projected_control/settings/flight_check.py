"""The flight check: what a controller would ask of its arm along the whole of its reference.

Every quantity is turned into a margin: what is left of its limit, one where nothing is used, zero
where it is reached, negative beyond. Below `YELLOW` it is worth a look, below `RED` the reference
must not be followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.control.activation import INDEPENDENT
from projected_control.control.controllers import Controller
from projected_control.control.following import Follower, effort_map
from projected_control.control.law import Law
from projected_control.control.loop import ControlLoop
from projected_control.control.passive import CONTROLLABILITY_TOLERANCE
from projected_control.control.references import Reference, ReferencePoint
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.description import UNLIMITED
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, ForceControllerSettings

Array = NDArray[np.float64]

YELLOW, RED = 0.2, 0.0
"""Margins below which a quantity is yellow, and red."""

STEP, FEWEST, MOST = 0.02, 100, 3000
"""How far apart the instants are at which a reference is looked at [s], how many at least, and at
most."""

PERIODIC_SECONDS = 10.0
"""How much of a reference without an end is looked at [s]."""

GAIN_MARGIN = 2.0
"""Factor by which both gains of a loop may grow that counts as all of its margin."""

BARELY_SINGULAR = 100.0
"""Smallest singular value, in multiples of the one that counts as zero, with all of its margin."""


class Light(Enum):
    """How a quantity is judged."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"

    @classmethod
    def of(cls, margin: float) -> Light:
        """The light of a margin."""
        if not margin > RED:
            return cls.RED
        return cls.YELLOW if margin < YELLOW else cls.GREEN


@dataclass(frozen=True)
class Quantity:
    """One quantity along the reference.

    Attributes:
        name: What it is, with the joint or coordinate that comes nearest its limit.
        value: Where that is, its value.
        limit: And its limit.
        unit: Of both.
        margin: Its margin at every instant, N.
    """

    name: str
    value: float
    limit: float
    unit: str
    margin: Array

    @property
    def worst(self) -> int:
        """The instant at which it is nearest its limit."""
        return int(np.argmin(np.where(np.isnan(self.margin), -np.inf, self.margin)))

    @property
    def least(self) -> float:
        """The margin there."""
        return float(self.margin[self.worst])

    @property
    def light(self) -> Light:
        """How it is judged."""
        return Light.of(self.least)


@dataclass(frozen=True)
class FlightCheck:
    """What was found along a reference.

    Attributes:
        times: Instants looked at, N [s].
        q: Joint positions there, N × n.
        theta: Coordinates, N × k.
        quantities: By their least margin, the nearest to its limit first.
        names: Of the coordinates.
        manipulability: √det(J Jᵀ) of the coordinates in the free directions, N.
        rank: Rank of A, N.
        singular_value: Smallest singular value of A that counts, N.
    """

    times: Array
    q: Array
    theta: Array
    quantities: tuple[Quantity, ...]
    names: tuple[str, ...]
    manipulability: Array
    rank: Array
    singular_value: Array

    @property
    def light(self) -> Light:
        """How the whole is judged: as its worst quantity."""
        return self.quantities[0].light

    @property
    def nearest(self) -> str:
        """In words, what is closest to its limit, and where."""
        quantity = self.quantities[0]
        at = quantity.worst
        place = ", ".join(
            f"{name} {value:.3g}" for name, value in zip(self.names, self.theta[at], strict=True)
        )
        return (
            f"{quantity.name} is closest to its limit: {quantity.value:.4g} of "
            f"{quantity.limit:.4g} {quantity.unit}".rstrip()
            + f", a margin of {100 * quantity.least:.0f} %, at {self.times[at]:.3g} s ({place})"
        )

    def numbers(self) -> dict[str, Any]:
        """All of it in JSON's kinds."""
        return {
            "light": self.light.value,
            "seconds": float(self.times[-1]),
            "nearest": self.nearest,
            "rank": [int(self.rank.min()), int(self.rank.max())],
            "smallest_singular_value": float(self.singular_value.min()),
            "smallest_manipulability": float(self.manipulability.min()),
            "quantities": [
                {
                    "name": quantity.name,
                    "light": quantity.light.value,
                    "margin": quantity.least,
                    "value": quantity.value,
                    "limit": quantity.limit,
                    "unit": quantity.unit,
                    "time": float(self.times[quantity.worst]),
                    "q": self.q[quantity.worst].tolist(),
                }
                for quantity in self.quantities
            ],
        }


def fly(loop: ControlLoop, settings: ControllerSettings, q: Array) -> FlightCheck:
    """Look at a controller along its whole reference, from where an arm stands.

    Args:
        loop: Of these settings.
        settings: Its settings.
        q: Where the arm stands, n [rad or m]; on its constraint.
    """
    model = build.build_model(settings)
    model.evaluate(q, np.zeros(model.n))
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    again = settings.reference.repeats > 1
    once = {"reference.approach": True, "reference.repeats": 1}
    once |= {"reference.back": settings.reference.back or again}  # what repeats is gone once
    reference = build.build_reference(settings.changed(once), here, 0.0, q)
    end = reference.end if np.isfinite(reference.end) else PERIODIC_SECONDS
    count = int(np.clip(np.ceil(end / STEP), FEWEST, MOST))
    times = np.linspace(0.0, max(end, 1e-3), count + 1)
    posture = np.array(settings.posture.target) if settings.posture.target else None
    follower = Follower(model, q, posture)
    places = np.array([follower.at(reference.at(t).value).copy() for t in times])
    rates = np.gradient(places, times, axis=0)
    changes = np.gradient(rates, times, axis=0)
    seen = _look(loop, settings, model, reference, times, places, rates, changes)
    return FlightCheck(
        times,
        places,
        seen.theta,
        tuple(sorted(seen.quantities, key=lambda each: each.least)),
        model.coordinates.names if model.coordinates is not None else (),
        seen.manipulability,
        seen.rank,
        seen.singular_value,
    )


@dataclass(frozen=True)
class _Seen:
    theta: Array
    quantities: list[Quantity]
    manipulability: Array
    rank: Array
    singular_value: Array


def _look(
    loop: ControlLoop,
    settings: ControllerSettings,
    model: ConstrainedArm,
    reference: Reference,
    times: Array,
    q: Array,
    v: Array,
    a: Array,
) -> _Seen:
    controller, limits = loop.controller, loop.guard.limits
    count, names = times.size, model.arm.joint_names
    effort, theta = np.zeros((count, model.n)), np.zeros((count, model.k))
    independence, controllability = np.ones(count), np.ones(count)
    manipulability, rank, smallest = np.zeros(count), np.zeros(count), np.full(count, np.inf)
    desired, law = _desired_force(settings, loop), _efforts_as(controller)
    for i in range(count):
        controller.stop(q[i], v[i])
        independence[i], controllability[i] = controller.margins
        model.evaluate(q[i], v[i])
        theta[i] = model.theta
        effort[i] = effort_map(model, law) @ (model.arm.M @ a[i] + model.arm.h)
        if controller.force is not None:
            effort[i] += model.terms.jacobian[: model.m].T @ desired
        free = model.J_theta @ model.P
        manipulability[i] = np.sqrt(max(np.linalg.det(free @ free.T), 0.0))
        rank[i] = model.rank
        counted = model.singular_values[model.singular_values > model.tolerance]
        smallest[i] = counted.min(initial=np.inf)
    motor = model.arm.actuated > 0.0
    found = [
        _largest("effort of", "N·m or N", np.abs(effort), limits.effort, names, motor),
        _largest("velocity of", "rad/s or m/s", np.abs(v), limits.velocity, names),
        _joint_range(q, limits.lower, limits.upper, names),
        *_rows(model, rank, smallest),
        *_loops(loop, settings, count),
    ]
    if controller.needs_independence:
        found.insert(3, _floor("independence of the coordinates", independence, INDEPENDENT))
    if controller.passive.size:
        name = "controllability of the passive joints"
        found.append(_floor(name, controllability, CONTROLLABILITY_TOLERANCE))
    return _Seen(
        theta, [each for each in found if each is not None], manipulability, rank, smallest
    )


def _efforts_as(controller: Controller) -> Law:
    """The law that sends the same efforts for a motion that is followed exactly."""
    forced = controller.force is not None
    if controller.passive.size:
        return Law.PASSIVE_FORCE if forced else Law.PASSIVE
    if controller.law in (Law.OPERATIONAL_SPACE, Law.IMPEDANCE):
        aware = controller.task.projected[0] != 0.0
        return Law.PIDC if aware and not forced else Law.HYBRID
    return controller.law


def _desired_force(settings: ControllerSettings, loop: ControlLoop) -> Array:
    force = loop.controller.force
    if force is None or not isinstance(settings, ForceControllerSettings):
        return np.zeros(loop.controller.model.m)
    return build.build_force_reference(settings, force).at(0.0).value


def _largest(
    what: str,
    unit: str,
    values: Array,
    limit: Array,
    names: Sequence[str],
    chosen: NDArray[np.bool_] | None = None,
) -> Quantity | None:
    """The joint that comes nearest a limit that is the same everywhere."""
    limited = (limit < UNLIMITED) & (True if chosen is None else chosen)
    if not limited.any():
        return None
    margins = np.where(limited, 1.0 - values / limit, np.inf)
    i, j = divmod(int(np.argmin(margins)), margins.shape[1])
    return Quantity(
        f"{what} {names[j]}", float(values[i, j]), float(limit[j]), unit, margins.min(axis=1)
    )


def _joint_range(q: Array, lower: Array, upper: Array, names: Sequence[str]) -> Quantity | None:
    """The joint that comes nearest an end of its range; half the range away is all the margin."""
    ranged = (lower > -UNLIMITED) & (upper < UNLIMITED)
    if not ranged.any():
        return None
    half = np.where(ranged, 0.5 * (upper - lower), np.inf)
    left = np.where(ranged, np.minimum(q - lower, upper - q) / np.where(ranged, half, 1.0), np.inf)
    i, j = divmod(int(np.argmin(left)), left.shape[1])
    limit = lower[j] if q[i, j] - lower[j] < upper[j] - q[i, j] else upper[j]
    return Quantity(
        f"position of {names[j]}",
        float(q[i, j]),
        float(limit),
        "rad or m",
        np.minimum(2.0 * left.min(axis=1), 1.0),
    )


def _floor(name: str, values: Array, least: float, comfortable: float = 100.0) -> Quantity:
    """A quantity that must not fall below a number; its margin counts factors of ten above it."""
    worst = float(values.min())
    with np.errstate(divide="ignore"):
        margin = np.log10(np.maximum(values, 1e-300) / least) / np.log10(comfortable)
    return Quantity(name, worst, least, "", np.minimum(margin, 1.0))


def _rows(model: ConstrainedArm, rank: Array, smallest: Array) -> list[Quantity]:
    if model.m == 0:
        return []
    found = [_floor("smallest singular value of A", smallest, model.tolerance, BARELY_SINGULAR)]
    if rank.min() != rank.max():
        changed = np.where(rank == rank[0], 1.0, -1.0)
        found.append(
            Quantity("rank of the constraint", float(rank.min()), float(rank.max()), "", changed)
        )
    return found


def _loops(loop: ControlLoop, settings: ControllerSettings, count: int) -> list[Quantity]:
    """Both loops: inverse dynamics makes their margins the same wherever the arm is."""
    controller = loop.controller
    found = []
    delay = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
    factors = [sampled.gain_margin for sampled, _ in controller.motion_loops(delay)]
    if factors:
        found.append(_factor("gain margin of the motion loop", min(factors), count))
    if controller.force is not None:
        sampled = controller.force.gains.loop(controller.period)
        found.append(_factor("gain margin of the force loop", sampled.gain_margin, count))
    return found


def _factor(name: str, factor: float, count: int) -> Quantity:
    margin = min((factor - 1.0) / (GAIN_MARGIN - 1.0), 1.0)
    return Quantity(name, float(factor), 1.0, "times", np.full(count, margin))
