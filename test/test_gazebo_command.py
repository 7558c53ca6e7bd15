"""``projected-control gazebo``: its arguments, what it starts, how it ends; without a Gazebo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from time import monotonic, sleep

import pytest
from marked import Mark
from pretended_gazebo import pretend

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from projected_control.apps import cli
from projected_control.apps.gazebo import gazebo_run
from projected_control.apps.gazebo.arguments import ARGUMENTS
from projected_control.apps.launch import declared
from projected_control.errors import InvalidValue, UnknownName

LEFT = "the arm has left its constraint"
ARGV = ("access:=python", "controller:=motion")
PATIENCE = 90.0
"""How long a process may take to come or to go [s]. Only a failing test waits that long."""

COMMAND = """
import signal, sys
from projected_control.apps import cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started with:
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup and a shell's & ignore these
sys.exit(cli.main(["gazebo", *sys.argv[1:]]))
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """The command in this process, with a pretended Gazebo: status, words, what is left."""

    def go(*arguments, **gazebo):
        for name, value in pretend(tmp_path, **gazebo).items():
            monkeypatch.setenv(name, value)
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setattr(gazebo_run, "find_gazebo", lambda: None)
        status = cli.main(["gazebo", *ARGV, *arguments])
        return status, "".join(capfd.readouterr()), list(temporary.iterdir())

    return go


def test_a_run_with_an_end_says_and_sets_what_the_ros_wheels_need(run):
    status, said, left = run("seconds:=2")
    assert (status, left) == (0, [])
    assert "gz runs sim -r -s --iterations 2000" in said
    assert (
        gazebo_run.interpreter_remark() in said
    ) is gazebo_run.from_wheels() or not gazebo_run.interpreter_remark()
    assert f"started anew: {'1' if gazebo_run.from_wheels() else 'None'}" in said


def test_where_gazebos_python_finds_us(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/some/where")
    own = gazebo_run.interpreter_environment()
    here, there = own["PYTHONPATH"].split(os.pathsep)
    assert os.path.isdir(os.path.join(here, "projected_control"))
    assert there == "/some/where"
    if sys.prefix != sys.base_prefix:
        assert own["PATH"].split(os.pathsep)[0] == os.path.join(sys.prefix, "bin")


@pytest.mark.parametrize(
    ("gazebo", "reason"),
    [
        ({"said": LEFT}, LEFT),
        ({"status": 3}, "Gazebo ended with status 3"),
        ({"said": "running"}, "Gazebo ended before its time"),
    ],
)
def test_a_run_that_failed_has_status_1_and_a_reason(run, gazebo, reason):
    status, said, left = run("seconds:=1", **gazebo)
    assert (status, left) == (1, [])
    assert f"projected-control: {reason}" in said


def test_a_gazebo_that_does_not_load_our_controller_is_ended(run, monkeypatch):
    monkeypatch.setattr(gazebo_run, "LOADING_SECONDS", 0.5)
    status, said, left = run(loads=False)
    assert (status, left) == (1, [])
    assert "Gazebo did not load our controller" in said
    assert "gz ends" in said


@pytest.mark.parametrize(
    ("number", "said", "status"),
    [
        (signal.SIGINT, "", 130),
        (signal.SIGINT, LEFT, 1),
        (signal.SIGKILL, "", -9),
        pytest.param(signal.SIGTERM, "", 143, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, "", 129, marks=pytest.mark.long),
    ],
)
def test_gazebo_ends_with_the_command(tmp_path, number, said, status):
    """In order, its files still there; a controller that had stopped by itself is the reason."""
    mark, log = Mark(), tmp_path / "log"
    (tmp_path / "temporary").mkdir()
    environment = {**mark.environment, **pretend(tmp_path, said=said)}
    with log.open("wb") as output:
        command = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *ARGV],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        give_up = monotonic() + PATIENCE
        while "gz runs" not in log.read_text():
            assert monotonic() < give_up, log.read_text()
            assert command.poll() is None, log.read_text()
            sleep(0.05)
        command.send_signal(number)
        assert command.wait(PATIENCE) == status, log.read_text()
        mark.until()  # nothing is left of it, not even as an orphan
    finally:
        command.kill()
        command.wait()
    text = log.read_text()
    assert "gz ends" in text
    assert "gone while Gazebo runs" not in text
    assert (f"projected-control: {said}" in text) is bool(said)
    assert number == signal.SIGKILL or list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["controler:=force"], "unknown argument 'controler'; there are: controller,"),
        (["controller:=strong"], "controller:= must be one of "),
        (["force"], "arguments are given as name:=value, got 'force'"),
        (["bridge:=ros2_control"], "ros2 launch projected_control gazebo.launch.py bridge:=ros2_c"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(words, reason, capsys):
    assert cli.main(["gazebo", *words]) == 2
    assert reason in capsys.readouterr().err


def test_arguments_are_listed(capsys):
    assert cli.main(["gazebo", "--show-args"]) == 0
    out = capsys.readouterr().out
    assert "access:=\n" in out
    assert "One of auto, compiled, python. (default: auto)" in out
    assert out.count(":=\n") == len(ARGUMENTS)


def test_arguments_are_read():
    given = declared.read(["arm:=a:=b.yaml"], ARGUMENTS)
    assert (given["arm"], given["preset"]) == ("a:=b.yaml", "paper")
    with pytest.raises(UnknownName):
        declared.read(["gain:=1"], ARGUMENTS)
    with pytest.raises(InvalidValue, match="gui:= must be one of true, false"):
        declared.read(["gui:=yes"], ARGUMENTS)
