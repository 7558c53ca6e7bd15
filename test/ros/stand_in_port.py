"""Ports of tests: to the plugin's stand-in without a controller manager, and to a late arm."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep
from typing import Any

from projected_control.ros.controller_manager import CannotEngage, Plan
from projected_control.ros.plugin_port import PluginPort
from projected_control.ros.topics_port import TopicsPort
from projected_control.runs.port import PortKind

RECORD = PortKind(
    "stand_in",
    "the plugin's stand-in",
    "stand_in_port:make_port",
    needs_watchdog=False,
    needs_limits=True,
    knows_base=True,
)
NAME = "projected_controller"

LATE = PortKind("late", "an arm on topics, six samples late", "stand_in_port:make_late_port")


class NoManager:
    """In place of an `Engagement`: the stand-in switches itself on and off."""

    def __init__(self, joints: tuple[str, ...]) -> None:
        self.plan = Plan(NAME, joints, True, (), (), "")

    def engage(self, meanwhile: Any) -> None:
        meanwhile()

    def check(self) -> None:
        """It is there, or it is not heard."""

    def give_back(self, ours: Any) -> None:
        """No controller had it before."""

    def leave(self) -> None:
        """Nothing was made."""


class SlowlyEngaged(PluginPort):
    """Between taking the arm over and the first turn of the loop as much time passes as is said."""

    def engage(self) -> None:
        super().engage()
        sleep(float(os.environ.get("AFTER_ENGAGING", "0")))


def make_port(node: Any, side: Any, loop: Any) -> PluginPort:
    arm: Any = NoManager(loop.controller.model.arm.joint_names)
    return SlowlyEngaged(side, loop, node.settings, arm)


class LatePort(TopicsPort):
    """Topics of an arm whose delay is known to be long."""

    delay = 6

    def check(self) -> None:
        """As behind a controller manager, once the file that the environment names is there."""
        if Path(os.environ.get("SWITCHED", "/no/such/file")).exists():
            raise CannotEngage("effort_controller is inactive: it was switched from outside")


def make_late_port(node: Any, side: Any, loop: Any) -> LatePort:
    return LatePort(side, loop, node.settings)
