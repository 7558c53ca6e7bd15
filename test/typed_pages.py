"""docs/your_arm.md and docs/tutorials/hardware.md, as one types them: their files and commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from blocks import Session, blocks_of

YOUR_ARM, TUTORIAL = "docs/your_arm.md", "docs/tutorials/hardware.md"

NOT_AS_DESCRIBED = {
    "simulation.mass_factor": 1.1,
    "friction.coulomb": [0.5],
    "friction.sticks": True,
}
"""What the simulated arm has that its controller knows nothing of."""

BEYOND = 0.1
"""How far a joint may go beyond what the text says [rad]."""

SIX = {
    ", joint_7]": "]",
    "[0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0]": "[0.0, 0.35, 0.0, -1.7, 0.0, 1.1]",
}
LOCKED = {'"joint_7" type="revolute"': '"joint_7" type="fixed"'}
"""What of the files of the page is another with the last joint locked."""


def write_your_arm(folder: Path, joints: int = 7) -> Path:
    """docs/your_arm.md up to the flight check, then its three files put into one: my_arm.yaml."""
    session = Session(folder)
    for block in blocks_of(YOUR_ARM):
        if "control check" in block.text:
            break
        if not block.why_not:
            session.run(block)
    if joints == 6:
        for file, changes in (("my_arm.urdf", LOCKED), ("my_arm.yaml", SIX), ("wipe.yaml", SIX)):
            text = (folder / file).read_text()
            for old, new in changes.items():
                text = text.replace(old, new)
            (folder / file).write_text(text)
    content: dict[str, Any] = {}
    for name in ("my_arm.yaml", "table.yaml", "wipe.yaml"):
        _merge(content, yaml.safe_load((folder / name).read_text()))
    file = folder / "my_arm.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def add_the_first_hour(file: Path) -> None:
    """What the tutorial has one add to the end of my_arm.yaml."""
    (added,) = (b.text for b in blocks_of(TUTORIAL) if b.text.startswith("# my_arm.yaml, at its"))
    file.write_text(f"{file.read_text()}\n{added}\n")


def typed(*words: str, page: str = TUTORIAL) -> list[str]:
    """The one command of a page with these words, as a shell would read it."""
    found = [
        command
        for block in blocks_of(page)
        if block.language == "sh"
        for command in block.commands
        if all(word in command for word in words)
    ]
    assert len(found) == 1, f"{page} has {len(found)} commands with {words}"
    return shlex.split(found[0])


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value
