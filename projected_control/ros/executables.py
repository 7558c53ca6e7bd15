"""The executables: one per kind of node.

``motion_controller`` and the others on the path are functions of this module, which are made when
they are asked for, so that a kind of another package has its executable as well::

    [project.scripts]
    my_controller = "projected_control.ros.executables:my_controller"

Without installing anything: ``python -m projected_control.ros KIND --ros-args …``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from projected_control.settings.nodes import ARM, CONTROLLERS, WATCHDOG, nodes


def main_of(kind: str) -> Callable[[], int]:
    """The main of a kind of node."""
    if kind == ARM:
        from projected_control.ros.simulated_arm import main as arm_main

        return arm_main
    if kind == WATCHDOG:
        from projected_control.ros.effort_watchdog import main as watchdog_main

        return watchdog_main
    from projected_control.ros.controller_node import ControllerNode
    from projected_control.ros.lifecycle import run

    CONTROLLERS[kind]  # an unknown one lists those there are
    return lambda: run(lambda: ControllerNode(kind), kind)


def __getattr__(name: str) -> Callable[[], int]:
    if name in nodes():
        return main_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m projected_control.ros KIND …``."""
    words = list(sys.argv if arguments is None else arguments)
    if len(words) < 2 or words[1] not in nodes():
        print(f"usage: python -m projected_control.ros {{{','.join(nodes())}}} …", file=sys.stderr)
        return 2
    kind = words.pop(1)
    sys.argv = words
    return main_of(kind)()
