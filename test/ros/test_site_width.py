"""The documentation in a window of 1280 pixels: no code and no table is wider than its place."""

from __future__ import annotations

import pytest

pytest.importorskip("mkdocs", reason="MkDocs is not installed: extra docs")

import subprocess
import sys
from pathlib import Path

from browser import Browser, missing

pytestmark = [pytest.mark.browser, pytest.mark.long]

ROOT = Path(__file__).parents[2]
TOO_WIDE = """
return [...document.querySelectorAll(".md-typeset pre > code, .md-typeset table")]
  .filter((each) => each.offsetParent)
  .map((each) => [each, each.closest(".md-typeset__scrollwrap, pre") ?? each])
  .filter(([each, place]) => each.scrollWidth > place.clientWidth + 1)
  .map(([each]) => each.innerText.slice(0, 80))
"""


def test_nothing_is_wider_than_the_window(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=250)
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    browser = Browser()
    try:
        browser.driver.set_window_size(1280, 900)
        found = {}
        for page in pages:
            browser.driver.get(page.as_uri())
            if wide := browser.driver.execute_script(TOO_WIDE):
                found[page.name] = wide
        assert found == {}
    finally:
        browser.close()
