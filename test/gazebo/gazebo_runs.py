"""Runs in a real Gazebo: their files, their numbers, and a server to talk to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from time import monotonic

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from projected_control.apps.gazebo import world_files as gazebo_files
from projected_control.apps.launch import choices
from projected_control.settings.nodes import PASSIVE, checked, demo_cases, own_values

SECONDS = 8.0
WORLD = "/world/constrained_arm/control"


def settings_of(choice, friction=False, own=None):
    """Of the controller, and of everything; with values of one's own."""
    case = demo_cases()[choice]
    given = {"controller": choice, "arm": "auto", "preset": "paper", "friction": "false"}
    settings = choices.choose(given).values()
    if case.arm == "slider_crank":  # Gazebo wants links with inertia
        settings["robot_description_arguments"] = ["inertia:=rod"]
    if case.node != PASSIVE:
        settings["passive_joints"] = []
    if friction:
        settings |= choices.FRICTION
    settings |= own or {}
    return case, checked(case.node, own_values(case.node, settings)), settings


def write(folder, choice, friction=False, own=None, **more):
    case, controller, settings = settings_of(choice, friction, own)
    folder.mkdir(exist_ok=True)
    return gazebo_files.write_files(
        folder,
        case.node,
        controller,
        settings,
        gazebo_files.WorldOptions(**{"measure": True, **more}),
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


class Server:
    """Gazebo without an end, and what the controller says."""

    def __init__(self, files, environment):
        self._environment = environment
        self._context = Context()
        os.environ.update(
            {k: environment[k] for k in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOG_DIR")}
        )
        rclpy.init(context=self._context, domain_id=int(environment["ROS_DOMAIN_ID"]))
        self.node = rclpy.create_node("visitor", context=self._context)
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        self.said, self.values = "", {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._log = files.world.with_name("gazebo.log")
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                ["gz", "sim", "-s", "-r", str(files.world)],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _on_diagnostics(self, message):
        for status in message.status:
            self.said = status.message
            self.values = {value.key: value.value for value in status.values}

    def until(self, condition, what, seconds=60.0):
        deadline = monotonic() + seconds
        while not condition():
            assert monotonic() < deadline, (
                f"waited for {what}; it says {self.said}: {self.values}; {self.console()[-2000:]}"
            )
            self.executor.spin_once(timeout_sec=0.1)

    def console(self):
        """All that was written to it."""
        return self._log.read_text(errors="replace")

    def ticks(self):
        return int(self.values.get("ticks", -1))

    def more(self, ticks=100, seconds=60.0):
        """Wait for some ticks more."""
        before = self.ticks()
        self.until(lambda: self.ticks() > before + ticks, "more ticks", seconds)

    def still(self):
        """Its ticks once they stay the same: older words may be waiting, but each has its own."""
        self.until(lambda: self.ticks() >= 0, "a word")
        while True:
            before, self.values = self.ticks(), {}
            self.until(lambda: self.ticks() >= 0, "the next word")
            if self.ticks() == before:
                return before

    def detach(self, noticed, what):
        """Let the slider go, and wait; a command that has found no listener in time is repeated."""
        deadline = monotonic() + 60.0
        while monotonic() < deadline:
            self.gz("topic", "-t", "/slider/detach", "-m", "gz.msgs.Empty", "-p", "")
            for _ in range(50):
                self.executor.spin_once(timeout_sec=0.1)
                if noticed():
                    return
        raise AssertionError(f"waited for {what}; it says {self.said}: {self.values}")

    def gz(self, *arguments):
        subprocess.run(["gz", *arguments], env=self._environment, check=True, timeout=60)

    def control(self, request):
        self.gz(
            *("service", "-s", WORLD, "--reqtype", "gz.msgs.WorldControl"),
            *("--reptype", "gz.msgs.Boolean", "--timeout", "5000", "--req", request),
        )

    def close(self):
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20.0)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.executor.shutdown()
            self.node.destroy_node()
            self._context.try_shutdown()
