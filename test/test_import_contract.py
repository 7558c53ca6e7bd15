"""The packages' import contract holds, and is broken by what it forbids."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter", reason="import-linter is not installed (the extra test)")

ROOT = Path(__file__).parents[1]


@pytest.fixture
def source(tmp_path) -> Path:
    """A copy of the package and its contract."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "projected_control", tmp_path / "projected_control", ignore=ignore)
    return tmp_path


def lint_imports(folder: Path) -> tuple[int, str]:
    """Exit status and output, of the package in this folder."""
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command;"
    done = subprocess.run(
        [sys.executable, "-c", f"{code} lint_imports_command(['--no-cache'])"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_contract_is_kept(source):
    status, out = lint_imports(source)
    assert status == 0, out


@pytest.mark.parametrize(
    ("module", "line", "words"),
    [
        ("model/linalg.py", "import projected_control.runs", "model is not allowed to import"),
        ("runs/ring.py", "import projected_control.model", "runs.process is not allowed to import"),
        ("errors.py", "import projected_control.validate", "errors is not allowed to import"),
        ("control/guard.py", "import rclpy", "control is not allowed to import rclpy"),
        ("ros/messages.py", "import matplotlib", "ros is not allowed to import matplotlib"),
        ("apps/cli.py", "import rclpy", "apps is not allowed to import rclpy"),
        ("loose.py", "", "projected_control.loose"),
    ],
)
def test_what_it_forbids_is_found(source, module, line, words):
    file = source / "projected_control" / module
    with file.open("a") as text:
        text.write(f"\n{line}\n")
    status, out = lint_imports(source)
    assert status == 1
    assert words in " ".join(out.split())
