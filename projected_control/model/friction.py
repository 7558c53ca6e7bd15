"""Friction of joints in numbers: what an arm has, and what a controller knows of it.

τ_i = [F_c + (F_s − F_c) exp(−(q̇/v_s)²)] sign(q̇) + F_v q̇,     q̇ of joint i.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

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
class FrictionNumbers(Group):
    """Dry and viscous friction, one number each for all joints, or one per joint.

    Dry friction has the size F_c + (F_s − F_c) exp(−(v/v_s)²) (Coulomb, Stribeck): F_c is coulomb,
    F_s static (None as well as empty for that of coulomb), v_s stribeck; F_v is viscous.
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
    _: KW_ONLY
    static: OneOrMore | None = parameter(
        (),
        "Friction up to which a joint at rest stays there, and against which a motion begins, one "
        "number or one per joint; empty for that of coulomb",
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

    def __post_init__(self) -> None:
        for name in ("coulomb", "viscous", "static", "stribeck"):
            self._require_positive(name, or_zero=name != "stribeck")

    def _require_positive(self, name: str, *, or_zero: bool = False) -> None:
        values = self._numbers(name)
        good = np.isfinite(values) & ((values >= 0.0) if or_zero else (values > 0.0))
        if not good.all():
            what = "not negative" if or_zero else "positive"
            why = f"must be finite and {what}, got {values.tolist()}"
            raise refused(self, name, why, f"{name} friction")

    def _numbers(self, name: str) -> Array:
        """The numbers of a field, of which there may be one for all joints."""
        if name == "static" and not is_given(self.static):
            name = "coulomb"
        return np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))


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
