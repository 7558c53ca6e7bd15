"""Many runs: the same to the last bit however they are made, each a row that says how it ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra sweep is not installed")
pytest.importorskip("matplotlib", reason="the extra apps is not installed")

from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from pyarrow import parquet

from projected_control.apps.bench.sweep import (
    MEMORY_BOUND,
    Rate,
    missed,
    one_turn,
    resident,
    shares,
)
from projected_control.apps.cli import main, parser
from projected_control.apps.demo.task_run import ready_task, run_task
from projected_control.apps.sweeps import dask_pool, one_run
from projected_control.apps.sweeps import journal as journals
from projected_control.apps.sweeps.code_digest import differences, fingerprint
from projected_control.apps.sweeps.designs import Chain, design_of, grid, scattered
from projected_control.apps.sweeps.journal import JOURNAL, TABLE, Journal
from projected_control.apps.sweeps.local_pool import LocalPool, WorkFailed
from projected_control.apps.sweeps.one_run import RunPoint, RunRow, bench_of, run_one
from projected_control.apps.sweeps.study import LATIN, read_study
from projected_control.apps.sweeps.sweep_case import SweepCase, make_case, unpack
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.control.events import Event
from projected_control.errors import InvalidValue
from projected_control.native.simulation import run_in_pieces

ROOT = Path(__file__).parents[1]

COULOMB = "simulated_arm/friction.coulomb: {from: 0.0, to: 0.1, nominal: 0.0}"

STUDY = f"""\
task: slider
seconds: 0.2
set: {{sensor.noise: 0.05, motor.noise: [0.02]}}
vary:
  simulation.mass_factor: [0.8, 1.3]
  {COULOMB}
  motor.delay: {{values: [0, 1, 2]}}
  gains.stiffness: {{from: 0.5, to: 2.0, times: true, log: true}}
  simulation.values[0]: [-0.1, -0.05]
design: {{kind: latin, runs: 24}}
"""

WIPE = """\
task: seven_joints
with: [rough.yaml]
seconds: 2.0
vary:
  simulation.mass_factor: [0.8, 1.3]
  constraint_error.about_y: [-0.06, 0.06]
  simulated_arm/payload.mass: [0.0, 0.5]
  sensor.noise: {from: 0.01, to: 0.5, log: true}
set: {payload.link: flange, "constraint.point": [0.5, 0.0, 0.3]}
design: {kind: latin, runs: 1000}
"""


def study_file(folder: Path, text: str = STUDY, **changes: str) -> Path:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def case_of(folder: Path, text: str = STUDY) -> SweepCase:
    return make_case(read_study(study_file(folder, text)))


def same(one: RunRow, two: RunRow) -> bool:
    """To the last bit; NaN is NaN."""
    return all(repr(getattr(one, name)) == repr(getattr(two, name)) for name in journals.FIELDS)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "projected_control.apps.cli", *map(str, words)]


def rows_in(folder: Path) -> int:
    """Whole rows of a journal."""
    path = folder / JOURNAL
    return max(path.read_bytes().count(b"\n") - 1, 0) if path.is_file() else 0


def until(condition, seconds: float = 90.0) -> None:
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end
        sleep(0.01)


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children]


def kill_and_resume(study: Path, out: Path, at: list[int]) -> None:
    """Kill the command when it has so many rows, each time, and let the last one finish."""
    for least in at:
        with subprocess.Popen(
            command("sweep", study, "--out", out), stderr=subprocess.DEVNULL
        ) as p:
            until(lambda least=least: rows_in(out) >= least or p.poll() is not None, 1800.0)
            assert p.poll() is None, "it ended before it was killed"
            p.kill()
        assert not (out / TABLE).exists()
    done = subprocess.run(command("sweep", study, "--out", out, "--json"), capture_output=True)
    assert done.returncode == 0, done.stderr


# The same to the last bit


def test_killed_three_times_and_resumed_it_is_the_same_to_the_last_bit(tmp_path):
    study = study_file(tmp_path)
    assert main(["sweep", str(study), "--out", str(tmp_path / "whole"), "--workers", "1"]) == 0
    kill_and_resume(study, tmp_path / "killed", [2, 8, 15])
    whole, killed = (tmp_path / each / TABLE for each in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()
    table = parquet.read_table(whole)
    assert table.column("run").to_pylist() == list(range(24))
    assert set(table.column("status").to_pylist()) == {"done"}
    assert set(table.column("kernels").to_pylist()) == {fingerprint()["kernels"]}
    about = {name.decode(): text for name, text in table.schema.metadata.items()}
    assert json.loads(about["controller"])["gains.stiffness"] == [480.0]
    assert about["code"].decode() == fingerprint()["code"]


def test_a_worker_that_is_killed_loses_nothing(tmp_path, capfd):
    study, out = study_file(tmp_path, **{"runs: 24": "runs: 40"}), tmp_path / "out"
    words = command("sweep", study, "--out", out, "--workers", 2)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as p:
        until(lambda: rows_in(out) >= 5)
        os.kill(workers_of(p.pid)[0], signal.SIGKILL)
        _, said = p.communicate(timeout=120)
    assert p.returncode == 0
    assert "a worker ended (SIGKILL); another takes its place" in said
    assert main(["sweep", str(study), "--out", str(tmp_path / "alone"), "--workers", "1"]) == 0
    assert (out / TABLE).read_bytes() == (tmp_path / "alone" / TABLE).read_bytes()


@pytest.fixture(scope="module")
def thousand(tmp_path_factory) -> Path:
    """The table of a thousand runs of the wipe that nothing interrupted."""
    folder = tmp_path_factory.mktemp("thousand")
    assert main(["sweep", str(study_file(folder, WIPE)), "--out", str(folder / "whole")]) == 0
    assert parquet.read_table(folder / "whole" / TABLE).num_rows == 1000
    return folder / "whole" / TABLE


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_runs_of_the_wipe_killed_three_times(tmp_path, thousand):
    kill_and_resume(study_file(tmp_path, WIPE), tmp_path / "killed", [100, 400, 700])
    assert (tmp_path / "killed" / TABLE).read_bytes() == thousand.read_bytes()


def test_pieces_of_a_run_in_c_are_the_run_tick_by_tick(tmp_path):
    bench = bench_of(case_of(tmp_path, WIPE).packed)
    point = RunPoint(3, "sample", (1.2, 0.02, 0.3, 0.1))
    attempt = one_run.Attempt(bench, point)
    runner, _ = attempt.ready()
    slow = runner.keep(400)
    runner.run(400)
    for piece in (400, 37):
        runner, _ = one_run.Attempt(bench, point).ready()
        parts = [part.rows.kept for part in run_in_pieces(runner, 400, piece)]
        fast = np.concatenate(parts)
        took, _ = slow.places["took"]
        same = [i for i in range(fast.shape[1]) if i != took]
        np.testing.assert_array_equal(fast[:, same], slow.kept[:, same])


def test_a_run_ended_by_the_guard_ends_in_c_where_it_ends_tick_by_tick(tmp_path):
    bench = bench_of(case_of(tmp_path, WIPE).packed)
    point = RunPoint(
        0, "sample", (1.0, 0.3, 0.0, 0.01)
    )  # the table is turned away from below the tool
    row = run_one(bench, point)
    attempt = one_run.Attempt(bench, point)
    runner, _ = attempt.ready()
    statistics = runner.run(attempt.ticks)
    assert row.status == one_run.LOST
    assert row.reason == statistics.lost
    assert "left its constraint" in row.reason
    assert row.numbers["ended"] == pytest.approx(statistics.ticks * 1e-3)


def test_without_the_native_loop_rows_are_the_same(tmp_path, monkeypatch):
    bench = bench_of(case_of(tmp_path).packed)
    point = RunPoint(7, "sample", (1.1, 0.05, 1.0, 1.3, -0.08))
    fast = run_one(bench, point)
    monkeypatch.setattr(one_run, "fingerprint", lambda: {"runs": "tick by tick from Python"})
    assert same(run_one(bench, point), fast)


def test_a_run_depends_on_its_number_and_not_on_the_runs_before(tmp_path):
    bench = bench_of(case_of(tmp_path).packed)
    values = (1.1, 0.05, 1.0, 1.3, -0.08)
    first = run_one(bench, RunPoint(7, "sample", values))
    other = run_one(bench, RunPoint(8, "sample", values))
    assert first.numbers["force_error_rms"] != other.numbers["force_error_rms"]  # other noise
    assert same(run_one(bench, RunPoint(7, "sample", values)), first)


def test_the_row_of_a_run_is_what_the_demonstration_says_of_it(tmp_path):
    case = case_of(
        tmp_path, "task: seven_joints\nseconds: 2.0\nvary: {simulation.mass_factor: [0.9, 1.1]}\n"
    )
    row = run_one(bench_of(case.packed), RunPoint(0, "sample", (1.0,)))
    controller, arm = case.base()
    expected = run_task(case.node, controller, arm, 2000).numbers("wipe")
    for name in ("force_error_rms", "lateral_drift", "tilt_error", "tracking_rms"):
        assert row.numbers[name] == expected[name]


def test_no_path_depends_on_the_gains(tmp_path):
    """So that a worker may keep it, whatever they are."""
    controller, arm = case_of(tmp_path, WIPE).base()
    names = {"gains.stiffness": [700.0], "gains.damping": [50.0], "force.proportional": 0.5}
    names |= {
        "force.integral": 5.0,
        "force.cutoff": 10.0,
        "force.delay": 4,
        "gains.null_damping": 5.0,
        "force.normal_damping": 1000.0,
        "contact.stiffness": [1e5],
    }
    assert all(name.startswith(one_run.FREE) for name in names)
    references = [
        ready_task("force_controller", each, arm)[1]
        for each in (controller, controller.changed(names))
    ]
    for time in np.linspace(0.0, 8.0, 50):
        one, two = (reference.at(time) for reference in references)
        np.testing.assert_array_equal(one.value, two.value)


# What becomes of a run that does not end at its time


def test_settings_that_do_not_go_together_are_a_row_with_the_reason(tmp_path):
    case = case_of(tmp_path, STUDY.replace("to: 2.0", "to: 2000.0"))
    row = run_one(bench_of(case.packed), RunPoint(0, "sample", (1.0, 0.0, 2.0, 2000.0, -0.07)))
    assert row.status == one_run.REFUSED
    assert "stiffness" in row.reason


def test_a_run_whose_numbers_leave_the_finite_ones_is_a_row(tmp_path):
    """A damper that no step of 1 ms resolves; what was until then is told."""
    text = STUDY.replace("motor.noise: [0.02]", "motor.noise: [0.02], friction.viscous: [1.0e5]")
    row = run_one(
        bench_of(case_of(tmp_path, text).packed), RunPoint(0, "sample", (1.0, 0.0, 0.0, 1.0, -0.07))
    )
    assert row.status == one_run.DIVERGED
    assert row.failed
    assert row.reason
    assert 0.0 <= row.numbers["ended"] < 0.2


def test_a_run_that_takes_too_long_is_a_row(tmp_path):
    text = STUDY.replace("seconds: 0.2", "seconds: 4000.0\ntime_limit: 0.2")
    row = run_one(
        bench_of(case_of(tmp_path, text).packed), RunPoint(0, "sample", (1.0, 0.0, 0.0, 1.0, -0.07))
    )
    assert row.status == one_run.EXCEEDED
    assert "0.2 s (time_limit)" in row.reason
    assert 0.0 < row.numbers["ended"] < 4000.0


def test_an_error_of_the_code_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(one_run, "ready_task", lambda *_: 1 / 0)
    row = run_one(
        bench_of(case_of(tmp_path).packed), RunPoint(0, "sample", (1.0, 0.0, 0.0, 1.0, -0.07))
    )
    assert (row.status, row.reason) == (one_run.RAISED, "ZeroDivisionError: division by zero")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang() -> None:
    sleep(1000.0)


def test_work_that_kills_its_worker_again_and_again_is_given_up(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with closing(LocalPool(1)) as pool:
        pool.put(5, _die)
        done = []
        until(lambda: done.extend(pool.take(0.5)) or done)
        pool.put(6, os.getpid)
        until(lambda: done.extend(pool.take(0.5)) or len(done) > 1)
    assert done[0] == (5, None, "its process ended (SIGKILL), 3 times")
    assert done[1].key == 6
    assert not done[1].failure


def test_a_worker_that_hangs_is_killed(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with closing(LocalPool(1, hang_seconds=0.5)) as pool:
        pool.put(0, _hang)
        done = []
        until(lambda: done.extend(pool.take(0.2)) or done)
    assert done[0].failure == "its process gave no answer"


def test_workers_that_never_start_are_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with closing(LocalPool(1)) as pool:
        pool.put(0, os.getpid)
        with pytest.raises(WorkFailed, match="workers do not start"):
            until(lambda: pool.take(0.5))


# The journal


def row(number: int, **more: object) -> RunRow:
    return RunRow(
        number, "sample", (0.1 + 0.2, 1e-300), "done", numbers={"ended": float("nan")}, **more
    )


def test_a_journal_gives_back_every_bit_and_cuts_half_a_line(tmp_path):
    with closing(Journal(tmp_path, {"case": "a"})) as journal:
        journal.add(row(0))
        journal.add(row(1, reason="mü"))
    path = tmp_path / JOURNAL
    whole = path.read_bytes()
    for cut in range(1, 40, 7):
        path.write_bytes(whole[:-cut])
        with closing(Journal(tmp_path, {"case": "a"})) as journal:
            assert set(journal.rows) == {0}
            assert journal.rows[0].values == (0.1 + 0.2, 1e-300)
            assert journal.cut > 0
            journal.add(row(1, reason="mü"))
        assert path.read_bytes() == whole


def test_a_damaged_line_is_made_again(tmp_path):
    with closing(Journal(tmp_path, {"case": "a"})) as journal:
        for number in range(3):
            journal.add(row(number))
    path = tmp_path / JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"sample", b"sampel")
    path.write_bytes(b"".join(lines))
    with closing(Journal(tmp_path, {"case": "a"})) as journal:
        assert set(journal.rows) == {0, 2}


def test_rows_of_something_else_are_not_mixed(tmp_path):
    with closing(Journal(tmp_path, {"case": "a", "code": "b"})) as journal:
        with pytest.raises(InvalidValue, match=r"another sweep is writing"):
            Journal(tmp_path, {"case": "a", "code": "b"})
        journal.add(row(0))
    with pytest.raises(InvalidValue, match=r"with other code: .*--out"):
        Journal(tmp_path, {"case": "a", "code": "c"})
    (tmp_path / JOURNAL).write_text("something else\n")
    with pytest.raises(InvalidValue, match="no journal of a sweep"):
        Journal(tmp_path, {"case": "a"})


def test_again_makes_those_again_that_chance_ended(tmp_path, capsys):
    study, out = study_file(tmp_path, **{"runs: 24": "runs: 2"}), tmp_path / "out"
    words = ["sweep", str(study), "--out", str(out), "--workers", "1", "--json"]
    assert main(words) == 0
    case = make_case(read_study(study))
    with closing(Journal(out, {"case": case.digest, **fingerprint()})) as journal:
        good = journal.rows[1]
        journal.add(RunRow(1, good.part, good.values, one_run.DIED, "its process ended"))
    capsys.readouterr()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["statuses"] == {"done": 1, "died": 1}
    assert main([*words, "--again"]) == 0
    assert json.loads(capsys.readouterr().out)["statuses"] == {"done": 2}


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    case = case_of(tmp_path)
    rows = [RunRow(0, "sample", (1.0, 0.0, 0.0, 1.0, -0.07), "done")]
    path = journals.write_table(tmp_path, case, rows, "")
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(journals.CannotWrite, match="full"):
        journals.write_table(tmp_path, case, rows * 2, "")
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".runs*"))


# Study files


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("task: slider", "task: slidr", "did you mean slider?"),
        ("task: slider", "tsk: slider", r"study.yaml, line 1: .*did you mean 'task'"),
        ("task: slider", "files: [nowhere.yaml]", "there is no file nowhere.yaml"),
        ("task: slider", "task: slider\nfiles: [a.yaml]", "either task"),
        ("seconds: 0.2", "seconds: -1.0", "line 2: seconds must be at least 0.01"),
        ("seconds: 0.2", "seconds: .nan", "seconds must be finite"),
        ("mass_factor: [0.8", "mas_factor: [0.8", "did you mean 'simulation.mass_factor'"),
        ("[0.8, 1.3]", "[1.3, 0.8]", r"from \(1.3\) must be less than to \(0.8\)"),
        ("[0.8, 1.3]", "0.8", "expected two numbers"),
        ("[0.8, 1.3]", "{form: 0.8, to: 1.3}", "did you mean 'from'"),
        ("[0.8, 1.3]", "[-1.0, 1.3]", "simulation.mass_factor at -1: .*at least 0.01"),
        ("[0.8, 1.3]", "[0.8, .inf]", "must be finite"),
        ("to: 0.1, nominal: 0.0", "to: 0.1, nominal: 0.0, log: true", "must be positive"),
        ("runs: 24", "runs: 0", "design.runs must be at least 1"),
        ("kind: latin", "kind: latte", "unknown design.kind 'latte'"),
        ("simulated_arm/friction", "gazebo/friction", "there is no gazebo in this case"),
        ("simulation.values[0]", "simulation.values[9]", "has 2 numbers"),
        ("motor.delay: {values", "encoder.velocity: {values", "is no number"),
        ("motor.delay: {", "constraint.stiffness: {", "did you mean 'contact.stiffness'"),
        ("motor.delay: {values", "motor.delay[0]: {values", "motor.delay is one number"),
        ("values[0]: [-0.1, -0.05]", "values[2]: {from: 1, to: 2, nominal: 1}", "has 2 numbers"),
        ("to: 0.1, nominal: 0.0", "to: 0.1, times: true", "which no factor changes"),
        (COULOMB, "friction.contact: [-1.0, 0.1]", "at least 0"),
        (COULOMB, "contact.stiffness: [10, 20]", "the files say nothing; say what it is nominally"),
        (COULOMB, "contact.stiffness: {from: 0.5, to: 9, nominal: 2}", "at 0.5: .*at least 1"),
        ("set: {", "set: {simulation.engine: mujoco, ", "take simulation.engine built_in"),
        ("motor.delay: {values", "constraint_error.about: {values", "unknown error of the"),
        ("sensor.noise: 0.05", "sensor.noize: 0.05", "did you mean 'sensor.noise'"),
    ],
)  # fmt: skip
def test_a_wrong_study_is_refused_before_anything_runs(tmp_path, capsys, old, new, said):
    study = study_file(tmp_path, **{old: new})
    assert main(["sweep", str(study), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(said, error), error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", "0"], "workers must be 1 to 4096, got 0"),
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "--workers is for processes here"),
        (["--scheduler", "nonsense"], "there is no Dask scheduler at 'nonsense'"),
    ],
)
def test_wrong_options_are_refused(tmp_path, capsys, monkeypatch, words, said):
    monkeypatch.setattr("projected_control.apps.sweeps.dask_pool.CONNECT_SECONDS", 1.0)
    study = study_file(tmp_path)
    assert main(["sweep", str(study), "--out", str(tmp_path / "out"), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_case_needs_no_file_where_it_is_run(tmp_path):
    shutil.copy(ROOT / "config" / "three_link_slider.yaml", tmp_path / "my_arm.yaml")
    for path in (ROOT / "urdf").glob("*.xacro"):
        shutil.copy(path, tmp_path)
    text = STUDY.replace("task: slider", "files: [my_arm.yaml]\ncontroller: force_controller")
    text = text.replace("set: {", "set: {force.reference: [10.0], ")
    own = case_of(tmp_path, text)
    packed = own.packed
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    values = (1.1, 0.05, 1.0, 1.3, -0.08)
    made = run_one(bench_of(packed), RunPoint(7, "sample", values))
    assert same(made, run_one(bench_of(case_of(tmp_path).packed), RunPoint(7, "sample", values)))
    assert len(packed) < 20_000
    assert unpack(packed).digest == own.digest


def test_what_a_name_of_a_study_changes(tmp_path):
    case = case_of(tmp_path, WIPE)
    ours, theirs = case.changes((1.2, 0.1, 0.4, 0.2))
    assert ours == {}  # the controller knows nothing of it
    assert theirs["simulation.mass_factor"] == 1.2
    assert theirs["payload.mass"] == 0.4
    assert theirs["constraint.direction"] == pytest.approx([-np.sin(0.1), 0.0, -np.cos(0.1)])
    slider = case_of(tmp_path)
    ours, theirs = slider.changes((1.0, 0.03, 2.0, 0.5, -0.06))
    assert ours == {"gains.stiffness": [240.0]}
    assert theirs["motor.delay"] == 2
    assert theirs["simulation.values"][0] == -0.06
    assert slider.nominal == (1.0, 0.0, 0.0, 1.0, pytest.approx(slider.arm["simulation.values"][0]))


def test_a_surface_that_gives_may_vary(tmp_path):
    """Known to the controller, a surface on which the loop diverges is refused; unknown, felt."""
    text = """\
task: seven_joints
seconds: 0.5
set: {force.normal_damping: 1000.0}
vary: {NAME: {from: 1.0e+4, to: 1.0e+6, log: true, nominal: 5.0e+4}}
"""
    known = case_of(tmp_path, text.replace("NAME", "contact.stiffness"))
    felt = case_of(tmp_path, text.replace("NAME", "simulated_arm/contact.stiffness"))
    assert known.changes((2e4,)) == ({"contact.stiffness": [2e4]},) * 2
    assert felt.changes((2e4,)) == ({}, {"contact.stiffness": [2e4]})
    soft, hard = (run_one(bench_of(known.packed), RunPoint(0, "sample", (K,))) for K in (5e4, 8e5))
    assert soft.status == one_run.DONE
    assert soft.stopped_by == 0
    assert soft.numbers["force_error_rms"] < 0.01
    assert hard.status == one_run.REFUSED
    assert "would diverge on a surface of 8e+05 N/m" in hard.reason
    assert "force.normal_damping between" in hard.reason
    soft_felt, hard_felt = (
        run_one(bench_of(felt.packed), RunPoint(0, "sample", (K,))) for K in (5e4, 8e5)
    )
    assert same(soft_felt, soft)
    assert hard_felt.status in (one_run.DONE, one_run.LOST)
    assert hard_felt.stopped_by & Event.FORCE_FAR_OFF


# Designs


@settings_of_hypothesis(max_examples=20)
@given(st.integers(1, 60), st.integers(0, 1000))
def test_a_latin_hypercube_has_one_run_in_every_slice(runs, seed):
    axes = [Axis("a", -1.0, 3.0), Axis("b", 0.1, 10.0, log=True)]
    points = np.array(scattered(axes, runs, seed, LATIN).points)
    assert sorted(np.floor((points[:, 0] + 1.0) / 4.0 * runs).astype(int)) == list(range(runs))
    places = np.log(points[:, 1] / 0.1) / np.log(100.0)
    assert sorted(np.floor(places * runs).astype(int)) == list(range(runs))


def test_a_grid_has_every_combination():
    axes = [
        Axis("a", 0.0, 1.0, steps=3),
        Axis("b", 0.0, 2.0, whole=True),
        Axis("c", 1, 2, (1.0, 2.0)),
    ]
    points = grid(axes).points
    assert len(set(points)) == len(points) == 3 * 3 * 2
    assert {point[1] for point in points} == {0.0, 1.0, 2.0}


def rows_for(points: list[RunPoint]) -> list[RunRow]:
    """Rows whose force error is least at the middle of the first axis."""
    return [
        RunRow(*point, "done", numbers={"force_error_rms": abs(point.values[0] - 1.05)})
        for point in points
    ]


def test_designs_one_after_the_other_see_their_own_rows_only():
    axes = [Axis("a", 0.0, 1.0, steps=3)]
    chain = Chain([grid(axes, "one"), grid(axes, "two")])
    done: list[RunRow] = []
    while points := chain.next(done, len(done)):
        done += rows_for(points)
    assert [row.part for row in done] == ["one"] * 3 + ["two"] * 3
    assert [row.number for row in done] == list(range(6))


def test_a_search_asks_for_the_same_again_and_comes_near_the_best(tmp_path):
    pytest.importorskip("optuna", reason="the extra sweep is not installed")
    text = STUDY.replace("kind: latin, runs: 24", "kind: tpe, runs: 60, batch: 6")
    study = read_study(study_file(tmp_path, text))
    case = make_case(study)

    def whole(done: list[RunRow]) -> list[RunRow]:
        design = design_of(study, case)
        done = list(done)
        while points := design.next(done, len(done)):
            done += rows_for(points)
        return done

    first = whole([])
    assert len(first) == 60
    assert whole(first[:30]) == first  # taken up in the middle
    near = [abs(row.values[0] - 1.05) for row in first]
    assert np.mean(near[-12:]) < 0.5 * np.mean(near[:12])


def test_a_pruner_gives_up_what_is_worse_than_the_runs_before(tmp_path, capsys):
    pytest.importorskip("optuna", reason="the extra sweep is not installed")
    text = """\
task: slider
seconds: 0.4
set: {sensor.noise: 0.5}
vary:
  force.proportional: [0.0, 3.0]
  simulated_arm/friction.coulomb: {from: 0.0, to: 0.5, nominal: 0.0}
design: {kind: tpe, runs: 24, batch: 12, pruner: median, checks: 10}
"""
    study = study_file(tmp_path, text)
    tables = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        assert main(["sweep", str(study), "--out", str(out), "--workers", workers, "--json"]) == 0
        tables.append((out / TABLE).read_bytes())
    assert tables[0] == tables[1]
    table = parquet.read_table(tmp_path / "1" / TABLE)
    ended = dict(
        zip(table.column("status").to_pylist(), table.column("ended").to_pylist(), strict=True)
    )
    assert ended["pruned"] < 0.4
    assert ended["done"] == pytest.approx(0.4)


# What it costs: in full in `bench sweep`


def test_short_runs_do_not_fill_the_memory(tmp_path):
    bench = bench_of(case_of(tmp_path, STUDY.replace("seconds: 0.2", "seconds: 0.1")).packed)
    sizes = []
    for number in range(400):
        share = number / 400.0
        run_one(bench, RunPoint(number, "sample", (0.9 + share, 0.05, 0.0, 1.0 + share, -0.07)))
        if number in (199, 399):
            sizes.append(resident(os.getpid()))
    assert sizes[1] - sizes[0] < MEMORY_BOUND


def test_bench_tells_what_was_missed():
    rates = [
        Rate(joints, n, 10.0 * n**0.5, 25.0 / n, 1.0, 2.0) for joints in (3, 7) for n in (1, 2)
    ]
    numbers = {"shares": shares(rates), "memory": {"largest_growth_mb": 9.0}}
    arguments = parser("bench").parse_args(["bench", "sweep"])
    wrong = missed(numbers, rates, arguments)
    assert [word for word in wrong if "0.71 of cores" in word] == wrong[:2]
    assert [word for word in wrong if "25.0 ms" in word] == wrong[2:4]
    assert wrong[4:] == ["a process has grown by 9.0 MB; it may grow by 8"]
    rate = one_turn(3, 1, 3)
    assert rate.simulated < rate.in_native
    assert main(["bench", "sweep", "--runs", "1"]) == 2


# A cluster


@pytest.fixture
def cluster(tmp_path):
    """A scheduler, and what starts workers of it, which end with the test."""
    distributed = pytest.importorskip("distributed", reason="the extra sweep is not installed")
    processes: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "DASK_DISTRIBUTED__ADMIN__LOG_FORMAT": "%(message)s"}

    def start(*words: object, **more: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + str(words[0]), *map(str, words[1:])],
            env=environment | more,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        processes.append(process)
        return process

    file = tmp_path / "scheduler.json"
    scheduler = start("dask_scheduler", "--port", 0, "--no-dashboard", "--scheduler-file", file)
    until(lambda: file.is_file() and file.read_text().strip().endswith("}"))
    address = json.loads(file.read_text())["address"]

    def worker(name: str, **more: str) -> subprocess.Popen[bytes]:
        words = (address, "--nthreads", 1, "--no-dashboard", "--no-nanny", "--name", name)
        return start("dask_worker", *words, **more)

    def arrived(count: int) -> None:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=90)

    worker.scheduler = scheduler
    yield address, worker, arrived
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def other_code(tmp_path_factory) -> Path:
    """A copy of the package that differs by a comment."""
    folder = tmp_path_factory.mktemp("other")
    package = Path(sys.modules["projected_control"].__path__[0])
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / package.name / "validate.py").open("a") as file:
        file.write("# Another version.\n")
    return folder


def test_on_a_cluster_a_worker_may_die_and_another_one_is_refused_by_name(
    tmp_path, cluster, other_code
):
    address, worker, arrived = cluster
    study, out = study_file(tmp_path, **{"runs: 24": "runs: 60"}), tmp_path / "out"
    worker("one")
    second = worker("two")
    worker("three", PYTHONPATH=str(other_code))
    arrived(3)
    words = command("sweep", study, "--out", out, "--scheduler", address)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as p:
        until(lambda: rows_in(out) >= 6 or p.poll() is not None)
        second.kill()
        _, said = p.communicate(timeout=120)
    assert p.returncode == 0, said
    assert "worker three at tcp://" in said
    assert "is refused: other code (" in said
    assert "is gone; others do its work" in said
    assert main(["sweep", str(study), "--out", str(tmp_path / "here"), "--workers", "2"]) == 0
    assert (out / TABLE).read_bytes() == (tmp_path / "here" / TABLE).read_bytes()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_runs_of_the_wipe_on_a_cluster_that_loses_a_worker(tmp_path, cluster, thousand):
    address, worker, arrived = cluster
    study, out = study_file(tmp_path, WIPE), tmp_path / "out"
    worker("one")
    second = worker("two")
    arrived(2)
    words = command("sweep", study, "--out", out, "--scheduler", address)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as p:
        until(lambda: rows_in(out) >= 500 or p.poll() is not None, 1800.0)
        second.kill()
        _, said = p.communicate()
    assert p.returncode == 0, said
    assert "is gone; others do its work" in said
    assert (out / TABLE).read_bytes() == thousand.read_bytes()


def test_a_cluster_of_other_code_alone_is_refused(tmp_path, cluster, other_code, capsys):
    address, worker, arrived = cluster
    worker("three", PYTHONPATH=str(other_code))
    arrived(1)
    words = [
        "sweep",
        str(study_file(tmp_path)),
        "--out",
        str(tmp_path / "o"),
        "--scheduler",
        address,
    ]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "no worker of the cluster can be used" in error
    assert "install the same version" in error.lower()


def test_workers_join_and_go_and_so_does_the_scheduler(cluster, monkeypatch):
    """Without workers for a while, or without a scheduler, it ends and says what is kept."""
    address, worker, arrived = cluster
    monkeypatch.setattr(dask_pool, "ALONE_SECONDS", 1.0)
    workers = [worker("one")]
    arrived(1)
    with closing(dask_pool.DaskPool(address)) as pool:
        assert pool.size == 1
        workers.append(worker("two"))
        until(lambda: (pool.take(0.1), pool.size == 2)[1])
        pool.put(0, os.getpid)
        done = []
        until(lambda: done.extend(pool.take(0.5)) or done)
        assert done[0].result in {each.pid for each in workers}
        for each in workers:
            each.kill()
        with pytest.raises(
            WorkFailed, match=r"has had no workers for 1 s\. What was finished is kept"
        ):
            until(lambda: pool.take(0.5))
        assert sum("is gone; others do its work" in said for said in pool.remarks()) == 2
        monkeypatch.setattr(dask_pool, "ALONE_SECONDS", 600.0)
        worker.scheduler.kill()
        with pytest.raises(WorkFailed, match=r"is gone\. What was finished is kept: start it"):
            until(lambda: pool.take(0.5))


def test_a_worker_without_the_package_is_refused_by_name(tmp_path, cluster):
    address, worker, arrived = cluster
    bare = tmp_path / "bare" / "projected_control"
    bare.mkdir(parents=True)
    (bare / "__init__.py").write_text("raise ImportError('not installed here')\n")
    worker("bare", PYTHONPATH=str(bare.parent))
    arrived(1)
    with pytest.raises(WorkFailed, match="it cannot say what it computes with"):
        dask_pool.DaskPool(address)


@pytest.fixture
def one_death(monkeypatch):
    """The scheduler lets no death pass."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")


@pytest.mark.parametrize("work", [(os.abort,), (sleep, 1000.0)], ids=["dies", "hangs"])
def test_work_that_kills_its_worker_on_a_cluster_is_given_up(one_death, cluster, work):
    """Where it hangs, too: its worker ends itself. The other worker goes on."""
    address, worker, arrived = cluster
    for name in ("one", "two"):
        worker(name)
    arrived(2)
    with closing(dask_pool.DaskPool(address, hang_seconds=1.0)) as pool:
        pool.put(5, *work)
        done = []
        until(lambda: done.extend(pool.take(0.5)) or done)
        assert done[0].failure.startswith("its workers died")
        pool.put(6, os.getpid)
        until(lambda: done.extend(pool.take(0.5)) or len(done) > 1)
        assert not done[1].failure


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_cluster_gives_work_up_after_four_deaths(cluster):
    address, worker, arrived = cluster
    workers = [worker(str(number)) for number in range(5)]
    arrived(5)
    with closing(dask_pool.DaskPool(address)) as pool:
        pool.put(5, os.abort)
        done = []
        until(lambda: done.extend(pool.take(0.5)) or done, 300.0)
    assert done[0].failure.startswith("its workers died")
    assert sum(each.poll() is not None for each in workers) == 4


def test_a_command_that_is_killed_on_a_cluster_goes_on_where_it_was(tmp_path, cluster):
    address, worker, arrived = cluster
    study, out = study_file(tmp_path), tmp_path / "out"
    worker("one")
    arrived(1)
    words = command("sweep", study, "--out", out, "--scheduler", address)
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as p:
        until(lambda: rows_in(out) >= 4 or p.poll() is not None)
        p.kill()
    made = rows_in(out)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as p:
        _, said = p.communicate(timeout=120)
    assert p.returncode == 0, said
    assert f"{made} runs are in " in said or made == 24
    assert main(["sweep", str(study), "--out", str(tmp_path / "here"), "--workers", "1"]) == 0
    assert (out / TABLE).read_bytes() == (tmp_path / "here" / TABLE).read_bytes()


def test_digests_that_differ_are_told_by_name():
    ours = fingerprint()
    assert differences(ours, ours) == []
    assert differences({**ours, "kernels": "x"}, ours) == [
        f"other kernels (x instead of {ours['kernels'][:16]})"
    ]
    assert len(differences({}, ours)) == len(ours)
    assert {"numpy", "scipy", "ruckig", "machine", "processor"} <= set(ours)
    assert ours["processor"]  # of x86-64 and ARM NumPy knows the vector instructions
