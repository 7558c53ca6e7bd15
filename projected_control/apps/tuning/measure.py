"""What a run tells of an arm: noise of its sensors, delay from effort to force, friction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.identification import Identification, MotionRecord, identify
from projected_control.runs.recording import Recording

LONGEST_DELAY = 30  # delays that are tried [samples]
CLEAR = 1.15  # how much worse the delays beside the best one must fit for it to count as seen
NORMAL_MEDIAN = 0.6745  # median magnitude of a normal distribution, in standard deviations
LEAST_SAMPLES = 500  # samples that a delay and a noise are estimated from


@dataclass(frozen=True)
class Measured:
    """What was seen."""

    # Smallest step of a measured position, per joint; zero for none [rad or m].
    position_step: Array
    velocity_noise: Array  # standard deviation, per joint [rad/s or m/s]
    force_noise: float  # of λ, the noisiest row [N or N·m]; NaN where λ is not measured
    delay: int | None  # from an effort to its effect in λ [samples]; None where it was not seen
    delay_fits: Array  # how well each delay fits, from one on: RMS of what is left [N or N·m]
    # Friction and the like; None where the motion did not show it.
    identified: Identification | None
    remarks: list[str] = field(default_factory=list)  # what could not be seen, and why

    @property
    def coulomb(self) -> Array | None:
        """Coulomb friction of every joint, where all of it was seen [N·m or N]."""
        return self._friction("coulomb")

    @property
    def viscous(self) -> Array | None:
        """Viscous friction, where all of it was seen [N·m·s/rad or N·s/m]."""
        return self._friction("viscous")

    def _friction(self, kind: str) -> Array | None:
        found = self.identified
        if found is None:
            return None
        told = [found.estimates[f"{kind} of {joint}"].excited for joint in found.joints]
        return np.maximum(found.of_joints(kind), 0.0) if all(told) else None


def measure(recording: Recording, model: ConstrainedArm) -> Measured:
    """Measure what a recorded run shows.

    Args:
        recording: Of a run in which the arm moved, and pressed with a force that changed.
        model: The arm as its controller knows it, and what holds it.
    """
    answers = recording.answers
    q, v = recording.column("q")[answers], recording.column("v")[answers]
    effort = recording.column("effort")[answers]
    force = recording.column("lambda_measured")[answers]
    if len(q) < LEAST_SAMPLES:
        raise InvalidValue(f"{LEAST_SAMPLES} ticks are needed to measure anything, got {len(q)}")
    remarks: list[str] = []
    fits, delay = _delay(model, q, v, effort, force, remarks)
    return Measured(
        _steps(q),
        _noise(v),
        float(np.nanmax(_noise(force))) if np.isfinite(force).any() else float("nan"),
        delay,
        fits,
        _friction(recording, model, q, effort, (delay or 1) - 1, remarks),
        remarks,
    )


def _noise(values: Array) -> Array:
    """Standard deviation of white noise on a smooth signal, from its third differences.

    Their median magnitude counts, so that the few places where the signal jumps do not.
    """
    good = values[np.isfinite(values).all(axis=1)]
    third = np.abs(np.diff(good, 3, axis=0))
    return np.asarray(np.median(third, axis=0) / (NORMAL_MEDIAN * np.sqrt(20.0)))  # 1, 3, 3, 1


def _steps(q: Array) -> Array:
    """The encoder's step of every joint: what all changes are multiples of; else zero."""
    found = np.zeros(q.shape[1])
    for joint, column in enumerate(q.T):
        changes = np.abs(np.diff(column[np.isfinite(column)]))
        changes = changes[changes > 1e-12]
        if changes.size < 20:
            continue
        step = changes.min()
        off = np.abs(changes / step - np.round(changes / step))
        if (changes > 1.5 * step).any() and np.percentile(off, 90) < 0.05:
            found[joint] = step
    return found


def _delay(
    model: ConstrainedArm, q: Array, v: Array, effort: Array, force: Array, remarks: list[str]
) -> tuple[Array, int | None]:
    """The delay with which the model's λ fits the measured one best.

    λ follows the effort without any dynamics in between: λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (f − h) − b). Its
    changes from tick to tick are compared, so that friction and what is slow do not count.
    """
    if model.m == 0 or not np.isfinite(force).all(axis=1).sum() > LEAST_SAMPLES:
        remarks.append("the delay was not seen: no force is measured")
        return np.zeros(0), None
    count = min(len(q), 4000)
    gain = np.zeros((count, model.m, model.n))
    for k in range(count):
        model.evaluate(q[k], v[k])
        M, A = np.array(model.arm.M), model.terms.jacobian[: model.m]
        Y = np.linalg.solve(M, A.T).T
        gain[k] = np.linalg.pinv(Y @ A.T, rcond=1e-6) @ Y
    felt = np.diff(force[:count], axis=0)[LONGEST_DELAY:]
    fits = np.zeros(LONGEST_DELAY)
    for d in range(1, LONGEST_DELAY + 1):
        sent = np.einsum("kmn,kn->km", gain[d:], effort[: count - d])
        known = np.diff(sent, axis=0)[LONGEST_DELAY - d :]
        power = float(np.sum(known**2))
        scale = float(np.sum(known * felt)) / power if power > 0.0 else 0.0
        fits[d - 1] = np.sqrt(np.mean((felt - scale * known) ** 2))
    best = int(np.argmin(fits))
    others = np.delete(fits, best)
    if fits[best] > 0.0 and others.min() / fits[best] < CLEAR:
        remarks.append(
            "the delay was not seen: the effort changed too little from tick to tick; record a run "
            "with steps of force.reference"
        )
        return fits, None
    return fits, best + 1


def _friction(
    recording: Recording,
    model: ConstrainedArm,
    q: Array,
    effort: Array,
    delay: int,
    remarks: list[str],
) -> Identification | None:
    good = np.isfinite(q).all(axis=1)
    if not good.all():
        remarks.append("friction was not sought: some states are not finite")
        return None
    times: Array = np.asarray(recording.period * np.arange(len(q)), dtype=np.float64)
    try:
        return identify(model, MotionRecord(times, q, effort, delay), armature=False)
    except (InvalidValue, np.linalg.LinAlgError) as error:
        remarks.append(f"friction was not seen: {error}")
        return None
