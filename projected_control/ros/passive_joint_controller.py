"""Motion control of a constrained arm with passive joints: (I + H) f∥."""

from __future__ import annotations

import sys

from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.lifecycle import run
from projected_control.settings.nodes import PASSIVE


def main() -> int:
    """The executable."""
    return run(lambda: ControllerNode(PASSIVE), PASSIVE)


if __name__ == "__main__":
    sys.exit(main())
