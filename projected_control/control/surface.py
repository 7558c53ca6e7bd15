"""A plane that is not quite where it should be follows the contact point and the measured force.

While the point moves along the true plane and presses on it, the force f that the arm exerts, less
its part along the motion v̂ (which friction has there, whatever its coefficient), is normal to it:

    n_m = ± (f − (f·v̂) v̂) / ‖…‖,    n ← n + k (n_m − n), normalised,    c ← c + k (n·p − c),

with k = 1 − exp(−2π bandwidth T), and n turned about the point p. It does so only while the point
moves and presses: at rest, static friction may tilt the force any way. Beyond a bound, on the angle
between n and where it should point or on the distance of p from where the plane should be, the arm
has left its constraint, as it has where the plane is not estimated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import Integers, Numbers, compiled, kernel
from projected_control.control.force_kernels import SourceTerms
from projected_control.control.force_source import ForceSource
from projected_control.control.terms import ControlTerms
from projected_control.control.wrench_map import set_direction, unpack_wrench
from projected_control.declaration import SMALL, Group, parameter
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, PointOnPlane, Stack
from projected_control.model.function_kinds import PositionAlong
from projected_control.model.kinematics import Vector, add, frame_motion, inner, vector
from projected_control.model.linalg import dot
from projected_control.model.scalar_functions import COLUMNS

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_ROW, _JOINT, _LOCAL, _SHOULD, _SHOULD_OFFSET, _IS, _IS_OFFSET = 0, 1, 2, 5, 8, 9, 12
_COSINE, _DISTANCE, _SHARE, _FORCE, _SPEED, _BEYOND = 13, 14, 15, 16, 17, 18
_LINE_OFFSET, _LINE_NORMAL = 3, 4


@dataclass(frozen=True)
class EstimatedSurface(Group):
    """How a plane is followed that is marked estimated."""

    angle: float = parameter(
        0.2,
        "Largest angle between the plane and where it should be; beyond, the arm has left its "
        "constraint",
        "rad",
        minimum=1e-3,
        maximum=1.4,
    )
    distance: float = parameter(
        0.05,
        "Largest distance of the contact point from where the plane should be; beyond, the arm has "
        "left its constraint",
        "m",
        minimum=1e-4,
        maximum=10.0,
    )
    bandwidth: float = parameter(
        2.0, "How fast the plane is followed", "Hz", minimum=1e-3, maximum=100.0
    )
    force: float = parameter(
        1.0, "Least normal force at which it is", "N", minimum=SMALL, maximum=1e6
    )
    speed: float = parameter(
        0.005,
        "Least speed of the contact point at which its direction is",
        "m/s",
        minimum=SMALL,
        maximum=10.0,
    )

    def __post_init__(self) -> None:
        for name in ("angle", "distance", "bandwidth", "force", "speed"):
            validate.positive(f"{name} of an estimated surface", getattr(self, name))
        if self.angle >= 1.5:
            raise InvalidValue("a plane cannot be followed by a right angle: angle below 1.5 rad")


def estimated_row(constraint: Constraint, name: str = "") -> tuple[int, PositionAlong]:
    """Row and function of the plane to be followed: the one named in a stack, or the only one.

    Raises:
        InvalidValue: Where that is no plane, or it moves.
    """
    parts = {"": constraint}
    if isinstance(constraint, Stack):
        parts = dict(zip(constraint.names, constraint.constraints, strict=True))
    row = 0
    for part_name, part in parts.items():
        if part_name == name or len(parts) == 1:
            if type(part) is PointOnPlane and isinstance(part.functions[0], PositionAlong):
                return row, part.functions[0]
            break
        row += part.rows
    raise InvalidValue("only a plane that stands still can be estimated (kind point_on_plane)")


def estimate_surface(
    model: ConstrainedArm,
    source: ForceSource,
    c: ControlTerms,
    surface: EstimatedSurface,
    period: float,
    name: str = "",
) -> None:
    """Have ticks follow a plane.

    Args:
        model: The arm and its constraint.
        source: Must be a sensor.
        c: The controller's terms.
        surface: Bounds and bandwidth.
        period: Of the loop [s].
        name: Which constraint, where there are several.
    """
    if model.constraint is None or model.computed_in_python or model.moves:
        raise InvalidValue("only a plane that stands still can be estimated")
    if not source.needs_wrench:
        raise InvalidValue(
            "an estimated surface needs a measured force: set force.source to sensor"
        )
    row, plane = estimated_row(model.constraint, name)
    place = model.arm.attachment(plane.frame)
    c.surface_support[:] = place.support
    c.surface[_JOINT], c.surface[_LOCAL : _LOCAL + 3] = place.joint, place.translation
    c.surface[_SHOULD : _SHOULD + 3], c.surface[_SHOULD_OFFSET] = plane.direction, plane.offset
    c.surface[_COSINE], c.surface[_DISTANCE] = np.cos(surface.angle), surface.distance
    c.surface[_SHARE] = 1.0 - np.exp(-2.0 * np.pi * surface.bandwidth * period)
    c.surface[_FORCE], c.surface[_SPEED] = surface.force, surface.speed
    c.surface[_ROW] = row + 1.0
    reset_surface(model, c, source)


def reset_surface(model: ConstrainedArm, c: ControlTerms, source: ForceSource) -> None:
    """The plane is where it should be again."""
    c.surface[_IS : _IS + 4] = c.surface[_SHOULD : _SHOULD + 4]
    c.surface[_BEYOND] = 0.0
    table = model.arguments
    write_plane(model.n, table.sizes, table.functions, c, source.terms)


def plane_now(c: ControlTerms) -> tuple[Array, float]:
    """Normal and offset nᵀp [m] of the plane as it is estimated."""
    return c.surface[_IS : _IS + 3].copy(), float(c.surface[_IS_OFFSET])


def is_beyond(c: ControlTerms) -> bool:
    """Whether the plane has gone beyond its bounds."""
    return bool(c.surface[_BEYOND])


@compiled
def measured_normal(f: Vector, rate: Vector, n: Vector) -> Vector:
    """The force less its part along the motion, as a unit vector on the side of n."""
    along = inner(f, rate) / inner(rate, rate)
    across = add(f, rate, -along)
    size = np.sqrt(inner(across, across))
    if inner(across, n) < 0.0:
        size = -size
    return add((0.0, 0.0, 0.0), across, 1.0 / size)


@kernel
def write_plane(
    n: int, sizes: Integers, functions: Numbers, c: ControlTerms, s: SourceTerms
) -> None:
    """Put the plane into the table of functions and into the map from wrench to λ."""
    row = int(c.surface[_ROW]) - 1
    line = sizes[3] * (4 + n) + row * COLUMNS
    functions[line + _LINE_OFFSET] = c.surface[_IS_OFFSET]
    for i in range(3):
        functions[line + _LINE_NORMAL + i] = c.surface[_IS + i]
    if s.varies[0] != 0.0:
        set_direction(unpack_wrench(s.directions, c.lambda_measured.size), row, c.surface[_IS:])
    else:
        for i in range(3):
            s.to_lambda[row, i] = c.surface[_IS + i]


@compiled
def follow_surface(
    v: Array,
    spatial_jacobian: Array,
    placements: Array,
    sizes: Whole,
    functions: Array,
    c: ControlTerms,
    s: SourceTerms,
) -> bool:
    """Move an estimated plane one tick on, after this tick's wrench; False beyond its bounds.

    The next tick's model has it.
    """
    if c.surface[_ROW] == 0.0:
        return True
    J = c.surface_jacobian
    p, _, _, _ = frame_motion(
        spatial_jacobian,
        v,
        placements[int(c.surface[_JOINT])],
        c.surface[_LOCAL:],
        c.surface_support,
        J,
    )
    rate = (dot(J[0], v), dot(J[1], v), dot(J[2], v))
    f, n, should = vector(s.wrench, 0), vector(c.surface, _IS), vector(c.surface, _SHOULD)
    share, pressing, speed = c.surface[_SHARE], abs(inner(f, n)), np.sqrt(inner(rate, rate))
    if not (np.isfinite(pressing) and np.isfinite(speed)):
        return c.surface[_BEYOND] == 0.0
    if pressing >= c.surface[_FORCE]:
        if speed >= c.surface[_SPEED]:
            found = measured_normal(f, rate, n)
            new = add(add((0.0, 0.0, 0.0), n, 1.0 - share), found, share)
            new = add((0.0, 0.0, 0.0), new, 1.0 / np.sqrt(inner(new, new)))
            c.surface[_IS_OFFSET] += inner(new, p) - inner(n, p)
            for i in range(3):
                c.surface[_IS + i] = new[i]
            n = new
        c.surface[_IS_OFFSET] += share * (inner(n, p) - c.surface[_IS_OFFSET])
    away = abs(inner(should, p) - c.surface[_SHOULD_OFFSET])
    if inner(n, should) < c.surface[_COSINE] or away > c.surface[_DISTANCE]:
        c.surface[_BEYOND] = 1.0
    write_plane(v.size, sizes, functions, c, s)
    return c.surface[_BEYOND] == 0.0
