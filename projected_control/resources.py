"""Finding the files that are shared with the package: descriptions (urdf/), settings (config/).

They stand in one of three places, depending on how the package came here: under the prefix of a
ROS 2 workspace (colcon), under the Python prefix (pip), or in the source tree.
"""

from __future__ import annotations

import sys
from pathlib import Path

from projected_control.errors import InvalidValue, ProjectedControlError

PACKAGE = "projected_control"

PRESETS = ("gentle", "paper", "stiff", "delayed")
"""Gains and limits in config/presets/, by name."""


class MissingResource(ProjectedControlError, FileNotFoundError):
    """A shared file that is in none of the places where it could be."""


def share_directories() -> list[Path]:
    """Where shared files may stand, first choice first."""
    root = Path(__file__).resolve().parents[1]
    places = [Path(sys.prefix, "share", PACKAGE)]
    ament = _ament_share()
    if ament is not None:
        places.insert(0, ament)
    if (root / "package.xml").is_file():
        places.append(root)
    return places


def _ament_share() -> Path | None:
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(PACKAGE))
    except (ImportError, LookupError, OSError, ValueError):
        return None


def share_file(*parts: str) -> Path:
    """The path of a shared file, as in ``share_file("urdf", "slider_crank.urdf.xacro")``.

    Raises:
        MissingResource: Where there is none, with the places searched.
    """
    relative = Path(*parts)
    if relative.is_absolute() or ".." in relative.parts:
        raise InvalidValue(f"a shared file is named relative to its share folder, got {relative}")
    places = share_directories()
    for place in places:
        if (place / relative).is_file():
            return place / relative
    listed = ", ".join(str(place) for place in places)
    raise MissingResource(
        f"cannot find {relative.as_posix()} of {PACKAGE}; searched {listed}. Install the package "
        "(pip install . or colcon build) or run it from its source tree"
    )
