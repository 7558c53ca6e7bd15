"""Workspaces as kernels hand them on: where the array begins, and the sizes of its layout.

As a tuple of views a workspace would be hundreds of pointers, shapes and strides in every call
from kernel to kernel, of which each looks at a few: passing those took half of the time in which a
tick is compiled. So numba knows the result of `Layout.unpack` as a type of its own, and finds a
part where it is used, by a few additions. The numbers are the same.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
)

from projected_control.native.numba_insides import AttributeTemplate, array_pointer, view

_BYTES = 8


class Workspace(types.Type):
    """The parts of one layout, unpacked."""

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        super().__init__(name=f"Workspace({layout.parts.__module__}.{layout.parts.__name__})")

    def part(self, name: str) -> Any:
        """The type of a part."""
        return types.Array(types.float64, len(self.layout.declared[name].extents), "C")


@register_model(Workspace)
class WorkspaceModel(models.StructModel):
    """A pointer to the first number, and the sizes."""

    def __init__(self, manager: Any, kind: Workspace) -> None:
        sizes = [(name, types.intp) for name in kind.layout.sizes]
        super().__init__(manager, kind, [("work", types.CPointer(types.float64)), *sizes])


@infer_getattr
class WorkspaceParts(AttributeTemplate):
    """Parts are attributes."""

    key = Workspace

    def generic_resolve(self, value: Workspace, attr: str) -> Any:
        return value.part(attr) if attr in value.layout.declared else None


@lower_getattr_generic(Workspace)
def get_part(context: Any, builder: Any, kind: Workspace, value: Any, attr: str) -> Any:
    """A view of a part."""
    terms = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    names = {name: getattr(terms, name) for name in kind.layout.sizes}
    numbers = _Numbers(builder, names)
    part = kind.layout.declared[attr]
    offset = numbers.of(kind.layout.begins[attr])
    shape = [numbers.of(extent) for extent in part.extents]
    strides = [ir.Constant(ir.IntType(64), _BYTES)]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent))
    begin = builder.gep(terms.work, [offset])
    return view(context, builder, kind.part(attr), begin, shape, strides)


class _Numbers:
    """Arithmetic of a layout as instructions."""

    def __init__(self, builder: Any, names: dict[str, Any]) -> None:
        self._builder, self._names = builder, names

    def of(self, expression: str) -> Any:
        return self._of(ast.parse(expression, mode="eval").body)

    def _of(self, tree: Any) -> Any:
        builder = self._builder
        if isinstance(tree, ast.Constant):
            return ir.Constant(ir.IntType(64), tree.value)
        if isinstance(tree, ast.Name):
            return self._names[tree.id]
        if isinstance(tree, ast.Call):
            result = self._of(tree.args[0])
            order = ">" if ast.unparse(tree.func) == "max" else "<"
            for other in map(self._of, tree.args[1:]):
                result = builder.select(builder.icmp_signed(order, result, other), result, other)
            return result
        make = {
            ast.Add: builder.add,
            ast.Sub: builder.sub,
            ast.Mult: builder.mul,
            ast.FloorDiv: builder.sdiv,
        }
        return make[type(tree.op)](self._of(tree.left), self._of(tree.right))


def teach(unpack: Callable[..., Any], layout: Any) -> None:
    """Tell numba what a layout's `unpack` gives."""
    kind = Workspace(layout)

    @type_callable(unpack)
    def type_of_unpack(context: Any) -> Any:
        return eval(f"lambda work, {', '.join(layout.sizes)}: kind", {"kind": kind})

    @lower_builtin(unpack, types.Array, *(types.Integer for _ in layout.sizes))
    def make_unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        terms = cgutils.create_struct_proxy(kind)(context, builder)
        terms.work = array_pointer(context, builder, signature.args[0], arguments[0])
        for name, given, value in zip(layout.sizes, signature.args[1:], arguments[1:], strict=True):
            setattr(terms, name, context.cast(builder, value, given, types.intp))
        return terms._getvalue()
