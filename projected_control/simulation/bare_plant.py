"""What the arms of engines share that are there to be compared with: a bare arm on its constraint.

They are held as in MuJoCo, from which they take bodies and equalities (`mechanism`), and have
neither friction nor stops nor contacts of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.mujoco_plant import MujocoPlant
from projected_control.simulation.plant import Plant
from projected_control.simulation.surfaces import RIGID, Surface


class BarePlant(MujocoPlant):
    """An arm that is held as in MuJoCo, and moved by another engine.

    Args:
        model, step: As for `Plant`.
        friction, contact_friction, surface, one_sided, extents, stops: Refused but for none.

    Attributes:
        engine: What moves it, in words.
    """

    engine: ClassVar[str]

    def __init__(
        self,
        model: ConstrainedArm,
        step: float = 1e-3,
        *,
        friction: JointFriction = FRICTIONLESS,
        contact_friction: float = 0.0,
        surface: Surface = RIGID,
        one_sided: Sequence[int] | None = None,
        extents: Sequence[object] | None = None,
        stops: ArrayLike | None = None,
    ) -> None:
        model.arm.require_fixed(f"an arm in {self.engine}", "it is there to be compared with")
        if stops is not None:
            self._refuse("simulation.stops", "stops of joints")
        if surface.gives or any(one_sided or ()):
            key = "contact.stiffness" if surface.gives else "constraint.one_sided"
            self._refuse(key, "surfaces that give, or that can be left,")
        super().__init__(model, step, friction=friction, contact_friction=contact_friction)
        if self._holds.movers:
            self._refuse("constraint.motion", "constraints that move")

    def _refuse(self, key: str, what: str) -> None:
        raise InvalidValue(
            f"{key}: in {self.engine} an arm has no {what} here; it is there to be compared with. "
            "Take simulation.engine built_in or mujoco",
            key=key,
        )

    @property
    def friction(self) -> JointFriction:
        """None."""
        return self._friction

    @friction.setter
    def friction(self, friction: JointFriction) -> None:
        if any(np.any(part) for part in friction.of_joints(self.model.n)[[0, 1, 3]]):
            self._refuse("friction", "friction in its joints")
        Plant.friction.fset(self, friction)  # type: ignore[attr-defined]

    @property
    def contact_friction(self) -> float:
        """None."""
        return 0.0

    @contact_friction.setter
    def contact_friction(self, mu: float) -> None:
        if mu:
            self._refuse("friction.contact", "friction at its contact")
        self._rubbing = None
        Plant.contact_friction.fset(self, mu)  # type: ignore[attr-defined]

    def _look(self) -> None:
        """Nothing is worked out before the effort is known."""
