"""The constraint force without a force sensor.

* `ModelObserver` evaluates (32): the force that the model says follows from the effort sent.
* `MomentumObserver` compares the arm's momentum p = M q̇ with what it should have become,

      r = K [p − p₀ − ∫ (f + Cᵀq̇ − g + r) dτ],    −r → F,    τ ṙ + r = −F with τ = 1/K,

  so that it also sees what the model does not know (friction, a push), late by 1/K, and without
  differentiating the velocity (De Luca and Mattone, 2003).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import acceleration_kernel

Array = NDArray[np.float64]


class ForceEstimate(NamedTuple):
    """An estimate of the constraint force.

    Attributes:
        multipliers: λ, m [N or N·m].
        constraint_force: F, n [N·m or N].
        method: ``"model"`` or ``"momentum"``.
    """

    multipliers: Array
    constraint_force: Array
    method: str


class ModelObserver:
    """F = (I − P)(f − h − M q̈), q̈ being what f gives (Aghili 32)."""

    method = "model"

    def __init__(self, model: ConstrainedArm) -> None:
        self.model = _plain(model)
        self._PM, self._M_c = np.empty((2, model.n, model.n))

    def reset(self) -> None:
        """It remembers nothing."""

    def update(self, effort: Array) -> ForceEstimate:
        """From the effort in force, for the state the model was evaluated at."""
        model = self.model
        net, normal_acceleration = model.P @ (effort - model.h), model.A_pinv @ model.b
        acceleration = np.empty(model.n)
        acceleration_kernel(
            model.M, model.P, net, normal_acceleration, acceleration, self._PM, self._M_c
        )
        load = effort - model.h - model.M @ acceleration
        force = load - model.P @ load
        return ForceEstimate(model.A_pinv.T @ force, force, self.method)


class MomentumObserver:
    """What changed the momentum besides the effort and the model.

    Args:
        model: The arm and its constraint.
        bandwidth: K/2π [Hz].
        period: Between updates [s].
    """

    method = "momentum"

    def __init__(
        self, model: ConstrainedArm, bandwidth: float = 50.0, period: float = 1e-3
    ) -> None:
        self.model = _plain(model)
        self.period = validate.positive("period", period)
        self._gain = 2.0 * np.pi * validate.positive("observer bandwidth", bandwidth)
        self._pinocchio = model.arm.pinocchio_model
        self._data = self._pinocchio.createData()
        self._estimate = np.zeros(model.n)
        self._momentum: Array | None = None
        self._flow = np.zeros(model.n)

    def reset(self) -> None:
        """Start from rest."""
        self._estimate[:] = 0.0
        self._momentum = None

    def update(self, effort: Array) -> ForceEstimate:
        """From the effort that acted since the last update, for the state the model is at."""
        model, arm = self.model, self.model.arm
        C = pinocchio.computeCoriolisMatrix(self._pinocchio, self._data, arm.q, arm.v)
        momentum = arm.M @ arm.v
        flow = C.T @ arm.v - (arm.h - C @ arm.v)  # Cᵀq̇ − g
        good = bool(np.isfinite(momentum + flow).all())
        if good and self._momentum is not None:
            expected = self.period * (effort + 0.5 * (flow + self._flow))
            change = momentum - self._momentum - expected
            decay = np.exp(-self._gain * self.period)
            self._estimate = decay * self._estimate + (1.0 - decay) * change / self.period
        # After a bad state go on from the next good one, with the estimate so far.
        self._momentum, self._flow = (momentum if good else None), flow
        force = -self._estimate if good else np.full(model.n, np.nan)
        normal = force - model.P @ force
        return ForceEstimate(model.A_pinv.T @ normal, normal, self.method)


def _plain(model: ConstrainedArm) -> ConstrainedArm:
    if model.constraint is None:
        raise InvalidValue("there is no constraint whose force could be observed")
    if not (model.sqrt_metric == 1.0).all():
        raise InvalidValue("an observer works in joint units: its model must have no metric")
    return model
