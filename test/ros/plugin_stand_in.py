"""The plugin's session and its simulated arm in a process of their own, without ros2_control.

``python plugin_stand_in.py SETTINGS.yaml``: all that the plugin is, as C++ has it, on the plugin's
topics; this file is only the controller manager around it. The first update is lost, as one is that
was sent before both sides knew of each other. A file ``clock_stands`` beside the settings stops the
arm's own clock.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic_ns, sleep

import rclpy
import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from acting import Acting, ActingPlant
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt8MultiArray

from projected_control.native.updates import Phase, Report, Section, Status, Update, encode
from projected_control.ros.plugin_link import NEWEST, RELIABLE, from_cdr, to_cdr
from projected_control.ros.transport import avoid_shared_memory
from projected_control.ros.wait_set import drain, unused
from projected_control.settings import build
from projected_control.settings.nodes import ARM, checked, own_values

NAME, STATES_EVERY = "projected_controller", 2


def main(path: str) -> None:
    values = yaml.safe_load(Path(path).read_text())
    arm = build.build_plant(checked(ARM, own_values(ARM, values)))
    rate, joints = values["rate"], arm.plant.model.arm.joint_names
    period_ns = round(1e9 / rate)
    acting, plant = Acting(joints, 1.0 / rate, arm_clock=True), ActingPlant(arm)
    stands = Path(path).with_name("clock_stands")
    avoid_shared_memory()
    rclpy.init()
    node = rclpy.create_node(NAME)
    heard = node.create_subscription(UInt8MultiArray, f"{NAME}/updates", unused, RELIABLE, raw=True)
    answers = node.create_publisher(UInt8MultiArray, f"{NAME}/acknowledgements", RELIABLE)
    states = node.create_publisher(UInt8MultiArray, f"{NAME}/states", NEWEST)
    positions = node.create_publisher(JointState, "joint_states", 10)
    plant.read()
    active, effort, cycle, due, deaf = False, None, 0, monotonic_ns(), True
    while rclpy.ok():
        due += period_ns
        sleep(max(due - monotonic_ns(), 0) * 1e-9)
        acting.now_ns = monotonic_ns()
        for message in drain(heard):
            if deaf:
                deaf = False
                continue
            answer = acting.receive(from_cdr(message))
            if answer is not None:
                _, session, sequence, sections, status = answer
                data = encode(Update.ACK, session, sequence, sections, status)
                answers.publish(to_cdr(data))
                if answer.status is Status.ACCEPTED and not active:
                    active = acting.activate() == ""
        if active:
            plant.read(effort)
            acting.now_ns -= period_ns
            if stands.exists():
                acting.arm_seconds -= 1.0 / rate  # which the cycle adds
            effort = acting.cycle(plant.q, plant.v, plant.wrench)
        state = acting.state() if cycle % STATES_EVERY == 0 else None
        if state is not None:
            states.publish(
                to_cdr(encode(Update.STATE, state.session, state.sequence, state.sections))
            )
            if state.sections[Section.REPORT][Report.PHASE] == Phase.ENDED:
                acting.deactivate()
                active, effort = False, None
        positions.publish(joint_state(node, joints, plant, effort))
        cycle += 1


def joint_state(node, joints, plant, effort) -> JointState:
    message = JointState(name=list(joints), position=plant.q.tolist(), velocity=plant.v.tolist())
    message.effort = [0.0] * len(joints) if effort is None else effort.tolist()
    message.header.stamp = node.get_clock().now().to_msg()
    return message


if __name__ == "__main__":
    main(sys.argv[1])
