"""What the numbers of a run say, in figures and words.

Tracking errors, one number per unit: metres and radians are not added up. What a motion takes, what
inverse dynamics sends for it, and which force was held.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, sqrt
from typing import Any, NamedTuple

import numpy as np

from projected_control.arrays import Array

UNKNOWN = "m or rad"  # unit of a coordinate of which it is not known
KEY = "tracking_rms"  # how the names of these numbers begin; the unit follows: ``tracking_rms_m``


def by_unit(numbers: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, float]:
    """RMS tracking error of all coordinates that have the same unit, by unit.

    Args:
        numbers: Of a run, with its RMS errors by coordinate.
        units: Of the coordinates, by name.
    """
    errors: dict[str, list[float]] = {}
    for name, error in numbers["tracking_rms_by_coordinate"].items():
        errors.setdefault(units.get(name, UNKNOWN), []).append(error)
    return {unit: sqrt(fsum(e**2 for e in each)) for unit, each in errors.items()}


def labels(errors: Mapping[str, float]) -> dict[str, str]:
    """For a table: their names and what they are called."""
    return {f"{KEY}_{unit}": f"tracking error RMS ({unit})" for unit in errors}


def with_units(numbers: Mapping[str, Any], errors: Mapping[str, float]) -> dict[str, Any]:
    """The numbers of a run with one tracking error per unit."""
    return {**numbers, **{f"{KEY}_{unit}": value for unit, value in errors.items()}}


def tracking_in_words(errors: Mapping[str, float]) -> str:
    """For the terminal and the top of a report."""
    said = [f"{value:.3g} {unit} RMS" for unit, value in errors.items()]
    return " and ".join(said) or "none, there are no coordinates"


def rms(values: Array) -> float:
    """Root of the mean over samples (rows) of the squared norm; zero where there are none."""
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1)))) if values.size else 0.0


class MotionAndForce(NamedTuple):
    """Of a whole run."""

    motion: float  # RMS of ‖f∥‖, the torque that the motion takes [N·m or N]
    idc: float  # RMS of what inverse dynamics sends for the same motion [N·m or N]
    # wanted, held: mean of the constraint forces that were wanted, and of the measured ones
    # [N].
    wanted: list[float]
    held: list[float]

    def numbers(self) -> dict[str, object]:
        return {
            "motion_torque_rms": self.motion,
            "motion_torque_rms_idc": self.idc,
            "force_wanted_mean": self.wanted,
            "force_held_mean": self.held,
        }


def motion_torque(state: Mapping[str, Array]) -> Array:
    """‖f∥‖ over the time, from the topic ~/state."""
    parts = [values for name, values in state.items() if name.endswith("/tangent")]
    return np.asarray(np.sqrt(sum(values**2 for values in parts)))


def motion_and_force(state: Mapping[str, Array]) -> MotionAndForce:
    """What a controller told of its run on ~/state."""
    rows = [name for name in state if name.startswith("lambda_") and "/" not in name]
    motion, idc = motion_torque(state), state["torque_norm/idc"]
    if not idc.size:
        return MotionAndForce(0.0, 0.0, [], [])
    return MotionAndForce(
        float(np.sqrt(np.mean(motion**2))),
        float(np.sqrt(np.mean(idc**2))),
        [float(np.mean(state[f"{row}/desired"])) for row in rows],
        [float(np.mean(state[row])) for row in rows],
    )


def torque_in_words(found: MotionAndForce) -> str:
    """For the terminal and the top of a report."""
    words = (
        f"The motion took {found.motion:.3f} N·m RMS (f∥) where inverse dynamics, with a motor in "
        f"every joint, sends {found.idc:.3f}"
    )
    if found.idc > 0.0 and found.motion < 0.995 * found.idc:
        words += f", {100.0 * (1.0 - found.motion / found.idc):.0f} % less"
    if any(abs(wanted) > 1e-9 for wanted in found.wanted):
        pairs = zip(found.wanted, found.held, strict=True)
        forces = ", ".join(f"{held:.2f} N of {wanted:g} N wanted" for wanted, held in pairs)
        words += f"; held {forces}"
    return words + "."
