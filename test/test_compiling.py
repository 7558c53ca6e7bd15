"""How far the compiling of kernels is, and how long it still takes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from projected_control.compiled import COMPILED
from projected_control.compiling import OPTIMISING, Meter, _Writer, called_by, size, words


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def kernel(text: str, **calls: object) -> SimpleNamespace:
    """A function as numba shows it, of which nothing is compiled yet."""
    scope = dict(calls)
    exec(f"def function(x):\n    return {text}\n", scope)
    stats = SimpleNamespace(cache_path=None)
    return Named(py_func=scope["function"], overloads={}, stats=stats)


class Named(SimpleNamespace):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


SMALL = kernel("x + 1")
MIDDLE = kernel("small(x) * small(x + 2) - x", small=SMALL)
FIRST = kernel("middle(x) + small(x)", middle=MIDDLE, small=SMALL)
SECOND = kernel("middle(x) * 2", middle=MIDDLE)


def own(each: object) -> float:
    return size(each) + OPTIMISING * (size(each) + sum(size(part) for part in called_by(each)))


def test_what_a_kernel_calls_is_found():
    assert {each.py_func for each in called_by(FIRST)} == {MIDDLE.py_func, SMALL.py_func}


@pytest.mark.parametrize("per_byte", [1e-3, 0.05])
def test_the_time_left_comes_from_what_was_measured(per_byte):
    """On a computer fifty times slower it is fifty times as long; nothing goes backwards."""
    clock = Clock()
    meter = Meter(clock)
    meter.expect(FIRST, SECOND)
    left = own(FIRST) + own(SECOND) + size(MIDDLE) + size(SMALL)
    seen = []
    meter.begin(FIRST)
    assert meter.progress() == (0.0, None)
    for part in (SMALL, MIDDLE):
        clock.now += per_byte * size(part)
        left -= size(part)
        meter.part(part.py_func)
        fraction, seconds = meter.progress()
        seen.append(fraction)
        assert seconds == pytest.approx(per_byte * left)
    clock.now += 0.5 * per_byte * own(FIRST)  # in the middle of a step nothing is told
    assert meter.progress()[1] == pytest.approx(per_byte * (left - 0.5 * own(FIRST)))
    clock.now += 100.0 * per_byte * own(FIRST)  # which takes far longer than it should
    seen.append(meter.progress()[0])
    assert seen[-1] < 1.0
    meter.end()
    assert not meter.complete
    meter.begin(SECOND)
    meter.end()
    seen.append(meter.progress()[0])
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert meter.complete


def test_kept_kernels_cost_nothing(tmp_path):
    line = SECOND.py_func.__code__.co_firstlineno
    (tmp_path / f"module.function-{line}.py311.nbi").touch()
    kept = Named(**{**vars(SECOND), "stats": SimpleNamespace(cache_path=str(tmp_path))})
    in_memory = Named(**{**vars(SECOND), "overloads": {"float64": object()}})
    meter = Meter(Clock())
    meter.expect(kept, in_memory)
    meter.begin(FIRST)
    meter.end()
    assert meter.complete


def test_one_that_was_not_expected_counts_from_when_it_comes():
    clock = Clock()
    meter = Meter(clock)
    meter.begin(FIRST)
    clock.now = 1.0
    meter.end()
    assert meter.complete
    meter.begin(SECOND)
    fraction, left = meter.progress()
    assert fraction == 1.0 or left is not None
    assert left == pytest.approx(own(SECOND) / (own(FIRST) + size(MIDDLE) + size(SMALL)))


def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    writer = _Writer(stream)
    for second in range(2, 34):
        writer.show(float(second), second / 40.0, 40.0 - second)
    writer.pause()
    writer.finish(40.0)
    first, *lines, last = stream.getvalue().splitlines()
    assert first.startswith("projected-control: compiling kernels, once; they are kept in ")
    assert lines == [
        f"projected-control: compiling kernels {p:3d} %  {left} s left"
        for p, left in ((30, 28), (55, 18), (80, 8))
    ]
    assert last == "projected-control: kernels compiled in 40 s"


def test_a_bar_on_a_terminal():
    stream = io.StringIO()
    stream.isatty = lambda: True
    writer = _Writer(stream)
    writer.show(5.0, 0.5, 75.0)
    assert stream.getvalue().endswith(f"{'━' * 12}{'╌' * 12}  50 %  1:15 min left")
    assert "\n" not in stream.getvalue()
    writer.pause()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_the_time_left_in_words():
    assert [words(each) for each in (None, 0.2, 59.4, 60.0, 125.0)] == [
        "",
        "1 s left",
        "59 s left",
        "1:00 min left",
        "2:05 min left",
    ]


RUN = """
import sys
from projected_control.apps.demo.case import run_in_process, settings_for
from projected_control.compiling import OPTIMISING, called_by, size
from projected_control.control.law import compute
from projected_control.control.tick import tick
from projected_control.simulation.plant_kernels import advance_step, begin_step, observe_plant

def own(kernel):
    return size(kernel) + OPTIMISING * (size(kernel) + sum(map(size, called_by(kernel))))

run_in_process(settings_for("slider", 0.01, "paper", True, {}))
expected = {compute, tick, advance_step, begin_step, observe_plant}
modules = [m for name, m in sys.modules.items() if name.startswith("projected_control.")]
kernels = {each for m in modules for each in vars(m).values() if isinstance(each, type(tick))}
used = {each for each in kernels if each.overloads}
assert expected <= used
parts = {part for each in expected for part in called_by(each)}
work = sum(own(each) for each in expected) + sum(size(part) for part in parts)
print(sum(own(each) for each in used - expected) / work)
"""


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")
def test_most_of_what_a_run_compiles_is_expected():
    """By work, of the demonstration's default: what comes unexpected is a seventh at most."""
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0 / 7.0


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")
@pytest.mark.parametrize("silenced", [False, True])
def test_a_first_start_tells_how_far_it_is(silenced, tmp_path):
    """A small kernel, of which nothing is kept; as if every moment were worth a line."""
    code = """
from projected_control import compiling
compiling.SILENT_SECONDS = compiling.LINE_SECONDS = 0.0
compiling.DRAW_SECONDS = 0.01
from projected_control.model.kinematics import wrap
wrap(0.5)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "XDG_CACHE_HOME": str(tmp_path),
            "PROJECTED_CONTROL_PROGRESS": "0" if silenced else "1",
        },
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert ("compiling kernels" in done.stderr) is not silenced, done.stderr
