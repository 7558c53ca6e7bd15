"""What the simulated arm really does, which no sensor shows: the topic ~/truth."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from projected_control.ros.messages import NANOSECONDS
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings.nodes import ARM, SimulatedArmSettings

RATE = 100.0
"""Of the topic, in simulated time [Hz]."""

KEPT = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Reliable, and the last ten seconds also for who comes later: in lockstep nothing may be lost."""


class TruthTopic:
    """Joint positions, λ and ‖Φ‖ of a simulated arm, as a joint state to be plotted.

    Names are quantities, positions their values, as on the topic ~/state of controllers: joints by
    their names, ``lambda_0`` and so on, ``residual``. In real time nothing is put together while
    nobody listens.

    Args:
        node: That gets the topic.
        hardware: What is simulated.
        settings: Of the simulated arm.
    """

    def __init__(self, node: Node, hardware: SimulatedArm, settings: SimulatedArmSettings) -> None:
        model = hardware.plant.model
        rows = [f"lambda_{row}" for row in range(model.m)]
        self._hardware, self._every = hardware, max(round(settings.rate / RATE), 1)
        self._always = settings.lockstep
        self._message = JointState(name=[*model.arm.joint_names, *rows, "residual"])
        self.publisher = node.create_publisher(JointState, f"{ARM}/truth", KEPT)

    def tell(self, tick: int, stamp_ns: int) -> None:
        """Publish the state of a tick, counted from zero, if it is one of those that are told."""
        if (tick + 1) % self._every:
            return
        if not (self._always or self.publisher.get_subscription_count()):
            return
        truth, message = self._hardware.truth, self._message
        seconds, nanoseconds = divmod(stamp_ns, NANOSECONDS)
        message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
        message.position = [*truth.q.tolist(), *truth.multipliers.tolist(), float(truth.residual)]
        self.publisher.publish(message)
