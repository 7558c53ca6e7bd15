"""The library of kernels: what its calls refuse, and what is said where it is not there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from projected_control import kernel_library
from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.compiled import COMPILED, KERNELS, Columns, Matrix, Numbers
from projected_control.control.gains import advance_blend
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model import linalg
from projected_control.native import exports
from projected_control.native.engine import ENGINES, accept_engine
from projected_control.native.kernel_calls import Call, frame_of, signature_text

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels run as NumPy")

ROOT = Path(__file__).parents[1]


# Calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], np.zeros(3), np.zeros(3)), "must be a real number|must be real"),
        ((1.0, [0.0], np.zeros(3)), "x of axpy must be an array"),
        ((1.0, np.zeros((3, 1)), np.zeros(3)), "x of axpy must have 1 dimensions, it has 2"),
        (
            (1.0, np.zeros(3), np.zeros(3, dtype=np.float32)),
            "y of axpy must be an array of float64",
        ),
        ((1.0, np.zeros(6)[::2], np.zeros(3)), "x of axpy must be dense, row by row"),
        ((1.0, np.zeros(3)), "axpy takes 3 arguments, got 2"),
        ((1.0, np.zeros(3), np.zeros(3), 1), "axpy takes 3 arguments, got 4"),
    ],
)
def test_a_call_refuses_what_does_not_fit(arguments, words):
    """By name, before anything is computed: a kernel would read another's memory."""
    with pytest.raises(TypeError, match=words):
        linalg.axpy(*arguments)


def test_the_parts_of_another_workspace_are_refused():
    from projected_control.control.counters import count_answer
    from projected_control.control.gains import BLEND

    for wrong in (BLEND.view(BLEND.new(size=3), size=3), (1.0, 2.0), None):
        with pytest.raises(TypeError, match="of count_answer must be the parts of its own work"):
            count_answer(0, 0, wrong)


def test_arguments_left_out_have_their_defaults():
    """As the Python function has them."""
    name = "projected_control.control.guard_kernels.inspect_tick"
    _, signature = kernel_library.signatures()[name]
    assert signature.split()[5].endswith("=0.0")


def test_results_come_back_as_numbers():
    work = np.zeros(2)
    assert linalg.copy(np.ones(2), work) is None
    assert work.tolist() == [1.0, 1.0]
    assert advance_blend.__name__ == "advance_blend"


def kernel(x: Matrix, y: Columns, count: int, flag: bool, z: Numbers) -> tuple[float, int]:
    """Add up."""
    return x.sum() + count if flag else 0.0, 1


def test_a_frame_follows_from_the_annotations():
    frame = frame_of("kernel", kernel, results=("total", "one"))
    assert frame.places == {
        "x": 0, "x_shape": 1, "y": 3, "y_shape": 4, "count": 6, "flag": 7, "z": 8, "z_shape": 9,
        "total": 10, "one": 11,
    }  # fmt: skip
    x, y, z = np.zeros((4, 3)), np.zeros((2, 5), order="F"), np.zeros(6)
    call = Call(frame, (x, y, 3, True, z))
    assert call.fields[[1, 2, 4, 5, 6, 7, 9]].tolist() == [4, 3, 2, 5, 3, 1, 6]
    assert call.fields[0] == x.ctypes.data
    assert signature_text(frame) == "adC2:x adF2:y i..0:count b..0:flag adC1:z -> (di)"


def test_a_frame_in_c_refuses_what_does_not_fit():
    frame = frame_of("kernel", kernel)
    others = (np.zeros((2, 2), order="F"), 3, True, np.zeros(1))
    with pytest.raises(InvalidValue, match="x of kernel must be an array of 2 dimensions"):
        Call(frame, (np.zeros(3), *others))
    with pytest.raises(InvalidValue, match="not dense by rows"):
        Call(frame, (np.zeros((4, 4))[:, ::2], *others))
    with pytest.raises(InvalidValue, match="float32"):
        Call(frame, (np.zeros((2, 2), dtype=np.float32), *others))


def test_what_a_kernel_cannot_take_is_said():
    def wrong(names: list[str]) -> None:
        """Nothing."""

    with pytest.raises(InvalidValue, match="what Python hands to a kernel is a number"):
        frame_of("wrong", wrong)


def test_all_kernels_are_in_the_library():
    exports.kernel_modules()
    assert set(KERNELS) == set(kernel_library.signatures())


# Where it comes from


def output_of(code, tmp_path, **environment):
    """Of a process with an empty home and an empty cache."""
    own = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "test"), **own},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_run_needs_no_numba(tmp_path):
    """Neither loaded nor there, and nothing is written: the numbers are the same."""
    code = (
        "import sys\n"
        "sys.modules['numba'] = sys.modules['llvmlite'] = None\n"
        "from projected_control.apps.demo.demo_settings import run_in_process, settings_for\n"
        "print(repr(run_in_process(settings_for('force', 0.05, 'paper', True, {}))))\n"
    )
    folder = str(kernel_library.folder())
    status, out, err = output_of(code, tmp_path, PROJECTED_CONTROL_LIBRARY=folder)
    assert status == 0, err
    assert not (tmp_path / "cache").exists()
    assert out.strip() == repr(run_in_process(settings_for("force", 0.05, "paper", True, {})))


@pytest.mark.parametrize(
    ("module", "more"),
    [("projected_control.control", ["importlib.metadata"]), ("projected_control.runs", [])],
)
def test_what_a_start_does_not_need_is_not_imported(module, more, tmp_path):
    heavy = ["numba", "llvmlite", "scipy", "matplotlib", "rich", "ruckig", "mcap", "xacro", *more]
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    status, out, err = output_of(
        code, tmp_path, PROJECTED_CONTROL_LIBRARY=str(kernel_library.folder())
    )
    assert (status, out.strip()) == (0, "[]"), err


def test_without_library_and_numba_both_ways_out_are_named(tmp_path):
    """pip's package, or numba here or in another Python; and nothing is left behind."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no numba here >&2\nexit 1\n")
    python.chmod(0o755)
    package = tmp_path / "projected_control"
    shutil.copytree(ROOT / "projected_control", package, ignore=shutil.ignore_patterns("lib"))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import projected_control.model.linalg"
    )
    status, _, err = output_of(code, tmp_path, PROJECTED_CONTROL_BUILD_PYTHON=str(python))
    assert status == 1
    assert "no numba here" in err
    assert "pip install projected_control" in err
    assert "PROJECTED_CONTROL_BUILD_PYTHON=<its python>" in err
    assert not list((tmp_path / "cache" / "projected_control").glob("library-*/"))


def test_other_sources_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel_library, "digest", lambda: "0" * 64)
    with pytest.raises(kernel_library.LibraryMismatch, match="from other sources"):
        kernel_library.load(kernel_library.folder())
    kernel_library.load.cache_clear()
    with pytest.raises(kernel_library.LibraryMismatch, match="cannot be loaded"):
        kernel_library.load(tmp_path)


def test_a_changed_kernel_is_another_library(monkeypatch, tmp_path):
    """A clone sees it by the sources' digest; an installed package trusts what its build noted."""
    package = tmp_path / "projected_control"
    shutil.copytree(ROOT / "projected_control", package, ignore=shutil.ignore_patterns("lib"))
    (tmp_path / "setup.py").touch()
    monkeypatch.setattr(kernel_library, "PACKAGE", package)
    monkeypatch.setattr(kernel_library, "BUILT", package / "native" / "lib")
    shutil.copytree(kernel_library.folder(), package / "native" / "lib")
    whole = kernel_library.digest.__wrapped__
    assert kernel_library.is_built(package / "native" / "lib")
    before = whole()
    with (package / "model" / "linalg.py").open("a") as file:
        file.write("# another\n")
    assert whole() != before
    (tmp_path / "setup.py").unlink()
    assert whole() == before


def test_kernels_are_made_without_what_the_package_needs_to_run(tmp_path):
    """Where a package is built there are numba and NumPy: neither Pinocchio nor anything else."""
    code = """
import sys
from types import ModuleType

class OnlyNumPy:
    def find_spec(self, name, path=None, target=None):
        known = {"numpy", "projected_control", *sys.stdlib_module_names}
        if name.partition(".")[0] not in known:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, OnlyNumPy())
sys.modules["pinocchio"] = ModuleType("pinocchio")  # as the worker does
from projected_control.native import exports
print(len(exports.kernel_modules()))
"""
    status, out, err = output_of(
        code, tmp_path, PROJECTED_CONTROL_COMPILE="0", PYTHONPATH=str(ROOT)
    )
    assert status == 0, err
    assert int(out) > 30


# Names of engines, of before


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_taken_with_one_line(name, capsys):
    accept_engine.cache_clear()
    accept_engine(name)
    accept_engine(name)
    assert capsys.readouterr().err == (
        f"projected-control: engine {name} is no longer needed: the library of kernels makes all "
        "ticks\n"
    )


def test_an_engine_that_never_was():
    with pytest.raises(UnknownName, match="unknown engine 'fortran'; there are: auto, native"):
        accept_engine("fortran")
