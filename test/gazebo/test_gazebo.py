"""The controller inside a real Gazebo, headless: its numbers beside our own simulation's.

Needs Gazebo Harmonic with its Python modules, or a newer one; skipped where there is none.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

import projected_control
from projected_control.apps.demo.case import DemoSettings, run_in_process
from projected_control.apps.launch import choices, gazebo_world
from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import find_gazebo
from projected_control.settings.nodes import ARM, PASSIVE, checked, demo_cases, own_values

SECONDS = 8.0
WORLD = "/world/constrained_arm/control"


@pytest.fixture(scope="module", autouse=True)
def gazebo():
    if shutil.which("gz") is None:
        pytest.skip("Gazebo (the command gz) is not installed")
    try:
        find_gazebo()
    except ProjectedControlError as error:
        pytest.skip(str(error))


@pytest.fixture
def environment(tmp_path):
    """A ROS domain and a Gazebo partition of one's own."""
    package = str(Path(projected_control.__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PYTHONPATH": f"{package}:{path}",
        "GZ_PARTITION": f"test_{os.getpid()}",
        "ROS_DOMAIN_ID": "88",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(tmp_path),
    }


def settings_of(choice, friction=False):
    """Of the controller, and of everything."""
    case = demo_cases()[choice]
    given = {"controller": choice, "arm": "auto", "preset": "paper", "friction": "false"}
    settings = choices.choose(given).values()
    if case.arm == "slider_crank":  # Gazebo wants links with inertia
        settings["robot_description_arguments"] = ["inertia:=rod"]
    if case.node != PASSIVE:
        settings["passive_joints"] = []
    if friction:
        settings |= choices.FRICTION
    return case, checked(case.node, own_values(case.node, settings)), settings


def write(folder, choice, friction=False, **more):
    case, controller, settings = settings_of(choice, friction)
    folder.mkdir(exist_ok=True)
    return gazebo_world.write_files(
        folder,
        case.node,
        controller,
        settings,
        gazebo_world.WorldOptions(friction=friction, **more),
        summary=folder / "summary.json",
    )


def run(folder, environment, choice, seconds=SECONDS, **more):
    """The numbers of a run in Gazebo."""
    files = write(folder, choice, **more)
    subprocess.run(
        ["gz", "sim", "-s", "-r", "--iterations", str(round(1000 * seconds)), str(files.world)],
        env=environment,
        check=True,
        timeout=200,
        capture_output=True,
    )
    return json.loads((folder / "summary.json").read_text())


def own(choice, seconds=SECONDS, friction=False):
    """The numbers of the same run in our own simulation."""
    case, controller, settings = settings_of(choice, friction)
    arm = checked(ARM, own_values(ARM, settings))
    return run_in_process(DemoSettings(case, seconds, controller, arm, {}))


@pytest.mark.parametrize("choice", ["motion", "force", "idc", "passive"])
def test_it_tracks_as_our_own_simulation(choice, environment, tmp_path):
    found = run(tmp_path, environment, choice, friction=True)
    expected = own(choice, friction=True)
    assert found["ticks"] >= 1000 * SECONDS - 2
    assert found["tracking_rms"] == pytest.approx(expected["tracking_rms"], rel=0.1)
    assert found["torque_rms"] == pytest.approx(expected["torque_rms"], rel=0.1)
    assert found["residual_max"] < 1e-3
    assert all(math.isfinite(value) for value in found.values() if isinstance(value, float))


def test_the_sensor_measures_what_the_model_says(environment, tmp_path):
    found = run(tmp_path, environment, "motion")
    assert found["lambda_model_rms"] > 1.0
    assert found["lambda_difference_rms"] < 0.02 * found["lambda_model_rms"]


def test_the_same_numbers_every_time_and_in_every_direction(environment, tmp_path):
    """A world turned by 0.7 rad is what catches a wrong solver."""
    keys = ("ticks", "tracking_rms", "tracking_peak", "lambda_rms", "torque_rms", "residual_max")
    first, again, turned = (
        run(tmp_path / name, environment, "force", seconds=3.0, yaw=yaw)
        for name, yaw in (("first", 0.0), ("again", 0.0), ("turned", 0.7))
    )
    assert [first[key] for key in keys] == [again[key] for key in keys]
    for key in keys:
        assert turned[key] == pytest.approx(first[key], rel=1e-3, abs=1e-9)


class Server:
    """Gazebo without an end, and what the controller says."""

    def __init__(self, files, environment):
        self._environment = environment
        self._context = Context()
        os.environ.update(
            {k: environment[k] for k in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOG_DIR")}
        )
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self._node = rclpy.create_node("visitor", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.said, self.values = "", {}
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._process = subprocess.Popen(
            ["gz", "sim", "-s", "-r", str(files.world)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _on_diagnostics(self, message):
        for status in message.status:
            self.said = status.message
            self.values = {value.key: value.value for value in status.values}

    def until(self, condition, what, seconds=60.0):
        deadline = monotonic() + seconds
        while not condition():
            assert monotonic() < deadline, f"waited for {what}; it says {self.said}: {self.values}"
            self._executor.spin_once(timeout_sec=0.1)

    def ticks(self):
        return int(self.values.get("ticks", -1))

    def more(self):
        """Wait for some ticks more."""
        before = self.ticks()
        self.until(lambda: self.ticks() > before + 100, "more ticks")

    def gz(self, *arguments):
        subprocess.run(["gz", *arguments], env=self._environment, check=True, timeout=60)

    def control(self, request):
        self.gz(
            *("service", "-s", WORLD, "--reqtype", "gz.msgs.WorldControl"),
            *("--reptype", "gz.msgs.Boolean", "--timeout", "5000", "--req", request),
        )

    def close(self):
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(20.0)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._executor.shutdown()
            self._node.destroy_node()
            self._context.try_shutdown()


@pytest.fixture
def server(environment, tmp_path):
    # PIDC leans on the slider; a hybrid one with λ = 0 would stay on the line without it.
    server = Server(write(tmp_path, "motion", factor=1.0), environment)
    try:
        server.until(lambda: server.said == "following", "the controller to follow")
        yield server
    finally:
        server.close()


def test_detached_from_the_slider_it_stops(server):
    server.gz("topic", "-t", "/slider/detach", "-m", "gz.msgs.Empty", "-p", "")
    server.until(lambda: "the arm has left its constraint" in server.said, "it to notice")
    server.until(lambda: server.values["state"] == "inactive", "it to stop")


def test_pause_step_and_reset(server):
    server.more()
    server.control("pause: true")
    sleep(1.0)
    server.until(lambda: True, "messages")
    server.values = {}
    server.until(lambda: server.values, "a word while paused")
    paused = server.ticks()
    server.control("multi_step: 10, pause: true")
    server.until(lambda: server.ticks() == paused + 10, "ten steps")
    server.control("pause: false")
    server.more()
    server.control("reset: {all: true}")
    server.until(lambda: 0 <= server.ticks() < paused, "a new beginning")
    server.until(lambda: server.said == "following", "it to follow again")
    server.more()
