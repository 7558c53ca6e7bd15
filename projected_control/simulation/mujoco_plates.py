"""Surfaces that give, and surfaces that can be left, in MuJoCo: a plate, on a spring or fixed.

A row that gives is a plate that slides along the surface's normal on a spring of stiffness K with a
damper D, and has a stated mass (`PLATE_MASS`). Where it holds on both sides, the carriage on which
the arm slides rides on that plate. Where it can be left, the plate is a box, the frame carries a
small ball, and the two touch by MuJoCo's own contacts, with friction; the ball's centre is the
frame, and the plate lies a radius deeper. A plane that ends is a box as deep as its extent, whose
sides are there, too, and whose edge is round by that radius. The spring's force is the force under
the workpiece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars
from projected_control.simulation.surfaces import Extent, Row, Surface

PLATE_MASS = 0.1  # of a plate on its spring [kg]

FREE_DAMPING = 0.01
"""Damping ratio that a plate which can be left has at least, so that it comes to rest by itself."""

FASTEST = 1.0  # ω T of a plate that can be left, up to which a step is short enough for it
BALL = 1e-3  # radius of the ball at the frame [m]
HALF = (3.0, 3.0, 0.5)  # of a plate that can be left: half of its length, width and thickness [m]


BITS = 31
"""Of MuJoCo's masks of what touches what: so many pairs of plate and ball are told apart."""

ALONG_AXIS = 1e-9
"""By how much a normal may be off an axis of the world, along which a box ends [1]."""


def body_of_plate(extent: Extent | None, on: Array, axis: Array, outward: Array) -> Box:
    """The box of a plate that can be left, a radius of the ball below the plane.

    Args:
        extent: Where the plane ends; None for nowhere.
        on: A place on it, the plate's own [m].
        axis: Its normal, of length one.
        outward: The same, towards what is free.
    """
    if extent is None:
        first, second = perpendiculars(outward)
        turn = np.column_stack([first, second, np.cross(first, second)])
        if float(turn[:, 2] @ outward) < 0.0:
            turn = turn[:, [1, 0, 2]] * [1.0, 1.0, -1.0]
        return Box(np.array(HALF), -(BALL + HALF[2]) * outward, turn)
    normal = int(np.abs(axis).argmax())
    if np.abs(np.delete(axis, normal)).max() > ALONG_AXIS:
        refuse("constraint.extent", "a plane that ends has its normal along x, y or z of the world")
    least, most = np.array(extent.least), np.array(extent.most)
    end = float((least if outward[normal] > 0.0 else most)[normal])  # as deep as it goes
    surface = float(on[normal] - BALL * outward[normal])
    least[normal], most[normal] = sorted((end, surface))
    size = 0.5 * (most - least)
    if (end - on[normal]) * outward[normal] > 0.0 or size.min() <= 0.0:
        refuse("constraint.extent", "a plane that ends has to lie within its extent")
    return Box(size, 0.5 * (most + least) - on, np.eye(3))


class Box(NamedTuple):
    """Of a plate."""

    half: Array  # of its length, width and thickness [m]
    place: Array  # of its middle, on the plate [m]
    turn: Array  # 3 × 3


class Plate(NamedTuple):
    """A plate of the model."""

    row: int  # of the constraint
    joint: str  # on whose spring it is; empty where it is fixed
    damping: float  # of the spring [N·s/m]
    touched: bool  # whether it can be left


def plate_of(row: int, joint: str, law: Row, surface: Surface) -> Plate:
    """The plate of a row, on the spring of a surface."""
    touched = law is not Row.GIVES
    least = 2.0 * FREE_DAMPING * np.sqrt(surface.K * PLATE_MASS) if touched else 0.0
    return Plate(row, joint, max(surface.damping, least), touched)


def require_plate(surface: Surface) -> None:
    """Refuse what a plate cannot be."""
    if surface.dissipation:
        refuse("contact.dissipation", "springs have dampers, but none in proportion to the depth")
    if surface.restitution:
        refuse("contact.restitution", "contacts do not bounce by a stated share")


def require_short(plates: Sequence[Plate], surface: Surface, step: float) -> None:
    """Raise where a step is too long for a plate that can swing by itself."""
    longest = FASTEST * np.sqrt(PLATE_MASS / surface.K) if surface.gives else np.inf
    if any(plate.touched and plate.joint for plate in plates) and step > longest:
        raise InvalidValue(
            f"a step of {step:g} s is too long for MuJoCo's plate of {PLATE_MASS:g} kg on a spring "
            f"of {surface.K:g} N/m: it takes at most {longest:.2g} s (simulation.step)",
            key="contact.stiffness",
        )


def refuse(key: str, why: str) -> NoReturn:
    """What is no plate."""
    raise InvalidValue(f"{key}: in MuJoCo {why}; take simulation.engine built_in", key=key)
