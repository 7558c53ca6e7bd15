"""The description of an arm from the latched topic on which robot_state_publisher offers it."""

from __future__ import annotations

from time import monotonic, sleep

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from projected_control.errors import ProjectedControlError
from projected_control.ros.starting import interrupted
from projected_control.ros.wait_set import drain, side_node, unused

TOPIC = "robot_description"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

DESCRIPTION_SECONDS = 2.0
"""How long a configuration waits for the description [s]."""


def description_from_topic(node: Node, seconds: float = DESCRIPTION_SECONDS) -> str:
    """The URDF that is published; raises where none is for so long."""
    side = side_node(node, "description")
    topic = side.resolve_topic_name(TOPIC)
    try:
        subscription = side.create_subscription(String, TOPIC, unused, LATCHED)
        give_up = monotonic() + seconds
        while monotonic() < give_up and not interrupted():
            if messages := [m.data for m in drain(subscription) if m.data.strip()]:
                return str(messages[-1])
            sleep(0.02)
    finally:
        side.destroy_node()
    raise ProjectedControlError(
        f"no arm is described: neither robot_description nor robot_description_file is given, and "
        f"nobody has published on {topic} within {seconds:g} s"
    )
