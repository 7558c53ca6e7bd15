"""What a sweep runs: a case, what varies in it and within which range, and its bounds.

A study file is YAML. Everything but what is varied has a name with unit and range, as the
parameters of nodes have::

    task: seven_joints                 # or files: [my_arm.yaml]
    seconds: 4.0
    set: {sensor.noise: 0.05}
    vary:
      simulation.mass_factor: {from: 0.8, to: 1.3}
      simulated_arm/payload.mass: [0.0, 1.0]
      constraint_error.about_y: [-0.1, 0.1]
    design: {kind: latin, runs: 1000}
    bounds: {force_error_rms: 1.0, tracking_rms: 0.002}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from projected_control import extras
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.settings.declaration import (
    Group,
    Numbers,
    Settings,
    Words,
    group,
    nearest,
    parameter,
)
from projected_control.settings.files import Entry, read_entries

GRID, LATIN, RANDOM = "grid", "latin", "random"
SEARCHES = ("tpe", "cmaes", "gp", "nsga2")  # Optuna's samplers that a design may name

PRUNERS = ("none", "median", "halving", "hyperband")
SENSITIVITIES = ("none", "morris", "sobol")

_VARY, _SET = "vary.", "set."

# fmt: off


@dataclass(frozen=True)
class Varied(Settings):
    """A number that is not the same in every run."""

    low: float = parameter(0.0, "Its least value", name="from")
    high: float = parameter(0.0, "Its largest value", name="to")
    listed: Numbers = parameter((), "All that it may be, instead of from and to", name="values")
    nominal: Numbers = parameter((), "What it is where something else is looked at; empty for what the files say")
    log: bool = parameter(False, "Whether it is spread over the logarithm")
    times: bool = parameter(False, "Whether these are factors of what the files say")
    steps: int = parameter(11, "How many values a grid or a map has of it", minimum=2, maximum=10_000)


@dataclass(frozen=True)
class DesignSettings(Group):
    """Which runs are made."""

    kind: str = parameter(LATIN, "A grid; a Latin hypercube; independent draws; or one of Optuna's samplers, which look for the least of minimise", choices=(GRID, LATIN, RANDOM, *SEARCHES))
    runs: int = parameter(100, "How many; of a grid the steps of what varies say it", minimum=1, maximum=10_000_000)
    batch: int = parameter(16, "Runs that a search asks for at a time. What it asks for depends on the batches before, and so not on the number of workers", minimum=1, maximum=10_000)
    minimise: str = parameter("force_error_rms", "Number of a run that a search makes small")
    pruner: str = parameter("none", "Which of Optuna's pruners ends hopeless runs of a search early", choices=PRUNERS)
    checks: int = parameter(8, "How often a run is looked at by the pruner", minimum=1, maximum=1000)


@dataclass(frozen=True)
class BoundSettings(Group):
    """What a run has to keep; zero for no bound."""

    force_error_rms: float = parameter(0.0, "RMS of the force error", "N or N·m", minimum=0.0)
    force_error_max: float = parameter(0.0, "Largest force error", "N or N·m", minimum=0.0)
    tracking_rms: float = parameter(0.0, "RMS of the error of what the task moves", "m or rad", minimum=0.0)
    lateral_drift: float = parameter(0.0, "Largest error of the coordinates that are lengths", "m", minimum=0.0)
    tilt_error: float = parameter(0.0, "Largest error of the tilts", "rad", minimum=0.0)
    residual_max: float = parameter(0.0, "Largest ‖Φ‖ of the simulated arm", "m", minimum=0.0)
    torque_peak_ratio: float = parameter(0.0, "Largest effort over its limit", minimum=0.0)
    limits: bool = parameter(True, "Whether no effort, rate, position or velocity may be limited after the arm has settled")
    stability: bool = parameter(True, "Whether the guard may not stop the arm, nor the run fail, nor its errors grow by error_growth")
    error_growth: float = parameter(10.0, "Errors of the last third over those of the second third, above which a run counts as unstable", minimum=1.0, maximum=1e6)


@dataclass(frozen=True)
class RobustnessSettings(Group):
    """What `robustness` looks at beyond the runs of the design."""

    map: Words = parameter((), "Two of what varies, over which the map is drawn; empty for the first two")
    edge_runs: int = parameter(5, "Halvings by which the edge of the map is found between two of its points; 0 for none", minimum=0, maximum=30)
    sensitivity: str = parameter("morris", "How the sensitivity is found, by SALib", choices=SENSITIVITIES)
    trajectories: int = parameter(10, "Trajectories of Morris, or base samples of Sobol (a power of two)", minimum=2, maximum=100_000)


@dataclass(frozen=True)
class StudySettings(Settings):
    """What a study file says, but for what is varied and what is set."""

    task: str = parameter("", "A task of the demonstration (demo --task)")
    files: Words = parameter((), "Parameter files, instead of a task; later ones win. A path beside the study file, or a name in the package's config folder")
    more: Words = parameter((), "Parameter files on top of a task", name="with")
    controller: str = parameter("", "Which controller node; empty for the one that the files have a section for")
    preset: str = parameter("paper", "Preset of gains and limits, a name or a path")
    seconds: float = parameter(4.0, "Simulated time of a run", "s", minimum=0.01, maximum=86400.0)
    seed: int = parameter(0, "From which everything random follows, with the number of a run", minimum=0, maximum=2**31 - 1)
    time_limit: float = parameter(120.0, "Time on the clock after which a run is ended", "s", minimum=0.1, maximum=86400.0)
    design: DesignSettings = group(DesignSettings)
    bounds: BoundSettings = group(BoundSettings)
    robustness: RobustnessSettings = group(RobustnessSettings)

    @classmethod
    def title(cls) -> str:
        return "a study"


# fmt: on


@dataclass(frozen=True)
class StudyFile:
    """A study file that was read."""

    path: Path  # where it is
    settings: StudySettings  # what it says under names of its own
    vary: Mapping[str, Varied]  # what varies, by name, in order
    set: Mapping[str, Any]  # parameters that are set on top of the files


def read_study(path: Path) -> StudyFile:
    """Read a study file; raises where it is none, with the line."""
    own: dict[str, Any] = {}
    given: dict[str, Any] = {}
    varied: dict[str, dict[str, Entry]] = {}
    fields = Varied.parameters()
    for name, entry in read_entries(path):
        if name.startswith(_SET):
            given[name.removeprefix(_SET)] = entry.value
        elif name.startswith(_VARY):
            full = name.removeprefix(_VARY)
            inner, _, last = full.rpartition(".")
            if last in fields:
                varied.setdefault(inner, {})[last] = entry
            elif isinstance(entry.value, list) and len(entry.value) == 2:
                ends = zip(("from", "to"), entry.value, strict=True)
                varied[full] = {end: Entry(value, entry.line) for end, value in ends}
            else:
                raise _wrong_range(path, full, last, entry, fields)
        else:
            own[name] = _checked(path, entry, lambda n=name, e=entry: _own(n, e))
    made = StudySettings.of(own)
    _require_case(path, made)
    vary = {name: _varied(path, name, parts) for name, parts in varied.items()}
    if not vary:
        raise InvalidValue(
            f"{path}: nothing varies; say under vary: what does, and from where to where"
        )
    return StudyFile(path, made, vary, given)


def _own(name: str, entry: Entry) -> Any:
    table = StudySettings.parameters()
    if name not in table:
        words = [*table, "vary", "set"]
        error = UnknownName("name in a study", name, words)
        near = nearest(name, words)
        error.args = (
            f"unknown name {name!r} in a study" + (f"; did you mean {near!r}?" if near else ""),
        )
        raise error
    return table[name].check(entry.value)


def _checked(path: Path, entry: Entry, check: Any) -> Any:
    try:
        return check()
    except ProjectedControlError as error:
        raise InvalidValue(f"{path}, line {entry.line}: {error}") from None


def _wrong_range(
    path: Path, full: str, last: str, entry: Entry, fields: Mapping[str, Any]
) -> InvalidValue:
    near = nearest(last, fields)
    hint = f"did you mean {near!r}? " if near else ""
    return InvalidValue(
        f"{path}, line {entry.line}: {full} varies over [{entry.value!r}]: {hint}expected two "
        f"numbers, or {', '.join(fields)}"
    )


def _varied(path: Path, name: str, parts: Mapping[str, Entry]) -> Varied:
    first = next(iter(parts.values()))

    def make() -> Varied:
        made = Varied.of({key: entry.value for key, entry in parts.items()})
        if made.listed:
            if "from" in parts or "to" in parts:
                raise InvalidValue(f"{name}: give values, or from and to, not both")
        elif not made.low < made.high:
            raise InvalidValue(f"{name}: from ({made.low:g}) must be less than to ({made.high:g})")
        if made.log and (min(made.listed, default=made.low) <= 0.0):
            raise InvalidValue(f"{name}: over its logarithm, it must be positive everywhere")
        if len(made.nominal) > 1:
            raise InvalidValue(f"{name}: nominal is one number, got {len(made.nominal)}")
        return made

    made: Varied = _checked(path, first, make)
    return made


def _require_case(path: Path, made: StudySettings) -> None:
    if bool(made.task) == bool(made.files):
        raise InvalidValue(
            f"{path}: give either task (one of demo --task) or files (parameter files)"
        )


def require_tools(command: str, study: StudyFile, scheduler: str) -> None:
    """Refuse where a package is missing that the study needs, with what to install."""
    for module in ("matplotlib", "pyarrow"):
        extras.require(module, command)
    if study.settings.design.kind in SEARCHES:
        extras.require("optuna", f"{command} with design.kind {study.settings.design.kind}")
    if scheduler:
        extras.require("distributed", f"{command} --scheduler")
