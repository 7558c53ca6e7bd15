"""How sure it is: which part keeps which bound, the map's edge, what matters, the worst case."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the extra sweep is not installed")
pytest.importorskip("SALib", reason="the extra sweep is not installed")
pytest.importorskip("matplotlib", reason="the extra apps is not installed")

from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from projected_control.apps.cli import main
from projected_control.apps.demo.task_run import run_task
from projected_control.apps.sweeps.bounds import Bounds, share_of
from projected_control.apps.sweeps.maps import MapDesign
from projected_control.apps.sweeps.one_run import DONE, LOST, RunRow
from projected_control.apps.sweeps.robustness import RobustnessStudy, map_axes, worst_of
from projected_control.apps.sweeps.sensitivity import Sensitivity
from projected_control.apps.sweeps.study import BoundSettings, read_study
from projected_control.apps.sweeps.sweep_case import SweepCase, make_case
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.control.events import Action
from projected_control.errors import InvalidValue
from projected_control.runs.recording import read_recording

STUDY = """\
task: slider
seconds: 0.4
vary:
  simulation.mass_factor: {from: 0.7, to: 1.5, steps: 3}
  constraint_error.about_z: {from: -0.3, to: 0.3, steps: 5}
design: {kind: latin, runs: 12}
bounds: {tracking_rms: 0.02, limits: false}
robustness: {edge_runs: 4, sensitivity: morris, trajectories: 3}
"""

WIPE = """\
task: seven_joints
seconds: 2.0
set: {constraint.point: [0.5, 0.0, 0.3]}
vary:
  simulation.mass_factor: {from: 0.5, to: 1.7, steps: 10}
  constraint_error.about_y: {from: -0.3, to: 0.3, steps: 9}
design: {kind: latin, runs: 20}
bounds: {limits: false, error_growth: 1.0e+6}
robustness: {edge_runs: 6, sensitivity: none}
"""


def study_file(folder: Path, text: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def stopped(case: SweepCase, values: tuple[float, ...]) -> list[str]:
    """What the guard stopped a single run for, made tick by tick; nothing where it did not."""
    controller, arm = case.base()
    ours, theirs = case.changes(values)
    ticks = round(1000 * case.seconds)
    done = run_task(case.node, controller.changed(ours), arm.changed(theirs), ticks).statistics
    others = {action: count for action, count in done.actions.items() if action != Action.FOLLOW}
    return [event.phrase for event in done.events] if others else []


def points_of(edges: list[dict], count: int) -> list[dict]:
    """So many pieces of an edge, all along it."""
    assert len(edges) >= count
    return [edges[i] for i in np.linspace(0, len(edges) - 1, count).astype(int)]


def check_edge(folder: Path, text: str, count: int) -> dict:
    """Compare the edge of a map with the guard's events of single runs on both sides of it."""
    study, out = study_file(folder, text), folder / "out"
    assert main(["robustness", str(study), "--out", str(out), "--workers", "2"]) == 0
    found = json.loads((out / "robustness.json").read_text())
    case = make_case(read_study(study))
    for edge in points_of(found["map"]["edge"], count):
        kept, broken = (np.array(edge[side]) for side in ("kept", "broken"))
        width = broken - kept
        assert stopped(case, tuple(kept - width)) == [], edge
        events = stopped(case, tuple(broken + width))
        assert set(edge["reason"].split(", ")) & set(events), (edge, events)
    return found


def test_the_edge_of_a_map_is_where_the_guard_stops_single_runs(tmp_path):
    text = STUDY.replace("tracking_rms: 0.02, limits: false", "limits: false, error_growth: 1.0e+6")
    found = check_edge(tmp_path, text, 4)
    assert found["nominal"]["broken"] == []
    # all that the command leaves behind
    out = tmp_path / "out"
    assert {"robustness.html", "worst.mcap", "worst.yaml", "runs.parquet"} <= {
        path.name for path in out.iterdir()
    }
    page = (out / "robustness.html").read_text()
    assert page.count("<img") == 3
    assert "left constraint" in page
    # the worst case is its row, and replays as it was
    worst, recording = found["worst"], read_recording(out / "worst.mcap")
    assert worst["status"] == LOST
    assert len(recording.rows) == pytest.approx(1000 * worst["ended"], abs=1)
    assert main(["replay", str(out / "worst.mcap"), "--json"]) == 0
    table = parquet.read_table(out / "runs.parquet")
    assert table.num_rows == found["runs"]
    assert set(table.column("part").to_pylist()) == {"nominal", "sample", "map", "sensitivity"}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_edge_of_the_wipe_at_twenty_points(tmp_path):
    found = check_edge(tmp_path, WIPE, 20)
    reasons = {edge["reason"] for edge in found["map"]["edge"]}
    assert len(reasons) > 1  # masses and angle end it for different reasons


def test_a_bound_that_nothing_keeps_is_told_by_the_exit_status(tmp_path, capsys):
    text = STUDY.replace("tracking_rms: 0.02", "tracking_rms: 1.0e-12").replace(
        "runs: 12", "runs: 2"
    )
    text = text.replace("sensitivity: morris, trajectories: 3", "sensitivity: none").replace(
        "edge_runs: 4", "edge_runs: 0"
    )
    study, out = study_file(tmp_path, text), tmp_path / "out"
    assert main(["robustness", str(study), "--out", str(out), "--workers", "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["shares"]["tracking_rms"]["share"] == 0.0
    assert found["nominal"]["broken"] == ["tracking_rms"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: latin", "kind: tpe", "design.kind must be latin, random or grid"),
        ("limits: false", "limits: false, stability: maybe", "stability must be true or false"),
        ("tracking_rms: 0.02, limits: false", "limits: false, stability: false", "nothing is"),
        ("edge_runs: 4", "map: [simulation.mass_factor, nothing]", "of robustness.map 'nothing'"),
        ("edge_runs: 4", "map: [simulation.mass_factor]", "names two of what varies"),
        ("morris, trajectories: 3", "sobol, trajectories: 3", "must be a power of two"),
        ("sensitivity: morris", "sensitivity: fast", "unknown robustness.sensitivity 'fast'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(tmp_path, capsys, old, new, said):
    assert old in STUDY
    study = study_file(tmp_path, STUDY.replace(old, new))
    assert main(["robustness", str(study), "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# What rows mean


def row(
    number: int = 0, status: str = DONE, values: tuple[float, ...] = (0.0,), **numbers: float
) -> RunRow:
    usual = {"limited": 0.0, "stopped": 0.0, "error_growth": 1.0, "force_error_rms": 0.1}
    return RunRow(number, "sample", values, status, numbers=usual | numbers)


def test_bounds_that_are_kept_and_broken():
    bounds = Bounds(BoundSettings(force_error_rms=1.0))
    assert bounds.names == ("force_error_rms", "limits", "stability")
    assert bounds.broken(row()) == []
    assert bounds.severity(row()) == pytest.approx(0.1)
    assert bounds.broken(row(force_error_rms=1.1)) == ["force_error_rms"]
    assert bounds.broken(row(force_error_rms=float("nan"))) == ["force_error_rms"]
    assert bounds.broken(row(limited=3.0)) == ["limits"]
    assert bounds.broken(row(stopped=1.0)) == ["stability"]
    assert bounds.reason(row(error_growth=50.0)) == "errors grow"
    lost = RunRow(0, "sample", (0.0,), LOST, events=8192 | 1, stopped_by=8192)
    assert bounds.broken(lost) == ["force_error_rms", "limits", "stability"]
    assert (bounds.severity(lost), bounds.reason(lost)) == (inf, "left constraint")


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_share_lies_between_its_bounds(good, more):
    share = share_of([True] * good + [False] * more)
    assert 0.0 <= share.low <= share.share <= share.high <= 1.0


def test_wilson_s_interval_is_the_textbook_s():
    share = share_of([True] * 8 + [False] * 2)
    assert (share.low, share.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)  # Wilson, 8 of 10


def test_an_edge_is_found_where_it_is():
    """A disc of radius 0.6, whose edge is known."""
    axes = [Axis("a", -1.0, 1.0, steps=9), Axis("b", -1.0, 1.0, steps=9)]
    design = MapDesign(axes, (0, 1), 8, lambda row: bool(np.hypot(*row.values) < 0.6))
    done: list[RunRow] = []
    while points := design.next(done, len(done)):
        done += [RunRow(*point, DONE) for point in points]
    edges = design.edges(done)
    radii = [np.hypot(*edge.middle) for edge in edges]
    assert len(edges) >= 20
    np.testing.assert_allclose(radii, 0.6, atol=0.25 / 2**8)
    assert len(done) == 81 + 8 * len(edges)


@pytest.mark.parametrize(("kind", "count"), [("morris", 20), ("sobol", 128)])
def test_sensitivity_is_that_of_a_known_function(kind, count):
    """y = 4 a + b, c without effect: Morris's means are 4, 1, 0; Sobol's shares 16/17, 1/17, 0."""
    axes = [Axis(name, 0.0, 1.0) for name in "abc"]
    sensitivity = Sensitivity(axes, kind, count, seed=1)
    rows = [
        RunRow(i, "sensitivity", values, DONE, numbers={"y": 4.0 * values[0] + values[1]})
        for i, values in enumerate(sensitivity.design.points)
    ]
    found = {name: each["mean"] for name, each in sensitivity.of(rows, "y", 1e9).items()}
    expected = (4.0, 1.0, 0.0) if kind == "morris" else (16 / 17, 1 / 17, 0.0)
    assert [found[name] for name in "abc"] == pytest.approx(
        expected, abs=0.02 if kind == "sobol" else 1e-9
    )


def test_the_worst_case_of_those_that_fail_is_nearest_to_the_nominal(tmp_path):
    study = read_study(study_file(tmp_path, STUDY))
    what = RobustnessStudy(study, make_case(study))
    rows = [
        row(0, values=(1.0, 0.0), tracking_rms=0.01),
        row(1, LOST, (1.5, 0.3)),
        row(2, LOST, (1.1, 0.1)),
        row(3, "refused", (1.0, 0.01)),
    ]
    worst = worst_of(what, rows)
    assert worst is not None
    assert worst.number == 2
    assert worst_of(what, rows[3:]) is None
    assert map_axes(what.case, ()) == (0, 1)
    with pytest.raises(InvalidValue, match="names two"):
        map_axes(what.case, ("a", "a"))
