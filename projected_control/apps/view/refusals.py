"""Who was not let in, and what was not understood: logged, and counted when it is too much."""

from __future__ import annotations

import logging
from time import monotonic

LOGGED_PER_MINUTE = 60
"""Refusals that are logged; a flood of them is counted instead."""

logger = logging.getLogger(__name__)


class Refusals:
    """Logs who was not let in, and counts them when they are too many."""

    def __init__(self) -> None:
        self.count = 0
        self._logged, self._minute = 0, 0.0

    def note(self, peer: str | None, what: str, reason: str) -> None:
        """A client was refused something."""
        self.count += 1
        now = monotonic()
        if now - self._minute > 60.0:
            self._logged, self._minute = 0, now
        self._logged += 1
        if self._logged <= LOGGED_PER_MINUTE:
            logger.warning("refused %s from %s: %s", what, peer or "a client that is gone", reason)
        elif self._logged == LOGGED_PER_MINUTE + 1:
            logger.warning("refused %d so far; more in this minute are not logged", self.count)


class BrokenRequests(logging.Handler):
    """Turns aiohttp's words about requests that are no HTTP into refusals."""

    def __init__(self, refusals: Refusals) -> None:
        super().__init__(logging.DEBUG)
        self._refusals = refusals

    def emit(self, record: logging.LogRecord) -> None:
        peer = record.args[0] if isinstance(record.args, tuple) and record.args else None
        error = record.exc_info[1] if record.exc_info else None
        words = str(error or record.msg).strip().splitlines() or [type(error).__name__]
        self._refusals.note(str(peer), "a request", words[0][:120])
