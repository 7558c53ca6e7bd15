"""Which controllers there are, told from the topics that every controller of ours has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from projected_control.settings.nodes import CONTROLLERS

STATE, HEARTBEAT = "/state", "/heartbeat"
JOINT_STATE, HEADER = "sensor_msgs/msg/JointState", "std_msgs/msg/Header"

LOOP, PHYSICS = "_loop", "_physics"
"""How the side nodes of controllers and of simulated arms are called after them."""


@dataclass(frozen=True)
class FoundArm:
    """On what a controller works."""

    topic: str  # where its joint states come from
    simulated: bool  # whether it is certain that nothing real moves
    # The simulated arm's node, whose parameters disturb it; empty where there is none.
    node: str = ""


def controllers(topics: Mapping[str, Sequence[str]]) -> list[str]:
    """Full names of the controllers behind these topics, with their types."""
    found = []
    for topic, types in topics.items():
        name = topic.removesuffix(STATE)
        if topic != name and JOINT_STATE in types and HEADER in topics.get(name + HEARTBEAT, ()):
            found.append(name)
    return sorted(found)


def arm_of(
    controller: str,
    subscribed: Callable[[str, str], Sequence[str]],
    publishers: Callable[[str], Sequence[str]],
) -> FoundArm:
    """On what a controller works.

    Simulated is what our own simulated arm publishes, or the controller's own loop: that one is
    stepped by a physics engine. Whatever else publishes joint states may be an arm of steel.

    Args:
        controller: Its full name.
        subscribed: Topics of a type that a node listens to.
        publishers: Full names of the nodes that publish a topic.
    """
    namespace = controller.rpartition("/")[0]
    heard = subscribed(controller + LOOP, JOINT_STATE)
    topic = heard[0] if heard else f"{namespace}/joint_states"
    sources = set(publishers(topic))
    if not sources:
        return FoundArm(topic, simulated=False)
    if sources == {controller + LOOP}:
        return FoundArm(topic, simulated=True)
    arms = [name.removesuffix(PHYSICS) for name in sources if name.endswith(PHYSICS)]
    if len(arms) == len(sources) == 1:
        return FoundArm(topic, simulated=True, node=arms[0])
    return FoundArm(topic, simulated=False)


def kind_of(names: Sequence[str]) -> str:
    """The kind of a controller with these parameters; empty where none of ours has them."""
    own = set(names)
    fitting = [
        (len(kind.settings.parameters()), name)
        for name, kind in CONTROLLERS.items()
        if own.issuperset(kind.settings.parameters())
    ]
    return max(fitting)[1] if fitting else ""
