"""``projected-control check``: whether settings make sense, before an arm is switched on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

NODES = ("motion_controller", "force_controller", "passive_joint_controller")

DESCRIPTION = """\
Reads ROS parameter files as a controller node would, builds everything from them, and says what it
found: the arm and its limits, what the constraint takes, whether the coordinates describe what it
leaves, how far the force loop is from diverging. Nothing moves; no ROS is needed.
"""

EPILOG = """\
examples:
  projected-control check config/three_link_slider.yaml config/presets/gentle.yaml
  projected-control check my_arm.yaml --node passive_joint_controller --q 0.7 4.7
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
        "--node", choices=NODES, default="force_controller", help="default: %(default)s"
    )
    parser.add_argument(
        "--q", nargs="+", type=float, help="joint positions to check at [rad or m]; else a guess"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
    """Build, evaluate, report; the exit status is 1 where something would keep the node down."""
    from projected_control.apps.experiments.outcome import as_json
    from projected_control.settings.files import read_parameter_file

    values: dict[str, Any] = {}
    for file in args.files:
        values |= read_parameter_file(file)
    numbers, troubles = inspect(args.node, values, args.q)
    if args.json:
        print(as_json({**numbers, "troubles": troubles}))
    else:
        width = max(len(name) for name in numbers)
        for name, value in numbers.items():
            print(f"{name.replace('_', ' '):{width}}  {_text(value)}")
        for trouble in troubles:
            print(f"TROUBLE: {trouble}")
        print("This would not run." if troubles else "All well.")
    return 1 if troubles else 0


def inspect(
    node: str, values: dict[str, Any], q: list[float] | None
) -> tuple[dict[str, Any], list[str]]:
    """What there is to say of settings, and what would keep the controller from starting."""
    import numpy as np

    from projected_control import validate
    from projected_control.control import PassiveJointController
    from projected_control.errors import ProjectedControlError
    from projected_control.model.dynamics import condition_numbers
    from projected_control.settings import build
    from projected_control.settings.nodes import checked_controller, own_values
    from projected_control.simulation import assemble

    settings = checked_controller(node, own_values(node, values))
    loop = build.build_loop(node, settings)
    controller, model = loop.controller, loop.controller.model
    arm, troubles = model.arm, []
    if q is None:
        guess = build.start_guess(arm, values.get("simulation.start", []))
        place = assemble(arm, model.constraint, guess)
    else:
        place = validate.finite_array("--q", q, (arm.n,))
    model.evaluate(place, np.zeros(arm.n))
    controller.stop(place, np.zeros(arm.n))
    residual = float(np.linalg.norm(model.residual))
    if residual > settings.constraint.residual_tolerance:
        troubles.append(f"the arm is off its constraint by {residual:.4g} m")
    if model.k > model.free_directions:
        troubles.append(
            f"{model.k} coordinates cannot all move: the constraint leaves {model.free_directions}"
        )
    elif controller.margins[0] < 1e-3:
        troubles.append("the coordinates do not describe what the constraint leaves free here")
    if isinstance(controller, PassiveJointController):
        try:
            controller.require_controllable(place)
        except ProjectedControlError as error:
            troubles.append(str(error))
    limits = loop.guard.limits
    if not ((limits.lower <= place) & (place <= limits.upper)).all():
        troubles.append("joints are outside their position limits here")
    weight = np.abs(controller.effort.total)
    if (weight > limits.effort).any():
        troubles.append("carrying the arm's weight here takes more than the effort limits")
    numbers: dict[str, Any] = {
        "arm": arm.name,
        "joints": list(arm.joint_names),
        "passive": sorted(arm.passive),
        "effort_limits": limits.effort.tolist(),
        "at": np.round(place, 6).tolist(),
        "residual": residual,
        "constraint_rows": model.m,
        "rank": model.rank,
        "singular_values": np.sort(model.singular_values)[::-1].tolist(),
        "coordinates": list(model.coordinates.names) if model.coordinates else [],
        "coordinate_independence": float(controller.margins[0]),
        "condition_number": condition_numbers(model.M, model.P)["R2"],
        "effort_at_rest": controller.effort.total.tolist(),
    }
    if isinstance(controller, PassiveJointController):
        numbers["controllability"] = float(controller.margins[1])
    if controller.force is not None:
        sampled = controller.force.gains.loop(controller.period)
        numbers["force_loop_gain_margin"] = sampled.gain_margin
        numbers["largest_stable_G_F"] = sampled.proportional_bound
    return numbers, troubles


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value) or "none"
    return str(value)
