"""The documentation site: built without a warning, whole, and without anything from the network."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="MkDocs is not installed: extra docs")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: extra docs")

import projected_control
from projected_control.apps.cli import parser
from projected_control.apps.docs import command_pages, site_hooks
from projected_control.apps.docs.site_hooks import SEVERAL, separated

ROOT = Path(__file__).parents[1]
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Which attribute of which element makes a browser fetch something by itself."""


def build(folder: Path, docs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Build the site as `make docs` does, into a folder."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=docs or ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Fetches(HTMLParser):
    """What a browser would fetch for a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in FETCHED and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get(FETCHED[tag]) or "")


def test_every_page_is_there(site):
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    made = [Path("cli.md"), Path("examples.md"), Path("contributing.md"), Path("changelog.md")]
    for page in [*pages, *made, *(Path("api", name) for name in site_hooks.interface_pages())]:
        assert (site / page.with_suffix(".html")).is_file(), page


def test_nothing_comes_from_the_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        fetched = Fetches(page.read_text(encoding="utf-8")).found
        assert fetched
        assert [link for link in fetched if re.match(r"(https?:)?//", link)] == [], page
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text) == [], sheet


def test_every_name_of_the_package_is_explained(site):
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    assert set(site_hooks.interface_names()) == {*projected_control.__all__} - {"__version__"}
    for name in site_hooks.interface_names():
        assert f'id="projected_control.{name}"' in text, name


def test_every_option_of_every_command_is_listed():
    page = command_pages.page()
    seen = [("", parser())]
    while seen:
        name, command = seen.pop()
        inner = command_pages.subcommands(command)
        seen += inner and [(f"{name} {sub}".strip(), its) for sub, _, its in inner]
        if not inner:
            section = page[page.index(f"# {name}\n") :]
            for action in command._actions:
                if not isinstance(action, argparse._HelpAction):
                    first = next(iter(action.choices or [action.dest]))
                    shown = [*action.option_strings, str(action.metavar or first)]
                    assert any(f"`{text}" in section for text in shown), (name, action)


def test_marks_of_the_tests_are_not_shown(site):
    for page in site.rglob("*.html"):
        assert "<!-- not run" not in page.read_text(encoding="utf-8"), page


def test_a_page_that_is_not_there_yet_is_left_out_of_the_navigation():
    nav = [{"Home": "index.md"}, {"More": ["nowhere.md", {"Tune": "not_written.md"}]}, "cli.md"]
    kept = site_hooks._present(nav, ROOT / "docs", {"cli.md"})
    assert kept == [{"Home": "index.md"}, "cli.md"]
    assert "constraints/hinge.md" in site_hooks._present(["constraints/*"], ROOT / "docs", set())


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("[gone](nowhere.md)", "nowhere.md"),
        ("[gone](safety.md#nowhere)", "nowhere"),
        ("![gone](images/nowhere.png)", "nowhere.png"),
    ],
)
@pytest.mark.long
def test_a_broken_link_is_an_error(fault, complaint, tmp_path):
    here = tmp_path / "clone"
    here.mkdir()
    for name in ("docs", "mkdocs.yml", "CONTRIBUTING.md", "CHANGELOG.md", "examples"):
        subprocess.run(["cp", "-r", str(ROOT / name), str(here / name)], check=True)
    (here / "projected_control").symlink_to(ROOT / "projected_control")
    with (here / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{fault}\n")
    done = build(tmp_path / "site", here)
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr


def test_names_that_share_a_description_are_told_apart():
    text = "    q, v: Positions and velocities\n        of the arm.\n    M: Inertia."
    assert SEVERAL.sub(separated, text) == (
        "    v: See `q`.\n    q: Positions and velocities\n        of the arm.\n    M: Inertia."
    )
