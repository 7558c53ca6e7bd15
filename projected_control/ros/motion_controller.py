"""Motion control of a constrained arm: PIDC, or IDC by parameter."""

from __future__ import annotations

import sys

from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.lifecycle import run
from projected_control.settings.nodes import MOTION


def main() -> int:
    """The executable."""
    return run(lambda: ControllerNode(MOTION), MOTION)


if __name__ == "__main__":
    sys.exit(main())
