"""Whatever fails while a controller takes its arm or leaves it: the port is closed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from projected_control.ros.controller_node import ControllerNode


class Port:
    """Notes what is done to it."""

    waits, last_word = True, "zeros"

    def __init__(self, trouble: str = "") -> None:
        self.done: list[str] = []
        self._trouble = trouble

    def close(self) -> None:
        self.done.append("close")
        if self._trouble:
            raise RuntimeError(self._trouble)


def node(port: Port) -> tuple[Any, Any]:
    """What `ControllerNode` looks at while it takes an arm and leaves it; and a runner."""
    runner = SimpleNamespace(
        port=port, statistics=None, open=lambda prepare: port.done.append("open")
    )
    made = SimpleNamespace(
        _recording=SimpleNamespace(
            start=lambda *_: port.done.append("record"), stop=lambda: port.done.append("recorded")
        ),
        settings=None,
        look_now=None,
        stopped_by_itself="another commands it",
        _prepare=None,
        _runner=None,
        _thread=None,
        _last_word=None,
        _beside_another=False,
        _beats=SimpleNamespace(publish=lambda _: None),
        _leave_topic=lambda at_once: None,
        _new_console=lambda: None,
        _end_signs=lambda: None,
        _summary=lambda _: {},
    )
    return made, runner


def test_a_start_that_fails_with_the_arm_in_its_hands_gives_it_back() -> None:
    port = Port()
    made, runner = node(port)

    def fails(at_once: bool) -> None:
        raise RuntimeError("no")

    made._leave_topic = fails
    with pytest.raises(RuntimeError, match="no"):
        ControllerNode._engage(made, runner, SimpleNamespace())
    assert port.done == ["open", "record", "close", "recorded"]
    assert made._runner is None


def test_the_last_word_goes_on_though_the_port_cannot_be_closed() -> None:
    """It was started already, and nothing else knows of it: nothing could ever stop it."""
    port = Port("the manager is gone")
    made, runner = node(port)
    made._runner = runner
    with pytest.raises(RuntimeError, match="the manager is gone"):
        ControllerNode.deactivate(made)
    assert made._last_word == "zeros"
    assert made._ended_by == "another commands it"
    assert port.done == ["close", "recorded"]
