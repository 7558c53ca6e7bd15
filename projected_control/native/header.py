"""The C header of the exported library, generated from frames and layouts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum, IntFlag
from textwrap import fill
from typing import ClassVar

from projected_control.native.kernel_calls import Frame
from projected_control.workspace import Layout

AnyLayout = Layout[tuple[object, ...]]
Enumeration = type[IntEnum] | type[IntFlag]

PREFIX = "projected_control_"

_BEGIN = """\
/* Kernels of projected_control {version}, exported for {processor}. Generated: do not edit.
 *
 * Every kernel takes one struct. Fill it by name, call the function of the same name, look at the
 * status: anything but zero means that the results are worth nothing, and that zero effort is sent.
 * Kernels allocate nothing, wait for nothing and keep nothing but what lies in the arrays they get:
 * one writer per array, and calls with different arrays may run beside each other.
 *
 * Call projected_control_mismatch() once after loading. It returns NULL, or what does not fit.
 */
#ifndef PROJECTED_CONTROL_KERNELS_H
#define PROJECTED_CONTROL_KERNELS_H

#include <stdint.h>
#include <string.h>

#define PROJECTED_CONTROL_VERSION "{version}"
#define PROJECTED_CONTROL_DIGEST "{digest}"

#ifdef __cplusplus
extern "C" {{
#endif

extern const char projected_control_version[];
extern const char projected_control_digest[];
extern const int64_t projected_control_sizes[];

static inline int64_t projected_control_larger(int64_t a, int64_t b) {{ return a > b ? a : b; }}
static inline int64_t projected_control_smaller(int64_t a, int64_t b) {{ return a < b ? a : b; }}
"""

_END = """
#ifdef __cplusplus
}
#endif

#endif
"""


def header(
    frames: Sequence[Frame],
    layouts: Sequence[AnyLayout],
    enumerations: Sequence[Enumeration],
    *,
    version: str,
    digest: str,
    processor: str,
) -> str:
    """The whole file."""
    parts = [_BEGIN.format(version=version, digest=digest, processor=processor)]
    parts += [enumeration(kinds) for kinds in enumerations]
    parts += [_layout(layout) for layout in layouts]
    parts += [_frame(frame) for frame in frames]
    parts += [_mismatch(frames, layouts), _END]
    return "\n".join(parts)


def sample_sizes(layout: AnyLayout) -> dict[str, int]:
    """Sizes at which libraries and headers are compared: different ones, none of them zero."""
    return {name: 3 + 2 * i for i, name in enumerate(layout.sizes)}


def library_sizes(frames: Iterable[Frame], layouts: Iterable[AnyLayout]) -> list[int]:
    """What has to agree: fields of every struct, and numbers of every workspace at the samples."""
    fields = [frame.size for frame in frames]
    return fields + [layout.size(**sample_sizes(layout)) for layout in layouts]


def snake_case(name: str) -> str:
    """`ControlTerms` is ``control_terms`` in C."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def comment(text: str) -> str:
    """A comment in C."""
    body = fill(" ".join(text.replace("*/", "* /").split()), 94, subsequent_indent=" * ")
    return f"/* {body} */"


def enumeration(kinds: Enumeration, name: str = "") -> str:
    """The names and numbers of an enumeration, under its own name or this one."""
    stem = f"{PREFIX}{snake_case(name or kinds.__name__)}".upper()
    lines = [f"  {stem}_{kind.name} = {int(kind)}," for kind in kinds]
    lines += [f"  {stem}_LAST = {int(max(kinds))},"]
    return "enum {\n" + "\n".join(lines) + "\n};\n"


def _layout(layout: AnyLayout) -> str:
    name = snake_case(layout.parts.__name__)
    sizes = ", ".join(f"int64_t {size}" for size in layout.sizes)
    unused = "".join(f"  (void){size};\n" for size in layout.sizes)
    renamed = {part: f"at_{part}" for part in layout.declared}
    members, places, views = [], ["  int64_t end = 0;"], []
    for part, declared in layout.declared.items():
        members.append(f"  double *{part};  /* [{declared.shape}] {declared.meaning} */")
        begin = "end" if declared.at is None else in_c(declared.at, renamed)
        places.append(f"  const int64_t at_{part} = {begin};")
        if declared.at is None:
            places.append(f"  end = at_{part} + {in_c(declared.count, {})};")
        views.append(f"  parts.{part} = work + at_{part};")
    first = (layout.parts.__doc__ or "").strip().split("\n\n")[0]
    length = in_c(layout.length, {})
    return "\n".join(
        [
            comment(f"{layout.parts.__name__}: {first}"),
            f"struct {PREFIX}{name} {{",
            *members,
            "};",
            f"static inline int64_t {PREFIX}{name}_size({sizes}) {{",
            f"{unused}  return {length};",
            "}",
            f"static inline struct {PREFIX}{name} {PREFIX}{name}_view(double *work, {sizes}) {{",
            f"  struct {PREFIX}{name} parts;",
            unused.rstrip("\n"),
            *places,
            "  (void)end;",
            *views,
            "  return parts;",
            "}",
            "",
        ]
    )


def _frame(frame: Frame) -> str:
    lines = []
    for leaf in frame.leaves:
        for kind, name, count in leaf.fields:
            space = "" if kind.endswith("*") else " "
            extent = f"[{count}]" if leaf.dimensions and name != leaf.name else ""
            lines.append(f"  {kind}{space}{name}{extent};")
    return "\n".join(
        [
            comment(f"{frame.name}: {frame.meaning}"),
            f"struct {frame.symbol} {{",
            *lines,
            "};",
            f"int32_t {frame.symbol}(struct {frame.symbol} *call);",
            "",
        ]
    )


def _mismatch(frames: Sequence[Frame], layouts: Sequence[AnyLayout]) -> str:
    expected = [f"(int64_t)(sizeof(struct {frame.symbol}) / 8)" for frame in frames]
    for layout in layouts:
        sizes = ", ".join(str(size) for size in sample_sizes(layout).values())
        expected.append(f"{PREFIX}{snake_case(layout.parts.__name__)}_size({sizes})")
    table = ",\n    ".join(expected)
    return f"""\
/* What does not fit between this header and the loaded library; NULL where all does. */
static inline const char *projected_control_mismatch(void) {{
  const int64_t expected[] = {{
    {table}}};
  unsigned i;
  if (strcmp(projected_control_version, PROJECTED_CONTROL_VERSION))
    return "the library of kernels is of another version than the header";
  if (strcmp(projected_control_digest, PROJECTED_CONTROL_DIGEST))
    return "the library of kernels was made from other sources than the header";
  if (projected_control_sizes[0] != (int64_t)(sizeof expected / sizeof *expected))
    return "the library of kernels has another number of structs and workspaces than the header";
  for (i = 0; i < sizeof expected / sizeof *expected; i++)
    if (projected_control_sizes[1 + i] != expected[i])
      return "a struct or workspace of the library has another size than in the header";
  return 0;
}}
"""


class _C(ast.NodeVisitor):
    """Turns the arithmetic of a layout into C; sizes are not negative, so // is /."""

    OPERATORS: ClassVar[dict[type[ast.operator], str]] = {
        ast.Add: "+",
        ast.Sub: "-",
        ast.Mult: "*",
        ast.FloorDiv: "/",
    }

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed

    def visit_Name(self, node: ast.Name) -> str:
        return self._renamed.get(node.id, node.id)

    def visit_Constant(self, node: ast.Constant) -> str:
        return str(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> str:
        operator = self.OPERATORS[type(node.op)]
        return f"({self.visit(node.left)} {operator} {self.visit(node.right)})"

    def visit_Call(self, node: ast.Call) -> str:
        function = {"max": "larger", "min": "smaller"}[ast.unparse(node.func)]
        result = str(self.visit(node.args[0]))
        for argument in node.args[1:]:
            result = f"{PREFIX}{function}({result}, {self.visit(argument)})"
        return result


def in_c(expression: str, renamed: Mapping[str, str]) -> str:
    """An expression of a layout in C, some names replaced by others."""
    return str(_C(renamed).visit(ast.parse(expression, mode="eval").body))
