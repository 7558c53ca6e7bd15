"""Limits of a control loop: efforts, positions, velocities, the reference and the age of data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.declaration import (
    LARGE,
    SMALL,
    Group,
    OneOrMore,
    called,
    is_given,
    key_of,
    parameter,
    refused,
    spread,
)
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm

Array = NDArray[np.float64]

PerJoint = Annotated[Any, float]
"""In a file a list of numbers, for the library a number, a list or an array; an array of n numbers
once the limits are those of an arm."""

FORCE_STOP = 50.0
"""Difference between the measured λ and the model's that stops an arm unless told otherwise [N]."""


@dataclass(frozen=True)
class Limits(Group):
    """What the guard allows. A loop needs those of its arm: see `of_arm`, or `of` in one call.

    Frozen is a state that does not change while it should (see `FROZEN_DISTANCE`). A reference may
    step from tick to tick by twice what its own rate explains, plus reference_jump.
    """

    effort: PerJoint = parameter(
        (),
        "Largest effort, one number or one per joint; empty for the description's",
        "N·m or N",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    effort_rate: PerJoint = parameter(
        (1000.0,),
        "Largest change of effort, one number or one per joint",
        "N·m/s or N/s",
        minimum=SMALL,
        maximum=1e9,
        live=True,
    )
    velocity: PerJoint = parameter(
        (),
        "Largest joint velocity, one number or one per joint; empty for the description's",
        "rad/s or m/s",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    lower: PerJoint = parameter(
        (),
        "Smallest joint position, one number or one per joint; empty for the description's",
        "rad or m",
        minimum=-LARGE,
        maximum=LARGE,
        live=True,
    )
    upper: PerJoint = parameter(
        (),
        "Largest joint position, one number or one per joint; empty for the description's",
        "rad or m",
        minimum=-LARGE,
        maximum=LARGE,
        live=True,
    )
    reference_jump: float = parameter(
        0.05,
        "Step of a reference that is refused",
        "m or rad",
        minimum=SMALL,
        maximum=1e3,
        live=True,
    )
    hold_time: float = parameter(
        0.01,
        "Time for which the last effort is held on bad states",
        "s",
        minimum=0.0,
        maximum=1.0,
        live=True,
    )
    frozen_time: float = parameter(
        0.05,
        "Time after which a state that does not change though it should counts as frozen",
        "s",
        minimum=1e-3,
        maximum=10.0,
        live=True,
    )
    stale_time: float = parameter(
        0.02,
        "Time without a new state after which the effort is zero",
        "s",
        minimum=1e-3,
        maximum=10.0,
        live=True,
    )
    residual: float = parameter(
        0.02,
        "‖Φ‖ of an active controller beyond which it stops: the constraint is gone",
        "m",
        minimum=SMALL,
        maximum=10.0,
        live=True,
    )
    force_time: float = parameter(
        0.05,
        "Time without a new wrench after which the arm is braked",
        "s",
        minimum=1e-3,
        maximum=10.0,
        live=True,
    )
    force_difference: float = parameter(
        10.0,
        "Largest difference between the measured λ and the model's, under an effort, that "
        "/diagnostics does not report",
        "N",
        minimum=SMALL,
        maximum=1e9,
        live=True,
    )
    force_stop: float = parameter(
        0.0,
        "The same difference, at which the arm is stopped, until it is told to go on; above "
        f"limits.force_difference. 0 for {FORCE_STOP:g} N, or twice limits.force_difference where "
        "that is more",
        "N",
        minimum=0.0,
        maximum=1e9,
        live=True,
    )
    force: OneOrMore = parameter(
        (),
        "Force ceiling: largest size of λ that is asked for, one number or one per row of the "
        "constraint; empty for none. Torque, range and velocity come before it, which is an event",
        "N or N·m",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    prefer: str = parameter(
        "motion",
        "What is kept where limits leave one of the two: motion, or the force of a force loop",
        choices=("motion", "force"),
        live=True,
    )
    force_answer: str = parameter(
        "hold_back",
        "Answer to a measured force above limits.force for three ticks: hold_back asks for so "
        "much less, stop is a damped stop until it is told to go on",
        choices=("hold_back", "stop"),
        live=True,
    )
    latch_time: float = parameter(
        1.0,
        "Time for which the guard may stop the arm, hold its effort or send zero, and go on by "
        "itself. What has lasted longer starts again only when it is told to: a damped stop with "
        "a reference that begins at the arm (~/reference), anything else by activating the "
        "controller, from inside the limits",
        "s",
        minimum=0.02,
        maximum=60.0,
        live=True,
    )
    return_margin: float = parameter(
        0.0,
        "How far out of its range a joint may rest where the controller is activated, to be led "
        "back in: it may then not go further out than it has been, and has to stay inside once it "
        "is there. 0 to refuse",
        "rad or m",
        minimum=0.0,
        maximum=0.5,
    )

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            self._check(validate.positive, name)
        for name in ("hold_time", "return_margin", "force_stop"):
            self._check(validate.not_negative, name)
        validate.one_of("preference (limits.prefer)", self.prefer, ("motion", "force"))
        validate.one_of("answer (limits.force_answer)", self.force_answer, ("hold_back", "stop"))
        if self.force_stop and not self.force_stop > self.force_difference:
            raise InvalidValue(
                f"the difference of the force that stops the arm (force_stop, {self.force_stop:g} "
                "N) must be above the one that is reported (force_difference, "
                f"{self.force_difference:g} N)",
                key=key_of(self, "force_stop"),
            )

    def force_numbers(self, rows: int) -> Array:
        """Ceilings of so many rows, 1 where force is preferred, 1 where too much of it is a stop.

        Raises:
            InvalidValue: Where there are not one or as many as rows.
        """
        given = np.atleast_1d(np.asarray(self.force, dtype=np.float64))
        if given.size not in (0, 1, rows) or (given.size and not rows):
            many = f"one number or {rows}, one per row of the constraint" if rows else "empty"
            why = f"must be {many}, got {given.tolist()}"
            raise refused(self, "force", why if rows else f"{why}: there is no constraint")
        if not (given > 0.0).all():
            raise refused(self, "force", f"must be positive, got {given.tolist()}")
        ceilings = given if given.size else [np.inf]
        options = [float(self.prefer == "force"), float(self.force_answer == "stop")]
        return np.concatenate([np.broadcast_to(ceilings, rows), options])

    def _check(self, check: Any, name: str) -> None:
        check(called(self, name, _WORDS.get(name, name.replace("_", " "))), getattr(self, name))

    @classmethod
    def of(cls, arm: Arm, **given: Any) -> Limits:
        """The limits of an arm, each replaced by what is given here if anything is."""
        said = {name: value for name, value in given.items() if value is not None}
        return cls(**said).of_arm(arm)

    def of_arm(self, arm: Arm) -> Limits:
        """These limits, with one number per joint: the description's where nothing is said.

        ``force_stop`` is `FORCE_STOP` or twice ``force_difference`` unless given, what is more.
        """
        found: dict[str, Any] = {name: self._each(name, arm) for name in _OF_JOINTS}
        for name in ("effort", "effort_rate", "velocity"):
            values = found[name]
            without_motor = (arm.actuated == 0.0) & (values == 0.0) & (name == "effort")
            if not ((values > 0.0) | without_motor).all():
                raise InvalidValue(
                    f"{name} limits must be positive, got {values.tolist()}", key=key_of(self, name)
                )
        if not (found["lower"] < found["upper"]).all():
            raise InvalidValue(
                f"position limits are inconsistent: lower {found['lower'].tolist()} is not below "
                f"upper {found['upper'].tolist()}",
                key=key_of(self, "lower"),
            )
        stop = self.force_stop or max(FORCE_STOP, 2.0 * self.force_difference)
        return replace(self, **found, force_stop=stop)

    def _each(self, name: str, arm: Arm) -> Array:
        described: Array | None = getattr(arm.limits, name, None)
        if described is not None and not is_given(getattr(self, name)):
            return described.copy()
        own = arm.n - arm.base_size
        values = spread(self, name, own, "joint", _WORDS[name])
        if np.isnan(values).any():
            each = f"must be one number or {own}, one per joint, got {values.tolist()}"
            raise refused(self, name, each, _WORDS[name])
        return np.concatenate([np.full(arm.base_size, _OF_BASE[name]), values])


_OF_JOINTS = ("effort", "effort_rate", "velocity", "lower", "upper")
_OF_BASE = {
    "effort": 0.0,
    "effort_rate": np.inf,
    "velocity": np.inf,
    "lower": -np.inf,
    "upper": np.inf,
}
"""Of a floating base, which has neither motors nor ends."""
_POSITIVE = (
    "reference_jump",
    "frozen_time",
    "stale_time",
    "residual",
    "force_time",
    "force_difference",
    "latch_time",
)
_WORDS = {
    "residual": "residual limit",
    "effort": "effort limit",
    "effort_rate": "effort rate limit",
    "velocity": "velocity limit",
    "lower": "lower position limit",
    "upper": "upper position limit",
}
