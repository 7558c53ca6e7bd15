"""The simulated arm as a node, on the topics of ros2_control: states and wrench out, efforts in.

It runs in real time (or a multiple of it), holding the last effort as ros2_control does, or in
lockstep: then it waits for the answer to each state, recognised by its tag, before it goes on, and
says the state again if none comes. In lockstep nothing depends on how fast the computer is: where
it does not keep up with the pace asked for, time passes more slowly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from std_srvs.srv import SetBool, Trigger

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.ros.lifecycle import OK, WARN, ManagedNode, Status, run
from projected_control.ros.parameters import is_live
from projected_control.ros.physics import Physics
from projected_control.ros.wait_set import side_node
from projected_control.runs.simulated import SimulatedArm, require_efforts
from projected_control.settings import build
from projected_control.settings.nodes import ARM, SimulatedArmSettings
from projected_control.settings.real_arms import NO_BASE_STATE

WAIT_SECONDS = 1.0
"""Time without an answer in lockstep from which on the diagnostics say so [s]."""


class SimulatedArmNode(ManagedNode[SimulatedArmSettings]):
    """Parameters, lifecycle and services around `Physics`."""

    def __init__(self) -> None:
        self._physics: Physics | None = None
        self._arm: SimulatedArm | None = None
        super().__init__(ARM)
        self._physics_node = side_node(self, "physics")
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(Trigger, "~/summary", self._on_summary)

    def configure(self) -> None:
        self._arm = self._build(self.settings)

    def _build(self, settings: SimulatedArmSettings) -> SimulatedArm:
        arm = build.build_plant(settings)
        arm.plant.model.arm.require_fixed("a node", NO_BASE_STATE)
        require_efforts(arm, "a node's commands")
        return arm

    def activate(self) -> None:
        if self._arm is None:
            raise ProjectedControlError("the simulated arm is not configured")
        arm, settings = self._arm, self.settings
        arm.sensor, arm.encoders = replace(settings.sensor), settings.encoder
        arm.motors, arm.braked = replace(settings.motor), False
        arm.reset()  # noise begins with the first reading, as it does in process
        self._physics = Physics(self._physics_node, arm, settings)
        self.accept(settings, ["push.effort"])
        self._physics.start()

    def deactivate(self) -> None:
        if self._physics is not None:
            self._physics.stop()
            self._physics.destroy()
            self._physics = None

    def cleanup(self) -> None:
        self._arm = None

    def destroy_node(self) -> None:
        self._physics_node.destroy_node()
        super().destroy_node()

    def accept(self, settings: SimulatedArmSettings, changed: Sequence[str]) -> None:
        if self._arm is None:
            return
        if not all(is_live(type(settings), name) for name in changed):
            self._arm = self._build(settings)
            return
        physics, n = self._physics, self._arm.plant.model.n
        settings.friction.of_joints(n)
        push = np.asarray(self._push(settings, changed) or np.zeros(n), dtype=np.float64)
        if push.shape != (n,):
            raise InvalidValue(f"push.effort must have {n} numbers, one per joint, got {push.size}")
        build.check_payload(self._arm.plant.model.arm, settings.payload)
        settings.encoder.of_joints(n)
        settings.motor.of_joints(n)
        if physics is None:
            return
        running, groups = physics, {name.partition(".")[0] for name in changed}

        def change() -> None:
            build.set_payload(running.hardware.plant.model.arm, settings.payload)
            running.hardware.plant.take_load()
            running.settings, arm = settings, running.hardware
            arm.push, arm.fault = push, settings.fault
            arm.plant.friction = settings.friction
            arm.plant.contact_friction = settings.friction.contact
            if "sensor" in groups:
                arm.sensor = replace(settings.sensor)
            if "encoder" in groups:
                arm.encoders = settings.encoder
            if "motor" in groups:
                arm.motors = replace(settings.motor)

        physics.hand_over(change)

    def _push(self, settings: SimulatedArmSettings, changed: Sequence[str]) -> Sequence[float]:
        """The push in force; that of the former name is taken, with a word."""
        new, former = settings.push.effort, settings.disturbance.effort
        if former and new and "disturbance.effort" in changed:
            raise InvalidValue("disturbance.effort is called push.effort now, which is set: set it")
        if former and not new:
            self.get_logger().warning("disturbance.effort is called push.effort now: taken as that")
        return new or former

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._do(response, lambda physics: physics.hand_over(physics.reset), "reset")

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        def pause(physics: Physics) -> None:
            physics.paused = bool(request.data)

        return self._do(response, pause, "paused" if request.data else "running")

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def step(physics: Physics) -> None:
            if not physics.paused:
                raise ProjectedControlError("pause the simulation before stepping it")
            physics.hand_over(physics.step_once)

        return self._do(response, step, "one step")

    def _on_summary(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """What the arm itself has seen since it started, as JSON."""
        arm, physics = self._arm, self._physics
        response.success = arm is not None
        if arm is None:
            response.message = "it is not configured"
            return response
        pace = {} if physics is None else {"real_time_factor": physics.pace.overall}
        response.message = json.dumps({**arm.summary(), **pace})
        return response

    def _do(self, response: Any, action: Callable[[Physics], None], done: str) -> Any:
        try:
            if self._physics is None:
                raise ProjectedControlError("the simulated arm is not active")
            action(self._physics)
            response.success, response.message = True, done
        except ProjectedControlError as error:
            response.success, response.message = False, str(error)
        return response

    def status(self) -> Status:
        physics = self._physics
        if physics is None:
            return OK, "", {}
        values = {
            "time (s)": physics.time,
            "ticks": physics.ticks,
            "commands refused": physics.refused,
            "real-time factor": round(physics.pace.now or physics.pace.overall, 3),
            "times too late": physics.pace.late,
            "paused": physics.paused,
            "fault": self.settings.fault,
        }
        if self._arm is not None and (contacts := getattr(self._arm.plant, "contacts", None)):
            values["Painlevé's cases"] = int(contacts.counts[2])
        if physics.failure:
            return WARN, physics.failure, values
        if physics.finished:
            return OK, "finished", values
        if physics.waits and monotonic() - physics.waits > WAIT_SECONDS:
            stands = f"time stands still at {physics.time:.3f} s until a state is answered"
            return OK, f"running; {stands}", values
        return OK, "running", values


def main() -> int:
    return run(SimulatedArmNode, ARM)


if __name__ == "__main__":
    sys.exit(main())
