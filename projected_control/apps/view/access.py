"""Who is let in: the checks that every request passes before anything else looks at it.

A page of some other site that runs in the user's own browser can reach this server, because it is
on the user's own computer: it can ask for any address, open websockets, and, by pointing a name of
its own at 127.0.0.1, even pretend to be the same site (DNS rebinding). What it cannot do is know
the token, or say that it is anybody else in its ``Origin`` and ``Host`` headers. So:

- the ``Host`` of every request must be one of ours,
- the ``Origin`` of a websocket must be this very server,
- a websocket must show the token, which is in the address that is printed at the start.

The token comes behind the ``#`` of that address, which browsers do not send, and travels as a
subprotocol of the websocket. It is no cookie: browsers send cookies along with requests that other
pages make, and to every port of this computer. The page's own files are no secret and need none.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import secrets
from collections.abc import Iterable, Mapping
from time import monotonic
from urllib.parse import urlsplit

PROTOCOL = "projected-control"
"""The subprotocol that is spoken; the token is offered beside it, as ``token.<token>``."""

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

LARGEST_MESSAGE = 64 * 1024
"""Longest message that a browser may send [bytes]; what the page sends is a hundred times less."""

MOST_CLIENTS = 16  # most browsers at a time


class Gate:
    """Decides who gets in.

    Args:
        names: Names and addresses under which this server may be reached, beside those of this
            computer itself.
        token: Where a new one is not wanted.

    Attributes:
        token: What a browser has to show.
    """

    def __init__(self, names: Iterable[str] = (), token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._names = {name.lower().strip("[]") for name in (*LOCAL_NAMES, *names)}

    def refuse_request(self, headers: Mapping[str, str]) -> str:
        """Why a request for a file is refused; empty where it is not."""
        host = headers.get("Host", "")
        if host_name(host) not in self._names:
            return f"the host {_shown(host)} is not one of {', '.join(sorted(self._names))}"
        return ""

    def refuse_websocket(self, headers: Mapping[str, str], clients: int) -> str:
        """Why a websocket is refused; empty where it is not."""
        if reason := self.refuse_request(headers):
            return reason
        origin = headers.get("Origin", "")
        host = headers.get("Host", "").lower()
        if origin.lower() not in (f"http://{host}", f"https://{host}"):  # a proxy may speak https
            return f"it comes from the origin {_shown(origin)}" if origin else "it names no origin"
        site = headers.get("Sec-Fetch-Site", "same-origin")
        if site != "same-origin":
            return f"the browser says that it is {_shown(site)}"
        if not self._token_in(headers.get("Sec-WebSocket-Protocol", "")):
            return "it has no token, or a wrong one"
        if clients >= MOST_CLIENTS:
            return f"{clients} browsers are connected already"
        return ""

    def _token_in(self, protocols: str) -> bool:
        offered = [word.strip() for word in protocols.split(",")]
        given = next((w.removeprefix("token.") for w in offered if w.startswith("token.")), "")
        return PROTOCOL in offered and hmac.compare_digest(given.encode(), self.token.encode())


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets; empty where there is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def is_local(address: str) -> bool:
    """Whether an address to listen on is reached from this computer alone."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def _shown(text: str, most: int = 80) -> str:
    """What an unknown client sent, fit for a log: no line breaks, not long."""
    return repr(text[:most])


LOGGED_PER_MINUTE = 60  # refusals that are logged; a flood of them is counted instead

logger = logging.getLogger(__name__)


class Refusals:
    """Logs who was not let in, and counts them when they are too many."""

    def __init__(self) -> None:
        self.count = 0
        self._logged, self._minute = 0, 0.0

    def note(self, peer: str | None, what: str, reason: str) -> None:
        """A client was refused something."""
        self.count += 1
        now = monotonic()
        if now - self._minute > 60.0:
            self._logged, self._minute = 0, now
        self._logged += 1
        if self._logged <= LOGGED_PER_MINUTE:
            logger.warning("refused %s from %s: %s", what, peer or "a client that is gone", reason)
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
