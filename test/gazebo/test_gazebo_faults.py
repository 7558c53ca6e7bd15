"""What goes wrong in a real Gazebo: it is said, it ends with a status, or it does not matter.

Needs Gazebo Harmonic with its Python modules, or a newer one; skipped where there is none.
"""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
import yaml
from quiet import within

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from gazebo_runs import Server, write
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.ros.gazebo_stopwatch import RUNNING, read_outcome
from projected_control.ros.gazebo_system import FAILED
from projected_control.ros.wait_set import drain, unused

SILENT = "the force-torque sensor in Gazebo does not answer every step"


def simulate(files, environment, seconds, rate=1000):
    """Gazebo for so long: its status, what it said, and the numbers of the run, if any."""
    steps = str(round(rate * seconds))
    done = subprocess.run(
        ["gz", "sim", "-s", "-r", "--iterations", steps, str(files.world)],
        env=environment,
        timeout=280,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    summary = files.world.with_name("summary.json")
    return done.returncode, done.stdout, json.loads(summary.read_text()) if summary.exists() else {}


def in_world(files, old, new):
    """Another world."""
    text = files.world.read_text()
    assert old in text
    files.world.write_text(text.replace(old, new))


def without_sensor_system(files):
    text = files.world.read_text()
    line = next(line for line in text.splitlines() if "gz-sim-forcetorque-system" in line)
    in_world(files, line, "")


@pytest.fixture
def serve(environment, tmp_path):
    """Starts Gazebo without an end, and waits until the controller follows."""
    servers = []

    def start(choice, **more):
        servers.append(Server(write(tmp_path, choice, **more), environment))
        servers[0].until(lambda: servers[0].said == "following", "the controller to follow")
        return servers[0]

    yield start
    for server in servers:
        server.close()


# Settings and transitions


def test_a_setting_that_only_configure_refuses_ends_gazebo(environment, tmp_path):
    files = write(tmp_path, "force")
    content = yaml.safe_load(files.parameters.read_text())
    content["/**"]["ros__parameters"]["force.delay"] = 20
    files.parameters.write_text(yaml.safe_dump(content))
    status, said, _ = simulate(files, environment, 1.0)
    assert status == FAILED
    assert "and Gazebo ends: the controller was not configured" in said
    assert "20" in read_outcome(files.outcome)


def test_an_invalid_transition_is_refused_and_the_run_goes_on(serve):
    server = serve("motion")
    client = server.node.create_client(ChangeState, "/motion_controller/change_state")
    server.until(client.service_is_ready, "the lifecycle's service")
    for transition in (Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CONFIGURE):
        request = ChangeState.Request(transition=Transition(id=transition))
        client.call_async(request)
    server.until(lambda: server.console().count("refused: ") == 2, "two refusals")
    server.more()
    assert server.said == "following"


def test_every_transition_there_and_back(serve):
    server = serve("motion")
    client = server.node.create_client(ChangeState, "/motion_controller/change_state")
    server.until(client.service_is_ready, "the lifecycle's service")
    for transition in (
        Transition.TRANSITION_DEACTIVATE,
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
    ):
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        server.until(future.done, "an answer")
        assert future.result().success
    assert server.process.poll() is None
    server.control("reset: {all: true}")  # loose, the arm has coasted away
    server.until(lambda: server.said == "following", "it to follow again")
    server.more()


# The sensor


def test_force_control_without_a_sensor_ends_gazebo(environment, tmp_path):
    files = write(tmp_path, "force")
    without_sensor_system(files)
    status, said, _ = simulate(files, environment, 2.0)
    assert status == FAILED
    assert f"force control needs a sensor: {SILENT}" in said


def test_motion_control_without_a_sensor_goes_on_at_its_speed(environment, tmp_path):
    files = write(tmp_path, "motion", factor=1.0)
    without_sensor_system(files)
    began = monotonic()
    status, said, numbers = simulate(files, environment, 6.0)
    assert status == 0
    assert monotonic() - began < 90.0  # with half a second for each step: 3000
    assert said.count(SILENT) == 2  # at the first step, and at the five thousandth
    assert numbers["ticks"] >= 5990
    assert numbers["tracking_rms"] < 1e-3
    assert numbers["lambda_difference_rms"] is None
    assert numbers["real_time_factor"] > 0.3


def test_a_sensor_at_half_the_rate_is_said_and_costs_no_time(environment, tmp_path):
    files = write(tmp_path, "motion")
    model = files.model.read_text()
    assert "<update_rate>0<" in model
    files.model.write_text(model.replace("<update_rate>0<", "<update_rate>500.0<"))
    status, said, numbers = simulate(files, environment, 3.0)
    assert status == 0
    assert SILENT in said
    assert numbers["ticks"] >= 2990
    assert numbers["real_time_factor"] > 0.3


def test_two_thousand_steps_per_second(environment, tmp_path):
    """The sensor answers every step, at any rate."""
    files = write(tmp_path, "force", own={"rate": 2000.0})
    status, said, numbers = simulate(files, environment, 3.0, rate=2000)
    assert status == 0
    assert SILENT not in said
    assert numbers["ticks"] >= 5990
    assert numbers["rate_hz"] == pytest.approx(2000.0, rel=1e-3)
    assert numbers["tracking_rms"] < 1e-3
    assert numbers["lambda_difference_rms"] < 0.03
    assert numbers["real_time_factor"] > 0.1


def test_a_world_with_another_step_is_refused(environment, tmp_path):
    files = write(tmp_path, "motion")
    in_world(files, "<max_step_size>0.001<", "<max_step_size>0.002<")
    status, said, _ = simulate(files, environment, 1.0)
    assert status == FAILED
    assert "steps of 2 ms, 500 per second, and the controller's rate is 1000 Hz" in said


# While it runs


@pytest.mark.quiet
def test_every_force_reference_takes_effect(serve):
    """300 values at 100 Hz: each is in force, and soon."""
    server = serve("force", factor=1.0, own={"state_rate": 1000.0})
    node = server.node
    states = node.create_subscription(
        JointState, "/force_controller/state", unused, QoSProfile(depth=2000)
    )
    publisher = node.create_publisher(
        Float64MultiArray, "/force_controller/force_reference", QoSProfile(depth=100)
    )
    server.until(lambda: publisher.get_subscription_count() == 1, "a listener")
    server.until(lambda: drain(states), "a state")
    seen, now = {}, 0.0

    def look():
        nonlocal now
        for message in drain(states):
            now = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            desired = message.position[list(message.name).index("lambda_0/desired")]
            seen.setdefault(round(desired, 6), now)

    sent = {}
    begin = monotonic()
    for i in range(300):
        while monotonic() < begin + 0.01 * i:
            look()
            sleep(0.0005)
        value = round(1.0 + 0.001 * i, 6)
        look()
        sent[value] = now
        publisher.publish(Float64MultiArray(data=[value]))
    deadline = monotonic() + 2.0
    while monotonic() < deadline:
        look()
        sleep(0.001)
    effective = [value for value in sent if value in seen]
    late = sorted(round(1000 * (seen[value] - sent[value])) for value in effective)
    middle, most = late[len(late) // 2], late[-1]
    print(f"{len(effective)} of 300 took effect; steps: median {middle}, most {most}")
    assert len(effective) == 300
    within(0.005, 1e-3 * middle, "a reference to be in force")


def test_reset_welds_a_detached_slider_again(serve):
    """Also the second time, and after a reset between; and it can be detached again."""
    # PIDC leans on the slider; a hybrid one with λ = 0 would stay on the line without it.
    server = serve("motion", factor=1.0)
    server.control("reset: {all: true}")
    server.more(1000)
    for again in (False, True):
        server.detach(lambda: server.values.get("state") == "inactive", "it to stop")
        for _ in range(1 + again):
            server.control("reset: {all: true}")
            sleep(0.5)
            server.until(lambda: server.said == "following", "it to follow again")
            server.more(1500)
            assert server.said == "following"
            assert float(server.values["residual (m)"]) < 1e-3
    server.detach(lambda: server.values.get("state") == "inactive", "it to stop")


def resident(pid):
    """Memory that a process has in use [kB]."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def test_memory_does_not_grow(serve):
    """Over 60 simulated seconds, after the first ten."""
    server = serve("force")
    server.until(lambda: server.ticks() > 10_000, "ten seconds", seconds=200.0)
    used, ticks = resident(server.process.pid), server.ticks()
    server.until(lambda: server.ticks() > ticks + 60_000, "sixty seconds", seconds=200.0)
    grown = resident(server.process.pid) - used
    seconds = (server.ticks() - ticks) / 1000.0
    print(f"memory grew by {grown} kB in {seconds:.0f} s, {grown / seconds:.1f} kB/s")
    assert grown < 5.0 * seconds


def test_outcome_of_a_run(environment, tmp_path):
    files = write(tmp_path, "motion")
    assert "did not load our controller" in read_outcome(files.outcome)
    files.outcome.write_text(RUNNING)
    assert read_outcome(files.outcome) == "Gazebo ended before its time"
    status, _, numbers = simulate(files, environment, 0.5)
    assert status == 0
    assert math.isfinite(numbers["tracking_rms"])
    assert read_outcome(files.outcome) == ""
