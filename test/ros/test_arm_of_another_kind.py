"""Arms that are not as the controller was told: rate of the states, axes of the wrench, bias."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import STEADY, THREE_LINK, Fleet
from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import Trigger

from projected_control.settings.nodes import ARM, FORCE, MOTION

SETTINGS = {**THREE_LINK, **STEADY, "reference.kind": "hold", "friction.viscous": [1.0]}


def refused(fleet: Fleet, node: str, *words: str) -> str:
    """What a node that starts itself says it waits for."""

    def why() -> str:
        message = fleet.diagnosis(node).message
        return message if all(word in message for word in words) else ""

    return fleet.until(why, f"{node} to say {words}")


def test_states_at_half_the_rate_are_refused_with_the_rate_to_set(fleet: Fleet) -> None:
    """An arm at 50 Hz under a controller for 100 Hz; told the right rate, it starts."""
    fleet.start(ARM, SETTINGS, rate=50.0)
    fleet.start(MOTION, SETTINGS)
    refused(fleet, MOTION, "50 times per second, but rate is 100 Hz", "set rate to 50")
    assert fleet.state(MOTION) == "inactive"
    fleet.put(MOTION, {"rate": 50.0})
    fleet.until(lambda: fleet.state(MOTION) == "active", "the controller to start")


def test_a_wrench_in_unknown_axes_is_refused(fleet: Fleet) -> None:
    fleet.start(ARM, SETTINGS, fault="no_wrench")
    fleet.start(FORCE, SETTINGS)
    sensor = fleet.node.create_publisher(WrenchStamped, "wrench", 10)
    message = WrenchStamped()
    message.header.frame_id = "somewhere_else"

    def publish() -> None:
        message.header.stamp.nanosec += 1
        sensor.publish(message)

    timer = fleet.node.create_timer(0.005, publish)
    refused(fleet, FORCE, "axes that the arm does not have", "somewhere_else", "tip")
    message.header.frame_id = "tip"
    fleet.until(lambda: fleet.state(FORCE) == "active", "the force controller to start")
    fleet.node.destroy_timer(timer)


def test_an_observer_is_asked_whatever_the_sensor_says(fleet: Fleet) -> None:
    """500 N on the wrench topic, for ever; λ comes from the model, which knows 2 N."""
    settings = {**SETTINGS, "force.source": "model", "force.reference": [2.0]}
    fleet.start(ARM, settings, sensor__noise=500.0)
    fleet.start(FORCE, settings)
    fleet.until_counted(FORCE, "ticks", 200)
    assert fleet.diagnosis(FORCE).values["force from"] == "model"
    numbers = fleet.summary(FORCE)
    assert numbers["lambda_rms"] < 5.0
    assert numbers["events"] == {}


def test_a_sensor_is_tared_out_of_contact(fleet: Fleet) -> None:
    """A bias of 3 N across the slider is found while inactive, and refused while active."""
    fleet.start(ARM, SETTINGS, fault="no_wrench")
    fleet.start(FORCE, SETTINGS, autostart=False)
    sensor = fleet.node.create_publisher(WrenchStamped, "wrench", 10)
    message = WrenchStamped()
    message.header.frame_id = "tip"
    message.wrench.force.y = 3.0

    def publish() -> None:
        message.header.stamp.nanosec += 1
        sensor.publish(message)

    timer = fleet.node.create_timer(0.005, publish)
    assert fleet.change(FORCE, "configure")
    client = fleet.node.create_client(Trigger, f"{FORCE}/tare")
    fleet.until(client.service_is_ready, "the service")

    def tare() -> Trigger.Response:
        future = client.call_async(Trigger.Request())
        return fleet.until(lambda: future.done() and future.result(), "the answer")

    answer = fleet.until(lambda: (found := tare()).success and found, "a tare")
    assert "0.0, 3.0, 0.0" in answer.message
    assert list(fleet.all_parameters(FORCE)["force.tare"]) == [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]
    fleet.activate(FORCE)
    assert "deactivate the controller" in tare().message
    fleet.node.destroy_timer(timer)


def test_efforts_are_tared_while_a_controller_moves_the_arm_freely(fleet: Fleet) -> None:
    """Masses 10 % wrong in a vertical plane: F₀ is what gravity has more to it, and the log has it.

    Inactive it is refused, and so it is on a constraint.
    """
    free = {
        "robot_description_arguments": ["plane:=vertical"],
        "constraint.kind": "none",
        "coordinates": ["joint_1", "joint_2", "joint_3"],
        "simulation.coordinates": [],
        "simulation.values": [],
        "simulation.start": [-1.0, 0.5, 0.4],
        "simulation.mass_factor": 1.1,
        "disturbance.kind": "observer",
        "disturbance.bandwidth": 2.0,
        "reference.kind": "sine",
        "reference.offset": [-1.0, 0.5, 0.4],
        "reference.amplitude": [0.1],
        "reference.frequency": [0.5],
        "reference.phase": [0.0],
        "limits.effort": [60.0],
        "limits.above_description": True,
        "lockstep": True,
    }
    settings = {**SETTINGS, **free}
    fleet.start(ARM, settings)
    controller = fleet.start(MOTION, settings, autostart=False)
    assert fleet.change(MOTION, "configure")
    answer = fleet.trigger(f"{MOTION}/tare")
    assert not answer.success
    assert "activate a controller with constraint.kind none" in answer.message
    fleet.activate(MOTION)
    answer = fleet.trigger(f"{MOTION}/tare")
    assert answer.success, answer.message
    assert "it is being tared already" in fleet.trigger(f"{MOTION}/tare").message
    fleet.until(lambda: "tared: force.effort_tare is" in controller.log, "the tare")
    (numbers,) = re.findall(r"force\.effort_tare is \[(.*?)\]", controller.log)
    tare = [float(number) for number in numbers.split(",")]
    # Three rods of 2.746 kg, 10 % of their weight, at (−1, −0.5, −0.1) rad from the horizontal.
    angles, lengths = np.cumsum([-1.0, 0.5, 0.4]), (0.2, 0.4, 0.1)
    across = [0.2746 * 9.81 * length * np.cos(a) for length, a in zip(lengths, angles, strict=True)]
    weight = [0.5 * across[i] + sum(across[i] for _ in range(2 - i)) for i in range(3)]
    expected = [sum(weight[i:]) for i in range(3)]
    np.testing.assert_allclose(np.abs(tare), np.abs(expected), rtol=0.15, atol=0.02)
