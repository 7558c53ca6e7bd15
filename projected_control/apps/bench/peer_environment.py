"""Peers whose dependencies clash with ours: each in an environment of its own, made once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

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
    """A library that is asked for inverse dynamics."""

    name: str  # for people, and of its environment
    packages: tuple[str, ...]  # what the environment is made of
    script: str  # file beside this one that asks it
    title: str  # for tables


PLACO = Peer("placo", ("placo==0.10.2",), "placo_peer.py", "placo 0.10.2, from Python")
"""Pins a Pinocchio of its own."""

TSID = Peer(
    "tsid",
    ("tsid==1.7.1", "pin==3.4.0", "cmeel-urdfdom<5", "cmeel-tinyxml2<11", "numpy"),
    "tsid_peer.py",
    "TSID 1.7.1, from Python",
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


@dataclass(frozen=True)
class PeerProblem:
    """A robot at rest that is asked for a motion of its joints."""

    urdf: str  # its description
    positions: dict[str, float]  # where its joints are [rad]
    followed: tuple[str, ...]  # joints that are to move by 0.05 rad
    passive: tuple[str, ...] = ()  # joints without a motor
    ends: tuple[str, ...] = ()  # two frames that are closed to a loop in a plane; none for no loop
    held: tuple[str, ...] = ()  # frames that are held where they are, each at a point
    effort: dict[str, float] | None = None  # largest efforts; None where limits are not looked at

    @property
    def bare_urdf(self) -> str:
        """Without meshes, which are not needed here; efforts' limits are those of the problem."""
        root = ElementTree.fromstring(self.urdf)
        for link in root.iter("link"):
            for kind in ("visual", "collision"):
                for part in link.findall(kind):
                    link.remove(part)
        for joint in root.iter("joint"):
            limit = joint.find("limit")
            if limit is not None and self.effort is not None:
                name = joint.get("name", "")
                limit.set("effort", repr(float(self.effort.get(name, 0.0))))
        return ElementTree.tostring(root, encoding="unicode")


def five_bar() -> PeerProblem:
    """The five-bar, without limits."""
    return PeerProblem(five_bar_urdf(), assembled(), ACTUATED, PASSIVE, ENDS)


def ask(peer: Peer, seconds: float, problem: PeerProblem | None = None) -> dict[str, Any]:
    """What a peer says of a problem, the five-bar's unless given, solved again and again.

    Raises:
        Unavailable: Where it does not run, or finds no solution.
    """
    python, problem = peer_python(peer), problem or five_bar()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "robot.urdf").write_text(problem.bare_urdf, encoding="utf-8")
        told = {name: value for name, value in vars(problem).items() if name != "urdf"}
        done = subprocess.run(
            tied([str(python), "-I", str(Path(__file__).with_name(peer.script))]),
            input=json.dumps({**told, "urdf": folder, "seconds": seconds}),
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
