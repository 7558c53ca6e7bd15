"""Joint friction."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.declaration import is_given, key_of, parameter, spread
from projected_control.errors import InvalidValue
from projected_control.model.friction import FrictionNumbers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointFriction(FrictionNumbers):
    """Friction of a simulated arm.

    Where it sticks, dry friction is set-valued (see `dry_friction`). Else it changes sign over the
    velocity blend [rad/s or m/s], as the sign function itself cannot be integrated by stages: an
    arm at rest creeps, at up to that.
    """

    blend: float = 5e-3
    _: KW_ONLY
    sticks: bool = parameter(
        False,
        "Dry friction is set-valued: the arm sticks, and does not creep below its breakaway "
        "torque; otherwise it is a smooth curve",
        live=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.positive("friction blend velocity", self.blend)
        static, coulomb = self._numbers("static"), self._numbers("coulomb")
        if 1 in (static.size, coulomb.size) or static.size == coulomb.size:
            self._require_more(static, coulomb)

    def _require_more(self, static: Array, coulomb: Array) -> None:
        if not (static >= coulomb).all():
            raise InvalidValue(
                f"static friction {static.tolist()} must not be less than Coulomb friction "
                f"{coulomb.tolist()}: a joint that slides is held by less than one that stands",
                key=key_of(self, "static"),
            )

    def level(self, v: Array) -> Array:
        """Size of dry friction at a velocity [N·m or N]."""
        coulomb, static = self._numbers("coulomb"), self._numbers("static")
        return np.asarray(
            coulomb + (static - coulomb) * np.exp(-((v / self._numbers("stribeck")) ** 2))
        )

    def effort(self, v: Array) -> Array:
        """What friction adds to the joint efforts, against the motion; none at rest."""
        direction = np.sign(v) if self.sticks else np.tanh(v / self.blend)
        return np.asarray(-self.level(v) * direction - self._numbers("viscous") * v)

    def of_joints(self, n: int) -> Array:
        """Coulomb, viscous, blend, static and Stribeck velocity of each of n joints, 5 × n."""
        coulomb, viscous, stribeck = (
            spread(self, name, n, "joint", f"{name} friction")
            for name in ("coulomb", "viscous", "stribeck")
        )
        static = coulomb
        if is_given(self.static):
            static = spread(self, "static", n, "joint", "static friction")
        return np.array([coulomb, viscous, np.full(n, self.blend), static, stribeck])


FRICTIONLESS = JointFriction()
