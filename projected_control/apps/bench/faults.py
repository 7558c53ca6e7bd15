"""``projected-control bench faults``: what follows when a process dies, and how soon."""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control import validate
from projected_control.apps import bench, extras

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

RESTFUL = {
    "reference.kind": "hold",
    "reference.approach": True,
    "force.reference": [5.0],
    "friction.viscous": [1.0],
}
"""The controller holds the arm where it is and presses with 5 N: it can start anywhere, there is
always torque, and an arm that nobody holds comes to rest."""

LIMIT = 0.020
"""From the last word of a killed controller to zeros on the wire, as promised [s]."""

DESCRIPTION = """\
Runs the simulated arm, the watchdog and the hybrid controller, kills the controller with -9 again
and again while the arm moves, and measures on the command topic how long it was silent before the
watchdog's zeros. In the end it kills the arm and waits for the controller to go inactive.
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "faults", help="kill processes and time the answers", description=DESCRIPTION
    )
    parser.add_argument("--repeats", type=int, default=10, help="default: %(default)s")
    bench.add_bound(parser, 1e3 * LIMIT, "the silence before the zeros, in ms,")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure and report. The exit status is 1 where the bound is missed."""
    from projected_control.apps.experiments.outcome import as_json
    from projected_control.apps.experiments.progress import terminal_progress
    from projected_control.errors import InvalidValue

    validate.positive("bound", args.bound)
    if not 1 <= args.repeats <= 1000:
        raise InvalidValue(f"--repeats must be 1 to 1000, got {args.repeats}")
    extras.require("rclpy", "projected-control bench faults")
    with tempfile.TemporaryDirectory() as folder, terminal_progress(sys.stderr) as progress:
        numbers = measure(args.repeats, Path(folder), progress)
    if args.json:
        print(as_json(numbers))
        return bench.exit_status(missed(numbers, args.bound))
    killed, arm = numbers["controller_killed"], numbers["arm_killed"]
    silence = killed["silence_ms"]
    print(
        f"controller killed with -9, {killed['repeats']} times: zeros followed "
        f"{killed['zeroed']} times, within 20 ms {killed['within_20_ms']} times\n"
        f"silence before the zeros: median {silence['p50']:.1f} ms, "
        f"longest {silence['max']:.1f} ms\n"
        f"arm killed with -9: the controller went inactive after {arm['inactive_after_s']:.2f} s, "
        f"saying: {arm['reason']}"
    )
    return bench.exit_status(missed(numbers, args.bound))


def missed(numbers: dict[str, Any], bound: float) -> list[str]:
    """What did not happen, or not within the bound [ms], in words."""
    killed, arm = numbers["controller_killed"], numbers["arm_killed"]
    sentences = []
    if killed["zeroed"] < killed["repeats"]:
        sentences.append(
            f"of {killed['repeats']} times that the controller was killed, zeros followed only "
            f"{killed['zeroed']} times"
        )
    if killed["silence_ms"]["max"] > bound:
        sentences.append(
            f"the longest silence before the zeros was {killed['silence_ms']['max']:.1f} ms; it "
            f"may be {bound:g} ms"
        )
    if not math.isfinite(arm["inactive_after_s"]):
        sentences.append("the arm was killed, and the controller did not go inactive")
    return sentences


def measure(repeats: int, folder: Path, progress: Any) -> dict[str, Any]:
    """The numbers of ``--json``."""
    import numpy as np

    from projected_control.apps.bench.wire import Wire
    from projected_control.apps.demo.case import settings_for
    from projected_control.apps.demo.fleet import Fleet
    from projected_control.apps.demo.monitor import Monitor
    from projected_control.errors import ProjectedControlError
    from projected_control.settings.nodes import ARM, WATCHDOG

    settings = settings_for("force", 1.0, "paper", False, RESTFUL)
    controller = settings.case.node
    file = folder / "parameters.yaml"
    file.write_text(settings.parameter_file(), encoding="utf-8")
    environment = {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", str(1 + os.getpid() % 100)),
    }
    os.environ.update(environment)
    fleet, monitor = Fleet(folder, environment), Monitor(controller)
    wire = Wire()
    silences: list[float] = []
    try:
        for node in (ARM, WATCHDOG):
            fleet.start(node, ["--params-file", str(file)])
        for i in range(repeats):
            progress("killing the controller", i / repeats)
            fleet.start(controller, ["--params-file", str(file)])
            try:
                wire.wait_for_torque()
            except ProjectedControlError as error:
                raise ProjectedControlError(
                    f"{error} (for the {i + 1}th time); its last words: {fleet.tail(controller)}"
                ) from None
            fleet.kill(controller)
            silences.append(wire.silence_before_zero())
        progress("killing the controller", 1.0)
        fleet.start(controller, ["--params-file", str(file)])
        wire.wait_for_torque()
        monitor.spin(1.0)
        fleet.kill(ARM)
        after, reason = wire.until_inactive(monitor, controller)
    finally:
        fleet.stop()
        wire.close()
        monitor.close()
    heard = np.array([s for s in silences if np.isfinite(s)])
    longest = heard if heard.size else np.array([np.nan])
    return {
        "controller_killed": {
            "repeats": repeats,
            "zeroed": int(heard.size),
            "within_20_ms": int((heard <= LIMIT).sum()),
            "silence_ms": {
                "p50": float(1e3 * np.median(longest)),
                "max": float(1e3 * longest.max()),
                "over_20_ms": [float(1e3 * s) for s in heard if s > LIMIT],
            },
        },
        "arm_killed": {"inactive_after_s": after, "reason": reason},
    }
