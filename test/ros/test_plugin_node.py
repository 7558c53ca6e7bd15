"""A node that commands the plugin, as far as it shows without ros2_control: real processes.

The plugin's stand-in has the plugin's own session and simulated arm; only the controller manager is
missing. With the real one: test/hardware/test_plugin.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import STEADY, THREE_LINK, Fleet, config
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from projected_control.native import library
from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE, WATCHDOG

if REASON := library.reason_against():
    pytest.skip(f"no native loop: {REASON}", allow_module_level=True)

HERE = Path(__file__).parent
ENTRY_POINTS = """[projected_control.ports]
stand_in = stand_in_port:RECORD
late = stand_in_port:LATE
"""
SETTINGS = {
    **THREE_LINK,
    **STEADY,
    "plugin.silence_time": 1.0,
    "plugin.stop_time": 0.2,
    "limits.velocity": [10.0],
    "effort_includes_gravity": True,
    "reference.kind": "hold",
    "realtime.priority": 0,
    "payload.link": "link_3",
}
QUADRUPED = {
    **config("quadruped"),
    **STEADY,
    "diagnostics_rate": 20.0,
    "plugin.silence_time": 1.0,
    "plugin.stop_time": 0.2,
    "effort_includes_gravity": True,
    "reference.kind": "hold",
    "realtime.priority": 0,
}


@pytest.fixture
def ports_of_tests(fleet: Fleet, tmp_path: Path) -> None:
    """The nodes of the fleet know the ports of `stand_in_port`."""
    info = tmp_path / "site" / "stand_in-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stand-in\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(tmp_path / "site"), str(HERE), str(HERE.parent), fleet.environment["PYTHONPATH"]]
    fleet.environment["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.fixture
def stood_in(fleet: Fleet, ports_of_tests: None, tmp_path: Path):
    """A fleet whose nodes know the stand-in, and the stand-in itself."""
    yield from standing_in(fleet, tmp_path, SETTINGS)


@pytest.fixture
def stood_in_with_legs(fleet: Fleet, ports_of_tests: None, tmp_path: Path):
    """The same with our quadruped."""
    yield from standing_in(fleet, tmp_path, QUADRUPED)


def standing_in(fleet: Fleet, tmp_path: Path, settings: Mapping[str, object]):
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump(dict(settings)))
    with (tmp_path / "stand_in.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "plugin_stand_in.py"), str(file)],
            env=fleet.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    yield process
    process.kill()
    process.wait()


def start(fleet: Fleet, **more: object):
    return fleet.start(MOTION, SETTINGS, hardware="stand_in", **more)


def test_it_follows_is_changed_and_ends(fleet: Fleet, stood_in) -> None:
    """Parameters, refusals, references and ~/state are as with every other way to an arm."""
    states = fleet.record(JointState, f"{MOTION}/state")
    node = start(fleet)
    diagnosis = fleet.until_said(MOTION, "following", level=0)
    assert diagnosis.values["engine"] == "plugin"
    fleet.until_counted(MOTION, "ticks", 100)
    assert fleet.set(MOTION, {"gains.stiffness": [90.0]}).successful
    refused = fleet.set(MOTION, {"gains.damping": [9e3]})
    assert not refused.successful
    assert fleet.set(MOTION, {"payload.mass": 0.5}).successful
    assert fleet.set(MOTION, {"reference.kind": "sine", "reference.amplitude": [0.01]}).successful
    before = dict(zip(fleet.more(states, 1)[-1].name, states.messages[-1].position, strict=True))

    def moved() -> bool:
        now = dict(zip(states.messages[-1].name, states.messages[-1].position, strict=True))
        return abs(now["tip.x/desired"] - before["tip.x/desired"]) > 2e-3

    fleet.until(moved, "the reference to move")
    assert node.end() == 0
    assert "Traceback" not in node.log


def test_a_robot_with_legs_squats(fleet: Fleet, stood_in_with_legs) -> None:
    """Its base among the joint states and the plugin's state interfaces."""
    states = fleet.record(JointState, f"{PASSIVE}/state")
    node = fleet.start(PASSIVE, QUADRUPED, hardware="stand_in")
    fleet.until_said(PASSIVE, "following", level=0)
    fleet.until_counted(PASSIVE, "ticks", 100)
    assert fleet.set(PASSIVE, {"reference.kind": "sine"}).successful

    def height() -> float:
        last = states.messages[-1]
        return dict(zip(last.name, last.position, strict=True))["centre_of_mass.z"]

    fleet.until(lambda: height() > 0.27, "the robot to rise")
    fleet.until(lambda: height() < 0.225, "the robot to squat")
    assert node.end() == 0
    assert "Traceback" not in node.log


def test_a_robot_with_legs_is_refused_where_its_base_is_not_heard(fleet: Fleet) -> None:
    fleet.start(PASSIVE, QUADRUPED, hardware="topics")
    fleet.until_said(PASSIVE, "a node cannot have a floating base: joint_states do not say")


def test_a_long_plan_does_not_stop_the_arm(fleet: Fleet, stood_in) -> None:
    """The node plans for longer than the plugin waits for its signs of life."""
    silence = 1.0
    start(fleet, **{"plugin.silence_time": silence, "limits.lost_time": 5.0})
    fleet.until_said(MOTION, "following", level=0)
    points = [0.01 * (-1) ** i for i in range(60)]
    begun = monotonic()
    path = {"reference.kind": "waypoints", "reference.points": points}
    fleet.put(MOTION, {**path, "reference.max_distance": [1.0]})
    assert monotonic() - begun > 2.0 * silence, "the plan is too short to show anything"
    before = fleet.until_counted(MOTION, "ticks", 1).number("ticks")
    fleet.until_counted(MOTION, "ticks", before + 100)
    assert fleet.state(MOTION) == "active"


def test_a_slow_start_does_not_stop_the_arm(fleet: Fleet, stood_in) -> None:
    """A recorder that starts, a busy computer: signs of life do not wait for the loop's thread."""
    fleet.environment["AFTER_ENGAGING"] = "2.0"
    start(fleet, **{"plugin.silence_time": 1.0, "limits.lost_time": 5.0})
    fleet.until_said(MOTION, "following", level=0)
    fleet.until_counted(MOTION, "ticks", 100)
    assert fleet.state(MOTION) == "active"


def test_an_arm_whose_time_stands_still_is_given_up(fleet: Fleet, stood_in, tmp_path: Path) -> None:
    """Its states go on coming, but none of them is new."""
    start(fleet, **{"limits.lost_time": 1.0})
    fleet.until_said(MOTION, "following", level=0)
    (tmp_path / "clock_stands").touch()
    fleet.until_said(MOTION, "stood still or went back for 1 s", level=2)
    fleet.until_state(MOTION, "inactive")


@pytest.mark.long
def test_killed_it_is_followed_by_another(fleet: Fleet, stood_in) -> None:
    """The stand-in answers the silence; a new node takes the arm over."""
    efforts = fleet.record(JointState, "joint_states")
    node = start(fleet)
    fleet.until_said(MOTION, "following", level=0)
    node.kill()
    again = start(fleet)
    fleet.until_said(MOTION, "following", level=0)
    fleet.until_counted(MOTION, "ticks", 50)
    seen = [message.effort[0] for message in efforts.messages]
    assert max(abs(effort) for effort in seen) < 20.0
    assert again.end() == 0


@pytest.mark.long
def test_hung_it_goes_inactive_and_says_why(fleet: Fleet, stood_in) -> None:
    node = start(fleet)
    fleet.until_said(MOTION, "following", level=0)
    os.kill(node.pid, signal.SIGSTOP)
    efforts = fleet.record(JointState, "joint_states")
    fleet.until(lambda: len(efforts.messages) > 250, "two seconds and a half")
    os.kill(node.pid, signal.SIGCONT)
    fleet.until_said(MOTION, "heard nothing from here", "take the arm over", level=2)
    assert fleet.change(MOTION, "activate")
    fleet.until_said(MOTION, "following", level=0)


def test_live_gains_count_on_the_delay_of_the_arm(fleet: Fleet, ports_of_tests: None) -> None:
    """Six samples at 100 Hz: stable with one of them is not stable enough."""
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, SETTINGS, hardware="late", force__proportional=0.1)
    diagnosis = fleet.until_said(FORCE, "following", level=0)
    assert diagnosis.values["delay allowed for (samples)"] == "6"
    stiff = {"gains.stiffness": [1000.0], "gains.damping": [40.0]}
    assert "6 samples of delay" in fleet.refused(FORCE, stiff)
    fleet.put(FORCE, {"force.reference": [1.0]})
    fleet.put(FORCE, {"force.delay": 2})
    assert "6 samples of delay" in fleet.refused(FORCE, {"force.proportional": 6.0})
    fleet.put(FORCE, {"force.cutoff": 4.0})
    assert fleet.until_said(FORCE, "", level=0).values["delay allowed for (samples)"] == "6"


def test_it_says_that_the_watchdog_switched_its_arm_off(
    fleet: Fleet, ports_of_tests: None, tmp_path: Path
) -> None:
    """Not only that it was switched by another node: the watchdog's heartbeat has the reason."""
    switched = tmp_path / "switched"
    fleet.environment["SWITCHED"] = str(switched)
    said = Header(frame_id=f"watching {MOTION}")
    beats = fleet.node.create_publisher(Header, f"{WATCHDOG}/heartbeat", 10)
    fleet.node.create_timer(0.02, lambda: beats.publish(said))
    fleet.start(ARM, SETTINGS)
    fleet.start(MOTION, SETTINGS, hardware="late", watchdog=WATCHDOG, limits__watchdog_time=5.0)
    fleet.until_said(MOTION, "following", level=0)
    said.frame_id += "; deactivated it: no heartbeat for 0.512 s"
    switched.touch()
    fleet.until_said(
        MOTION,
        "effort_controller is inactive: the watchdog effort_watchdog deactivated it: no heartbeat",
        level=2,
    )
