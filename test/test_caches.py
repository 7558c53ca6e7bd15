"""What the package leaves on a disk: caches that are pruned, files of recordings that go."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep, time

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


def test_of_two_that_need_it_one_makes_it(cache):
    """The other waits, and takes what the first has made; no process sees a half of it."""
    made, go_on = [], Event()

    def make(folder):
        made.append(folder)
        folder.mkdir()
        go_on.wait()
        (folder / "whole").touch()

    target = cache / "library-1"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(resources.made_once, target, make)
        while not made:
            sleep(0.01)
        second = pool.submit(resources.made_once, target, make)
        assert not target.exists()
        go_on.set()
        assert first.result(60.0) == second.result(60.0) == target
    assert len(made) == 1
    assert [path.name for path in target.iterdir()] == ["whole"]


def test_what_is_used_again_is_kept(cache):
    """And a first making removes what is old."""
    old, target = cache / "kernels-0", cache / "library-1"
    old.mkdir()
    os.utime(old, (0.0, 0.0))
    resources.made_once(target, Path.mkdir)
    assert not old.exists()
    os.utime(target, (0.0, 0.0))
    resources.made_once(target, Path.mkdir)
    assert target.stat().st_mtime > time() - 3600.0


def test_a_making_that_fails_leaves_nothing(cache):
    def make(folder):
        folder.mkdir()
        raise ValueError("half made")

    with pytest.raises(ValueError, match="half made"):
        resources.made_once(cache / "library-1", make)
    assert [path.name for path in cache.iterdir()] == ["library-1.lock"]


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
