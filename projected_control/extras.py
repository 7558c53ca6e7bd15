"""What applications and engines need beyond the library, and the message where it is missing.

The library and the nodes work without any of it: matplotlib and rich come with the extra ``apps``,
aiohttp with the extra ``view``, what many runs need with the extra ``sweep``, MuJoCo for simulated
arms with the extra ``mujoco``, and DART besides with ``engines``, ROS 2 with the extra ``ros`` or
from an installation of its own.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from projected_control.errors import ProjectedControlError

INSTALL = {
    "matplotlib": "pip install 'projected_control[apps]'",
    "aiohttp": "pip install 'projected_control[view]'",
    **dict.fromkeys(
        ("pyarrow", "optuna", "SALib", "distributed"), "pip install 'projected_control[sweep]'"
    ),
    "mujoco": "pip install 'projected_control[mujoco]'",
    "dartpy": "pip install 'projected_control[engines]'",
    "rclpy": "pip install 'projected_control[ros]', or source your ROS 2 installation",
}
"""By the module that is needed: what to do where there is none."""


class MissingExtra(ProjectedControlError, ImportError):
    """A command or an engine needs a package that is not installed."""


def require(module: str, what: str) -> ModuleType:
    """Import a module, or raise with what needs it and how to install it.

    Args:
        module: One of `INSTALL`.
        what: The command or choice that needs it, for the message.

    Raises:
        MissingExtra: Where the module cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        found = "is not installed" if error.name == module else f"cannot be imported ({error})"
        raise MissingExtra(f"{what} needs {module}, which {found}: {INSTALL[module]}") from None
