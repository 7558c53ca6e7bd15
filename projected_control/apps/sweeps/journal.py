"""Rows of a sweep on disk: a journal that a kill cannot harm, and the Parquet file made of it.

The journal is text, one row per line behind its checksum, and only ever grows. A line that was
not finished when the process died is cut off at the next start, and its run made again. The
Parquet file is written under another name and renamed, so that there is never half of one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any
from zlib import crc32

from projected_control.apps.reports.output import CannotWrite, write_files
from projected_control.apps.sweeps.code_digest import fingerprint
from projected_control.apps.sweeps.one_run import BY_CHANCE, RunRow, phrases
from projected_control.apps.sweeps.sweep_case import RunCase
from projected_control.errors import InvalidValue

JOURNAL, TABLE = "runs.journal", "runs.parquet"

SYNC_SECONDS = 5.0
"""How often the journal is forced to the disk, which only a power failure makes matter [s]."""


class Journal:
    """The rows of one sweep, in a folder that no other process writes to meanwhile.

    Args:
        folder: Where.
        about: What the rows are of: digests by name. A journal of something else is refused.

    Attributes:
        rows: What is there, by the number of the run.
        cut: Bytes at the end that were half a line, and are gone.

    Raises:
        InvalidValue: Where the folder has the rows of another sweep.
        CannotWrite: Where it cannot be written.
    """

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        self.path, self.rows = folder / JOURNAL, dict[int, RunRow]()
        self.cut, self._synced = 0, monotonic()
        self._failed: Counter[str] = Counter()
        try:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise CannotWrite(f"cannot write {self.path}: {error.strerror or error}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InvalidValue(
                f"another sweep is writing to {folder}: wait for its end, or choose another folder "
                "(--out)"
            ) from None
        try:
            self._take_up(dict(about))
        except BaseException:
            self._file.close()
            raise

    def _take_up(self, about: dict[str, str]) -> None:
        self._file.seek(0)
        content = self._file.read()
        good, lines = 0, []
        for line in content.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break  # half a line, of a process that died
            good += len(line)
            lines.append(line)
        self.cut = len(content) - good
        if self.cut:
            self._file.truncate(good)
        found = [item for line in lines if (item := _read_line(line)) is not None]
        if not found:
            if lines:
                raise InvalidValue(f"{self.path} is no journal of a sweep; choose another --out")
            self._append(about)
            return
        self._require_same(found[0], about)
        for item in found[1:]:
            self._hold(_row(item))

    def _hold(self, row: RunRow) -> None:
        self.forget([row.number])
        self.rows[row.number] = row
        if row.failed:
            self._failed[row.status] += 1

    def _require_same(self, there: Mapping[str, Any], about: Mapping[str, str]) -> None:
        wrong = [name for name, value in about.items() if there.get(name) != value]
        if wrong:
            raise InvalidValue(
                f"{self.path.parent} has the rows of a sweep with other {', '.join(wrong)}: their "
                "numbers would not go together. Choose another folder (--out), or remove "
                f"{JOURNAL} there"
            )

    def add(self, row: RunRow) -> None:
        """Keep a row; after this returns, killing the process does not lose it."""
        self._append(_item(row))
        self._hold(row)
        if monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = monotonic()

    def forget(self, numbers: Iterable[int]) -> None:
        """Have runs made again."""
        for number in numbers:
            row = self.rows.pop(number, None)
            if row is not None and row.failed:
                self._failed[row.status] -= 1

    @property
    def failures(self) -> str:
        """What failed so far, in a few words."""
        return ", ".join(f"{n} {status}" for status, n in sorted(self._failed.items()) if n)

    def _append(self, item: Mapping[str, Any]) -> None:
        text = json.dumps(item, separators=(",", ":")).encode()
        line = b"%08x %s\n" % (crc32(text), text)
        try:
            while line:  # a disk that is full takes a part
                line = line[os.write(self._file.fileno(), line) :]
        except OSError as error:
            raise CannotWrite(f"cannot write {self.path}: {error.strerror or error}") from None

    def close(self) -> None:
        """End it; nothing is kept any more."""
        os.fsync(self._file.fileno())
        self._file.close()


def by_chance(rows: Mapping[int, RunRow]) -> list[int]:
    """Runs whose end depended on the computer."""
    return [number for number, row in rows.items() if row.status in BY_CHANCE]


def _read_line(line: bytes) -> dict[str, Any] | None:
    """What a line says; None where it is damaged."""
    sum_, _, text = line.rstrip(b"\n").partition(b" ")
    if sum_ != b"%08x" % crc32(text):
        return None
    try:
        item = json.loads(text)
    except ValueError:
        return None
    return item if isinstance(item, dict) else None


FIELDS = (
    *("number", "part", "values", "status", "reason"),
    *("events", "stopped_by", "numbers", "checks"),
)
"""Parts of a row that are the same whenever it is made."""


def _item(row: RunRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in (*FIELDS, "took")}


def _row(item: Mapping[str, Any]) -> RunRow:
    content = dict(item)
    for name in ("values", "checks", "took"):
        content[name] = tuple(content[name])
    return RunRow(**content)


def write_table(folder: Path, case: RunCase, rows: Sequence[RunRow], study: str) -> Path:
    """Write the rows as Parquet, whole or not at all.

    Every row has its point, its numbers, how it ended and why, and the digests of what computed
    it; the settings that do not vary are in the file's metadata.

    Args:
        folder: Where to.
        case: Of which case.
        rows: In the order of their numbers.
        study: The text of the study file.
    """
    from io import BytesIO

    import pyarrow
    from pyarrow import parquet

    made = fingerprint()
    columns: dict[str, Any] = {"run": pyarrow.array([row.number for row in rows], pyarrow.int64())}

    def words(values: Iterable[str]) -> Any:
        return pyarrow.array(list(values), pyarrow.string()).dictionary_encode()

    columns["part"] = words(row.part for row in rows)
    for i, axis in enumerate(case.axes):
        columns[axis.name] = pyarrow.array([row.values[i] for row in rows], pyarrow.float64())
    columns["status"] = words(row.status for row in rows)
    columns["reason"] = pyarrow.array([row.reason for row in rows], pyarrow.string())
    columns["events"] = words(phrases(row.events) for row in rows)
    columns["stopped_by"] = words(phrases(row.stopped_by) for row in rows)
    for name in case.numbers:
        values = [row.numbers.get(name, float("nan")) for row in rows]
        columns[name] = pyarrow.array(values, pyarrow.float64())
    for name in ("code", "kernels"):
        columns[name] = words(made[name] for _ in rows)
    about = {
        "study": study,
        "case": case.digest,
        **case.about,
        **made,
    }
    table = pyarrow.table(columns).replace_schema_metadata(about)
    output = BytesIO()
    parquet.write_table(table, output)
    return write_files(folder, {TABLE: output.getvalue()})[0]
