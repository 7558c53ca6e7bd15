"""The page docs/parameters.md, made from the table of parameters.

``python -m projected_control.apps.docs.parameter_pages`` prints it, with a file name it writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from projected_control.settings.declaration import NAMES, Parameter, Value
from projected_control.settings.nodes import MOTION, nodes, parameters_of, settings_class

COLUMNS = ("name", "default", "unit", "range", "live", "description")

INTRODUCTION = """\
# Parameters

One table per node: {nodes}.

A list of numbers holds one for all, or one per joint, coordinate or constraint row, as its
description says; a single number is taken for a list of one. An empty list, `[]`, or an empty text
means that nothing is given. A range holds for every number of a list.

What describes a robot has no default: *required* parameters must be given before the node can be
configured, `robot_description` or `robot_description_file` one of the two. Which parameters of
`constraint` are needed depends on its kind; the refusal names them.

*Live* parameters may change while the node is active: gains blend in over `gains.blend_time`, the
rest counts from the next tick on. The others are refused then; deactivate the node first. A change
that is refused leaves everything as it was, and the answer says why.

This page is made from the classes that `projected_control/settings/nodes.py` names by
`python -m projected_control.apps.docs.parameter_pages docs/parameters.md`; a test compares the two.
In Python, dots are attributes: `settings.limits.effort` is the parameter `limits.effort`.
"""

NAMED = """\
## Under names of your own

`frames.names` and `coordinate.names` list names; each has these parameters. What is given under a
name of `constraints.names` is called as under `constraint`: `constraints.<name>.kind` and so on
([constraints](constraints.md)).
"""


def page() -> str:
    """The whole page, in Markdown."""
    links = ", ".join(f"[{node}](#{node})" for node in nodes())
    sections = [INTRODUCTION.format(nodes=links)]
    for node in nodes():
        rows = [_row(parameter) for parameter in parameters_of(node).values()]
        sections.append("\n".join([f"## {node}", "", *_table(COLUMNS, rows), ""]))
    return "\n".join([*sections, _named_groups()])


def _named_groups() -> str:
    """Parameters under names of one's own, once for all nodes."""
    rows = []
    for field in ("frames", "coordinate"):
        values: dict[str, Value] = {f"{field}.{NAMES}": ["name"]}
        table = settings_class(MOTION).parameters_with(values)
        own = [parameter for name, parameter in table.items() if name.startswith(f"{field}.name.")]
        rows += [_row(replace(each, name=each.name.replace(".name.", ".<name>."))) for each in own]
    return "\n".join([NAMED, *_table(COLUMNS, rows), ""])


def _row(parameter: Parameter) -> tuple[str, ...]:
    return (
        f"`{parameter.name}`",
        "required" if parameter.required else f"`{value_text(parameter.default)}`",
        parameter.unit,
        _range(parameter),
        "yes" if parameter.live else "",
        parameter.description,
    )


def value_text(value: Value) -> str:
    """A value as it is written in a parameter file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(value_text(item) for item in value)}]"
    if isinstance(value, str):
        return value or '""'
    return repr(value)


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" if choice else '`""`' for choice in parameter.choices)
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        return f"from {low:g}"
    return f"up to {high:g}" if high is not None else ""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page, or write it to the file that is named."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    if len(names) > 1 or any(name.startswith("-") for name in names):
        print(
            "usage: python -m projected_control.apps.docs.parameter_pages [FILE]", file=sys.stderr
        )
        return 2
    if names:
        Path(names[0]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
