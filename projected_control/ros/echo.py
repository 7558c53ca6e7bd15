"""A node that answers each joint state with the same effort and nothing else, for ``bench node``.

It has a controller's messages: joint states and wrenches come, as bytes; commands and a heartbeat
go. What it costs is what ROS costs.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from projected_control.ros.listening_port import QUEUE
from projected_control.ros.messages import EffortWriter, StateReader, tag_of
from projected_control.ros.transport import avoid_shared_memory
from projected_control.ros.wait_set import Inbox, unused

NAME = "projected_control_echo"

BEATS = 4  # states per heartbeat, as a controller's are by default


def main(joints: list[str], efforts: list[float]) -> None:
    """Answer states until SIGINT or SIGTERM."""
    avoid_shared_memory()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(NAME)
    states = node.create_subscription(JointState, "joint_states", unused, QUEUE, raw=True)
    wrenches = node.create_subscription(WrenchStamped, "wrench", unused, QUEUE, raw=True)
    commands = node.create_publisher(Float64MultiArray, "effort_controller/commands", QUEUE)
    beats = node.create_publisher(Header, "~/heartbeat", QUEUE)
    inbox = Inbox(node, [states, wrenches])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: inbox.close())
    reader, writer = StateReader(joints), EffortWriter(range(len(joints)))
    q, v, effort = np.zeros(len(joints)), np.zeros(len(joints)), np.array(efforts)
    beat: Any = Header(frame_id="active")
    answered = 0
    with inbox:
        while not inbox.closed:
            inbox.wait(0.1)
            inbox.unread(1)
            while (message := inbox.take(0)) is not None:
                stamp = reader.read(message, q, v)
                if stamp is None:
                    continue
                commands.publish(writer.fill(effort, tag_of(stamp)))
                answered += 1
                if answered % BEATS == 0:
                    beat.stamp.sec, beat.stamp.nanosec = divmod(stamp, 1_000_000_000)
                    beats.publish(beat)


if __name__ == "__main__":
    names = sys.argv[1].split(",")
    main(names, [float(number) for number in sys.argv[2].split(",")])
