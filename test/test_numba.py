"""What compiles the kernels: which of numba's insides are used where, and with which releases."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from projected_control import kernel_library
from projected_control.compiled import COMPILED
from projected_control.native import toolchain, worker
from projected_control.tested_versions import ALSO, LLVMLITE, NUMBA

ROOT = Path(__file__).parents[1]
INSIDES = "numba_insides.py"
DOCUMENTED = {"numba", "numba.extending", "numba.core.cgutils", "numba.types"}
"""What numba's manual describes."""


def imported(path: Path) -> set[str]:
    """The modules of numba that a file imports, and what it takes of numba.core."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            packages = node.module in ("numba", "numba.core")
            found |= {f"{node.module}.{a.name}" if packages else node.module for a in node.names}
    return {name for name in found if name.split(".")[0] == "numba"}


def test_one_small_file_knows_numbas_insides():
    """Everything else that compiles imports what numba documents."""
    package = ROOT / "projected_control"
    users = {path: names for path in package.rglob("*.py") if (names := imported(path))}
    inside = package / "native" / INSIDES
    assert users.pop(inside) - DOCUMENTED  # or this test reads nothing
    assert {path.name for path in users} == {
        *("numba_kernels.py", "object_code.py", "workspaces.py", "worker.py")
    }
    others = {name for names in users.values() for name in names}
    assert others <= DOCUMENTED
    assert len(inside.read_text(encoding="utf-8").splitlines()) < 160


def test_the_releases_it_was_tried_with_are_said():
    """The pinned one is that of the build, and made the library that is loaded here."""
    numba = pytest.importorskip("numba")
    llvmlite = pytest.importorskip("llvmlite")
    assert (numba.__version__, llvmlite.__version__) == (NUMBA, LLVMLITE)
    assert f'"numba=={NUMBA}", "llvmlite=={LLVMLITE}"' in (ROOT / "pyproject.toml").read_text()
    page = (ROOT / "docs" / "native.md").read_text(encoding="utf-8")
    assert all(f"numba {version}" in page for version in (NUMBA, *ALSO))


def test_a_release_that_was_not_tried_is_tried_with_one_line(monkeypatch, tmp_path, capsys):
    """And where its insides differ, the error says so."""
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba, "__version__", "1.0.0")
    made = []
    monkeypatch.setattr(worker, "_make", lambda *_: made.append(1))
    this = toolchain.this_machine()
    worker.make_library(tmp_path, this)
    assert made == [1]
    said = f"numba 1.0.0 has not been tried; {NUMBA} (llvmlite {LLVMLITE}) and {ALSO[0]} have"
    assert capsys.readouterr().err == f"projected-control: {said}. It may work\n"

    def fail(*_: object) -> None:
        raise AttributeError("no such inside")

    monkeypatch.setattr(worker, "_make", fail)
    with pytest.raises(toolchain.ExportFailed, match=r"tried.*It failed: AttributeError: no such"):
        worker.make_library(tmp_path, this)


def test_a_machine_that_is_not_known_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        worker.main([str(tmp_path), "--machine", "pdp11"])
    assert "unknown machine pdp11; there are: x86_64, aarch64" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_another_machine_needs_a_cross_compiler(monkeypatch):
    other = next(m for m in toolchain.MACHINES.values() if not m.is_this_one)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    package = f"gcc-{other.name.replace('_', '-')}-linux-gnu"
    with pytest.raises(toolchain.NoCompiler, match=f"apt install {package}"):
        toolchain.c_compiler(other)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: object())
    assert toolchain.c_compiler(other)[-2:] == ["-target", f"{other.name}-linux-gnu"]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not COMPILED, reason="the kernels run as NumPy")
@pytest.mark.parametrize("release", ALSO)
def test_another_release_makes_the_same_numbers(release, tmp_path):
    """All golden runs to 1e-12, with a library that this release made."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", f"numba=={release}", "numpy"]
    if subprocess.run(install, check=False).returncode:
        pytest.skip(f"numba {release} cannot be installed here")
    library = tmp_path / "library"
    command = [str(python), "-m", "projected_control.native.worker", str(library)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    runs = [sys.executable, str(ROOT / "test" / "golden_runs.py"), "--folder", str(tmp_path / "x")]
    subprocess.run(runs, check=True, stdout=subprocess.DEVNULL)
    other = {**os.environ, kernel_library.FOLDER_VARIABLE: str(library)}
    done = subprocess.run(
        [*runs, "--dry", "--within", "1e-12"], env=other, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": the same") == len(list((tmp_path / "x").glob("*.npz")))
