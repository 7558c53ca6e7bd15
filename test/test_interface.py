"""What others build on is what test/snapshots says: parameters, names, commands."""

from __future__ import annotations

import json

import pytest
from interface_snapshot import FOLDER, SNAPSHOTS, changes, kept, text_of

WHAT_TO_DO = (
    "others build on these. Where the change is meant, say it in CHANGELOG.md and run "
    "python test/interface_snapshot.py"
)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_nothing_changed_without_a_word(name: str) -> None:
    found = changes(name, SNAPSHOTS[name]())
    assert not found, "\n".join([*found, WHAT_TO_DO])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_snapshot_has_one_line_per_thing_in_order(path) -> None:
    """As it is written; so that two additions merge."""
    text = path.read_text(encoding="utf-8")
    assert text == text_of(json.loads(text))
    assert len(text.splitlines()) == len(kept(path.stem)) + 2


def test_what_is_gone_new_or_different_is_said() -> None:
    now = dict(kept("commands"))
    gone = now.pop("replay --json")
    now["replay --xml"] = gone
    now["replay --engine"] = {"kind": "Store", "choices": ["numba"]}
    said = changes("commands", now)
    assert [line.split(": ", 1)[1].split(" ")[0] for line in said] == ["gone:", "new:", "replay"]
    assert "numba" in said[2]
