"""Work for the workers of a Dask cluster: those that compute with the same code and kernels.

A worker with other code is named once and gets nothing; one that joins later is looked at before
it gets any. What a worker was doing when it died is done again by another one. One that hangs ends
itself.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import uuid4

from projected_control.apps.sweeps.code_digest import WHAT_TO_DO, differences, fingerprint
from projected_control.apps.sweeps.local_pool import Done, WorkFailed
from projected_control.errors import InvalidValue

CONNECT_SECONDS = 10.0
LOOK_SECONDS = 1.0  # how often it looks which workers there are [s]
ALONE_SECONDS = 60.0  # how long there may be no worker before it gives up [s]
AHEAD = 2  # pieces of work per thread of a worker that are under way


def call(
    theirs: Mapping[str, str], seconds: float, function: Callable[..., Any], *arguments: Any
) -> Any:
    """What a worker does: nothing, where it computes with something else than the one who asks.

    Its process ends where that takes longer than so many seconds.
    """
    wrong = differences(fingerprint(), theirs)
    if wrong:
        return "refused", "; ".join(wrong)
    watchdog = threading.Timer(min(seconds, threading.TIMEOUT_MAX), os._exit, (1,))
    watchdog.daemon = True
    watchdog.start()
    try:
        return "done", function(*arguments)
    finally:
        watchdog.cancel()


class DaskPool:
    """The workers of a cluster that another command has started.

    Args:
        address: Of its scheduler.
        hang_seconds: How long a piece of work may take before its worker ends itself [s].

    Raises:
        InvalidValue: Where there is no scheduler.
        WorkFailed: Where none of its workers can be used.
    """

    def __init__(self, address: str, hang_seconds: float = float("inf")) -> None:
        import distributed

        self._made, self._name = fingerprint(), uuid4().hex[:8]
        self._address, self._hang = address, hang_seconds
        try:
            self._client = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="projected-control"
            )
        except (OSError, ValueError, TypeError, asyncio.TimeoutError) as error:
            reason = str(error) or "it does not answer"
            raise InvalidValue(
                f"there is no Dask scheduler at {address!r} (--scheduler): {reason}"
            ) from None
        self._good: dict[str, int] = {}
        self._bad: dict[str, str] = {}
        self._remarks: list[str] = []
        self._futures: dict[Any, int] = {}
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._work: dict[int, tuple[Any, ...]] = {}
        self._count, self._looked, self._alone = 0, 0.0, monotonic()
        try:
            self._look()
            self._require_workers()
        except BaseException:
            self._client.close()
            raise

    @property
    def size(self) -> int:
        return sum(self._good.values())

    @property
    def depth(self) -> int:
        return max(AHEAD * self.size, 1)

    def remarks(self) -> list[str]:
        said, self._remarks = self._remarks, []
        return said

    def put(self, key: int, function: Callable[..., Any], *arguments: Any) -> None:
        self._work[key] = (function, *arguments)
        self._submit(key)

    def _submit(self, key: int) -> None:
        self._count += 1
        future = self._client.submit(
            call,
            self._made,
            self._hang,
            *self._work[key],
            key=f"projected-control-{self._name}-{key}-{self._count}",
            pure=False,
            # Only where one of them must not be used: else one that comes later may help at once.
            workers=sorted(self._good) if self._bad else None,
        )
        self._futures[future] = key
        future.add_done_callback(self._queue.put)

    def take(self, seconds: float) -> list[Done]:
        self._look()
        self._require_workers()
        done: list[Done] = []
        with suppress(queue.Empty):
            future = self._queue.get(timeout=seconds)
            while True:
                key = self._futures.pop(future, None)
                if key is not None:
                    done += self._ended(future, key)
                future = self._queue.get_nowait()
        return done

    def _ended(self, future: Any, key: int) -> list[Done]:
        from distributed.scheduler import KilledWorker

        if future.cancelled():
            self._submit(key)
            return []
        error = future.exception()
        if isinstance(error, KilledWorker):
            del self._work[key]
            return [Done(key, None, f"its workers died: {error}")]
        if error is not None:
            return self._failed(key, error)
        kind, result = future.result()
        future.release()
        if kind == "refused":  # one that joined after the last look
            self._looked = 0.0
            self._look()
            self._submit(key)
            return []
        del self._work[key]
        return [Done(key, result)]

    def _failed(self, key: int, error: BaseException) -> list[Done]:
        """Work that raised: on a worker without the package, or by an error of its own."""
        if isinstance(error, (ImportError, AttributeError)):
            self._looked = 0.0
            self._look()
            if self._bad:
                self._submit(key)
                return []
        del self._work[key]
        return [Done(key, None, f"{type(error).__name__}: {error}")]

    def _look(self) -> None:
        """See which workers there are, and name those that cannot be used."""
        if monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = monotonic()
        if self._client.status != "running":
            raise WorkFailed(
                f"the Dask scheduler at {self._address} is gone. What was finished is kept: start "
                "it, and the same command goes on"
            )
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        gone = [address for address in self._good if address not in there]
        for address in gone:
            del self._good[address]
            self._remarks.append(f"worker {address} is gone; others do its work")
        self._bad = {address: why for address, why in self._bad.items() if address in there}
        new = [address for address in there if address not in self._good | self._bad]
        if new:
            self._judge(new, there)
        if self._bad and (gone or new):  # what waits for one that is gone would wait for ever
            self._hand_out_again()

    def _judge(self, new: list[str], there: Mapping[str, Any]) -> None:
        told = self._client.run(fingerprint, workers=new, on_error="return")
        for address in new:
            theirs = told.get(address)
            if isinstance(theirs, Mapping):
                wrong = "; ".join(differences(theirs, self._made))
            else:
                wrong = f"it cannot say what it computes with ({theirs})"
            name = there[address].get("name", address)
            if wrong:
                self._bad[address] = wrong
                named = f"{name} at {address}" if str(name) != address else address
                self._remarks.append(f"worker {named} is refused: {wrong}; {WHAT_TO_DO}")
            else:
                self._good[address] = int(there[address].get("nthreads", 1))

    def _hand_out_again(self) -> None:
        waiting = [(future, key) for future, key in self._futures.items() if not future.done()]
        for future, key in waiting:
            del self._futures[future]
            future.cancel()
            self._submit(key)

    def _require_workers(self) -> None:
        if self._good:
            self._alone = monotonic()
            return
        if self._bad:
            raise WorkFailed(
                "no worker of the cluster can be used: "
                + "; ".join(f"{address}: {why}" for address, why in self._bad.items())
                + f". {WHAT_TO_DO.capitalize()}"
            )
        if monotonic() - self._alone > ALONE_SECONDS:
            raise WorkFailed(
                f"the Dask scheduler at {self._address} has had no workers for "
                f"{ALONE_SECONDS:g} s. What was finished is kept: start some (dask worker "
                f"{self._address}), and the same command goes on"
            )

    def close(self) -> None:
        for future in self._futures:
            future.cancel()
        self._client.close()
