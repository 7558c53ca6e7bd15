"""Kernels: the numerical functions of a tick and of a plant's step, compiled ahead of time.

A kernel is a pure function over arrays. It makes no objects, allocates nothing and raises nothing.
All kernels together are one library (`kernel_library`), which is made when the package is built.
Two decorators mark them::

    @kernel                       # Python calls it: its annotations say what its arrays are
    def advance_blend(dt: float, values: Numbers, work: Numbers) -> None: ...

    @compiled                     # other kernels call it
    def unpack_control(work: Array, t: Terms, passive: int) -> ControlTerms: ...

``PROJECTED_CONTROL_COMPILE=0`` in the environment runs them as plain NumPy instead, to the same
numbers up to rounding: for a debugger.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from projected_control import kernel_library

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Dense:
    """How an array that Python hands to a kernel lies in memory.

    Attributes:
        dimensions: How many.
        number: ``double`` or ``int64_t``.
        order: ``C`` for row by row, ``F`` for column by column.
    """

    dimensions: int
    number: str = "double"
    order: str = "C"


Numbers = Annotated[NDArray[np.float64], Dense(1)]
Matrix = Annotated[NDArray[np.float64], Dense(2)]
Columns = Annotated[NDArray[np.float64], Dense(2, order="F")]
"""A matrix as Pinocchio has it."""
Integers = Annotated[NDArray[np.int64], Dense(1, "int64_t")]

KERNELS: dict[str, Callable[..., Any]] = {}
"""The Python function of every kernel that Python calls, by module and name."""


class Builder(Protocol):
    """What compiles, where the library is being made."""

    def kernel(self, function: Callable[..., Any]) -> Any:
        """What other kernels see of a kernel."""

    def workspace(self, unpack: Callable[..., Any], layout: Any) -> None:
        """Make the function that names the parts of a layout known to kernels."""


BUILDER: Builder | None = None
"""Set by the process that makes the library, before it imports a kernel."""

COMPILED: bool = os.environ.get("PROJECTED_CONTROL_COMPILE", "1") != "0"
"""True where the kernels are machine code, False where they run as NumPy."""


def compiled(function: Function) -> Function:
    """Mark a kernel that other kernels call; from Python it is the function that it is."""
    return function if BUILDER is None else cast(Function, BUILDER.kernel(function))


def from_source(source: str, module: str, **names: Any) -> dict[str, Any]:
    """Kernels whose source is made from a declaration, by name.

    Args:
        source: Their definitions.
        module: Whose they are.
        names: What they call.
    """
    made: dict[str, Any] = {}
    exec(compile(source, f"<kernels of {module}>", "exec"), names, made)
    for function in made.values():
        function.__module__ = module
    return {name: compiled(function) for name, function in made.items()}


def kernel(function: Function) -> Function:
    """Mark a kernel that Python calls, and take it from the library."""
    name = f"{function.__module__}.{function.__qualname__}"
    KERNELS[name] = function
    if BUILDER is not None:
        return cast(Function, BUILDER.kernel(function))
    return cast(Function, kernel_library.function(name)) if COMPILED else function


def teach_workspace(unpack: Callable[..., Any], layout: Any) -> None:
    """Make the function that names the parts of a layout known to kernels."""
    if BUILDER is not None:
        BUILDER.workspace(unpack, layout)


def memory_fence() -> None:
    """Keep all reads and writes before it before all that come after it, for other threads.

    Kernels know it by one instruction; in plain Python the interpreter keeps the order.
    """
