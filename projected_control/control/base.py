"""What all controllers share: a model, gains that blend, a reference to follow, an effort."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import check
from projected_control.control.gains import BLEND_SECONDS, Blend, MotionGains
from projected_control.errors import InvalidValue
from projected_control.model import ConstrainedArm

Array = NDArray[np.float64]

INDEPENDENCE_TOLERANCE = 1e-6
"""Singular values of J_θ P below this: a coordinate the constraint does not let move."""


class Effort(NamedTuple):
    """Joint efforts of one tick [N·m or N]. Live arrays: copy what is to be kept.

    Attributes:
        tangent: f∥, which moves the arm.
        normal: f⊥, which presses on the constraint.
        total: Their sum, which is sent.
    """

    tangent: Array
    normal: Array
    total: Array


class Controller(ABC):
    """A law that turns a state into joint efforts, once a tick.

    Attributes:
        model: The arm, its constraint and its coordinates, evaluated by `update`.
        period: Of the loop [s].
        motion: The reference: rows θ_d, θ̇_d, θ̈_d, 3 × k; written by whoever plans.
        error: Rows e = θ_d − θ and ė of the last tick, 2 × k.
        margins: Independence of the coordinates, and controllability of passive joints (1 where
            there are none): how far the last tick was from losing them.
        effort: What the last tick gave.
    """

    def __init__(self, model: ConstrainedArm, gains: MotionGains, period: float) -> None:
        if model.coordinates is None:
            raise InvalidValue("a controller needs coordinates to follow: give the model some")
        self.model = model
        self.period = check.positive("period", period)
        self.motion: Array = np.zeros((3, model.k))
        self.error: Array = np.zeros((2, model.k))
        self.margins: Array = np.ones(2)
        self._effort = np.zeros((3, model.n))
        self.effort = Effort(*self._effort)
        self.gains = gains
        self._gains = gains.array(model.k)
        self._blend = Blend(self._gains)
        self._motion_arguments = (
            model.M,
            model.h,
            model.v,
            model.A,
            model.b,
            model.residual,
            model.P,
            model.A_pinv,
            model.J_theta,
            model.theta,
            model.theta_rate,
            model.theta_bias,
            model.coordinates.periodic,
            self.motion,
            self._gains,
            INDEPENDENCE_TOLERANCE,
            self.error,
            self.margins,
        )

    def set_gains(self, gains: MotionGains, seconds: float = BLEND_SECONDS) -> None:
        """Change the gains while running; they come into force over this time [s]."""
        self._blend.towards(gains.array(self.model.k), seconds)
        self.gains = gains

    def hold(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Take the present place as the reference: start from here without a jump."""
        position = check.finite_array("position", q, (self.model.n,))
        velocity = np.zeros(self.model.n) if v is None else np.asarray(v, dtype=np.float64)
        self.model.evaluate(position, velocity, self.model.time)
        self.motion[0] = self.model.theta
        self.motion[1:] = 0.0

    def update(self, q: Array, v: Array, time: float = 0.0) -> Effort:
        """The efforts for this state. One Pinocchio pass, one decomposition, one compiled law."""
        if self._blend.active:
            self._blend.advance(self.period)
        self.model.evaluate(q, v, time)
        self._compute(False)
        return self.effort

    def stop(self, q: Array, v: Array, time: float = 0.0) -> Effort:
        """Efforts that carry the arm's weight and brake its motion, whatever the reference says."""
        self.model.evaluate(q, v, time)
        self._compute(True)
        return self.effort

    def reset(self) -> None:
        """Forget what a controller remembers from tick to tick."""
        self._effort[:] = 0.0
        self.error[:] = 0.0

    @abstractmethod
    def _compute(self, stop: bool) -> None:
        """Fill the effort from the evaluated model."""
