"""A command ``gz`` and Python modules that pretend to be Gazebo's: to start and to end it.

The command does what our system in Gazebo does to its files, and nothing else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

COMMAND = """\
#!{python} -IS
import os, signal, sys, time
from pathlib import Path

world = Path(sys.argv[-1])
outcome = world.with_name("outcome.txt")
said = {said!r}

def end(number, frame):
    signal.signal(number, signal.SIG_IGN)
    assert world.exists(), "the world's folder is gone while Gazebo runs"
    outcome.write_text(said)
    print("gz ends", flush=True)
    sys.exit(0)

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, end)
if {loads!r}:
    outcome.write_text("running")
print("started anew:", os.environ.get("_ROS_WHEELS_BOOTSTRAP_COMPLETE"), flush=True)
print("gz runs", *sys.argv[1:], flush=True)
if "--iterations" in sys.argv:
    outcome.write_text(said)
    sys.exit({status!r})
time.sleep(600)
"""


def pretend(folder: Path, said: str = "", status: int = 0, loads: bool = True) -> dict[str, str]:
    """An environment with such a Gazebo.

    Args:
        folder: For its files.
        said: Why the controller failed, as the outcome of a run has it; empty where it did not.
        status: With which ``gz sim`` ends by itself.
        loads: Whether it loads our controller.
    """
    modules, programs = pretended_modules(folder / "modules"), folder / "bin"
    command = COMMAND.format(python=sys.executable, said=said, status=status, loads=loads)
    write(programs / "gz", command)
    (programs / "gz").chmod(0o755)
    return {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(modules), os.environ.get("PYTHONPATH", "")]),
        "TMPDIR": str(folder / "temporary"),
    }


def pretended_modules(folder: Path) -> Path:
    """What `find_gazebo` imports; the folder, for Python's path."""
    for name in ("gz/__init__", "gz/math7", "gz/sim8", "gz/transport13", "sdformat14"):
        write(folder / f"{name}.py", "")
    for name, kind in (("wrench", "Wrench"), ("empty", "Empty"), ("stringmsg", "StringMsg")):
        write(folder / "gz" / "msgs10" / f"{name}_pb2.py", f"class {kind}: pass\n")
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
