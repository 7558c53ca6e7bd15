"""What holds the arm's tip in Gazebo, and the friction where it slides along that.

It is held by a joint that can be detached (`Weld`). Gazebo's joints know friction of a constant
size; that of a contact grows with what presses. So it is applied by us, to the joints of the
carriage, before every step.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import sleep
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import ProjectedControlError
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.ros.gazebo_modules import Gazebo

BRAKING = 0.5
"""Share of the tip's momentum that friction takes away in a step at most: it brakes to rest within
a few steps, and never pushes back."""


class ContactFriction:
    """F = −min(µ N, BRAKING m ‖v‖/T) v/‖v‖ at the tip, with N = ‖λ‖ over the rows that are forces.

    m is the arm's effective mass along v. While the tip is held by friction it creeps, by what half
    of its momentum lets through in each step; our own simulation sticks.

    Args:
        coefficient: µ.
        slides: Joints of the carriage, and how far the tip goes for each unit [m].
        frame: That is held.
        model: The arm and its constraint.
        period: Of a step [s].

    Attributes:
        model: As given.
    """

    def __init__(
        self,
        coefficient: float,
        slides: Mapping[str, float],
        frame: str,
        model: ConstrainedArm,
        period: float,
    ) -> None:
        self._coefficient, self._period = coefficient, period
        self._levers = np.array(list(slides.values()))
        self.model, self._frame = model, frame
        constraint = model.constraint
        units = () if constraint is None else constraint.row_units
        self._forces = np.array([unit == "m" for unit in units], dtype=bool)

    def efforts(self, rates: Array, multipliers: Array) -> Array:
        """What to apply to the carriage's joints [N or N·m].

        Args:
            rates: Velocities of these joints.
            multipliers: λ; nothing is applied where it is not known.
        """
        slip = self._levers * rates
        speed = float(np.linalg.norm(slip))
        pressing = float(np.linalg.norm(multipliers[self._forces]))
        if speed == 0.0 or not np.isfinite(pressing):
            return np.zeros_like(rates)
        size = min(self._coefficient * pressing, BRAKING * self._mass() * speed / self._period)
        return np.asarray(-size * self._levers * slip / speed)

    def _mass(self) -> float:
        """Effective mass of the arm at the tip along its own velocity [kg].

        That of the arm without its constraint, which is the least that it can be.
        """
        arm = self.model.arm
        J = arm.frame(self._frame).jacobian[:3]
        velocity = J @ arm.v
        speed = np.linalg.norm(velocity)
        if speed == 0.0:
            return 0.0
        along = J.T @ (velocity / speed)
        return float(1.0 / max(along @ np.linalg.solve(arm.M, along), 1e-9))


DELIVERY_SECONDS = 0.005  # within which a message reaches its listeners in Gazebo's own process [s]


class Weld:
    """Keeps count of the joints on the slider, and makes one that holds after a reset.

    A reset puts all bodies back where they began and makes a new joint. Where the last one was
    attached, the new one has the number that follows; where it was detached, numbers begin with
    that of the first one again, and Gazebo's physics, which forgets no number, ignores a joint
    whose number it knows. So an arm that was detached would stay so after a reset. The way out is
    to let go of the ignored joint and to make the next one, until there is one with a number of
    its own.

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
