"""Kernels as numba sees them where the library is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from projected_control import compiled
from projected_control.native import numba_insides, workspaces


class NumbaKernels:
    """Compiles kernels while the library is made (`compiled.BUILDER`).

    Attributes:
        made: What numba knows of each function.
    """

    def __init__(self) -> None:
        self.made: dict[Callable[..., Any], Any] = {}

    def kernel(self, function: Callable[..., Any]) -> Any:
        """What other kernels see of a kernel."""
        self.made[function] = made = numba_insides.dispatcher(function)
        return made

    def workspace(self, unpack: Callable[..., Any], layout: Any) -> None:
        """Make the function that names the parts of a layout known to kernels."""
        workspaces.teach(unpack, layout)


def part_of(
    function: Callable[..., Any], signature: tuple[Any, ...]
) -> numba_insides.TranslatedKernel:
    """A kernel for these types, not yet optimised."""
    assert isinstance(compiled.BUILDER, NumbaKernels)
    return numba_insides.part_of(compiled.BUILDER.made[function], signature)


@type_callable(compiled.memory_fence)
def type_of_fence(context: Any) -> Any:
    """It returns nothing."""
    return lambda: types.none


@lower_builtin(compiled.memory_fence)
def make_fence(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """One instruction."""
    builder.fence("seq_cst")
    return context.get_dummy_value()
