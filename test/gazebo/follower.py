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
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

START_SECONDS = 120.0


def follow(command: list[str], controller: str, seconds: float, log: Path) -> dict[str, Any]:
    """The summary of a controller after so many seconds of its ticks."""
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
            if not client.wait_for_service(timeout_sec=1.0):
                continue
            future = client.call_async(Trigger.Request())
            executor.spin_until_future_complete(future, timeout_sec=2.0)
            answer = future.result() if future.done() else None
            numbers = json.loads(answer.message) if answer is not None and answer.success else {}
            if numbers.get("ticks", 0) > 500.0 * seconds:  # a busy computer answers half of them
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
