"""Which of what varies matters: Morris or Sobol, by SALib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from projected_control.apps.sweeps.designs import ListedRuns
from projected_control.apps.sweeps.one_run import RunRow
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.errors import InvalidValue

SENSITIVITY = "sensitivity"  # part of a study: its runs

MORRIS, SOBOL = "morris", "sobol"

LEVELS = 4  # of Morris's grid


class Sensitivity:
    """Runs from which the sensitivity follows, and what follows.

    Args:
        axes: What varies.
        kind: ``morris`` or ``sobol``.
        count: Trajectories of Morris, base samples of Sobol.
        seed: Of the sample.
    """

    def __init__(self, axes: Sequence[Axis], kind: str, count: int, seed: int) -> None:
        if kind == SOBOL and count & (count - 1):
            raise InvalidValue(
                f"robustness.trajectories must be a power of two for Sobol, got {count}"
            )
        self.axes, self.kind, self._seed = axes, kind, seed
        names = [axis.name for axis in axes]
        ranges = [[0.0, 1.0]] * len(names)
        self._problem = {"num_vars": len(names), "names": names, "bounds": ranges}
        self._shares = self._sample(count)
        places = (
            tuple(axis.at(float(share)) for axis, share in zip(axes, line, strict=True))
            for line in self._shares
        )
        self.design = ListedRuns(SENSITIVITY, tuple(places))

    def _sample(self, count: int) -> Any:
        if self.kind == MORRIS:
            from SALib.sample import morris

            return morris.sample(self._problem, count, num_levels=LEVELS, seed=self._seed)
        from SALib.sample import sobol

        return sobol.sample(self._problem, count, calc_second_order=False, seed=self._seed)

    def of(
        self, rows: Sequence[RunRow], number: str, most: float
    ) -> dict[str, Mapping[str, float]]:
        """How much each axis matters for a number of the runs.

        Args:
            rows: Of the design, in order.
            number: Which.
            most: What a run counts that failed, or whose number is larger.
        """
        values = [row.numbers.get(number, most) for row in rows]
        bad = [row.failed or not isfinite(v) for row, v in zip(rows, values, strict=True)]
        outcome = np.array([most if b else min(v, most) for v, b in zip(values, bad, strict=True)])
        if self.kind == MORRIS:
            from SALib.analyze import morris

            found = morris.analyze(
                self._problem, self._shares, outcome, num_levels=LEVELS, seed=self._seed
            )
            keys = {"mean": "mu_star", "spread": "sigma", "sure": "mu_star_conf"}
        else:
            from SALib.analyze import sobol

            spread = float(np.ptp(outcome))
            found = sobol.analyze(
                self._problem,
                outcome if spread > 0.0 else outcome + 1e-12 * self._shares[:, 0],
                calc_second_order=False,
                seed=self._seed,
            )
            keys = {"mean": "ST", "spread": "S1", "sure": "ST_conf"}
        return {
            axis.name: {key: float(np.ma.getdata(found[name])[i]) for key, name in keys.items()}
            for i, axis in enumerate(self.axes)
        }
