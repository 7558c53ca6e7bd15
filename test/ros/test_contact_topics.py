"""Contacts that come and go, of running nodes: ~/contacts, ~/attach, ~/release and /diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from fleet import Fleet, config
from sensor_msgs.msg import JointState

from projected_control.control.contact import ContactState
from projected_control.settings.nodes import ARM, FORCE

RELEASED, LOST, HOLDS = (
    float(state) for state in (ContactState.RELEASED, ContactState.LOST, ContactState.HOLDS)
)
SEVEN = config("seven_joints")
TABLE = {name: value for name, value in SEVEN.items() if name.startswith("constraint.")}
SETTINGS = {
    **{name: value for name, value in SEVEN.items() if name not in TABLE},
    "diagnostics_rate": 20.0,
    "lockstep": True,
    "constraints.names": ["table", "elbow"],
    **{f"constraints.table.{name.partition('.')[2]}": value for name, value in TABLE.items()},
    "constraints.table.one_sided": True,
    "constraints.elbow.kind": "joint_locked",
    "constraints.elbow.joint": "joint_3",
    "constraints.elbow.position": [0.0],
    "reference.kind": "hold",
    "contact.approach_speed": 0.1,
    "force.rows": ["table.normal"],
    "simulation.touches": False,
    "simulation.coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"],
    "simulation.values": [0.4, 0.0, 0.32, 0.0, 0.0],
}


@pytest.fixture(scope="module")
def started(shared_fleet: Fleet) -> Fleet:
    """An arm that starts 2 cm above its table, and has found it."""
    shared_fleet.contacts = shared_fleet.record(JointState, f"{FORCE}/contacts")
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    return shared_fleet


@pytest.fixture
def pressing(started: Fleet) -> Fleet:
    """The same, while it presses."""
    if started.state(FORCE) != "active":
        started.activate(FORCE)
    started.put(FORCE, {"contact.retreat": 0.05})
    if told(started).get("table/state") == RELEASED:
        assert started.trigger(f"/{FORCE}/attach/table").success
    until_state(started, HOLDS)
    return started


def told(fleet: Fleet) -> dict[str, float]:
    """The last message of ~/contacts."""
    messages = fleet.contacts.drain()
    return dict(zip(messages[-1].name, messages[-1].position, strict=True)) if messages else {}


def until_state(fleet: Fleet, state: float) -> dict[str, float]:
    fleet.until(lambda: told(fleet).get("table/state") == state, f"state {state}")
    return told(fleet)


def test_it_looks_for_the_table_and_holds_it(pressing: Fleet) -> None:
    states = [dict(zip(m.name, m.position, strict=True)) for m in pressing.contacts.messages]
    assert set(states[0]) == {"table/state", "table/gap", "table/force"}
    assert states[0]["table/state"] == LOST
    assert states[0]["table/gap"] == pytest.approx(-0.02, abs=1e-3)
    pressing.until(lambda: abs(told(pressing)["table/force"] - 10.0) < 0.5, "10 N")
    said = pressing.until_said(FORCE, "following", level=0)
    assert "table holds" in said.values["contacts"]


def test_it_is_released_and_attached_again(pressing: Fleet) -> None:
    answer = pressing.trigger(f"/{FORCE}/release")
    assert answer.success
    assert answer.message == "table: left, and kept away from"
    until_state(pressing, RELEASED)
    pressing.until(lambda: told(pressing)["table/gap"] < -0.049, "5 cm above it")
    diagnosed = pressing.diagnosis(FORCE)
    assert "table is released" in diagnosed.values["contacts"]
    assert pressing.trigger(f"/{FORCE}/attach").success
    until_state(pressing, HOLDS)
    times = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in pressing.contacts.messages]
    assert (np.diff(times) > 0.0).all()


@pytest.mark.parametrize("what", ["attach", "release"])
def test_what_is_no_such_contact_is_refused_by_name(pressing: Fleet, what: str) -> None:
    answer = pressing.trigger(f"/{FORCE}/{what}/elbow")
    assert not answer.success
    assert f"{what} refused: unknown one-sided contact 'elbow'" in answer.message
    assert "table" in answer.message


def test_one_that_is_too_far_away_is_refused(pressing: Fleet) -> None:
    pressing.put(FORCE, {"contact.retreat": 0.25})
    assert pressing.trigger(f"/{FORCE}/release/table").success
    pressing.until(lambda: told(pressing)["table/gap"] < -0.22, "22 cm above it")
    answer = pressing.trigger(f"/{FORCE}/attach/table")
    assert not answer.success
    assert "from its surface, allowed are 0.2" in answer.message
    pressing.put(FORCE, {"contact.retreat": 0.05})
    pressing.until(lambda: told(pressing)["table/gap"] > -0.1, "5 cm above it")


def test_an_inactive_controller_refuses(pressing: Fleet) -> None:
    assert pressing.change(FORCE, "deactivate")
    answer = pressing.trigger(f"/{FORCE}/attach")
    assert not answer.success
    assert "the controller is inactive" in answer.message
