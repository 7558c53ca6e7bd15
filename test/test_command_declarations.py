"""What a command takes follows from one typed line per argument."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from projected_control.apps.console.command import (
    HIDDEN,
    Alternatives,
    Command,
    flag,
    option,
    positional,
)

SIDE = Alternatives(required=True)


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


class Arguments(Command, help="in one line", description="First.\n\n  as it is", epilog="end"):
    """One of each kind."""

    file: Path = positional("a file", "FILE")
    rest: list[int] = positional("numbers", default=[])
    speed: float = option("how fast (default: %(default)g)", 2.0, "V")
    set: list[str] = option("may be repeated", [], "NAME=VALUE")
    q: list[float] | None = option("several")
    pair: tuple[str, str] | None = option("two", metavar=("A", "B"))
    task: list[list[str]] = option("several, often", [])
    q0: list[list[float]] | None = option("with commas", read=numbers)
    files: list[Path] = option("another name", [], flags=("-w", "--with"))
    kind: str = option("chosen", "a", choices=("a", "b"))
    real_time: bool = flag("by the clock")
    left: bool = flag("left", alternatives=SIDE)
    right: float | None = option("right", alternatives=SIDE)
    secret: int | None = option(HIDDEN)


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    return Arguments.add_to(argparse.ArgumentParser(prog="top").add_subparsers())


def test_values_have_the_declared_types(parser):
    words = "f.csv 1 2 --left --set a=1 --set b=2 --q 0.5 1 --pair x y --task a b --task c"
    given = parser.parse_args([*words.split(), "--q0", "1,2", "3", "-w", "g", "--real-time"])
    assert given.file == Path("f.csv")
    assert given.rest == [1, 2]
    assert given.set == ["a=1", "b=2"]
    assert given.q == [0.5, 1.0]
    assert given.pair == ["x", "y"]
    assert given.task == [["a", "b"], ["c"]]
    assert given.q0 == [[1.0, 2.0], [3.0]]
    assert given.files == [Path("g")]
    assert (given.real_time, given.left, given.right) == (True, True, None)


def test_what_is_left_out_has_its_default_again_and_again(parser):
    parser.parse_args(["f", "--left", "--set", "a"])
    given = parser.parse_args(["f", "--right", "3"])
    assert (given.speed, given.set, given.q, given.kind, given.real_time) == (2, [], None, "a", 0)
    assert (given.rest, given.right) == ([], 3.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("f", "one of the arguments --left --right is required"),
        ("f --left --right 1", "not allowed with argument"),
        ("f --left --kind c", "invalid choice: 'c'"),
        ("f --left --speed fast", "argument --speed: invalid float value: 'fast'"),
        ("--left", "the following arguments are required: FILE"),
    ],
)
def test_what_does_not_fit_is_refused(parser, capsys, words, said):
    with pytest.raises(SystemExit):
        parser.parse_args(words.split())
    assert said in capsys.readouterr().err


def test_the_help_has_every_line_and_keeps_the_layout(parser):
    shown = parser.format_help()
    assert "First.\n\n  as it is\n" in shown
    assert "--speed V" in shown
    assert "how fast (default: 2)" in shown
    assert "--pair A B" in shown
    assert "secret" not in shown
    assert shown.startswith("usage: top test-command-declarations ")  # the name of its module


def test_one_paragraph_is_wrapped():
    class Arguments(Command, help="", description="word " * 60):
        """Nothing."""

    shown = Arguments.add_to(argparse.ArgumentParser().add_subparsers()).format_help()
    assert max(map(len, shown.splitlines())) < 200
