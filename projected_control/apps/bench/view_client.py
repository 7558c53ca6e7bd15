"""A client of the live page that reads everything and draws nothing, for measurements.

It prints what it saw as one JSON object when it is told to end. With a second argument,
``parameter=value``, it sets that once, after `SETTLED` pictures.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

from aiohttp import ClientSession, WSMsgType

from projected_control.apps.view.access import PROTOCOL

SETTLED = 60
"""Pictures before the parameter is set."""

SET = 1  # number of that request


@dataclass
class Looked:
    """What a client saw."""

    pictures: int = 0
    first: float = 0.0  # when the first came, on the monotonic clock [s]
    last: float = 0.0  # when the last came [s]
    answered: float | None = None  # how long the answer to the change took [s]
    refused: str = ""  # why it was refused

    def picture(self) -> None:
        self.last = monotonic()
        self.first = self.first or self.last
        self.pictures += 1

    def answer(self, message: dict[str, Any], asked: float) -> None:
        self.answered = monotonic() - asked
        self.refused = "" if message["ok"] else str(message.get("reason", message))


async def read(address: str, change: str = "") -> Looked:
    """Look at the first controller until told to end."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    origin, _, token = address.partition("/#")
    protocols = (PROTOCOL, f"token.{token}")
    seen, watched, asked = Looked(), "", 0.0
    name, _, value = change.partition("=")
    async with (
        ClientSession() as session,
        session.ws_connect(f"{origin}/socket", protocols=protocols, origin=origin) as socket,
    ):
        ended = asyncio.create_task(stop.wait())
        while not stop.is_set():
            coming = asyncio.create_task(socket.receive())
            await asyncio.wait({coming, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                break
            message = coming.result()
            if message.type in (WSMsgType.CLOSED, WSMsgType.CLOSING, WSMsgType.ERROR):
                break
            if message.type != WSMsgType.TEXT:
                continue
            if message.data.startswith('{"is":"frame"'):
                seen.picture()
                await socket.send_json({"ask": "seen", "number": 0})
                if change and not asked and seen.pictures > SETTLED:
                    asked = monotonic()
                    new = {"ask": "set", "controller": watched, "node": watched, "number": SET}
                    await socket.send_json({**new, "values": {name: float(value)}})
            elif not watched and message.data.startswith('{"is":"overview"'):
                if controllers := json.loads(message.data)["controllers"]:
                    watched = controllers[0]["id"]
                    ask = {"ask": "watch", "controller": watched, "number": 0}
                    await socket.send_json(ask)
            elif asked and message.data.startswith('{"is":"answer"'):
                seen.answer(json.loads(message.data), asked)
    return seen


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(read(*sys.argv[1:])))))
