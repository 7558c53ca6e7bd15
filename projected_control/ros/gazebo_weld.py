"""What holds the arm's tip on its slider in Gazebo: a joint that can be detached."""

from __future__ import annotations

import threading
from time import sleep

from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import Gazebo

DELIVERY_SECONDS = 1.0
"""Within which a message reaches its listeners in Gazebo's own process [s]."""

NEIGHBOUR_SECONDS = 0.02
"""By which one listener may hear it after another [s]."""


class Weld:
    """Attaches the tip to the slider again.

    Gazebo puts all bodies back where they began when a world is reset, and leaves what was detached
    detached.

    Args:
        gazebo: Its modules.
        topic: On which the DetachableJoint system listens for requests to attach.
    """

    def __init__(self, gazebo: Gazebo, topic: str) -> None:
        self.topic = topic
        self._heard = threading.Event()
        self._message = gazebo.empty()
        self._node = gazebo.transport.Node()
        self._publisher = self._node.advertise(topic, gazebo.empty)
        if not self._node.subscribe(gazebo.empty, topic, lambda _: self._heard.set()):
            raise ProjectedControlError(f"cannot listen to {topic} of Gazebo")

    def renew(self) -> bool:
        """Ask for it; of no effect where nothing was detached.

        Comes back when the request was delivered, so that it holds from the next step on; False
        where it was not.
        """
        self._heard.clear()
        self._publisher.publish(self._message)
        delivered = self._heard.wait(DELIVERY_SECONDS)
        sleep(NEIGHBOUR_SECONDS)
        return delivered
