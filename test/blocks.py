"""The fenced blocks of README, docs and CONTRIBUTING: what each is, and running them.

Every block is run, or carries a mark that says why it is not. What is done depends on its language:

==========  ==================================================================================
sh          each command is run, in order, in a folder that looks like a clone of this package; all
            of them as one script where one ends in ``&``
python      run, with the names of the page's earlier blocks; ``# name.py`` as its first line
            makes it a file of that name instead, for a later command to run
yaml        its parameters are checked: names, types, ranges (of a study, its own names);
            ``# name.yaml`` makes it a file, too
toml        read; entry points must be those that this package asks for
csv, xml    a file, named by the mark ``<!-- file: name -->``
text        compared with what the block before it printed (mark ``output``)
==========  ==================================================================================

Marks are comments just above a block, which no reader sees:

``<!-- not run: reason -->``       it is not run; the reason is counted
``<!-- long: reason -->``          it is run by ``make test-long`` only
``<!-- ros2: force -->``           the same, where the command ``ros2`` is, beside ``demo`` with
                                   this controller (test/ros/test_blocks_ros2.py)
``<!-- status: 1 -->``             its last command ends with this exit status
``<!-- output -->``                it is what the block before it prints; ``…`` stands for anything
``<!-- file: name -->``            it is written to a file of that name
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ros_domain import free_domain

from projected_control.apps.sweeps.study import read_study
from projected_control.errors import ProjectedControlError
from projected_control.settings.files import PARAMETERS, read_file
from projected_control.settings.nodes import nodes, settings_class

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
MARK = re.compile(
    r"^ *<!-- *(?P<word>not run|long|ros2|status|output|file)(?:: *(?P<what>.*?))? *-->$"
)
FILE = re.compile(r"# (\w+\.(?:py|yaml))")
COMMANDS = ("sh", "bash", "console")
LANGUAGES = (*COMMANDS, "python", "yaml", "toml", "csv", "xml", "text")
PATIENCE = 900.0  # how long one command may take, the first compilation of the kernels included [s]


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str  # where it stands, from the top of the package
    line: int  # of its first line, counted from one
    language: str  # as it says itself
    text: str  # without fences and indentation
    marks: dict[str, str]  # what the comments above it say, by word

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def why_not(self) -> str:
        """Why it is not run; empty where it is."""
        return self.marks.get("not run", "")

    @property
    def is_long(self) -> bool:
        return "long" in self.marks or "ros2" in self.marks

    @property
    def file(self) -> str:
        """Name of the file that it is; empty where it is none."""
        if "file" in self.marks:
            return self.marks["file"]
        found = FILE.match(self.text)
        return found.group(1) if found else ""

    @property
    def commands(self) -> list[str]:
        """Its commands, continued lines joined, without empty lines and comments."""
        joined = re.sub(r"\\\n\s*", " ", self.text)
        lines = [line.strip() for line in joined.splitlines()]
        commands = [line for line in lines if line and not line.startswith("#")]
        beside = any(command.endswith("&") for command in commands)
        return ["\n".join(["set -e", *commands])] if beside else commands


def pages() -> list[str]:
    """All pages, from the top of the package; those that are generated from code are not here."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return list(_blocks(page, text_of(page).splitlines()))


def _blocks(page: str, lines: Sequence[str]) -> Iterator[Block]:
    at, marks = 0, dict[str, str]()
    while at < len(lines):
        line = lines[at]
        at += 1
        if mark := MARK.match(line):
            marks[mark["word"]] = mark["what"] or ""
        elif fence := FENCE.match(line):
            first, inside = at, []
            while at < len(lines) and lines[at].strip() != fence["ticks"]:
                inside.append(lines[at].removeprefix(fence["indent"]))
                at += 1
            if at == len(lines):
                raise AssertionError(f"{page}:{first}: a block that is never closed")
            at += 1
            text = "\n".join([*inside, ""])
            yield Block(page, first + 1, fence["info"].strip(), text, marks)
            marks = {}
        elif line.strip():
            marks = {}


def count() -> list[str]:
    """How many blocks there are, are run and are not, and why; one line for each reason."""
    blocks = [block for page in pages() for block in blocks_of(page)]
    done = [block for block in blocks if not block.why_not]
    late = [block for block in done if block.is_long]
    ros = sum("ros2" in block.marks for block in late)
    reasons = Counter(block.why_not.partition(";")[0] for block in blocks if block.why_not)
    where = len({block.page for block in blocks})
    first = (
        f"{len(blocks)} blocks on {where} pages: {len(done)} are run, {len(late)} of them by make "
        f"test-long only ({ros} where ros2 is); {sum(reasons.values())} are not, and say why:"
    )
    return [first, *(f"{number:5} {reason}" for reason, number in reasons.most_common())]


class Session:
    """A page whose reader does what it says, in a folder like a clone of this package."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.outputs: dict[str, str] = {}
        """What each command printed, and each block of Python under its place."""
        self.last = ""
        """What the last block printed."""
        # Not the package itself: imported from another place, its kernels would be compiled anew.
        for name in ("config", "urdf", "launch", "worlds", "docs", "examples"):
            (folder / name).symlink_to(ROOT / name)
        for name in ("Makefile", "setup.py", "setup.cfg", "pyproject.toml", "mkdocs.yml"):
            (folder / name).symlink_to(ROOT / name)
        tools = folder / ".venv" / "bin"
        tools.mkdir(parents=True)
        modules = {"python": "", "projected-control": " -m projected_control.apps.cli"}
        for name, words in {**modules, "mkdocs": " -m mkdocs"}.items():
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
            (tools / name).chmod(0o755)
        (folder / ".venv" / "installed").touch()  # so that make does not install anything
        place = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        self.environment = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(part for part in place if part),
            "PYTHONIOENCODING": "utf-8",
            "ROS_LOG_DIR": str(folder / ".venv"),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }
        domain, self._lock = free_domain()
        self.environment["ROS_DOMAIN_ID"] = str(domain)

    def run(self, block: Block) -> None:
        """Do what a block says; raises where that fails."""
        if block.language == "text":
            assert_like(block, self.last)
            return
        if block.language == "yaml":
            check_parameters(block)
        elif block.language == "toml":
            check_entry_points(block)
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            self.last = self.outputs[block.place] = self._run_python(block)
        elif block.language in COMMANDS:
            self.last = "".join(self._run_command(block, c) for c in block.commands)

    def _run_python(self, block: Block) -> str:
        code = compile("\n" * (block.line - 1) + block.text, str(ROOT / block.page), "exec")
        printed = io.StringIO()
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
        finally:
            os.chdir(before)
        return printed.getvalue()

    def _run_command(self, block: Block, command: str) -> str:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            printed, complained = process.communicate(timeout=PATIENCE)
        finally:  # nothing that it started outlives it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        expected = int(block.marks.get("status", 0)) if command == block.commands[-1] else 0
        if process.returncode != expected:
            raise AssertionError(
                f"{block.place}: {command}\nended with status {process.returncode}, expected "
                f"{expected}\n{printed}\n{complained}"
            )
        self.outputs[command] = printed
        return printed + complained


def run_page(page: str, folder: Path, with_long: bool) -> Session:
    """Run the blocks of a page, in order; raises where one fails."""
    session, left_out = Session(folder), False
    for block in blocks_of(page):
        if "output" in block.marks and left_out:
            continue  # so is what it would print
        left_out = bool(block.why_not or "ros2" in block.marks)
        left_out |= block.is_long and not with_long
        if not left_out:
            session.run(block)
    return session


def assert_like(block: Block, printed: str) -> None:
    """Raise unless something was printed that the block shows, ``…`` standing for anything."""
    shown = " ".join(block.text.split())
    pattern = ".*?".join(re.escape(part) for part in shown.split("…"))
    if not re.search(pattern, " ".join(printed.split()), re.DOTALL):
        raise AssertionError(f"{block.place} shows\n{block.text}\nbut this was printed:\n{printed}")


def check_parameters(block: Block) -> None:
    """Raise where a block of YAML has names or values that no node of ours takes, nor a study."""
    text = textwrap.dedent(block.text)
    if re.search(r"^vary:", text, re.MULTILINE):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "study.yaml")
            path.write_text(text, encoding="utf-8")
            read_study(path)
        return
    if PARAMETERS not in text:
        text = f"/**:\n  {PARAMETERS}:\n" + textwrap.indent(text, "    ")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "block.yaml")
        path.write_text(text, encoding="utf-8")
        file = read_file(path)
        file.require_known()
    for _, entries in file.sections:
        for name, entry in entries.items():
            check_value(name, entry.value)


def check_value(name: str, value: Any) -> None:
    """Raise where no node of ours has such a parameter, or takes such a value."""
    takers = [found for node in nodes() if (found := settings_class(node).parameter(name))]
    assert takers, f"no node has a parameter {name}"
    refused = []
    for taker in takers:  # one of them is enough: a law is offered on some controllers alone
        try:
            taker.check(value)
        except ProjectedControlError as error:
            refused.append(error)
    if len(refused) == len(takers):
        raise refused[0]


def check_entry_points(block: Block) -> None:
    """Raise where a block of TOML names no entry points, or some that no code asks for."""
    groups = re.findall(r'^\[project\.entry-points\."([\w.]+)"\]$', block.text, re.MULTILINE)
    assert groups, f"{block.place}: no entry points"
    source = "".join(path.read_text() for path in (ROOT / "projected_control").rglob("*.py"))
    for group in groups:
        assert f'"{group}"' in source, f"{block.place}: no code asks for entry points {group}"
