"""From settings to a simulated arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, with_mimics
from projected_control.model.constraints.poses import ALONG
from projected_control.planning import assemble
from projected_control.planning.start import guess_within
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import groups
from projected_control.settings.build.arms import build_arm, build_constraint, build_coordinates
from projected_control.settings.declaration import Named
from projected_control.settings.nodes import ConstrainedArmSettings, SimulatedArmSettings
from projected_control.settings.placing import says_where
from projected_control.simulation.dry_friction import stops_within
from projected_control.simulation.engines import make_plant
from projected_control.simulation.surfaces import Extent

T = TypeVar("T")

PLANT_SINGULAR_VALUE = 1e-6
"""A plant's own tolerance: far below a controller's, so that no step falls where the rank drops."""


@says_where
def build_plant(settings: SimulatedArmSettings) -> SimulatedArm:
    """The simulated arm, assembled at its start."""
    arm = build_arm(settings)
    if settings.simulation.mass_factor != 1.0:
        arm.scale_masses(settings.simulation.mass_factor)
    constraint = with_mimics(arm, build_constraint(settings))
    simulation = settings.simulation
    names = simulation.coordinates
    coordinates = build_coordinates(names, arm, settings) if names else None
    values = list(start_values(simulation).values()) if names else None
    guess = start_guess(arm, simulation.start)
    held = constraint if simulation.touches else with_mimics(arm, _what_stays(settings))
    start = assemble(arm, held, guess, coordinates, values)
    model = ConstrainedArm(arm, constraint, coordinates, tolerance=PLANT_SINGULAR_VALUE)
    velocity = np.zeros(arm.n)
    if simulation.rates:
        if coordinates is None or len(simulation.rates) != coordinates.size:
            raise InvalidValue(
                "simulation.rates must have one number per name in simulation.coordinates",
                key="simulation.rates",
            )
        begins = ConstrainedArm(arm, held, coordinates, tolerance=PLANT_SINGULAR_VALUE)
        begins.evaluate(start, velocity)
        along = begins.J_theta @ begins.P
        velocity = np.linalg.pinv(along) @ np.asarray(simulation.rates)
    plant = make_plant(
        simulation.engine,
        model,
        simulation.step,
        friction=settings.friction,
        contact_friction=settings.friction.contact,
        surface=settings.contact,
        one_sided=sides_of(settings, constraint),
        extents=extents_of(settings, constraint),
        stops=stops_within(arm.limits.lower, arm.limits.upper) if simulation.stops else None,
    )
    plant.drive = simulation.drive
    return SimulatedArm(
        plant,
        start,
        velocity,
        period=1.0 / settings.rate,
        sensor=replace(settings.sensor),
        encoders=settings.encoder,
        motors=replace(settings.motor),
    )


LEAVES = ("point_on_plane", "point_on_surface", "distance", "joint_locked", "loop")
"""Kinds of constraint that can be left on one side; a loop with one of tx, ty, tz alone."""

ENDS = ("point_on_plane", "point_on_surface")
"""Kinds of them that may end somewhere."""


def sides_of(settings: SimulatedArmSettings, constraint: Constraint | None) -> list[int]:
    """For each row of what holds the arm, on which side it is free (see `Plant`); 0 for none."""
    sides = {name: side_of(name, group) for name, group in constraint_groups(settings).items()}
    return _by_row(sides, constraint, 0)


def side_of(name: str, group: groups.Constraint, *more: str) -> int:
    """On which side an arm is free of what a group says: 1 or −1 (see `Plant`); 0 for none.

    Args:
        name: Of the group, in a parameter file.
        group: What it says.
        more: Kinds besides `LEAVES` that can be left.
    """
    if not group.one_sided:
        return 0
    leaves = (*LEAVES, *more)
    face = group.kind != "loop" or (len(group.directions) == 1 and group.directions[0] in ALONG)
    if not (group.kind in leaves and face):
        raise InvalidValue(
            f"{name}.one_sided: a {group.kind} holds on both sides; {', '.join(leaves)} "
            "(with one of tx, ty, tz) can be left",
            key=f"{name}.one_sided",
        )
    return -1 if group.free_side == "positive" else 1


def extents_of(
    settings: SimulatedArmSettings, constraint: Constraint | None
) -> list[Extent | None]:
    """For each row of what holds the arm where its surface ends; None for nowhere."""
    extents: dict[str, Extent | None] = {}
    for name, group in constraint_groups(settings).items():
        extents[name], key = None, f"{name}.extent"
        if not len(group.extent):
            continue
        if not group.one_sided or group.kind not in ENDS:
            raise InvalidValue(
                f"{key}: only {' and '.join(ENDS)} that can be left end somewhere: say "
                f"{name}.one_sided: true, or leave the extent out",
                key=key,
            )
        extents[name] = Extent.of(group.frame, group.extent, key)
    return _by_row(extents, constraint, None)


def _what_stays(settings: SimulatedArmSettings) -> Constraint | None:
    """What holds an arm that touches nothing of what it can leave."""
    several = Named(
        {name: each for name, each in settings.constraints.items() if not each.one_sided}
    )
    if not several and (settings.constraints or settings.constraint.one_sided):
        return None
    return build_constraint(replace(settings, constraints=several))


def constraint_groups(settings: ConstrainedArmSettings) -> dict[str, groups.Constraint]:
    """The groups of what holds an arm, by their names in a parameter file."""
    given = {f"constraints.{name}": group for name, group in settings.constraints.items()}
    return given or {"constraint": settings.constraint}


def _by_row(values: dict[str, T], constraint: Constraint | None, nothing: T) -> list[T]:
    """What each group says, for each row of the constraint that they make together."""
    if constraint is None:
        return []
    if "." not in constraint.row_names[0]:
        return [values.get("constraint", nothing)] * constraint.rows
    named = {name.removeprefix("constraints."): value for name, value in values.items()}
    return [named.get(row.partition(".")[0], nothing) for row in constraint.row_names]


def start_values(simulation: groups.Simulation) -> dict[str, float]:
    """Where coordinates of a simulated arm are at its start, by their names."""
    names, values = simulation.coordinates, simulation.values
    if len(names) != len(values):
        raise InvalidValue(
            f"simulation.values must have {len(names)} numbers, one per name in "
            f"simulation.coordinates, got {len(values)}",
            key="simulation.values",
        )
    return dict(zip(names, values, strict=True))


def start_guess(arm: Arm, given: Sequence[float]) -> Array:
    """Joint positions to look for a start from: those given, else some within the ranges."""
    if len(given) == arm.n:
        return np.array(given, dtype=np.float64)
    if given:
        raise InvalidValue(
            f"simulation.start must have {arm.n} numbers, one per joint "
            f"({', '.join(arm.joint_names)}), or none, got {len(given)}",
            key="simulation.start",
        )
    return guess_within(arm)
