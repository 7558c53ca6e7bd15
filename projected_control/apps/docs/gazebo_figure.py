"""The figure of docs/gazebo.md: a run in Gazebo beside the same run in our own simulation.

ros2 launch projected_control gazebo.launch.py controller:=motion friction:=true seconds:=8 \
    summary:=numbers.json
python -m projected_control.apps.docs.gazebo_figure motion numbers.json docs/images/gazebo.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.demo.task_run import ready_task
from projected_control.apps.launch import choices
from projected_control.apps.reports.style import BLUE, VERMILION, canvas, legend_above, render
from projected_control.arrays import Array
from projected_control.settings.nodes import demo_cases


def own_course(choice: str, ticks: int) -> tuple[Array, Array, Array]:
    """Times, errors and λ of our own simulation, with friction."""
    case = demo_cases()[choice]
    given = {"controller": choice, "arm": "auto", "preset": "paper", "friction": "true"}
    chosen = choices.choose(given)
    layers = chosen.layers.on_top({**chosen.friction, **chosen.all_motors}, "figure")
    controller = layers.controller(case.node)
    runner, _ = ready_task(case.node, controller, layers.arm())
    kept = runner.keep(ticks)
    runner.run(ticks)
    return kept.column("stamp"), kept.column("error"), kept.column("lambda_measured")


def draw(choice: str, numbers: dict[str, Any]) -> Figure:
    """Tracking error and λ, one over the other."""
    course = numbers["course"]
    time, error = np.array(course["time"]), np.array(course["error"])
    force = np.array(course["lambda"])
    own = own_course(choice, numbers["ticks"])
    figure, (above, below) = canvas(2, 1, 4.6, sharex=True)
    above.set_title("Tracking error")
    below.set_title("Constraint force")
    for axes, ours, theirs, unit in (
        (above, 1e3 * own[1], 1e3 * error, "mm, mrad"),
        (below, own[2], force, "N"),
    ):
        axes.plot(own[0], ours, color=BLUE, linewidth=2.6, alpha=0.45)
        axes.plot(time, theirs, color=VERMILION, linewidth=1.0)
        axes.set_ylabel(unit)
    below.set_xlabel("time (s)")
    above.lines[0].set_label("our own simulation")
    above.lines[-1].set_label("in Gazebo")
    legend_above(above, 2)
    return figure


def main() -> int:
    choice, source, target = sys.argv[1:]
    numbers = json.loads(Path(source).read_text(encoding="utf-8"))
    Path(target).write_bytes(render(lambda: draw(choice, numbers)).png)
    return 0


if __name__ == "__main__":
    sys.exit(main())
