"""Workspaces: what a kernel reads and writes, as named parts of one array of doubles.

A layout is declared once, as a NamedTuple whose fields carry their shapes::

    class Terms(NamedTuple):
        \"\"\"The parts of a workspace.\"\"\"

        q: Annotated[Array, Part("n", "Joint positions [rad or m].")]
        A: Annotated[Array, Part("m, n", "Constraint Jacobian.")]
        first_joints: Annotated[Array, Part("m", "The beginning of q.", at="q")]

    TERMS = Layout(Terms, "n", "m")
    unpack = TERMS.unpack

Everything else follows from that: the size of the array (`Layout.size`), the function that names
its parts as views, in kernels and in Python (`Layout.unpack`, `Layout.view`), the offsets at which
code in another language finds them (`Layout.offsets`), and the list of parts in the docstring. All
of that is worked out when it is first asked for: most commands declare layouts and use none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import teach_workspace
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]
Parts = TypeVar("Parts", bound=tuple[Any, ...])

BYTES_PER_NUMBER = 8
"""A workspace holds doubles and nothing else."""

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)
_FUNCTIONS = ("max", "min")
_TAKEN = ("work", "end", "Parts", *_FUNCTIONS)


LAYOUTS: dict[type, Any] = {}
"""By what is unpacked."""


@dataclass(frozen=True)
class Part:
    """One part of a workspace.

    Attributes:
        shape: Its extents, separated by commas; each a sum, product or maximum of the layout's
            sizes and whole numbers: ``"3, m"``, ``"m + k"``, ``"max(m, k)"``.
        meaning: What it holds, with its unit.
        at: Where it begins, for a part that lies within others: the name of one, which stands for
            its offset, plus whole numbers and sizes: ``"value + m"``. None for a part of its own,
            which begins where the last of these ended.
    """

    shape: str
    meaning: str
    at: str | None = None

    @cached_property
    def extents(self) -> list[str]:
        """The shape, one expression per dimension."""
        tree = _parse(f"({self.shape},)", self.shape)
        return [ast.unparse(element) for element in cast(ast.Tuple, tree).elts]

    @cached_property
    def count(self) -> str:
        """How many numbers it holds, as an expression."""
        whole = (e if e.isalnum() else f"({e})" for e in self.extents)
        return " * ".join(whole)


class Layout(Generic[Parts]):
    """A declared workspace.

    Args:
        parts: A NamedTuple of which every field is ``Annotated[Array, Part(…)]``. Its docstring is
            completed by the list of parts, in the order in which they lie.
        sizes: Names of the sizes that the shapes are made of, in the order in which `unpack` takes
            them.

    Attributes:
        unpack: ``unpack(work, *sizes)``: the parts as views, nothing is copied or checked. For
            kernels; `view` is for Python.
        attribute: Under which unpacked parts keep array and sizes, for a kernel that takes them.
    """

    def __init__(self, parts: type[Parts], *sizes: str) -> None:
        self.parts, self.sizes = parts, sizes
        self.attribute = f"frame_of_{parts.__name__}"

        def unpack(work: Array, *given: int) -> Parts:
            return self._functions[0](work, *given)

        unpack.__doc__ = f"The parts of an array of `{parts.__name__}`; views, nothing is copied."
        unpack.__module__ = parts.__module__
        self.unpack: Callable[..., Parts] = unpack
        parts.__doc__ = cast(str, _Documentation(self, parts.__doc__ or ""))
        LAYOUTS[parts] = self
        teach_workspace(unpack, self)

    @cached_property
    def declared(self) -> dict[str, Part]:
        """The parts by name, in order; raises where one could not be unpacked."""
        found = _declared_parts(self.parts)
        self._check(found)
        for name, part in found.items():
            getattr(self.parts, name).__doc__ = f"{part.meaning} Shape: {part.shape}."
        return found

    @cached_property
    def length(self) -> str:
        """How many numbers the array holds, as an expression in the sizes."""
        return " + ".join(part.count for part in self.declared.values() if part.at is None)

    def size(self, **sizes: int) -> int:
        """How many numbers the array holds."""
        return int(self._functions[1](*self._ordered(sizes))[0])

    def offsets(self, **sizes: int) -> dict[str, int]:
        """Where each part begins, in numbers from the beginning of the array.

        The parts are dense and in C order. In bytes it is `BYTES_PER_NUMBER` times as much.
        """
        _, begins, _ = self._functions[1](*self._ordered(sizes))
        return dict(zip(self.declared, begins, strict=True))

    def shapes(self, **sizes: int) -> dict[str, tuple[int, ...]]:
        """The shape of each part."""
        _, _, shapes = self._functions[1](*self._ordered(sizes))
        return dict(zip(self.declared, shapes, strict=True))

    def new(self, **sizes: int) -> Array:
        """An array of zeros for these sizes."""
        return np.zeros(self.size(**sizes))

    def view(self, work: Array, **sizes: int) -> Parts:
        """The parts of an array as views, for Python."""
        expected = self.size(**sizes)
        if work.dtype != np.float64 or work.shape != (expected,) or not work.flags.c_contiguous:
            raise InvalidValue(
                f"a workspace of {self.parts.__name__} with {_listed(sizes)} is one dense array of "
                f"{expected} doubles, got {work.dtype} of shape {work.shape}"
            )
        return self.unpack(work, *self._ordered(sizes))

    def length_with(self, **substitutes: str) -> str:
        """`length` with expressions in place of sizes, for a layout that counts otherwise."""
        tree = _Substitution(substitutes).visit(_parse(self.length, self.length))
        return f"({ast.unparse(tree)})"

    def _ordered(self, sizes: dict[str, int]) -> list[int]:
        if set(sizes) != set(self.sizes):
            raise InvalidValue(
                f"the layout of {self.parts.__name__} has the sizes {', '.join(self.sizes)}, "
                f"got {', '.join(sizes) or 'none'}"
            )
        if any(size < 0 for size in sizes.values()):
            raise InvalidValue(f"sizes must not be negative, got {_listed(sizes)}")
        return [sizes[name] for name in self.sizes]

    def _check(self, declared: dict[str, Part]) -> None:
        """Refuse a declaration that could not be unpacked."""
        before: list[str] = []
        for name, part in declared.items():
            where = f"{name} of {self.parts.__name__}"
            for extent in part.extents:
                _check_expression(f"the shape of {where}", extent, list(self.sizes))
            if part.at is not None:
                _check_expression(f"the place of {where}", part.at, [*self.sizes, *before])
            if name in (*self.sizes, *_TAKEN):
                raise InvalidValue(f"{where} has a name that is taken; call it something else")
            before.append(name)

    @cached_property
    def _functions(self) -> tuple[Callable[..., Parts], Callable[..., Any]]:
        """`unpack` for Python; and length, beginnings and shapes for given sizes."""
        lines, views, shapes = ["    end = 0"], [], []
        for name, part in self.declared.items():
            lines.append(f"    {name} = {'end' if part.at is None else part.at}")
            if part.at is None:
                lines.append(f"    end = {name} + {part.count}")
            shape = "(" + ", ".join(part.extents) + ",)"
            shapes.append(shape)
            views.append(f"work[{name} : {name} + {part.count}].reshape({shape})")
        sizes, body = ", ".join(self.sizes), "\n".join(lines)
        begins = "".join(f"{name}, " for name in self.declared)
        source = (
            f"def unpack(work, {sizes}):\n{body}\n    parts = Parts({', '.join(views)})\n"
            f"    parts.{self.attribute} = (work, {sizes})\n    return parts\n\n"
            f"def places({sizes}):\n{body}\n    return end, ({begins}), ({', '.join(shapes)},)\n"
        )
        title = self.parts.__name__
        viewed = type(title, (self.parts,), {"__module__": self.parts.__module__})
        names: dict[str, Any] = {"Parts": viewed}
        exec(compile(source, f"<layout of {title}>", "exec"), names)
        return names["unpack"], names["places"]

    @cached_property
    def begins(self) -> dict[str, str]:
        """Where each part begins, as an expression in the sizes, by name."""
        begins: dict[str, str] = {}
        end = "0"
        for name, part in self.declared.items():
            if part.at is None:
                begins[name] = end
                end = _summed(f"{end} + {part.count}")
            else:
                tree = _Substitution(begins).visit(_parse(part.at, part.at))
                begins[name] = _summed(ast.unparse(tree))
        return begins

    def documentation(self) -> str:
        """The list of parts, in the order in which they lie."""
        lines = [f"    Attributes (sizes: {', '.join(self.sizes)}):"]
        for name, part in self.declared.items():
            within = "" if part.at is None else f", at {part.at}"
            lines.append(f"        {name}: ({part.shape}{within}) {part.meaning}")
        return "\n".join(lines) + "\n"


class _Documentation:
    """The docstring of a layout's parts: what it was, and the list of them."""

    def __init__(self, layout: Layout[Any], text: str) -> None:
        self._layout, self._text = layout, text

    def __get__(self, parts: object, kind: type) -> str:
        return f"{self._text.rstrip()}\n\n{self._layout.documentation()}"


def _declared_parts(parts: type[tuple[Any, ...]]) -> dict[str, Part]:
    """The parts of a NamedTuple by name, in order."""
    found: dict[str, Part] = {}
    for name, hint in get_type_hints(parts, include_extras=True).items():
        declared = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Part)]
        if len(declared) != 1:
            raise InvalidValue(
                f"{name} of {parts.__name__} has no shape; declare it as "
                f'{name}: Annotated[Array, Part("n, n", "What it holds.")]'
            )
        found[name] = declared[0]
    return found


def _parse(expression: str, shown: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise InvalidValue(f"{shown!r} is not a shape; write for example '3, m + k'") from None


def _check_expression(what: str, expression: str, known: list[str]) -> None:
    """Refuse what is not arithmetic of whole numbers and known names."""
    for node in ast.walk(_parse(expression, expression)):
        if isinstance(node, ast.Name):
            if node.id not in known and node.id not in _FUNCTIONS:
                raise InvalidValue(f"{what} names {node.id!r}; there is {', '.join(known)}")
        elif isinstance(node, ast.Constant):
            if type(node.value) is not int:
                raise InvalidValue(f"{what} must be made of whole numbers, got {node.value!r}")
        elif not isinstance(node, (ast.BinOp, ast.Call, ast.Load, *_OPERATORS)):
            raise InvalidValue(
                f"{what} is {expression!r}; it may be made of +, -, *, //, max and min"
            )


def _summed(expression: str) -> str:
    """The same number as a sum of products, each kind of product once."""
    products = _products(_parse(expression, expression))
    texts = [" * ".join([str(count), *factors]) for factors, count in products.items() if count]
    return " + ".join(texts) or "0"


def _products(tree: ast.expr) -> dict[tuple[str, ...], int]:
    """The summands of an expression: how often each product of sizes is among them."""
    if isinstance(tree, ast.Constant):
        return {(): cast(int, tree.value)}
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub)):
        found = dict(_products(tree.left))
        sign = 1 if isinstance(tree.op, ast.Add) else -1
        for factors, count in _products(tree.right).items():
            found[factors] = found.get(factors, 0) + sign * count
        return found
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        product: dict[tuple[str, ...], int] = {}
        for left, one in _products(tree.left).items():
            for right, other in _products(tree.right).items():
                factors = tuple(sorted(left + right))
                product[factors] = product.get(factors, 0) + one * other
        return product
    return {(f"({ast.unparse(tree)})",): 1}


class _Substitution(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, substitutes: dict[str, str]) -> None:
        self._trees = {name: _parse(text, text) for name, text in substitutes.items()}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._trees.get(node.id, node)


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())
