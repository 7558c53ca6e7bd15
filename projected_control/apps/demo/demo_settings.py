"""What a demonstration runs: which controller, on which arm, with which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.demo.task_run import TaskRun, run_task
from projected_control.errors import UnknownName
from projected_control.resources import share_file
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording_head import About
from projected_control.settings import build
from projected_control.settings.files import parameter_text
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import (
    ARM,
    LEGGED,
    TASKS,
    WATCHDOG,
    ControllerSettings,
    DemoCase,
    NodeSettings,
    SimulatedArmSettings,
    WatchdogSettings,
    demo_cases,
)
from projected_control.settings.recorded import files_of
from projected_control.settings.reference_kinds import REFERENCES

PATIENT = 5.0
"""Silence of the watchdog in lockstep that the controller bears: it falls silent where it gets no
processor time, and the arm waits for every answer [simulated s]."""


@dataclass(frozen=True)
class DemoSettings:
    """Complete settings of all three nodes."""

    case: DemoCase  # what is shown
    seconds: float  # how long
    # controller, arm, watchdog: settings of the three nodes.
    controller: ControllerSettings
    arm: SimulatedArmSettings
    watchdog: WatchdogSettings

    @property
    def paced(self) -> bool:
        """Whether time is held back to a pace: real time, where the computer keeps up."""
        return self.arm.simulation.factor > 0.0

    @property
    def ticks(self) -> int:
        """How many the whole run takes."""
        return round(self.seconds * self.controller.rate)

    @property
    def is_task(self) -> bool:
        """Whether the arm goes along a path, and is judged by what it does there."""
        return REFERENCES[self.controller.reference.kind].strokes is not None

    @property
    def units(self) -> dict[str, str]:
        """Of the coordinates, by name."""
        return build.coordinate_units(self.controller)

    @property
    def unrecorded(self) -> DemoSettings:
        """The same, of which nothing is recorded."""
        return replace(self, controller=self.controller.changed({"recording.file": ""}))

    def parameter_file(self) -> str:
        """One ROS parameter file for all three nodes, in which the controller has a watchdog."""
        watched: dict[str, Any] = {"watchdog": WATCHDOG}
        if self.controller.lockstep:
            watched["limits.watchdog_time"] = PATIENT
        controller = self.controller.changed(watched)
        nodes: dict[str, NodeSettings] = {
            self.case.node: controller,
            ARM: self.arm,
            WATCHDOG: self.watchdog,
        }
        return parameter_text({f"/{name}": each.values() for name, each in nodes.items()})


def settings_for(
    choice: str,
    seconds: float,
    preset: str,
    lockstep: bool,
    overrides: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    arm_file: Path | str | None = None,
    paced: bool = False,
) -> DemoSettings:
    """Settings of a demonstration: the preset, the arm's file, then what is overridden.

    More files come between, first the one with the parts of a real arm where the case has them, and
    may say different things to the controller and to the arm. Another arm's file may take the place
    of the case's own.

    In lockstep time passes as fast as it goes, or at the pace of ``simulation.factor`` where it is
    paced: then in real time if the computer keeps up.

    On a sine the arm starts moving, so that the run has no approach; a path begins with one, from
    where the arm's file puts it.
    """
    cases = {**TASKS, **LEGGED, **demo_cases()}
    if choice not in cases:
        raise UnknownName("controller or task", choice, cases)
    case = cases[choice]
    if case.parts:
        files = [share_file("config", f"{case.parts}.yaml"), *files]
    own_file = arm_file or share_file("config", f"{case.arm}.yaml")
    pace = {"simulation.factor": 0.0} if lockstep and not paced else {}
    layers = Layers.read([own_file], preset)
    layers = layers.on_top({**pace, "lockstep": lockstep, **case.own}, f"the case {case.name}")
    layers = layers.with_files(files).on_top(overrides, "command line")
    start: dict[str, Any] = {}
    if layers.values(case.node).get("reference.kind") == "sine":
        layers = layers.on_top({"reference.approach": False}, "on a sine from the start")
        start = _on_the_sine(layers.controller(case.node))
    start |= {
        "simulation.duration": seconds if lockstep else 0.0,
        "simulation.wait_for_command": True,
    }
    arm = layers.on_top(start, "the demonstration").arm()
    watchdog: dict[str, Any] = {"joints": arm.joints, "controller": case.node}
    everybody = layers.values(WATCHDOG)
    watchdog |= {name: v for name, v in everybody.items() if name.startswith("realtime.")}
    controller = layers.controller(case.node)
    return DemoSettings(case, seconds, controller, arm, WatchdogSettings.of(watchdog))


def _on_the_sine(controller: ControllerSettings) -> dict[str, Any]:
    """Where an arm that follows a sine from the first tick on starts, and how fast."""
    start = build.build_sines(controller, len(controller.coordinates)).at(0.0)
    return {
        "simulation.coordinates": controller.coordinates,
        "simulation.values": start.value.tolist(),
        "simulation.rates": start.rate.tolist(),
    }


def run_in_process(settings: DemoSettings, progress: Progress = silent) -> dict[str, Any]:
    """The same run without ROS, in lockstep: what the numbers ought to be."""
    return in_process(settings, progress)[1]


def in_process(settings: DemoSettings, progress: Progress) -> tuple[TaskRun, dict[str, Any]]:
    """The run without ROS, and what it counted."""
    node, controller, arm = settings.case.node, settings.controller, settings.arm
    done = run_task(
        node, controller, arm, settings.ticks, record=recorder(settings), progress=progress
    )
    return done, {**done.statistics.totals.summary(), **judge_arm(settings, done.arm.summary())}


def numbers_in_process(settings: DemoSettings, choice: str, progress: Progress) -> dict[str, Any]:
    """The numbers of a run without ROS: those of a task, and what every run counts."""
    done, summary = in_process(settings, progress)
    return {**(done.numbers(choice) if settings.is_task else {}), "in_process": summary}


def judge_arm(settings: DemoSettings, seen: Mapping[str, Any]) -> dict[str, Any]:
    """Largest ‖Φ‖ of the simulated arm, and largest effort that reached a joint without a motor.

    Args:
        settings: Of the demonstration.
        seen: What the arm says of itself, see `SimulatedArm.summary`.
    """
    passive = build.build_arm(settings.controller).passive
    reached = [peak for name, peak in seen["effort_peaks"].items() if name in passive]
    judged = {
        "residual_max": seen["residual_max"],
        "passive_effort_peak": max(reached, default=0.0),
    }
    return judged | {k: seen[k] for k in ("real_time_factor",) if k in seen}


def recorder(settings: DemoSettings) -> Recorder | None:
    """What records a run in process; None where recording.file is empty."""
    group = settings.controller.recording
    if not group.file:
        return None
    values = settings.controller.values()
    about = About(
        settings.case.node,
        settings.case.node,
        values,
        simulated=settings.arm.values(),
        files=files_of(values),
    )
    rate = settings.controller.state_rate or 100.0
    return Recorder(group.file, about, state_rate=rate, megabytes=group.megabytes)
