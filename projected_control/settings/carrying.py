"""Whether the world could carry the force of the constraints that settings declare.

A constraint is what the world enforces. Declared where the world enforces nothing, the controller
relies on a force that nothing exerts; what is said here is not known for sure, and so a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.settings import groups
from projected_control.settings.nodes import ControllerSettings

Array = NDArray[np.float64]

POINTS = (
    "point_on_line",
    "point_on_plane",
    "point_at_point",
    "point_on_circle",
    "point_on_surface",
)
"""Kinds of constraint that touch a point, and so give it no moment."""

CARRIED = 1e-3
"""Share of λ_d that may be missing without a word."""


def uncarried(settings: ControllerSettings, loop: ControlLoop) -> list[str]:
    """In words, all that the world could not carry where the loop's model was evaluated last."""
    return [
        *missing_moments(settings),
        *idle_constraints(loop.controller.model),
        *impossible_forces(loop),
    ]


def _named(settings: ControllerSettings) -> dict[str, groups.Constraint]:
    """Every group of a constraint, by its name in a parameter file."""
    if settings.constraints:
        return {f"constraints.{name}": group for name, group in settings.constraints.items()}
    return {"constraint": settings.constraint}


def missing_moments(settings: ControllerSettings) -> list[str]:
    """In words, where a constraint takes for granted a moment that a point contact cannot give."""
    given, found = _named(settings), []
    for name, group in given.items():
        if not _is_turn_alone(group) or group.other_frame:
            continue
        touching = [
            other
            for other, each in given.items()
            if each.kind in POINTS and each.frame == group.frame
        ]
        what = f"{touching[0]} holds a point and gives none" if touching else "nothing here does"
        instead = (
            "a coordinate of kind tilt"
            if group.kind == "angle"
            else "two coordinates of kind tilt"
            if group.kind == "parallel"
            else "coordinates of kind tilt or orientation"
        )
        found.append(
            f"{name} ({group.kind}) needs something in the world that gives {group.frame} a "
            f"moment: {what}. If the direction is what you want, not what the world enforces, "
            f"make it {instead}; if the link lies flat, frame_fixed in tz, rx, ry"
        )
    return found


def _is_turn_alone(group: groups.Constraint) -> bool:
    """Whether a constraint takes nothing but moments."""
    if group.kind in ("frame_fixed", "loop"):
        return bool(group.directions) and all(each.startswith("r") for each in group.directions)
    return group.kind in ("parallel", "angle")


def _parts(model: ConstrainedArm) -> Iterator[tuple[str, list[int]]]:
    """Names of constraints, as rows are called, and their rows; one without a name is whole."""
    if model.constraint is None:
        return
    parts: dict[str, list[int]] = {}
    for row, name in enumerate(model.constraint.row_names):
        parts.setdefault(name.rpartition(".")[0], []).append(row)
    yield from parts.items()


def idle_constraints(model: ConstrainedArm) -> list[str]:
    """In words, constraints that no joint could break, which carry nothing."""
    return [
        f"{f'constraints.{name}' if name else 'constraint'} holds nothing: no joint moves the arm "
        f"along {'its row' if len(rows) == 1 else 'any of its rows'} where it stands, so that "
        "there is no force to carry; look whether frame and direction are the ones you mean"
        for name, rows in _parts(model)
        if np.abs(model.A[rows]).max(initial=0.0) <= model.tolerance
    ]


def impossible_forces(loop: ControlLoop) -> list[str]:
    """In words, where λ_d has a part outside R(A), which no force is."""
    force, model, reference = loop.controller.force, loop.controller.model, loop.force_reference
    if force is None or model.constraint is None or reference is None:
        return []
    rows = np.flatnonzero(force.controlled)
    wanted: Array = np.asarray(reference.at(0.0).value)[rows]
    A = model.A[rows]
    possible = A @ (np.linalg.pinv(A, rcond=1e-9) @ wanted) if rows.size else wanted
    if np.linalg.norm(wanted - possible) <= CARRIED * np.linalg.norm(wanted):
        return []
    names = [model.constraint.row_names[row] for row in rows]
    return [
        f"force.reference asks for {_numbers(wanted)} N or N·m on {', '.join(names)}; of that the "
        f"rows can carry {_numbers(possible)} only where the arm stands, as they repeat each "
        "other or are rows along which no joint moves it: name rows that are independent in "
        "force.rows, or ask for what they can carry"
    ]


def _numbers(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in np.round(values, 9) + 0.0)
