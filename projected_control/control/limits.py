"""Limits of a control loop: efforts, positions, velocities, the reference and the age of data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm

Array = NDArray[np.float64]

FORCE_STOP = 50.0
"""Difference between the measured λ and the model's that stops an arm unless told otherwise [N]."""


@dataclass(frozen=True)
class Limits:
    """Limits of a loop; per joint where they belong to joints, in their units.

    Attributes:
        effort: Largest magnitude [N·m or N].
        effort_rate: Largest change [N·m/s or N/s].
        velocity: Largest magnitude [rad/s or m/s].
        lower, upper: Positions [rad or m].
        reference_jump: Largest step of the reference from tick to tick, in multiples of what its
            own rate explains, plus this [m or rad].
        hold_time: Time for which the last effort is held on bad states [s].
        frozen_time: Time after which a state that does not change while it should (see
            `FROZEN_DISTANCE`) is frozen [s].
        stale_time: Time after which a state that is read again and again is stale [s].
        residual: ‖Φ‖ beyond which the arm has left its constraint [m or rad].
        force_time: Time after which a measured wrench is stale [s].
        force_difference: By how much the measured λ may differ from the model's before the
            guard reports it [N or N·m].
        force_stop: By how much before it stops the arm; more than the above [N or N·m].
        latch_time: Time after which what the guard has stopped, held or set to zero starts again
            only when it is told to [s].
        return_margin: How far out of its range a joint may be at the start, to be led back in
            [rad or m]; zero for not at all.
    """

    effort: Array
    effort_rate: Array
    velocity: Array
    lower: Array
    upper: Array
    reference_jump: float = 0.05
    hold_time: float = 0.01
    frozen_time: float = 0.05
    stale_time: float = 0.02
    residual: float = 0.02
    force_time: float = 0.05
    force_difference: float = 10.0
    force_stop: float = FORCE_STOP
    latch_time: float = 1.0
    return_margin: float = 0.0

    @classmethod
    def of(
        cls,
        arm: Arm,
        *,
        effort: ArrayLike | None = None,
        effort_rate: ArrayLike = 1000.0,
        velocity: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        reference_jump: float = 0.05,
        hold_time: float = 0.01,
        frozen_time: float = 0.05,
        stale_time: float = 0.02,
        residual: float = 0.02,
        force_time: float = 0.05,
        force_difference: float = 10.0,
        force_stop: float | None = None,
        latch_time: float = 1.0,
        return_margin: float = 0.0,
    ) -> Limits:
        """The description's limits, each replaced by what is given here if anything is.

        ``force_stop`` is `FORCE_STOP` or twice ``force_difference`` unless given, what is more.
        """
        described = arm.limits
        if force_stop is None:
            force_stop = max(FORCE_STOP, 2.0 * force_difference)

        def each(name: str, value: ArrayLike | None, default: Array) -> Array:
            chosen = default if value is None else np.asarray(value, dtype=np.float64)
            if chosen.size not in (1, arm.n) or np.isnan(chosen).any():
                raise InvalidValue(
                    f"{name} must be one number or {arm.n}, one per joint, got {value!r}"
                )
            return np.array(np.broadcast_to(chosen, (arm.n,)))

        limits = cls(
            each("effort limit", effort, described.effort),
            each("effort rate limit", effort_rate, described.effort),
            each("velocity limit", velocity, described.velocity),
            each("lower position limit", lower, described.lower),
            each("upper position limit", upper, described.upper),
            validate.positive("reference jump", reference_jump),
            validate.not_negative("hold time", hold_time),
            validate.positive("frozen time", frozen_time),
            validate.positive("stale time", stale_time),
            validate.positive("residual limit", residual),
            validate.positive("force time", force_time),
            validate.positive("force difference", force_difference),
            validate.positive("force stop", force_stop),
            validate.positive("latch time", latch_time),
            validate.not_negative("return margin", return_margin),
        )
        if not force_stop > force_difference:
            raise InvalidValue(
                f"the difference of the force that stops the arm (force_stop, {force_stop:g} N) "
                f"must be above the one that is reported (force_difference, {force_difference:g} N)"
            )
        for name in ("effort", "effort_rate", "velocity"):
            values = getattr(limits, name)
            without_motor = (arm.actuated == 0.0) & (values == 0.0) & (name == "effort")
            if not ((values > 0.0) | without_motor).all():
                raise InvalidValue(f"{name} limits must be positive, got {values.tolist()}")
        if not (limits.lower < limits.upper).all():
            raise InvalidValue(
                f"position limits are inconsistent: lower {limits.lower.tolist()} is not below "
                f"upper {limits.upper.tolist()}"
            )
        return limits
