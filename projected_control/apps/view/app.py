"""The process of the page: its parts put together, its address told, its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import ssl
import sys
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from projected_control.apps.demo.board import DemoLink
from projected_control.apps.view.access import Gate, is_local
from projected_control.apps.view.browser_commands import Commands
from projected_control.apps.view.page_process import way_there
from projected_control.apps.view.ros_link import RosLink
from projected_control.apps.view.server import Page
from projected_control.apps.view.watch import MirrorWatch
from projected_control.errors import InvalidValue, ProjectedControlError

PORT = 8765
PORTS_TRIED = 20  # how many ports are tried, from the first on, where none was asked for
NICENESS = 5  # how far the page steps back behind loops that share its computer


@dataclass(frozen=True)
class PageOptions:
    """How the page is served."""

    control: bool = False  # whether it may send anything
    host: str = "localhost"  # address to listen on
    port: int | None = None  # port; None for the first free one from `PORT` on
    names: Sequence[str] = ()  # further names under which it may be reached
    # certificate, key: files for https; None for http.
    certificate: Path | None = None
    key: Path | None = None
    browser: bool = False  # whether to open it in a browser
    address_file: Path | None = None  # where to write its address; None for nowhere
    # Descriptor of the socket to the demonstration whose page it is; None for no such.
    demo: int | None = None


def serve(options: PageOptions, say: Callable[[str], None]) -> int:
    """Serve the page until told to stop; returns the exit status."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    os.nice(NICENESS)
    context = _tls(options)
    return asyncio.run(_serve(options, context, say))


async def _serve(
    options: PageOptions, context: ssl.SSLContext | None, say: Callable[[str], None]
) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    link = RosLink()
    watch = MirrorWatch(link)
    gate = Gate(_names(options))
    demo = DemoLink(options.demo) if options.demo is not None else None
    page = Page(watch, Commands(watch, options.control, demo), gate)
    watching = asyncio.create_task(watch.run())
    try:
        port = await _open(page, options, context)
        address = _address(options, port, gate.token)
        _tell(options, address, say)
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({stopped, watching}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()  # raises what ended it
        return 0
    finally:
        watching.cancel()
        await page.close()
        link.close()


async def _open(page: Page, options: PageOptions, context: ssl.SSLContext | None) -> int:
    ports = range(PORT, PORT + PORTS_TRIED) if options.port is None else (options.port,)
    for port in ports:
        try:
            return await page.open(options.host, port, context)
        except OSError as error:
            await page.close()
            reason = error
    raise ProjectedControlError(
        f"cannot listen on {options.host}, port {ports[0]}"
        + (f" to {ports[-1]}" if len(ports) > 1 else "")
        + f": {reason.strerror or reason}; choose another one with --port"
    )


def _names(options: PageOptions) -> list[str]:
    names = list(options.names)
    if not is_local(options.host):
        names += [options.host, socket.gethostname(), socket.getfqdn()]
    return names


def _address(options: PageOptions, port: int, token: str) -> str:
    scheme = "https" if options.certificate else "http"
    host = options.host
    if host in ("0.0.0.0", "::"):
        host = socket.getfqdn()
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{host}:{port}/#{token}"


def _tell(options: PageOptions, address: str, say: Callable[[str], None]) -> None:
    if options.address_file is not None:
        options.address_file.unlink(missing_ok=True)
        options.address_file.touch(mode=0o600)
        options.address_file.write_text(f"{address}\n", encoding="utf-8")
    mode = "it may send" if options.control else "it only shows; --control lets it send"
    say(f"The page ({mode}): {address}")
    if not is_local(options.host):
        if not options.certificate:
            say(
                "It is reached from other computers without encryption: a listener on the way can "
                "read its token. Give --certificate and --key, or leave --host and use ssh -L."
            )
    elif hint := way_there(address):
        say(hint)
    if options.browser and not webbrowser.open(address):
        say("No browser could be opened: open the address yourself.")


def _tls(options: PageOptions) -> ssl.SSLContext | None:
    if not (options.certificate or options.key):
        return None
    if not (options.certificate and options.key):
        raise InvalidValue("--certificate and --key are needed together")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidValue(
            f"cannot read {options.certificate} and {options.key}: {error}"
        ) from None
    return context
