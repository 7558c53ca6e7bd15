"""Recordings of yesterday, which replay with difference 0 whatever has been added since.

``python test/golden_recordings.py NAME`` makes one anew: only where the law itself is meant to have
changed. It says first by how much the answers to the old one are others.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from projected_control import Runner
from projected_control.apps.demo.demo_settings import DemoSettings, recorder, settings_for
from projected_control.apps.recordings.playback import what_if
from projected_control.resources import share_file
from projected_control.ros.live_changes import prepare_change
from projected_control.runs.recording import read_recording
from projected_control.settings import build

FOLDER = Path(__file__).parent / "golden"
BETWEEN = 40  # ticks from one change to the next


class Run(NamedTuple):
    """What is recorded: a demonstration, and parameters that change in its course."""

    choice: str
    own: dict[str, Any]
    changes: tuple[dict[str, Any], ...] = ()
    arm: str = ""


RUNS: dict[str, Run] = {
    "hybrid": Run(
        "force",
        {"compensation.coulomb": [0.2], "payload.link": "link_3"},
        (
            {"gains.stiffness": [300.0], "gains.damping": [40.0], "gains.blend_time": 0.02},
            {"payload.mass": 0.2, "force.reference": [3.0]},
            {"limits.effort": [8.0], "compensation.coulomb": [0.1], "force.integral": 5.0},
        ),
    ),
    "crank": Run("passive", {}, ({"gains.stiffness": [200.0]}, {"reference.amplitude": [0.4]})),
    "seven_joints": Run(
        "force",
        {"disturbance.kind": "observer", "reference.kind": "hold"},
        ({"disturbance.effort_limit": 2.0}, {"force.reference": [6.0]}),
        "seven_joints",
    ),
}
"""By the name of the file."""


def file_of(name: str) -> Path:
    return FOLDER / f"recording_{name}.mcap"


def make(name: str, path: Path) -> None:
    """Record a run."""
    run = RUNS[name]
    arm = share_file("config", f"{run.arm}.yaml") if run.arm else None
    values = {**run.own, "friction.coulomb": [0.3], "recording.file": str(path)}
    settings = settings_for(run.choice, 1.0, "paper", True, values, arm_file=arm)
    record(settings, run.changes)


def record(settings: DemoSettings, changes: tuple[dict[str, Any], ...]) -> None:
    hardware = build.build_plant(settings.arm)
    loop = build.build_loop(settings.case.node, settings.controller)
    loop.warm_up()
    state = hardware.read()
    loop.controller.hold(state.q, state.v)
    here = build.starting_point(settings.controller, loop.controller.model)
    loop.set_reference(build.first_reference(settings.controller, loop, here, state.q.copy()))
    runner, keeps = Runner(loop, hardware), recorder(settings)
    assert keeps is not None
    runner.record(keeps)
    runner.open()
    now = settings.controller
    try:
        for change in ({}, *changes):
            now = now.changed(change)
            if change:
                put = prepare_change(loop, now, list(change), running=True)
                put(loop, runner.time)
                keeps.changed(change)
            for _ in range(BETWEEN):
                runner.step()
    finally:
        keeps.close()


def difference(path: Path) -> float:
    """The largest difference of any effort to the recorded one."""
    return what_if(read_recording(path), {})[1]


def main(names: list[str]) -> None:
    for name in names or RUNS:
        path = file_of(name)
        if path.is_file():
            print(f"{name}: the answers differ by {difference(path):.3g} N·m", flush=True)
            path.unlink()
        make(name, path)


if __name__ == "__main__":
    main(sys.argv[1:])
