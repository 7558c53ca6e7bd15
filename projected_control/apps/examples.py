"""Our parameter files as examples to begin from: what there is, and what belongs to each."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.resources import ARMS, share_file

NO_ARM = ("ros2_control",)
"""Files of config/ that are no parameters of ours."""

_INCLUDE = re.compile(r"<xacro:include\s+filename=\"([^\"]+)\"")
_DESCRIPTION = re.compile(r"^\s*robot_description_file:\s*(\S+)", re.MULTILINE)


def examples() -> dict[str, str]:
    """Names of the files in config/ with the first sentence that each says of itself."""
    folder = share_file("config", "seven_joints.yaml").parent
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        if file.stem not in NO_ARM:
            lines = file.read_text(encoding="utf-8").splitlines()
            comment = [line.lstrip("# ") for line in takewhile(lambda x: x.startswith("#"), lines)]
            found[file.stem] = " ".join(comment).split(". ")[0].rstrip(".")
    return found


def example_files(name: str) -> list[Path]:
    """The parameter file and, where it names a description of ours, that and what it includes."""
    first = share_file("config", f"{name}.yaml")
    named = _DESCRIPTION.findall(first.read_text(encoding="utf-8"))
    waiting = [share_file("urdf", each) for each in named if not each.startswith(ARMS)]
    files = [first]
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.append(file)
        for included in _INCLUDE.findall(file.read_text(encoding="utf-8")):
            if "$" in included:
                raise ProjectedControlError(f"{file.name} includes {included}, which moves")
            waiting.append(file.parent / included)
    return files
