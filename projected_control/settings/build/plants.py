"""From settings to a simulated arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import with_mimics
from projected_control.planning import assemble
from projected_control.planning.start import guess_within
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import groups
from projected_control.settings.build.arms import build_arm, build_constraint, build_coordinates
from projected_control.settings.nodes import (
    SimulatedArmSettings,
)
from projected_control.settings.placing import says_where
from projected_control.simulation import Plant
from projected_control.simulation.dry_friction import stops_within

Array = NDArray[np.float64]

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
    start = assemble(arm, constraint, guess, coordinates, values)
    model = ConstrainedArm(arm, constraint, coordinates, tolerance=PLANT_SINGULAR_VALUE)
    velocity = np.zeros(arm.n)
    if simulation.rates:
        if coordinates is None or len(simulation.rates) != coordinates.size:
            raise InvalidValue(
                "simulation.rates must have one number per name in simulation.coordinates",
                key="simulation.rates",
            )
        model.evaluate(start, velocity)
        along = model.J_theta @ model.P
        velocity = np.linalg.pinv(along) @ np.asarray(simulation.rates)
    plant = Plant(
        model,
        simulation.step,
        friction=settings.friction,
        contact_friction=settings.friction.contact,
        stops=stops_within(arm.limits.lower, arm.limits.upper) if simulation.stops else None,
    )
    return SimulatedArm(
        plant,
        start,
        velocity,
        period=1.0 / settings.rate,
        sensor=replace(settings.sensor),
        encoders=settings.encoder,
        motors=replace(settings.motor),
    )


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
