"""A process that has imported what a node needs, and becomes one in a fork when it is asked to.

What a node imports takes it more than a second, and the tests start hundreds of them. A fork is a
process as any other, with its own DDS participant, signals, output and exit status. Only its very
end differs: libraries do not clean up (the tracer of ROS, whose thread is not in the fork, crashes
there). What is about starting and ending starts whole processes: see `whole_starts` in conftest.py.

As a script this is the template: a request and its answer are a line of JSON each, and it ends,
with all its nodes, when there is none to ask.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

FREE = frozenset({"ROS_DOMAIN_ID", "ROS_LOG_DIR", "PYTEST_CURRENT_TEST"})
"""What may differ from one node to the next: nothing that is imported looks at it."""

LOST = 255  # the exit status of a node whose own was told to a process that did not wait for it


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in FREE}


class Template:
    """The template of the nodes that one process starts; begun with the first of them.

    Attributes:
        environment: Of all its nodes, but for what is `FREE`; None before the first fleet's.
    """

    def __init__(self) -> None:
        self.environment: dict[str, str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0

    def serve(self, environment: Mapping[str, str]) -> None:
        """Have an environment; the first one counts."""
        if self.environment is None:
            self.environment = _fixed(environment)

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a node in this environment can be one of its forks."""
        ended = self._process is not None and self._process.poll() is not None
        return not ended and _fixed(environment) == self.environment

    def start(
        self, kind: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> int:
        """The process of a new node."""
        log.write_bytes(b"")  # there to be read before its node has begun
        own = {name: value for name, value in environment.items() if name in FREE}
        return int(self._ask(kind=kind, arguments=list(arguments), environment=own, log=str(log)))

    def status(self, pid: int) -> int | None:
        """A node's exit status, None before its end; it is asked for until it is known."""
        answer = self._ask(status=pid)
        return None if answer is None else int(answer)

    def end(self) -> None:
        """End it, if it has begun, and with it all that is left of its nodes."""
        if self._process is None:
            return
        try:
            self._process.communicate(timeout=10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, **request: Any) -> Any:
        """The answer to a request; older ones were given up by a test that was interrupted."""
        process = self._process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked += 1
        try:
            process.stdin.write(json.dumps({"number": self._asked, **request}) + "\n")
            process.stdin.flush()
            while line := process.stdout.readline():
                number, answer = json.loads(line)
                if number == self._asked:
                    return answer
        except BrokenPipeError:
            pass
        raise AssertionError(f"the template of the nodes ended with {process.wait(10.0)}")

    def _begin(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests, which end it
        )


def load_kernels() -> None:
    """Those of the controllers, and all that they need."""
    from projected_control.apps.demo.demo_settings import run_in_process, settings_for

    for choice in ("motion", "force", "passive"):
        run_in_process(settings_for(choice, 0.01, "paper", True, {}))


def _load_modules() -> None:
    """All that nodes of all kinds import."""
    from projected_control.ros.executables import main_of
    from projected_control.settings.nodes import nodes

    for kind in nodes():
        main_of(kind)


def _serve(answers: TextIO) -> dict[str, Any] | None:
    """Answer requests; in a fork, the request for it. None when its asker has ended."""
    template = os.getpid()
    for line in sys.stdin:
        request = json.loads(line)
        answer = _status(request["status"]) if "status" in request else os.fork()
        if answer == 0 and "kind" in request:
            answers.close()
            return {**request, "template": template}
        print(json.dumps([request["number"], answer]), file=answers, flush=True)
    return None


def _status(pid: int) -> int | None:
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return LOST
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(request: Mapping[str, Any]) -> int:
    """The node that was asked for; its exit status."""
    os.setsid()
    log = os.open(request["log"], os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, log, log)):
        os.dup2(file, number)
    os.close(log)
    os.close(nothing)
    os.environ.update(request["environment"])

    from projected_control.ros.executables import main
    from projected_control.with_parent import end_with

    end_with(request["template"])
    sys.argv = ["node", request["kind"], "--ros-args", *request["arguments"]]
    return main()


def _run(request: Mapping[str, Any]) -> NoReturn:
    """A node from its beginning to its end, without the libraries' own."""
    status = 1
    try:
        status = _become(request)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    # What is printed while loading is no answer.
    _answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    _load_modules()
    load_kernels()
    if (_request := _serve(_answers)) is not None:
        _run(_request)
