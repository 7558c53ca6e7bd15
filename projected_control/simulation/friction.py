"""Joint friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.declaration import (
    Group,
    OneOrMore,
    is_given,
    key_of,
    parameter,
    refused,
    spread,
)
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointFriction(Group):
    """Dry and viscous friction, one number each for all joints, or one per joint.

    Dry friction has the size F_c + (F_s − F_c) exp(−(v/v_s)²) (Coulomb, Stribeck): F_c is coulomb,
    F_s static (None as well as empty for that of coulomb), v_s stribeck. Where it sticks, it is
    set-valued (see `dry_friction`). Else it changes sign over the velocity blend [rad/s or m/s], as
    the sign function itself cannot be integrated by stages: an arm at rest creeps, at up to that.
    """

    coulomb: OneOrMore = parameter(
        (0.0,),
        "Coulomb friction, one number or one per joint",
        "N·m or N",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )
    viscous: OneOrMore = parameter(
        (0.0,),
        "Viscous friction, one number or one per joint",
        "N·m·s/rad or N·s/m",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )
    blend: float = 5e-3
    static: OneOrMore | None = parameter(
        (),
        "Friction up to which a joint at rest stays there, one number or one per joint; empty for "
        "that of coulomb",
        "N·m or N",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )
    stribeck: OneOrMore = parameter(
        (0.05,),
        "Velocity over which static goes over into Coulomb friction, one number or one per joint",
        "rad/s or m/s",
        minimum=1e-6,
        maximum=1e3,
        live=True,
        name="stribeck_velocity",
    )
    sticks: bool = parameter(
        False,
        "Dry friction is set-valued: the arm sticks, and does not creep below its breakaway "
        "torque; otherwise it is a smooth curve",
        live=True,
    )

    def __post_init__(self) -> None:
        for name in ("coulomb", "viscous", "static", "stribeck"):
            values = self._numbers(name)
            if not (np.isfinite(values).all() and (values >= 0.0).all()):
                raise refused(
                    self,
                    name,
                    f"must be finite and not negative, got {values.tolist()}",
                    f"{name} friction",
                )
        validate.positive("friction blend velocity", self.blend)
        if not (self._numbers("stribeck") > 0.0).all():
            raise InvalidValue(f"the Stribeck velocity must be positive, got {self.stribeck}")
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

    def _numbers(self, name: str) -> Array:
        """The numbers of a field, of which there may be one for all joints."""
        if name == "static" and not is_given(self.static):
            name = "coulomb"
        return np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))

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
