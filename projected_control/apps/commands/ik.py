"""``projected-control ik``: poses, what of a reference is within reach, and maps of what is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control.apps.console.command import Alternatives, Command, flag, option, positional

if TYPE_CHECKING:
    from projected_control.planning import KinematicSolution, Reach
    from projected_control.planning.course import Course
    from projected_control.settings.build.kinematics import ArmKinematics

DESCRIPTION = """\
Inverse kinematics of the arm of some parameter files, on its constraint and within its joint
limits. Nothing moves; no ROS is needed.

Finds joint positions for tasks (--task, the first is met first; a lower one never costs a higher
one anything), or for where the files have the simulated arm start. Says what each task misses and
why, how well the coordinates can be moved from there, and which joint is closest to its limit.
--along looks along the whole reference instead, --map at all that is reached of two coordinates.
The exit status is 1 where something is missed.
"""

EPILOG = """\
examples:
  projected-control ik my_arm.yaml                       a start on the constraint
  projected-control ik my_arm.yaml --task tool.x:=0.5 tool.y:=0.1 --task turn:=0 --out start.yaml
  projected-control ik my_arm.yaml --along --picture along.png
  projected-control ik my_arm.yaml --map tool.x tool.y --free turn --picture reach.png
"""


WHAT = Alternatives()


class Arguments(
    Command,
    help="inverse kinematics: a pose, the reference's reach, a map of the workspace",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    files: list[Path] = positional("later ones win", "FILE")
    node: str | None = option(
        "whose settings count (default: the controller that a file has a section for, else "
        "force_controller)",
        metavar="NODE",
    )
    set: list[str] = option(
        "a parameter that counts before all files; may be repeated", [], "NAME:=VALUE"
    )
    task: list[list[str]] = option(
        "coordinates and their values [m or rad], all of one priority; may be repeated, the "
        "highest first (default: simulation.coordinates and .values of the files)",
        [],
        "COORDINATE:=VALUE",
    )
    q: list[float] | None = option("guess: joint positions [rad or m]")
    posture: list[float] | None = option(
        "joint positions that what is left free is drawn to (default: the guess)"
    )
    along: bool = flag("look along the whole reference", alternatives=WHAT)
    map: tuple[str, str] | None = option(
        "map what is reached of two coordinates", metavar=("A", "B"), alternatives=WHAT
    )
    free: list[str] | None = option(
        "coordinates that a map leaves free (default: all others are held)", [], "NAME"
    )
    spacing: float | None = option("size of a map's cells", metavar="S")
    picture: Path | None = option("draw --along or --map: a .png or .svg file", metavar="FILE")
    out: Path | None = option("write the pose as YAML", metavar="FILE")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    from projected_control.apps.commands.check import require_picture
    from projected_control.errors import InvalidValue
    from projected_control.settings.build.kinematics import ArmKinematics
    from projected_control.settings.files import from_command_line
    from projected_control.settings.layers import Layers

    if args.picture is not None:
        if not (args.along or args.map):
            raise InvalidValue("--picture draws --along or --map: give one of them")
        require_picture(args.picture)
    layers = Layers.read(args.files, "", from_command_line(args.set, "--set"))
    layers, node = layers.of_controller(args.node)
    case = ArmKinematics.of(layers, node, args.q)
    if args.along:
        return _along(case, args)
    if args.map:
        return _map(case, args.map, args)
    return _pose(case, args)


def _pose(case: ArmKinematics, args: Arguments) -> int:
    import numpy as np

    from projected_control.apps.reports.contents import as_json
    from projected_control.settings.files import ALL_NODES, parameter_text

    given = [_values(items) for items in args.task]
    wanted = given or ([case.wanted] if case.wanted else [])
    found = case.pose(wanted, args.posture)
    ellipsoid = case.ellipsoid(found.q)
    if args.out is not None and found.met:
        start = [float(f"{x:.12g}") for x in found.q]
        text = parameter_text({ALL_NODES: {"simulation": {"start": start}}})
        args.out.write_text(text, encoding="utf-8")
    if args.json:
        numbers: dict[str, Any] = {
            "met": found.met,
            "joints": list(case.arm.joint_names),
            "q": found.q.tolist(),
            "tasks": [
                {
                    "name": outcome.name,
                    "met": outcome.met,
                    "error": outcome.error,
                    "residual": dict(zip(outcome.rows, outcome.residual.tolist(), strict=True)),
                    "reason": outcome.reason,
                }
                for outcome in found.outcomes
            ],
            "stopped": found.stopped.value,
            "iterations": found.iterations,
            "starts": found.starts,
            "nearest_limit": found.nearest._asdict() if found.nearest else None,
            "manipulability": ellipsoid.measure if ellipsoid else None,
            "isotropy": ellipsoid.isotropy if ellipsoid else None,
        }
        print(as_json(numbers))
        return 0 if found.met else 1
    for line in _pose_lines(case, found):
        print(line)
    if ellipsoid is not None:
        axis = np.abs(ellipsoid.directions[:, -1])
        name = case.settings.coordinates[int(np.argmax(axis))]
        print(
            f"manipulability {ellipsoid.measure:.3g}; least along {name}, "
            f"{ellipsoid.axes[-1]:.3g} of {ellipsoid.axes[0]:.3g} per rad"
        )
    print(
        f"{found.stopped.value} ({found.iterations} steps from {found.starts} "
        f"start{'s' * (found.starts > 1)})"
    )
    return 0 if found.met else 1


def _pose_lines(case: ArmKinematics, found: KinematicSolution) -> list[str]:
    names = case.arm.joint_names
    width = max(map(len, names))
    lines = []
    for j, name in enumerate(names):
        low, high = case.lower[j], case.upper[j]
        lines.append(f"{name:{width}}  {found.q[j]:9.5f}   between {low:.4g} and {high:.4g}")
    lines += [outcome.phrase for outcome in found.outcomes]
    if found.nearest is not None:
        lines.append(found.nearest.phrase)
    return lines


def _values(items: list[str]) -> dict[str, float]:
    """Coordinates and values of one --task."""
    from projected_control.errors import InvalidValue

    values: dict[str, float] = {}
    for item in items:
        name, separator, text = item.partition(":=")
        try:
            if not separator or name in values:
                raise ValueError
            values[name] = float(text)
        except ValueError:
            raise InvalidValue(
                f"--task takes coordinates and numbers as name:=value, each name once, got {item!r}"
            ) from None
    return values


def _along(case: ArmKinematics, args: Arguments) -> int:
    import numpy as np

    from projected_control.apps.commands.check import draw
    from projected_control.apps.reports.contents import as_json

    course = case.course()
    if args.picture is not None:
        draw(args.picture, "ik", lambda pictures: pictures.course_picture(course))
    reached = course.missed == 0.0
    least = int(np.argmin(course.margin))
    worst = int(np.argmin(course.manipulability))
    if args.json:
        numbers = {
            "within_reach": course.within_reach,
            "share_reached": float(reached.mean()),
            "largest_miss": float(course.missed.max()),
            "trouble": course.trouble,
            "smallest_manipulability": float(course.manipulability.min()),
            "smallest_isotropy": float(course.isotropy.min()),
            "smallest_joint_margin": float(course.margin.min()),
            "places": len(course.places),
        }
        print(as_json(numbers))
        return 0 if course.within_reach else 1
    print(
        f"{len(course.places)} places along the reference, {course.places[-1]:.3g} {course.unit}: "
        f"{100.0 * reached.mean():.0f} % within reach"
    )
    for what, i, value in (
        ("manipulability", worst, f"{course.manipulability[worst]:.3g}"),
        ("room to the joint limits", least, f"{100.0 * course.margin[least]:.0f} %"),
    ):
        print(f"least {what}: {value} at {_place(course, i)}")
    if course.trouble:
        print(f"MISSED {course.trouble}")
    return 0 if course.within_reach else 1


def _place(course: Course, i: int) -> str:
    from projected_control.planning.margins import in_words

    return f"{course.places[i]:.3g} {course.unit} ({in_words(course.names, course.wanted[i])})"


def _map(case: ArmKinematics, pair: tuple[str, str], args: Arguments) -> int:
    from projected_control.apps.commands.check import draw
    from projected_control.apps.reports.contents import as_json
    from projected_control.errors import ProjectedControlError

    reach = case.reach(pair, args.free or (), args.spacing)
    if args.picture is not None:
        try:
            course: Course | None = case.course()
        except ProjectedControlError:  # a map needs no reference
            course = None
        draw(args.picture, "ik", lambda pictures: pictures.reach_picture(reach, course))
    low, high = reach.extent
    if args.json:
        numbers = {
            "coordinates": list(reach.names),
            "area": reach.area,
            "lowest": low.tolist(),
            "highest": high.tolist(),
            "spacing": reach.spacing.tolist(),
            "cells": len(reach.values),
            "whole": reach.whole,
            "best_manipulability": float(reach.manipulability.max()),
        }
        print(as_json(numbers))
        return 0
    for line in _map_lines(reach):
        print(line)
    return 0


def _map_lines(reach: Reach) -> list[str]:
    low, high = reach.extent
    lines = [f"reached: {reach.area:.3g} {reach.area_unit} in {len(reach.values)} cells"]
    for a in range(2):
        lines.append(f"  {reach.names[a]} from {low[a]:.3g} to {high[a]:.3g} {reach.units[a]}")
    best = int(reach.manipulability.argmax())
    at = ", ".join(f"{n} {v:.3g}" for n, v in zip(reach.names, reach.values[best], strict=True))
    lines.append(f"best manipulability: {reach.manipulability[best]:.3g} at {at}")
    if not reach.whole:
        lines.append("WARNING: the map was cut at its largest size; give a larger --spacing")
    return lines
