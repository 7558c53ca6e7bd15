"""A recorded motion of an arm: positions and efforts, and the low-pass that both go through."""

from __future__ import annotations

from dataclasses import dataclass
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
    """A recorded motion, N samples of n joints, as an ``.npz`` file has it.

    Attributes:
        time: N, evenly spaced [s].
        q: Positions as measured, N × n [rad or m].
        effort: Efforts as sent, each from its sample on, N × n [N·m or N].
        delay: Samples after which an effort acts.
    """

    time: Array
    q: Array
    effort: Array
    delay: int = 0

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
