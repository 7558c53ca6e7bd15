"""What identification finds: parameters with bounds, and how well a motion tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONFIDENCE = 1.96
"""Standard deviations of a bound of 95 %."""

LARGEST_INFLATION = 30.0
"""Inflation beyond which the motion does not tell a parameter from the others."""

LEAST_SHARE = 1e-3
"""Of the efforts' RMS that a parameter must explain, or it is too small to be told."""


@dataclass(frozen=True)
class Estimate:
    """One parameter.

    Attributes:
        name: Such as ``coulomb of joint_2``.
        value: [SI].
        bound: Half the width of the interval of 95 % confidence, in its unit.
        inflation: Factor by which the other parameters widen it.
        share: Of the efforts' RMS, what it explains at its value.
        unit: Its unit.
        advice: How to move so that it is told, where it is not.
    """

    name: str
    value: float
    bound: float
    inflation: float
    share: float
    unit: str
    advice: str = "move this joint more, faster and slower, and in both directions"

    @property
    def excited(self) -> bool:
        """Whether the motion tells it from the others."""
        return bool(np.isfinite(self.bound) and self.inflation <= LARGEST_INFLATION)

    @property
    def remark(self) -> str:
        """In words, why it is not to be trusted; empty where it is."""
        if not self.excited:
            return f"the motion does not tell it from the others: {self.advice}"
        if self.share < LEAST_SHARE:
            return "too small to matter"
        if self.bound > 0.5 * abs(self.value):
            return "hardly known: move for longer, or faster"
        return ""


@dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes:
        estimates: All parameters that the equations are linear in, by name.
        stribeck: ``static of …`` and ``stribeck velocity of …`` each joint, by name; empty where
            they were not looked for.
        joints: Names of the joints.
        payload_link: Link of the payload; empty where none was sought.
        centre: Centre of the payload in the link's axes [m]; None where none was sought.
        centre_bound: Its bounds of 95 % [m].
        time: Of the samples that were used [s].
        measured, predicted: Filtered efforts, samples × n [N·m or N].
        residual: RMS of their difference per joint [N·m or N].
    """

    estimates: dict[str, Estimate]
    stribeck: dict[str, Estimate]
    joints: tuple[str, ...]
    payload_link: str
    centre: Array | None
    centre_bound: Array | None
    time: Array
    measured: Array = field(repr=False)
    predicted: Array = field(repr=False)
    residual: Array = field(repr=False)

    def of_joints(self, kind: str) -> Array:
        """``coulomb``, ``viscous``, ``armature`` … of each joint, not negative."""
        known = {**self.estimates, **self.stribeck}
        names = [f"{kind} of {joint}" for joint in self.joints]
        return np.array([max(known[name].value, 0.0) for name in names])
