"""The closed mechanisms of `demo --task`, as cases that are timed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projected_control.apps.bench.tick_cases import HYBRID, PASSIVE
from projected_control.apps.demo.case import settings_for
from projected_control.control.loop import ControlLoop
from projected_control.control.references import ReferencePoint
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build


@dataclass(frozen=True)
class MechanismCase:
    """A mechanism as the demonstration runs it: its files, its law, its reference.

    Attributes:
        robot: The task's name.
        joints, rows: Of it; rows that repeat others count.
        law: ``hybrid`` or ``passive``.
    """

    robot: str
    joints: int
    rows: int
    law: str

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        """The loop and an arm for it, on the reference from the start."""
        settings = settings_for(self.robot, 1.0, "paper", True, {})
        arm = build.build_plant(settings.arm)
        loop = build.build_loop(settings.case.node, settings.controller)
        state, controller = arm.sense(), loop.controller
        controller.hold(state.q, state.v)
        here = ReferencePoint(controller.model.theta.copy(), *np.zeros((2, controller.model.k)))
        loop.set_reference(build.build_reference(settings.controller, here, 0.0))
        return loop, arm


MECHANISMS = (
    MechanismCase("five_bar", 4, 2, PASSIVE),
    MechanismCase("four_bar_3d", 3, 5, PASSIVE),
    MechanismCase("hitch", 6, 4, PASSIVE),
    MechanismCase("two_arms", 14, 6, HYBRID),
)
