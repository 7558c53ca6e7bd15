"""``demo`` on a terminal: it serves the live page, stays until Enter, and reports as ever."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

from browser import Browser, missing
from fleet import Fleet
from terminal import PATIENCE, Terminal

from projected_control.settings.nodes import FORCE


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


UNHEARD = """
import tempfile
from pathlib import Path
from projected_control.apps.demo import nodes_run
from projected_control.apps.fleet.monitor import Monitor
from projected_control.apps.fleet.node_processes import Fleet
nodes_run.START_SECONDS, nodes_run.SAY_SECONDS = 1.0, 0.3
with tempfile.TemporaryDirectory() as folder:
    nodes_run.wait_for_controller(Monitor("absent_controller"), Fleet(Path(folder), {}), print)
"""


def test_a_controller_that_is_not_heard_of_is_named(fleet: Fleet) -> None:
    """Said while it is waited for, and then how to look into it; no endless silence."""
    done = subprocess.run(
        [sys.executable, "-c", UNHEARD], env=fleet.environment, capture_output=True, text=True
    )
    assert "Still waiting for absent_controller" in done.stdout
    assert done.returncode == 1
    assert "absent_controller runs, but was not heard of for 1 s; heard of were" in done.stderr


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


@pytest.fixture
def browser() -> Iterator[Browser]:
    made = Browser()
    made.size(1280, 800)
    yield made
    made.close()


BANNER = "document.getElementById('demo-banner').textContent"
RUNS = "page.state.demo?.task === {task!r} && !page.state.demo.switching"


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_one_click_shows_the_other_task(fleet: Fleet, tmp_path: Path, browser: Browser) -> None:
    """It ends what runs, starts the other, and the page goes on; a second click is refused."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--seconds", "3"]
    terminal = Terminal([*command, "--out", str(tmp_path / "out")], fleet.environment)
    try:
        terminal.until("/#")
        address = (tmp_path / "out" / "view.address").read_text().strip()
        browser.driver.get(address)
        browser.until(RUNS.format(task="slider"))
        browser.click("[data-task=seven_joints]")
        browser.until(f"{BANNER}.includes('starts seven_joints')")
        second = browser.run("return page.link.ask({ask: 'demo', task: 'slider'})")
        assert second["reason"] == "seven_joints is being started: wait until it runs"
        browser.until(RUNS.format(task="seven_joints"))
        browser.until("page.charts.latest('joint_7/effort') !== undefined", "seven joints")
        drawn = browser.run("return page.scene.frames")
        browser.until(f"page.scene.frames > {drawn + 10}", "a moving arm")
        browser.keep("demo_switched")
        terminal.until("Enter ends it")
        terminal.enter()
        terminal.until("Report:")
        assert terminal.process.wait(PATIENCE) == 0
    finally:
        terminal.close()
    found = json.loads((tmp_path / "out" / "demo.json").read_text())
    assert (found["task"], found["answered"], found["of"]) == ("seven_joints", 3000, 3000)


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_the_page_says_that_a_run_is_not_what_it_should_be(
    fleet: Fleet, tmp_path: Path, browser: Browser
) -> None:
    """As the report does: its controller was stopped in the middle, by Esc."""
    from selenium.webdriver.common.keys import Keys

    command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--seconds", "6"]
    terminal = Terminal([*command, "--out", str(tmp_path / "out")], fleet.environment)
    try:
        terminal.until("/#")
        address = (tmp_path / "out" / "view.address").read_text().strip()
        browser.driver.get(address)
        browser.until(RUNS.format(task="slider"))
        browser.until("page.scene.frames > 10", "a moving arm")
        browser.key(Keys.ESCAPE)
        browser.until(f"{BANNER}.includes('This run is not what it should be')")
        browser.keep("demo_wrong")
        terminal.enter()
        terminal.until("Report:")
        assert terminal.process.wait(PATIENCE) == 1
    finally:
        terminal.close()


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_a_task_that_does_not_start_is_told_of(
    fleet: Fleet, tmp_path: Path, browser: Browser
) -> None:
    """A value that fits the slider alone: the page says what is wrong, and the slider is back."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--seconds", "2"]
    command += ["--set", "constraint.frame:=tip", "--out", str(tmp_path / "out")]
    terminal = Terminal(command, fleet.environment)
    try:
        terminal.until("Enter ends it")
        browser.driver.get((tmp_path / "out" / "view.address").read_text().strip())
        browser.until(RUNS.format(task="slider"))
        browser.click("[data-task=seven_joints]")
        told = browser.until("page.state.demo?.trouble")
        assert told.startswith("seven_joints was not started: ")
        assert told.endswith("slider runs again.")
        assert told in browser.until(BANNER)
        browser.until(RUNS.format(task="slider"))
    finally:
        terminal.close()
