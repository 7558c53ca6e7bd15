"""The command ``projected-control``: assembles the subcommands, and turns errors into one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from projected_control import __version__
from projected_control.apps import commands
from projected_control.apps.console import interrupt
from projected_control.apps.console.command import require_files
from projected_control.errors import ProjectedControlError

EXIT_REFUSED = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

DESCRIPTION = """\
Real-time control of arms whose motion is constrained: a tip on a slider, a crank, a drawer.
"""

EXAMPLES = """\
examples:
  projected-control demo                     the ROS 2 nodes on a simulated arm, live, with a report
  projected-control view                     running controllers in a browser; --control tunes them
  projected-control gazebo controller:=force an arm in Gazebo, with the controller in its physics
  projected-control reproduce all            the papers' tables and figures, on one page
  projected-control reproduce table2 --json  only the numbers, as one JSON object
  projected-control example seven_joints     a parameter file and its arm, to begin from
  projected-control check my_arm.yaml        whether settings make sense, before anything moves
  projected-control ik my_arm.yaml           a start on the constraint; reach and manipulability
  projected-control sweep study.yaml         thousands of runs, on all cores or on a cluster
  projected-control robustness study.yaml    which part of what is uncertain keeps which bound
  projected-control record force_controller  every tick of a running controller, as MCAP
  projected-control replay run.mcap --set gains.stiffness=200     what these gains would have done
  projected-control identify my_arm.yaml --record motion.npz      friction and payload
  projected-control fit plane guided.csv     where a table is, from a motion guided by hand
  projected-control doctor                   what this computer allows, and what to do
  projected-control bench tick               how long one tick of the loop takes on this computer
  projected-control export                   the kernels as a C library without Python
  projected-control plugin                   the plugins for ros2_control, built and installed
  projected-control reproduce --help         what each subcommand takes, with examples

exit status: 0 done; 1 checked and found wanting; 2 refused, the reason on standard error; 130
interrupted (143 by SIGTERM, 129 where its terminal was closed). What it has started ends with it.
"""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The command line, with every module in `projected_control.apps.commands` as a subcommand.

    Args:
        command: The only one that is wanted, if there is one of this name.
    """
    top = argparse.ArgumentParser(
        prog="projected-control",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="command", required=True)
    for module in commands.available(command):
        module.Arguments.add_to(subparsers).set_defaults(module=module)
    return top


class LoadedWhenUsed(ModuleType):
    """In place of a module that takes long to load: most mistakes come up before it is used.

    (`importlib.util.LazyLoader` loads it when it is imported a second time, as every module here
    does.) A module that is not installed stays so.

    Args:
        name: Of the module, which is in no use yet.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        spec = find_spec(name)
        if spec is not None:
            self.__spec__, self.__path__ = spec, spec.submodule_search_locations or []
            sys.modules[name] = self

    def __getattr__(self, attribute: str) -> Any:
        name = self.__name__
        if sys.modules.get(name) is not self:  # it is loaded, and does not have it
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        del sys.modules[name]
        module = import_module(name)
        self.__dict__.update(module.__dict__)
        return getattr(module, attribute)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; return the exit status."""
    if "pinocchio" not in sys.modules:
        LoadedWhenUsed("pinocchio")
    # NumPy's other threads are of no use to small matrices, and wait for work with busy loops: a
    # tenth of a second of processor at every start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = sys.argv[1:] if argv is None else argv
    try:
        with interrupt.remembered():
            arguments = parser(words[0] if words else "").parse_args(words)
            require_files(arguments, arguments.module.Arguments)
            status = int(arguments.module.run(arguments))
            sys.stdout.flush()
            return interrupt.exit_status() if status == EXIT_INTERRUPTED else status
    except ProjectedControlError as error:
        print(f"projected-control: {error}", file=sys.stderr)
        return EXIT_REFUSED
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be gone
            print("projected-control: interrupted", file=sys.stderr)
        return interrupt.exit_status()
    except BrokenPipeError:
        # The reader of standard output is gone; so that Python does not complain at exit:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
