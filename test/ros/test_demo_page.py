"""``demo`` on a terminal: it serves the live page, stays until Enter, and reports as ever."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from time import monotonic
from urllib.request import urlopen

from fleet import Fleet

from projected_control.settings.nodes import FORCE

PATIENCE = 240.0


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._end, other = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment
        )
        os.close(other)
        self.text = ""

    def until(self, words: str) -> None:
        """Read on until it says so."""
        give_up = monotonic() + PATIENCE
        while words not in self.text:
            assert monotonic() < give_up, self.text[-2000:]
            if select.select([self._end], [], [], 0.2)[0]:
                self.text += os.read(self._end, 65536).decode(errors="replace")

    def enter(self) -> None:
        os.write(self._end, b"\n")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30.0)
        os.close(self._end)


@pytest.mark.long
def test_the_demo_opens_the_page_and_stays_until_enter(fleet: Fleet, tmp_path: Path) -> None:
    """Meanwhile it says which of its nodes has died."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    environment = {**fleet.environment, "BROWSER": f"{browser} %s", "DISPLAY": ":0"}
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--seconds", "3"]
    terminal = Terminal([*command, "--out", str(tmp_path / "out")], environment)
    try:
        terminal.until("Enter ends it")
        address = opened.read_text().strip()
        assert address.partition("/#")[2]
        assert address in terminal.text
        with urlopen(address.partition("#")[0]) as answer:  # it is still served
            assert answer.status == 200
        command_line = f"projected_control.ros {FORCE} --ros-args --params-file {tmp_path}"
        subprocess.run(["pkill", "-9", "-f", command_line], check=True)
        terminal.until(f"{FORCE} ended with status -9")
        terminal.enter()
        terminal.until("Report:")
        assert terminal.process.wait(PATIENCE) == 0
    finally:
        terminal.close()
    assert json.loads((tmp_path / "out" / "demo.json").read_text())["ticks"] > 1000
    with pytest.raises(OSError):  # noqa: PT011  the page has ended, too
        urlopen(address.partition("#")[0])


@pytest.mark.long
def test_without_a_terminal_there_is_no_page(fleet: Fleet, tmp_path: Path) -> None:
    """As in continuous integration: it ends by itself."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo"]
    done = subprocess.run(
        [*command, "--seconds", "0.5", "--out", str(tmp_path)],
        env={**fleet.environment, "DISPLAY": ":0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert "Report:" in done.stdout
    assert not (tmp_path / "view.log").exists()
