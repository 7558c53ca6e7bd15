"""A case as workers get it: complete settings, and how a point of a design changes them.

It is plain data that needs no file: the description and all files that parameters name are in it,
so that a worker on another computer has all of it.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pinocchio

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.sweeps.study import StudyFile, Varied
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.native.engine import refuse_python_parts
from projected_control.native.simulation import refuse_hardware
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.declaration import Parameter, nearest
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import (
    ARM,
    TASKS,
    ControllerSettings,
    SimulatedArmSettings,
    checked_controller,
    demo_cases,
    settings_class,
)
from projected_control.settings.recorded import files_of, with_contents

ERROR = "constraint_error"
"""Of the simulated arm's constraint alone: where it is not where the controller believes it."""

TURNS, SHIFTS = ("about_x", "about_y", "about_z"), ("x", "y", "z")

_NAME = re.compile(r"(?:([a-z_]+)/)?([A-Za-z0-9_.]+)(?:\[(\d+)\])?")


NUMBERS = (
    *("force_wanted", "force_error_rms", "force_error_max", "tracking_rms", "lateral_drift"),
    *("tilt_error", "residual_max", "torque_peak_ratio", "error_growth"),
    *("ended", "stopped", "first_stop", "limited"),
)
"""Numbers of a row. SI units; NaN where a run has none. Errors count after the first second, or the
second half of a shorter run. ``error_growth`` is the RMS of errors, the last third over the second
third (or over what is small, where that was less), of force or tracking, whichever grows more;
``ended`` the time that was reached [s]; ``stopped`` and ``limited`` are ticks in which the guard
sent something else, or limited something after the arm had settled; ``first_stop`` is when it first
sent something else [s]."""


class StudyTarget(NamedTuple):
    """What a name of a study changes."""

    nodes: tuple[str, ...]  # whose settings: the controller's, the simulated arm's, or both
    parameter: str  # full name; of an error of the constraint, what it is called after it
    element: int | None = None  # which number of a list; None for all of it
    constraint: str = ""  # the group of the constraint that has an error; empty where none has


class RunCase(Protocol):
    """What rows are of, for those who have them made and keep them."""

    @property
    def packed(self) -> bytes: ...
    @property
    def digest(self) -> str: ...
    @property
    def axes(self) -> tuple[Axis, ...]: ...
    @property
    def numbers(self) -> tuple[str, ...]: ...
    @property
    def about(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class SweepCase:
    """All that a run needs beside its number."""

    node: str  # kind of the controller
    # controller, arm: all parameters, by name.
    controller: Mapping[str, Any]
    arm: Mapping[str, Any]
    description: str  # the expanded description
    files: Mapping[str, Mapping[str, bytes]]  # contents of files, by node and parameter
    axes: tuple[Axis, ...]  # what varies
    targets: tuple[StudyTarget, ...]  # what each of these changes
    factors: tuple[bool, ...]  # whether each is a factor of what the settings say
    seconds: float  # simulated time [s]
    seed: int  # from which everything random follows
    time_limit: float  # time on the clock for a run [s]
    name: str = field(default="")

    @cached_property
    def packed(self) -> bytes:
        """For another process, small."""
        return zlib.compress(pickle.dumps(self, protocol=4))

    @cached_property
    def digest(self) -> str:
        """Of all that the numbers of its runs depend on."""
        content = {
            "node": self.node,
            "controller": dict(self.controller),
            "arm": dict(self.arm),
            "description": self.description,
            "files": {
                node: {name: hashlib.sha256(data).hexdigest() for name, data in each.items()}
                for node, each in self.files.items()
            },
            "targets": [list(target) for target in self.targets],
            "factors": list(self.factors),
            "names": [axis.name for axis in self.axes],
            "seconds": self.seconds,
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def numbers(self) -> tuple[str, ...]:
        """Numbers that its rows have."""
        return NUMBERS

    @property
    def about(self) -> Mapping[str, str]:
        """What does not vary, for the table."""
        return {
            "node": self.node,
            "controller": json.dumps(dict(self.controller)),
            "simulated_arm": json.dumps(dict(self.arm)),
            "description": self.description,
            "seed": str(self.seed),
            "seconds": repr(self.seconds),
        }

    @property
    def nominal(self) -> tuple[float, ...]:
        """The point where nothing varies."""
        return tuple(axis.nominal for axis in self.axes)

    def base(self) -> tuple[ControllerSettings, SimulatedArmSettings]:
        """The settings where nothing varies."""
        controller = with_contents(self.controller, self.description, self.files[self.node])
        arm = with_contents(self.arm, self.description, self.files[ARM])
        return checked_controller(self.node, controller), SimulatedArmSettings.of(arm)

    def changes(self, point: Sequence[float]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a point changes: parameters of the controller, and of the simulated arm."""
        changed: dict[str, dict[str, Any]] = {self.node: {}, ARM: {}}
        values = {self.node: self.controller, ARM: self.arm}
        for value, axis, target, factor in zip(
            point, self.axes, self.targets, self.factors, strict=True
        ):
            for node in target.nodes:
                own = {**values[node], **changed[node]}
                if target.constraint:
                    changed[node] |= _moved(own, target, value)
                else:
                    changed[node][target.parameter] = _changed(
                        own[target.parameter], target.element, value, factor, axis.whole
                    )
        return changed[self.node], changed[ARM]


def unpack(packed: bytes) -> SweepCase:
    """The case that `SweepCase.packed` is of."""
    case = pickle.loads(zlib.decompress(packed))
    assert isinstance(case, SweepCase)
    return case


def make_case(study: StudyFile) -> SweepCase:
    """The case of a study, with every name and both ends of every range checked.

    Raises:
        InvalidValue: Where a name is unknown, a range reaches beyond what a parameter may be, or
            the case cannot be built.
    """
    own = study.settings
    node, controller, arm = _settings(study)
    arms = {node: controller.values(), ARM: arm.values()}
    targets = {name: find_target(name, node, arms) for name in study.vary}
    axes = [_axis(name, varied, targets[name], arms) for name, varied in study.vary.items()]
    case = SweepCase(
        node,
        arms[node],
        arms[ARM],
        build.build_arm(controller).urdf,
        {each: files_of(values) for each, values in arms.items()},
        tuple(axes),
        tuple(targets.values()),
        tuple(varied.times for varied in study.vary.values()),
        own.seconds,
        own.seed,
        own.time_limit,
        own.task or Path(own.files[0]).stem,
    )
    _require_ends(case, study.path)
    _require_native(case, study.path)
    return case


def _settings(study: StudyFile) -> tuple[str, ControllerSettings, SimulatedArmSettings]:
    own, beside = study.settings, study.path.parent
    plain = {name: value for name, value in study.set.items() if "/" not in name}
    if own.task:
        choice, first, more = own.task, None, [_file(name, beside) for name in own.more]
        if choice not in TASKS:
            near = nearest(choice, TASKS)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(TASKS)}"
            raise InvalidValue(f"{study.path}: unknown task {choice!r}; {hint}")
        node = TASKS[choice].node
    else:
        paths = [_file(name, beside) for name in (*own.files, *own.more)]
        first, more = paths[0], paths[1:]
        _, node = Layers.read(paths).of_controller(own.controller or None)
        choice = next((name for name, case in demo_cases().items() if case.node == node), "")
        if not choice:
            raise InvalidValue(f"{study.path}: controller {node!r} is no kind of controller")
    made = settings_for(choice, own.seconds, own.preset, True, plain, more, first)
    values = {node: made.controller.values(), ARM: made.arm.values()}
    controller, arm = made.controller, made.arm
    for name, value in study.set.items():
        target = find_target(name, node, values)
        if target.constraint or target.element is not None:
            raise InvalidValue(f"{study.path}: set takes whole parameters, got {name}")
        if node in target.nodes:
            controller = controller.changed({target.parameter: value})
        if ARM in target.nodes:
            arm = arm.changed({target.parameter: value})
    return node, controller, arm


def _file(name: str, beside: Path) -> Path:
    """A file beside the study, or where the command runs, or one of the package's own."""
    for path in (beside / name, Path(name)):
        if path.is_file():
            return path
    try:
        return share_file("config", name)
    except ProjectedControlError:
        raise InvalidValue(f"there is no file {name}, neither beside the study nor here") from None


def find_target(name: str, node: str, values: Mapping[str, Mapping[str, Any]]) -> StudyTarget:
    """What a name of a study means; raises where nothing has it.

    Args:
        name: ``gains.stiffness``, ``gains.stiffness[0]``, ``simulated_arm/payload.mass`` or
            ``constraint_error.about_x``.
        node: Kind of the controller.
        values: Parameters of the controller and of the simulated arm.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise InvalidValue(f"{name!r} names no parameter: write group.name, name[0] or node/name")
    asked, parameter, element = match.group(1), match.group(2), match.group(3)
    if parameter.startswith((f"{ERROR}.", f"{ERROR}[")):
        return _error_target(parameter, values[ARM])
    nodes = (asked,) if asked else (node, ARM)
    if asked and asked not in values:
        raise InvalidValue(f"{name}: there is no {asked} in this case, only {node} and {ARM}")
    found = tuple(each for each in nodes if parameter in values[each])
    if not found:
        near = nearest(parameter, [known for each in nodes for known in values[each]])
        hint = f"; did you mean {near!r}?" if near else ""
        raise InvalidValue(f"unknown parameter {parameter!r} of {' and '.join(nodes)}{hint}")
    return StudyTarget(found, parameter, None if element is None else int(element))


def _error_target(name: str, arm: Mapping[str, Any]) -> StudyTarget:
    words = name.split(".")[1:]
    known = [*TURNS, *SHIFTS]
    if not words or words[-1] not in known or len(words) > 2:
        raise InvalidValue(
            f"unknown error of the constraint {name!r}; there are {', '.join(known)}, each as "
            f"{ERROR}.about_x, or {ERROR}.NAME.about_x where constraints have names"
        )
    group = "constraint" if len(words) == 1 else f"constraints.{words[0]}"
    need = "direction" if words[-1] in TURNS else "point"
    if not arm.get(f"{group}.{need}"):
        raise InvalidValue(f"{name}: {group}.{need} is not given, so that it cannot be wrong")
    return StudyTarget((ARM,), words[-1], None, group)


def _moved(values: Mapping[str, Any], target: StudyTarget, value: float) -> dict[str, Any]:
    """The constraint of a simulated arm, turned about its point, or shifted."""
    group = target.constraint
    if target.parameter in SHIFTS:
        point = [float(x) for x in values[f"{group}.point"]]
        point[SHIFTS.index(target.parameter)] += value
        return {f"{group}.point": point}
    turn = pinocchio.exp3(value * np.eye(3)[TURNS.index(target.parameter)])
    names = [f"{group}.{each}" for each in ("direction", "plane_normal")]
    return {
        name: [float(x) for x in turn @ np.asarray(values[name], dtype=np.float64)]
        for name in names
        if values.get(name)
    }


def _changed(old: Any, element: int | None, value: float, factor: bool, whole: bool) -> Any:
    """A parameter with a new value: a number, a list of it, or one number of a list."""

    def new(before: float) -> float | int:
        number = before * value if factor else value
        return round(number) if whole else float(number)

    if not isinstance(old, list):
        return new(old)
    if element is not None:
        return [new(x) if i == element else x for i, x in enumerate(old)]
    return [new(x) for x in old] if factor else [new(0.0)]


def _axis(
    name: str, varied: Varied, target: StudyTarget, values: Mapping[str, Mapping[str, Any]]
) -> Axis:
    known = _parameter(target, values)
    whole = known is not None and known.type is int
    if known is not None and (known.type not in (int, float)):
        raise InvalidValue(f"{name} is no number, and cannot be varied; use set, or another study")
    nominal = _nominal(name, varied, target, values)
    ends = varied.listed or (varied.low, varied.high)
    unit = "" if varied.times else (known.unit if known is not None else _error_unit(target))
    return Axis(
        name,
        min(ends),
        max(ends),
        tuple(varied.listed),
        varied.log,
        whole and not varied.times,
        varied.steps,
        float(nominal),
        unit,
    )


def _error_unit(target: StudyTarget) -> str:
    return "rad" if target.parameter in TURNS else "m"


def _parameter(target: StudyTarget, values: Mapping[str, Mapping[str, Any]]) -> Parameter | None:
    if target.constraint:
        return None
    node = target.nodes[0]
    return settings_class(node).parameters_with(values[node])[target.parameter]


def _nominal(
    name: str, varied: Varied, target: StudyTarget, values: Mapping[str, Mapping[str, Any]]
) -> float:
    """What it is where nothing varies; raises where the files say nothing that could be."""
    if target.constraint:
        return varied.nominal[0] if varied.nominal else 0.0
    said, element = values[target.nodes[0]][target.parameter], target.element
    numbers = said if isinstance(said, list) else [said]
    if element is not None:
        if not isinstance(said, list):
            raise InvalidValue(f"{name}: {target.parameter} is one number; leave out [{element}]")
        if element >= len(said):
            raise InvalidValue(f"{name}: {target.parameter} has {len(said)} numbers")
        numbers = [said[element]]
    if varied.times and not any(numbers):
        raise InvalidValue(
            f"{name}: the files say {said or 'nothing'}, which no factor changes; give numbers "
            "without times, or set it to something first"
        )
    if varied.nominal:
        return varied.nominal[0]
    if varied.times:
        return 1.0
    if len(set(numbers)) != 1:
        raise InvalidValue(
            f"{name}: the files say {said or 'nothing'}; say what it is nominally (nominal:), "
            "vary one of its numbers (name[0]), or factors of them (times: true)"
        )
    return float(numbers[0])


def _require_ends(case: SweepCase, path: Path) -> None:
    """Raise where an end of a range is nothing that its parameter may be."""
    controller, arm = case.base()
    for i, axis in enumerate(case.axes):
        for end in (axis.low, axis.high):
            point = list(case.nominal)
            point[i] = end
            ours, theirs = case.changes(point)
            try:
                controller.changed(ours)
                arm.changed(theirs)
            except ProjectedControlError as error:
                raise InvalidValue(f"{path}: {axis.name} at {end:g}: {error}") from None


def _require_native(case: SweepCase, path: Path) -> None:
    """Raise where C++ cannot make its runs, whatever varies."""
    controller, arm = case.base()
    try:
        loop = build.build_loop(case.node, controller)
    except ProjectedControlError:
        return  # these settings do not go together; runs vary them, and each row has its reason
    try:
        refuse_python_parts(loop)
        refuse_hardware(build.build_plant(arm))
    except InvalidValue as error:
        raise InvalidValue(f"{path}: {error}") from None
