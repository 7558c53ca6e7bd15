"""What is used of numba's insides, all of it; the rest of the package uses what numba documents.

Of every function that another one calls numba makes a finished piece: optimised, in machine code,
and with a wrapper for Python. Within its caller it is then optimised again, and so on up to the
tick. Here numba stops when a kernel is in LLVM's language; the library is optimised once, as a
whole (`object_code`).

It was tried with the releases in `tested_versions`; test/test_numba.py builds with each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import _dynfunc
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.np import arrayobj

__all__ = [
    "AttributeTemplate",
    "TranslatedKernel",
    "array_pointer",
    "dispatcher",
    "part_of",
    "view",
]

OPTIONS = {
    "nopython": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
"""As CONTRIBUTING.md has them, under Kernels. Kernels allocate nothing, which spares numba's
counting of references (``_nrt``), a third of a tick."""


def dispatcher(function: Callable[..., Any]) -> Any:
    """What other kernels see of a kernel."""
    return CPUDispatcher(function, targetoptions=OPTIONS, pipeline_class=PartCompiler)


@dataclass(frozen=True)
class TranslatedKernel:
    """A kernel for certain types, in LLVM's language and not yet optimised."""

    bitcode: bytes  # of it and of all that it calls
    returned: Any  # the type of its result
    context: Any  # how numba lays out types
    _made: Any

    def call(self, builder: ir.IRBuilder, arguments: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Call it: whether that went well, its status, and what it returned."""
        convention, signature = self.context.call_conv, self._made.signature
        native = ir.Function(
            builder.module,
            convention.get_function_type(signature.return_type, signature.args),
            self._made.fndesc.llvm_func_name,
        )
        status, result = convention.call_function(
            builder, native, signature.return_type, signature.args, arguments
        )
        return status.is_ok, status.code, result


def part_of(kernel: Any, signature: tuple[Any, ...]) -> TranslatedKernel:
    """A kernel (`dispatcher`) for these types."""
    with global_compiler_lock:
        kernel.compile(signature)
        made = kernel.overloads[signature]
        made.library._ensure_finalized()
    bitcode = made.library._final_module.as_bitcode()
    return TranslatedKernel(bitcode, made.signature.return_type, made.target_context, made)


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


def view(
    context: Any,
    builder: ir.IRBuilder,
    kind: Any,
    data: Any,
    shape: Sequence[Any],
    strides: Sequence[Any],
) -> Any:
    """An array of eight-byte numbers, as numba has it.

    Args:
        kind: Its type.
        data: Where it begins: a pointer, or an address.
        shape: Extents.
        strides: In bytes.
    """
    array = arrayobj.make_array(kind)(context, builder)
    if isinstance(data.type, ir.IntType):
        data = builder.inttoptr(data, array.data.type)
    item = ir.Constant(ir.IntType(64), 8)
    arrayobj.populate_array(
        array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None
    )
    return array._getvalue()


def array_pointer(context: Any, builder: ir.IRBuilder, kind: Any, array: Any) -> Any:
    """Where an array begins."""
    return arrayobj.make_array(kind)(context, builder, array).data
