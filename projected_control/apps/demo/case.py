"""What a demonstration runs: which controller, on which arm, with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from projected_control.control.references import ReferencePoint
from projected_control.errors import UnknownName
from projected_control.ports import run
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.layers import preset_file
from projected_control.settings.nodes import (
    ARM,
    TASKS,
    WATCHDOG,
    ControllerSettings,
    DemoCase,
    NodeSettings,
    SimulatedArmSettings,
    WatchdogSettings,
    checked_controller,
    demo_cases,
    own_values,
)


@dataclass(frozen=True)
class DemoSettings:
    """Complete settings of all three nodes.

    Attributes:
        case: What is shown.
        seconds: How long.
        controller, arm, watchdog: Settings of the three nodes.
    """

    case: DemoCase
    seconds: float
    controller: ControllerSettings
    arm: SimulatedArmSettings
    watchdog: WatchdogSettings

    @property
    def ticks(self) -> int:
        """How many the whole run takes."""
        return round(self.seconds * self.controller.rate)

    def parameter_file(self) -> str:
        """One ROS parameter file for all three nodes, in which the controller has a watchdog."""
        watched: dict[str, Any] = {"watchdog": WATCHDOG}
        if self.controller.lockstep:
            watched["limits.watchdog_time"] = self.watchdog.timeout
        controller = self.controller.changed(watched)
        nodes: dict[str, NodeSettings] = {
            self.case.node: controller,
            ARM: self.arm,
            WATCHDOG: self.watchdog,
        }
        content = {
            f"/{name}": {"ros__parameters": settings.values()} for name, settings in nodes.items()
        }
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def settings_for(
    choice: str, seconds: float, preset: str, lockstep: bool, overrides: Mapping[str, Any]
) -> DemoSettings:
    """Settings of a demonstration: the preset, the arm's file, then what is overridden.

    The arm starts on its trajectory, so that the run has no approach.
    """
    cases = {**TASKS, **demo_cases()}
    if choice not in cases:
        raise UnknownName("controller or task", choice, cases)
    case = cases[choice]
    values = read_parameter_file(preset_file(preset))
    values |= read_parameter_file(share_file("config", f"{case.arm}.yaml"))
    values |= {"lockstep": lockstep, "reference.approach": False, **case.own, **overrides}
    controller = checked_controller(case.node, own_values(case.node, values))
    k = len(controller.coordinates)
    start = build.build_sines(controller, k).at(0.0)
    values |= {
        "simulation.coordinates": controller.coordinates,
        "simulation.values": start.value.tolist(),
        "simulation.rates": start.rate.tolist(),
        "simulation.duration": seconds if lockstep else 0.0,
        "simulation.wait_for_command": True,
    }
    arm = SimulatedArmSettings.of(own_values(ARM, values))
    watchdog: dict[str, Any] = {"joints": arm.joints, "controller": case.node}
    if lockstep:
        watchdog["timeout"] = 5.0  # the arm waits for every answer, so nothing is urgent
    return DemoSettings(case, seconds, controller, arm, WatchdogSettings.of(watchdog))


def run_in_process(settings: DemoSettings) -> dict[str, Any]:
    """The same run without ROS, in lockstep: what the numbers ought to be."""
    arm = build.build_plant(settings.arm)
    loop = build.build_loop(settings.case.node, settings.controller)
    loop.warm_up()
    controller = loop.controller
    state = arm.read()
    controller.hold(state.q, state.v)
    here = ReferencePoint(controller.model.theta.copy(), *np.zeros((2, controller.model.k)))
    loop.set_reference(build.build_reference(settings.controller, here, 0.0))
    return run(loop, arm, settings.ticks).totals.summary()
