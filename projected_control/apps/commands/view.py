"""``projected-control view``: running controllers in a browser."""

from __future__ import annotations

from pathlib import Path

from projected_control import extras
from projected_control.apps.console.command import HIDDEN, Command, flag, option

DESCRIPTION = """\
Serves a page that shows every running controller: the arm with its constraint, reference and
forces, charts, diagnostics, and all parameters. It finds controllers by itself, of this ROS domain,
and goes on when they are started anew. With --control it also sends: parameters, presets,
transitions, set-points, and disturbances and faults to simulated arms.
"""

EPILOG = """\
examples:
  projected-control view --control
      here, in a browser; the address that is printed holds the token that lets a browser in
  ssh -L 8765:localhost:8765 robot
      on your own computer, to see the page of another one: open the address that it has printed
  projected-control view --host 0.0.0.0 --certificate cert.pem --key key.pem
      reached from other computers, encrypted
"""


class Arguments(
    Command,
    help="running controllers in a browser: arm, charts, parameters, faults",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    control: bool = flag("may send; without it the page only shows")
    port: int | None = option("default: the first free one from 8765 on", metavar="N")
    host: str = option(
        "to listen on; default: %(default)s, which other computers do not reach",
        "localhost",
        "ADDRESS",
    )
    names: list[str] = option(
        "another name under which browsers reach it, behind a proxy say; may be repeated",
        [],
        "NAME",
        flags=("--name",),
    )
    certificate: Path | None = option("for https, with --key", metavar="FILE")
    key: Path | None = option("of the certificate", metavar="FILE")
    no_browser: bool = flag("open no browser, only print the address")
    address_file: Path | None = option(
        "write the address there, readable by you alone", metavar="FILE"
    )
    demo: int | None = option(HIDDEN)


def run(args: Arguments) -> int:
    from projected_control.errors import InvalidValue

    if args.port is not None and not 0 <= args.port <= 65535:
        raise InvalidValue(f"--port must be between 0 and 65535, got {args.port}")
    extras.require("rclpy", "projected-control view")
    extras.require("aiohttp", "projected-control view")
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
