"""What holds the arm's tip on its slider in Gazebo: a joint that can be detached.

A reset puts all bodies back where they began and makes a new joint. Where the last one was
attached, the new one has the number that follows; where it was detached, numbers begin with that of
the first one again, and Gazebo's physics, which forgets no number, ignores a joint whose number it
knows. So an arm that was detached would stay so after a reset. The way out is to let go of the
ignored joint and to make the next one, until there is one with a number of its own.
"""

from __future__ import annotations

import threading
from time import sleep
from typing import Any

from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import Gazebo

DELIVERY_SECONDS = 0.005
"""Within which a message reaches its listeners in Gazebo's own process [s]."""


class Weld:
    """Keeps count of the joints on the slider, and makes one that holds after a reset.

    Args:
        gazebo: Its modules.
        topic: Of the DetachableJoint system; it listens to attach and detach below, and publishes
            state there.
    """

    def __init__(self, gazebo: Gazebo, topic: str) -> None:
        self._lock = threading.Lock()
        self._number, self._attached = -1, False
        self._highest = self._number
        self._target = 0
        self._message = gazebo.empty()
        self._node = gazebo.transport.Node()
        self._requests = {
            attach: self._node.advertise(
                f"{topic}/{'attach' if attach else 'detach'}", gazebo.empty
            )
            for attach in (True, False)
        }
        if not self._node.subscribe(gazebo.text, f"{topic}/state", self._on_state):
            raise ProjectedControlError(f"cannot listen to {topic}/state of Gazebo")

    @property
    def let_go(self) -> bool:
        """Whether the arm has been on its slider, and was detached from it."""
        return self._number >= 0 and not self._attached

    def begin(self) -> None:
        """The world is reset."""
        with self._lock:
            self._target = 0
            if not self._attached:
                self._number, self._target = -1, self._highest + 1

    def holds(self) -> bool:
        """Whether the arm is on its slider after a reset; asked in every step until it is."""
        if self._target == 0:  # it was not detached
            return True
        sleep(DELIVERY_SECONDS)
        with self._lock:
            number, attached = self._number, self._attached
        if attached and number >= self._target:
            return True
        if number >= 0:  # the world has made its first one
            self._requests[not attached].publish(self._message)
            sleep(DELIVERY_SECONDS)
        return False

    def _on_state(self, message: Any) -> None:
        with self._lock:
            self._attached = message.data == "attached"
            if self._attached:
                self._number += 1
                self._highest = max(self._highest, self._number)
