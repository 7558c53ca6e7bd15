"""A command that is ended leaves no process behind, by whatever signal it ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from marked import Mark

from projected_control.with_parent import end, started, tied

COMMAND = """
import signal, subprocess, sys, time
from types import SimpleNamespace
from projected_control.apps import cli, commands
from projected_control.apps.console.command import Command
from projected_control.with_parent import tied

def run(args):
    held = subprocess.Popen(tied([sys.executable, "-c", "import time; time.sleep(600)"]))
    try:
        print("runs", flush=True)
        time.sleep(600)
    finally:
        print("tidied", flush=True)

class Arguments(Command, help="holds", description="Holds a process."):
    @staticmethod
    def add_to(subparsers):
        return subparsers.add_parser("held")

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started with:
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup and a shell's & ignore these
commands.available = lambda only: [SimpleNamespace(Arguments=Arguments, run=run)]
sys.exit(cli.main(["held"]))
"""


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "tidied\n"),
        (signal.SIGTERM, 143, "tidied\n"),
        (signal.SIGHUP, 129, "tidied\n"),
        (signal.SIGKILL, -9, ""),
    ],
)
def test_what_a_command_has_started_ends_with_it(number, status, said):
    mark = Mark()
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND], env=mark.environment, stdout=subprocess.PIPE, text=True
    )
    with command:
        assert command.stdout.readline() == "runs\n"
        mark.until("time.sleep(600)")
        command.send_signal(number)
        assert command.stdout.read() == said
    assert command.returncode == status
    mark.until()


def test_a_process_whose_parent_has_ended_does_not_begin(tmp_path):
    """However early that was: the parent's number comes with the command."""
    file = tmp_path / "begun"
    words = tied(["touch", str(file)])
    gone = subprocess.Popen(["true"])
    gone.wait()
    words[words.index(str(Path(words[2]))) + 1] = str(gone.pid)
    assert subprocess.run(words).returncode == -signal.SIGTERM
    assert not file.exists()


def test_a_program_that_is_not_there_is_named():
    done = subprocess.run(tied(["no_such_program"]), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no_such_program cannot be run: No such file" in done.stderr


IGNORING = """
import signal, sys, time
for number in map(int, sys.argv[1:]):
    signal.signal(number, signal.SIG_IGN)
print("runs", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("with_children", [True, False])
def test_processes_that_do_not_listen_are_killed(with_children):
    ignored = [[], [signal.SIGINT], [signal.SIGINT, signal.SIGTERM]]
    running = [
        started([sys.executable, "-c", IGNORING, *map(str, numbers)], stdout=subprocess.PIPE)
        for numbers in ignored
    ]
    for process in running:
        assert process.stdout.readline() == b"runs\n"
    for _ in range(2):  # the second time there is nothing to do
        end(running, {signal.SIGINT: 3.0, signal.SIGTERM: 3.0}, with_children)
        found = [process.returncode for process in running]
        assert found == [-signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL]
    for process in running:
        process.stdout.close()
