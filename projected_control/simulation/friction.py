"""Joint friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointFriction:
    """Coulomb and viscous friction, one number each for all joints, or one per joint.

    Attributes:
        coulomb: Magnitude while moving [N·m or N].
        viscous: Per unit of velocity [N·m·s/rad or N·s/m].
        blend: Velocity over which the Coulomb part changes sign [rad/s or m/s]; the sign function
            itself cannot be integrated with a fixed step.
    """

    coulomb: float | ArrayLike = 0.0
    viscous: float | ArrayLike = 0.0
    blend: float = 5e-3

    def __post_init__(self) -> None:
        for name in ("coulomb", "viscous"):
            values = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            if not (np.isfinite(values).all() and (values >= 0.0).all()):
                raise InvalidValue(
                    f"{name} friction must be finite and not negative, got {values.tolist()}"
                )
            object.__setattr__(self, name, values if values.size > 1 else float(values[0]))
        validate.positive("friction blend velocity", self.blend)

    def effort(self, v: Array) -> Array:
        """What friction adds to the joint efforts, against the motion."""
        return -np.asarray(self.coulomb) * np.tanh(v / self.blend) - np.asarray(self.viscous) * v

    def of_joints(self, n: int) -> Array:
        """Coulomb and viscous friction and blend of each of n joints, 3 × n."""
        table = np.empty((3, n))
        table[0], table[1], table[2] = self.coulomb, self.viscous, self.blend
        return table


FRICTIONLESS = JointFriction()
