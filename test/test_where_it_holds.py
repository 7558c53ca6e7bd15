"""The tables "Where each of these holds" of docs: their tests exist, their refusals are said.

A new row is one line, in alphabetical order of its first cell. Tests are named in the last cell as
`file.py::test_name`, below test/, each followed by the places where it shows what the row says:
every `yes` needs one. A refusal is quoted as the code says it, … for what is filled in.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAFETY = "safety"  # the page that says, too, what `as in process` and `same node` rest on
PAGES = {name: ROOT / "docs" / f"{name}.md" for name in (SAFETY, "contacts", "limits")}
HEADING = "## Where each of these holds"
PLACES = ("in process", "nodes", "lockstep", "plugin", "replay")
COLUMNS = ("what", *PLACES, "shown by")
QUOTED = re.compile(r"`([^`]+)`")
SHOWN = re.compile(r"`([^`]+)`(?: \(([^)]*)\))?")
ALIKE = ("as in process", "same node")
ANSWER = re.compile(rf"(yes|{'|'.join(ALIKE)})(: .+)?|refused: .+|not there: .+")


def tables(page: str) -> list[list[list[str]]]:
    """The cells of the tables below the heading, line by line."""
    section = page.partition(HEADING + "\n")[2].partition("\n## ")[0]
    found: list[list[list[str]]] = [[]]
    for line in section.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def table(page: str) -> list[list[str]]:
    """The rows of the first table, without the two lines at its head."""
    assert tables(page), f"a page has no table below {HEADING!r}"
    cells = tables(page)[0]
    assert tuple(cells[0]) == COLUMNS
    return cells[2:]


def grounds(page: str) -> dict[tuple[str, str], list[str]]:
    """The tests on which an answer rests that has none of its own, by answer and place."""
    head, _, *rows = tables(page)[1]
    assert tuple(head[1:]) == ALIKE
    return {
        (kind, row[0]): QUOTED.findall(row[1 + i]) for row in rows for i, kind in enumerate(ALIKE)
    }


@cache
def functions_of(file: str) -> frozenset[str]:
    """The names of the test functions that pytest collects from a file below test/."""
    tree = ast.parse((ROOT / "test" / file).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = [tree.body, *(node.body for node in classes if node.name.startswith("Test"))]
    functions = [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


@cache
def said() -> str:
    """All strings of the package, each on a line, with … where one has something filled in."""
    texts: list[str] = []
    for path in sorted((ROOT / "projected_control").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                fixed = [getattr(part, "value", None) for part in node.values]
                parts = [part if isinstance(part, str) else "…" for part in fixed]
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    for path in sorted((ROOT / "projected_control" / "native" / "cpp").rglob("*.[ch]*")):
        source = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        texts.extend(re.findall(r'"((?:[^"\\\n]|\\.)*)"', source))
    return "\n".join(" ".join(text.split()) for text in texts)


def faults(row: list[str]) -> list[str]:
    """What is wrong with a row."""
    if len(row) != len(COLUMNS):
        return [f"{len(row)} cells, expected {len(COLUMNS)}: {', '.join(COLUMNS)}"]
    found, shown = [], SHOWN.findall(row[-1])
    covered = {place.strip() for _, places in shown for place in places.split(",") if places}
    found += [f"{place!r} is no place" for place in sorted(covered - set(PLACES))]
    for place, cell in zip(PLACES, row[1:-1], strict=True):
        kind = cell.partition(":")[0]
        if not ANSWER.fullmatch(cell):
            found.append(
                f"{place}: {cell!r} is neither yes, {', '.join(ALIKE)}, refused: … nor not there: …"
            )
        elif kind == "yes" and place not in covered:
            found.append(f"{place}: no test shows it there")
        elif kind in ALIKE and not GROUNDS.get((kind, place)):
            found.append(f"{place}: nothing shows that it is {kind} there")
        elif place in covered and kind != "yes":
            found.append(f"{place}: a test shows it, and the cell does not say yes")
        elif cell.startswith("refused: "):
            sentence = cell.removeprefix("refused: ")
            if not is_said(sentence):
                found.append(f"{place}: the code does not say {sentence!r}")
    if not shown:
        found.append("no test shows it")
    return found + unknown([name for name, _ in shown])


def is_said(sentence: str) -> bool:
    """Whether the code says a sentence, … standing for what is filled in."""
    parts = [re.escape(part.strip()) for part in sentence.strip("`").split("…")]
    return bool(re.search(".*".join(parts), said()))


def unknown(names: list[str]) -> list[str]:
    """Which of these tests are not there."""
    found = []
    for name in names:
        file, _, function = name.partition("::")
        if not (ROOT / "test" / file).is_file():
            found.append(f"there is no file test/{file}")
        elif function not in functions_of(file):
            found.append(f"test/{file} has no test {function!r}")
    return found


OTHER_PAGES = ("engines.md", "assess.md", "tutorials/mujoco.md")
"""Other pages with a table of their own: place and answer, tests at its end."""


@pytest.mark.parametrize("name", OTHER_PAGES)
def test_what_other_pages_say_of_places_is_shown_by_tests(name):
    """Each place once; an answer, and tests that are there, which a `yes` has to have."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    lines = page.partition("| where it holds | |\n|---|---|\n")[2].partition("\n\n")[0]
    places = []
    for line in lines.strip().splitlines():
        place, answer = (cell.strip() for cell in line.strip("|").split("|"))
        places += place.split(", ")
        assert re.match(r"(yes|refused: |as recordings: )", answer), answer
        tests = [each for each in QUOTED.findall(answer) if "::" in each]
        assert tests, f"{name}: no test shows it: {place}"
        assert not unknown(tests)
    assert sorted(places) == sorted(PLACES)


TEXTS = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}
ROWS = {name: table(text) for name, text in TEXTS.items()}
GROUNDS = grounds(TEXTS[SAFETY])


REFUSALS = re.findall(
    r"\| (?:refused|not activated)[^:|]*: ([^|;]+?)(?:;[^|]*)? \|\n",
    (ROOT / "docs" / "floating_base.md").read_text(encoding="utf-8"),
)


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_a_floating_base_is_refused_for_is_said(sentence):
    assert is_said(sentence.replace("`", ""))


def test_the_page_of_floating_bases_names_its_refusals():
    assert len(REFUSALS) >= 8


@pytest.mark.parametrize("row", [row for rows in ROWS.values() for row in rows], ids=lambda r: r[0])
def test_a_row_is_true_to_code_and_tests(row):
    assert not faults(row)


def test_what_has_no_test_of_its_own_rests_on_tests_that_are_there():
    assert not unknown([name for names in GROUNDS.values() for name in names])


@pytest.mark.parametrize("page", PAGES)
def test_rows_are_in_alphabetical_order_and_each_once(page):
    names = [row[0].lower() for row in ROWS[page]]
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (
            "perhaps|yes|yes|yes|yes|`test_guard.py::test_a_guard_needs_a_period`",
            "neither yes",
        ),
        ("refused: a sentence that no code says|yes|yes|yes|yes|`test_arm.py::test_x`", "not say"),
        ("yes|yes|yes|yes|yes|", "no test shows it"),
        ("yes|yes|yes|yes|yes|`test_arm.py::test_x` (nodes)", "lockstep: no test shows it there"),
        ("same node|yes|yes|yes|yes|`test_arm.py::test_x`", "nothing shows that it is same node"),
        ("yes|yes|yes|yes|yes|`test_arm.py::test_x` (attic)", "'attic' is no place"),
        ("not there: no|yes|yes|yes|yes|`test_arm.py::test_x` (in process)", "does not say yes"),
        ("yes|yes|yes|yes|yes|`test_of_no_file.py::test_x`", "no file"),
        ("yes|yes|yes|yes|yes|`test_guard.py::test_that_is_not_there`", "has no test"),
        ("yes|yes|yes|`test_guard.py::test_a_guard_needs_a_period`", "cells, expected"),
    ],
)
def test_what_is_not_true_is_found(cells, fault):
    assert any(fault in one for one in faults(["a row", *cells.split("|")]))
