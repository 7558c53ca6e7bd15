"""A joint that mimics another, on an arm that does not publish it: its state is derived."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import SOURCE, Fleet
from sensor_msgs.msg import JointState

from projected_control.model.description import read_description
from projected_control.settings.nodes import ARM, PASSIVE

RATIO, OFFSET = -0.5, 0.1
FINGER = (
    f'<joint name="joint_3" type="revolute"><mimic joint="joint_2" multiplier="{RATIO}" '
    f'offset="{OFFSET}"/>'
)


def with_a_finger() -> str:
    """The three-link arm, its last joint geared to the second."""
    urdf = read_description(SOURCE / "urdf" / "three_link_slider.urdf.xacro").urdf
    return urdf.replace('<joint name="joint_3" type="revolute">', FINGER)


SETTINGS = {
    "robot_description": with_a_finger(),
    "constraint.kind": "none",
    "coordinates": ["joint_1", "joint_2"],
    "reference.kind": "sine",
    "reference.offset": [0.3, 0.5],
    "reference.amplitude": [0.1, 0.2],
    "reference.frequency": [0.5],
    "reference.approach": True,
    "simulation.start": [0.3, 0.5, RATIO * 0.5 + OFFSET],
    "diagnostics_rate": 20.0,
    "lockstep": True,
}


def test_a_controller_runs_on_an_arm_that_publishes_no_mimic_joint(fleet: Fleet) -> None:
    """The states name two of three joints. The controller starts, tracks, and sees no gap."""
    relayed = fleet.node.create_publisher(JointState, "joint_states", 100)

    def relay(state: JointState) -> None:
        keep = [i for i, name in enumerate(state.name) if name != "joint_3"]
        assert len(keep) == len(state.name) - 1
        relayed.publish(
            JointState(
                header=state.header,
                name=[state.name[i] for i in keep],
                position=[state.position[i] for i in keep],
                velocity=[state.velocity[i] for i in keep],
                effort=[state.effort[i] for i in keep],
            )
        )

    fleet.node.create_subscription(JointState, "all_states", relay, 100)
    whole = fleet.record(JointState, "all_states")
    fleet.start(ARM, SETTINGS, topics={"joint_states": "all_states"})
    fleet.start(PASSIVE, SETTINGS)
    fleet.until_counted(PASSIVE, "ticks", 600)
    numbers = fleet.summary(PASSIVE)
    assert numbers["events"] == {}
    states = [dict(zip(m.name, m.position, strict=True)) for m in whole.messages]
    for state in states:
        assert state["joint_3"] == pytest.approx(RATIO * state["joint_2"] + OFFSET, abs=1e-6)
    assert max(abs(state["joint_2"] - 0.5) for state in states) > 0.05
    assert float(fleet.diagnosis(PASSIVE).values["residual (m)"]) < 1e-6
    assert 0.0 < numbers["tracking_rms"] < 1e-3, numbers
