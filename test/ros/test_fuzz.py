"""Thousands of random parameter sets and ten thousand random messages, in this process."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import rclpy
import yaml
from fleet import THREE_LINK, Fleet
from garbage import COORDINATES, JOINTS, random_message, random_state, random_value
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from projected_control.control.references import MotionLimits, ReferencePoint
from projected_control.errors import ProjectedControlError
from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.messages import StateReader, WrenchReader
from projected_control.ros.simulated_arm import Physics
from projected_control.ros.trajectories import reference_from_trajectory
from projected_control.settings import build
from projected_control.settings.nodes import ARM, FORCE, checked, own_values, parameters_of

SETTINGS = {**THREE_LINK, "lockstep": True, "autostart": False}
MESSAGES = 10_000


@pytest.fixture
def ros(fleet: Fleet, tmp_path: Any) -> Iterator[Fleet]:
    """ROS in this process, with the settings of the arm."""
    file = tmp_path / "here.yaml"
    own = own_values(FORCE, SETTINGS)
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": own}}))
    rclpy.init(
        args=["--ros-args", "--params-file", str(file)],
        domain_id=fleet.domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    yield fleet
    rclpy.shutdown()


def own_settings(node: str) -> Any:
    return checked(node, own_values(node, SETTINGS))


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def random_set(random: np.random.Generator) -> dict[str, Any]:
    """One to four parameters with random values."""
    table = parameters_of(FORCE)
    names = random.choice(sorted(table), random.integers(1, 5), replace=False)
    return {name: random_value(random, plain(table[name].default)) for name in names}


def put_any(node: ControllerNode, values: dict[str, Any]) -> Any:
    return node.set_parameters_atomically([Parameter(k, value=v) for k, v in values.items()])


def put(node: ControllerNode, values: dict[str, Any]) -> None:
    result = put_any(node, values)
    assert result.successful, result.reason


def fuzz(node: ControllerNode, count: int, random: np.random.Generator) -> tuple[int, int]:
    """Random sets on a node; how many were accepted, and how many refused."""
    accepted = refused = 0
    names = sorted(parameters_of(FORCE))
    for _ in range(count):
        values = random_set(random)
        settings = node.settings
        stored = {name: node.get_parameter(name).value for name in values}
        result = put_any(node, values)
        if result.successful:
            accepted += 1
            assert node.settings == checked(FORCE, node.settings.values())
            for name, value in values.items():
                checked_value = plain(parameters_of(FORCE)[name].check(value))
                assert node.settings.values()[name] == checked_value
            if accepted % 20 == 0:
                build.build_loop(FORCE, node.settings)
        else:
            refused += 1
            assert result.reason
            assert "Traceback" not in result.reason
            assert node.settings == settings
            assert {name: node.get_parameter(name).value for name in values} == stored
    assert all(node.has_parameter(name) for name in names)
    build.build_loop(FORCE, node.settings)
    return accepted, refused


@pytest.mark.parametrize(
    "sets", [1_000, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_parameters(ros: Fleet, sets: int) -> None:
    """No exception, no half of a set, and always settings that a controller can be built from."""
    random = np.random.default_rng(3)
    ros.start(ARM, {**SETTINGS, "autostart": True, "diagnostics_rate": 20.0})
    node = ControllerNode(FORCE)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        node.trigger_configure()
        counts = [fuzz(node, sets // 10, random)]  # each change of what is fixed builds anew
        node.trigger_cleanup()
        everything = {k: [""] if v == [] else v for k, v in own_settings(FORCE).values().items()}
        put(node, everything)
        node.trigger_configure()
        ros.until_state(ARM, "active")
        ros.until(lambda: (node.trigger_activate(), node.active)[1], "an active node")
        ros.until(lambda: node.status()[2]["ticks"] > 10, "some ticks")
        ros.pause(ARM, True)
        counts.append(fuzz(node, sets - sets // 10, random))
        live = {k: p.live for k, p in parameters_of(FORCE).items()}
        good = {k: v for k, v in everything.items() if live[k]}
        put(node, good)
        ticks = node.status()[2]["ticks"]
        ros.pause(ARM, False)
        ros.until(lambda: node.status()[2]["ticks"] > ticks + 200, "the loop to go on")
        assert node.active
        assert np.isfinite(node._loop.guard.sent).all()
    finally:
        node._leave_active()
        executor.shutdown()
        node.destroy_node()
    for accepted, refused in counts:
        assert accepted > sets // 50
        assert refused > sets // 20
    assert sum(map(sum, counts)) == sets
    assert not [t for t in threading.enumerate() if t.name == "control loop"]


def test_messages(ros: Fleet) -> None:
    """None is taken by halves: what a reader refuses leaves everything as it was."""
    random = np.random.default_rng(5)
    hardware = build.build_plant(own_settings(ARM))
    node = rclpy.create_node("fuzz")
    physics = Physics(node, hardware, own_settings(ARM))
    states, wrenches = StateReader(JOINTS), WrenchReader()
    here, limits = ReferencePoint(*np.zeros((3, 2))), MotionLimits()
    q, v, measured = np.zeros(3), np.zeros(3), np.zeros(6)
    taken = dict.fromkeys(("state", "wrench", "trajectory", "command"), 0)
    for _ in range(MESSAGES // 4):
        before = [x.copy() for x in (q, v, measured, physics.hardware.effort)]
        good = states.read(serialize_message(random_state(random)), q, v) is not None
        taken["state"] += good
        if not good:
            assert np.array_equal(q, before[0], equal_nan=True)
            assert np.array_equal(v, before[1], equal_nan=True)
        wrench = serialize_message(random_message(WrenchStamped, random))
        good = wrenches.read(wrench, measured) is not None
        taken["wrench"] += good
        assert np.isfinite(measured).all()
        assert good or np.array_equal(measured, before[2])
        command = random_message(Float64MultiArray, random)
        if random.random() < 0.5:
            command.data = [float(x) for x in random.normal(size=3)]
        good = physics._accept(serialize_message(command)) is not None
        taken["command"] += good
        assert np.isfinite(physics.hardware.effort).all()
        assert good or np.array_equal(physics.hardware.effort, before[3])
        with contextlib.suppress(ProjectedControlError):
            plan = reference_from_trajectory(random_message(JointTrajectory, random), COORDINATES)
            reference = plan(here, limits, 3.0)
            for time in (0.0, 3.0, 3.5, 1e3):
                assert np.isfinite(reference.at(time)).all()
            taken["trajectory"] += 1
    physics.destroy()
    node.destroy_node()
    assert min(taken.values()) > 100
    assert max(taken.values()) < MESSAGES // 4
