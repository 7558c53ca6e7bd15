"""Finding the files that are shared with the package: descriptions (urdf/), settings (config/).

They stand in one of three places, depending on how the package came here: in the source tree, from
which an editable install runs, under the prefix of a ROS 2 workspace (colcon), or under the Python
prefix (pip).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import time

from projected_control.errors import InvalidValue, ProjectedControlError

PACKAGE = "projected_control"

SHARED = ("launch", "config", "urdf", "worlds")  # folders of the source tree whose files are shared
PRESETS = ("gentle", "paper", "stiff", "delayed")  # gains and limits in config/presets/, by name


CACHED = ("kernels", "library", "native", "gazebo")
"""First words of the folders in the cache of which every state of the sources has its own."""

KEPT_DAYS = 30.0  # how long such a folder is kept after its last use [days]


class MissingResource(ProjectedControlError, FileNotFoundError):
    """A shared file that is in none of the places where it could be."""


def share_directories() -> list[Path]:
    """Where shared files may stand, first choice first."""
    root = Path(__file__).resolve().parents[1]
    places = [root] if (root / "package.xml").is_file() else []  # those that belong to this code
    ament = _ament_share()
    if ament is not None:
        places.append(ament)
    return [*places, Path(sys.prefix, "share", PACKAGE)]


def _ament_share() -> Path | None:
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(PACKAGE))
    except (ImportError, LookupError, OSError, ValueError):
        return None


def share_file(*parts: str) -> Path:
    """The path of a shared file, its parts given one by one: "urdf", "slider_crank.urdf.xacro".

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


ARMS = "arms/"
"""How names of descriptions begin that come with example-robot-data, the extra ``arms``."""

ARMS_FOLDER = "PROJECTED_CONTROL_ARMS"
"""In the environment: another folder in which these descriptions stand."""


def arms_folder() -> Path | None:
    """Where the descriptions of example-robot-data stand; None where they are not installed."""
    given = os.environ.get(ARMS_FOLDER)
    inside = Path("share", "example-robot-data", "robots")
    places = [Path(given), Path(given) / inside] if given else []
    places += [root / "cmeel.prefix" / inside for root in map(Path, sys.path)]
    places += [Path(root) / inside for root in os.environ.get("AMENT_PREFIX_PATH", "").split(":")]
    return next((place for place in places if place.name == "robots" and place.is_dir()), None)


def package_folders() -> list[Path]:
    """Where ``package://`` of a description may lead: prefixes of ROS, and the extra ``arms``."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    found = [Path(prefix, "share") for prefix in prefixes if prefix]
    found += [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    if (arms := arms_folder()) is not None:
        found += [arms.parents[1], arms]  # it is called example-robot-data/robots
    return found


def arm_description(name: str) -> Path:
    """The path of a real arm's description: ``arms/panda_description/urdf/panda.urdf``.

    Raises:
        MissingResource: Where it is not installed, with what to install.
    """
    folder = arms_folder()
    if folder is None:
        raise MissingResource(
            f"{name} comes with example-robot-data, which is not installed: "
            f"pip install 'projected_control[arms]' (or apt install "
            f"ros-$ROS_DISTRO-example-robot-data), or name its folder robots in {ARMS_FOLDER}"
        )
    path = folder / name.removeprefix(ARMS)
    if not path.is_file():
        raise MissingResource(f"example-robot-data in {folder} has no {name.removeprefix(ARMS)}")
    return path


def cache_folder() -> Path:
    """Where what is compiled and built here is kept between runs."""
    root = Path(os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache")
    return root / PACKAGE


def use_cached(folder: Path) -> None:
    """Note that a folder of the cache is used, so that it is kept."""
    with suppress(OSError):  # of another user, or gone
        os.utime(folder)


def prune_cache() -> list[Path]:
    """Remove folders of the cache that were not used for `KEPT_DAYS`; those."""
    oldest, removed = time() - 86400.0 * KEPT_DAYS, []
    for word in CACHED:
        for folder in cache_folder().glob(f"{word}-*"):
            with suppress(OSError):
                if folder.is_dir() and folder.stat().st_mtime < oldest:
                    shutil.rmtree(folder)
                    folder.with_suffix(".lock").unlink(missing_ok=True)
                    removed.append(folder)
    return removed


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, made where it is not there yet.

    It appears under its name only when all in it is complete. Of processes that need it at one time
    one makes it, and the others wait.

    Args:
        target: The folder; its name begins with one of `CACHED` and has the state of its sources.
        make: Called with a folder that is not there yet.
    """
    if target.exists():
        use_cached(target)
        return target
    prune_cache()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of by the system when its holder dies
        if target.exists():
            return target
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            fresh = Path(scratch) / "made"
            make(fresh)
            fresh.rename(target)
    return target
