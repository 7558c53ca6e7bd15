"""``projected-control record``: what a running controller does, tick by tick, in an MCAP file."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from projected_control import extras
from projected_control.apps.console.command import Command, flag, option, positional

DESCRIPTION = """\
Has a running controller node record every tick, until Ctrl-C or for so many seconds. The node
itself records, in its own process, so that nothing is missed on the way; this command only sets its
parameter recording.file, and sets it back in the end. Killed, it leaves the recording running:
ros2 param set NODE recording.file "" ends it.

The file opens in Foxglove, Lichtblick, PlotJuggler and ros2 bag, and in projected-control replay,
report, compare, identify, fit and animate.
"""

EPILOG = """\
examples:
  projected-control record force_controller
  projected-control record /left/force_controller --out left.mcap --seconds 30
  ros2 param set /force_controller recording.file /tmp/run.mcap
"""


class Arguments(
    Command, help="record a running controller tick by tick", description=DESCRIPTION, epilog=EPILOG
):
    node: str = positional("the controller, as in ros2 node list", "NODE")
    out: Path | None = option(
        "where to, *.mcap (default: the node's name and the time); a name that exists gets a "
        "number",
        metavar="FILE",
    )
    seconds: float | None = option("how long (default: until Ctrl-C)", metavar="S")
    json: bool = flag("print the outcome as one JSON object")


def run(args: Arguments) -> int:
    """Start the recording, wait, end it."""
    from projected_control.errors import InvalidValue

    extras.require("rclpy", "projected-control record")
    if args.seconds is not None and not 0.0 < args.seconds <= 86400.0:
        raise InvalidValue(f"--seconds must be between 0 and a day, got {args.seconds:g}")
    from projected_control.apps.fleet.remote_node import remote_node
    from projected_control.apps.reports.contents import as_json

    name = args.node.strip("/").replace("/", "_")
    default = Path(f"{name}_{datetime.now():%Y%m%d_%H%M%S}.mcap")
    file = (args.out or default).expanduser().absolute()
    with remote_node(args.node) as node:
        node.set({"recording.file": str(file)})
        status: dict[str, Any] = {}
        try:
            status = _watch(node, args.seconds, args.json)
        finally:
            node.set({"recording.file": ""})
    if not status:
        print(
            f"projected-control: {args.node} was not active, and nothing was recorded; it would "
            "have begun with its activation",
            file=sys.stderr,
        )
        return 1
    if args.json:
        print(as_json(status))
    else:
        lost = f", {status['lost']} were lost" if status["lost"] else ""
        print(f"{status['file']}: {status['rows']} ticks{lost}, {status['megabytes']:.1f} MB")
    return 1 if status["trouble"] else 0


def _watch(node: Any, seconds: float | None, quiet: bool) -> dict[str, Any]:
    """Say how it goes until the time is over or Ctrl-C is pressed; the last status."""
    status: dict[str, Any] = {}
    passed, step = 0.0, 0.5
    try:
        while seconds is None or passed < seconds:
            node.spin(min(step, seconds - passed) if seconds is not None else step)
            passed += step
            status = node.summary().get("recording", {})
            if status and not quiet:
                line = f"\r{status['rows']} ticks, {status['megabytes']:.1f} MB"
                print(line, end="", file=sys.stderr, flush=True)
            if not status or status["trouble"]:
                break
    except KeyboardInterrupt:
        pass
    if status and not quiet:
        print(file=sys.stderr)
    return status
