"""What the launch files in launch/ share: arguments, checks, and the files they write.

A launch process builds every controller once, to check it, and computes nothing else: compiling
kernels for that would keep everybody waiting.
"""

import os
import sys

if "projected_control.compiled" not in sys.modules and os.path.basename(sys.argv[0]) == "ros2":
    _before = os.environ.get("PROJECTED_CONTROL_COMPILE")
    os.environ["PROJECTED_CONTROL_COMPILE"] = "0"
    import projected_control.compiled  # noqa: F401

    if _before is None:  # the nodes that are launched compile theirs
        del os.environ["PROJECTED_CONTROL_COMPILE"]
    else:
        os.environ["PROJECTED_CONTROL_COMPILE"] = _before
