"""Curves through points: the polynomial of each piece, from values and derivatives at its ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def cubic(times: Array, places: Array, rates: Array) -> Array:
    """c₀ to c₃ of each piece, τ from its beginning on [s].

    With h the length of a piece, D = x₁ − x₀ − ẋ₀ h and E = (ẋ₁ − ẋ₀) h:

        c₂ h² = 3 D − E,    c₃ h³ = −2 D + E

    Args:
        times: Where pieces begin, and where the last one ends, increasing; N [s].
        places: N × k.
        rates: N × k.

    Returns:
        (N − 1) × k × 4.
    """
    h = np.diff(times)[:, None]
    x, v = places[:-1], rates[:-1]
    D = places[1:] - x - v * h
    E = (rates[1:] - v) * h
    return np.stack([x, v, (3.0 * D - E) / h**2, (E - 2.0 * D) / h**3], axis=-1)


def quintic(times: Array, places: Array, rates: Array, accelerations: Array) -> Array:
    """c₀ to c₅ of each piece, τ from its beginning on [s].

    With h the length of a piece, D = x₁ − x₀ − ẋ₀ h − ẍ₀ h²/2, E = (ẋ₁ − ẋ₀ − ẍ₀ h) h and
    F = (ẍ₁ − ẍ₀) h²:

        c₃ h³ = 10 D − 4 E + F/2,    c₄ h⁴ = −15 D + 7 E − F,    c₅ h⁵ = 6 D − 3 E + F/2

    Args:
        times: Where pieces begin, and where the last one ends, increasing; N [s].
        places: N × k.
        rates: N × k.
        accelerations: N × k.

    Returns:
        (N − 1) × k × 6.
    """
    h = np.diff(times)[:, None]
    x, v, a = places[:-1], rates[:-1], accelerations[:-1]
    D = places[1:] - x - v * h - 0.5 * a * h**2
    E = (rates[1:] - v - a * h) * h
    F = (accelerations[1:] - a) * h**2
    highest = (
        (10.0 * D - 4.0 * E + 0.5 * F) / h**3,
        (-15.0 * D + 7.0 * E - F) / h**4,
        (6.0 * D - 3.0 * E + 0.5 * F) / h**5,
    )
    return np.stack([x, v, 0.5 * a, *highest], axis=-1)
