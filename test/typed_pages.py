"""docs/your_arm.md and docs/tutorials/hardware.md, as one types them: their files and commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from blocks import Session, blocks_of

from projected_control.planning import assemble
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings

YOUR_ARM, TUTORIAL = "docs/your_arm.md", "docs/tutorials/hardware.md"

NOT_AS_DESCRIBED = {
    "simulation.mass_factor": 1.1,
    "friction.coulomb": [0.5],
    "friction.sticks": True,
}
"""What the simulated arm has that its controller knows nothing of."""

BEYOND = 0.1  # how far a joint may go beyond what the text says [rad]

SIX = {
    "joint_2, joint_3, joint_4": "joint_2, joint_4",
    "[0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0]": "[0.0, 0.35, -1.7, 0.0, 1.1, 0.0]",
}
LOCKED = {'"joint_3" type="revolute"': '"joint_3" type="fixed"'}
"""What of the files of the page is another with the joint locked that makes an elbow free."""


Extent = dict[str, tuple[float, float]]  # from where to where each joint goes [rad]


def write_your_arm(folder: Path, joints: int = 7, whole: bool = False) -> Path:
    """docs/your_arm.md up to the flight check, then its three files put into one: my_arm.yaml.

    Args:
        folder: In which it is typed.
        joints: Of the arm.
        whole: Go on to the page's end, as far as no arm is needed.
    """
    session, blocks = Session(folder), [b for b in blocks_of(YOUR_ARM) if not b.why_not]
    checked = next(i for i, block in enumerate(blocks) if "control check" in block.text)
    for block in blocks[:checked]:
        session.run(block)
    if joints == 6:
        for file, changes in (("my_arm.urdf", LOCKED), ("my_arm.yaml", SIX), ("wipe.yaml", SIX)):
            text = (folder / file).read_text()
            for old, new in changes.items():
                assert old in text or file == "wipe.yaml", f"{file} has no {old}"
                text = text.replace(old, new)
            (folder / file).write_text(text)
    for block in blocks[checked:] if whole else ():
        session.run(block)
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
    found = all_typed(*words, page=page)
    assert len(found) == 1, f"{page} has {len(found)} commands with {words}"
    return found[0]


def all_typed(*words: str, page: str = TUTORIAL) -> list[list[str]]:
    """The commands of a page with these words."""
    return [
        shlex.split(command)
        for block in blocks_of(page)
        if block.language == "sh"
        for command in block.commands
        if all(word in command for word in words)
    ]


def along_the_path(node: str, settings: ControllerSettings, q: np.ndarray) -> Extent:
    """From where to where the flight check finds each joint to go."""
    found = build.fly(build.build_loop(node, settings), settings, q).q
    return _extent(settings, found)


def on_the_way(settings: ControllerSettings, q: np.ndarray, coordinate: str, by: float) -> Extent:
    """From where to where each joint goes for a relative set-point of one coordinate."""
    model = build.build_model(settings).evaluate(q, np.zeros(q.size))
    place = model.theta.copy()
    place[list(settings.coordinates).index(coordinate)] += by
    there = assemble(model.arm, model.constraint, q, model.coordinates, place)
    return _extent(settings, np.array([q, there]))


def beyond(went: Extent, said: Extent) -> float:
    """How far the joint goes that goes farthest beyond what is said of it [rad]."""
    return max(max(said[name][0] - low, high - said[name][1]) for name, (low, high) in went.items())


def _extent(settings: ControllerSettings, places: np.ndarray) -> Extent:
    names = build.build_arm(settings).joint_names
    both = np.array([places.min(axis=0), places.max(axis=0)]).T
    return {name: (low, high) for name, (low, high) in zip(names, both.tolist(), strict=True)}


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value
