"""``projected-control check``: whether settings make sense, before an arm is switched on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers
    from projected_control.settings.layers import Layers

DESCRIPTION = """\
Reads ROS parameter files as a controller node would, builds everything from them, and says what it
found: the arm and its limits, what the constraint takes, whether the coordinates describe what it
leaves, how far the loops are from diverging. The launch files make the same checks before they
start anything. Nothing moves; no ROS is needed.

Files may be for all nodes (/**), have one section per node, or come from ros2 param dump. What
counts is, in this order: defaults, the preset, the files, --set; later ones win.
"""

EPILOG = """\
examples:
  projected-control check config/three_link_slider.yaml --preset gentle
  projected-control check my_arm.yaml --node passive_joint_controller --q 0.7 4.7
  projected-control check my_arm.yaml --set gains.stiffness:=400 --show
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "check",
        help="check parameter files without moving anything",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="later ones win")
    parser.add_argument(
        "--node",
        metavar="NODE",
        help="which controller node (default: the one that a file has a section for, else "
        "force_controller)",
    )
    parser.add_argument(
        "--preset", default="", metavar="NAME", help="gains and limits: a name or a path"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="a value that counts before all files; may be repeated",
    )
    parser.add_argument(
        "--q", nargs="+", type=float, help="joint positions to check at [rad or m]; else a guess"
    )
    parser.add_argument(
        "--show", action="store_true", help="print every value and where it came from"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
    """Build, evaluate, report; the exit status is 1 where something would keep the node down."""
    from projected_control.apps.experiments.outcome import as_json
    from projected_control.settings.files import from_command_line
    from projected_control.settings.inspection import inspect
    from projected_control.settings.layers import Layers

    layers = Layers.read(args.files, args.preset, from_command_line(args.set, "--set"))
    node = args.node or controller_named_in(layers)
    if args.show:
        print("\n".join(layers.table(node)))
    guess = layers.arm().simulation.start
    found = inspect(node, layers.controller(node), args.q, guess)
    if args.json:
        content = {**found.numbers, "troubles": found.troubles, "warnings": found.warnings}
        print(as_json(content))
        return 1 if found.troubles else 0
    width = max(len(name) for name in found.numbers)
    for name, value in found.numbers.items():
        print(f"{name.replace('_', ' '):{width}}  {_text(value)}")
    for warning in found.warnings:
        print(f"WARNING: {warning}")
    for trouble in found.troubles:
        print(f"TROUBLE: {trouble}")
    print("This would not run." if found.troubles else "All well.")
    return 1 if found.troubles else 0


def controller_named_in(layers: Layers) -> str:
    """The controller that a file has a section for, else the force controller."""
    from projected_control.settings.nodes import CONTROLLERS, FORCE

    named = [
        kind
        for file in layers.files
        for section, _ in file.sections
        if (kind := section.rpartition("/")[2]) in CONTROLLERS
    ]
    return named[0] if named else FORCE


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value) or "none"
    return str(value)
