"""``python -m projected_control.ros KIND``: a node, without installing anything."""

import sys

from projected_control.ros.executables import main

sys.exit(main())
