"""``projected-control view``: running controllers in a browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from projected_control.apps.console import extras

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

DESCRIPTION = """\
Serves a page that shows every running controller: the arm with its constraint, reference and
forces, charts, diagnostics, and all parameters. It finds controllers by itself, of this ROS domain,
and goes on when they are started anew. With --control it also sends: parameters, presets,
transitions, set-points, and disturbances and faults to simulated arms.
"""

EPILOG = """\
examples:
  projected-control view --control
      here, in a browser; the address that is printed holds the token without which nobody gets in
  ssh -L 8765:localhost:8765 robot
      on your own computer, to see the page of another one: open the address that it has printed
  projected-control view --host 0.0.0.0 --certificate cert.pem --key key.pem
      reached from other computers, encrypted
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "view",
        help="running controllers in a browser: arm, charts, parameters, faults",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--control", action="store_true", help="may send; without it the page only shows"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="default: the first free one from 8765 on"
    )
    parser.add_argument(
        "--host",
        default="localhost",
        metavar="ADDRESS",
        help="to listen on; default: %(default)s, which other computers do not reach",
    )
    parser.add_argument(
        "--name",
        dest="names",
        action="append",
        default=[],
        metavar="NAME",
        help="another name under which browsers reach it, behind a proxy say; may be repeated",
    )
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="for https, with --key")
    parser.add_argument("--key", type=Path, metavar="FILE", help="of the certificate")
    parser.add_argument(
        "--no-browser", action="store_true", help="open no browser, only print the address"
    )
    parser.add_argument(
        "--address-file",
        type=Path,
        metavar="FILE",
        help="write the address there, readable by you alone",
    )
    parser.add_argument("--demo", type=int, help=argparse.SUPPRESS)  # a socket of the demonstration
    return parser


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from projected_control.errors import InvalidValue

    if args.port is not None and not 0 <= args.port <= 65535:
        raise InvalidValue(f"--port must be between 0 and 65535, got {args.port}")
    extras.require("rclpy", "projected-control view")
    extras.require("aiohttp", "projected-control view")
    # A picture is drawn thirty times a second, for which NumPy will do: the page is there at once.
    os.environ.setdefault("PROJECTED_CONTROL_COMPILE", "0")
    from projected_control.apps.view.app import PageOptions, serve
    from projected_control.apps.view.page_process import has_display

    options = PageOptions(
        control=args.control,
        host=args.host,
        port=args.port,
        names=tuple(args.names),
        certificate=args.certificate,
        key=args.key,
        browser=not args.no_browser and has_display(),
        address_file=args.address_file,
        demo=args.demo,
    )
    return serve(options, lambda text: print(text, flush=True))
