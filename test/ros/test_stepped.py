"""A controller that its simulator steps, as in Gazebo, but with our own plant: the real node."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from fleet import THREE_LINK, free_domain
from rclpy.signals import SignalHandlerOptions

from projected_control import SimulatedArm
from projected_control.ros.gazebo_node import GazeboController
from projected_control.settings import build
from projected_control.settings.nodes import ARM, FORCE, MOTION, checked, own_values

TICKS = 300
FREE = {"constraint.kind": "none", "coordinates": ["joint_1", "joint_2", "joint_3"]}
HOLD = {"reference.kind": "hold", "reference.approach": True}


@pytest.fixture
def domain() -> Iterator[int]:
    number, lock = free_domain()
    yield number
    lock.close()


def stepped(
    kind: str, changes: Mapping[str, Any], folder: Path, domain: int
) -> tuple[dict[str, Any], SimulatedArm, np.ndarray]:
    """A node and a plant, stepped together for a while; the efforts."""
    values = {**THREE_LINK, **changes}
    file = folder / "controller.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": own_values(kind, values)}}))
    rclpy.init(
        args=["--ros-args", "--params-file", str(file)],
        domain_id=domain,
        signal_handler_options=SignalHandlerOptions.NO,
    )
    node = GazeboController(kind)
    try:
        arm = build.build_plant(checked(ARM, own_values(ARM, values)))
        node.trigger_configure()
        efforts = []
        for k in range(TICKS):
            q, v, time, wrench, *_ = arm.read()
            tip = arm.plant.model.arm.frame("tip").rotation  # the engine's sensor turns with it
            if wrench is not None:
                wrench = np.concatenate([tip.T @ wrench[:3], tip.T @ wrench[3:]])
            effort = node.step(time, q, v, wrench)
            if k == 0:
                node.trigger_activate()
                assert node.active, node._reason
                effort = node.step(time, q, v, wrench)
            efforts.append(effort.copy())
            arm.write(effort)
        numbers = node.numbers
        return numbers, arm, np.array(efforts)
    finally:
        node._leave_active()
        node.destroy_node()
        rclpy.shutdown()


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (MOTION, HOLD),
        (FORCE, HOLD),
        (MOTION, {**HOLD, "metric.kind": "limits"}),
        (MOTION, {**HOLD, **FREE}),
        (FORCE, {**HOLD, "force.source": "model"}),
    ],
    ids=["motion", "force", "metric", "free", "observer"],
)
def test_every_controller_runs(
    kind: str, changes: Mapping[str, Any], tmp_path: Path, domain: int
) -> None:
    """With a metric and without a constraint too: no statistic keeps it from starting."""
    numbers, _, _ = stepped(kind, changes, tmp_path, domain)
    assert numbers["ticks"] == TICKS
    assert numbers["events"] == {}
    assert numbers["tracking_peak"] < 1e-6
    assert numbers["residual_max"] < 1e-9
    assert len(numbers["course"]["time"]) == TICKS // 10
    if changes.get("constraint.kind") != "none":
        assert (numbers["lambda_difference_rms"] or 0.0) < 1e-6  # None: no effort, nothing compared


def test_the_sensor_is_not_asked_where_an_observer_is(tmp_path: Path, domain: int) -> None:
    """A sensor that shows noise of 50 N; λ, which is 2 N, comes from the model."""
    changes = {**HOLD, "force.source": "model", "force.reference": [2.0], "sensor.noise": 50.0}
    numbers, _, _ = stepped(FORCE, changes, tmp_path, domain)
    forces = np.array(numbers["course"]["lambda"])[10:, 0]
    np.testing.assert_allclose(forces, 2.0, rtol=0.05)
