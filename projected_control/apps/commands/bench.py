"""``projected-control bench``: how fast, and how well, on this computer."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from projected_control.apps import bench

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

EPILOG = """\
examples:
  projected-control bench tick
      one tick of the control loop, measured on this computer
  projected-control bench tick --seconds 10 --json
      longer, and only the numbers
  projected-control bench simulation --json
      how many times real time a closed loop in process runs
  projected-control bench faults --repeats 3
      kills processes of the demonstration and times what follows
  projected-control bench view
      what the live page and its browsers cost a loop
  projected-control bench node
      the processor time of a controller, and that of a node that only echoes
  projected-control bench gazebo
      how many times real time Gazebo runs with our controllers in its physics step

exit status: 1 where a documented bound was missed; --bound sets another one
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand and the measurements below it."""
    parser = subparsers.add_parser(
        "bench",
        help="measure the control loop on this computer",
        description="Measures the control loop on this computer.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    below = parser.add_subparsers(dest="measurement", metavar="measurement", required=True)
    for name in bench.MEASUREMENTS:
        measurement = import_module(f"{bench.__name__}.{name}")
        measurement.add_parser(below).set_defaults(measure=measurement.run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the measurement asked for."""
    return int(args.measure(args))
