"""From settings to the contacts of a controller that come and go."""

from __future__ import annotations

import numpy as np

from projected_control.arrays import Array
from projected_control.control.one_sided import OneSided, OneSidedContacts
from projected_control.errors import InvalidValue
from projected_control.model.constraints import Constraint
from projected_control.model.constraints.axes import plane_axes
from projected_control.settings.build.plants import constraint_groups, side_of
from projected_control.settings.nodes import ConstrainedArmSettings, ForceControllerSettings

TURNED = ("point_on_plane", "point_at_point")
"""Kinds whose normal is their direction."""

STICKS = "point_at_point"
"""The kind that a controller can leave along its direction, and that sticks along the surface."""


def _rows(name: str, constraint: Constraint) -> list[int]:
    """The rows of a constraint by its name; all, where it is the only one and rows have none."""
    names = list(constraint.row_names)
    found = [row for row, each in enumerate(names) if each.startswith(f"{name}.")]
    return found or list(range(len(names)))


def one_sided_of(settings: ConstrainedArmSettings, constraint: Constraint) -> list[OneSided]:
    """The contacts of a controller that come and go."""
    found = []
    for key, group in constraint_groups(settings).items():
        side = side_of(key, group, STICKS)
        if not side:
            continue
        name = key.removeprefix("constraints.")
        rows = _rows(name, constraint)
        if group.kind != STICKS:
            found.append(OneSided.of_row(name, rows[0], side))
            continue
        if len(group.direction) != 3:
            raise InvalidValue(
                f"{key}.one_sided: a {STICKS} can be left along its normal, which "
                f"{key}.direction has to say: three numbers, into the surface",
                key=f"{key}.direction",
            )
        normal = np.array(group.direction)
        if len(rows) == 2:  # along the axes of the plane of motion
            normal = np.array(plane_axes(group.plane_normal)) @ normal
        found.append(OneSided.of_point(name, rows, side * normal))
    return found


def require_pressing(
    settings: ForceControllerSettings, contacts: OneSidedContacts, desired: Array
) -> None:
    """Raise where λ_d pulls at what can only be pressed.

    Args:
        settings: Of the controller.
        contacts: Its own.
        desired: λ_d of every row, m [N or N·m].
    """
    named = {key.rpartition(".")[2]: key for key in constraint_groups(settings)}
    for each in contacts.members:
        force = float(each.normal @ desired[list(each.rows)])
        if force >= 0.0:
            continue
        key = named[each.name]
        group = constraint_groups(settings)[key]
        if group.kind in TURNED:
            turned = [float(f"{-number:.6g}") + 0.0 for number in group.direction]
            line = f"{key}.direction: {turned}"
        else:
            line = f"{key}.free_side: {'negative' if group.free_side == 'positive' else 'positive'}"
        raise InvalidValue(
            f"{key} is one_sided, and λ_d of {force:.4g} pulls at it: a contact takes a force into "
            f"the surface alone. If the force is right, the normal points out of the surface: "
            f"{line}, with force.reference the other way round",
            key="force.reference",
        )
