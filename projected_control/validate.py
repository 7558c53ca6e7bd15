"""Validation of values where they enter; the kernels behind trust what they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.errors import InvalidValue, UnknownName

Array = NDArray[np.float64]


def finite_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> Array:
    """``value`` as a new contiguous array of doubles, refused unless finite and of this shape.

    Args:
        name: What it is called in the error.
        value: The numbers.
        shape: Expected shape; None stands for any length.
    """
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidValue(f"{name} must be numbers, got {value!r}") from None
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        expected = " × ".join("any" if s is None else str(s) for s in shape) or "a single number"
        got = " × ".join(map(str, array.shape)) or "a single number"
        raise InvalidValue(f"{name} must have shape {expected}, got {got}")
    if not np.isfinite(array).all():
        raise InvalidValue(f"{name} must be finite, got {np.array2string(array, precision=6)}")
    return array


_DOUBLE, _DENSE = np.dtype(np.float64), (8,)


def vector(name: str, value: ArrayLike, size: int) -> Array:
    """``value`` as a dense array of so many doubles; itself where it is one, and then at once.

    Not finite ones pass: what an arm may say is for the guard to judge.
    """
    if (
        value.__class__ is np.ndarray
        and value.dtype is _DOUBLE
        and value.shape == (size,)
        and value.strides == _DENSE
    ):
        return value
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"{name} must be {size} numbers, one per joint, got {value!r}") from None
    if np.shape(value) != (size,):
        got = " × ".join(map(str, np.shape(value))) or "a single one"
        raise InvalidValue(f"{name} must be {size} numbers, one per joint, got {got}")
    return array


def spread(name: str, value: ArrayLike, size: int, each: str = "coordinate") -> Array:
    """One number for all, or one per coordinate or joint, as so many numbers.

    Args:
        name: What it is called in the error.
        value: The numbers.
        size: How many are needed.
        each: What each of them belongs to.
    """
    values = np.asarray(value, dtype=np.float64)
    if values.size not in (1, size):
        raise InvalidValue(
            f"{name} must be one number or {size}, one per {each}, got {values.size}", key=name
        )
    return np.array(np.broadcast_to(values, (size,)))


def finite(name: str, value: float) -> float:
    """One finite number."""
    return float(finite_array(name, value, ()))


def positive(name: str, value: float) -> float:
    """One finite number above zero."""
    number = finite(name, value)
    if number <= 0.0:
        raise InvalidValue(f"{name} must be positive, got {number:g}")
    return number


def not_negative(name: str, value: float) -> float:
    """One finite number, zero or above."""
    number = finite(name, value)
    if number < 0.0:
        raise InvalidValue(f"{name} must not be negative, got {number:g}")
    return number


def direction(name: str, value: ArrayLike) -> Array:
    """A vector of three, returned with length one."""
    vector = finite_array(name, value, (3,))
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise InvalidValue(f"{name} must have a direction, got the zero vector {vector.tolist()}")
    return vector / length


def one_of(kind: str, name: str, known: Sequence[str]) -> str:
    """A name out of a list."""
    if name not in known:
        raise UnknownName(kind, name, known)
    return name
