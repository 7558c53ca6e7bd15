"""Between settings and recordings: what a file keeps of them, and settings from a file."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from projected_control.errors import InvalidValue
from projected_control.runs.recording import Recording
from projected_control.settings.nodes import (
    ARM,
    ControllerSettings,
    SimulatedArmSettings,
    checked_controller,
    own_values,
)

LARGEST_FILE = 10_000_000
"""Size up to which a file that a parameter names is kept in a recording [bytes]."""

_FILES = ("heights_file", "reference.file")


def files_of(values: Mapping[str, Any]) -> dict[str, bytes]:
    """Contents of the files that parameters name, by parameter."""
    found = {}
    for name, value in values.items():
        path = Path(value) if name.endswith(_FILES) and value else None
        if path is not None and path.is_file() and path.stat().st_size <= LARGEST_FILE:
            found[name] = path.read_bytes()
    return found


def controller_settings(
    recording: Recording, changes: Mapping[str, Any] | None = None
) -> ControllerSettings:
    """The settings of the controller when the recording began, with changes on top.

    Raises:
        InvalidValue: Where the loop was made by hand, so that none were recorded.
    """
    kind = recording.about["kind"]
    if not kind or not recording.parameters:
        raise InvalidValue(
            f"{recording.path.name} was recorded from a loop that was made by hand, without "
            "parameters: build the same loop, and give it to projected_control.replay"
        )
    return checked_controller(kind, {**recorded_values(recording), **(changes or {})})


def recorded_values(recording: Recording) -> dict[str, Any]:
    """The parameters of a recording, which need nothing but the recording itself."""
    return with_contents(recording.parameters, recording.description, recording.files)


def with_contents(
    parameters: Mapping[str, Any], description: str, files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Parameters that need no file but those whose contents are given.

    Args:
        parameters: By full name.
        description: The URDF itself.
        files: Contents of files that parameters name, by parameter (see `files_of`).
    """
    values = dict(parameters)
    values |= {
        "robot_description": description,
        "robot_description_file": "",
        "robot_description_arguments": [],
    }
    if "recording.file" in values:
        values["recording.file"] = ""
    for name, content in files.items():
        path = Path(values[name])
        if not path.is_file() or path.read_bytes() != content:
            values[name] = _written(content, path.suffix)
    return values


@cache
def _folder() -> Path:
    """For files out of recordings, as long as this process runs."""
    folder = Path(tempfile.mkdtemp(prefix="projected_control_recording_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _written(content: bytes, suffix: str) -> str:
    """The path of a file with this content, which goes when this process ends."""
    path = _folder() / f"{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    path.write_bytes(content)
    return str(path)


def arm_settings(
    recording: Recording, changes: Mapping[str, Any] | None = None
) -> SimulatedArmSettings:
    """A simulated arm as the recorded one: what is known of it, with changes on top."""
    values = {**recording.simulated, **own_values(ARM, recorded_values(recording))}
    return SimulatedArmSettings.of({**values, **own_values(ARM, changes or {})})
