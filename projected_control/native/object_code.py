"""Kernels as an object file without Python, numba or LLVM in it.

A kernel is compiled for the types of its frame. Around it goes a function that takes a frame: it
loads pointers, shapes and numbers, makes the arrays as numba has them, calls, and stores the
results. Everything else becomes internal, what is dead is dropped, and the rest is optimised as one
piece, for the baseline of a machine: this one, or another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils

from projected_control.errors import InvalidValue
from projected_control.native.kernel_calls import (
    BYTES_PER_FIELD,
    DENSE,
    DENSE_BY_COLUMNS,
    INTEGER,
    REAL,
    TRUTH,
    Frame,
    Leaf,
    Tree,
)
from projected_control.native.numba_insides import TranslatedKernel, view
from projected_control.native.numba_kernels import part_of
from projected_control.native.toolchain import ExportFailed, Machine
from projected_control.native.workspaces import Workspace

_NUMBERS = {INTEGER: types.int64, REAL: types.float64, TRUTH: types.boolean}
_FIELD = ir.IntType(8 * BYTES_PER_FIELD)

LIBM = {"atan2", "ceil", "cos", "exp", "fabs", "floor", "fmod", "log", "pow", "rint", "sin", "sqrt"}
LIBM |= {"tan", "tanh"}
LIBC = {"memset", "memcpy", "memmove"}
"""What an object may leave to the C library."""


def numba_type(tree: Tree) -> Any:
    """The type of an argument, as numba has it."""
    if not isinstance(tree, Leaf):
        return types.BaseTuple.from_types([numba_type(branch) for branch in tree])
    if tree.layout is not None:
        return Workspace(tree.layout)
    number: Any = _NUMBERS[tree.number]
    order: Any = tree.order
    return types.Array(number, tree.dimensions, order) if tree.dimensions else number


def object_code(
    frames: Sequence[Frame],
    constants: Mapping[str, Any],
    target: Machine,
    say: Callable[[float, str], None] = lambda done, what: None,
) -> bytes:
    """An object file with one function per frame, and constants beside them.

    Args:
        frames: What to export.
        constants: By symbol: text, or a list of integers.
        target: Where it shall run.
        say: Told what is done, as a fraction, and what comes next.
    """
    module = llvm.parse_assembly(str(_constants_module(constants)))
    for i, frame in enumerate(frames):
        say(0.7 * i / len(frames), frame.name)
        for part in _kernel_modules(frame):
            module.link_in(part)
    keep = {frame.symbol for frame in frames} | set(constants)
    machine = _target_machine(target)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    _internalise(module, keep)
    say(0.7, "optimising")
    _optimise(module, machine)
    say(0.9, "machine code")
    module.verify()
    _refuse_dependencies(module)
    return bytes(machine.emit_object(module))


def _kernel_modules(frame: Frame) -> list[Any]:
    """The compiled kernel, and the function that takes a frame and calls it."""
    signature = tuple(numba_type(tree) for tree in frame.arguments)
    part = part_of(frame.kernel, signature)
    return [llvm.parse_bitcode(part.bitcode), llvm.parse_assembly(str(_around(frame, part)))]


def _around(frame: Frame, part: TranslatedKernel) -> ir.Module:
    """``int32_t projected_control_<name>(struct projected_control_<name> *)``."""
    module = ir.Module(frame.symbol)
    function = ir.Function(
        module, ir.FunctionType(ir.IntType(32), [_FIELD.as_pointer()]), frame.symbol
    )
    builder = ir.IRBuilder(function.append_basic_block())
    reader = _FrameReader(part.context, builder, function.args[0])
    well, status, result = part.call(builder, [reader.argument(tree) for tree in frame.arguments])
    with builder.if_then(well):
        returned = _returned(frame, part.returned, result, builder)
        for leaf, value in zip(frame.results, returned, strict=True):
            reader.store(leaf, value)
    builder.ret(status)
    return module


def _returned(frame: Frame, kind: Any, result: Any, builder: ir.IRBuilder) -> list[Any]:
    """What the kernel returned, one value per result."""
    values, kinds = _flattened(kind, result, builder)
    if [_NUMBERS[leaf.number] for leaf in frame.results] != kinds:
        raise InvalidValue(
            f"{frame.name} returns {kinds}, its frame says "
            f"{[leaf.number for leaf in frame.results]}"
        )
    return list(values)


def _flattened(kind: Any, value: Any, builder: ir.IRBuilder) -> tuple[list[Any], list[Any]]:
    """Values and types of a result, whose tuples may nest."""
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind, cgutils.unpack_tuple(builder, value, len(kind)), strict=True)
        found = [_flattened(inner, part, builder) for inner, part in parts]
        return [v for values, _ in found for v in values], [k for _, kinds in found for k in kinds]
    return ([], []) if kind == types.none else ([value], [kind])


class _FrameReader:
    """Loads arguments from a frame, one after the other, and stores results."""

    def __init__(self, context: Any, builder: ir.IRBuilder, frame: Any) -> None:
        self._context, self._builder, self._frame = context, builder, frame
        self._next = 0

    def argument(self, tree: Tree) -> Any:
        """The next argument, as numba has it."""
        if isinstance(tree, Leaf):
            if tree.layout is not None:
                return self._workspace(tree)
            return self._array(tree) if tree.dimensions else self._number(tree)
        parts = [self.argument(branch) for branch in tree]
        return self._context.make_tuple(self._builder, numba_type(tree), parts)

    def store(self, leaf: Leaf, value: Any) -> None:
        """The next result."""
        place = self._place()
        if leaf.number == REAL:
            place = self._builder.bitcast(place, ir.DoubleType().as_pointer())
        elif leaf.number == TRUTH:
            value = self._builder.zext(value, _FIELD)
        self._builder.store(value, place)

    def _place(self) -> Any:
        place = self._builder.gep(self._frame, [ir.Constant(_FIELD, self._next)])
        self._next += 1
        return place

    def _integers(self, count: int) -> list[Any]:
        return [self._builder.load(self._place()) for _ in range(count)]

    def _number(self, leaf: Leaf) -> Any:
        builder, place = self._builder, self._place()
        if leaf.number == REAL:
            return builder.load(builder.bitcast(place, ir.DoubleType().as_pointer()))
        value = builder.load(place)
        if leaf.number == TRUTH:
            return builder.icmp_signed("!=", value, ir.Constant(_FIELD, 0))
        return value

    def _array(self, leaf: Leaf) -> Any:
        builder = self._builder
        data = builder.load(self._place())
        shape = self._integers(leaf.dimensions)
        strides = self._dense_strides(shape, leaf.order)
        return view(self._context, builder, numba_type(leaf), data, shape, strides)

    def _workspace(self, leaf: Leaf) -> Any:
        builder = self._builder
        terms = cgutils.create_struct_proxy(numba_type(leaf))(self._context, builder)
        terms.work = builder.inttoptr(builder.load(self._place()), terms.work.type)
        for name, size in zip(
            leaf.layout.sizes, self._integers(len(leaf.layout.sizes)), strict=True
        ):
            setattr(terms, name, size)
        return terms._getvalue()

    def _dense_strides(self, shape: list[Any], order: str) -> list[Any]:
        assert order in (DENSE, DENSE_BY_COLUMNS)
        inner_first = shape[::-1] if order == DENSE else shape
        strides = [ir.Constant(_FIELD, BYTES_PER_FIELD)]
        for extent in inner_first[:-1]:
            strides.append(self._builder.mul(strides[-1], extent))
        return strides[::-1] if order == DENSE else strides


def _constants_module(constants: Mapping[str, Any]) -> ir.Module:
    module = ir.Module("projected_control_constants")
    module.triple = llvm.get_process_triple()
    for symbol, value in constants.items():
        if isinstance(value, str):
            data = bytearray(value.encode() + b"\0")
            constant = ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), data)
        else:
            kind = ir.ArrayType(_FIELD, len(value))
            constant = ir.Constant(kind, [ir.Constant(_FIELD, int(number)) for number in value])
        place = ir.GlobalVariable(module, constant.type, symbol)
        place.global_constant = True
        place.initializer = constant
    return module


def _target_machine(target: Machine) -> Any:
    if not target.is_this_one:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    triple = target.triple or llvm.get_process_triple()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=target.processor, features="", opt=3, reloc="pic", codemodel="default"
    )


def _internalise(module: Any, keep: set[str]) -> None:
    for thing in (*module.functions, *module.global_variables):
        if not thing.is_declaration and thing.name not in keep:
            thing.linkage = "internal"


def _optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    for _ in range(2):  # the second time with everything in its place: 3 % of a tick
        passes = builder.getModulePassManager()
        passes.run(module, builder)


def _refuse_dependencies(module: Any) -> None:
    """Nothing but the C library may be missing from the object."""
    used = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    used += [v.name for v in module.global_variables if v.is_declaration]
    strange = sorted(set(used) - LIBM - LIBC)
    if strange:
        raise ExportFailed(
            f"the exported kernels would need {', '.join(strange)} at run time: a kernel "
            "allocates, raises or makes objects; see CONTRIBUTING.md, Kernels"
        )
