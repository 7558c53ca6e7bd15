"""A recording as a port: a control loop meets the same states again.

Built as it was and with its memory of then, it gives the same answers. Built differently, it says
what it would have asked for at these states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.control.live import PIECES_AT, TABLES, WRITTEN_BY_PYTHON
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference, ReferencePoint
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.motion_tables import write_instant
from projected_control.runs.kept_memory import as_here, block_as_here, block_places
from projected_control.runs.port import Port
from projected_control.runs.recording import Recording, read_recording
from projected_control.runs.rows import Rows
from projected_control.runs.runner import Runner

Changed = Callable[[ControlLoop, Mapping[str, Any]], None]
"""Puts parameters that changed into force, as far as no live block does that."""


class RecordedReference(Reference):
    """What a loop followed, tick by tick; between two ticks on from the first, then at rest.

    Args:
        stamps: Of the ticks, N [s].
        motion: Value, rate and acceleration at each, N × 3 × size.
    """

    def __init__(self, stamps: Array, motion: Array) -> None:
        finite = np.isfinite(stamps) & np.isfinite(motion).all(axis=(1, 2))
        order = np.argsort(stamps[finite], kind="stable")
        self._stamps, self._motion = stamps[finite][order], motion[finite][order]
        if not self._stamps.size:
            raise InvalidValue("the recording has no tick with a finite stamp")
        self.size = motion.shape[2]

    def at(self, time: float) -> ReferencePoint:
        """The reference at a time [s]: that of the last tick before it, and its motion since."""
        i = max(int(np.searchsorted(self._stamps, time + 1e-9, side="right")) - 1, 0)
        value, rate, acceleration = self._motion[i]
        since = max(time - self._stamps[i], 0.0)
        if since < 1e-9:  # at the tick itself, to the last bit
            return ReferencePoint(value.copy(), rate.copy(), acceleration.copy())
        if i + 1 == self._stamps.size:
            return ReferencePoint(value.copy(), np.zeros_like(rate), np.zeros_like(acceleration))
        return ReferencePoint(
            value + since * rate + 0.5 * since**2 * acceleration,
            rate + since * acceleration,
            acceleration.copy(),
        )


class Replayer:
    """Brings a loop into the state in which it was recorded, and gives it the changes of then.

    Args:
        loop: Built as the recorded one; or differently, with `anew`.
        recording: What was recorded.
        keep: Slots of the live block that stay as the loop has them.
        anew: Begin without the recorded memory; references then are those that were recorded.
        changed: Puts parameters into force that no live block carries.
    """

    def __init__(
        self,
        loop: ControlLoop,
        recording: Recording,
        *,
        keep: Collection[str] = (),
        anew: bool = False,
        changed: Changed | None = None,
    ) -> None:
        self.loop, self._recording, self._anew = loop, recording, anew
        self._keep, self._changed = frozenset(keep), changed
        self._numbers = recording.column("letter")
        self._changes = sorted(recording.changes, key=lambda change: change[0])
        self._stamps = recording.column("stamp")
        self._motion = recording.column("motion")
        self._force_motion = recording.column("force_motion")
        self._current, self._layout = float("nan"), recording.about.get("memory", "")
        told = "bodies" in block_places(self._layout) and "bodies" not in self._keep
        self._follows = anew or not told
        self._require_same_sizes()

    def _require_same_sizes(self) -> None:
        recording, model = self._recording, self.loop.controller.model
        ours = (list(model.arm.joint_names), model.k)
        if ours != (recording.joints, self._motion.shape[2]):
            raise InvalidValue(
                f"{recording.path.name} is of the joints {', '.join(recording.joints)} and "
                f"{self._motion.shape[2]} coordinates; the loop has "
                f"{', '.join(model.arm.joint_names)} and {model.k}"
            )

    def begin(self) -> None:
        """Just before the first tick."""
        loop, recording = self.loop, self._recording
        if self._anew:
            loop.set_reference(RecordedReference(self._stamps, self._motion))
            if loop.controller.force is not None and (
                self._force_motion.shape[2] == loop.controller.model.m
            ):
                desired = self._force_motion.copy()
                desired[:, 0] = self._recording.column("lambda_desired")
                loop.set_force_reference(RecordedReference(self._stamps, desired))
            return
        loop.restore(as_here(loop, recording.memory, self._layout))
        self._current = float(recording.memory["mailbox"][0])

    def before(self, row: int) -> None:
        """Just before the tick of this row: what came into force with it."""
        while self._changes and self._changes[0][0] <= self._recording.index[row]:
            _, values = self._changes.pop(0)
            if self._changed is not None and self._follows:
                self._changed(self.loop, values)
        if self._anew:
            return
        number = self._numbers[row]
        if not np.isnan(number) and number != self._current and number != self._first_taken():
            self._deliver(float(number))
        self._write_references(row)

    def _first_taken(self) -> float:
        return float(self._recording.memory["taken"][0])

    def _deliver(self, number: float) -> None:
        content = self._recording.blocks.get(number)
        if content is None:
            raise InvalidValue(
                f"{self._recording.path.name} lacks change {number:g} (new gains, limits or "
                "references), which was in force: from here on nothing can be replayed"
            )
        self.loop.deliver(block_as_here(self.loop, content, self._layout), self._keep)
        self._current = number

    def _write_references(self, row: int) -> None:
        """What Python wrote into the tables in force, as it has no table of its own."""
        mailbox = self.loop.mailbox
        for slot, motion in zip(TABLES, (self._motion, self._force_motion), strict=True):
            posted = getattr(mailbox.draft, slot)
            if posted[PIECES_AT] == WRITTEN_BY_PYTHON and slot not in self._keep:
                write_instant(getattr(mailbox, slot), self._stamps[row], motion[row])


class RecordedArm(Port):
    """An arm that does what it did when it was recorded, whatever it is told.

    Args:
        recording: What was recorded.
        replayer: Prepares the loop; None to give it the states alone.

    Attributes:
        row: Which row is read next.
        written: What the loop answered, one line per row; NaN for rows not reached.
    """

    def __init__(self, recording: Recording, replayer: Replayer | None = None) -> None:
        if not len(recording.rows):
            raise InvalidValue(f"{recording.path.name} holds no tick")
        self._recording, self._replayer = recording, replayer
        self.wrench_frame = recording.about["wrench_frame"]
        self._answers = recording.answers
        self._q, self._v = recording.column("q"), recording.column("v")
        self._stamps, self._ages = recording.column("stamp"), recording.column("wrench_age")
        self._wrenches, self._clock = recording.column("wrench"), recording.column("clock")
        self.written = np.full_like(self._q, np.nan)
        self.row = 0

    def open(self) -> RawState:
        first = int(np.argmax(self._answers))
        return self._state(first)

    def engage(self) -> None:
        if self._replayer is not None:
            self._replayer.begin()

    def _state(self, row: int) -> RawState:
        age = float(self._ages[row])
        wrench = None if np.isinf(age) else self._wrenches[row].copy()
        q, v = self._q[row].copy(), self._v[row].copy()
        seconds, nanoseconds = self._clock[row].tolist()
        self.stamp_ns = int(seconds) * 1_000_000_000 + int(nanoseconds)
        return RawState(q, v, float(self._stamps[row]), wrench, 0.0 if wrench is None else age)

    def read(self) -> RawState | None:
        row, self.row = self.row, self.row + 1
        if self._replayer is not None:
            self._replayer.before(row)
        return self._state(row) if self._answers[row] else None

    def write(self, effort: Array) -> None:
        self.written[self.row - 1] = effort

    def close(self) -> None:
        """Nothing holds it."""


@dataclass(frozen=True)
class Replay:
    """What a loop answered to a recording."""

    recording: Recording  # what was replayed
    effort: Array  # answers, N × n [N·m or N]
    kept: Rows  # what the ticks did
    runner: Runner  # holds the loop and what was counted
    exact_rows: int  # rows up to the first gap, for which the answers can be the same

    @property
    def as_recording(self) -> Recording:
        """The recording with these answers."""
        return self.recording.with_rows(self.rows, self.kept.places)

    @property
    def rows(self) -> Array:
        """All that is kept of the ticks, as in a recording, N × width."""
        return self.kept.kept

    @property
    def difference(self) -> float:
        """The largest difference of any effort to the recorded one, up to the first gap.

        NaN beside NaN is none; NaN beside a number is infinite.
        """
        rows = slice(0, self.exact_rows)
        ours, theirs = self.effort[rows], self.recording.column("effort")[rows]
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        gap = np.where(same, 0.0, np.abs(ours - theirs))
        return float(np.nan_to_num(gap, nan=np.inf).max()) if gap.size else 0.0


def replay(
    recording: Recording | Path | str,
    loop: ControlLoop,
    *,
    keep: Collection[str] = (),
    anew: bool = False,
    changed: Changed | None = None,
    prepare: Callable[[ControlLoop], None] | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Replay:
    """Let a loop answer all states of a recording once more.

    Args:
        recording: A file, or what was read from it.
        loop: What answers.
        keep, anew, changed: See `Replayer`.
        prepare: Changes what runs, just before the first tick.
        progress: Told which fraction is done.
    """
    read = recording if isinstance(recording, Recording) else read_recording(recording)
    port = RecordedArm(read, Replayer(loop, read, keep=keep, anew=anew, changed=changed))
    port.takes = loop.controller.kind.commands
    runner = Runner(loop, port)
    runner.open()
    kept = runner.keep(len(read.rows))
    if prepare is not None:
        prepare(loop)
    take_through(runner, len(read.rows), progress)
    gap = read.gap
    return Replay(read, port.written, kept, runner, len(read.rows) if gap is None else gap)


def take_through(
    runner: Runner, rows: int, progress: Callable[[float], None] = lambda fraction: None
) -> None:
    """Make so many turns, whatever the guard says of them."""
    for row in range(rows):
        runner.step()
        if row % 1000 == 0:
            progress(row / rows)
    progress(1.0)
