"""What is to be seen in a moving picture: an arm's links over time, what holds it, its force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from projected_control.arrays import Array
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint, Curve, Line, Plane, Point, Shape
from projected_control.model.constraints.axes import perpendiculars

SHORT = 1e-3  # length from which on a piece of an arm is drawn [m]


@dataclass(frozen=True)
class Strip:
    """A chart below the arm."""

    label: str  # of its axis, with the unit
    values: Array  # N
    wanted: Array | None = None  # what they should be, N; None where nothing says


@dataclass(frozen=True)
class Film:
    """An arm over time."""

    title: str  # above it
    times: Array  # N [s]
    # Pieces of the arm, from joint to joint and to where it is held: N × pieces × 2 × 3.
    links: Array
    joints: Array  # N × joints × 3 [m]
    tip: Array | None = None  # the place whose trace is drawn, N × 3; None for none
    world: Sequence[Array] = ()  # what does not move, each as a line of points
    # Planes that stand still: point, and two directions in it.
    surfaces: Sequence[tuple[Array, Array, Array]] = field(default=())
    strip: Strip | None = None  # the chart below; None for none
    step: int = 1  # of how many instants one is drawn; trace and chart have all of them

    @property
    def instants(self) -> range:
        """Those that are drawn."""
        return range(0, len(self.times), self.step)

    def at(self, step: int) -> Film:
        """One of so many instants of it."""
        return replace(self, step=step)


def film_of(
    title: str,
    arm: Arm,
    constraint: Constraint | None,
    times: Array,
    q: Array,
    tip: str | None = None,
    strip: Strip | None = None,
) -> Film:
    """An arm that moved.

    Args:
        title: What it does.
        arm: Which.
        constraint: What held it.
        times: N [s].
        q: Joint positions, N × n; lines that are not finite repeat the last one that is.
        tip: Link whose trace is drawn; the one that is held unless given.
        strip: The chart below.
    """
    arm = arm.twin()
    shapes = constraint.shapes() if constraint is not None else []
    tip = tip or (constraint.frame if constraint is not None else None)
    ends = _ends(arm, [tip, *(shape.frame for shape in shapes)])
    roots, pairs = _tree(arm)
    edges = _edges(arm)
    still, last = np.zeros(arm.n), np.nan_to_num(q[0])
    links, joints, traced = [], [], []
    for line in q:
        last = line if np.isfinite(line).all() else last
        arm.update(last, still)
        places = arm.placements[:, 9:12].copy()
        pieces = [[places[a], places[b]] for a, b in pairs]
        pieces += [[places[joint], arm.frame(name).position] for joint, name in ends]
        pieces += [[arm.frame(a).position, arm.frame(b).position] for a, b in edges]
        if len(roots) == 1 and not arm.floats:
            pieces.append([np.zeros(3), places[roots[0]]])
        links.append(pieces)
        joints.append(places[1:])
        if tip is not None:
            traced.append(arm.frame(tip).position.copy())
    lines = np.array(links)
    reach = 0.5 * float(np.ptp(lines.reshape(-1, 3), axis=0).max())
    trace = np.array(traced) if traced else None
    middle = lines.reshape(-1, 3).mean(axis=0) if trace is None else trace.mean(axis=0)
    world = [s for s in shapes if s.frame is None]
    return Film(
        title,
        np.asarray(times, dtype=np.float64),
        lines,
        np.array(joints),
        trace,
        [points for shape in world if (points := _line(shape, middle, trace, reach)) is not None],
        [_plane(shape, middle, trace, reach) for shape in world if isinstance(shape, Plane)],
        strip,
    )


def _tree(arm: Arm) -> tuple[list[int], list[tuple[int, int]]]:
    """Joints that stand on the ground, and pairs of joints that a link connects."""
    parents = list(arm.pinocchio_model.parents)
    joints = range(1, len(parents))
    roots = [joint for joint in joints if parents[joint] == 0]
    return roots, [(parents[j], j) for j in joints if parents[j] != 0]


def _edges(arm: Arm) -> list[tuple[str, str]]:
    """Round bodies whose corners are named: three places or more, all the farthest of a body."""
    found: list[tuple[str, str]] = []
    for joint in range(1, len(arm.pinocchio_model.parents)):
        names = [name for name in arm.frame_names if arm.attachment(name).joint == joint]
        far = [float(np.linalg.norm(arm.attachment(name).translation)) for name in names]
        least = max(max(far, default=0.0) - 1e-9, SHORT)
        corners = [name for name, r in zip(names, far, strict=True) if r > least]
        if len(corners) > 2:
            found += list(zip(corners, [*corners[1:], corners[0]], strict=True))
    return found


def _ends(arm: Arm, named: Sequence[str | None]) -> list[tuple[int, str]]:
    """Links to be drawn beyond a joint: those that are named, and the end of every branch."""
    model = arm.pinocchio_model
    carried = set(list(model.parents)[1:])
    found = {name: arm.attachment(name) for name in dict.fromkeys(named) if name is not None}
    for joint in range(1, model.njoints):
        if joint in carried or any(place.joint == joint for place in found.values()):
            continue
        beyond = [name for name in arm.frame_names if arm.attachment(name).joint == joint]
        if beyond:
            far = max(beyond, key=lambda n: float(np.linalg.norm(arm.attachment(n).translation)))
            found[far] = arm.attachment(far)
    return [
        (place.joint, name)
        for name, place in found.items()
        if np.linalg.norm(place.translation) > SHORT
    ]


def _line(shape: Shape, middle: Array, trace: Array | None, reach: float) -> Array | None:
    """A shape as a line of points; None for what is none. A straight one goes beyond the trace."""
    if isinstance(shape, Curve):
        return np.asarray(shape.points)
    if isinstance(shape, Line):
        along = (middle - shape.point) @ shape.direction + np.array([-0.6 * reach, 0.6 * reach])
        if trace is not None:
            passed = (trace - shape.point) @ shape.direction
            along = [
                min(along[0], passed.min() - 0.1 * reach),
                max(along[1], passed.max() + 0.1 * reach),
            ]
        return np.asarray(shape.point + np.outer(along, shape.direction))
    if isinstance(shape, Point):
        return np.asarray([shape.position, shape.position])
    return None


def _plane(
    shape: Plane, middle: Array, trace: Array | None, reach: float
) -> tuple[Array, Array, Array]:
    """A piece of a plane under the trace."""
    half = 0.35 * reach, 0.35 * reach
    if trace is not None:
        axes = perpendiculars(shape.normal)
        least, most = (np.array([edge(trace @ axis) for axis in axes]) for edge in (np.min, np.max))
        middle = middle + (0.5 * (least + most) - [middle @ axis for axis in axes]) @ axes
        half = tuple((0.5 * (most - least) + 0.06).tolist())
    return shape.piece(middle, half)
