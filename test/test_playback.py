"""What the commands make of recordings: proofs, what-ifs, reports, comparisons, other uses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from projected_control import Runner
from projected_control.apps.assess.exciting_motion import recorded_motion
from projected_control.apps.cli import main
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.recordings.playback import simulated, what_if
from projected_control.apps.recordings.recording_report import comparison, differences, numbers_of
from projected_control.control.live import SLOTS
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.ros.live_changes import prepare_change
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import read_recording
from projected_control.runs.recording_head import About
from projected_control.settings import build
from projected_control.settings.nodes import CONTROLLERS, MOTION, parameters_of
from projected_control.settings.recorded import controller_settings

pytest.importorskip("mcap", reason="the package mcap is not installed")
pytest.importorskip("matplotlib", reason="the extra apps is not installed")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of the demo's force controller, recorded."""
    file = tmp_path_factory.mktemp("run") / "run.mcap"
    arguments = ["demo", "--in-process", "--controller", "force", "--seconds", "1"]
    arguments += ["--set", f"recording.file:={file}", "--set", "sensor.noise:=0.02"]
    assert main(arguments) == 0
    return file


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    capsys.readouterr()
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_recording_proves_itself(run, capsys):
    status, numbers = as_json(capsys, "replay", str(run))
    assert status == 0
    assert numbers["effort_difference"] <= 1e-9
    assert numbers["recorded"]["ticks"] == numbers["replayed"]["ticks"] == 1000


def test_a_changed_file_is_found_wanting(run, tmp_path):
    recording = read_recording(run)
    at, _ = recording.columns["effort"]
    recording.rows[500, at] += 1e-6
    assert what_if(recording, {})[1] == pytest.approx(1e-6, rel=1e-3)


def test_a_run_in_mujoco_is_recorded_and_replayed(tmp_path, capsys):
    """The recording needs no engine; what is simulated anew takes the one that was recorded."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    file = tmp_path / "run.mcap"
    arguments = ["demo", "--in-process", "--controller", "force", "--seconds", "0.3"]
    arguments += ["--engine", "mujoco", "--set", f"recording.file:={file}"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    status, numbers = as_json(capsys, "replay", str(file))
    assert (status, numbers["effort_difference"]) == (0, 0.0)
    recording = read_recording(file)
    assert recording.simulated["simulation.engine"] == "mujoco"
    again = simulated(recording, {})
    np.testing.assert_array_equal(again.column("q"), recording.column("q"))
    ours = simulated(recording, {"simulation.engine": "built_in"})
    assert 0.0 < np.abs(ours.column("q") - recording.column("q")).max() < 1e-3


def test_what_other_gains_would_have_asked_for(run, capsys):
    status, numbers = as_json(capsys, "replay", str(run), "--set", "gains.stiffness=4000")
    assert status == 0
    assert numbers["effort_difference"] > 1e-3
    assert numbers["largest_difference"]["q"] == 0.0  # at the same states
    recording = read_recording(run)
    (before,) = set(recording.parameters["gains.stiffness"])
    change = []
    for stiffness in (2000.0, 4000.0):
        done, _ = what_if(recording, {"gains.stiffness": [stiffness]})
        difference = done.column("effort") - recording.column("effort")
        change.append(difference / (stiffness - before))
    np.testing.assert_allclose(*change, atol=1e-12)  # the law is linear in G_P


def test_another_law_begins_anew_on_the_recorded_reference(run):
    recording = read_recording(run)
    done, difference = what_if(recording, {"force.source": "model"})
    then, now = recording.column("motion"), done.column("motion")
    later = np.abs(done.column("path_lag") - recording.column("path_lag"))
    fastest = np.abs(then[:, 1]).max()  # another law meets its limits elsewhere: the path waits
    assert (np.abs(now[:, 0] - then[:, 0]) <= fastest * later[:, None] + 1e-12).all()
    assert later.max() < 0.02
    assert difference > 0.0


def test_simulated_with_nothing_changed_it_is_the_run_again(run):
    recording = read_recording(run)
    again = simulated(recording, {"sensor.noise": 0.0})
    close = differences(recording, again)
    assert close["q"] < 1e-5
    assert close["effort"] < 0.2
    pushed = simulated(recording, {"friction.coulomb": [0.3], "gains.stiffness": [100.0]})
    assert numbers_of(pushed)["tracking_rms"] > 10.0 * numbers_of(again)["tracking_rms"]


def test_what_makes_no_sense_is_refused_with_the_reason(run):
    recording = read_recording(run)
    with pytest.raises(InvalidValue, match="--simulate"):
        what_if(recording, {"friction.coulomb": [0.3]})
    with pytest.raises(InvalidValue, match="--simulate"):
        what_if(recording, {"reference.amplitude": [0.1, 0.0]})
    assert main(["replay", str(run), "--set", "gains.stifness=3"]) == 2


def test_the_numbers_are_those_of_the_run(run):
    from projected_control.apps.demo.demo_settings import run_in_process, settings_for

    settings = settings_for("force", 1.0, "paper", False, {"sensor.noise": 0.02})
    expected, numbers = run_in_process(settings), numbers_of(read_recording(run))
    for key in ("ticks", "tracking_rms", "tracking_peak", "lambda_rms", "torque_rms"):
        assert numbers[key] == pytest.approx(expected[key], rel=1e-9), key
    assert numbers["torque_rms_idc"] == pytest.approx(expected["torque_rms_idc"], rel=1e-9)


def test_report_and_comparison_are_written(run, tmp_path, capsys):
    status, numbers = as_json(capsys, "report", str(run), "--out", str(tmp_path / "report"))
    assert status == 0
    assert numbers["ticks"] == 1000
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "run.mcap" in page
    assert (tmp_path / "report" / "recording_motion.svg").exists()
    status, numbers = as_json(capsys, "compare", str(run), str(run), "--out", str(tmp_path / "c"))
    assert status == 0
    assert set(numbers["largest_difference"].values()) == {0.0}
    assert (tmp_path / "c" / "comparison.png").stat().st_size > 1000


def test_two_runs_with_other_gains_show_in_what_they_differ(run):
    one = read_recording(run)
    other, _ = what_if(one, {"gains.stiffness": [4000.0]})
    other.parameters = {**one.parameters, "gains.stiffness": [4000.0]}
    other.simulated = {**one.simulated, "friction.viscous": [0.7]}
    outcome = comparison(one, other, ("soft", "stiff"))
    (table,) = [t for t in outcome.tables if t.title == "Parameters that differ"]
    names = [row[0] for row in table.rows]
    assert names == ["gains.stiffness", "simulated_arm: friction.viscous"]
    assert any("stiff" in line for line in outcome.tables[0].lines())


def test_settings_come_back_whole_and_need_no_file(run):
    settings = controller_settings(read_recording(run))
    assert settings.robot_description.startswith("<robot")
    assert settings.coordinates == ("tip.x", "tip.angle")


def test_identify_and_fit_read_recordings(run, tmp_path, capsys):
    recording = read_recording(run)
    arm = Arm.from_urdf(recording.description)
    motion = recorded_motion(run, arm)
    np.testing.assert_array_equal(motion.q, recording.column("q"))
    np.testing.assert_array_equal(motion.effort, recording.column("effort"))
    status, numbers = as_json(capsys, "fit", "line", str(run), "--frame", "tip")
    assert status == 0
    assert np.abs(numbers["direction"]) == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert numbers["point"][1] == pytest.approx(-0.27, abs=1e-6)


def test_an_impedance_that_is_set_outlasts_the_recorded_changes(tmp_path):
    """A stiffness was changed after 100 of 300 ticks; another one counts in all of them."""
    demo = settings_for("motion", 1.0, "paper", False, {})
    given = {"law": "impedance", "impedance.stiffness": [50.0], "impedance.damping": [20.0]}
    settings = demo.controller.changed(given)
    loop, arm = build.build_loop(MOTION, settings), build.build_plant(demo.arm)
    runner = Runner(loop, arm)
    recorder = Recorder(tmp_path / "run.mcap", About("/m", MOTION, settings.values()))
    runner.open()
    loop.set_reference(Constant(loop.controller.model.theta + 0.01))
    runner.record(recorder)
    changed = settings.changed({"impedance.stiffness": [80.0]})
    for tick in range(300):
        if tick == 100:
            runner.hand_over(prepare_change(loop, changed, ["impedance.stiffness"], running=True))
        runner.step()
    recorder.close()
    recording = read_recording(recorder.file)
    assert what_if(recording, {})[1] <= 1e-9
    found = [
        what_if(recording, {"impedance.stiffness": [stiffness]})[0].column("effort")
        for stiffness in (60.0, 70.0)
    ]
    assert np.abs(found[0] - found[1]).max(axis=1)[[50, 299]].min() > 1e-6


def test_every_live_group_is_kept_against_recorded_changes():
    """What a live block holds must not be undone by the next one that was recorded."""
    live = {
        name.partition(".")[0]
        for kind in CONTROLLERS
        for name, parameter in parameters_of(kind).items()
        if parameter.live and "." in name
    }
    held = {slot.parameters.partition(".")[0] for slot in SLOTS.values()}
    # contacts are switched by services, which have no parameter
    assert live - {"recording", "plugin"} == held - {"contacts"}
