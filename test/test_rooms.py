"""Where modules lie: none is loose in the applications, and the packages there are all named."""

from __future__ import annotations

from pathlib import Path

from projected_control import apps

APPS = Path(apps.__file__).parent


def test_the_command_line_alone_lies_loose() -> None:
    loose = {path.name for path in APPS.glob("*.py")}
    assert loose == {"__init__.py", "cli.py"}, "it belongs into a package of apps/"


def test_every_package_of_the_applications_is_described() -> None:
    packages = {path.parent.name for path in APPS.glob("*/__init__.py")}
    listed = [line.split()[0] for line in (apps.__doc__ or "").splitlines() if line[:4] == " " * 4]
    assert sorted(listed) == sorted(packages)
