"""An editable install made known to ROS 2: what pip leaves out of one, as links into the sources.

An installed package has launch files, configurations and descriptions under ``share/`` and its
executables in ``lib/<package>/``, where ``ros2 launch`` and ``ros2 run`` look for them. An editable
install has neither. `make` runs this after it; as a command it asks for nothing::

    python -m projected_control.apps.launch.ament_links

Each file is a link of its own: ``ros2 launch`` does not look into folders that are links.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.resources import PACKAGE, SHARED
from projected_control.settings.nodes import nodes

SHARE = Path("share", PACKAGE)
INDEX = Path("share", "ament_index", "resource_index", "packages", PACKAGE)
PROGRAMS = Path("lib", PACKAGE)
"""Below a prefix: shared files, the file by which a package is known, executables."""


def link_package(root: Path, prefix: Path) -> list[Path]:
    """Link what ROS 2 looks for below a prefix to the sources; the links.

    Args:
        root: Of the sources.
        prefix: Of the environment that has the editable install.
    """
    for folder in (prefix / SHARE, prefix / PROGRAMS):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_symlink() and not path.exists():  # of a file that is gone
                path.unlink()
    wanted = dict(_wanted(root, prefix))
    for path, target in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.exists():
            path.unlink()
        path.symlink_to(target)
    return list(wanted)


def _wanted(root: Path, prefix: Path) -> Iterator[tuple[Path, Path]]:
    yield prefix / INDEX, root / "resource" / PACKAGE
    yield prefix / SHARE / "package.xml", root / "package.xml"
    for top in SHARED:
        for path in sorted((root / top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield prefix / SHARE / path.relative_to(root), path
    for name in (*nodes(), "projected-control"):
        program = prefix / "bin" / name
        if program.exists():
            yield prefix / PROGRAMS / name, program


def main() -> int:
    """For the environment that runs this."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "package.xml").is_file():
        raise ProjectedControlError(
            f"{root} is not the source tree: this is for editable installs; others have all of it"
        )
    link_package(root, Path(sys.prefix))
    return 0


if __name__ == "__main__":
    sys.exit(main())
