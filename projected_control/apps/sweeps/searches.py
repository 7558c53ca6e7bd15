"""Searches by Optuna's samplers, in batches, and its pruners, which end hopeless runs early.

A batch depends on the rows of the batches before it, told in the order of their numbers, and a
pruner compares a run with the runs of these batches only. So a search is the same for any number
of workers; the price is that a batch waits for its slowest run.
"""

from __future__ import annotations

import math
import pickle
import warnings
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from projected_control.apps.sweeps import study
from projected_control.apps.sweeps.designs import SAMPLE
from projected_control.apps.sweeps.one_run import PRUNED, Prune, RunPoint, RunRow
from projected_control.apps.sweeps.sweep_case import NUMBERS, SweepCase
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.errors import InvalidValue, UnknownName


class Told(NamedTuple):
    """A run of a batch before, as a pruner sees it."""

    values: tuple[float, ...]
    value: float
    checks: tuple[float, ...]
    pruned: bool


class Search:
    """Looks for the least value of a number."""

    def __init__(self, case: SweepCase, own: study.DesignSettings, seed: int) -> None:
        if own.minimise not in NUMBERS:
            raise UnknownName("number to minimise (design.minimise)", own.minimise, NUMBERS)
        self.case, self.own, self.seed = case, own, seed
        self._told: list[Told] = []
        self._asked: list[list[tuple[float, ...]]] = []
        self._searched: Any = None
        self._open: list[Any] = []

    def next(self, done: Sequence[RunRow], first: int) -> list[RunPoint]:
        if len(done) >= self.own.runs:
            return []
        self._told = [_told(row, self.own.minimise) for row in done]
        round_ = len(done) // self.own.batch
        while len(self._asked) <= round_:
            begin = len(self._asked) * self.own.batch
            self._asked.append(self._ask(self._told[max(begin - self.own.batch, 0) : begin]))
        points = self._asked[round_]
        return [RunPoint(first + i, SAMPLE, values) for i, values in enumerate(points)]

    def _ask(self, told: Sequence[Told]) -> list[tuple[float, ...]]:
        """The next batch, after the one before has ended like this."""
        optuna = _optuna()
        if self._searched is None:
            sampler = _sampler(optuna, self.own.kind, self.seed)
            self._searched = optuna.create_study(sampler=sampler)
        for trial, each in zip(self._open, told, strict=True):
            for step, value in enumerate(each.checks):
                trial.report(value, step + 1)
            if each.pruned:
                self._searched.tell(trial, state=optuna.trial.TrialState.PRUNED)
            else:
                self._searched.tell(trial, each.value)
        space = {axis.name: distribution(optuna, axis) for axis in self.case.axes}
        left = self.own.runs - len(self._asked) * self.own.batch
        self._open = [self._searched.ask(space) for _ in range(min(self.own.batch, left))]
        return [tuple(float(trial.params[name]) for name in space) for trial in self._open]

    def expected(self) -> int:
        return self.own.runs

    def pruner(self) -> bytes:
        if self.own.pruner == "none":
            return b""
        packed = (self.own.pruner, self.own.checks, self.own.minimise, self._told)
        return zlib.compress(pickle.dumps(packed, protocol=4))


def unpack_pruner(packed: bytes, case: SweepCase) -> tuple[Prune, int, str]:
    """What decides for a run: whether it is given up; how often it is asked; by which number."""
    kind, checks, number, told = pickle.loads(zlib.decompress(packed))
    optuna = _optuna()
    searched = optuna.create_study(pruner=_pruner(optuna, kind, checks))
    space = {axis.name: distribution(optuna, axis) for axis in case.axes}
    for each in told:
        searched.add_trial(_trial(optuna, space, each))
    trial = searched.ask(space)  # a pruner looks at what a run reports, not at where it is

    def decide(step: int, value: float) -> bool:
        trial.report(value, step)
        return bool(trial.should_prune())

    return decide, checks, number


def distribution(optuna: Any, axis: Axis) -> Any:
    """An axis as Optuna has it."""
    kinds = optuna.distributions
    if axis.values:
        return kinds.CategoricalDistribution(list(axis.values))
    if axis.whole:
        return kinds.IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return kinds.FloatDistribution(axis.low, axis.high, log=axis.log)


def _told(row: RunRow, number: str) -> Told:
    """A failed run is worse than every other one."""
    value = row.numbers.get(number, math.inf)
    bad = row.failed or not math.isfinite(value)
    return Told(row.values, math.inf if bad else value, row.checks, row.status == PRUNED)


def _trial(optuna: Any, space: dict[str, Any], told: Told) -> Any:
    state = optuna.trial.TrialState.PRUNED if told.pruned else optuna.trial.TrialState.COMPLETE
    params = {
        name: int(value) if isinstance(kind, optuna.distributions.IntDistribution) else value
        for (name, kind), value in zip(space.items(), told.values, strict=True)
    }
    return optuna.trial.create_trial(
        state=state,
        value=told.value,
        params=params,
        distributions=space,
        intermediate_values={step + 1: value for step, value in enumerate(told.checks)},
    )


def _optuna() -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


def _sampler(optuna: Any, kind: str, seed: int) -> Any:
    samplers = optuna.samplers
    try:
        return {
            "tpe": lambda: samplers.TPESampler(seed=seed, constant_liar=True),
            "cmaes": lambda: samplers.CmaEsSampler(seed=seed),
            "gp": lambda: samplers.GPSampler(seed=seed),
            "nsga2": lambda: samplers.NSGAIISampler(seed=seed),
        }[kind]()
    except ImportError as error:
        raise InvalidValue(
            f"design.kind {kind} needs more than Optuna itself: {error}; install it, or take tpe"
        ) from None


def _pruner(optuna: Any, kind: str, checks: int) -> Any:
    pruners = optuna.pruners
    return {
        "median": lambda: pruners.MedianPruner(n_startup_trials=8, n_min_trials=4),
        "halving": lambda: pruners.SuccessiveHalvingPruner(),
        "hyperband": lambda: pruners.HyperbandPruner(max_resource=checks),
    }[kind]()
