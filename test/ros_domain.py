"""A ROS domain that no other process uses."""

from __future__ import annotations

import fcntl
import gc
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def free_domain() -> tuple[int, IO[str]]:
    """A domain that is not in use, and the lock that keeps it ours: other test runs ask here too.

    A node of this process that was destroyed is heard in its domain until Python has collected what
    still refers to it.
    """
    gc.collect()
    folder = Path(tempfile.gettempdir(), f"projected_control_domains_{os.getuid()}")
    folder.mkdir(exist_ok=True)
    for i in range(100):
        domain = 1 + (os.getpid() + i) % 100
        lock = (folder / str(domain)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("", 7410 + 250 * domain))  # where the first participant listens
        except OSError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError("no ROS domain is free")


@contextmanager
def own_domain() -> Iterator[dict[str, str]]:
    """The environment for a demonstration, which would take a domain itself: a fleet's, by chance.

    It listens who is in a domain before it takes it; a fleet that is about to begin is not heard.
    """
    domain, lock = free_domain()
    with lock:
        yield {"ROS_DOMAIN_ID": str(domain)}
