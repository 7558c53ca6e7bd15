"""Friction where the tip slides along what holds it, in Gazebo.

Its joints know friction of a constant size; that of a contact grows with what presses. So it is
applied by us, to the joints of the carriage, before every step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]

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
