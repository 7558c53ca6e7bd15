"""What ros2_control must know of an arm, put into any description: no xacro arguments are needed.

A description that has a ``ros2_control`` block of its own keeps it where the arm itself is meant.
For a dry run, or for the simulated arm behind the controller manager, another one takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from xml.etree import ElementTree

from projected_control.errors import InvalidDescription, InvalidValue

NAME = "arm"  # of a block of ours, and so of its hardware

WRENCH = tuple(f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz")

TOPIC_SYSTEM = {
    "joint_commands_topic": "/joint_commands",
    "joint_states_topic": "/arm/joint_states",
    "trigger_joint_command_threshold": "-1",  # send at every update
}
"""Parameters of JointStateTopicSystem, for the simulated arm."""


def own_plugins(urdf: str) -> list[str]:
    """The plugins that a description's own ros2_control blocks name."""
    blocks = ElementTree.fromstring(urdf).iter("ros2_control")
    return [plugin.text or "" for block in blocks for plugin in block.iter("plugin")]


def sensors(urdf: str) -> list[str]:
    """The force-torque sensors of a description's own ros2_control blocks."""
    blocks = ElementTree.fromstring(urdf).iter("ros2_control")
    return [
        sensor.get("name", "")
        for block in blocks
        for sensor in block.iter("sensor")
        if any(i.get("name", "").startswith("force") for i in sensor.iter("state_interface"))
    ]


def sensor_of_running(named: str, found: Sequence[str], controller: str) -> list[str]:
    """The force-torque sensor of an arm whose driver runs; raises where nothing says which.

    Args:
        named: By the user; empty for none.
        found: In the description.
        controller: That measures the force.
    """
    if named:
        return [named]
    if not found:
        raise InvalidValue(
            f"controller:={controller} measures the force, and nothing says by which sensor of the "
            "running arm: add sensor:=NAME, with NAME/force.x among the state interfaces of "
            "ros2 control list_hardware_interfaces, or set force.source to model or momentum"
        )
    return list(found)


def require_effort(urdf: str, motors: Collection[str]) -> None:
    """Raise where a description's own block does not take efforts for all motors."""
    taken = {
        joint.get("name", "")
        for block in ElementTree.fromstring(urdf).iter("ros2_control")
        for joint in block.iter("joint")
        if any(c.get("name") == "effort" for c in joint.iter("command_interface"))
    }
    missing = [name for name in motors if name not in taken]
    if missing:
        raise InvalidDescription(
            f"the arm's own ros2_control block has no effort command interface for "
            f"{', '.join(missing)}; it takes efforts for: {', '.join(sorted(taken)) or 'none'}"
        )


def with_hardware(
    urdf: str,
    plugin: str,
    starts: Mapping[str, float],
    motors: Collection[str],
    sensor: str = "",
    frame: str = "",
    parameters: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A description in which one ros2_control block drives the arm; others are left out.

    Args:
        urdf: The description.
        plugin: Plugin of the hardware.
        starts: Joints and where they stand at the start [rad or m].
        motors: Those of them that have one.
        sensor: Name of a force-torque sensor; none if empty.
        frame: That it measures in.
        parameters: Of the plugin.
    """
    root = ElementTree.fromstring(urdf)
    for block in list(root.findall("ros2_control")):
        root.remove(block)
    block = ElementTree.SubElement(root, "ros2_control", name=NAME, type="system")
    hardware = ElementTree.SubElement(block, "hardware")
    ElementTree.SubElement(hardware, "plugin").text = plugin
    by_topics = plugin.endswith("JointStateTopicSystem")
    own = TOPIC_SYSTEM if by_topics else {}
    for name, value in {**own, **parameters}.items():
        ElementTree.SubElement(hardware, "param", name=name).text = value
    for name, position in starts.items():
        joint = ElementTree.SubElement(block, "joint", name=name)
        if name in motors:
            ElementTree.SubElement(joint, "command_interface", name="effort")
        for state, initial in (("position", position), ("velocity", 0.0), ("effort", 0.0)):
            # An arm behind topics says itself where it stands; until then it is not known: from
            # ros2_control 4 on, a state without initial value is not finite.
            _state(joint, state, None if by_topics else initial)
    if sensor:
        device = ElementTree.SubElement(block, "sensor", name=sensor)
        for interface in WRENCH:
            _state(device, interface, 0.0)
        ElementTree.SubElement(device, "param", name="frame_id").text = frame
    return ElementTree.tostring(root, encoding="unicode")


def _state(parent: ElementTree.Element, interface: str, value: float | None) -> None:
    state = ElementTree.SubElement(parent, "state_interface", name=interface)
    if value is not None:
        ElementTree.SubElement(state, "param", name="initial_value").text = repr(float(value))
