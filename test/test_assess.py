"""The test of force control: its cases, its numbers, and what ours has to show."""

import json

import numpy as np
import pytest

from projected_control.apps.assess import force_run
from projected_control.apps.assess.force_cases import CASES, LAWS, damping
from projected_control.apps.assess.force_page import found_in, latex
from projected_control.apps.assess.force_recording import judged
from projected_control.apps.assess.force_run import ForceCurve, ForceTest, follow, judge
from projected_control.apps.cli import main
from projected_control.apps.sweeps.one_run import DONE, RunPoint, RunRow
from projected_control.errors import InvalidValue


def curve(force, wanted=10.0, seconds=4.0):
    time = np.arange(0.0, seconds, 1e-3)
    return ForceCurve(time, force(time), np.full(time.size, wanted), np.zeros(time.size))


def test_numbers_of_a_known_force():
    """A constant offset, one loss, and a step whose answer is known in closed form."""
    numbers = judge(curve(lambda t: np.full(t.size, 10.3)), CASES["line_100"])
    assert numbers["force_error_mean"] == pytest.approx(0.3)
    assert numbers["losses"] == 0.0
    lost = judge(curve(lambda t: np.where((t > 2.0) & (t < 2.1), 0.0, 10.0)), CASES["line_100"])
    assert lost["losses"] == 1.0
    assert lost["force_error_mean"] == pytest.approx(10.0 * 0.1 / 3.0, rel=0.02)
    tau, step = 0.05, CASES["force_step"]
    answer = curve(
        lambda t: 20.0 - np.where(t < 1.0, 10.0, 10.0 * np.exp(-(t - 1.0) / tau)), 20.0, 3.0
    )
    numbers = judge(answer, step)
    assert numbers["settling"] == pytest.approx(tau * np.log(10.0 / 0.5), abs=2e-3)
    assert numbers["overshoot"] == 0.0
    assert numbers["force_error_mean"] == pytest.approx(10.0 * tau / 2.0, rel=0.02)


def test_a_force_that_does_not_settle_has_no_settling_time():
    """One that swings about what is wanted to the end, and one that leaves it in the last 50 ms."""
    step = CASES["force_step"]
    swings = curve(lambda t: 20.0 + 2.0 * np.sin(40.0 * t), 20.0, 3.0)
    leaves = curve(lambda t: np.where(t > 2.95, 15.0, 20.0), 20.0, 3.0)
    for each in (swings, leaves):
        assert judge(each, step)["settling"] == np.inf
    held = curve(lambda t: np.where((t > 1.0) & (t < 2.8), 15.0, 20.0), 20.0, 3.0)
    assert judge(held, step)["settling"] == pytest.approx(1.799, abs=2e-3)


def test_before_the_judged_second_nothing_counts():
    numbers = judge(curve(lambda t: np.where(t < 0.99, 50.0, 10.0)), CASES["line_100"])
    assert numbers["force_error_mean"] == 0.0


def test_corners_are_where_the_case_says():
    wanted = CASES["ramp"].wanted
    assert [float(wanted.at(t).value[0]) for t in (0.5, 2.0, 3.5)] == pytest.approx([10, 20, 30])
    falls = CASES["loss"].motion
    assert falls.at(3.0).value[0] == pytest.approx(3e-3)
    rises = CASES["step"].motion
    assert rises.at(3.0).value[0] == pytest.approx(-1e-3)
    assert CASES["line_10"].motion is None


def test_the_stiffness_enters_by_the_formula_alone():
    assert damping(5e4) == pytest.approx(np.sqrt(5e4 * 3.0))
    for law in LAWS.values():
        assert not any("stiffness" in name and name.startswith("contact") for name in law.settings)


@pytest.mark.parametrize("engine", ["built_in", "mujoco"])
def test_ours_holds_ten_newtons_at_a_tenth_of_a_metre_per_second(engine):
    """On 50 N/mm, with the parts of config/real.yaml: 0.1 N on average after the first second."""
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    found, failure, lost = follow("projected", CASES["line_100"], engine)
    assert not failure
    assert not lost
    numbers = judge(found, CASES["line_100"])
    assert numbers["force_error_mean"] < 0.1
    assert numbers["losses"] == 0.0
    assert numbers["drift"] < 1e-3
    assert np.ptp(found.force) > 0.1  # noise and friction are there


@pytest.mark.parametrize(("law", "most"), [("pid", 0.1), ("admittance", 0.2)])
def test_a_pid_and_an_admittance_hold_it_too(law, most):
    found, failure, lost = follow(law, CASES["line_100"], "built_in")
    assert (failure, lost) == ("", "")
    assert judge(found, CASES["line_100"])["force_error_mean"] < most


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_ours_ends_no_case_early(case):
    found, failure, lost = follow("projected", CASES[case], "built_in")
    assert (failure, lost) == ("", "")
    assert np.isfinite(judge(found, CASES[case])["force_error_mean"])


def test_noise_differs_from_run_to_run_and_comes_back():
    case = CASES["line_100"]
    ends = [
        force_run.simulated_arm(force_run.ready("projected", case, "built_in", 0, k)[0]).sensor.seed
        for k in (0, 1, 0)
    ]
    assert ends[0] == ends[2] != ends[1]


def test_tables_have_mean_and_spread():
    test = ForceTest("built_in", 0, 2, ("projected",), ("line_10", "wave"))
    assert len(test.points) == 4

    def row(number, values, status=DONE, mean=0.1):
        numbers = dict.fromkeys(force_run.NUMBERS, mean)
        return RunRow(number, "sample", values, status, "why", numbers=numbers)

    rows = [
        row(0, (0.0, 0.0, 0.0)),
        row(1, (0.0, 0.0, 1.0), mean=0.3),
        row(2, (0.0, 1.0, 0.0), "lost"),
        row(3, (0.0, 1.0, 1.0)),
    ]
    found = found_in(test, rows)["projected"]
    assert found["line_10"]["force_error_mean"] == pytest.approx((0.2, 0.1))
    assert found["line_10"]["ended"] == []
    assert found["wave"]["ended"] == ["why"]
    assert found["wave"]["force_error_mean"] == pytest.approx((0.1, 0.0))  # of the other one
    table = latex(test, {"projected": found})
    assert r"0.2 $\pm$ 0.1" in table
    assert r"0.1 $\pm$ 0 (1 of 2 ended early)" in table
    rows[1].numbers["settling"] = np.inf
    found = found_in(test, rows)["projected"]["line_10"]
    assert (found["settling"][0], found["not_settled"]) == (np.inf, 1)


def test_a_run_that_cannot_be_made_says_why():
    test = ForceTest("dart", 0, 1, ("projected",), ("line_100",))
    (row,) = force_run.run_points(test.packed, [RunPoint(0, "sample", (0.0, 0.0, 0.0))])
    assert row.status == "refused"
    assert "DART" in row.reason


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--engine", "dart"], "no surface that gives"),
        (["--engine", "gazebo"], "built_in"),
        (["--laws", "fuzzy"], "projected"),
        (["--cases", "fall"], "touch"),
        (["--repeats", "0"], "1 to 100"),
        (["--recording", "nothing.mcap"], "nothing.mcap"),
    ],
)
def test_wrong_arguments_are_said(arguments, why, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["assess", *arguments]) != 0
    assert why in capsys.readouterr().err


def test_the_command_makes_page_and_files_and_goes_on(tmp_path, capsys):
    """A second call makes no run again."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    arguments = ["assess", "--laws", "projected", "--cases", "line_100", "--repeats", "1"]
    arguments += ["--workers", "1", "--out", str(out), "--json"]
    assert main(arguments) == 0
    first = json.loads(capsys.readouterr().out)
    numbers = first["laws"]["projected"]["line_100"]
    assert 0.0 < numbers["force_error_mean"][0] < 0.1
    assert {"assess.html", "assess.json", "assess.tex", "runs.parquet"} <= {
        file.name for file in out.iterdir()
    }
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == first
    assert "1 runs are in" in said.err


def test_a_recording_is_judged_by_its_own_sensor(tmp_path):
    from projected_control.runs.recorder import Recorder
    from projected_control.runs.recording_head import About

    runner, _ = force_run.ready("projected", CASES["line_100"], "built_in", 0, 0)
    file = tmp_path / "run.mcap"
    runner.run(1500, record=Recorder(file, About("force_controller", "force_controller", {})))
    numbers = judged(file).numbers
    assert "not below" in numbers["measured_by"]
    assert 0.0 < numbers["rows"][0]["force_error_mean"] < 0.3
    assert "by hand" in numbers["no_drift"]
    assert np.isnan(numbers["rows"][0]["settling"])  # λ_d did not change
    short = tmp_path / "short.mcap"
    runner, _ = force_run.ready("projected", CASES["line_100"], "built_in", 0, 0)
    runner.run(200, record=Recorder(short, About("force_controller", "force_controller", {})))
    with pytest.raises(InvalidValue, match="ends before"):
        judged(short)


def test_a_recorded_task_has_settling_and_drift_and_a_page(tmp_path, capsys):
    """10 to 20 N after a second of wiping: overshoot, settling, drift, and the page."""
    from projected_control.apps.demo.task_run import ready_task
    from projected_control.resources import share_file
    from projected_control.runs.recorder import Recorder
    from projected_control.runs.recording import read_recording
    from projected_control.runs.recording_head import About
    from projected_control.settings.layers import Layers
    from projected_control.settings.nodes import FORCE

    layers = Layers.read([share_file("config", "seven_joints.yaml")])
    settings = layers.controller(FORCE)
    runner, _ = ready_task(FORCE, settings, layers.arm())
    runner.loop.set_force_reference(CASES["force_step"].wanted)
    file = tmp_path / "run.mcap"
    about = About(FORCE, FORCE, settings.values())
    runner.run(2500, record=Recorder(file, about))
    out = tmp_path / "out"
    assert main(["assess", "--recording", str(file), "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = said["rows"]
    assert said["no_drift"] == ""
    assert 0.0 < row["drift"] < 1e-3
    assert 0.0 < row["settling"] < 0.5
    felt = read_recording(file).column("lambda_measured")[1000:]
    assert row["overshoot"] == pytest.approx(felt.max() - 20.0)
    assert {"assess.html", "assess.json"} <= {each.name for each in out.iterdir()}


def test_another_test_in_the_folder_is_refused(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    arguments = ["assess", "--laws", "pid", "--repeats", "1", "--workers", "1"]
    arguments += ["--out", str(tmp_path), "--cases"]
    assert main([*arguments, "release"]) == 0
    capsys.readouterr()
    assert main([*arguments, "touch"]) != 0
    assert "--out" in capsys.readouterr().err


def test_a_recording_without_a_force_is_refused(tmp_path):
    from projected_control.apps.demo.demo_settings import settings_for
    from projected_control.runs.recorder import Recorder
    from projected_control.runs.recording_head import About
    from projected_control.runs.runner import Runner
    from projected_control.settings import build
    from projected_control.settings.nodes import MOTION

    demo = settings_for("motion", 2.0, "paper", True, {})
    for senses, why in ((False, "no measured force"), (True, "asks for no force")):
        arm = build.build_plant(demo.arm)
        if not senses:
            arm.sensor = None
        runner = Runner(build.build_loop(MOTION, demo.controller), arm)
        file = tmp_path / f"{senses}.mcap"
        runner.run(1500, record=Recorder(file, About(MOTION, MOTION, demo.controller.values())))
        with pytest.raises(InvalidValue, match=why):
            judged(file)
