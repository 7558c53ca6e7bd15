"""What identification starts from, and what it finds.

A recorded motion of an arm, positions and efforts, with the low-pass that both go through;
parameters with bounds, and how well a motion tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MotionRecord:
    """A recorded motion, N samples of n joints, as an ``.npz`` file has it."""

    time: Array  # N, evenly spaced [s]
    q: Array  # positions as measured, N × n [rad or m]
    effort: Array  # efforts as sent, each from its sample on, N × n [N·m or N]
    delay: int = 0  # samples after which an effort acts

    def __post_init__(self) -> None:
        samples = len(self.time)
        for name, array in (("q", self.q), ("effort", self.effort)):
            if array.ndim != 2 or array.shape[0] != samples or not np.isfinite(array).all():
                raise InvalidValue(
                    f"{name} of a recorded motion must have one finite row per sample "
                    f"({samples}), got {array.shape}"
                )
        steps = np.diff(self.time)
        if samples < 100 or not (steps > 0.0).all() or np.ptp(steps) > 0.01 * np.median(steps):
            raise InvalidValue(
                "time of a recorded motion must have at least 100 evenly spaced samples: resample "
                "it, or leave out what is missing"
            )

    @property
    def period(self) -> float:
        """Time from sample to sample [s]."""
        return float(np.median(np.diff(self.time)))

    @classmethod
    def load(cls, path: Path, arm: Arm) -> MotionRecord:
        """Read ``time``, ``q``, ``effort``, and ``joints`` where their order is another one."""
        try:
            with np.load(path) as file:
                columns = {name: file[name] for name in file}
        except (OSError, ValueError) as error:
            raise InvalidValue(f"{path} cannot be read as an .npz file: {error}") from None
        missing = [name for name in ("time", "q", "effort") if name not in columns]
        if missing:
            raise InvalidValue(
                f"{path} has no {', '.join(missing)}; a recorded motion has time (N), q and effort "
                f"(N × n), and may have joints (n names) and delay; there are: "
                f"{', '.join(columns)}"
            )
        order = list(range(arm.n))
        if "joints" in columns:
            names = [str(name) for name in columns["joints"]]
            order = [names.index(validate.one_of("joint", n, names)) for n in arm.joint_names]
        delay = int(columns["delay"]) if "delay" in columns else 0
        q, effort = (np.asarray(columns[n], dtype=np.float64) for n in ("q", "effort"))
        if q.ndim != 2 or q.shape[1] < arm.n:
            raise InvalidValue(f"q in {path} must have {arm.n} columns, got shape {q.shape}")
        return cls(
            np.asarray(columns["time"], dtype=np.float64), q[:, order], effort[:, order], delay
        )

    def save(self, path: Path, joint_names: tuple[str, ...]) -> None:
        """Write it as an ``.npz`` file."""
        np.savez_compressed(
            path,
            time=self.time,
            q=self.q,
            effort=self.effort,
            joints=np.array(joint_names),
            delay=self.delay,
        )


def low_pass(values: Array, cutoff: float, period: float) -> Array:
    """A Butterworth low-pass of order four, forwards and backwards, along the first axis."""
    sos = butter(4, cutoff, fs=1.0 / period, output="sos")
    return np.asarray(sosfiltfilt(sos, values, axis=0))


CONFIDENCE = 1.96  # standard deviations of a bound of 95 %

LARGEST_INFLATION = 30.0
"""Inflation beyond which the motion does not tell a parameter from the others."""

LEAST_SHARE = 1e-3
"""Of the efforts' RMS that a parameter must explain, or it is too small to be told."""


@dataclass(frozen=True)
class Estimate:
    """One parameter."""

    name: str  # such as ``coulomb of joint_2``
    value: float  # [SI]
    bound: float  # half the width of the interval of 95 % confidence, in its unit
    inflation: float  # factor by which the other parameters widen it
    share: float  # of the efforts' RMS, what it explains at its value
    unit: str  # its unit
    # How to move so that it is told, where it is not.
    advice: str = "move this joint more, faster and slower, and in both directions"

    @property
    def excited(self) -> bool:
        """Whether the motion tells it from the others."""
        return bool(np.isfinite(self.bound) and self.inflation <= LARGEST_INFLATION)

    @property
    def remark(self) -> str:
        """In words, why it is not to be trusted; empty where it is."""
        if not self.excited:
            return f"the motion does not tell it from the others: {self.advice}"
        if self.share < LEAST_SHARE:
            return "too small to matter"
        if self.bound > 0.5 * abs(self.value):
            return "hardly known: move for longer, or faster"
        return ""


@dataclass(frozen=True)
class Identification:
    """What was found."""

    estimates: dict[str, Estimate]  # all parameters that the equations are linear in, by name
    # ``static of …`` and ``stribeck velocity of …`` each joint, by name; empty where they
    # were not looked for.
    stribeck: dict[str, Estimate]
    joints: tuple[str, ...]  # names of the joints
    payload_link: str  # link of the payload; empty where none was sought
    centre: Array | None  # centre of the payload in the link's axes [m]; None where none was sought
    centre_bound: Array | None  # its bounds of 95 % [m]
    time: Array  # of the samples that were used [s]
    # measured, predicted: filtered efforts, samples × n [N·m or N].
    measured: Array = field(repr=False)
    predicted: Array = field(repr=False)
    residual: Array = field(repr=False)  # RMS of their difference per joint [N·m or N]

    def of_joints(self, kind: str) -> Array:
        """``coulomb``, ``viscous``, ``armature`` … of each joint, not negative."""
        known = {**self.estimates, **self.stribeck}
        names = [f"{kind} of {joint}" for joint in self.joints]
        return np.array([max(known[name].value, 0.0) for name in names])
