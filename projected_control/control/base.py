"""What all controllers share: a model, gains that blend, a reference to follow, an effort."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import check
from projected_control.compiled import compiled
from projected_control.control.gains import BLEND_SECONDS, Blend, MotionGains
from projected_control.errors import InvalidValue
from projected_control.model import ConstrainedArm, Terms, unpack

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


class ControlTerms(NamedTuple):
    """What a law reads and writes besides the model's `Terms`, parts of one array.

    Attributes:
        motion: Rows θ_d, θ̇_d, θ̈_d, 3 × k.
        gains: Rows G_P, G_D and null damping, 3 × k.
        periodic: 1 for each coordinate that is an angle, k.
        error: Rows e and ė, 2 × k.
        margins: Independence of the coordinates, controllability of passive joints.
        effort: Rows tangent, normal, total, 3 × n, in joint units.
        wanted, measured: λ_d and λ, m.
        force_gains: See `ForceGains.array`, 4.
        integrate: One number: zero stops the force loop's integral.
        memory: Rows filtered λ, integral part of u_λ, e_λ; 3 × m.
        command: u_λ, m.
    """

    motion: Array
    gains: Array
    periodic: Array
    error: Array
    margins: Array
    effort: Array
    wanted: Array
    measured: Array
    force_gains: Array
    integrate: Array
    memory: Array
    command: Array


@compiled
def control_size(n: int, m: int, k: int) -> int:
    """How many numbers a controller's workspace holds."""
    return 9 * k + 3 * n + 6 * m + 7


@compiled
def unpack_control(work: Array, t: Terms) -> ControlTerms:
    """Name the parts of a controller's workspace; views, nothing is copied."""
    n, m, k = t.h.size, t.b.size, t.theta.size
    motion, gains = work[: 3 * k].reshape((3, k)), work[3 * k : 6 * k].reshape((3, k))
    periodic, error = work[6 * k : 7 * k], work[7 * k : 9 * k].reshape((2, k))
    o = 9 * k
    effort = work[o : o + 3 * n].reshape((3, n))
    o += 3 * n
    wanted, measured, command = (
        work[o : o + m],
        work[o + m : o + 2 * m],
        work[o + 2 * m : o + 3 * m],
    )
    memory = work[o + 3 * m : o + 6 * m].reshape((3, m))
    o += 6 * m
    margins, force_gains, integrate = work[o : o + 2], work[o + 2 : o + 6], work[o + 6 : o + 7]
    return ControlTerms(
        motion,
        gains,
        periodic,
        error,
        margins,
        effort,
        wanted,
        measured,
        force_gains,
        integrate,
        memory,
        command,
    )


class Controller(ABC):
    """A law that turns a state into joint efforts, once a tick.

    Attributes:
        model: The arm, its constraint and its coordinates, evaluated by `update`.
        period: Of the loop [s].
        gains: In force, or blending in.
        motion: The reference: rows θ_d, θ̇_d, θ̈_d, 3 × k; written by whoever plans.
        error: Rows e = θ_d − θ and ė of the last tick, 2 × k.
        margins: Independence of the coordinates, and controllability of passive joints (1 where
            there are none): how far the last tick was from losing them.
        effort: What the last tick gave.
    """

    def __init__(self, model: ConstrainedArm, gains: MotionGains, period: float) -> None:
        if model.coordinates is None:
            raise InvalidValue("a controller needs coordinates to follow: give the model some")
        n, m, k = model.n, model.m, model.k
        self.model = model
        self.period = check.positive("period", period)
        self._work = np.zeros(control_size(n, m, k))
        self._terms = unpack_control(self._work, unpack(model.work, n, m, k))
        self.motion, self.error = self._terms.motion, self._terms.error
        self.margins = self._terms.margins
        self.margins[:] = 1.0
        self.effort = Effort(*self._terms.effort)
        self._terms.periodic[:] = model.coordinates.periodic
        self.gains = gains
        self._terms.gains[:] = gains.array(k)
        self._blend = Blend(self._terms.gains)
        self._arguments = (model.arguments, self._work)

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
        self.model.prepare(q, v, time)
        self._compute(False)
        return self.effort

    def stop(self, q: Array, v: Array, time: float = 0.0) -> Effort:
        """Efforts that carry the arm's weight and brake its motion, whatever the reference says."""
        self.model.prepare(q, v, time)
        self._compute(True)
        return self.effort

    def reset(self) -> None:
        """Forget what a controller remembers from tick to tick."""
        self._terms.effort[:] = 0.0
        self._terms.error[:] = 0.0

    @abstractmethod
    def _compute(self, stop: bool) -> None:
        """Evaluate the prepared model and fill the effort; brake, if told to stop."""
