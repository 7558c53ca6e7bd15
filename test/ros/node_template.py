"""A process that has imported what a node needs, and becomes one in a fork when it is asked to.

What a node imports takes it more than a second, and the tests start hundreds of them. A fork is a
process as any other, with its own DDS participant, signals, output and exit status. Only its very
end differs: libraries do not clean up (the tracer of ROS, whose thread is not in the fork, crashes
there). What is about starting and ending starts whole processes: see `whole_starts` in conftest.py.

As a script this is the template: a request and its answer are a line of JSON each, and it ends,
with all its nodes, when nobody is there to ask.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FREE = frozenset({"ROS_DOMAIN_ID", "ROS_LOG_DIR", "PYTEST_CURRENT_TEST"})
"""What may differ from one node to the next: nothing that is imported looks at it."""


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in FREE}


class Template:
    """The template of the nodes that one process starts; begun with the first of them."""

    def __init__(self) -> None:
        self._environment: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a node in this environment can be one of its forks: the first one can."""
        return self._process is None or _fixed(environment) == self._environment

    def _begin(self, environment: Mapping[str, str]) -> subprocess.Popen[str]:
        self._environment = _fixed(environment)
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests, which end it
        )

    def end(self) -> None:
        """End it, if it has begun, and with it all that is left of its nodes."""
        if self._process is not None:
            self._process.communicate(timeout=10.0)

    def start(
        self, kind: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> int:
        """The process of a new node."""
        self._process = self._process or self._begin(environment)
        log.write_bytes(b"")  # there to be read before its node has begun
        own = {name: value for name, value in environment.items() if name in FREE}
        return int(self._ask(kind=kind, arguments=list(arguments), environment=own, log=str(log)))

    def status(self, pid: int) -> int | None:
        """A node's exit status, None before its end; it is asked for until it is known."""
        answer = self._ask(status=pid)
        return None if answer is None else int(answer)

    def _ask(self, **request: Any) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, f"the template of the nodes ended with {process.wait(10.0)}"
        return json.loads(answer)


def _load() -> None:
    """All that nodes of all kinds import, and the kernels of the controllers."""
    from projected_control.apps.demo.case import run_in_process, settings_for
    from projected_control.ros.executables import main_of
    from projected_control.settings.nodes import nodes

    for kind in nodes():
        main_of(kind)
    for choice in ("motion", "force", "passive"):
        run_in_process(settings_for(choice, 0.01, "paper", True, {}))


def _serve() -> dict[str, Any] | None:
    """Answer requests; in a fork, the request for it. None when nobody is there any more."""
    for line in sys.stdin:
        request = json.loads(line)
        if "status" in request:
            pid, status = os.waitpid(request["status"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                return dict(request)
        print(json.dumps(answer), flush=True)
    return None


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

    sys.argv = ["node", request["kind"], "--ros-args", *request["arguments"]]
    return main()


if __name__ == "__main__":
    _load()
    if (_request := _serve()) is not None:
        _status = _become(_request)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_status)
