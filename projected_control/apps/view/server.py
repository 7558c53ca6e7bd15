"""The server of the page: files, one websocket per browser, nothing else.

What a browser sends is read one message at a time, checked, and done (`commands`); what it is sent
is up to its `feed`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from projected_control.apps.view import access
from projected_control.apps.view.access import BrokenRequests, Refusals
from projected_control.apps.view.browser_commands import READ_ONLY, Commands
from projected_control.apps.view.feed import Client, Feed
from projected_control.apps.view.requests import Malformed
from projected_control.apps.view.watch import MirrorWatch

PAGE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

HEARTBEAT_SECONDS = 60.0
"""How often a browser is asked whether it is still there; half of that it has to answer [s]."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
logger = logging.getLogger(__name__)


class Page:
    def __init__(self, watch: MirrorWatch, commands: Commands, gate: access.Gate) -> None:
        self._commands, self._gate = commands, gate
        self._feed = Feed(watch, commands)
        self.refusals = Refusals()
        self._clients: set[Client] = set()
        self._doing: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None

    async def open(self, host: str, port: int, context: ssl.SSLContext | None = None) -> int:
        """Serve from now on; returns the port."""
        app = web.Application(middlewares=[self._check], client_max_size=1024)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/{name:[a-z0-9_]*(?:\\.[a-z]+)?}", self._file)
        broken = logging.Logger("requests", logging.DEBUG)  # of its own: no other handler hears it
        broken.addHandler(BrokenRequests(self.refusals))
        self._runner = web.AppRunner(app, access_log=None, logger=broken, lingering_time=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=context)
        await site.start()
        server = site._server
        assert isinstance(server, asyncio.Server)
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        for client in list(self._clients):
            with suppress(Exception):
                await asyncio.wait_for(client.socket.close(), 1.0)
        for task in self._doing:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    # Requests

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Everything passes here first."""
        what = f"{request.method} {request.path[:60]!r}"
        if reason := self._gate.refuse_request(request.headers):
            self.refusals.note(request.remote, what, reason)
            return web.Response(status=421, text="this page is not served under that name\n")
        if request.method not in ("GET", "HEAD") or request.body_exists:
            self.refusals.note(request.remote, what, "only plain GET requests are answered")
            response = web.Response(status=405, text="only GET\n", headers={"Connection": "close"})
            response.force_close()
            return response
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status >= 400:
                self.refusals.note(request.remote, what, error.reason)
            raise

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = PAGE / (request.match_info["name"] or "index.html")
        if path.parent != PAGE or path.suffix not in KINDS or not path.is_file():
            raise web.HTTPNotFound()
        return web.Response(
            body=path.read_bytes(),
            content_type=KINDS[path.suffix],
            charset="utf-8",
            headers=HEADERS,
        )

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        reason = self._gate.refuse_websocket(request.headers, len(self._clients))
        if reason:
            self.refusals.note(request.remote, "a websocket", reason)
            return web.Response(status=403, text="not let in\n")
        socket = web.WebSocketResponse(
            protocols=(access.PROTOCOL,),
            max_msg_size=access.LARGEST_MESSAGE,
            heartbeat=HEARTBEAT_SECONDS,
            compress=False,
        )
        await socket.prepare(request)
        client = Client(socket, request.remote)
        self._clients.add(client)
        logger.info("a browser has connected; there are %d", len(self._clients))
        sender = asyncio.create_task(self._feed.run(client))
        try:
            await self._read(client)
        finally:
            sender.cancel()
            self._clients.discard(client)
            logger.info("a browser has left; there are %d", len(self._clients))
        return socket

    # From the browser

    async def _read(self, client: Client) -> None:
        async for message in client.socket:
            if message.type != WSMsgType.TEXT:
                reason = str(message.data) if message.type == WSMsgType.ERROR else "it is not text"
                self.refusals.note(client.peer, "a message", reason)
                return
            try:
                asked = json.loads(message.data, parse_constant=_refuse_constant)
                if not isinstance(asked, dict):
                    raise Malformed("it is no object")
                number = asked.get("number")
                if not isinstance(number, int) or isinstance(number, bool):
                    raise Malformed("it has no number")
            except (ValueError, RecursionError) as error:
                self.refusals.note(client.peer, "a message", str(error))
                continue
            if asked.get("ask") == "seen":
                client.unseen = max(client.unseen - 1, 0)
                continue
            if asked.get("ask") == "watch":
                client.look_at(str(asked.get("controller", ""))[:200])
                continue
            task = asyncio.create_task(self._do(client, number, asked))
            self._doing.add(task)
            task.add_done_callback(self._doing.discard)
        broken = client.socket.exception()
        if client.socket.close_code == 1009:
            reason = f"longer than {access.LARGEST_MESSAGE} bytes"
            self.refusals.note(client.peer, "a message", reason)
        elif isinstance(broken, asyncio.TimeoutError):
            logger.info("a browser does not answer any more")
        elif broken is not None:
            self.refusals.note(client.peer, "a message", str(broken))

    async def _do(self, client: Client, number: int, asked: dict[str, Any]) -> None:
        try:
            answer = await self._commands.do(asked)
        except Malformed as error:
            self.refusals.note(client.peer, "a message", str(error))
            answer = {"ok": False, "reason": str(error)}
        except Exception as error:  # whatever a message does, the page goes on
            logger.exception("a request failed")
            answer = {"ok": False, "reason": f"{type(error).__name__}: {error}"}
        if answer.get("reason") == READ_ONLY:
            self.refusals.note(client.peer, f"a request to {asked.get('ask')}", "read-only")
        with suppress(asyncio.QueueFull):
            client.answers.put_nowait({"is": "answer", "to": number, **answer})


def _refuse_constant(name: str) -> None:
    raise Malformed(f"{name} is no number")
