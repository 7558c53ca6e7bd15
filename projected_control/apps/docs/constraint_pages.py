"""The pages of docs/constraints/: one per kind of constraint, with a drawing, from its record.

python -m projected_control.apps.docs.constraint_pages docs/constraints
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.model.constraints import (
    CONSTRAINTS,
    Constraint,
    ConstraintKind,
    Curve,
    Line,
    Plane,
    Point,
    Shape,
)
from projected_control.model.constraints.axes import perpendiculars
from projected_control.settings import groups

HELD, WORLD, FORCE, ARM = "#d55e00", "#8a929c", "#009e73", "#3a3f46"

EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "point_on_line": (
        {"frame": "tip", "point": [0.5, 0.0, 0.3], "direction": [0.0, 1.0, 0.0]},
        "A slider, a slot, an edge that is followed. Two rows, or one with `plane_normal`. λ is "
        "the force across the line.",
    ),
    "point_on_plane": (
        {"frame": "tip", "point": [0.5, 0.0, 0.2], "direction": [0.0, 0.0, 1.0]},
        "A wiped table. One row; a positive λ presses along the normal. It gives a point no "
        "moment: a tool that is to stay square to the table is a coordinate, a pad that lies "
        "flat is `frame_fixed` in tz, rx and ry.",
    ),
    "point_at_point": (
        {"frame": "tip", "point": [0.5, 0.0, 0.3]},
        "A ball joint. Three rows, or two with `plane_normal`.",
    ),
    "point_on_circle": (
        {"frame": "tip", "point": [0.5, 0.0, 0.3], "direction": [1.0, 0.0, 0.0], "radius": 0.2},
        "The handle of a crank, a door, a valve. Rows `axial` and `radial`; with `plane_normal` "
        "the second alone. How far round it is: a coordinate of kind `round`, which counts "
        "turns.",
    ),
    "point_on_surface": (
        {"frame": "tip", "surface": "sphere", "point": [0.5, 0.0, 0.3], "radius": 0.2},
        "A sphere, a cylinder (with `direction`), or a height map (`heights_file`, `spacing`), "
        "which is interpolated by a bicubic spline, twice continuously differentiable. One row, "
        "`normal`; λ > 0 presses outwards, or up.",
    ),
    "distance": (
        {"frame": "tip", "length": 0.4, "point": [0.2, 0.0, 0.6]},
        "A rod or a taut cable between two points, one of which may be on `other_frame`. One "
        "row; λ is the force that stretches it.",
    ),
    "parallel": (
        {"frame": "tip", "axis": [0.0, 0.0, 1.0], "direction": [0.0, 0.0, -1.0]},
        "An axis that keeps its direction. Two rows; the opposite direction, for which they "
        "vanish too, is refused. λ are moments.",
    ),
    "angle": (
        {"frame": "tip", "axis": [0.0, 0.0, 1.0], "direction": [0.0, 0.0, -1.0], "angle": 0.7},
        "An axis that keeps its angle with a direction, away from 0 and π (there: `parallel`). "
        "One row; λ is the moment that opens the angle.",
    ),
    "frame_fixed": (
        {"frame": "tip", "point": [0.5, 0.0, 0.2], "directions": ["tz", "rx", "ry"]},
        "A weld, or what is left of it: any of the six directions tx, ty, tz, rx, ry, rz of the "
        "world, or of `other_frame`. In tz, rx and ry it is a pad that lies flat.",
    ),
    "hinge": (
        {
            "frame": "tip",
            "axis": [0.0, 0.0, 1.0],
            "point": [0.5, 0.0, 0.3],
            "direction": [0.0, 1.0, 0.0],
        },
        "A door on its hinges, a pin joint. Five rows, which keep their rank all the way round. "
        "With `other_frame` it closes a chain.",
    ),
    "loop": (
        {"frame": "left_tip", "other_frame": "right_tip"},
        "A closed chain: two links of one tree meet. Their origins alone (three rows, or two "
        "with `plane_normal`), or any `directions` of other_frame's axes. Two arms are one "
        "description with two branches.",
    ),
    "joint_coupling": (
        {"joint": "finger_2", "other_joint": "finger_1", "ratio": 1.0},
        "A gear or a belt: q = ratio · q_other + position. Mimic joints of a URDF become this "
        "by themselves.",
    ),
    "joint_locked": (
        {"joint": "joint_3", "position": 0.4},
        "A brake. One row.",
    ),
}


def constraint_of(kind: ConstraintKind, values: Mapping[str, Any]) -> Constraint:
    """A constraint with these settings, as a page writes them."""
    given: dict[str, Any] = {k: (v,) if isinstance(v, float) else v for k, v in values.items()}
    constraint = kind.build(groups.Constraint(kind=kind.name, **given))
    assert constraint is not None
    return constraint


def page(kind: ConstraintKind) -> str:
    """The page of a kind."""
    values, words = EXAMPLES[kind.name]
    rows = constraint_of(kind, values).row_names
    lines = [f"# {kind.name}", "", f"{kind.title[0].upper()}{kind.title[1:]}. {words}", ""]
    lines += [f"![{kind.title}]({kind.name}.svg)"]
    moving = f"../images/constraints/{kind.name}.gif"
    lines += [f"![What it leaves free: projected-control animate {kind.name}]({moving})"]
    lines += ["", "```yaml", "constraint:"]
    lines += [f"  kind: {kind.name}", *(f"  {k}: {_yaml(v)}" for k, v in values.items()), "```", ""]
    lines += [f"Rows of this example: {', '.join(f'`{row}`' for row in rows)}.", ""]
    lines += ["| setting | unit | | meaning |", "|---|---|---|---|"]
    for setting in kind.needs:
        lines.append(f"| `{setting.name}` | {setting.unit} | needed | {setting.meaning} |")
    for setting in kind.takes:
        lines.append(f"| `{setting.name}` | {setting.unit} | | {setting.meaning} |")
    lines += ["", "Constraints and coordinates, several at once, and the force of rows: "]
    lines[-1] += "[constraints](../constraints.md)."
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


def draw(kind: ConstraintKind, path: Path) -> None:
    """Draw what the constraint of the example looks like."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = kind.name
    from matplotlib import pyplot

    values, _ = EXAMPLES[kind.name]
    figure = pyplot.figure(figsize=(4.8, 3.6))
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
    origin = np.array(values.get("point", [0.5, 0.0, 0.3]), dtype=np.float64)
    held = origin + (0.2 * np.array([0.0, 0.0, 1.0]) if "radius" in values else 0.0)
    if kind.name == "distance":
        held = origin + np.array([0.3, 0.0, -0.265])
        axes.plot(*np.array([origin, held]).T, color=WORLD, linewidth=3)
    _draw_joints(axes, values) if "joint" in values else _draw_arm(axes, held, values)
    for shape in constraint_of(kind, values).shapes():
        _draw_shape(axes, shape, held)
    axes.set_xlim(0.0, 0.9)
    axes.set_ylim(-0.45, 0.45)
    axes.set_zlim(-0.05, 0.75)
    axes.set_box_aspect((0.9, 0.9, 0.8), zoom=1.6)
    axes.set_axis_off()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _draw_arm(axes: Any, held: Array, values: Mapping[str, Any]) -> None:
    """Two links from the base to the frame that is held, and that frame's axes."""
    _draw_links(axes, np.array([np.zeros(3), 0.5 * held + np.array([-0.05, 0.0, 0.35]), held]))
    if "other_frame" in values:
        _draw_links(axes, np.array([[0.9, 0.0, 0.0], [0.85, 0.0, 0.5], held]))
    for axis in np.eye(3):
        axes.plot(*np.array([held, held + 0.1 * axis]).T, color=HELD, linewidth=2.5)
    axes.text(*(held + np.array([0.02, 0.0, 0.12])), values["frame"], color=HELD, fontsize=12)


def _draw_links(axes: Any, places: Array) -> None:
    """Links from place to place, with a foot at the first and a joint at each but the last."""
    axes.plot(*places.T, color=ARM, linewidth=7, solid_capstyle="round")
    axes.scatter(*places[:1].T, marker="s", s=220, color=WORLD, depthshade=False)
    for place in places[:-1]:
        axes.plot(*place[:, None], "o", ms=9, mfc="white", mec=ARM, mew=2)


def _draw_joints(axes: Any, values: Mapping[str, Any]) -> None:
    """Wheels for joints, a belt between them where there are two."""
    angles = np.linspace(0.0, 2.0 * np.pi, 60)
    wheels = [(0.25, values["joint"])]
    if "other_joint" in values:
        wheels.append((0.65, values["other_joint"]))
    for x, name in wheels:
        rim = np.array([x + 0.15 * np.cos(angles), 0.0 * angles, 0.4 + 0.15 * np.sin(angles)])
        axes.plot(*rim, color=HELD, linewidth=3)
        axes.scatter([x], [0.0], [0.4], color=ARM, s=40)
        axes.text(x, 0.0, 0.62, name, color=HELD, ha="center", fontsize=12)


def _draw_shape(axes: Any, shape: Shape, held: Array) -> None:
    base = held if shape.frame is not None else np.zeros(3)
    if isinstance(shape, Point):
        axes.scatter(*(base + shape.position), color=WORLD, s=60)
    elif isinstance(shape, Line):
        ends = [base + shape.point + s * 0.4 * shape.direction for s in (-1.0, 1.0)]
        axes.plot(*np.array(ends).T, color=WORLD, linewidth=4)
    elif isinstance(shape, Plane):
        first, second = perpendiculars(shape.normal)
        s, t = np.meshgrid([-0.3, 0.3], [-0.3, 0.3])
        middle = base + shape.point
        grid = [middle[i] + s * first[i] + t * second[i] for i in range(3)]
        axes.plot_surface(*grid, color=WORLD, alpha=0.35)
    elif isinstance(shape, Curve):
        axes.plot(*(base + shape.points).T, color=WORLD, linewidth=2.5)


def draw_roles(path: Path) -> None:
    """What is a constraint and what a coordinate: a pen, and a pad, on a table."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "roles"
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(8.4, 3.0))
    titles = ("a pen: one row, two coordinates", "a pad: three rows")
    for axes, title, pad in zip(both, titles, (False, True), strict=True):
        axes.fill_between([-1.2, 1.2], [-0.15, -0.15], [0.0, 0.0], color=WORLD, alpha=0.5)
        axes.plot([0.0, 0.0], [0.12 if pad else 0.0, 1.0], color=ARM, linewidth=7)
        if pad:
            axes.fill_between([-0.35, 0.35], [0.0, 0.0], [0.12, 0.12], color=ARM)
        for x in (-0.3, 0.3) if pad else (0.0,):
            axes.annotate(
                "", (x, 0.0), (x, -0.6), arrowprops={"arrowstyle": "->", "color": FORCE, "lw": 2}
            )
        axes.text(0.12 if not pad else 0.42, -0.5, "the table pushes: λ", color=FORCE)
        if not pad:
            turn = np.linspace(0.35 * np.pi, 0.65 * np.pi, 30)
            axes.plot(1.1 * np.cos(turn), 1.1 * np.sin(turn), color=HELD, linewidth=2)
        words = (
            "square to the table:\nthe motors' doing"
            if not pad
            else "flat on the table:\nits doing"
        )
        axes.text(0.25, 0.75, words, color=HELD)
        axes.set_title(title)
        axes.set_xlim(-1.2, 1.2)
        axes.set_ylim(-0.7, 1.25)
        axes.set_axis_off()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)


def main(folder: Path) -> None:
    """Write every page and every drawing."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_roles(folder / "roles.svg")
    for name in EXAMPLES:
        kind = CONSTRAINTS[name]
        (folder / f"{name}.md").write_text(page(kind), encoding="utf-8")
        draw(kind, folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
