"""What the documentation lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from blocks import pages, text_of

from projected_control.apps.docs import constraint_pages
from projected_control.model.constraints import CONSTRAINTS
from projected_control.resources import PRESETS
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import nodes, parameters_of, settings_class

ROOT = Path(__file__).parents[1]
ROS = ROOT / "projected_control" / "ros"
CONTROLLERS = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """The cells of all table rows of docs/controllers.md whose first cell fits this pattern."""
    lines = [line for line in CONTROLLERS.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if re.fullmatch(first, row[0])]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_every_preset_is_in_the_table():
    assert {path.stem for path in (ROOT / "config" / "presets").glob("*.yaml")} == set(PRESETS)
    listed = [row[0].strip("`") for row in rows("`(gentle|paper|stiff|delayed)`")]
    assert sorted(listed) == sorted(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_table_of_presets_has_their_numbers(preset):
    values = read_parameter_file(ROOT / "config" / "presets" / f"{preset}.yaml")
    ((_, gains, force, rate),) = rows(f"`{preset}`")
    expected = [*values["gains.stiffness"], *values["gains.damping"]]
    assert numbers(gains)[:2] == expected
    expected = [values[f"force.{key}"] for key in ("proportional", "integral", "cutoff")]
    assert numbers(force) == expected
    assert numbers(rate) == values["limits.effort_rate"]


def test_every_topic_of_a_controller_is_in_the_table():
    listed = {row[1].strip("`") for row in rows("in|out")}
    source = "".join(path.read_text(encoding="utf-8") for path in ROS.glob("*.py"))
    used = set(re.findall(r'"(~/[a-z_]+)"', source))
    services = set(re.findall(r'create_service\([^"]*"(~/[a-z_]+)"', source))
    assert used - services
    assert used - services <= listed
    assert {"joint_states", "wrench", "effort_controller/commands", "/diagnostics"} <= listed


def test_every_helper_node_is_explained():
    source = "".join(path.read_text(encoding="utf-8") for path in ROS.glob("*.py"))
    suffixes = set(re.findall(r'side_node\([a-z_.]+, "([a-z]+)"\)', source))
    assert suffixes >= {"loop", "watch", "manager", "physics"}
    explained = " ".join(row[0] for row in rows(r"`[a-z_]+_[a-z]+`.*") if len(row) == 3)
    for suffix in suffixes:
        assert f"_{suffix}`" in explained


@pytest.mark.parametrize(("walk", "most"), [("state", 12), ("parameter", 20)])
def test_a_walk_goes_through_functions_that_are_there(walk: str, most: int):
    """In Python, or in C++; on one screen."""
    section = text_of("CONTRIBUTING.md").partition(f"## The walk of one {walk}\n")[2]
    section = section.partition("\n## ")[0]
    steps = re.findall(r"^\| \d+ \| `([\w.:]+)` \| `([\w/.]+)` \|", section, re.M)
    assert 10 <= len(steps) <= most
    assert len(section.splitlines()) < 40
    for function, module in steps:
        source = (ROOT / "projected_control" / module).read_text(encoding="utf-8")
        name = function.rpartition(".")[2]
        made = rf"def {name}\(|^[\w:&<> ]+ {name}\(|^[\w, ]*\b{name}\b[\w, ]* = "
        assert re.search(made, source, re.M), (function, module)


def test_refusals_are_quoted_as_they_are_said():
    """Each piece of a message on that page, between its gaps, stands in the code."""
    package = (ROOT / "projected_control").rglob("*.py")
    said = re.sub(r'"\s*f?"', "", "".join(path.read_text(encoding="utf-8") for path in package))
    page = text_of("docs/howto/refused.md").partition("## While it runs")[0]
    quotes = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    assert len(quotes) > 5
    for quote in re.findall(r"`([^`]+)`", " ".join(quotes)):
        for piece in quote.split("…"):
            assert piece.strip("; ") in said, quote


def test_files_that_pages_name_are_there():
    for page in pages():
        for name in re.findall(r"`((?:test|config|launch|urdf|examples)/[\w/.-]+)`", text_of(page)):
            assert (ROOT / name).exists(), (page, name)


def test_parameters_that_pages_name_are_there():
    """Words like limits.effort, whose first part is a group of parameters."""
    known = {name for node in nodes() for name in parameters_of(node)}
    groups = {name.partition(".")[0] for name in known if "." in name}
    for page in pages():
        for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text_of(page)):
            if name.partition(".")[0] not in groups or name.endswith((".py", ".md", ".yaml")):
                continue
            named = any(settings_class(node).parameter(name) for node in nodes())
            assert named or any(other.startswith(f"{name}.") for other in known), (page, name)


PAGES = ROOT / "docs" / "constraints"


def test_every_kind_of_constraint_has_its_page_and_nothing_else_is_there():
    ours = [name for name in CONSTRAINTS if CONSTRAINTS[name].needs]  # all but "none"
    assert sorted(constraint_pages.EXAMPLES) == sorted(ours)
    files = {f"{name}.{end}" for name in constraint_pages.EXAMPLES for end in ("md", "svg")}
    assert {path.name for path in PAGES.iterdir()} == {*files, "roles.svg"}
    index = (ROOT / "docs" / "constraints.md").read_text(encoding="utf-8")
    assert [name for name in ours if f"constraints/{name}.md" not in index] == []
    assert "constraints/roles.svg" in index


@pytest.mark.parametrize("name", constraint_pages.EXAMPLES)
def test_a_page_is_what_its_record_says(name):
    """Else: python -m projected_control.apps.docs.constraint_pages docs/constraints."""
    written = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written == constraint_pages.page(CONSTRAINTS[name])


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def drawing(path: Path) -> tuple[str, list[float]]:
    """What a drawing consists of, and where: its text without glyphs and names, its numbers.

    Glyphs, clip paths and comments of the file depend on the version of Matplotlib and its fonts.
    """
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<(defs|metadata)>.*?</\1>|<!--.*?-->|<!DOCTYPE.*?>", "", text, flags=re.S)
    text = re.sub(r'<g id="text_.*?</g>\s*</g>', "", text, flags=re.S)
    text = re.sub(r'(xlink:href|id|clip-path)="[^"]*"', "", text)
    return NUMBER.sub("", text), [float(number) for number in NUMBER.findall(text)]


def test_drawings_are_what_is_drawn_now(tmp_path):
    """Same lines, arcs and colours, at the same places to a tenth of a point."""
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed: extra apps")
    constraint_pages.main(tmp_path)
    for path in sorted(tmp_path.glob("*.svg")):
        now, there = drawing(path), drawing(PAGES / path.name)
        assert now[0] == there[0], path.name
        assert now[1] == pytest.approx(there[1], abs=0.1), path.name
        comments = re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))
        written = re.findall(r"<!-- (.*?) -->", (PAGES / path.name).read_text(encoding="utf-8"))
        assert comments == written  # its words


PIP = re.compile(r"^(?:python3 -m )?pip install", re.MULTILINE)


@pytest.mark.parametrize("page", pages())
def test_pip_is_run_where_debian_and_ubuntu_let_it(page) -> None:
    """In a virtual environment; or for the system's Python, and then that is said."""
    text = text_of(page)
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        where = ("-m venv", "--break-system-packages", "projected_control[")
        assert any(word in block for word in where) or not PIP.search(block), block
    inline = [code for code in re.findall(r"`([^`\n]+)`", text) if PIP.match(code)]
    assert not [code for code in inline if re.search(r"ruckig|mcap", code)], inline
