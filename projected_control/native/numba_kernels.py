"""Kernels as numba sees them where the library is made: typed and translated, no more.

Of every function that another one calls numba makes a finished piece: optimised, in machine code,
and with a wrapper for Python. Within its caller it is then optimised again, and so on up to the
tick. Here numba stops when a kernel is in LLVM's language; the library is optimised once, as a
whole (`object_code`).

This file and `object_code` know numba's insides; they were tried with the versions in
`tested_versions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import _dynfunc
from numba.core import types
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.extending import lower_builtin, type_callable

from projected_control import compiled
from projected_control.native import workspaces

OPTIONS = {
    "nopython": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
"""As CONTRIBUTING.md has them, under Kernels. Kernels allocate nothing, which spares numba's
counting of references (``_nrt``), a third of a tick."""


class NumbaKernels:
    """Compiles kernels while the library is made (`compiled.BUILDER`).

    Attributes:
        made: What numba knows of each function.
    """

    def __init__(self) -> None:
        self.made: dict[Callable[..., Any], Any] = {}

    def kernel(self, function: Callable[..., Any]) -> Any:
        """What other kernels see of a kernel."""
        made = CPUDispatcher(function, targetoptions=OPTIONS, pipeline_class=PartCompiler)
        self.made[function] = made
        return made

    def workspace(self, unpack: Callable[..., Any], layout: Any) -> None:
        """Make the function that names the parts of a layout known to kernels."""
        workspaces.teach(unpack, layout)


def part_of(function: Callable[..., Any], signature: tuple[Any, ...]) -> Any:
    """A kernel for these types as numba's compile result, not yet optimised."""
    assert isinstance(compiled.BUILDER, NumbaKernels)
    kernel = compiled.BUILDER.made[function]
    with global_compiler_lock:
        kernel.compile(signature)
        result = kernel.overloads[signature]
        result.library._ensure_finalized()
    return result


class PartCompiler(Compiler):
    """Stops before optimisation and machine code."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        library = self.state.targetctx.codegen().create_library("part")

        def finalize() -> None:
            library._finalize_dynamic_globals()
            library._verify_declare_only_symbols()
            library._finalized = True

        library._optimize_final_module = lambda: None
        library._finalize_final_module = finalize
        self.state.library = library
        self.state.flags.no_compile = True

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """What numba would have, with a name in place of an address."""
        result = super().compile_extra(function)
        name = _dynfunc.make_function(
            result.fndesc.lookup_module(),
            result.fndesc.qualname.split(".")[-1],
            "known to kernels alone",
            0,
            result.environment,
            (result.library,),
        )
        self.state.targetctx.insert_user_function(name, result.fndesc, [result.library])
        return result._replace(entry_point=name)


@type_callable(compiled.memory_fence)
def type_of_fence(context: Any) -> Any:
    """It returns nothing."""
    return lambda: types.none


@lower_builtin(compiled.memory_fence)
def make_fence(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """One instruction."""
    builder.fence("seq_cst")
    return context.get_dummy_value()
