"""The server of the page: files, one websocket per browser, nothing else.

Every browser has a task that sends what is new to it, at its own pace: it says when it has drawn a
picture, and gets the next one then, so that a slow one, or one in the background, is not flooded,
makes nobody else wait, and the memory for each is bounded. What a browser sends is read one message
at a time, checked, and done.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

from aiohttp import WSMsgType, web

from projected_control import __version__
from projected_control.apps.view import access, presets
from projected_control.apps.view.commands import READ_ONLY, Commands, Malformed
from projected_control.apps.view.mirror import Mirror
from projected_control.apps.view.watch import Watch

PAGE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

FRAME_SECONDS = 1.0 / 30.0
"""Period of the pictures [s]."""

OVERVIEW_SECONDS = 0.25
"""Period in which controllers and lights are looked at [s]."""

HEARTBEAT_SECONDS = 60.0
"""How often a browser is asked whether it is still there; half of that it has to answer [s]."""

STALLED_SECONDS = 20.0
"""How long a browser may take to accept a message before it is left alone [s]."""

MOST_SAMPLES = 1500
"""States in one message at most: what the charts show."""

UNSEEN = 2
"""Pictures that a browser may have without having drawn them; it gets no more before it says so."""

LOGGED_PER_MINUTE = 60
"""Refusals that are logged; a flood of them is counted instead."""

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


class Refusals:
    """Logs who was not let in, and counts them when they are too many."""

    def __init__(self) -> None:
        self.count = 0
        self._logged, self._minute = 0, 0.0

    def note(self, peer: str | None, what: str, reason: str) -> None:
        """Somebody was refused something."""
        self.count += 1
        now = monotonic()
        if now - self._minute > 60.0:
            self._logged, self._minute = 0, now
        self._logged += 1
        if self._logged <= LOGGED_PER_MINUTE:
            logger.warning("refused %s from %s: %s", what, peer or "somebody", reason)
        elif self._logged == LOGGED_PER_MINUTE + 1:
            logger.warning("refused %d so far; more in this minute are not logged", self.count)


class BrokenRequests(logging.Handler):
    """Turns aiohttp's words about requests that are no HTTP into refusals."""

    def __init__(self, refusals: Refusals) -> None:
        super().__init__(logging.DEBUG)
        self._refusals = refusals

    def emit(self, record: logging.LogRecord) -> None:
        peer = record.args[0] if isinstance(record.args, tuple) and record.args else None
        error = record.exc_info[1] if record.exc_info else None
        words = str(error or record.msg).strip().splitlines() or [type(error).__name__]
        self._refusals.note(str(peer), "a request", words[0][:120])


class Client:
    """One browser: what it looks at, and what it has been sent."""

    def __init__(self, socket: web.WebSocketResponse, peer: str | None) -> None:
        self.socket, self.peer = socket, peer
        self.watched = ""
        self.described: tuple[str, int] | None = None
        self.versions: dict[str, int] = {}
        self.cursor = self.heard = self.unseen = 0
        self.overview = self.changes = ""
        self.overview_at = 0.0
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=64)

    def look_at(self, name: str) -> None:
        """Watch a controller from now on."""
        if name != self.watched:
            self.watched, self.described, self.cursor = name, None, 0
            self.versions.clear()
            self.unseen = 0


class Page:
    """The page.

    Args:
        watch: What there is to see.
        commands: What can be done.
        gate: Who is let in.
    """

    def __init__(self, watch: Watch, commands: Commands, gate: access.Gate) -> None:
        self._watch, self._commands, self._gate = watch, commands, gate
        self.refusals = Refusals()
        self._clients: set[Client] = set()
        self._doing: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None
        self._pictures: dict[str, tuple[float, dict[str, Any] | None]] = {}

    async def open(self, host: str, port: int, context: ssl.SSLContext | None = None) -> int:
        """Serve from now on; returns the port."""
        app = web.Application(middlewares=[self._check], client_max_size=1024)
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/{name:[a-z0-9_]*(?:\\.[a-z]+)?}", self._file)
        broken = logging.Logger("requests", logging.DEBUG)  # of its own: nobody else hears it
        broken.addHandler(BrokenRequests(self.refusals))
        self._runner = web.AppRunner(app, access_log=None, logger=broken, lingering_time=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=context)
        await site.start()
        server = site._server
        assert isinstance(server, asyncio.Server)
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Serve no more."""
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
        sender = asyncio.create_task(self._send(client))
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

    # To the browser

    async def _send(self, client: Client) -> None:
        """Send what is new, again and again."""
        try:
            await self._say(client, {
                "is": "hello", "control": self._commands.control, "version": __version__,
            })  # fmt: skip
            while True:
                began = monotonic()
                await self._send_news(client, began)
                await asyncio.sleep(max(FRAME_SECONDS - (monotonic() - began), 0.005))
        except (asyncio.TimeoutError, ConnectionError):
            logger.info("a browser does not listen any more")
            await client.socket.close()

    async def _send_news(self, client: Client, now: float) -> None:
        while not client.answers.empty():
            await self._say(client, client.answers.get_nowait())
        if now - client.overview_at > OVERVIEW_SECONDS:
            client.overview_at = now
            await self._send_overview(client, now)
        mirror = self._watch.mirrors.get(client.watched)
        if mirror is None:
            return
        if client.described != (mirror.name, mirror.generation):
            client.described = (mirror.name, mirror.generation)
            client.versions.clear()
            await self._describe(client, mirror)
        for member in mirror.members:
            if client.versions.get(member.node) != member.version:
                client.versions[member.node] = member.version
                await self._say(client, {
                    "is": "values", "id": mirror.name, "node": member.node, "values": member.values,
                })  # fmt: skip
        await self._send_frame(client, mirror, now)

    async def _send_overview(self, client: Client, now: float) -> None:
        overview = {**self._watch.overview(now), "presets": presets.names()}
        text = _json(overview)
        if text != client.overview:
            client.overview = text
            await self._say_text(client, text)
        changes = self._commands.changes
        text = _json({
            "is": "changes",
            "list": [{"controller": c.controller, "text": c.text} for c in changes],
        })  # fmt: skip
        if text != client.changes:
            client.changes = text
            await self._say_text(client, text)
        for number, entry in list(self._watch.said):
            if number > client.heard:
                client.heard = number
                await self._say(client, {"is": "said", **entry})

    async def _describe(self, client: Client, mirror: Mirror) -> None:
        scene = mirror.scene
        await self._say(client, {
            "is": "description",
            "id": mirror.name,
            "generation": mirror.generation,
            "kind": mirror.kind,
            "trouble": mirror.trouble,
            "nodes": [
                {
                    "node": member.node,
                    "parameters": [control.as_json() for control in member.controls.values()],
                }
                for member in mirror.members
            ],
            **(scene.description() if scene is not None else {}),
        })  # fmt: skip
        if scene is not None:
            blob = scene.geometry(mirror.name)
            await asyncio.wait_for(client.socket.send_bytes(blob), STALLED_SECONDS)

    async def _send_frame(self, client: Client, mirror: Mirror, now: float) -> None:
        if client.unseen >= UNSEEN:
            return
        history = mirror.history
        samples = history.since(client.cursor)[-MOST_SAMPLES:]
        client.cursor = history.count
        picture = self._picture(mirror, now)
        if picture is None and not samples:
            return
        client.unseen += 1
        await self._say(client, {
            "is": "frame",
            "id": mirror.name,
            "time": history.time,
            "running": mirror.running(now),
            "names": history.names,
            "samples": samples,
            "picture": picture,
        })  # fmt: skip

    def _picture(self, mirror: Mirror, now: float) -> dict[str, Any] | None:
        """The picture of this moment, drawn once for all browsers."""
        drawn_at, picture = self._pictures.get(mirror.name, (0.0, None))
        if now - drawn_at >= 0.9 * FRAME_SECONDS:
            picture = mirror.picture(now)
            self._pictures[mirror.name] = now, picture
        return picture

    async def _say(self, client: Client, message: dict[str, Any]) -> None:
        await self._say_text(client, _json(message))

    async def _say_text(self, client: Client, text: str) -> None:
        await asyncio.wait_for(client.socket.send_str(text), STALLED_SECONDS)


def _json(message: Any) -> str:
    """JSON without NaN, which browsers do not read: null in its place."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(message), separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


def _refuse_constant(name: str) -> None:
    raise Malformed(f"{name} is no number")
