"""What a run amounts to: RMS and peak numbers, summed tick by tick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller

Array = NDArray[np.float64]


@compiled
def accumulate(
    error: Array, measured: Array, sent: Array, full: Array, root: Array, sums: Array
) -> None:
    """Add a tick. sums: e², λ², ‖f‖², ‖f_IDC‖², largest |f_i| and |e_i|, ticks, then each e_i²."""
    for i in range(error.size):
        square = error[i] * error[i]
        sums[0] += square
        sums[7 + i] += square
        sums[5] = max(sums[5], abs(error[i]))
    for j in range(measured.size):
        if np.isfinite(measured[j]):
            sums[1] += measured[j] * measured[j]
    for i in range(sent.size):
        sums[2] += sent[i] * sent[i]
        sums[3] += (full[i] * root[i]) ** 2
        sums[4] = max(sums[4], abs(sent[i]))
    sums[6] += 1.0


class Totals:
    """Sums over the ticks of a controller.

    Args:
        controller: Whose ticks they are.
    """

    def __init__(self, controller: Controller) -> None:
        model = controller.model
        self._names = model.coordinates.names if model.coordinates is not None else ()
        self._sums = np.zeros(7 + model.k)
        self._parts = (
            controller.error[0],
            controller.measured,
            controller.inverse_dynamics,
            model.sqrt_metric,
        )

    @property
    def ticks(self) -> int:
        """How many were added."""
        return int(self._sums[6])

    def add(self, sent: Array) -> None:
        """One more tick, after which this effort was sent [N·m or N]."""
        error, measured, full, root = self._parts
        accumulate(error, measured, sent, full, root, self._sums)

    def summary(self) -> dict[str, Any]:
        """RMS and peak of errors [m and rad], λ [N] and efforts [N·m or N]; IDC's beside."""
        sums = self._sums.copy()
        ticks = max(sums[6], 1.0)
        each = np.sqrt(sums[7:] / ticks)
        return {
            "ticks": int(sums[6]),
            "tracking_rms": float(np.sqrt(sums[0] / ticks)),
            "tracking_peak": float(sums[5]),
            "tracking_rms_by_coordinate": dict(zip(self._names, each.tolist(), strict=True)),
            "lambda_rms": float(np.sqrt(sums[1] / ticks)),
            "torque_rms": float(np.sqrt(sums[2] / ticks)),
            "torque_peak": float(sums[4]),
            "torque_rms_idc": float(np.sqrt(sums[3] / ticks)),
        }
