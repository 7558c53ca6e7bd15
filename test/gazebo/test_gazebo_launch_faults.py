"""gazebo.launch.py where something goes wrong: a reason, a status, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from test_gazebo_launch import launch, own_domain, require  # noqa: F401  a fixture

STARTED = "process started with pid"
DETACH = ["gz", "topic", "-t", "/slider/detach", "-m", "gz.msgs.Empty", "-p", ""]


@pytest.fixture
def folder(own_domain, monkeypatch, gazebo):  # noqa: F811
    """For temporary files alone; empty again when everything is over."""
    require("projected_control")
    folder = own_domain / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == []


def run(*arguments):
    """Status of a launch that ends by itself, and what was said."""
    done = subprocess.run(
        launch(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    return done.returncode, done.stdout


class Launch:
    """One that goes on."""

    def __init__(self, log, *arguments):
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                launch(*arguments), stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def said(self):
        return self._log.read_text(errors="replace")

    def until(self, text, seconds=250.0):
        deadline = monotonic() + seconds
        while text not in self.said():
            assert monotonic() < deadline, f"waited for {text}: {self.said()[-2000:]}"
            sleep(0.2)

    def runs(self):
        return self._process.poll() is None

    def status(self, seconds=60.0):
        return self._process.wait(seconds)

    def gazebo(self):
        """The number of Gazebo's process."""
        line = next(line for line in self.said().splitlines() if STARTED in line and "gz-" in line)
        return int(line.split("[")[-1].split("]")[0])

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


@pytest.fixture
def start(own_domain):  # noqa: F811
    started = []

    def go(*arguments):
        started.append(Launch(own_domain / "launch.log", *arguments))
        return started[-1]

    yield go
    for one in started:
        one.close()


def arm_with(folder, text):
    """The three-link arm's file with something more."""
    from projected_control.apps.launch.choices import arm_file

    path = folder.parent / "arm.yaml"
    own = arm_file("three_link_slider", "three_link_slider").read_text()
    path.write_text(own.rstrip() + "\n" + text)
    return f"arm:={path}"


def test_a_setting_that_only_configure_refuses(folder):
    status, said = run("controller:=force", arm_with(folder, "    force: {delay: 20}\n"))
    assert status != 0
    assert STARTED not in said
    assert "the force loop would diverge" in said
    assert "20 samples of delay" in said


def test_a_rate_of_2000(folder):
    file = folder.parent / "numbers.json"
    arm = arm_with(folder, "    rate: 2000.0\n")
    status, said = run("controller:=force", arm, "seconds:=2", f"summary:={file}")
    assert status == 0, said
    numbers = json.loads(file.read_text())
    assert numbers["ticks"] >= 3990
    assert "does not answer" not in said


def test_without_gazebos_python_modules(folder, monkeypatch):
    modules = folder.parent / "modules"
    modules.mkdir()
    for name in ("sdformat14", "sdformat15", "sdformat"):
        (modules / f"{name}.py").write_text(f"raise ImportError('no module {name} here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{modules}:{os.environ['PYTHONPATH']}")
    status, said = run("controller:=motion", "seconds:=1")
    assert status != 0
    assert STARTED not in said
    assert "no module sdformat14 here" in said
    assert "apt install" in said


def test_modules_that_only_gazebos_own_python_lacks(folder, monkeypatch):
    modules = folder.parent / "modules"
    modules.mkdir()
    (modules / "sdformat14.py").write_text(
        "import sys\n"
        "if not sys.argv or 'ros2' not in sys.argv[0]:\n"
        "    raise ImportError('no module sdformat14 in Gazebo')\n"
        f"sys.path.remove({str(modules)!r})\n"
        "del sys.modules['sdformat14']\n"
        "import sdformat14\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{modules}:{os.environ['PYTHONPATH']}")
    status, said = run("controller:=motion", "seconds:=1")
    assert STARTED in said
    assert status != 0
    assert "Gazebo did not load our controller" in said or "no module sdformat14" in said


def detach(one):
    """Let the slider go, until the controller has said so: a command may find no listener."""
    while one.runs() and "left its constraint" not in one.said():
        subprocess.run(DETACH, check=True, timeout=60)
        sleep(1.0)


def test_a_controller_that_stopped_by_itself(folder, start):
    one = start("controller:=motion", "seconds:=6", "factor:=1")
    one.until("active: PIDC")
    detach(one)
    assert one.status() != 0
    assert "the arm has left its constraint" in one.said().split("process has finished")[1]


def test_gazebo_killed(folder, start):
    one = start("controller:=motion")
    one.until("active: PIDC")
    os.kill(one.gazebo(), signal.SIGKILL)
    assert one.status() != 0
    assert "Gazebo ended before its time" in one.said()


def interrupt(one, alone):
    """Ctrl+C, or SIGINT to the launch and to nothing that it has started."""
    (os.kill if alone else os.killpg)(one._process.pid, signal.SIGINT)


@pytest.mark.parametrize("alone", [False, True], ids=["group", "launch alone"])
def test_interrupted(folder, start, alone):
    """Gazebo ends in order, its files still there."""
    one = start("controller:=motion")
    one.until("active: PIDC")
    interrupt(one, alone)
    assert one.status() == 0
    assert not Path(f"/proc/{one.gazebo()}").exists()
    for word in ("Traceback", "Aborted", "and Gazebo ends", "exit code -6"):
        assert word not in one.said()


@pytest.mark.parametrize("alone", [False, True], ids=["group", "launch alone"])
def test_interrupted_after_the_controller_stopped_by_itself(folder, start, alone):
    one = start("controller:=force", "factor:=1")  # at λ_d = 0 the arm stays on its line
    one.until("active: ")
    detach(one)
    assert one.runs()
    interrupt(one, alone)
    assert one.status() == 1
    assert "Gazebo has detached it from what held it" in one.said().split("process has finished")[1]


def test_another_controller_in_the_domain(folder, start):
    first = start("controller:=motion", "factor:=1")
    first.until("active: PIDC")
    status, said = run("controller:=motion", "seconds:=1")
    assert status == 1
    assert "motion_controller run in ROS domain 89 already" in said
    assert "this run goes on" in first.said()
    assert first.runs()
    interrupt(first, alone=False)
    assert first.status() == 0


def test_the_command_without_launch(folder, start, own_domain):  # noqa: F811
    """The same run, to the last digit."""
    files = [folder.parent / name for name in ("launch.json", "command.json")]
    arguments = ("controller:=force", "seconds:=2")
    status, said = run(*arguments, f"summary:={files[0]}")
    assert status == 0, said
    command = ["projected-control", "gazebo", *arguments, f"summary:={files[1]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (json.loads(file.read_text()) for file in files)
    assert first["ticks"] == second["ticks"] >= 1990
    assert first["course"] == second["course"]


def test_numbers_for_nobody(folder):
    """A missing folder, and a way on which none are written."""
    for arguments, reason in (
        ((f"summary:={folder}/missing/numbers.json",), "there is no folder"),
        (("bridge:=ros2_control", f"summary:={folder}/n.json"), "ask it while it runs"),
    ):
        status, said = run(*arguments)
        assert status != 0
        assert reason in said
        assert STARTED not in said
