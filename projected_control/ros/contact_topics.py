"""What is seen and said of contacts that come and go: ``~/contacts``, ``~/attach``, ``~/release``.

Every constraint has a service of its own, ``~/attach/table``; ``~/attach`` alone is for the only
one-sided contact there is, or for all of them, one after the other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from projected_control.control.contact import ContactState
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.one_sided import OneSidedContacts
from projected_control.errors import ProjectedControlError
from projected_control.ros.listening_port import QUEUE
from projected_control.ros.messages import NANOSECONDS, state_layout

if TYPE_CHECKING:
    from projected_control.ros.controller_node import ControllerNode

RATE = 100.0
"""Of the topic, beside a message for every change of a state [Hz]."""

QUANTITIES = ("state", "gap", "force")
"""Of each contact: `ContactState`, Φ along its normal [m or rad], λ along it [N or N·m]."""


def contacts_text(contacts: OneSidedContacts) -> str:
    """What every contact is, in words: ``table holds, 10.1 N; wall is lost, 12.3 mm away``."""
    return "; ".join(_one(contacts, name) for name in contacts.names)


def _one(contacts: OneSidedContacts, name: str) -> str:
    if not contacts.felt:
        return f"{name} is taken as held"
    state, gap, force = contacts.state(name), contacts.gap(name), contacts.force(name)
    known = f"{force:.1f} N" if np.isfinite(force) else "force not known"
    away = f"{1e3 * abs(gap):.1f} mm {'deep' if gap > 0.0 else 'away'}"
    return {
        ContactState.HOLDS: f"{name} holds, {known}",
        ContactState.SLIPS: f"{name} slips, {known}",
        ContactState.LOST: f"{name} is looked for, {away}",
        ContactState.RELEASED: f"{name} is released, {away}",
    }[state]


class ContactTopic:
    """Publishes ``~/contacts`` while a runner runs (a `Listener`).

    It is a joint state whose names are quantities, as on ``~/state``: state, gap and force of every
    contact.

    Args:
        publisher: Of the node.
        loop: What runs.
        rate: Of its ticks [Hz].
    """

    def __init__(self, publisher: Any, loop: ControlLoop, rate: float) -> None:
        self._publisher, self._contacts = publisher, loop.controller.contacts
        names = self._contacts.names if self._contacts.felt else ()
        self._layout = state_layout([f"{n}/{what}" for n in names for what in QUANTITIES])
        self._names, self._every = names, max(round(rate / RATE), 1)
        self._ticks = 0
        self._before: tuple[ContactState, ...] = ()

    def ticked(self, tick: Tick) -> None:
        if not self._names:
            return
        contacts, self._ticks = self._contacts, self._ticks + 1
        states = tuple(contacts.state(name) for name in self._names)
        if states == self._before and self._ticks % self._every:
            return
        self._before = states
        if not self._publisher.get_subscription_count():
            return
        values = [
            float(number)
            for name, state in zip(self._names, states, strict=True)
            for number in (state, contacts.gap(name), contacts.force(name))
        ]
        stamp = max(round(tick.state.stamp * NANOSECONDS), 0)
        self._publisher.publish(self._layout.write(*divmod(stamp, NANOSECONDS), *values))

    def waited(self) -> None:
        """Silence tells nothing."""


class ContactServices:
    """Offers to attach and to release contacts, and their topic.

    Args:
        node: Of the controller.
        side: Its node beside the loop, for publishers.
    """

    def __init__(self, node: ControllerNode, side: Node) -> None:
        self._node = node
        topic = f"{node.get_name()}/contacts"
        self._publisher = side.create_publisher(JointState, topic, QUEUE)
        for what in ("attach", "release"):
            node.create_service(Trigger, f"~/{what}", partial(self._on_call, what, ""))
            for name in node.settings.constraints:
                node.create_service(Trigger, f"~/{what}/{name}", partial(self._on_call, what, name))

    def topic(self, loop: ControlLoop) -> ContactTopic:
        """What publishes of a loop."""
        return ContactTopic(self._publisher, loop, self._node.settings.rate)

    def _on_call(
        self, what: str, name: str, _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            done = self._switch(what, name)
            response.success, response.message = True, f"{', '.join(done)}: {DOES[what]}"
        except ProjectedControlError as error:
            response.success, response.message = False, f"{what} refused: {error}"
        return response

    def _switch(self, what: str, name: str) -> tuple[str, ...]:
        """Have it done between two ticks; the contacts that were meant."""
        runner = self._node.runner
        if runner is None:
            raise ProjectedControlError(
                "the controller is inactive; once it runs, it looks for contacts by itself "
                "that were not released"
            )
        contacts = runner.loop.controller.contacts
        if not contacts.names:
            raise ProjectedControlError(
                "no contact can be left: say one_sided: true of a constraint, see docs/contacts.md"
            )
        names = (name,) if name else contacts.names
        for each in names:
            (contacts.require_near if what == "attach" else contacts.require_felt)(each)

        def change(loop: ControlLoop, time: float) -> None:
            for each in names:
                getattr(loop.controller.contacts, what)(each)

        runner.hand_over(change)
        return names


DOES = {"attach": "looked for, then held", "release": "left, and kept away from"}
