"""``projected-control bench``: how fast, and how well, on this computer."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from projected_control.apps import bench
from projected_control.apps.console.command import Command

if TYPE_CHECKING:
    from projected_control.apps.console.command import Subparsers

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


class Arguments(
    Command,
    help="measure the control loop on this computer",
    description="Measures the control loop on this computer.",
    epilog=EPILOG,
):
    """What it takes: a measurement, with arguments of its own."""

    measure: Callable[[Command], int]

    @classmethod
    def add_to(cls, subparsers: Subparsers) -> argparse.ArgumentParser:
        """Declare it, and the measurements below it."""
        parser = super().add_to(subparsers)
        below = parser.add_subparsers(dest="measurement", metavar="measurement", required=True)
        for name in bench.MEASUREMENTS:
            measurement = import_module(f"{bench.__name__}.{name}")
            measurement.Arguments.add_to(below).set_defaults(measure=measurement.run)
        return parser


def run(args: Arguments) -> int:
    return int(args.measure(args))
