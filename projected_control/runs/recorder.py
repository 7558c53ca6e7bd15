"""Records a control loop tick by tick, while it runs, without holding it up.

The thread that ticks copies a row of numbers into shared memory, in one call of a kernel. Another
process (`process`) takes the rows from there into an MCAP file. What is rare (changes,
parameters that change, diagnostics) goes through a pipe, from a thread of its own.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.control.loop import REMEMBERED, ControlLoop, Tick
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.runs import row_messages
from projected_control.runs.recording import MCAP_MISSING
from projected_control.runs.recording_head import About, make_head
from projected_control.runs.ring import BYTES, DONE, ENDED, LOST, TAKEN, Ring
from projected_control.runs.rows import ROW, RowWriter

if TYPE_CHECKING:
    from projected_control.runs.runner import Runner

SUFFIX = ".mcap"

RING_SECONDS = 8.0  # how long the file may be behind before ticks are lost [s]
FINISH_SECONDS = 10.0  # how long the last rows may take to reach the file [s]
MEGABYTES = 4000.0  # default for the size at which a recording ends [MB]


class Recorder:
    """One recording of one loop.

    `Runner.record` starts it between two ticks. It may be closed at any time, from any thread.

    Args:
        file: Where to; made anew. Where it exists, a number is added to the name.
        about: What the file says of the run.
        state_rate: Rate of the quantities to be plotted (~/state) [Hz].
        megabytes: Size at which the recording ends [MB].
        patient: Let ticks wait for the file rather than lose them; unless given, where time does
            not press: on ports that do not wait for an arm.

    Attributes:
        file: Where it goes.

    Raises:
        InvalidValue: Where the file cannot be written.
    """

    def __init__(
        self,
        file: Path | str,
        about: About | None = None,
        *,
        state_rate: float = 100.0,
        megabytes: float = MEGABYTES,
        patient: bool | None = None,
    ) -> None:
        self.about = about or About()
        self._state_rate, self._largest = state_rate, round(1e6 * megabytes)
        require_mcap()
        self.file, self._output = _new_file(Path(file))
        self._ring: Ring | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._notes: queue.SimpleQueue[tuple[str, int, Any] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._runner: Runner | None = None
        self._closed, self._patient = False, patient

    # What the deciding side does

    def prepare(self, loop: ControlLoop) -> None:
        """Get memory and process ready; where no time presses."""
        model, period = loop.controller.model, loop.controller.period
        width = ROW.size(n=model.n, m=model.m, k=model.k, t=0)
        self._ring = ring = Ring.new(max(round(RING_SECONDS / period), 1000), width)
        reading, writing = os.pipe()
        numbers = (ring.handle, reading, self._output, ring.capacity, ring.width)
        command = [sys.executable, "-m", "projected_control.runs.process"]
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, numbers)],
                pass_fds=numbers[:3],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            os.close(writing)
            raise ProjectedControlError(f"nothing can be recorded: {error}") from None
        finally:
            os.close(reading)
            os.close(self._output)
            ring.release()
        self._pipe = Connection(writing, readable=False)
        self._spare = {name: np.empty_like(getattr(loop.arguments, name)) for name in REMEMBERED}

    def note(self, channel: str, content: Any) -> None:
        """Keep what is rare: parameters that change, or diagnostics; from any thread."""
        ring = self._ring
        if ring is not None and not self._closed:
            self._notes.put((channel, int(ring.counters[DONE]), content))

    def changed(self, values: Mapping[str, Any]) -> None:
        """Parameters are these from the next tick on."""
        self.note(row_messages.PARAMETERS, dict(values))

    def close(self, reason: str = "ended") -> None:
        """End the recording; returns when the file is complete."""
        if self._closed:
            return
        runner, self._runner = self._runner, None
        if runner is not None and self in runner.keepers:
            runner.keepers = tuple(each for each in runner.keepers if each is not self)
            runner.loop.mailbox.listener = None
        self._closed = True
        if self._process is None:  # it was never begun
            with suppress(OSError):
                os.close(self._output)
                self.file.unlink()
            return
        if self._thread is None:
            self._pipe.close()
            self.file.unlink(missing_ok=True)
        else:
            self._notes.put(("end", 0, reason))
            self._notes.put(None)
            self._thread.join(FINISH_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(FINISH_SECONDS)

    @property
    def trouble(self) -> str:
        """Why nothing is recorded any more, or what was lost; empty where all is well."""
        ring = self._ring
        if ring is None or self._closed:
            return ""
        if ring.counters[ENDED]:
            return ring.text or "the process that writes the recording has ended"
        if self._process is not None and self._process.poll() is not None:
            return "the process that writes the recording was killed"
        lost = int(ring.counters[LOST])
        return f"{lost} ticks were not recorded: the disk is too slow" if lost else ""

    def status(self) -> dict[str, Any]:
        """File, rows, lost rows and size [MB], for diagnostics and summaries."""
        counters = self._ring.counters if self._ring is not None else np.zeros(8, dtype=np.int64)
        return {
            "file": str(self.file),
            "rows": int(counters[DONE]),
            "lost": int(counters[LOST]),
            "megabytes": round(float(counters[BYTES]) / 1e6, 3),
            "trouble": self.trouble,
        }

    # What the thread that ticks does

    def begin(self, runner: Runner) -> None:
        """Record from the next tick on; between two ticks."""
        loop = runner.loop
        if self._closed:
            return
        mailbox = loop.mailbox
        with mailbox.lock:
            mailbox.listener = self._heard_change
            memory = {name: self._kept(name, getattr(loop.arguments, name)) for name in REMEMBERED}
        assert self._ring is not None
        self._rows = RowWriter(loop, self._ring.counters, self._ring.rows)
        self._waits = not runner.port.waits if self._patient is None else self._patient
        self._runner, runner.keepers = runner, (*runner.keepers, self)
        self._thread = threading.Thread(
            target=self._feed, args=(loop, runner.port, memory), name="recorder", daemon=True
        )
        self._thread.start()

    def _kept(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        spare = self._spare.pop(name, None)
        if spare is None or spare.shape != array.shape:
            return array.copy()
        spare[...] = array
        return spare

    def put(self, tick: Tick, took_ns: int, stamp_ns: int) -> None:
        if self._waits and self._ring is not None:
            self._let_catch_up(self._ring)
        self._rows.put(tick, took_ns, stamp_ns)

    def put_silence(self, action: int, events: int) -> None:
        """No state came, and the guard answered that."""
        self._rows.put_silence(action, events)

    def _let_catch_up(self, ring: Ring) -> None:
        """Wait until the ring is half empty, or no process reads it any more."""
        counters = ring.counters
        while counters[DONE] - counters[TAKEN] > ring.capacity // 2 and not counters[ENDED]:
            if self._process is None or self._process.poll() is not None:
                break
            sleep(0.001)

    def _heard_change(self, box: Array) -> None:
        self.note(row_messages.BLOCKS, box.copy())

    # What its own thread does

    def _feed(self, loop: ControlLoop, port: Any, memory: Mapping[str, NDArray[Any]]) -> None:
        try:
            head = make_head(self.about, loop, port, memory, self._state_rate, self._largest)
            self._pipe.send_bytes(pickle.dumps(head))
            while (note := self._notes.get()) is not None:
                self._pipe.send_bytes(pickle.dumps(note))
        except OSError:  # the process is gone: `trouble` says so
            pass
        finally:
            self._pipe.close()


def require_mcap() -> None:
    """Raise where the package that writes and reads MCAP is missing."""
    try:
        import mcap  # noqa: F401
    except ImportError:
        raise ProjectedControlError(MCAP_MISSING) from None


def _new_file(path: Path) -> tuple[Path, int]:
    """A file that did not exist, open for writing: this one, or one with a number added."""
    path = path.expanduser().absolute()
    if path.suffix != SUFFIX:
        raise InvalidValue(f"a recording is a file *{SUFFIX}, got {str(path)!r}")
    if not path.parent.is_dir():
        raise InvalidValue(f"cannot record to {path}: there is no folder {path.parent}")
    for number in range(1, 10_000):
        name = path if number == 1 else path.with_stem(f"{path.stem}_{number}")
        try:
            return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidValue(f"cannot record to {path}: {error.strerror or error}") from None
    raise InvalidValue(f"cannot record to {path}: there are 9999 of that name already")
