"""Friction of joints in numbers: what an arm has, and what a controller knows of it.

τ_i = [F_c + (F_s − F_c) exp(−(q̇/v_s)²)] sign(q̇) + F_v q̇,     q̇ of joint i.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.declaration import Group, OneOrMore, is_given, parameter, refused

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
