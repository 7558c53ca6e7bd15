"""Starts a launch, waits for its controller, and asks for the numbers after a while."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from time import monotonic
from typing import Any

import rclpy
from quiet import TooLate
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

START_SECONDS = 120.0
TRIPPED = "zeros are sent"
"""What the watchdog says when the controller's heartbeat is late, by the clock."""


def follow(command: list[str], controller: str, seconds: float, log: Path) -> dict[str, Any]:
    """The summary of a controller after so many seconds of its ticks.

    Raises:
        TooLate: Where the watchdog did not hear the controller in time: its zeros are in the
            numbers, or have ended the run. For tests that are marked ``quiet``.
    """
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("follower", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    client = node.create_client(Trigger, f"/{controller}/summary")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        deadline = monotonic() + START_SECONDS
        while monotonic() < deadline:
            _require_heard(log)
            if not client.wait_for_service(timeout_sec=1.0):
                continue
            future = client.call_async(Trigger.Request())
            executor.spin_until_future_complete(future, timeout_sec=2.0)
            answer = future.result() if future.done() else None
            numbers = json.loads(answer.message) if answer is not None and answer.success else {}
            if numbers.get("ticks", 0) > 500.0 * seconds:  # a busy computer answers half of them
                _require_heard(log)
                return dict(numbers)
        raise AssertionError(log.read_text(errors="replace")[-3000:])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(20.0)
            os.killpg(process.pid, signal.SIGKILL)
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


def _require_heard(log: Path) -> None:
    for line in log.read_text(errors="replace").splitlines():
        if TRIPPED in line:
            raise TooLate(f"the controller was too late for its watchdog: {line}")
