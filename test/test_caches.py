"""What the package leaves on a disk: caches that are pruned, files of recordings that go."""

import os
import subprocess
import sys
from pathlib import Path
from time import time

import pytest

from projected_control import resources


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = resources.cache_folder()
    folder.mkdir(parents=True)
    return folder


def test_what_was_not_used_for_a_month_goes(cache):
    names = ["kernels-1", "library-1", "native-1", "gazebo-1", "peers-tsid", "kernels-2"]
    for name in names:
        (cache / name).mkdir()
        (cache / name / "file").touch()
        (cache / f"{name}.lock").touch()
        long_ago = time() - 86400.0 * (resources.KEPT_DAYS + 1.0)
        os.utime(cache / name, (long_ago, long_ago))
    resources.use_cached(cache / "kernels-2")
    resources.use_cached(cache / "of nobody")
    gone = {folder.name for folder in resources.prune_cache()}
    assert gone == {"kernels-1", "library-1", "native-1", "gazebo-1"}
    assert {path.name for path in cache.iterdir()} == {
        name + end for name in ("peers-tsid", "kernels-2") for end in ("", ".lock")
    }


def test_a_start_says_that_it_uses_its_kernels(cache):
    """And a first one removes what is old."""
    old = cache / "kernels-0"
    old.mkdir()
    os.utime(old, (0.0, 0.0))
    command = [sys.executable, "-c", "import projected_control.compiled as c; print(c._CACHE)"]

    def used():
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return Path(said)

    folder = used()
    assert folder.parent == cache
    assert not old.exists()
    os.utime(folder, (0.0, 0.0))
    assert used() == folder
    assert folder.stat().st_mtime > time() - 3600.0


def test_files_out_of_recordings_go_with_the_process(tmp_path):
    program = """
from projected_control.settings.recorded import _written
first = _written(b"1,2", ".csv")
assert _written(b"1,2", ".csv") == first != _written(b"1,3", ".csv")
print(first, open(first).read())
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    path, content = done.stdout.split()
    assert (content, Path(path).parents[1]) == ("1,2", tmp_path)
    assert not list(tmp_path.iterdir())
