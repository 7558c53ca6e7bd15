"""What the demonstration runs, and how it judges it, without its nodes."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml

from projected_control.apps import cli
from projected_control.apps.bench import node
from projected_control.apps.demo.demo_settings import PATIENT, settings_for
from projected_control.apps.demo.verdict import judge
from projected_control.apps.reports.output import CannotWrite, output_folder
from projected_control.apps.reports.run_numbers import motion_and_force, torque_in_words
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.resources import share_file
from projected_control.settings.nodes import FORCE


@pytest.mark.parametrize(
    ("lockstep", "paced", "factor"), [(True, True, 1.0), (True, False, 0.0), (False, True, 1.0)]
)
def test_time_waits_for_the_controller_and_for_the_clock(lockstep, paced, factor):
    """At a pace by default, as fast as it goes, or by the clock; what is set counts before it."""
    settings = settings_for("force", 2.0, "paper", lockstep, {}, paced=paced)
    assert settings.arm.lockstep == settings.controller.lockstep == lockstep
    assert settings.arm.simulation.factor == factor
    assert settings.arm.simulation.duration == (2.0 if lockstep else 0.0)
    said = yaml.safe_load(settings.parameter_file())
    patience = said[f"/{FORCE}"]["ros__parameters"]["limits.watchdog_time"]
    assert patience == (PATIENT if lockstep else 0.5)
    slow = settings_for("force", 2.0, "paper", lockstep, {"simulation.factor": 0.2}, paced=paced)
    assert slow.arm.simulation.factor == 0.2


def test_as_fast_as_it_goes_and_by_the_clock_at_once_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["demo", "--lockstep", "--real-time"])
    assert ended.value.code == 2
    assert "--real-time: not allowed with argument --lockstep" in capsys.readouterr().err


def turns(own: float, echo: float) -> dict[str, list[dict[str, float]]]:
    return {
        who: [{"self": time, "arm": 200.0, "watchdog": 50.0} for time in (time, time + 20.0)]
        for who, time in (("controller", own), ("echo", echo))
    }


def test_bench_node_judges_the_least_disturbed_turns():
    numbers = node.summary(turns(180.0, 100.0))
    assert numbers["ratio"] == pytest.approx(1.8)
    assert node.missed(numbers, node.BOUND) == []
    assert "1.80" in node.table(numbers)
    (sentence,) = node.missed(node.summary(turns(210.0, 100.0)), node.BOUND)
    assert "210 µs" in sentence
    assert "100 µs" in sentence


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--rounds", "0"], ["--bound", "0"]])
def test_bench_node_refuses_what_cannot_be_measured(wrong, capsys):
    assert cli.main(["bench", "node", *wrong]) == 2
    assert wrong[0].strip("-") in capsys.readouterr().err


# How a run is judged


def errors(x: float = 3.3e-5, heading: float = 4e-5) -> dict[str, float]:
    return {"tip.x": x, "tip.angle": heading}


def found(**changes: Any) -> dict[str, Any]:
    numbers = {
        "ticks": 2000,
        "tracking_rms_by_coordinate": errors(),
        "lambda_rms": 10.0,
        "torque_rms": 2.5,
        "torque_peak": 4.0,
        "torque_rms_idc": 2.4,
        "residual_max": 5e-14,
        "passive_effort_peak": 0.0,
    }
    return {**numbers, **changes}


def judged(lockstep: bool = True, changed: tuple[str, ...] = (), ended: str = "", **off: Any):
    settings = settings_for("slider", 2.0, "paper", lockstep, {}, paced=True)
    return judge(settings, found(**off), found(), changed, ended)


def test_a_run_as_expected_has_nothing_to_say():
    verdict = judged(tracking_rms_by_coordinate=errors(x=3.31e-5), residual_max=7e-14)
    assert not verdict.warning
    assert verdict.counted == "2,000 of 2,000 states answered"
    assert verdict.numbers()["off"] == verdict.numbers()["problems"] == []
    assert verdict.numbers()["ratios"]["torque_rms"] == 1.0


@pytest.mark.parametrize(
    ("off", "words"),
    [
        ({"ticks": 196}, "196 of 2,000 states were answered"),
        ({"ticks": 2001}, "2,001 of 2,000 states were answered"),
        ({"torque_rms": 2.55}, "torque RMS (N·m) is 2.55 where 2.5 is expected"),
        (
            {"tracking_rms_by_coordinate": errors(x=0.0874)},
            "tracking error RMS (m) is 0.0874 where 3.3e-05",
        ),
        (
            {"tracking_rms_by_coordinate": errors(heading=0.0874)},
            "tracking error RMS (rad) is 0.0874 where 4e-05",
        ),
        ({"lambda_rms": 9.8}, "λ RMS (N) is 9.8 where 10 is expected"),
    ],
)
def test_a_run_that_is_off_says_what_is_and_what_to_do(off, words):
    verdict = judged(**off)
    assert verdict.warning.startswith("This run is not what it should be: ")
    assert words in verdict.warning
    assert "run it once more" in verdict.warning or "let it run to its end" in verdict.warning
    assert verdict.numbers()["problems"]


def test_by_the_clock_a_busy_computer_is_named():
    """What timing does to a loop is allowed for, lost states are not."""
    assert not judged(
        lockstep=False,
        tracking_rms_by_coordinate=errors(x=4e-4),
        torque_rms=2.6,
        ticks=2090,
    ).warning
    verdict = judged(lockstep=False, ticks=1900)
    assert "1,900 of 2,000 states were answered" in verdict.warning
    assert "run it without --real-time" in verdict.warning


def test_what_somebody_changed_is_said_and_no_fault():
    verdict = judged(changed=("gains.stiffness",), tracking_rms_by_coordinate=errors(x=0.01))
    assert not verdict.warning
    assert verdict.numbers()["off"] == ["tracking_rms_m"]
    assert verdict.numbers()["changed"] == ["gains.stiffness"]


def test_a_run_that_was_stopped_says_why():
    verdict = judged(ended="force_controller went inactive: it was told to", ticks=700)
    assert "force_controller went inactive: it was told to" in verdict.warning
    assert "It was ended" in verdict.warning


def state(wanted: float) -> dict[str, np.ndarray]:
    ones = np.ones(100)
    return {
        "x/desired": ones,
        "x": ones,
        "x/error": 0.0 * ones,
        "lambda_0": 9.99 * ones,
        "lambda_0/desired": wanted * ones,
        "a/tangent": 3.0 * ones,
        "b/tangent": 4.0 * ones,
        "a/effort": 5.0 * ones,
        "torque_norm": 7.0 * ones,
        "torque_norm/idc": 6.0 * ones,
    }


def test_sections_of_an_own_arms_file_count_for_their_node(tmp_path):
    file = tmp_path / "mine.yaml"
    own = share_file("config", "three_link_slider.yaml").read_text(encoding="utf-8")
    section = "{ros__parameters: {gains: {damping: [33.0]}}}"
    file.write_text(f"{own}\n/{FORCE}: {section}\n", encoding="utf-8")
    assert settings_for(
        "force", 1.0, "paper", True, {}, arm_file=file
    ).controller.gains.damping == (33.0,)
    file.write_text(f"{own}\n/{FORCE}: {section.replace('33.0', '-1.0')}\n", encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"mine\.yaml, line \d+: .*damping"):
        settings_for("force", 1.0, "paper", True, {}, arm_file=file)


def test_a_saving_is_claimed_for_the_motion_alone():
    held = motion_and_force(state(10.0))
    assert held.motion == pytest.approx(5.0)
    assert held.idc == pytest.approx(6.0)
    words = torque_in_words(held)
    assert "took 5.000 N·m RMS (f∥)" in words
    assert "sends 6.000, 17 % less" in words
    assert "held 9.99 N of 10 N wanted" in words
    assert "held" not in torque_in_words(motion_and_force(state(0.0)))


def test_the_report_has_a_banner_and_red_where_it_is_off():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: extra apps")
    from projected_control.apps.demo.report import make_report
    from projected_control.apps.reports.output import page

    settings = settings_for("slider", 2.0, "paper", True, {}, paced=True)
    times = np.linspace(0.0, 1.0, 100)
    counted = {
        "latency_us": {"p50": 1.0, "p99": 2.0, "max": 3.0},
        "rate_hz": 1000.0,
        "jitter_us": 0.0,
        "deadline_misses": 0,
        "states_skipped": 0,
        "events": {},
        "real_time_factor": 0.62,
    }
    pages = []
    for verdict in (judged(), judged(ticks=196, torque_rms=3.0)):
        outcome = make_report(settings, times, state(10.0), {**found(), **counted}, verdict)
        pages.append(page([outcome], {"demo_motion": b"", "demo_effort": b""}))
    good, bad = pages
    assert 'class="warning"' not in good
    assert 'class="off"' not in good
    assert "2,000 of 2,000 states answered, real-time factor 0.62" in good
    assert '<p class="warning" role="alert">This run is not what it should be' in bad
    assert '<td class="off">1.2000</td>' in bad
    assert "196 of 2,000" in bad


def test_the_demonstration_holds_ten_newtons_unless_told_otherwise():
    assert settings_for("slider", 1.0, "paper", True, {}).controller.force.reference == (10.0,)
    wipe = settings_for("seven_joints", 1.0, "paper", True, {})
    assert wipe.is_task
    assert not wipe.case.needs_arms


# Before it runs


def test_a_full_disk_is_noticed_before_the_run(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    words = "No space left on device; 16 MB are needed: free some"
    with pytest.raises(CannotWrite, match=words), output_folder(tmp_path / "out", 16):
        raise AssertionError("the work began")
    assert not (tmp_path / "out").exists()


def test_the_disk_is_left_as_it_was(tmp_path):
    with output_folder(tmp_path / "out", 16):
        assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seconds", "-1"], "--seconds must be between 0 and a day, got -1"),
        (["--arm", "nowhere.yaml"], "there is no file nowhere.yaml"),
        (["--with", "nowhere.yaml"], "there is no file nowhere.yaml"),
    ],
)
def test_errors_of_the_command_line_load_nothing_that_takes_time(arguments, words):
    """No numerics, no kernels, no ROS, no figures."""
    script = (
        "import sys; from projected_control.apps import cli; status = cli.main(sys.argv[1:]); "
        "heavy = {'numba', 'coal', 'scipy', 'rclpy', 'matplotlib'} & set(sys.modules); "
        "print(sorted(heavy)); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "octopus"], "there are: .*seven_joints, slider"),
        (["--controller", "octopus"], "there are: .*force"),
    ],
)
def test_an_unknown_choice_lists_those_there_are(arguments, words, capsys):
    assert cli.main(["demo", *arguments]) == 2
    assert re.search(words, capsys.readouterr().err)


class Listener:
    """Stands in for a monitor: nodes that are there, by domain."""

    present: ClassVar[dict[str, set[str]]] = {}

    def __init__(self, controller: str) -> None:
        self.domain = os.environ["ROS_DOMAIN_ID"]

    def spin(self, seconds: float) -> None: ...

    def close(self) -> None: ...

    def nodes(self) -> set[str]:
        return self.present.get(self.domain, set())


@pytest.fixture
def domains(monkeypatch) -> dict[str, set[str]]:
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

    monkeypatch.setattr("projected_control.apps.fleet.monitor.Monitor", Listener)
    monkeypatch.setattr(Listener, "present", {})
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    return Listener.present


def test_a_second_demonstration_in_the_domain_asked_for_says_who_is_there(domains):
    from projected_control.apps.fleet.monitor import join

    domains["7"] = {"simulated_arm", "force_controller", "rviz"}
    words = r"force_controller and simulated_arm run in ROS domain 7 .*\(ROS_DOMAIN_ID=8\)"
    with pytest.raises(ProjectedControlError, match=words):
        join("force_controller", print)
    domains["7"] = {"rviz"}
    assert join("force_controller", print).domain == "7"


def test_without_a_domain_asked_for_a_free_one_is_taken(domains, monkeypatch):
    from projected_control.apps.fleet.monitor import join

    monkeypatch.delenv("ROS_DOMAIN_ID")
    first = str(1 + os.getpid() % 100)
    domains[first] = {"effort_watchdog"}
    said: list[str] = []
    monitor = join("force_controller", said.append)
    assert monitor.domain not in ("0", first)
    assert os.environ["ROS_DOMAIN_ID"] == monitor.domain
    assert "another domain is taken" in said[0]
    monkeypatch.delenv("ROS_DOMAIN_ID")
    for number in range(1, 101):
        domains[str(number)] = {"effort_watchdog"}
    with pytest.raises(ProjectedControlError, match="set ROS_DOMAIN_ID to one that is free"):
        join("force_controller", said.append)
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")  # as it was, for those who come after


def test_nodes_started_from_here_are_no_others(domains):
    from projected_control.apps.fleet.monitor import refuse_others

    domains["7"] = {"force_controller", "effort_watchdog"}
    refuse_others(Listener("force_controller"), ("force_controller", "effort_watchdog"))
    domains["7"].add("simulated_arm")
    with pytest.raises(ProjectedControlError, match="simulated_arm run in ROS domain 7"):
        refuse_others(Listener("force_controller"), ("force_controller", "effort_watchdog"))


def test_interrupted_before_its_first_state_it_has_nothing_to_report(tmp_path, monkeypatch, capsys):
    """Ctrl+C while the nodes come up: one word, and no report of nothing."""
    nothing = (np.zeros(0), {})
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from projected_control.apps.demo.nodes_run import NodesRun, Stage

    settings = settings_for("slider", 10.0, "paper", True, {}, paced=True)
    run = NodesRun("slider", settings, nothing, nothing, {}, None, {}, [], "", interrupted=True)
    monkeypatch.setattr(Stage, "show", lambda *_: run)
    assert cli.main(["demo", "--headless", "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err.endswith("projected-control: interrupted\n")
    assert not (tmp_path / "out" / "index.html").exists()
