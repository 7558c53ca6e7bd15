"""What a command of the documentation names is there, whether or not it can be run here."""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import yaml
from blocks import ROOT, check_value

from projected_control.apps.cli import parser
from projected_control.settings.nodes import nodes, settings_class

INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
BLOCK = re.compile(r"^( *)(```|~~~).*?^\1\2$", re.MULTILINE | re.DOTALL)


def inline_commands(text: str) -> Iterator[str]:
    """Commands that a page has in its sentences."""
    for code in INLINE.findall(BLOCK.sub("", text)):
        words = " ".join(code.split())
        if words.startswith(("projected-control ", "make ", "ros2 ")):
            yield words


def check_command(command: str, whole: bool = True) -> None:
    """Raise where a command names what there is not.

    Args:
        whole: Whether it could be run as it stands; in a sentence arguments may be left out.
    """
    # The shell's own signs end what belongs to a command.
    words = shlex.split(re.split(r" \| | && | > | & *$", command)[0], comments=True)
    while words and re.fullmatch(r"\w+=.*", words[0]):
        del words[0]
    for beginning, check in _CHECKS.items():
        start = beginning.split()
        name = [Path(words[0]).name, *words[1 : len(start)]] if words else []
        if name == start:
            check(words[len(start) :], whole)


def _check_ours(words: list[str], whole: bool) -> None:
    if words[:1] == ["gazebo"]:
        _check_launch(["gazebo.launch.py", *words[1:]], whole)
    if whole:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = _parsed(words)
        assert status == 0, said.getvalue()
        return
    known = _options()
    command = next((word for word in words if not word.startswith("-")), "")
    if command:
        assert command in known, f"there is no subcommand {command}"
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert option in known[command], f"{command} has no option {option}"


def _parsed(words: list[str]) -> object:
    """Zero where the command line takes these words, else the status with which it refuses."""
    try:
        parser().parse_args(words)
    except SystemExit as end:  # --help and --version end with zero
        return end.code
    return 0


@cache
def _options() -> dict[str, set[str]]:
    """The options of every subcommand, and under an empty name those of the command itself."""
    found = {"": set(parser()._option_string_actions)}
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                found[name] = _with_inner(sub)
    return found


def _with_inner(sub: argparse.ArgumentParser) -> set[str]:
    options = set(sub._option_string_actions)
    for action in sub._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                options |= _with_inner(inner)
    return options


def _check_make(words: list[str], whole: bool) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    for target in (word for word in words if "=" not in word and not word.startswith("-")):
        assert target in targets, f"the Makefile has no target {target}"


def _check_launch(words: list[str], whole: bool) -> None:
    file = words[0]
    path = ROOT / "launch" / file
    assert path.is_file(), f"there is no launch file {file}"
    apps = ROOT / "projected_control" / "apps"
    known = _declared(path) | _declared(apps / "launch" / "parts.py")
    known |= _declared(apps / "launch" / "declared.py")
    if file == "gazebo.launch.py":
        known |= _declared(apps / "gazebo" / "arguments.py")
    for word in words[1:]:
        name, given, _ = word.partition(":=")
        if given:
            assert name in known, f"{file} has no argument {name}"


@cache
def _declared(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        call.args[0].value
        for call in calls
        if getattr(call.func, "id", "") in ("DeclareLaunchArgument", "LaunchArgument")
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def _check_run(words: list[str], whole: bool) -> None:
    assert words[0] in {*nodes(), "projected-control"}, f"there is no executable {words[0]}"
    if words[0] == "projected-control":
        _check_ours(words[1:], whole)
    for file in (ROOT / word for word in words if word.startswith("config/")):
        assert file.is_file(), f"there is no {file}"


def _check_parameter(words: list[str], whole: bool) -> None:
    if len(words) < 2 or "…" in words:
        return
    node, name = words[0].lstrip("/"), words[1]
    assert node in nodes(), f"there is no node {node}"
    assert settings_class(node).parameter(name) is not None, f"{node} has no parameter {name}"
    if len(words) > 2:
        check_value(name, yaml.safe_load(words[2]))


def _check_file_of_parameters(words: list[str], whole: bool) -> None:
    assert words[0].lstrip("/") in nodes(), f"there is no node {words[0]}"
    assert (ROOT / words[1]).is_file(), f"there is no {words[1]}"


def _check_node_of(words: list[str], whole: bool) -> None:
    """The node in /node/service or /node/topic is one of ours, and has such a name."""
    node, _, name = (words[0] if words else "").strip("/").partition("/")
    if node in nodes() and name:
        source = "".join(
            path.read_text(encoding="utf-8")
            for path in (ROOT / "projected_control" / "ros").glob("*.py")
        )
        assert re.search(rf"~/{name}\b", source), f"{node} has no ~/{name}"


def _check_topic(words: list[str], whole: bool) -> None:
    _check_node_of([word for word in words if not word.startswith("-")], whole)


_CHECKS: dict[str, Callable[[list[str], bool], None]] = {
    "projected-control": _check_ours,
    "make": _check_make,
    "ros2 launch projected_control": _check_launch,
    "ros2 run projected_control": _check_run,
    "ros2 param set": _check_parameter,
    "ros2 param get": _check_parameter,
    "ros2 param load": _check_file_of_parameters,
    "ros2 service call": _check_node_of,
    "ros2 topic echo": _check_topic,
    "ros2 topic pub": _check_topic,
}
