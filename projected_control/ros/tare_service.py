"""The service ``~/tare``: what a sensor, or an observer in its place, shows without contact.

Which of the two is tared follows from where the node takes λ from. A sensor is tared at rest while
the node is inactive, in the service itself. Efforts are tared while the node moves the arm freely:
the service starts it, and a few seconds later the result is logged and put into force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from projected_control.control.loop import Tick
from projected_control.errors import ProjectedControlError
from projected_control.runs.tare import SECONDS, EffortTare, measure_tare
from projected_control.settings.nodes import ForceControllerSettings

if TYPE_CHECKING:
    from projected_control.ros.controller_node import ControllerNode

DIGITS = 6


class TareService:
    """Offers the service, and looks on at the ticks of a run for it.

    Args:
        node: Whose sensor or observer it is.
    """

    def __init__(self, node: ControllerNode) -> None:
        self._node = node
        self._efforts: EffortTare | None = None
        node.create_service(Trigger, "~/tare", self._on_call)

    def ticked(self, tick: Tick) -> None:
        """Called by the runner, in its own thread."""
        efforts = self._efforts
        if efforts is not None:
            efforts.ticked(tick)

    def waited(self) -> None:
        """Silence tells nothing."""

    def look(self) -> None:
        """Put what was found into force, once it is there; called by a timer of the node."""
        efforts = self._efforts
        if efforts is None:
            return
        if self._node.runner is None:
            self._efforts = None
            self._node.get_logger().error("not tared: the run ended before the time was over")
        elif efforts.done:
            self._efforts = None
            try:
                self._take(efforts)
            except ProjectedControlError as error:
                self._node.get_logger().error(f"not tared: {error}")

    def _take(self, efforts: EffortTare) -> None:
        node, numbers = self._node, np.round(efforts.efforts, DIGITS).tolist()
        if isinstance(node.settings, ForceControllerSettings):
            (result,) = node.set_parameters([Parameter("force.effort_tare", value=numbers)])
            if not result.successful:
                node.get_logger().error(f"not tared: {result.reason}")
                return
        node.get_logger().info(f"tared: force.effort_tare is {numbers} N·m or N")
        if efforts.remark:
            node.get_logger().warning(f"tared, but {efforts.remark}")

    def _on_call(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        settings = self._node.settings
        sensor = isinstance(settings, ForceControllerSettings) and settings.force.source == "sensor"
        try:
            response.message = self._tare_sensor() if sensor else self._begin_efforts()
            response.success = True
        except ProjectedControlError as error:
            response.success, response.message = False, f"not tared: {error}"
        return response

    def _tare_sensor(self) -> str:
        """Measure what the sensor shows out of contact, and subtract it from now on."""
        node = self._node
        if node.runner is not None:
            raise ProjectedControlError("deactivate the controller, and bring the tip free")
        loop = node.require_loop()
        tare = np.round(measure_tare(loop, node.listening_port(loop)), DIGITS).tolist()
        (result,) = node.set_parameters([Parameter("force.tare", value=tare)])
        if not result.successful:
            raise ProjectedControlError(result.reason)
        return f"force.tare is {tare} N and N·m"

    def _begin_efforts(self) -> str:
        """Average what the momentum observer shows from now on."""
        runner = self._node.runner
        if runner is None:
            raise ProjectedControlError(
                "without a sensor, efforts are tared while the arm moves: activate a controller "
                "with constraint.kind none near the contact, have it move slowly to and fro "
                "without touching, and tare then"
            )
        if runner.port.remote:
            raise ProjectedControlError(
                "the loop runs in the controller manager, which does not report its observer: tare "
                "with loop:=topics, and give the result as force.effort_tare"
            )
        if self._efforts is not None:
            raise ProjectedControlError("it is being tared already; wait until the log says so")
        self._efforts = EffortTare(runner.loop)
        return f"taring for {SECONDS:g} s, moving on as it does; the log says force.effort_tare"
