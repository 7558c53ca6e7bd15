"""Work for processes on this computer, one per core; what one of them dies of, others outlive.

A worker is a process of its own (``python -m projected_control.apps.sweeps.local_pool``) that ends
with this one. One that dies is replaced, and what it was doing is done again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, NamedTuple, Protocol

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.with_parent import tied

DEPTH = 2  # pieces of work that a worker has at a time: it need not wait for the next one
MOST_DEATHS = 3  # workers that may die of a piece of work before it is given up
START_SECONDS = 120.0  # how long a worker may take to start [s]

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkFailed(ProjectedControlError):
    """A piece of work that could not be done, with the reason."""


class Done(NamedTuple):
    """A piece of work that is done."""

    key: int  # what it was called
    result: Any  # what its function returned; None where it could not be done
    failure: str = ""  # why; empty where it could


class Pool(Protocol):
    """Who does work."""

    @property
    def size(self) -> int:
        """Workers there are."""

    @property
    def depth(self) -> int:
        """Pieces of work it should have at a time."""

    def put(self, key: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function of a module called somewhere, with arguments that can be pickled."""

    def take(self, seconds: float) -> list[Done]:
        """What has been done since, after so many seconds at most."""

    def remarks(self) -> list[str]:
        """What there is to say of the workers since the last call."""

    def close(self) -> None:
        """End all workers that it started, whatever they do."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    link: Connection
    doing: deque[int] = field(default_factory=deque)
    since: float = field(default_factory=monotonic)
    ready: bool = False


class LocalPool:
    """Processes on this computer.

    Args:
        size: How many.
        hang_seconds: How long a piece of work may take before its worker is killed [s].

    Raises:
        InvalidValue: Where that is no number of processes.
    """

    def __init__(self, size: int, hang_seconds: float = float("inf")) -> None:
        if not 1 <= size <= 4096:
            raise InvalidValue(f"workers must be 1 to 4096, got {size}")
        self.size, self.depth = size, DEPTH * size
        self._hang = hang_seconds
        self._work: dict[int, tuple[str, str, tuple[Any, ...]]] = {}
        self._waiting: deque[int] = deque()
        self._deaths: dict[int, int] = {}
        self._workers: list[_Worker] = []
        self._remarks: list[str] = []
        self._never = 0

    @property
    def pids(self) -> list[int]:
        """The processes there are."""
        return [worker.process.pid for worker in self._workers]

    def put(self, key: int, function: Callable[..., Any], *arguments: Any) -> None:
        self._work[key] = (function.__module__, function.__name__, arguments)
        self._waiting.append(key)
        self._hand_out()

    def remarks(self) -> list[str]:
        said, self._remarks = self._remarks, []
        return said

    def take(self, seconds: float) -> list[Done]:
        done: list[Done] = []
        links = {worker.link: worker for worker in self._workers}
        for link in wait(list(links), seconds):
            worker = links[link]  # type: ignore[index]
            try:
                while worker.link.poll():
                    done += self._heard(worker, worker.link.recv())
            except (EOFError, OSError):
                done += self._died(worker)
        now = monotonic()
        for worker in list(self._workers):
            slow = bool(worker.doing) and worker.ready and now - worker.since > self._hang
            if slow or (not worker.ready and now - worker.since > START_SECONDS):
                worker.process.kill()
                done += self._died(worker, hung=True)
        self._hand_out()
        return done

    def _heard(self, worker: _Worker, message: Any) -> list[Done]:
        worker.since = monotonic()
        if message is None:
            worker.ready, self._never = True, 0
            return []
        key, result, failure = message
        worker.doing.remove(key)
        self._work.pop(key, None)
        self._deaths.pop(key, None)
        return [Done(key, result, failure)]

    def _died(self, worker: _Worker, hung: bool = False) -> list[Done]:
        """Put a new worker in the place of one that is gone; its work is done again."""
        self._workers.remove(worker)
        worker.link.close()
        status = worker.process.wait()
        if not worker.ready:
            self._never += 1
            if self._never > MOST_DEATHS:
                raise WorkFailed(
                    f"workers do not start ({_ending(status)}): try projected-control doctor"
                )
        if hung:
            self._remarks.append(f"a worker was killed after {self._hang:g} s without an answer")
        else:
            self._remarks.append(f"a worker ended ({_ending(status)}); another takes its place")
        given_up: list[Done] = []
        for place, key in enumerate(worker.doing):
            if place == 0 and worker.ready:  # the others had not begun
                self._deaths[key] = self._deaths.get(key, 0) + 1
                if hung or self._deaths[key] >= MOST_DEATHS:
                    del self._work[key]
                    why = "gave no answer" if hung else f"ended ({_ending(status)}), "
                    times = "" if hung else f"{self._deaths[key]} times"
                    given_up.append(Done(key, None, f"its process {why}{times}"))
                    continue
            self._waiting.appendleft(key)
        return given_up

    def _hand_out(self) -> None:
        while self._waiting and len(self._workers) < self.size:
            self._workers.append(_start())
        while self._waiting:
            worker = min(self._workers, key=lambda each: len(each.doing))
            if len(worker.doing) >= DEPTH:
                return
            key = self._waiting.popleft()
            if not worker.doing:
                worker.since = monotonic()
            worker.doing.append(key)
            with suppress(OSError):  # it is gone, which `take` notices
                worker.link.send((key, *self._work[key]))

    def close(self) -> None:
        for worker in self._workers:
            worker.link.close()
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
        self._workers = []


def _ending(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"status {status}"


def _start() -> _Worker:
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        command = [sys.executable, "-m", __spec__.name, str(number)]
        environment: Mapping[str, str] = {**os.environ, **ONE_THREAD}
        process = subprocess.Popen(
            tied(command), pass_fds=[number], stdin=subprocess.DEVNULL, env=environment
        )
    return _Worker(process, Connection(ours.detach()))


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def main(number: str) -> int:
    """What a worker does, until nothing more can come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started it
    link = Connection(int(number))
    with suppress(EOFError, OSError):
        link.send(None)
        while True:
            key, module, name, arguments = link.recv()
            try:
                result, failure = getattr(import_module(module), name)(*arguments), ""
            except Exception as error:
                result, failure = None, f"{type(error).__name__}: {error}"
            link.send((key, result, failure))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
