"""launch/hardware.launch.py with the real launch and the real ros2_control, and what breaks it.

Needs an installed ROS 2 with ros2_control; skipped where there is none. The times that these
faults take are in docs/hardware.md; ``pytest -s`` prints those of this computer.
"""

from __future__ import annotations

import shutil
from time import monotonic, sleep

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
pytest.importorskip(
    "controller_manager_msgs", reason="ros2_control is not installed (it is not on PyPI)"
)

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from quiet import within
from rig import running, weight_said
from ros_domain import free_domain

NEEDED = ("controller_manager", "robot_state_publisher", "projected_control")
SIMULATED = "joint_state_topic_hardware_interface"
CONTROLLER, WATCHDOG = "motion_controller", "effort_watchdog"
TOPICS = "loop:=topics"
"""The loop in the node; that in the controller manager is tested by test_plugin.py."""


def require(*packages):
    """Skip where a package is missing."""
    if shutil.which("ros2") is None:
        pytest.skip("the command ros2 is not installed")
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            pytest.skip(f"the package {package} is not installed")


@pytest.fixture
def own_domain(monkeypatch, tmp_path):
    """A ROS domain of one's own."""
    require(*NEEDED)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    domain, lock = free_domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    yield tmp_path / "launch.log"
    lock.close()


@pytest.fixture
def simulated(own_domain):
    """The simulated arm behind the real controller manager, under control and moving."""
    require(SIMULATED)
    with running(
        own_domain, "hardware:=simulated", "controller:=motion", "preset:=delayed", TOPICS
    ) as rig:
        rig.until_active(CONTROLLER)
        rig.moving()
        yield rig


NO_TORQUE = {
    "controller killed": 0.020,
    "controller hung": 0.020,
    "watchdog killed": 0.8,
    "watchdog hung": 0.8,
    "controller manager killed": 0.060,
    "arm killed": 0.150,
    "switched away": 0.020,
    "another node": 0.020,
    "messages of the wrong size": 1.3,
}
"""After which there is no torque, as docs/hardware.md says [s]."""


def report(what, zero, reason, detail=""):
    """Print the times; the first must be as documented, in a test marked quiet."""
    print(f"\n{what}{detail}: no torque after {1e3 * zero:.1f} ms, reason after {reason:.2f} s")
    within(NO_TORQUE[what], zero, f"{what}: the end of the torque")


@pytest.mark.quiet
def test_dry_run_comes_up_and_gives_the_arm_back(own_domain):
    with running(own_domain, "dry_run:=true", TOPICS) as rig:
        rig.until_active(CONTROLLER)
        assert rig.controllers()["effort_controller"] == "active"
        rig.until(lambda: int(rig.values[CONTROLLER]["ticks"]) > 2000, "some ticks")
        period = 1.0 / float(rig.values[CONTROLLER]["rate (Hz)"])
        assert rig.transition(CONTROLLER, "deactivate")
        assert rig.controllers()["effort_controller"] == "inactive"
    within(1.2e-3, period, "a period of the loop")


def test_former_controllers_come_back(own_domain):
    """A controller that held the arm before steps aside, and holds it again afterwards."""
    with running(own_domain, "dry_run:=true", TOPICS) as rig:
        rig.until_active(CONTROLLER)
        assert rig.transition(CONTROLLER, "deactivate")
        rig.spawn("forward_effort_controller")
        assert rig.controllers()["forward_effort_controller"] == "active"
        assert rig.transition(CONTROLLER, "activate")
        states = rig.controllers()
        assert states["forward_effort_controller"] == "inactive"
        assert states["effort_controller"] == "active"
        assert rig.transition(CONTROLLER, "deactivate")
        states = rig.controllers()
        assert states["forward_effort_controller"] == "active"
        assert states["effort_controller"] == "inactive"


@pytest.mark.quiet
def test_controller_killed(simulated):
    when = simulated.kill(CONTROLLER)
    zero = simulated.silence_after(when)
    said = simulated.until_said(WATCHDOG, "no heartbeat", "effort_controller deactivated")
    assert simulated.controllers()["effort_controller"] == "inactive"
    report("controller killed", zero, said - when)


@pytest.mark.quiet
def test_watchdog_killed(simulated):
    when = simulated.kill(WATCHDOG)
    zero = simulated.silence_after(when)
    said = simulated.until_said(CONTROLLER, "the watchdog effort_watchdog has been silent")
    simulated.until(lambda: simulated.values[CONTROLLER]["state"] == "inactive", "the end")
    assert simulated.controllers()["effort_controller"] == "inactive"
    report("watchdog killed", zero, said - when)


@pytest.mark.quiet
def test_controller_hung(simulated):
    """As good as killed: zeros at once, and where it lasts the effort controller is deactivated."""
    with simulated.hung(CONTROLLER) as when:
        zero = simulated.silence_after(when)
        said = simulated.until_said(WATCHDOG, "no heartbeat", "effort_controller deactivated")
    assert simulated.controllers()["effort_controller"] == "inactive"
    simulated.until(
        lambda: simulated.values[CONTROLLER]["state"] == "inactive", "the controller to go inactive"
    )
    report("controller hung", zero, said - when)


def test_a_moment_costs_a_moment(simulated):
    """A controller that hangs shorter than deactivate_time goes on."""
    with simulated.hung(CONTROLLER) as when:
        simulated.until(lambda: simulated.torques[-1][1] == 0.0, "no torque")
    simulated.moving()
    assert simulated.values[CONTROLLER]["state"] == "active"
    assert simulated.controllers()["effort_controller"] == "active"
    print(f"\na moment: {simulated.torques[-1][0] - when:.3f} s later it goes on")


@pytest.mark.quiet
def test_watchdog_hung(simulated):
    with simulated.hung(WATCHDOG) as when:
        zero = simulated.silence_after(when)
        said = simulated.until_said(CONTROLLER, "the watchdog effort_watchdog has been silent")
    simulated.until(lambda: simulated.values[CONTROLLER]["state"] == "inactive", "the end")
    assert simulated.controllers()["effort_controller"] == "inactive"
    report("watchdog hung", zero, said - when)


def test_both_killed(simulated):
    """Nobody is left to send zeros; the drive's own timeout does not help while commands go on."""
    when = simulated.kill(WATCHDOG, CONTROLLER)
    deadline = monotonic() + 3.0
    simulated.until(lambda: monotonic() > deadline, "time to pass")
    held = [torque for t, torque in simulated.torques if t > when + 0.1]
    print(f"\nboth killed: torque held after 3 s: {held[-1]:.2f} N·m")
    assert held[-1] > 0.0  # if it is not, docs/safety.md warns of what does not happen


@pytest.mark.parametrize("numbers", [[1.0] * 3, [float("nan")] * 3])
def test_after_foreign_commands_the_last_word_is_zero(simulated, numbers):
    """By order, not by time: the effort controller is off, what is sent then reaches no motor."""
    gaps = np.random.default_rng(11).uniform(0.0, 0.02, 200)
    with simulated.foreign_commander() as send:

        def go_on() -> None:
            for gap in gaps:
                send(*numbers)
                deadline = monotonic() + gap
                simulated.until(lambda deadline=deadline: monotonic() > deadline, "the next one")

        go_on()
        simulated.until_said(CONTROLLER, "rig also commands this arm")
        simulated.until(
            lambda: simulated.controllers()["effort_controller"] == "inactive", "its end"
        )
        simulated.until(lambda: simulated.torques[-1][1] == 0.0, "no torque")
        before = len(simulated.torques)
        go_on()
        simulated.until(lambda: len(simulated.torques) > before + 1000, "states")
    assert max(torque for _, torque in simulated.torques[before:]) == 0.0
    assert simulated.values[CONTROLLER]["state"] == "inactive"


@pytest.mark.parametrize("numbers", [[1.0] * 3, [float("nan")] * 3])
@pytest.mark.quiet
def test_a_foreign_command_of_the_right_size(simulated, numbers):
    """The controller stops at its first message; from then on no other node reaches the arm."""
    with simulated.foreign_commander() as send:
        when = monotonic()
        send(*numbers)
        said = simulated.until_said(CONTROLLER, "rig also commands this arm", since=when)
        simulated.until(
            lambda: simulated.controllers()["effort_controller"] == "inactive", "its end"
        )
        send(*numbers)
        zero = simulated.silence_after(when)
    report("another node", zero, said - when, f" sent {numbers}")


@pytest.mark.quiet
def test_controller_manager_killed(simulated):
    when = simulated.kill("ros2_control_node")
    zero = simulated.silence_after(when)
    said = simulated.until_said(CONTROLLER, "no joint state for")
    report("controller manager killed", zero, said - when)


@pytest.mark.quiet
def test_arm_killed(simulated):
    """The controller manager goes on with fresh stamps and frozen positions."""
    commands = simulated.listen_to_commands()
    when = simulated.kill("simulated_arm")
    said = simulated.until_said(CONTROLLER, "state frozen", since=when)
    simulated.until(lambda: commands and not any(commands[-1][1]), "zeros")
    zero = next(t for t, numbers in commands if t > when and not any(numbers)) - when
    report("arm killed", zero, said - when)


@pytest.mark.quiet
def test_another_node_that_goes_on_with_messages_of_the_wrong_size(simulated):
    """Either the effort controller fails, or the other node is noticed: the torque ends."""
    with simulated.foreign_commander() as send:
        when = monotonic()
        for _ in range(300):
            send(1.0, 2.0)
            sleep(0.01)
            simulated.until(lambda: True, "messages")
            if simulated.values[CONTROLLER]["state"] == "inactive":
                break
        zero = simulated.silence_after(when)
    message = simulated.said_by(CONTROLLER)
    assert "rig also commands this arm" in message or "effort_controller is inactive" in message
    report("messages of the wrong size", zero, zero, f" ({message})")


@pytest.mark.quiet
def test_switched_away_by_somebody_else(simulated):
    when = simulated.switch([], ["effort_controller"])
    zero = simulated.silence_after(when)
    said = simulated.until_said(
        CONTROLLER, "effort_controller is inactive: it was switched", since=when
    )
    report("switched away", zero, said - when)


def test_joint_missing(own_domain, tmp_path):
    """A controller that wants motors on all joints, on an arm with a passive one."""
    require(SIMULATED)
    with running(own_domain, "hardware:=simulated", "controller:=passive", TOPICS) as rig:
        rig.until_active("passive_joint_controller")
        fall = "may_fall:=true"  # the crank's weight is not what this is about
        arm = f"arm:={weight_said('slider_crank', tmp_path)}"
        rig.launch("hardware:=running", "controller:=motion", arm, TOPICS, fall)
        rig.until_said(WATCHDOG, "waiting", "effort_controller: it lacks joint_2", seconds=90.0)
        rig.until_said(CONTROLLER, "waiting", "watches passive_joint_controller", seconds=90.0)
        assert rig.values[CONTROLLER]["state"] == "inactive"
