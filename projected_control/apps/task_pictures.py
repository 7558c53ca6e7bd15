"""Moving pictures of tasks, for the documentation: the arm, its trace, the force it holds.

python -m projected_control.apps.task_pictures docs/images
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from projected_control.apps.demo.case import settings_for
from projected_control.apps.demo.task_run import TaskRun, run_task
from projected_control.apps.experiments.style import BLACK, BLUE, GREEN, GREY, VERMILION
from projected_control.model.constraints import Curve, Line
from projected_control.settings.nodes import TASKS

Array = NDArray[np.float64]

SECONDS = {"wipe": 12.0, "wipe_sphere": 12.0, "drawer": 6.0, "valve": 8.0}
"""How long each task is shown [s]."""

SIZE, DPI = (4.8, 3.6), 90
FRAMES_PER_SECOND = 8
COLOURS = 40


def moving_picture(run: TaskRun, title: str) -> bytes:
    """A GIF of a run."""
    model = run.loop.controller.model
    arm = run.arm.plant.model.arm.twin()
    still, frame = np.zeros(model.n), run.arm.frame
    assert frame is not None
    skeletons = []
    for q in run.q:
        arm.update(q, still)
        joints = [line[9:12].copy() for line in arm.placements[1:]]
        skeletons.append(np.array([np.zeros(3), *joints, arm.frame(frame).position]))
    bones = np.array(skeletons)
    step = max(round(1.0 / FRAMES_PER_SECOND / (run.times[1] - run.times[0])), 1)
    pictures = [_frame(run, title, bones, i) for i in range(step, len(bones), step)]
    palette = pictures[len(pictures) // 2].quantize(COLOURS)
    images = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    content = BytesIO()
    images[0].save(
        content,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=1000 // FRAMES_PER_SECOND,
        loop=0,
        optimize=True,
    )
    return content.getvalue()


def _frame(run: TaskRun, title: str, bones: Array, i: int) -> Any:
    figure = Figure(SIZE, DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    scene: Any = figure.add_axes((0.0, 0.25, 1.0, 0.66), projection="3d", facecolor="white")
    scene.set_axis_off()
    _world(scene, run, bones)
    bone = bones[i]
    scene.plot(*bone.T, color=BLACK, linewidth=4.0, solid_capstyle="round", zorder=5)
    scene.plot(*bone[:-1].T, "o", color=GREY, markersize=5.0, zorder=6)
    trace = bones[: i + 1, -1]
    scene.plot(*trace.T, color=VERMILION, linewidth=1.5, zorder=7)
    force = run.loop.controller.force
    below = figure.add_axes((0.14, 0.12, 0.82, 0.13), facecolor="white")
    if force is not None:
        rows = np.flatnonzero(force.controlled)
        wanted = np.linalg.norm(run.wanted[:, rows], axis=1)
        felt = np.linalg.norm(run.multipliers[:, rows], axis=1)
        below.plot(run.times, wanted, color=GREY, linestyle="--", linewidth=1.0)
        below.plot(run.times[: i + 1], felt[: i + 1], color=GREEN, linewidth=1.2)
        below.set_ylim(-0.5, 1.4 * max(float(wanted.max()), 5.0))
    below.set_xlim(0.0, run.times[-1])
    below.set_ylabel("force (N)", fontsize=7)
    below.set_xlabel("time (s)", fontsize=7, labelpad=0)
    below.tick_params(labelsize=6, length=2)
    below.spines[["top", "right"]].set_visible(False)
    figure.text(0.03, 0.95, title, fontsize=9, weight="bold", va="top")
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3])


def _world(scene: Any, run: TaskRun, bones: Array) -> None:
    """The surface as far as the tool goes, and the room around all of it."""
    tips = bones[:, -1]
    low, high = tips.min(axis=0), tips.max(axis=0)
    middle, reach = 0.5 * (low + high), 0.5 * (high - low) + 0.06
    model = run.loop.controller.model
    name = type(model.constraint).__name__
    if name == "PointOnPlane":
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        edge = np.column_stack([middle[:2] + corners * reach[:2], np.full(5, middle[2])])
        x, y = np.meshgrid(*(middle[j] + np.array([-1.0, 1.0]) * reach[j] for j in (0, 1)))
        scene.plot_surface(x, y, np.full_like(x, middle[2]), color=BLUE, alpha=0.15, shade=False)
        scene.plot(*edge.T, color=BLUE, linewidth=0.8)
    else:
        for shape in model.constraint.shapes() if model.constraint is not None else []:
            if isinstance(shape, Curve):
                scene.plot(*np.asarray(shape.points).T, color=BLUE, linewidth=1.0, alpha=0.6)
            elif isinstance(shape, Line):
                ends = shape.point + np.outer([-0.25, 0.25], shape.direction)
                scene.plot(*ends.T, color=BLUE, linewidth=1.0, alpha=0.6)
    everything = np.concatenate([bones.reshape(-1, 3), tips])
    centre = 0.5 * (everything.min(axis=0) + everything.max(axis=0))
    half = 0.5 * float(np.ptp(everything, axis=0).max())
    scene.set_xlim(centre[0] - half, centre[0] + half)
    scene.set_ylim(centre[1] - half, centre[1] + half)
    scene.set_zlim(centre[2] - half, centre[2] + half)
    scene.set_box_aspect((1, 1, 1), zoom=1.3)
    scene.view_init(elev=22, azim=-58)


def main(folder: Path, tasks: list[str]) -> None:
    """Write one GIF per task."""
    for task in tasks or list(SECONDS):
        settings = settings_for(task, SECONDS[task], "paper", True, {})
        run = run_task(settings.case.node, settings.controller, settings.arm, settings.ticks)
        content = moving_picture(run, TASKS[task].title)
        (folder / f"{task}.gif").write_bytes(content)
        print(f"{folder / f'{task}.gif'}: {len(content) / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
