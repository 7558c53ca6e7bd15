"""How a kernel is called from C: one struct of eight-byte fields, filled by name.

A `Frame` follows from a kernel's signature and one example of its arguments. The struct holds the
arguments in their order, then the results::

    struct projected_control_tick {
      int64_t law;
      double stamp;
      double *q; int64_t q_shape[1];
      …
      int64_t action;
    };

An array is its pointer and shape, and its strides where it need not be dense. Numbers are
``int64_t`` or ``double``, a truth value is an ``int64_t``. Nothing here needs numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import interpreted
from projected_control.errors import InvalidValue

BYTES_PER_FIELD = 8

INTEGER, REAL, TRUTH = "int64_t", "double", "bool"
"""What a number in a frame is; a truth value takes an ``int64_t`` in C."""

DENSE, DENSE_BY_COLUMNS, STRIDED = "C", "F", "A"
"""How an array lies in memory, in NumPy's letters."""


@dataclass(frozen=True)
class Leaf:
    """One argument, or one member of an argument that is a tuple.

    Attributes:
        name: Of the parameter.
        number: `INTEGER`, `REAL` or `TRUTH`: of the number, or of an array's elements.
        dimensions: Of an array; 0 for a number.
        order: `DENSE`, `DENSE_BY_COLUMNS` or `STRIDED`; of an array.
    """

    name: str
    number: str
    dimensions: int = 0
    order: str = DENSE

    @property
    def c_type(self) -> str:
        """In C: of the number, or of an array's elements."""
        return INTEGER if self.number == TRUTH else self.number

    @property
    def fields(self) -> list[tuple[str, str, int]]:
        """Of the struct: declaration's type, name, and how many there are."""
        if not self.dimensions:
            return [(self.c_type, self.name, 1)]
        shape = [
            (f"{self.c_type} *", self.name, 1),
            (INTEGER, f"{self.name}_shape", self.dimensions),
        ]
        strides = [(INTEGER, f"{self.name}_strides", self.dimensions)]
        return shape + (strides if self.order == STRIDED else [])

    @property
    def size(self) -> int:
        """How many fields it takes."""
        return sum(count for _, _, count in self.fields)


Tree = Leaf | tuple["Tree", ...]
"""An argument; tuples nest."""


@dataclass(frozen=True)
class Frame:
    """The struct by which C calls a kernel.

    Attributes:
        name: Of the kernel; struct and function are called ``projected_control_<name>``.
        kernel: The Python function, compiled or not.
        arguments: By parameter.
        results: Names and kinds of what the kernel returns.
        meaning: For the header.
    """

    name: str
    kernel: Callable[..., Any]
    arguments: tuple[Tree, ...]
    results: tuple[Leaf, ...]
    meaning: str

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


def frame_of(
    name: str,
    kernel: Callable[..., Any],
    example: Sequence[Any],
    *,
    results: Mapping[str, str] | None = None,
    members: Mapping[str, Sequence[str]] | None = None,
    orders: Mapping[str, str] | None = None,
) -> Frame:
    """The frame of a kernel.

    Args:
        name: For C.
        kernel: The kernel.
        example: Arguments, of which the types are taken.
        results: What is returned: names and kinds (`INTEGER`, `REAL`, `TRUTH`), in order.
        members: For parameters that are tuples: the names of their members.
        orders: How arrays lie, where the example would mislead: by name.
    """
    function = interpreted(kernel)
    names = list(inspect.signature(function).parameters)
    if len(names) != len(example):
        raise InvalidValue(f"{name} takes {len(names)} arguments, the example has {len(example)}")
    meaning = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
    trees = tuple(
        _tree(parameter, value, dict(members or {}), dict(orders or {}))
        for parameter, value in zip(names, example, strict=True)
    )
    returned = tuple(Leaf(key, kind) for key, kind in (results or {}).items())
    frame = Frame(name, kernel, trees, returned, meaning)
    twice = [leaf.name for leaf in frame.leaves]
    if len(set(twice)) != len(twice):
        raise InvalidValue(f"two arguments of {name} have one name: {sorted(twice)}")
    return frame


def _tree(name: str, value: Any, members: dict[str, Sequence[str]], orders: dict[str, str]) -> Tree:
    if isinstance(value, tuple):
        inner = members.get(name) or [f"{name}_{i}" for i in range(len(value))]
        return tuple(
            _tree(member, part, members, orders) for member, part in zip(inner, value, strict=True)
        )
    if isinstance(value, np.ndarray):
        return Leaf(name, _number(name, value.dtype), value.ndim, orders.get(name) or _order(value))
    return Leaf(name, _number(name, np.asarray(value).dtype))


def _number(name: str, dtype: np.dtype[Any]) -> str:
    numbers = {"float64": REAL, "int64": INTEGER, "bool": TRUTH}
    if dtype.name not in numbers:
        raise InvalidValue(f"{name} is {dtype}; a frame holds float64, int64 and bool")
    return numbers[dtype.name]


def _order(array: NDArray[Any]) -> str:
    if array.flags.c_contiguous:
        return DENSE
    return DENSE_BY_COLUMNS if array.flags.f_contiguous else STRIDED


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
        if leaf.order == STRIDED:
            strides = self.places[f"{name}_strides"]
            self.fields[strides : strides + array.ndim] = array.strides

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
    orders = {DENSE: "dense", DENSE_BY_COLUMNS: "dense by columns", STRIDED: ""}
    return f"an array of {leaf.dimensions} dimensions of {leaf.c_type} {orders[leaf.order]}".strip()
