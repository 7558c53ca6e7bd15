"""How well an arm moves its coordinates, and which values of two of them it reaches: a map.

Of q̇ with ‖q̇‖ ≤ 1 along the constraint, θ̇ = J_θ P q̇ fills an ellipsoid. Its axes are the singular
values of J_θ P; their product is Yoshikawa's measure, √det(J_θ P J_θᵀ), which is zero where a
direction is lost.

The map is a grid of cells that grows from what is known to be reached: from every cell its
neighbours are tried with the joint positions found there, until none is left. So it finds what can
be reached by moving. Then it grows on from configurations drawn at random, so that it also finds
what hangs on another branch (elbow up, elbow down). What is left free stays near the start's
posture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinates
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.outcome import nearest_limit
from projected_control.planning.tasks import Task

ACROSS = 40  # cells across the wider side of a map, unless their size is given
SEEDS = 40  # configurations drawn at random from which a map begins beside the start

MOST_CELLS = 6000

PRECISION = 1e-6  # error up to which a cell counts as reached [m and rad]

NEIGHBOURS = ((1, 0), (-1, 0), (0, 1), (0, -1))
TRIES = 3  # from how many neighbours a cell is tried


class Manipulability(NamedTuple):
    """The ellipsoid of θ̇ for ‖q̇‖ ≤ 1 along the constraint.

    Attributes:
        measure: Product of the axes' half-lengths, √det(J_θ P J_θᵀ).
        axes: These half-lengths, largest first, k [m or rad per rad].
        directions: In which they point, one column each, k × k.
    """

    measure: float
    axes: Array
    directions: Array

    @property
    def isotropy(self) -> float:
        """The shortest axis as a share of the longest: one for a sphere, zero at singular poses."""
        return float(self.axes[-1] / self.axes[0]) if self.axes[0] > 0.0 else 0.0


def manipulability(
    model: ConstrainedArm, q: Array | None = None, columns: Sequence[int] | None = None
) -> Manipulability:
    """How well a model's coordinates can be moved; ‖q̇‖ is in the model's metric.

    Args:
        model: The arm, its constraint and its coordinates.
        q: Where, n; where it was evaluated last unless given.
        columns: Which coordinates; all unless given.
    """
    if model.k == 0:
        raise InvalidValue("manipulability is of coordinates: give the model some")
    if q is not None:
        model.evaluate(np.asarray(q, dtype=np.float64), np.zeros(model.n))
    free = model.J_theta @ model.P
    chosen = free if columns is None else free[list(columns)]
    U, sigma, _ = np.linalg.svd(chosen)
    axes = np.zeros(chosen.shape[0])
    axes[: sigma.size] = sigma
    return Manipulability(float(np.prod(axes)), axes, U)


def ease_of_motion(
    ik: InverseKinematics,
    model: ConstrainedArm,
    places: Array,
    columns: Sequence[int] | None = None,
) -> tuple[Array, Array, Array]:
    """Measure and isotropy of the ellipsoid at N joint positions, and the joints' margin there, N.

    The margin is that of the joint closest to its limit: one in the middle of its range, zero at
    its end; one where no joint has a range.
    """
    rows = []
    for q in places:
        at = manipulability(model, q, columns)
        near = nearest_limit(q, ik.lower, ik.upper, model.arm.joint_names)
        rows.append((at.measure, at.isotropy, 1.0 if near is None else near.margin))
    measure, isotropy, margin = np.array(rows).T
    return measure, isotropy, margin


class Reach(NamedTuple):
    """What an arm reaches of two coordinates, as N cells of a grid.

    Attributes:
        names: Of the two coordinates.
        units: Theirs.
        spacing: Size of a cell, 2 [m or rad].
        values: Centres of the cells, N × 2.
        q: Joint positions there, N × n.
        manipulability: √det(J P Jᵀ) of the two coordinates there, N.
        isotropy: Shortest axis of their ellipsoid as a share of the longest, N.
        margin: Of the joint closest to its limit: one in the middle of its range, zero at its end.
        whole: Whether the map is complete; False where it was cut at `MOST_CELLS`.
    """

    names: tuple[str, str]
    units: tuple[str, str]
    spacing: Array
    values: Array
    q: Array
    manipulability: Array
    isotropy: Array
    margin: Array
    whole: bool

    @property
    def area(self) -> float:
        """Of all cells together, in the product of the units."""
        return float(len(self.values) * np.prod(self.spacing))

    @property
    def area_unit(self) -> str:
        """That product."""
        return "·".join(self.units).replace("m·m", "m²").replace("rad·rad", "rad²")

    @property
    def extent(self) -> Array:
        """Smallest and largest value of both, 2 × 2, to the edges of the cells."""
        half = 0.5 * self.spacing
        return np.array([self.values.min(axis=0) - half, self.values.max(axis=0) + half])

    def holds(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether each of some pairs of values lies in a cell, M."""
        known = set(map(tuple, self._cells(self.values)))
        places = np.atleast_2d(np.asarray(values, dtype=np.float64))
        return np.array([tuple(cell) in known for cell in self._cells(places)])

    def _cells(self, values: Array) -> list[list[int]]:
        cells: list[list[int]] = (
            np.rint((values - self.values[0]) / self.spacing).astype(np.int64).tolist()
        )
        return cells


def map_reach(
    arm: Arm,
    constraint: Constraint | None,
    plane: Coordinates,
    start: ArrayLike,
    *,
    held: Task | None = None,
    spacing: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    seed: int = 0,
    progress: Callable[[int], None] = lambda cells: None,
) -> Reach:
    """Map what an arm reaches of two coordinates, under a constraint and within its joint limits.

    Args:
        arm: The arm.
        constraint: What holds it; None for nothing.
        plane: The two coordinates.
        start: Joint positions to begin from, on the constraint and with the held coordinates, n.
        held: Other coordinates and the values they keep; None for no others.
        spacing: Size of a cell, one number or two [m or rad]; a fortieth of the wider side of
            what is reached unless given.
        lower, upper: Limits of the joints; the description's unless given.
        seed: Of the configurations that are drawn.
        progress: Told how many cells were found so far.

    Raises:
        Unreachable: Where not even the start is within reach.
    """
    if plane.size != 2:
        raise InvalidValue(f"a map is of two coordinates, got {list(plane.names)}")
    others = [] if held is None else [held]
    onto = InverseKinematics(
        arm, constraint, others, lower=lower, upper=upper, tolerance=PRECISION, seed=seed
    )
    begin = onto.solve(start).q
    members = [*plane.members, *(held.coordinates.members if held is not None else ())]
    coordinates = Coordinates(members)
    model = ConstrainedArm(arm.twin(), constraint, coordinates)

    def seen(q: Array) -> Array:
        model.evaluate(q, np.zeros(model.n))
        return model.theta[:2].copy()

    seeds = _seeds(onto, begin, seed)
    places = np.array([seen(q) for q in seeds])
    size = _spacing(plane, spacing, places)
    fixed = np.empty(0) if held is None else np.asarray(held.values, dtype=np.float64)
    task = Task(coordinates, np.concatenate([places[0], fixed]), "map", PRECISION)
    ik = InverseKinematics(arm, constraint, [task], tolerance=PRECISION, lower=lower, upper=upper)
    origin = places[0]
    found: dict[tuple[int, int], Array] = {}
    tried: dict[tuple[int, int], int] = {}
    turns = [(2.0 * np.pi / size[a]) if plane.periodic[a] else np.inf for a in range(2)]
    whole = True
    for begin_at, place in zip(seeds, places, strict=True):  # the start first, and all about it
        i, j = np.rint((place - origin) / size).astype(np.int64).tolist()
        queue = deque([((i, j), begin_at)])
        while queue and len(found) < MOST_CELLS:
            cell, q = queue.popleft()
            if cell in found or tried.get(cell, 0) >= TRIES:
                continue
            tried[cell] = tried.get(cell, 0) + 1
            reached = ik.follow(q, [np.concatenate([origin + np.array(cell) * size, fixed])])
            if reached is None:
                continue
            found[cell] = reached
            if len(found) % 50 == 0:
                progress(len(found))
            for di, dj in NEIGHBOURS:
                near = (cell[0] + di, cell[1] + dj)
                # An angle comes back to where it was after one turn.
                if all(abs(near[a]) <= 0.5 * turns[a] for a in range(2)) and near not in found:
                    queue.append((near, reached))
        tried.clear()  # what failed from here may be reached from the next
        whole = whole and not queue
    if not found:
        raise InvalidValue(
            f"no cell of the map is reached: cells of {size.tolist()} are larger than what is "
            "within reach; give a smaller spacing"
        )
    joints = np.array(list(found.values()))
    first, second = plane.members
    return Reach(
        (first.name, second.name),
        (first.unit, second.unit),
        size,
        origin + np.array(list(found)) * size,
        joints,
        *ease_of_motion(ik, model, joints, (0, 1)),
        whole,
    )


def _seeds(ik: InverseKinematics, begin: Array, seed: int) -> list[Array]:
    """The start, and random configurations brought on the constraint and the held coordinates."""
    values = [task.values for task in ik.tasks]
    drawn = ik.draw(np.random.default_rng(seed), begin, SEEDS)
    found = (ik.follow(q, values) for q in drawn)
    return [begin, *(q for q in found if q is not None)]


def _spacing(plane: Coordinates, given: ArrayLike | None, places: Array) -> Array:
    if given is not None:
        numbers = np.broadcast_to(np.asarray(given, dtype=np.float64), (2,))
        return np.array([validate.positive("spacing of the map", x) for x in numbers])
    width = np.ptp(places, axis=0)
    units = [member.unit for member in plane.members]
    if units[0] == units[1]:
        width[:] = width.max()
    return np.maximum(width / ACROSS, 1e-3)
