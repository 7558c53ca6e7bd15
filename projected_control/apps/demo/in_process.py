"""A demonstration without ROS: its numbers, and what its nodes are compared with."""

from __future__ import annotations

from typing import Any

from projected_control.apps.demo.case import DemoSettings, judge_arm, recorder, run_in_process
from projected_control.apps.demo.task_run import TaskRun, run_task
from projected_control.apps.experiments.progress import Progress


def numbers_in_process(settings: DemoSettings, choice: str, progress: Progress) -> dict[str, Any]:
    """The numbers of a run without ROS: those of a task, and what every run counts."""
    done, summary = in_process(settings, progress)
    return {**(done.numbers(choice) if done is not None else {}), "in_process": summary}


def in_process(settings: DemoSettings, progress: Progress) -> tuple[TaskRun | None, dict[str, Any]]:
    """The run without ROS, of a task with all that it is judged by; and what it counted."""
    if not settings.is_task:
        return None, run_in_process(settings, progress)
    node, controller, arm = settings.case.node, settings.controller, settings.arm
    done = run_task(
        node, controller, arm, settings.ticks, record=recorder(settings), progress=progress
    )
    return done, {**done.statistics.totals.summary(), **judge_arm(settings, done.arm.summary())}
