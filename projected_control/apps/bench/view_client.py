"""A client of the live page that reads everything and draws nothing, for ``bench view``.

It prints how many pictures it got when it is told to end.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from aiohttp import ClientSession, WSMsgType

from projected_control.apps.view.access import PROTOCOL


async def read(address: str) -> int:
    """Look at the first controller until told to end; how many pictures came."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    origin, _, token = address.partition("/#")
    protocols = (PROTOCOL, f"token.{token}")
    pictures, watching = 0, False
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
                pictures += 1
                await socket.send_json({"ask": "seen", "number": 0})
            elif not watching and message.data.startswith('{"is":"overview"'):
                controllers = json.loads(message.data)["controllers"]
                if controllers:
                    watching = True
                    ask = {"ask": "watch", "controller": controllers[0]["id"], "number": 0}
                    await socket.send_json(ask)
    return pictures


if __name__ == "__main__":
    print(asyncio.run(read(sys.argv[1])))
