"""What a command takes, declared once: a class per command, a typed line per argument.

::

    class Arguments(Command, help="two runs side by side", description=DESCRIPTION):
        one: Path = positional("a recording, *.mcap", "A")
        out: Path = option("folder for the page (default: %(default)s)", Path("out"), "DIR")
        set: list[str] = option("another value; may be repeated", [], "NAME=VALUE")
        json: bool = flag("print the numbers as one JSON object")

From the type follows how a value is read and how many there are:

=====================  ================================================================
``bool``               an option without a value
``Path``, ``float`` …  one value; with a default where it is left out
``X | None``           one value; None where it is left out, for a positional as well
``list[X]``            a positional: one or more, with a default any number; an option: one value
                       each time it is given, as often as wanted
``list[X] | None``     an option with one or more values behind it
``tuple[X, X]``        so many values behind the option
``list[list[X]]``      one or more values behind the option, which may be repeated
=====================  ================================================================

A positional `Path` is a file that is read: one that cannot be is refused before anything is loaded.

`argparse` reads the command line. tyro, typer and cyclopts make one from types as well; measured
with nineteen commands of seven options, an option that is not there costs 380, 140 and 75 ms of
processor time, and 85 ms here with all commands of ours. cyclopts would do, but prints a help of
its own form and brings four packages along, for what are a hundred lines.
"""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

HIDDEN = argparse.SUPPRESS  # instead of a help: what only our own processes use


_AsWritten = argparse.RawDescriptionHelpFormatter


class Alternatives:
    """Options of which only one may be given: hand the same to each.

    Args:
        required: Whether one of them must be.
    """

    def __init__(self, required: bool = False) -> None:
        self.required = required


class DeclaredArgument(NamedTuple):
    """An argument, besides its name and type."""

    help: str | None  # what it is, for the help
    flags: tuple[str, ...] | None  # how an option is written; empty for a positional
    default: Any = None  # where it is left out
    metavar: str | tuple[str, ...] | None = None  # how its value is called in the help
    choices: Sequence[str] | None = None  # what it may be
    # Reads a value, where that is not its type's own affair.
    read: Callable[[str], Any] | None = None
    alternatives: Alternatives | None = None  # of which it is one


def positional(
    help: str | None = None,
    metavar: str | None = None,
    *,
    default: Any = None,
    choices: Sequence[str] | None = None,
) -> Any:
    """Declare an argument that is known by its place."""
    return DeclaredArgument(help, (), default, metavar, choices)


def option(
    help: str,
    default: Any = None,
    metavar: str | tuple[str, ...] | None = None,
    *,
    flags: tuple[str, ...] | None = None,
    choices: Sequence[str] | None = None,
    read: Callable[[str], Any] | None = None,
    alternatives: Alternatives | None = None,
) -> Any:
    """Declare an option; without flags, ``--`` and its name."""
    return DeclaredArgument(help, flags, default, metavar, choices, read, alternatives)


def flag(
    help: str,
    *,
    flags: tuple[str, ...] | None = None,
    alternatives: Alternatives | None = None,
) -> Any:
    """Declare an option that is given or not."""
    return DeclaredArgument(help, flags, False, alternatives=alternatives)


class Command(argparse.Namespace):
    """Base of the arguments of a command; what was typed is an object with these attributes.

    Args:
        help: One line, for the list of commands.
        description: Text above the arguments. One paragraph is wrapped to the terminal; with
            more of them, or with an epilog, the lines stay as they are.
        epilog: Text below them.
    """

    texts: ClassVar[tuple[str, str, str]]

    def __init_subclass__(cls, *, help: str = "", description: str = "", epilog: str = "") -> None:
        cls.texts = help, description, epilog  # none of a class that only others derive from

    @classmethod
    def declared(cls) -> Iterator[tuple[str, DeclaredArgument]]:
        """All arguments by name, those of its bases first."""
        for each in reversed(cls.__mro__):
            for name, value in vars(each).items():
                if isinstance(value, DeclaredArgument):
                    yield name, value

    @classmethod
    def add_to(cls, subparsers: Subparsers) -> argparse.ArgumentParser:
        """Declare it to argparse, by the name of its module."""
        help, description, epilog = cls.texts
        wrapped = not epilog and "\n\n" not in description
        parser = subparsers.add_parser(
            cls.__module__.rpartition(".")[2].replace("_", "-"),
            help=help,
            description=description,
            epilog=epilog or None,
            formatter_class=argparse.HelpFormatter if wrapped else _AsWritten,
        )
        groups: dict[Alternatives | None, argparse._ActionsContainer] = {None: parser}
        hints = get_type_hints(cls)
        for name, declared in cls.declared():
            kind = declared.alternatives
            if kind is not None and kind not in groups:
                groups[kind] = parser.add_mutually_exclusive_group(required=kind.required)
            _add(groups[kind], name, hints[name], declared)
        return parser


def require_files(arguments: argparse.Namespace, command: type[Command]) -> None:
    """Raise where a file that a command is to read cannot be opened; pipes are left alone."""
    for name, declared in command.declared():
        if declared.flags == ():
            given = getattr(arguments, name)
            for path in given if isinstance(given, list) else [given]:
                if isinstance(path, Path):
                    _require_file(path)


def _require_file(path: Path) -> None:
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            path.open("rb").close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidValue(f"cannot read {path}: {why}") from None


def _add(
    parser: argparse._ActionsContainer, name: str, hint: Any, declared: DeclaredArgument
) -> None:
    flags = (f"--{name.replace('_', '-')}",) if declared.flags is None else declared.flags
    keywords: dict[str, Any] = {
        key: value
        for key in ("help", "metavar", "choices")
        if (value := getattr(declared, key)) is not None
    }
    if flags:
        keywords |= {"dest": name, "default": declared.default}
    parser.add_argument(*(flags or (name,)), **keywords, **_reading(hint, bool(flags), declared))


def _reading(hint: Any, is_option: bool, declared: DeclaredArgument) -> dict[str, Any]:
    """How values of a type are read, and how many there are."""
    if hint is bool:
        return {"action": "store_true"}
    keywords: dict[str, Any] = {}
    optional = get_origin(hint) in (Union, types.UnionType)
    if optional:
        hint = get_args(hint)[0]
    if get_origin(hint) is tuple:
        keywords["nargs"] = len(get_args(hint))
    elif get_origin(hint) is list:
        several = not is_option or optional or get_origin(get_args(hint)[0]) is list
        if several:
            keywords["nargs"] = "+" if is_option or declared.default is None else "*"
        if is_option and not optional:
            keywords["action"] = "append"
    elif optional and not is_option:
        keywords["nargs"] = "?"
    while get_args(hint):
        hint = get_args(hint)[0]
    read = declared.read or (None if hint is str else hint)
    return {**keywords, "type": read} if read else keywords
