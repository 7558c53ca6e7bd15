"""Blocks of the documentation for ROS 2's command line, beside the nodes that they speak to."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from time import monotonic, sleep

import pytest
from blocks import Block, Session, blocks_of, pages

MARKED = {
    page: blocks
    for page in pages()
    if (blocks := [block for block in blocks_of(page) if "ros2" in block.marks])
}
PATIENCE = 600.0
"""How long the nodes may take to come up, the first compilation of their kernels included [s]."""

RUN = 600
"""How long the arm moves; before that, the demonstration makes the same run in process [s].

In lockstep, so that a busy computer loses nothing; that may be faster than the clock.
"""

ENOUGH = 20.0  # how long a command is listened to that does not end by itself: ros2 topic echo [s]
LONGEST = 120.0  # how long any other may take [s]; ros2 alone takes seconds to begin

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("ros2") is None, reason="the command ros2 is not installed"),
]


@pytest.mark.parametrize("page", MARKED)
def test_commands_for_running_nodes_are_answered(page, tmp_path):
    controllers = {block.marks["ros2"] for block in MARKED[page]}
    for controller in sorted(controllers):
        session = Session(tmp_path / controller)
        nodes = _start(session, controller)
        try:
            _wait_for(session, f"/{controller}_controller", nodes)
            for block in MARKED[page]:
                if block.marks["ros2"] == controller:
                    _run(session, block)
            assert nodes.poll() is None, "the demonstration ended by itself"
        finally:
            nodes.send_signal(signal.SIGINT)
            try:
                nodes.wait(60.0)
            finally:  # nothing of it stays behind, whatever it does
                with suppress(ProcessLookupError):
                    os.killpg(nodes.pid, signal.SIGKILL)


def _start(session: Session, controller: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--controller"]
    with (session.folder / "nodes.log").open("wb") as log:
        return subprocess.Popen(
            [
                *command,
                controller,
                "--preset",
                "gentle",
                "--lockstep",
                "--seconds",
                str(RUN),
                "--out",
                "nodes",
            ],
            cwd=session.folder,
            env=session.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_for(session: Session, node: str, nodes: subprocess.Popen[bytes]) -> None:
    start = monotonic()
    while "active [3]" not in _said(session, f"ros2 lifecycle get {node}"):
        assert nodes.poll() is None, (session.folder / "nodes.log").read_text(encoding="utf-8")
        assert monotonic() - start < PATIENCE, f"{node} does not become active"
        sleep(1.0)


def _run(session: Session, block: Block) -> None:
    refused = "# Setting parameter failed" in block.text
    for command in block.commands:
        said = _said(session, command)
        if command.startswith("ros2 param set"):
            assert ("failed" if refused else "successful") in said, f"{block.place}: {said}"
        elif command.startswith("ros2 service call"):
            assert "response:" in said, f"{block.place}: {said}"
        elif command.startswith("ros2 lifecycle set"):
            assert "Transitioning successful" in said, f"{block.place}: {said}"
        elif command.startswith("ros2 topic echo"):
            assert "name:" in said, f"{block.place}: {said}"
        elif command.startswith("ros2 topic pub"):
            assert "publishing #1" in said, f"{block.place}: {said}"


def _said(session: Session, command: str) -> str:
    """What a command prints."""
    seconds = ENOUGH if command.startswith("ros2 topic echo") else LONGEST
    environment = dict(session.environment)
    if environment.pop("_ROS_WHEELS_BOOTSTRAP_COMPLETE", ""):
        environment.pop("LD_LIBRARY_PATH", None)  # of our wheels; ros2 may have its own
    done = subprocess.run(
        ["timeout", "-s", "INT", str(seconds), "/bin/sh", "-c", f"exec {command}"],
        cwd=session.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.stdout
