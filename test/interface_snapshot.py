"""What others build on, written down: parameters, names, commands, topics and services.

`test_interface.py` and `ros/test_graph.py` compare what is there with the files in test/snapshots/,
one line per thing, sorted. ``python test/interface_snapshot.py`` writes them anew (CONTRIBUTING.md,
"Snapshots"): what that changes is what users have to be told.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import projected_control
from projected_control.apps import cli
from projected_control.apps.docs.command_pages import HIDDEN, subcommands
from projected_control.settings.declaration import NAMES, Parameter
from projected_control.settings.nodes import MOTION, nodes, parameters_of, settings_class

TEST = Path(__file__).parent
FOLDER = TEST / "snapshots"
Lines = dict[str, Any]  # what is written about each thing, by its name

OWN = "<name>"
OF_EVERY_NODE = ("rcl_interfaces/", "lifecycle_msgs/", "type_description_interfaces/")
"""What ROS gives every node, or every lifecycle node."""

SETTLED_SECONDS = 15.0  # after which nodes have found each other [s]


def parameters() -> Lines:
    """Every parameter: type, default, unit, range, whether it is live; and which nodes have it.

    A second entry stands under the same name where two nodes declare it differently.
    """
    found: dict[str, list[tuple[Lines, list[str]]]] = {}
    tables = {node: parameters_of(node) for node in nodes()}
    tables[OWN] = {each.name: each for each in _named()}
    for node, table in tables.items():
        for name, parameter in table.items():
            content, variants = _declared(parameter), found.setdefault(name, [])
            same = [holders for each, holders in variants if each == content]
            same[0].append(node) if same else variants.append((content, [node]))
    return {
        name if len(variants) == 1 else f"{name} of {holders[0]}": {**content, "nodes": holders}
        for name, variants in found.items()
        for content, holders in variants
    }


def _named() -> Iterator[Parameter]:
    """What stands under names of one's own."""
    for field in ("frames", "constraints", "coordinate"):
        table = settings_class(MOTION).parameters_with({f"{field}.{NAMES}": ["name"]})
        for name, each in table.items():
            if name.startswith(f"{field}.name."):
                yield replace(each, name=name.replace(".name.", f".{OWN}."))


def _declared(parameter: Parameter) -> Lines:
    kind = parameter.type.__name__ + (" list" if parameter.is_list else "")
    content = {
        "type": kind,
        "default": "required" if parameter.required else parameter.default,
        "unit": parameter.unit,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "choices": sorted(parameter.choices),
        "live": parameter.live,
    }
    return {key: value for key, value in content.items() if value not in (None, "", [], False)} | (
        {"default": content["default"]}
    )


def names() -> Lines:
    """What can be imported from the package itself, and what is a part of each class and function.

    That is how it is called: the names of arguments, and which of them may be left out.
    """
    found = {}
    for name in projected_control.__all__:
        thing = getattr(projected_control, name)
        try:
            found[name] = _called(thing)
        except (TypeError, ValueError):
            found[name] = type(thing).__name__
    return found


def _called(thing: Any) -> str:
    words = []
    for argument in inspect.signature(thing).parameters.values():
        star = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "")
        only = "=" if argument.kind is argument.KEYWORD_ONLY else ""
        optional = "?" if argument.default is not argument.empty else ""
        words.append(f"{star}{argument.name}{only}{optional}")
    return f"({', '.join(words)})"


def commands() -> Lines:
    """Every option of every subcommand: kind, default, choices; and its exit statuses."""
    found: Lines = {}
    for name, _, parser in subcommands(cli.parser()):
        found[f"{name}: exit status"] = sorted({*_statuses(name), *COMMON})
        found |= _options(name, parser)
    return found


COMMON = {cli.EXIT_REFUSED, cli.EXIT_INTERRUPTED, cli.EXIT_BROKEN_PIPE}
"""Exit statuses of every command, see `apps.cli.main`."""


def _options(name: str, parser: argparse.ArgumentParser) -> Lines:
    found: Lines = {}
    inner = subcommands(parser)
    for sub, _, its in inner:
        found |= _options(f"{name} {sub}", its)
    for action in parser._actions:
        shown = set(action.option_strings)
        if isinstance(action, argparse._SubParsersAction) or set(HIDDEN) & shown:
            continue
        title = ", ".join(action.option_strings) or str(action.metavar or action.dest).upper()
        default = action.default
        content = {
            "kind": type(action).__name__.strip("_").removesuffix("Action"),
            "type": getattr(action.type, "__name__", ""),
            "default": str(default) if isinstance(default, Path) else default,
            "choices": sorted(map(str, action.choices or ())),
            "values": action.nargs,
            "required": action.required,
        }
        empty = (None, "", [], False)
        found[f"{name} {title}"] = {
            key: value for key, value in content.items() if value not in empty
        }
    return found


def _statuses(command: str) -> set[int]:
    """What the functions of a command's module that return a whole number return."""
    module = importlib.import_module(f"projected_control.apps.commands.{command.replace('-', '_')}")
    tree = ast.parse(inspect.getsource(module))
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "") == "int"
    ]
    returned = [
        node.value for f in functions for node in ast.walk(f) if isinstance(node, ast.Return)
    ]
    numbers = set()
    for value in returned:
        branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        for branch in branches:
            if isinstance(branch, ast.Constant):
                numbers.add(int(branch.value))
            elif isinstance(branch, ast.Call) and getattr(branch.func, "id", "") == "int":
                numbers |= {0, 1}  # of a condition
    return numbers


def graph(fleet: Any, expected: Mapping[str, Any]) -> Lines:
    """Topics and services of each node, with their types: what they publish, hear and serve.

    Args:
        fleet: Where the nodes are started.
        expected: What is waited for, as nodes find each other by and by; for a while.
    """
    from fleet import THREE_LINK

    from projected_control.settings.nodes import ARM, FORCE, PASSIVE, WATCHDOG

    settings = {**THREE_LINK, "lockstep": True, "markers_rate": 10.0}
    fleet.start(WATCHDOG, {"joints": THREE_LINK["joints"], "timeout": 5.0})
    fleet.start(ARM, settings)
    fleet.start(FORCE, settings, watchdog=WATCHDOG)
    for kind in (MOTION, PASSIVE):
        fleet.start(kind, settings, autostart=False)
    fleet.until_state(FORCE, "active")
    for kind in (MOTION, PASSIVE):
        fleet.until_state(kind, "unconfigured")
    return settled(fleet, expected)


def settled(fleet: Any, expected: Mapping[str, Any]) -> Lines:
    """What is there once all that is expected is; what was there last where it does not come.

    It is what was compared: looked at once more, a node may just be missing.
    """
    give_up, found = monotonic() + SETTLED_SECONDS, [seen(fleet.node)]

    def done() -> bool:
        found.append(seen(fleet.node))
        return found[-1] == expected or monotonic() > give_up

    fleet.until(done, "topics and services")
    return found[-1]


def seen(node: Any) -> Lines:
    """What every node has of ours, as another node sees it."""
    from rclpy.node import NodeNameNonExistentError

    found: Lines = {}
    for name, space in node.get_node_names_and_namespaces():
        if name.startswith(("tester", "listener")):
            continue
        for word, ask in (
            ("publishes", node.get_publisher_names_and_types_by_node),
            ("hears", node.get_subscriber_names_and_types_by_node),
            ("serves", node.get_service_names_and_types_by_node),
        ):
            with suppress(NodeNameNonExistentError):  # it has not been found yet
                for topic, kinds in ask(name, space):
                    if not kinds[0].startswith(OF_EVERY_NODE):
                        found[f"{name} {word} {topic}"] = " ".join(kinds)
    return found


def text_of(lines: Mapping[str, Any]) -> str:
    """One line per thing, sorted, as JSON."""
    rows = [
        f"  {json.dumps(name, ensure_ascii=False)}: "
        f"{json.dumps(content, ensure_ascii=False, sort_keys=True)}"
        for name, content in sorted(lines.items())
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


SNAPSHOTS = {"parameters": parameters, "names": names, "commands": commands}
"""What is compared without a node."""

GRAPH = "graph"


def kept(name: str) -> Lines:
    """A snapshot as it was written."""
    file = FOLDER / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def changes(name: str, now: Mapping[str, Any]) -> list[str]:
    """What is new, gone or different, in lines."""
    before, here = kept(name), json.loads(text_of(now))
    found = [f"{name}: gone: {key}: {before[key]}" for key in before if key not in here]
    found += [f"{name}: new: {key}: {here[key]}" for key in here if key not in before]
    return found + [
        f"{name}: {key} was {before[key]}, is {here[key]}"
        for key in here
        if key in before and before[key] != here[key]
    ]


def graph_now() -> Lines:
    """That of nodes of our own."""
    sys.path.insert(0, str(TEST / "ros"))
    from fleet import Fleet

    with TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        try:
            return graph(fleet, {})
        finally:
            fleet.close()


def main() -> int:
    """Write the snapshots anew, and say what changed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    makers = {**SNAPSHOTS, GRAPH: graph_now}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(makers)}")
    for name in parser.parse_args().names or makers:
        now = makers[name]()
        print("\n".join(changes(name, now)) or f"{name}: the same")
        (FOLDER / f"{name}.json").write_text(text_of(now), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
