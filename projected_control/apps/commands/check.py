"""``projected-control check``: whether settings make sense, before an arm is switched on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from projected_control.apps.console.command import Command, flag, option, positional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from projected_control.planning.flight_check import FlightCheck
    from projected_control.settings.layers import Layers

DESCRIPTION = """\
Reads ROS parameter files as a controller node would, builds everything from them, and says what it
found: the arm and its limits, what the constraint takes, whether the coordinates describe what it
leaves, how far the loops are from diverging. The launch files make the same checks before they
start anything. Nothing moves; no ROS is needed.

Then the flight check: the arm is followed along its whole reference. Rank, singular values,
controllability, the coordinates' independence, joint ranges, velocities, efforts and both loops'
margins are green, yellow (less than a fifth is left) or red (nothing is), with what is closest to
its limit, and where; limits that bind are told with the part of the way on which they do, and with
what is left of the motion there. An effort beyond its limit is yellow where other motors take it
over. The exit status is 1 where anything is red.

Files may be for all nodes (/**), have one section per node, or come from ros2 param dump. What
counts is, in this order: defaults, the preset, the files, --set; later ones win.
"""

EPILOG = """\
examples:
  projected-control check config/three_link_slider.yaml --preset gentle
  projected-control check my_arm.yaml --node passive_joint_controller --q 0.7 4.7
  projected-control check two_arms.yaml --node /left/force_controller
  projected-control check my_arm.yaml --set gains.stiffness:=400 --show
  projected-control check config/wipe.yaml --picture wipe_check.png
"""


class Arguments(
    Command,
    help="check parameter files without moving anything",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    files: list[Path] = positional("later ones win", "FILE")
    node: str | None = option(
        "which controller node, with its namespace where files have sections for several "
        "(default: the one that a file has a section for, else force_controller)",
        metavar="NODE",
    )
    preset: str = option("gains and limits: a name or a path", "", "NAME")
    set: list[str] = option(
        "a value that counts before all files; may be repeated", [], "NAME:=VALUE"
    )
    q: list[float] | None = option("joint positions to check at [rad or m]; else a guess")
    show: bool = flag("print every value and where it came from")
    start_only: bool = flag("look where the arm starts, not along the way")
    picture: Path | None = option("draw the margins: a .png or .svg file", metavar="FILE")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Build, evaluate, report; the exit status is 1 where something would keep the node down."""
    from projected_control.settings.files import from_command_line
    from projected_control.settings.layers import Layers

    layers = Layers.read(args.files, args.preset, from_command_line(args.set, "--set"))
    layers, node = layers.of_controller(args.node)

    # After the files are read, so that a mistake in them is told at once.
    import numpy as np

    from projected_control.apps.reports.contents import as_json
    from projected_control.errors import ProjectedControlError
    from projected_control.planning.margins import Light
    from projected_control.settings import build
    from projected_control.settings.inspection import inspect, unlike_the_arm

    if args.show:
        print("\n".join(layers.table(node)))
    settings, arm = layers.controller(node), layers.arm()
    found = inspect(node, settings, args.q if args.q else start_of(layers), arm.simulation.start)
    found.warnings.extend(unlike_the_arm(settings, arm))
    troubles, flight = list(found.troubles), None
    if not args.start_only and not troubles:
        try:
            loop = build.build_loop(node, settings)
            flight = build.fly(loop, settings, np.array(found.numbers["q"]))
        except ProjectedControlError as error:
            troubles.append(f"the reference cannot be followed: {error}")
    red = flight is not None and flight.light is Light.RED
    if args.picture is not None and flight is not None:
        draw(args.picture, "check", lambda pictures: pictures.flight_picture(flight))
    numbers = {name: value for name, value in found.numbers.items() if name != "q"}
    if args.json:
        content = {**numbers, "troubles": troubles, "warnings": found.warnings}
        content["flight"] = flight.numbers() if flight is not None else None
        content["light"] = "red" if troubles or flight is None else flight.light.value
        if args.start_only and not troubles:
            content["light"] = "green"
        print(as_json(content))
        return 1 if troubles or red else 0
    width = max(len(name) for name in numbers)
    for name, value in numbers.items():
        print(f"{name.replace('_', ' '):{width}}  {_text(value)}")
    for line in _flight_lines(flight) if flight is not None else []:
        print(line)
    for warning in found.warnings:
        print(f"WARNING: {warning}")
    for trouble in troubles:
        print(f"TROUBLE: {trouble}")
    print("This would not run." if troubles else "This must not run." if red else "All well.")
    return 1 if troubles or red else 0


def start_of(layers: Layers) -> list[float] | None:
    """Where the simulated arm of these files starts; None where they say nothing of that."""
    from projected_control.errors import ProjectedControlError
    from projected_control.settings import build

    arm = layers.arm()
    if not arm.simulation.coordinates:
        return None
    try:
        start: list[float] = build.build_plant(arm).truth.q.tolist()
    except ProjectedControlError:
        return None
    return start


def require_picture(file: Path) -> None:
    """Raise where a picture is asked for in a form in which none is written."""
    from projected_control.errors import InvalidValue

    if file.suffix not in (".png", ".svg"):
        raise InvalidValue(f"--picture must end in .png or .svg, got {file}")


def draw(file: Path, command: str, make: Callable[[ModuleType], Figure]) -> None:
    """Write the picture that is made of `apps.assess.planning_pictures`, for a command."""
    from projected_control import extras

    extras.require("matplotlib", f"projected-control {command} --picture")
    from projected_control.apps.assess import planning_pictures
    from projected_control.apps.reports.style import render

    require_picture(file)
    picture = render(lambda: make(planning_pictures))
    file.write_bytes(picture.png if file.suffix == ".png" else picture.svg)


def _flight_lines(flight: FlightCheck) -> list[str]:
    from projected_control.planning.margins import in_lines

    width = max(len(quantity.name) for quantity in flight.quantities)
    lines = [f"along the reference, {flight.times[-1]:.3g} s:"]
    for each in flight.quantities:
        numbers = f"{each.value:.4g} of {each.limit:.4g} {each.unit}".rstrip()
        lines.append(
            f"  {each.light.value:6}  {each.name:{width}}  {100 * each.least:4.0f} % left at "
            f"{flight.times[each.worst]:6.2f} s  ({numbers})"
        )
    least = int(flight.manipulability.argmin())
    lines.append(
        f"  manipulability of the coordinates: {flight.manipulability[least]:.4g} at least, at "
        f"{flight.times[least]:.2f} s; {flight.manipulability.max():.4g} at most"
    )
    if flight.lean:
        said = _sides(flight.lean)
        lines.append(f"  force on the constraint [N or N·m]: {said}{_leaning(flight)}")
        lines.append(f"  the same in a damped stop [N or N·m]: {_sides(flight.lean_in_stop)}")
    lines += [f"  limits: {line}" for line in in_lines(flight.binding)]
    return [*lines, f"{flight.light.value.upper()}: {flight.nearest}"]


def _sides(lean: dict[str, tuple[float, float]]) -> str:
    """Least and largest λ of each row; what is less than rounding is zero."""
    return ", ".join(
        f"{name or 'λ'} {round(low, 6) + 0.0:.4g} to {round(high, 6) + 0.0:.4g}"
        for name, (low, high) in lean.items()
    )


def _leaning(flight: FlightCheck) -> str:
    """Why there is a force that no reference asks for."""
    if flight.leans:
        return "; the law sends the least torque, and leans on the constraint what weight it can"
    return ""


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value) or "none"
    return str(value)
