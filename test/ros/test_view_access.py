"""Foreign requests to the live page change nothing and are logged; what a client may ask for."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from time import monotonic, sleep
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, WSServerHandshakeError
from browser import Server
from fleet import STEADY, THREE_LINK, Fleet

from projected_control.apps.view.access import LARGEST_MESSAGE, PROTOCOL
from projected_control.settings.nodes import FORCE

NODE = f"/{FORCE}"
SET = {"ask": "set", "controller": NODE, "node": NODE, "values": {"gains.stiffness": [200.0]}}
MEGABYTES = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def server(shared_fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A page that may send, and a controller that waits for an arm."""
    shared_fleet.start(FORCE, {**THREE_LINK, **STEADY}, autostart=False)
    shared_fleet.until_said(FORCE, "unconfigured")
    made = Server(tmp_path_factory.mktemp("view"), shared_fleet.environment, "--control")
    yield made
    assert made.end() == 0


Talk = Callable[[ClientWebSocketResponse], Awaitable[Any]]


def talk(server: Server, say: Talk, **changed: Any) -> Any:
    """Connect as the page does, but for what is changed, and talk."""

    async def run() -> Any:
        own = {
            "origin": server.origin,
            "protocols": (PROTOCOL, f"token.{server.token}"),
            "headers": {},
            **changed,
        }
        async with (
            ClientSession() as session,
            session.ws_connect(f"{server.origin}/socket", max_msg_size=0, **own) as ws,
        ):
            return await say(ws)

    return asyncio.run(run())


async def ask(ws: ClientWebSocketResponse, message: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    await ws.send_json({**message, "number": 7})
    while True:
        said = await ws.receive(timeout=60.0)
        assert said.type in (WSMsgType.TEXT, WSMsgType.BINARY), said
        if said.type == WSMsgType.TEXT and json.loads(said.data)["is"] == "answer":
            return dict(json.loads(said.data))


async def until_known(ws: ClientWebSocketResponse) -> None:
    """Wait until the page knows the controller's parameters."""
    await ws.send_json({"ask": "watch", "controller": NODE, "number": 1})
    while True:
        said = await ws.receive(timeout=60.0)
        if said.type == WSMsgType.TEXT:
            message = json.loads(said.data)
            if message["is"] == "values" and "gains.stiffness" in message["values"]:
                return
            if message["is"] == "overview" and message["controllers"]:
                await ws.send_json({"ask": "watch", "controller": NODE, "number": 1})


def logged(server: Server, words: str, before: int) -> None:
    """The log says so, after what it said before."""
    give_up = monotonic() + 30.0
    while words not in server.log[before:]:
        assert monotonic() < give_up, f"{words!r} not in {server.log[before:]!r}"
        sleep(0.02)


@pytest.fixture
def unchanged(shared_fleet: Fleet, server: Server) -> Iterator[int]:
    """The length of the log so far; in the end, no parameter has changed and the page answers."""
    before = shared_fleet.all_parameters(FORCE)
    yield len(server.log)
    assert shared_fleet.all_parameters(FORCE) == before

    async def hello(ws: ClientWebSocketResponse) -> Any:
        return json.loads((await ws.receive(timeout=60.0)).data)["is"]

    assert talk(server, hello) == "hello"


async def nothing(ws: ClientWebSocketResponse) -> None:
    """Nothing to say."""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"origin": "http://evil.example"}, "origin 'http://evil.example'"),
        ({"origin": "http://localhost:1"}, "origin 'http://localhost:1'"),
        ({"origin": None}, "it names no origin"),
        ({"protocols": (PROTOCOL,)}, "no token"),
        ({"protocols": (PROTOCOL, "token.guessed")}, "no token"),
        ({"headers": {"Host": "evil.example"}}, "host 'evil.example'"),
        ({"headers": {"Sec-Fetch-Site": "cross-site"}}, "cross-site"),
    ],
    ids=["origin", "port", "no origin", "no token", "token", "host", "site"],
)
def test_a_client_without_the_token_does_not_get_in(
    server: Server, unchanged: int, changed: dict[str, Any], reason: str
) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        talk(server, nothing, **changed)
    assert refused.value.status in (403, 421)
    logged(server, reason, unchanged)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "refused a message"),
        ("[1, 2]", "it is no object"),
        ('{"ask": "set"}', "it has no number"),
        ('{"ask": "shell", "number": 1}', "unknown request 'shell'"),
        ('{"ask": ["set"], "number": 1}', "ask must be a short text"),
        ('{"ask": "set", "number": NaN}', "NaN is no number"),
        ("[" * 30000, "refused a message"),
        (json.dumps({**SET, "values": "all", "number": 1}), "values must be parameters"),
    ],
)
def test_nonsense_is_refused(server: Server, unchanged: int, text: str, reason: str) -> None:
    async def say(ws: ClientWebSocketResponse) -> None:
        await until_known(ws)  # of a controller that is not, nothing else is looked at
        await ws.send_str(text)
        await asyncio.to_thread(logged, server, reason, unchanged)

    talk(server, say)


def test_ten_megabytes_in_a_message(server: Server, unchanged: int) -> None:
    async def say(ws: ClientWebSocketResponse) -> bool:
        """Whether the page hangs up."""
        try:
            await ws.send_str("x" * MEGABYTES)
            while (await ws.receive(timeout=60.0)).type in (WSMsgType.TEXT, WSMsgType.BINARY):
                pass
        except ConnectionError:
            return True
        return ws.closed

    assert talk(server, say)
    logged(server, str(LARGEST_MESSAGE), unchanged)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10485760\r\n\r\n",
            "only plain GET",
        ),
        (b"GET /" + b"x" * MEGABYTES, "refused a request"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * MEGABYTES, "refused a request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), "refused a request"),
        (b"GET /../access.py HTTP/1.1\r\nHost: localhost\r\n\r\n", "Not Found"),
        (b"GET /%2e%2e/access.py HTTP/1.1\r\nHost: localhost\r\n\r\n", "Not Found"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "host 'evil.example'"),
    ],
    ids=["post", "path", "header", "tls", "parent", "encoded parent", "host"],
)
def test_broken_and_foreign_requests(
    server: Server, unchanged: int, request_: bytes, reason: str
) -> None:
    host = "localhost"
    with socket.create_connection((host, server.port), timeout=60.0) as wire:
        try:
            wire.sendall(request_)
            if b"POST" in request_:
                wire.sendall(bytes(MEGABYTES))
            answer = wire.recv(4096)
        except ConnectionError:
            answer = b""
    assert b" 200 " not in answer.partition(b"\r\n")[0]
    logged(server, reason, unchanged)


def test_the_page_allows_itself_nothing_foreign(server: Server) -> None:
    async def run() -> tuple[int, dict[str, str]]:
        async with ClientSession() as session, session.get(server.origin) as answer:
            return answer.status, dict(answer.headers)

    status, headers = asyncio.run(run())
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_a_parameter_is_set_refused_and_undone(shared_fleet: Fleet, server: Server) -> None:
    """The arm is not there, so nothing is certain: each is agreed to."""
    first = shared_fleet.get(FORCE, ["gains.stiffness"])

    async def say(ws: ClientWebSocketResponse) -> list[dict[str, Any]]:
        await until_known(ws)
        return [
            await ask(ws, SET),
            await ask(ws, {**SET, "confirmed": True}),
            await ask(ws, {**SET, "values": {"gains.stiffness": [-1.0]}, "confirmed": True}),
            await ask(ws, {**SET, "values": {"gains.stiffness": "soft"}, "confirmed": True}),
            await ask(ws, {**SET, "values": {"gains.softness": 1.0}, "confirmed": True}),
            await ask(ws, {**SET, "controller": "/nobody", "confirmed": True}),
            await ask(ws, {"ask": "undo", "confirmed": True}),
        ]

    asked, done, negative, word, unknown, nobody, undone = talk(server, say)
    assert (asked["ok"], "may move a real arm" in asked["confirm"]) == (False, True)
    assert (done["ok"], done["names"]) == (True, ["gains.stiffness"])
    assert "must be at least" in negative["reason"]
    assert "must be a list" in word["reason"]
    assert "unknown parameter" in unknown["reason"]
    assert "unknown controller '/nobody'" in nobody["reason"]
    assert undone["ok"]
    assert shared_fleet.get(FORCE, ["gains.stiffness"]) == first
    assert f"{NODE}: gains.stiffness = [200]" in server.log
