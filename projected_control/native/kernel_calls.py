"""How a kernel is called from C: one struct of eight-byte fields, filled by name.

A `Frame` follows from a kernel's signature. The struct holds the
arguments in their order, then the results::

    struct projected_control_tick {
      int64_t law;
      double stamp;
      double *q; int64_t q_shape[1];
      …
      int64_t action;
    };

An array is its pointer and shape; it is dense, by rows or by columns. Numbers are
``int64_t`` or ``double``, a truth value is an ``int64_t``. Nothing here needs numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Dense
from projected_control.errors import InvalidValue
from projected_control.workspace import LAYOUTS

BYTES_PER_FIELD = 8

INTEGER, REAL, TRUTH = "int64_t", "double", "bool"
"""What a number in a frame is; a truth value takes an ``int64_t`` in C."""

DENSE, DENSE_BY_COLUMNS = "C", "F"
"""How an array lies in memory, in NumPy's letters."""


@dataclass(frozen=True)
class Leaf:
    """One argument, or one member of an argument that is a tuple."""

    name: str  # of the parameter
    number: str  # `INTEGER`, `REAL` or `TRUTH`: of the number, or of an array's elements
    dimensions: int = 0  # of an array; 0 for a number
    order: str = DENSE  # `DENSE` or `DENSE_BY_COLUMNS`; of an array
    layout: Any = None  # of a workspace, which is handed over as its place and sizes

    @property
    def c_type(self) -> str:
        """In C: of the number, or of an array's elements."""
        return INTEGER if self.number == TRUTH else self.number

    @property
    def fields(self) -> list[tuple[str, str, int]]:
        """Of the struct: declaration's type, name, and how many there are."""
        if self.layout is not None:
            sizes = len(self.layout.sizes)
            return [("double *", self.name, 1), (INTEGER, f"{self.name}_sizes", sizes)]
        if not self.dimensions:
            return [(self.c_type, self.name, 1)]
        return [
            (f"{self.c_type} *", self.name, 1),
            (INTEGER, f"{self.name}_shape", self.dimensions),
        ]

    @property
    def size(self) -> int:
        """How many fields it takes."""
        return sum(count for _, _, count in self.fields)


Tree = Leaf | tuple["Tree", ...]
"""An argument; tuples nest."""


@dataclass(frozen=True)
class Frame:
    """The struct by which C calls a kernel."""

    name: str  # of the kernel; struct and function are called ``projected_control_<name>``
    kernel: Callable[..., Any]  # the Python function, compiled or not
    arguments: tuple[Tree, ...]  # by parameter
    results: tuple[Leaf, ...]  # names and kinds of what the kernel returns
    meaning: str  # for the header
    returned: Tree = ()  # the results, as the kernel nests them

    @property
    def symbol(self) -> str:
        """Name in the library."""
        return f"projected_control_{self.name}"

    @property
    def leaves(self) -> list[Leaf]:
        """All of the struct, in order."""
        return [*flat(self.arguments), *self.results]

    @property
    def places(self) -> dict[str, int]:
        """Where each field begins, in fields."""
        places, at = {}, 0
        for leaf in self.leaves:
            for _, name, count in leaf.fields:
                places[name] = at
                at += count
        return places

    @property
    def size(self) -> int:
        """How many fields there are."""
        return sum(leaf.size for leaf in self.leaves)


def flat(tree: Sequence[Tree]) -> Iterator[Leaf]:
    """The leaves in order."""
    for branch in tree:
        if isinstance(branch, Leaf):
            yield branch
        else:
            yield from flat(branch)


def frame_of(name: str, function: Callable[..., Any], *, results: Sequence[str] = ()) -> Frame:
    """The frame of a kernel, as its annotations say it.

    Args:
        name: For C.
        function: The Python function.
        results: Names of what it returns, where they are not to be called result_0 and so on.
    """
    workspaces: dict[str, Any] = {parts.__name__: parts for parts in LAYOUTS}
    hints = get_type_hints(function, localns=workspaces, include_extras=True)
    returned = hints.pop("return")
    arguments = tuple(_tree(key, hint) for key, hint in hints.items())
    meaning = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
    given = () if returned is type(None) else _tree("result", returned)
    leaves = tuple(flat([given]))
    if results:
        leaves = tuple(replace(leaf, name=key) for leaf, key in zip(leaves, results, strict=True))
    frame = Frame(name, function, arguments, leaves, meaning, given)
    twice = [leaf.name for leaf in frame.leaves]
    if len(set(twice)) != len(twice):
        raise InvalidValue(f"two arguments of {name} have one name: {sorted(twice)}")
    return frame


def _tree(name: str, hint: Any) -> Tree:
    dense = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Dense)), None)
    if dense is not None:
        return Leaf(name, dense.number, dense.dimensions, dense.order)
    if hint in LAYOUTS:
        return Leaf(name, REAL, layout=LAYOUTS[hint])
    if get_origin(hint) is tuple:
        return tuple(_tree(f"{name}_{i}", part) for i, part in enumerate(get_args(hint)))
    numbers = {float: REAL, int: INTEGER, bool: TRUTH}
    if hint not in numbers:
        raise InvalidValue(
            f"{name} is {hint}: what Python hands to a kernel is a number, a tuple of numbers, "
            "Numbers, Matrix, Columns, Integers or the parts of a workspace"
        )
    return Leaf(name, numbers[hint])


def signature_text(frame: Frame) -> str:
    """What ``native/c/call.c`` has to know to call it."""
    short = {REAL: "d", INTEGER: "i", TRUTH: "b"}
    parameters = inspect.signature(frame.kernel).parameters.values()
    words = []
    for parameter, tree in zip(parameters, frame.arguments, strict=True):
        layout = tree.layout if isinstance(tree, Leaf) else None
        if not isinstance(tree, Leaf):
            word = f"t..{len(tree)}"
        elif layout is not None:
            word = f"w..{len(layout.sizes)}"
        elif tree.dimensions:
            word = f"a{short[tree.number]}{tree.order}{tree.dimensions}"
        else:
            word = f"{short[tree.number]}..0"
        standard = "" if parameter.default is parameter.empty else f"={float(parameter.default)!r}"
        attribute = f"@{layout.attribute}" if layout is not None else ""
        words.append(f"{word}:{parameter.name}{standard}{attribute}")

    def form(tree: Tree) -> str:
        return short[tree.number] if isinstance(tree, Leaf) else f"({''.join(map(form, tree))})"

    return " ".join([*words, *(["->", form(frame.returned)] if frame.results else [])])


def _number(name: str, dtype: np.dtype[Any]) -> str:
    numbers = {"float64": REAL, "int64": INTEGER, "bool": TRUTH}
    if dtype.name not in numbers:
        raise InvalidValue(f"{name} is {dtype}; a frame holds float64, int64 and bool")
    return numbers[dtype.name]


class Call:
    """The arguments of one call, as they lie in memory.

    Pointers are taken once: the arrays must stay where they are, and are kept alive here. Numbers
    may be changed at any time (`set`).

    Args:
        frame: Of which kernel.
        arguments: As the kernel takes them.
    """

    def __init__(self, frame: Frame, arguments: Sequence[Any]) -> None:
        self.frame = frame
        self.fields: NDArray[np.int64] = np.zeros(frame.size, dtype=np.int64)
        self.reals = self.fields.view(np.float64)
        self.places = frame.places
        self.address = self.fields.ctypes.data
        self._kept: dict[str, NDArray[Any]] = {}
        self._kinds = {leaf.name: leaf for leaf in frame.leaves}
        values = list(_leaf_values(frame.arguments, arguments))
        for leaf, value in zip(flat(frame.arguments), values, strict=True):
            self.set(leaf.name, value)

    def set(self, name: str, value: Any) -> None:
        """Change an argument."""
        leaf, at = self._kinds[name], self.places[name]
        if not leaf.dimensions:
            (self.reals if leaf.number == REAL else self.fields)[at] = value
            return
        array = np.asarray(value)
        wrong = _misfit(leaf, array)
        if wrong:
            raise InvalidValue(f"{name} of {self.frame.name} must be {_described(leaf)}: {wrong}")
        self._kept[name] = array
        self.fields[at] = array.ctypes.data
        shape = self.places[f"{name}_shape"]
        self.fields[shape : shape + array.ndim] = array.shape

    def get(self, name: str) -> float | int:
        """A number of the call: an argument, or a result once it was made."""
        leaf, at = self._kinds[name], self.places[name]
        return float(self.reals[at]) if leaf.number == REAL else int(self.fields[at])


def _leaf_values(tree: Sequence[Tree], values: Sequence[Any]) -> Iterator[Any]:
    for branch, value in zip(tree, values, strict=True):
        if isinstance(branch, Leaf):
            yield value
        else:
            yield from _leaf_values(branch, value)


def _misfit(leaf: Leaf, array: NDArray[Any]) -> str:
    if array.ndim != leaf.dimensions:
        return f"it has {array.ndim} dimensions"
    if _number(leaf.name, array.dtype) != leaf.number:
        return f"it holds {array.dtype}"
    if leaf.order == DENSE and not array.flags.c_contiguous:
        return "it is not dense by rows"
    if leaf.order == DENSE_BY_COLUMNS and not array.flags.f_contiguous:
        return "it is not dense by columns"
    return ""


def _described(leaf: Leaf) -> str:
    orders = {DENSE: "dense", DENSE_BY_COLUMNS: "dense by columns"}
    return f"an array of {leaf.dimensions} dimensions of {leaf.c_type} {orders[leaf.order]}".strip()
