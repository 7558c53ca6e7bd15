"""What a browser is sent: whatever is new to it, at its own pace.

It says when it has drawn a picture, and gets the next one then, so that a slow browser, or one in
the background, is not flooded, keeps no other one waiting, and the memory for each is bounded.
"""

from __future__ import annotations

import asyncio
import json
import logging
from time import monotonic
from typing import Any

from aiohttp import web

from projected_control import __version__
from projected_control.apps.reports.contents import plain
from projected_control.apps.view import presets
from projected_control.apps.view.browser_commands import Commands
from projected_control.apps.view.mirror import Mirror
from projected_control.apps.view.watch import MirrorWatch

FRAME_SECONDS = 1.0 / 30.0  # period of the pictures [s]
OVERVIEW_SECONDS = 0.25  # period in which controllers and lights are looked at [s]

STALLED_SECONDS = 20.0
"""How long a browser may take to accept a message before it is left alone [s]."""

MOST_SAMPLES = 1500  # states in one message at most: what the charts show

UNSEEN = 2
"""Pictures that a browser may have without having drawn them; it gets no more before it says so."""

logger = logging.getLogger(__name__)


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


class Feed:
    """Sends browsers what they look at.

    Args:
        watch: What there is to see.
        commands: What can be done, and has been.
    """

    def __init__(self, watch: MirrorWatch, commands: Commands) -> None:
        self._watch, self._commands = watch, commands
        self._pictures: dict[str, tuple[float, dict[str, Any] | None]] = {}

    async def run(self, client: Client) -> None:
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
        demo = self._commands.demo
        overview = {
            **self._watch.overview(now),
            "presets": presets.names(),
            "demo": demo.state if demo is not None else None,
        }
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
        return json.dumps(plain(message), separators=(",", ":"))
