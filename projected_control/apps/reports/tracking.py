"""Tracking errors of a run, one number per unit: metres and radians are not added up."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, sqrt
from typing import Any

UNKNOWN = "m or rad"
"""Unit of a coordinate of which it is not known."""

KEY = "tracking_rms"
"""How the names of these numbers begin; the unit follows: ``tracking_rms_m``."""


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


def in_words(errors: Mapping[str, float]) -> str:
    """For the terminal and the top of a report."""
    said = [f"{value:.3g} {unit} RMS" for unit, value in errors.items()]
    return " and ".join(said) or "none, there are no coordinates"
