"""The state of a controller as a person plots it."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from projected_control.control.loop import ControlLoop
from projected_control.ros.messages import NANOSECONDS


class NamedState:
    """What a person plots: a joint state whose names are quantities and positions their values."""

    def __init__(self, loop: ControlLoop) -> None:
        controller = loop.controller
        self._controller, self._guard = controller, loop.guard
        names: list[str] = []
        coordinates = controller.model.coordinates
        for name in coordinates.names if coordinates is not None else ():
            names += [name, f"{name}/desired", f"{name}/error"]
        for row in range(controller.model.m):
            names += [f"lambda_{row}", f"lambda_{row}/desired"]
        for joint in controller.model.arm.joint_names:
            names += [f"{joint}/tangent", f"{joint}/normal", f"{joint}/effort"]
        names += ["residual", "torque_norm", "torque_norm/idc"]
        self._message = JointState(name=names)

    def fill(self, stamp: int) -> JointState:
        """The message for the last tick."""
        controller, model = self._controller, self._controller.model
        force = controller.force
        wanted = np.zeros(model.m) if force is None else force.desired
        coordinates = np.stack([model.theta, controller.motion[0], controller.error[0]], axis=1)
        multipliers = np.stack([controller.measured, wanted], axis=1)
        effort = controller.effort
        joints = np.stack([effort.tangent, effort.normal, self._guard.sent], axis=1)
        norms = [
            np.linalg.norm(model.residual),
            np.linalg.norm(self._guard.sent),
            np.linalg.norm(controller.inverse_dynamics * model.sqrt_metric),
        ]
        values = [*coordinates.ravel(), *multipliers.ravel(), *joints.ravel(), *norms]
        seconds, nanoseconds = divmod(stamp, NANOSECONDS)
        self._message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
        self._message.position = [float(value) for value in values]
        return self._message
