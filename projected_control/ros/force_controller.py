"""Hybrid control: PIDC on the coordinates, a PI loop on the constraint force."""

from __future__ import annotations

import sys

from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.lifecycle import run
from projected_control.settings.nodes import FORCE


def main() -> int:
    """The executable."""
    return run(lambda: ControllerNode(FORCE), FORCE)


if __name__ == "__main__":
    sys.exit(main())
