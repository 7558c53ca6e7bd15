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
    """Dry and viscous friction, one number each for all joints, or one per joint.

    Dry friction has the size F_c + (F_s − F_c) exp(−(v/v_s)²) (Coulomb, Stribeck).

    Attributes:
        coulomb: F_c, magnitude while moving [N·m or N].
        viscous: Per unit of velocity [N·m·s/rad or N·s/m].
        blend: Velocity over which dry friction changes sign where it does not stick
            [rad/s or m/s]; the sign function itself cannot be integrated by stages.
        static: F_s, magnitude up to which a joint at rest stays there; as coulomb unless given.
        stribeck: v_s, velocity over which static goes over into Coulomb friction [rad/s or m/s].
        sticks: Whether dry friction is set-valued (see `dry_friction`): an arm at rest stays there
            up to the static friction. Otherwise it creeps, at up to the blend velocity.
    """

    coulomb: float | ArrayLike = 0.0
    viscous: float | ArrayLike = 0.0
    blend: float = 5e-3
    static: float | ArrayLike | None = None
    stribeck: float | ArrayLike = 0.05
    sticks: bool = False

    def __post_init__(self) -> None:
        if self.static is None:
            object.__setattr__(self, "static", self.coulomb)
        for name in ("coulomb", "viscous", "static", "stribeck"):
            values = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            if not (np.isfinite(values).all() and (values >= 0.0).all()):
                raise InvalidValue(
                    f"{name} friction must be finite and not negative, got {values.tolist()}"
                )
            object.__setattr__(self, name, values if values.size > 1 else float(values[0]))
        if not (np.asarray(self.static) >= np.asarray(self.coulomb)).all():
            raise InvalidValue(
                f"static friction {self.static} must not be less than Coulomb friction "
                f"{self.coulomb}: a joint that slides is held by less than one that stands"
            )
        validate.positive("friction blend velocity", self.blend)
        if not (np.asarray(self.stribeck) > 0.0).all():
            raise InvalidValue(f"the Stribeck velocity must be positive, got {self.stribeck}")

    def level(self, v: Array) -> Array:
        """Size of dry friction at a velocity [N·m or N]."""
        coulomb, static = np.asarray(self.coulomb), np.asarray(self.static)
        return np.asarray(
            coulomb + (static - coulomb) * np.exp(-((v / np.asarray(self.stribeck)) ** 2))
        )

    def effort(self, v: Array) -> Array:
        """What friction adds to the joint efforts, against the motion; none at rest."""
        direction = np.sign(v) if self.sticks else np.tanh(v / self.blend)
        return np.asarray(-self.level(v) * direction - np.asarray(self.viscous) * v)

    def of_joints(self, n: int) -> Array:
        """Coulomb, viscous, blend, static and Stribeck velocity of each of n joints, 5 × n."""
        table = np.empty((5, n))
        names = ("coulomb", "viscous", "blend", "static", "stribeck")
        for line, name in zip(table, names, strict=True):
            values = np.asarray(getattr(self, name))
            if values.size not in (1, n):
                raise InvalidValue(
                    f"{name} friction must be one number or {n}, one per joint, got {values.size}"
                )
            line[:] = values
        return table


FRICTIONLESS = JointFriction()
