"""The force-torque sensor in Gazebo, which answers every step of the physics, or should."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import Gazebo

Array = NDArray[np.float64]

FIRST_SECONDS = 5.0
"""For which the very first answer is waited for [s]."""

SENSOR_SECONDS = 0.5
"""For which a step waits for the answer of a sensor that has answered so far [s]."""

DOUBTED_SECONDS = 0.002
"""For which it waits for one that has not [s]."""

PATIENT_STEPS = 10
"""Steps without an answer after which none is waited for any more: what comes is taken."""

TRUSTED_ANSWERS = 100
"""In a row, after which a sensor that has failed is waited for as if it had not."""

SAY_AGAIN_STEPS = 5000
"""Steps without an answer after which it is said again."""


class ForceSensor:
    """The wrench that a sensor measured in the last step.

    Simulated time stands still while a step waits for its sensor. So it waits long for a sensor
    that answers, and not at all for one that does not: that is said, and the simulation goes on at
    its speed.

    Args:
        gazebo: Its modules.
        topic: Topic of the sensor.
        say: Is told where it does not answer.
    """

    def __init__(self, gazebo: Gazebo, topic: str, say: Callable[[str], None]) -> None:
        self._say, self._topic = say, topic
        self._arrived = threading.Condition()
        self._count = self._expected = 0
        self._missed = self._answered = 0
        self._wrench = np.zeros(6)
        self._node = gazebo.transport.Node()
        if not self._node.subscribe(gazebo.wrench, topic, self._on_wrench):
            raise ProjectedControlError(f"cannot listen to {topic} of Gazebo")

    @property
    def complaint(self) -> str:
        """What is wrong where the sensor does not answer."""
        return (
            f"the force-torque sensor in Gazebo does not answer every step on {self._topic}: has "
            "the world the system gz-sim-forcetorque-system, and is the sensor's update_rate 0?"
        )

    def next(self) -> Array | None:
        """The answer to the last step; None where there is none."""
        self._expected += 1
        wrench = self._after(self._expected, self._patience())
        if wrench is not None:
            self._answered += 1
            return wrench
        self._expected = self._count
        self._answered = 0
        self._missed += 1
        if self._missed == 1 or self._missed % SAY_AGAIN_STEPS == 0:
            self._say(f"{self.complaint} ({self._missed} steps without an answer so far)")
        return None

    def forget(self) -> None:
        """Time begins anew."""
        self._expected = self._count
        self._missed = self._answered = 0

    def _patience(self) -> float:
        """How long to wait for the next answer [s]."""
        if self._answered >= TRUSTED_ANSWERS:
            self._missed = 0
        if self._missed == 0:
            return SENSOR_SECONDS if self._count else FIRST_SECONDS
        return DOUBTED_SECONDS if self._missed < PATIENT_STEPS else 0.0

    def _after(self, count: int, seconds: float) -> Array | None:
        """The wrench once this many have come; None where they do not come within this time [s]."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._count >= count, seconds):
                return None
            return self._wrench.copy()

    def _on_wrench(self, message: Any) -> None:
        force, torque = message.force, message.torque
        with self._arrived:
            self._wrench[:] = force.x, force.y, force.z, torque.x, torque.y, torque.z
            self._count += 1
            self._arrived.notify_all()
