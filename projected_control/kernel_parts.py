"""Kernels with two faces, so that a tick is compiled once and not once per level of calls.

Of every function that another one calls numba makes a finished piece: optimised, in machine code,
and with a wrapper that Python could call, which for arguments of hundreds of arrays is the larger
part. Within the caller it is then optimised again, and so on up to the tick. Here a kernel stays as
it is for Python, but other kernels see its *part*: typed and translated to LLVM's language, no
more. All optimisation happens once, in the kernel that Python calls or that is exported, and what
that one calls is its own: it is worked into it, instead of called with hundreds of arrays handed
over one by one. A tick is compiled in less than half the time and runs up to a third faster, to the
same numbers.

Like the export this stands on numba's insides, and so on versions it was tried with: with others
`kernel` is what ``numba.njit`` makes, slower to compile, to load and to run, to the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite
import numba
from numba.core.compiler_lock import global_compiler_lock

from projected_control.tested_versions import LLVMLITE, NUMBA

OPTIONS = {"nopython": True, "error_model": "numpy", "_nrt": False}
"""As CONTRIBUTING.md has them, under Kernels."""

KNOWN = (numba.__version__, llvmlite.__version__) == (NUMBA, LLVMLITE)
"""Whether kernels have parts here."""

COMPILER = f"numba {numba.__version__}, llvmlite {llvmlite.__version__}, parts: {KNOWN}"
"""What kernels are compiled with here."""


def kernel(function: Callable[..., Any], *, keep: bool) -> Any:
    """A kernel, kept on disk or not."""
    made: Any
    if KNOWN:
        made = Kernel(
            function,
            targetoptions={**OPTIONS, "no_cfunc_wrapper": True},
            pipeline_class=KernelCompiler,
        )
        made.part = CPUDispatcher(
            function,
            targetoptions={**OPTIONS, "no_cfunc_wrapper": True, "no_cpython_wrapper": True},
            pipeline_class=PartCompiler,
        )
        if keep:
            made.enable_caching()
    else:
        made = numba.jit(cache=keep, **OPTIONS)(function)
    return made


def part_of(kernel: Any, signature: tuple[Any, ...]) -> Any:
    """A kernel for these types as numba's compile result, not yet optimised where it has parts."""
    seen = getattr(kernel, "part", kernel)
    with global_compiler_lock:
        seen.compile(signature)
        result = seen.overloads[signature]
        result.library._ensure_finalized()
    return result


if KNOWN:
    from llvmlite import ir
    from llvmlite.binding import Linkage, parse_assembly
    from numba import _dynfunc
    from numba.core import types
    from numba.core.compiler import Compiler
    from numba.core.registry import CPUDispatcher

    UNSEEN = (Linkage.internal, Linkage.private)

    class Kernel(CPUDispatcher):
        """A function that Python calls; other kernels call its `part`."""

        part: Any

        @property
        def _numba_type_(self) -> Any:
            return types.Dispatcher(self.part)

    class KernelCompiler(Compiler):
        """Makes the parts a kernel's own before they are optimised; keeps machine code alone."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            library = self.state.targetctx.codegen().create_library("kernel")
            library.enable_object_caching()

            def optimise() -> None:
                for function in library._final_module.functions:
                    if function.linkage is Linkage.linkonce_odr:  # numba's mark for what was linked
                        function.linkage = "internal"
                passes, builder = library._codegen._module_pass_manager()
                passes.run(library._final_module, builder)
                library._shared_module = _shown_by(library._final_module)

            library._optimize_final_module = optimise
            self.state.library = library

    def _shown_by(module: Any) -> Any:
        """A module with the names that this one shows to others, and no code.

        With a kernel numba keeps its code, for others to be compiled with, and reads all of it when
        the kernel is loaded, which was half of the work. Others are compiled with its part.
        """
        names, byte, nothing = ir.Module(), ir.IntType(8), ir.FunctionType(ir.VoidType(), ())
        trap = names.declare_intrinsic("llvm.trap", (), nothing)
        for function in module.functions:
            if not function.is_declaration and function.linkage is Linkage.external:
                stub = ir.Function(names, nothing, function.name)
                builder = ir.IRBuilder(stub.append_basic_block())
                builder.call(trap, ())  # never called
                builder.unreachable()
        for variable in module.global_variables:
            if not variable.is_declaration and variable.linkage not in UNSEEN:
                ir.GlobalVariable(names, byte, variable.name).initializer = byte(0)
        return parse_assembly(str(names))

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
