"""Peers whose dependencies clash with ours: each in an environment of its own, made once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from projected_control.apps.bench.five_bar import (
    ACTUATED,
    ENDS,
    PASSIVE,
    assembled,
    five_bar_urdf,
)
from projected_control.native.toolchain import run
from projected_control.resources import cache_folder
from projected_control.with_parent import tied


class Peer(NamedTuple):
    """A library that is asked for the five-bar's inverse dynamics."""

    name: str  # for people, and of its environment
    packages: tuple[str, ...]  # what the environment is made of
    script: str  # file beside this one that asks it


PLACO = Peer("placo", ("placo==0.10.2",), "placo_peer.py")
"""Pins a Pinocchio of its own."""

TSID = Peer(
    "tsid",
    ("tsid==1.7.1", "pin==3.4.0", "cmeel-urdfdom<5", "cmeel-tinyxml2<11", "numpy"),
    "tsid_peer.py",
)
"""The newest whose wheels work: those of 1.10.0 install beside Pinocchio 4 and corrupt its memory
at the first robot, those of 1.9.0 lack libtsid. 1.7.1 does not say which Pinocchio it was linked
with, nor which libraries that one was."""


class Unavailable(Exception):
    """A peer cannot be measured here."""


def peer_python(peer: Peer) -> Path:
    """The Python of a peer's environment, which is made first where it is not there.

    Raises:
        ExportFailed: Where it cannot be made.
    """
    folder = cache_folder() / f"peers-{peer.name}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(
            f"projected-control: an environment for {peer.name} is made in {folder}",
            file=sys.stderr,
        )
        run([sys.executable, "-m", "venv", "--clear", str(folder)], "making an environment")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        run([*pip, *peer.packages], f"installing {peer.packages[0]}")
        (folder / "complete").touch()
    return python


def main() -> None:
    """Make the environments of all peers, for the tests beside them."""
    for peer in (PLACO, TSID):
        peer_python(peer)


def ask(peer: Peer, seconds: float) -> dict[str, Any]:
    """What a peer says of the five-bar, solved again and again for so many seconds.

    Raises:
        Unavailable: Where it does not run, or finds no solution.
    """
    python = peer_python(peer)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "robot.urdf").write_text(five_bar_urdf(), encoding="utf-8")
        problem = {
            "urdf": folder,
            "positions": assembled(),
            "ends": ENDS,
            "passive": PASSIVE,
            "actuated": ACTUATED,
            "seconds": seconds,
        }
        done = subprocess.run(
            tied([str(python), "-I", str(Path(__file__).with_name(peer.script))]),
            input=json.dumps(problem),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise Unavailable(
            f"{peer.name} did not run (status {done.returncode}): {done.stderr.strip()[-300:]}"
        )
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    if result["failed"]:
        raise Unavailable(f"{peer.name} failed in {result['failed']} of {result['solves']} solves")
    return result


if __name__ == "__main__":
    main()
