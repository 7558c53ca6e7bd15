"""The page of the command line, made from its parsers; `make docs` puts it on the site.

``python -m projected_control.apps.docs.command_pages`` prints it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from projected_control.apps.cli import DESCRIPTION, parser

INTRODUCTION = """\
# Command line

{description}
Made from the parsers themselves; `projected-control COMMAND --help` says the same. Exit status: 0
for done, 1 for checked and found wanting, 2 for refused (with the reason on standard error), 130
for interrupted (143 by SIGTERM, 129 where the terminal was closed). What a command has started ends
with it, also where it is killed.
"""

HIDDEN = ("-h", "--help")


def page() -> str:
    """The whole page, in Markdown."""
    top = parser()
    commands = subcommands(top)
    lines = [INTRODUCTION.format(description=DESCRIPTION), "| command | |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {text} |" for name, text, _ in commands]
    for name, _, command in commands:
        lines += ["", *_section(name, command, 2)]
    return "\n".join(lines) + "\n"


def subcommands(
    command: argparse.ArgumentParser,
) -> list[tuple[str, str, argparse.ArgumentParser]]:
    """Name, help and parser of each subcommand."""
    found = []
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found += [(name, helps[name], sub) for name, sub in action.choices.items()]
    return found


def _section(name: str, command: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """A command: its description, usage, arguments and examples; then its own subcommands."""
    yield from [f"{'#' * level} {name}", ""]
    inner = subcommands(command)
    yield from _flow(command.description or "")
    yield from ["```text", _usage(command).strip("\n"), "```", ""]
    yield from _flow(command.epilog or "")
    rows = list(_rows(command))
    if rows and not inner:
        yield from ["| | | default |", "|---|---|---|", *rows]
    for sub, _, its in inner:
        yield from ["", *_section(f"{name} {sub}", its, level + 1)]


def _flow(text: str) -> Iterator[str]:
    """Paragraphs as they are; those with indented lines, such as examples, keep their lines."""
    for paragraph in text.strip("\n").split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith(" ") for line in lines):
            yield from ["```text", *lines, "```", ""]
        elif lines:
            yield from [*lines, ""]


def _usage(command: argparse.ArgumentParser) -> str:
    formatter = argparse.HelpFormatter(command.prog, width=96)
    formatter.add_usage(command.usage, command._actions, command._mutually_exclusive_groups)
    return formatter.format_help()


def _rows(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction) or set(HIDDEN) & {*action.option_strings}:
            continue
        text = (action.help or "") % {**vars(action), "prog": command.prog}
        text = re.sub(r" ?\(default: [^)]*\)|^default: \S+$", "", text)  # it has its own column
        yield f"| {_name(action)} | {_cell(text)} | {_cell(_default(action))} |"


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        choices = "|".join(map(str, action.choices or ()))
        return f"`{_cell(str(action.metavar or choices or action.dest))}`"
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return f"`{_cell(', '.join(action.option_strings) + value)}`"


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar:
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _default(action: argparse.Action) -> str:
    if action.nargs == 0 or action.default in (None, "", []) or not action.option_strings:
        return ""
    return f"{action.default:g}" if isinstance(action.default, float) else str(action.default)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
