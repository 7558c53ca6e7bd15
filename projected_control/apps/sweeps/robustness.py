"""How sure bounds are: the runs that tell it, and what they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from projected_control.apps.sweeps.bounds import Bounds, Share, share_of
from projected_control.apps.sweeps.designs import (
    SAMPLE,
    Chain,
    Design,
    ListedRuns,
    design_of,
)
from projected_control.apps.sweeps.maps import MAP, Edge, MapDesign
from projected_control.apps.sweeps.one_run import (
    DIVERGED,
    DONE,
    LOST,
    RunRow,
)
from projected_control.apps.sweeps.sensitivity import SENSITIVITY, Sensitivity
from projected_control.apps.sweeps.study import SEARCHES, StudyFile
from projected_control.apps.sweeps.sweep_case import SweepCase
from projected_control.errors import InvalidValue, UnknownName

NOMINAL = "nominal"  # part of a study: the run in which nothing varies
BEYOND = 3.0  # what a run that fails counts for in the sensitivity, in bounds; others count no more

UNBOUNDED = ("force_error_rms", "tracking_rms")
"""Numbers whose sensitivity is looked at where the study has no bounds."""


class RobustnessStudy:
    """What is run, and how it is judged.

    Attributes:
        design: All runs.
        map: The map; None where only one number varies.
        sensitivity: None where none is asked for.
    """

    def __init__(self, study: StudyFile, case: SweepCase) -> None:
        own = study.settings
        if own.design.kind in SEARCHES:
            raise InvalidValue(
                f"robustness looks at all of what is uncertain: design.kind must be latin, random "
                f"or grid, got {own.design.kind}, which looks for the best"
            )
        self.study, self.case, self.bounds = study, case, Bounds(own.bounds)
        if not self.bounds.names:
            raise InvalidValue("nothing is bounded: give bounds (limits and stability are two)")
        wanted = own.robustness
        self.map: MapDesign | None = None
        if (which := map_axes(case, wanted.map)) is not None:
            self.map = MapDesign(case.axes, which, wanted.edge_runs, self.keeps)
        self.sensitivity: Sensitivity | None = None
        if wanted.sensitivity != "none":
            kind, count = wanted.sensitivity, wanted.trajectories
            self.sensitivity = Sensitivity(case.axes, kind, count, own.seed)
        designs: list[Design] = [ListedRuns(NOMINAL, (case.nominal,)), design_of(study, case)]
        designs += [self.map] if self.map is not None else []
        designs += [self.sensitivity.design] if self.sensitivity is not None else []
        self.design = Chain(designs)

    def keeps(self, row: RunRow) -> bool:
        """Whether a run keeps all bounds."""
        return not self.bounds.broken(row)


def map_axes(case: SweepCase, names: Sequence[str]) -> tuple[int, int] | None:
    """The two axes of the map; the first two unless named; None where there is one alone."""
    known = [axis.name for axis in case.axes]
    if not names:
        return (0, 1) if len(known) > 1 else None
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidValue(f"robustness.map names two of what varies, got {', '.join(names)}")
    for name in names:
        if name not in known:
            raise UnknownName("of robustness.map", name, known)
    return known.index(names[0]), known.index(names[1])


@dataclass(frozen=True)
class Robustness:
    """What the runs tell."""

    of: RobustnessStudy  # what was run
    rows: Sequence[RunRow]  # all of them
    # Of the sample, which part keeps each bound, and all of them (``all``).
    shares: Mapping[str, Share]
    reasons: Mapping[str, int]  # why runs of the sample broke their bounds, and how many
    edges: Sequence[Edge]  # of the map
    # By number of a run, then by axis.
    sensitivities: Mapping[str, Mapping[str, Mapping[str, float]]]
    worst: RunRow | None  # the worst run; None where none could be made

    def part(self, name: str) -> list[RunRow]:
        """The rows of a part of the study."""
        return [row for row in self.rows if row.part == name]

    @property
    def nominal(self) -> RunRow:
        """The run in which nothing varies."""
        return self.part(NOMINAL)[0]

    def numbers(self) -> dict[str, Any]:
        """For JSON."""
        bounds, names = self.of.bounds, [axis.name for axis in self.of.case.axes]

        def about(row: RunRow | None) -> dict[str, Any] | None:
            if row is None:
                return None
            return {
                "run": row.number,
                "part": row.part,
                "settings": dict(zip(names, row.values, strict=True)),
                "status": row.status,
                "reason": row.reason or bounds.reason(row),
                "broken": bounds.broken(row),
                "severity": bounds.severity(row),
                **row.numbers,
            }

        mapped = self.of.map
        return {
            "case": self.of.case.name,
            "bounds": {name: bounds.numbers.get(name, True) for name in bounds.names},
            "runs": len(self.rows),
            "shares": {name: share._asdict() for name, share in self.shares.items()},
            "reasons": dict(self.reasons),
            "nominal": about(self.nominal),
            "worst": about(self.worst),
            "map": None
            if mapped is None
            else {
                "axes": [self.of.case.axes[i].name for i in mapped.which],
                "first": mapped.first,
                "second": mapped.second,
                "reasons": [
                    [bounds.reason(row) for row in line] for line in mapped.grid(self.part(MAP))
                ],
                "edge": [
                    {
                        "kept": edge.kept,
                        "broken": edge.broken,
                        "reason": bounds.reason(edge.row),
                    }
                    for edge in self.edges
                ],
            },
            "sensitivity": {
                "kind": self.of.sensitivity.kind if self.of.sensitivity is not None else "none",
                **self.sensitivities,
            },
        }


def judge(of: RobustnessStudy, rows: Sequence[RunRow]) -> Robustness:
    """What the rows of a study tell."""
    bounds = of.bounds
    sample = [row for row in rows if row.part == SAMPLE]
    shares = {"all": share_of([not bounds.broken(row) for row in sample])}
    shares |= {name: share_of([bounds.keeps(row, name) for row in sample]) for name in bounds.names}
    reasons = Counter(reason for row in sample if (reason := bounds.reason(row)))
    mapped = [row for row in rows if row.part == MAP]
    return Robustness(
        of,
        rows,
        shares,
        dict(reasons.most_common()),
        of.map.edges(mapped) if of.map is not None else [],
        _sensitivities(of, [row for row in rows if row.part == SENSITIVITY]),
        worst_of(of, rows),
    )


def _sensitivities(
    of: RobustnessStudy, rows: Sequence[RunRow]
) -> dict[str, Mapping[str, Mapping[str, float]]]:
    if of.sensitivity is None:
        return {}
    wanted = {name: BEYOND * bound for name, bound in of.bounds.numbers.items()}
    if not wanted:
        for name in UNBOUNDED:
            good = [row.numbers[name] for row in rows if not row.failed]
            wanted[name] = max((value for value in good if isfinite(value)), default=1.0)
    return {name: of.sensitivity.of(rows, name, most) for name, most in wanted.items()}


def worst_of(of: RobustnessStudy, rows: Sequence[RunRow]) -> RunRow | None:
    """The run with the largest severity; of those that fail, the one nearest to the nominal."""
    made = [row for row in rows if row.status in (DONE, LOST, DIVERGED)]
    if not made:
        return None
    widths = np.array([max(axis.high - axis.low, 1e-300) for axis in of.case.axes])
    nominal = np.array(of.case.nominal)

    def rank(row: RunRow) -> tuple[float, float]:
        away = float(np.linalg.norm((np.array(row.values) - nominal) / widths))
        return of.bounds.severity(row), -away

    return max(made, key=rank)
