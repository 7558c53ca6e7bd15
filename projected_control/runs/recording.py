"""Reading a recording, whole or up to where it breaks off."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.runs import row_messages
from projected_control.runs.row_messages import (
    Places,
    column,
    numbers_format,
    plotted,
    plotted_names,
)

MCAP_MISSING = "recordings need the package mcap, which is not installed: pip install mcap"

METADATA, END = "projected_control", "projected_control_end"
"""Records of metadata: what was recorded, and how the recording ended."""


@dataclass
class Recording:
    """What a file holds.

    Attributes:
        path: The file.
        about: What is known of the run: node, kind, engine, period, versions …
        parameters: Of the controller when the recording began, by name.
        simulated: Of the simulated arm, where it was one.
        description: URDF of the arm; empty where none was given.
        memory: The loop's arrays before the first tick.
        files: Files that parameters name, by parameter.
        rows: What was kept of every tick, N × width; see `column`.
        index: Number of each row since the beginning, N: a step of more than one is a gap.
        blocks: By their number, what the deciding side sent (see `control.live`).
        changes: Parameters that changed: from which row on, and their new values.
        diagnostics: Messages on /diagnostics, as bytes.
        broken: Why the file ends before its end; empty where it does not.
        lost: Ticks that could not be kept, as the file itself says.
        reason: Why the recording ended.
    """

    path: Path
    about: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    simulated: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    rows: Array = field(default_factory=lambda: np.zeros((0, 0)))
    index: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    blocks: dict[float, Array] = field(default_factory=dict)
    changes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    diagnostics: list[bytes] = field(default_factory=list)
    broken: str = ""
    lost: int = 0
    reason: str = ""

    @property
    def columns(self) -> Places:
        """Where each part of a row begins, and its shape."""
        content: Mapping[str, Any] = json.loads(self.about["columns"])
        return {name: (at, tuple(shape)) for name, (at, shape) in content.items()}

    def column(self, name: str) -> Array:
        """A part of all rows: see `rows.RowTerms`."""
        return column(self.rows, self.columns, name)

    def with_rows(self, rows: Array, places: Places) -> Recording:
        """The same with other ticks, whose parts lie here."""
        return replace(self, rows=rows, about={**self.about, "columns": json.dumps(places)})

    @property
    def period(self) -> float:
        """Period of the loop [s]."""
        return float(self.about["period"])

    @property
    def exact(self) -> bool:
        """Whether every tick was recorded where it was made."""
        return self.about["exact"] == "True"

    @property
    def joints(self) -> list[str]:
        """Names, in the order of the numbers."""
        return list(json.loads(self.about["joints"]))

    @property
    def coordinates(self) -> list[str]:
        """Names, in the order of the numbers."""
        return list(json.loads(self.about["coordinates"]))

    @property
    def answers(self) -> NDArray[np.bool_]:
        """Which rows are answers to a state; the others are answers to silence."""
        return np.asarray(self.column("kind") == 0.0)

    @property
    def times(self) -> Array:
        """When each state was true, since the first one that was recorded [s]."""
        stamps = self.column("stamp")[self.answers]
        finite = stamps[np.isfinite(stamps)]
        return stamps - (finite[0] if finite.size else 0.0)

    @property
    def gap(self) -> int | None:
        """The first row after a gap; None where there is none."""
        steps = np.flatnonzero(np.diff(self.index) != 1)
        return int(steps[0]) + 1 if steps.size else None

    def quantities(self) -> dict[str, Array]:
        """What the topic ~/state shows, at every tick."""
        columns = self.columns
        multipliers = columns["lambda_desired"][1][0]
        names = plotted_names(self.coordinates, multipliers, self.joints)
        return dict(zip(names, plotted(self.rows[self.answers], columns).T, strict=True))

    def warnings(self) -> list[str]:
        """What a reader of this recording has to know, in sentences."""
        found = []
        if self.broken:
            found.append(self.broken)
        if self.lost:
            found.append(f"{self.lost} ticks were lost while it was recorded")
        if not self.exact:
            found.append(
                "the ticks were made in the controller manager, and what was reported "
                "of them is recorded: a replay is not exact"
            )
        return found


class _Reader:
    """Fills a recording, record by record."""

    def __init__(self, path: Path) -> None:
        self.recording = Recording(path)
        self._channels: dict[int, str] = {}
        self._by_topic: dict[str, str] = {}
        self._rows: list[Array] = []
        self._index: list[int] = []
        self.complete = False

    def take(self, record: Any) -> None:
        """One record of the file."""
        kind = type(record).__name__
        if kind == "Metadata":
            self._metadata(record.name, record.metadata)
        elif kind == "Attachment":
            self._attachment(record.name, record.data)
        elif kind == "Channel":
            self._channels[record.id] = _channel_of(record.topic)
        elif kind == "Message":
            self._message(self._channels.get(record.channel_id, ""), record)
        elif kind == "Footer":
            self.complete = True

    def _metadata(self, name: str, content: Mapping[str, str]) -> None:
        if name == METADATA:
            self.recording.about = dict(content)
        elif name == END:
            self.recording.lost, self.recording.reason = int(content["lost"]), content["reason"]

    def _attachment(self, name: str, data: bytes) -> None:
        recording = self.recording
        if name == "parameters.json":
            recording.parameters = json.loads(data)
        elif name == "simulated_arm.json":
            recording.simulated = json.loads(data)
        elif name == "robot_description.urdf":
            recording.description = data.decode()
        elif name == "memory.npz":
            with np.load(BytesIO(data)) as content:
                recording.memory = {key: content[key] for key in content.files}
        elif name.startswith("files/"):
            recording.files[name.removeprefix("files/")] = data

    def _message(self, channel: str, record: Any) -> None:
        if channel == row_messages.TICKS:
            self._rows.append(_numbers(record.data))
            self._index.append(record.sequence)
        elif channel == row_messages.BLOCKS:
            block = _numbers(record.data)
            self.recording.blocks[float(block[0])] = block
        elif channel == row_messages.PARAMETERS:
            values = row_messages.parameters_of(record.data)
            self.recording.changes.append((record.sequence, values))
        elif channel == row_messages.DIAGNOSTICS:
            self.recording.diagnostics.append(record.data)

    def finish(self) -> Recording:
        """The recording with all rows in one array."""
        recording = self.recording
        if not recording.about:
            raise InvalidValue(
                f"{recording.path} is no recording of projected_control: it lacks the metadata "
                f"{METADATA!r}; one is made with projected-control record, or the parameter "
                "recording.file"
            )
        width = row_messages.width(recording.columns)
        recording.rows = np.array(self._rows).reshape(-1, width)
        # Numbers of rows are kept in 32 bits; they only ever go up.
        index = np.array(self._index, dtype=np.int64)
        wraps = np.concatenate([[0], np.cumsum(np.diff(index) < 0)]) if index.size else index
        recording.index = index + (wraps << 32)
        return recording


def _channel_of(topic: str) -> str:
    for channel in (row_messages.TICKS, row_messages.BLOCKS):
        if topic.endswith(f"/recording/{channel}"):
            return channel
    if topic == "/parameter_events":
        return row_messages.PARAMETERS
    return row_messages.DIAGNOSTICS if topic == "/diagnostics" else ""


def _numbers(data: bytes) -> Array:
    """The numbers of a Float64MultiArray without dimensions: they are all that follows its head."""
    begin = numbers_format(1).size - 8
    return np.frombuffer(data, "<f8", offset=begin).copy()


def read_recording(path: Path | str) -> Recording:
    """Read a recording; of one that breaks off, all up to there.

    Raises:
        InvalidValue: Where the file cannot be read at all, or is something else.
    """
    path = Path(path)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidValue(f"cannot read {path}: {error.strerror or error}") from None
    with file:
        return _read(path, file)


MAGIC = b"\x89MCAP0\r\n"  # the first bytes of every MCAP file


def _why_unreadable(path: Path, file: BinaryIO) -> str:
    """What is wrong with a file of which nothing could be read, and what to do."""
    file.seek(0)
    begin = file.read(len(MAGIC))
    if not begin:
        found = f"{path} is empty"
    elif begin == MAGIC:
        found = f"{path} is cut off or damaged so near its beginning that nothing of it can be read"
    elif begin == MAGIC[: len(begin)]:
        found = f"{path} breaks off after {len(begin)} bytes"
    else:
        found = f"{path} is no MCAP file: it begins with {begin!r}, and not with {MAGIC!r}"
    return (
        f"{found}; expected is a recording, a .mcap file made with projected-control record or the "
        "parameter recording.file"
    )


def _read(path: Path, file: BinaryIO) -> Recording:
    try:
        from mcap.exceptions import McapError
        from mcap.stream_reader import CRCValidationError, StreamReader
        from zstandard import ZstdError
    except ImportError:
        raise ProjectedControlError(MCAP_MISSING) from None
    reader, why = _Reader(path), ""
    try:
        for record in StreamReader(file, validate_crcs=True).records:
            reader.take(record)
    except CRCValidationError:
        why = "a part of it is damaged: its checksum is wrong"
    except (McapError, ZstdError, struct.error, ValueError, EOFError, KeyError) as error:
        if not reader.recording.about:
            raise InvalidValue(_why_unreadable(path, file)) from error
        why = "it was cut off, or the process that wrote it was killed"
    recording = reader.finish()
    if not reader.complete:
        seconds = len(recording.rows) * recording.period
        recording.broken = (
            f"{path.name} breaks off after {len(recording.rows)} ticks ({seconds:.3f} s): "
            f"{why or 'it has no end'}; what comes before is used"
        )
    _end_at_a_lost_change(recording)
    return recording


def _end_at_a_lost_change(recording: Recording) -> None:
    """Leave out what followed a change of the live block that a crash kept from the file."""
    memory = recording.memory
    if not memory or not len(recording.rows) or not recording.exact:
        return
    numbers = recording.column("letter")
    known = [*recording.blocks, *(float(memory[name][0]) for name in ("taken", "mailbox"))]
    lost = np.flatnonzero(~(np.isnan(numbers) | np.isin(numbers, known)))
    if not lost.size:
        return
    first, all_rows = int(lost[0]), len(recording.rows)
    recording.rows, recording.index = recording.rows[:first], recording.index[:first]
    recording.broken = recording.broken or (
        f"{recording.path.name} has {all_rows} ticks, of which {first} are used: with the next one "
        "gains, limits or references came into force that did not reach the file before it ended"
    )
