"""Tests that hang where no signal reaches them: ended with what all threads were at.

pytest-timeout raises in a test that takes too long, by a signal, which Python answers between two
instructions of its own. A thread that waits in C with the interpreter's lock never gets there, and
with it the whole run stands still. So a thread of faulthandler, which needs no lock, waits a
little longer than that: it writes down all stacks and ends the process. In a worker of pytest-xdist
(``-n``) the test then counts as failed, with the stacks, and another worker goes on; without
workers the run ends there, with the stacks on the console.
"""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from typing import Any

import pytest

GRACE_SECONDS = 60.0
"""Between a test's timeout, after which its fixtures may still tidy up, and the end [s]."""

_STACKS = pytest.StashKey[Any]()


def _file(config: pytest.Config, worker: str) -> Path:
    return config.rootpath / "build" / "test_results" / f"hang_{worker}.txt"


class Hangs:
    """The hooks; registered by conftest.py with the time that tests may take beyond their own."""

    def __init__(self, grace: float = GRACE_SECONDS) -> None:
        self._grace = grace

    def pytest_configure(self, config: pytest.Config) -> None:
        worker = getattr(config, "workerinput", None)  # of pytest-xdist
        if worker is not None:
            path = _file(config, worker["workerid"])
            path.parent.mkdir(parents=True, exist_ok=True)
            config.stash[_STACKS] = path.open("w", encoding="utf-8")
            return
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            config.stash[_STACKS] = os.fdopen(os.dup(2), "w")

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        faulthandler.cancel_dump_traceback_later()
        stacks = config.stash.get(_STACKS, None)
        if stacks is not None:
            stacks.close()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """pytest-timeout begins to wait: so do we, for longer."""
        seconds = settings.timeout + self._grace
        faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_STACKS])

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> None:
        faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """A worker has ended in the midst of a test: put its stacks into the test's report."""
        path = _file(report.node.config, report.node.gateway.id)
        stacks = path.read_text(encoding="utf-8") if path.exists() else ""
        if stacks:
            report.longrepr = f"{report.longrepr}: it hung. What all its threads were at:\n{stacks}"
