"""The flight check: what a controller would ask of its arm along the whole of its reference.

Every quantity is turned into a margin: what is left of its limit, one where nothing is used, zero
where it is reached, negative beyond. Below `YELLOW` it is worth a look, below `RED` the reference
must not be followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.control.contact_stability import spread_masses
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE, INDEPENDENT
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning.efforts import asked_motion, leans, planned_friction, sent_effort
from projected_control.planning.following import Follower
from projected_control.planning.margins import (
    WHOLE,
    Light,
    Quantity,
    Stretch,
    factor,
    floor,
    in_words,
    joint_range,
    largest,
    what_binds_along,
)
from projected_control.planning.reach import manipulability

STEP, FEWEST, MOST = 0.02, 100, 3000
"""How far apart the instants are at which a reference is looked at [s], how many at least, and at
most."""

PERIODIC_SECONDS = 10.0  # how much of a reference without an end is looked at [s]
SINGULAR = 1e-9  # share of the largest singular value of A up to which rows count as dependent
EFFORT = "effort of"  # how the quantity of the efforts begins
TAKEN_OVER = 1e-3  # margin of an effort beyond its limit that other motors take over

BARELY_SINGULAR = 100.0
"""Smallest singular value, in multiples of the one that counts as zero, with all of its margin."""


@dataclass(frozen=True)
class Seen:
    """What was found at N instants of a motion."""

    theta: Array  # coordinates, N × k
    quantities: tuple[Quantity, ...]  # what has a limit
    manipulability: Array  # √det(J Jᵀ) of the coordinates in the free directions, N
    rank: Array  # rank of A, N
    singular_value: Array  # smallest singular value of A that counts, N
    force: Array  # λ, what the arm exerts on its constraint, N × m [N or N·m]
    stopped: Array  # λ where it has come to rest there in a damped stop, N × m


@dataclass(frozen=True)
class FlightCheck(Seen):
    """What was found along a reference; quantities by their least margin, the worst first."""

    times: Array  # instants looked at, N [s]
    q: Array  # joint positions there, N × n
    names: tuple[str, ...]  # of the coordinates
    rows: tuple[str, ...]  # names of the constraint's rows
    binding: tuple[Stretch, ...]  # where limits bind, which, and what of the motion is left there
    # Whether the law leaves to the constraint what of the weight that can carry: without a
    # force loop it sends no effort across it.
    leans: bool

    @property
    def lean(self) -> dict[str, tuple[float, float]]:
        """Least and largest λ along the way, by row [N or N·m]."""
        return self._sides(self.force)

    @property
    def lean_in_stop(self) -> dict[str, tuple[float, float]]:
        """Least and largest λ that a stop on the way leaves, by row [N or N·m]."""
        return self._sides(self.stopped)

    def _sides(self, force: Array) -> dict[str, tuple[float, float]]:
        return {
            name: (float(values.min()), float(values.max()))
            for name, values in zip(self.rows, force.T, strict=True)
        }

    @property
    def light(self) -> Light:
        """How the whole is judged: as its worst quantity."""
        return self.quantities[0].light

    @property
    def nearest(self) -> str:
        """In words, what is closest to its limit, and where."""
        quantity = self.quantities[0]
        at = quantity.worst
        place = in_words(self.names, self.theta[at])
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
            "force_on_constraint": {name: list(pair) for name, pair in self.lean.items()},
            "force_in_stop": {name: list(pair) for name, pair in self.lean_in_stop.items()},
            "binding": [stretch.numbers() for stretch in self.binding],
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


def instants(
    reference: Reference, begin: float = 0.0, fewest: int = FEWEST, most: int = MOST
) -> Array:
    """When to look at a reference from a time on, evenly [s].

    Args:
        reference: What is looked at; the first `PERIODIC_SECONDS` of one without an end.
        begin: From when on [s].
        fewest, most: How many parts there are, at least and at most.
    """
    end = reference.end if np.isfinite(reference.end) else begin + PERIODIC_SECONDS
    end = max(end, begin + 1e-3)
    count = int(np.clip(np.ceil((end - begin) / STEP), fewest, most))
    return np.linspace(begin, end, count + 1)


def fly(
    loop: ControlLoop,
    model: ConstrainedArm,
    reference: Reference,
    q: Array,
    *,
    posture: Array | None = None,
    delay: int = 1,
) -> FlightCheck:
    """Look at a controller along a whole reference, from where an arm stands.

    Args:
        loop: Whose controller and limits these are; its model is evaluated here.
        model: Of the same arm, constraint and coordinates; evaluated here too.
        reference: What it follows, from time zero on.
        q: Where the arm stands, n [rad or m]; on its constraint.
        posture: Where motions are drawn to that no coordinate describes, n; None for nowhere.
        delay: From a state to the effect of its answer [samples].
    """
    times = instants(reference)
    follower = Follower(model, q, posture)
    places = np.zeros((times.size, model.n))
    for i, time in enumerate(times):
        follower.time = time
        places[i] = follower.at(reference.at(time).value)
    rates = np.asarray(np.gradient(places, times, axis=0))
    changes = np.asarray(np.gradient(rates, times, axis=0))
    seen = look_along(loop, model, times, places, rates, changes, delay=delay)
    shares, binding = what_binds_along(loop, reference, times, places, rates)
    judged = (_with_spare_motors(each, shares) for each in seen.quantities)
    order = tuple(sorted(judged, key=lambda each: each.least))
    return FlightCheck(
        **{**vars(seen), "quantities": order},
        times=times,
        q=places,
        names=model.coordinates.names if model.coordinates is not None else (),
        rows=tuple(model.constraint.row_names) if model.constraint is not None else (),
        binding=binding,
        leans=leans(loop.controller),
    )


def _with_spare_motors(quantity: Quantity, shares: Array) -> Quantity:
    """An effort beyond its limit is a warning where other motors take it over and all is moved."""
    if not quantity.name.startswith(EFFORT):
        return quantity
    taken_over = (quantity.margin <= 0.0) & (shares >= WHOLE)
    return replace(quantity, margin=np.where(taken_over, TAKEN_OVER, quantity.margin))


def look_along(
    loop: ControlLoop,
    model: ConstrainedArm,
    times: Array,
    q: Array,
    v: Array,
    a: Array,
    desired: Array | None = None,
    *,
    delay: int = 1,
) -> Seen:
    """Every quantity at some instants of a motion.

    Args:
        loop: Whose controller and limits these are; its model is evaluated here.
        model: Of the same arm, constraint and coordinates; evaluated here too.
        times: Instants, N [s].
        q, v, a: Where the joints are there, their rates and accelerations, N × n.
        desired: λ_d there, N × m; what the loop begins with unless given.
        delay: From a state to the effect of its answer [samples].
    """
    controller, limits = loop.controller, loop.guard.limits
    count, names = times.size, model.arm.joint_names
    effort, theta = np.zeros((count, model.n)), np.zeros((count, model.k))
    independence, controllability = np.ones(count), np.ones(count)
    force, stopped = np.zeros((2, count, model.m))
    own, rest = controller.model, np.zeros(model.n)
    on_surface, masses = controller.force, []
    if on_surface is not None and not on_surface.contact.gives:
        on_surface = None
    measure, rank, smallest = np.zeros(count), np.zeros(count), np.full(count, np.inf)
    if desired is None:
        led = loop.force_reference
        desired = np.tile(np.zeros(model.m) if led is None else led.at(0.0).value, (count, 1))
    for i in range(count):
        held = controller.stop(q[i], rest, times[i]).total
        kept = own.arm.h + own.arm.M @ (own.sqrt_metric * (own.A_pinv @ own.terms.b))
        independence[i], controllability[i] = controller.margins
        if on_surface is not None:
            masses.append(on_surface.masses)
        model.evaluate(q[i], v[i], times[i])
        theta[i] = model.theta
        friction = planned_friction(controller.compensation, model, v[i], desired[i])
        M, load = model.arm.M, model.arm.h + friction
        sent, pressed = sent_effort(controller)
        asked = asked_motion(controller, v[i], a[i])
        effort[i] = sent @ (M @ asked + load) + pressed @ desired[i]
        carries = np.linalg.pinv(model.terms.jacobian[: model.m].T, rcond=SINGULAR)
        force[i] = carries @ (effort[i] - M @ a[i] - load)
        stopped[i] = carries @ (held - kept)
        measure[i] = manipulability(model).measure
        rank[i] = model.rank
        counted = model.singular_values[model.singular_values > model.tolerance]
        smallest[i] = counted.min(initial=np.inf)
    motor = model.arm.actuated > 0.0
    found = [
        largest(EFFORT, "N·m or N", np.abs(effort), limits.effort, names, motor),
        largest("velocity of", "rad/s or m/s", np.abs(v), limits.velocity, names),
        joint_range(q, limits.lower, limits.upper, names),
        *_rows(model, rank, smallest),
        *_loops(loop, delay, count),
    ]
    if controller.needs_independence:
        found.insert(3, floor("independence of the coordinates", independence, INDEPENDENT))
    if controller.passive.size:
        name = "controllability of the passive joints"
        found.append(floor(name, controllability, CONTROLLABILITY_TOLERANCE))
    if on_surface is not None:
        moved = spread_masses(np.concatenate(masses))
        margin = on_surface.contact_loop(masses=moved).gain_margin
        found.append(factor("gain margin of the force loop on its surface", margin, count))
    known = tuple(each for each in found if each is not None)
    return Seen(theta, known, measure, rank, smallest, force, stopped)


def _rows(model: ConstrainedArm, rank: Array, smallest: Array) -> list[Quantity]:
    if model.m == 0:
        return []
    found = [floor("smallest singular value of A", smallest, model.tolerance, BARELY_SINGULAR)]
    if rank.min() != rank.max():
        changed = np.where(rank == rank[0], 1.0, -1.0)
        found.append(
            Quantity("rank of the constraint", float(rank.min()), float(rank.max()), "", changed)
        )
    return found


def _loops(loop: ControlLoop, delay: int, count: int) -> list[Quantity]:
    """Both loops: inverse dynamics makes their margins the same wherever the arm is."""
    controller = loop.controller
    found = []
    loops = [sampled for sampled, _ in controller.motion_loops(delay)]
    if loops:
        least = min(sampled.gain_margin for sampled in loops)
        found.append(factor("gain margin of the motion loop", least, count))
        less = min(sampled.reduction_margin for sampled in loops)
        if less < float("inf"):
            found.append(factor("gain reduction margin of the motion loop", less, count))
    if controller.force is not None:
        sampled = controller.force.gains.loop(controller.period)
        found.append(factor("gain margin of the force loop", sampled.gain_margin, count))
    return found
