"""Twenty starts of each launch file on a busy computer, the processes in any order.

Both cores are busy, and each process of a launch is held back for a random moment when it appears,
so that now the arm is first and now the controller. Every start ends up active and moving, or ends
by itself with a reason and a status that is not 0; which of the two, ``pytest -s`` prints.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from ros_domain import free_domain

STARTS = int(os.environ.get("STARTS", "20"))
PATIENCE = 120.0  # for a start on a busy computer [s]
HELD_BACK = 3.0  # longest time that a process is held back when it appears [s]
TICKS = 500  # after so many answered states an arm is moving

LAUNCHES = {
    "simulation": (("simulation.launch.py",), ()),
    "dry_run": (("hardware.launch.py", "dry_run:=true", "loop:=topics"), ("controller_manager",)),
    "simulated": (
        ("hardware.launch.py", "hardware:=simulated", "preset:=delayed", "loop:=topics"),
        ("controller_manager", "joint_state_topic_hardware_interface"),
    ),
    "gazebo": (("gazebo.launch.py", "gui:=false"), ("ros_gz_sim",)),
}
"""What is started, and the packages it needs beside our own."""


def require(*packages: str) -> None:
    """Skip where something is missing."""
    if shutil.which("ros2") is None:
        pytest.skip("the command ros2 is not installed")
    for package in ("projected_control", "robot_state_publisher", *packages):
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            pytest.skip(f"the ROS 2 package {package} is not installed")


@pytest.fixture
def busy_cores() -> Iterator[None]:
    """One process per core that does nothing but compute."""
    spin = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


def children(pid: int) -> set[int]:
    """Processes that a process started."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return {int(child) for child in listed.stdout.split()}


def hold_back(launch: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Stop each process of the launch when it appears, and let it go on a moment later."""
    seen: dict[int, float] = {}
    while launch.poll() is None:
        for pid in children(launch.pid) - set(seen):
            seen[pid] = monotonic() + chance.uniform(0.0, HELD_BACK)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid, until in seen.items():
            if monotonic() > until:
                seen[pid] = float("inf")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        sleep(0.05)


def start_once(arguments: tuple[str, ...], log: Path, chance: random.Random) -> str:
    """Start, wait for what becomes of it, and end it; what it was."""
    domain, lock = free_domain()
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(log.parent),
    }
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("onlooker", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    ticks = 0

    def listen(message: DiagnosticArray) -> None:
        nonlocal ticks
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if values.get("state") == "active" and "ticks" in values:
                ticks = max(ticks, int(values["ticks"]))

    node.create_subscription(DiagnosticArray, "/diagnostics", listen, 100)
    began = monotonic()
    with log.open("wb") as output:
        launch = subprocess.Popen(
            ["ros2", "launch", "projected_control", *arguments],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    holder = threading.Thread(target=hold_back, args=(launch, chance), daemon=True)
    holder.start()
    try:
        while ticks < TICKS and launch.poll() is None and monotonic() < began + PATIENCE:
            executor.spin_once(timeout_sec=0.05)
        seconds = monotonic() - began
    finally:
        status = launch.poll()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launch.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            launch.wait(30.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launch.pid, signal.SIGKILL)
        launch.wait()
        holder.join()
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
        lock.close()
    if ticks >= TICKS:
        return f"active and moving after {seconds:.1f} s"
    text = log.read_text(errors="replace")
    reasons = [line for line in text.splitlines() if "ERROR" in line or "error" in line]
    assert status is not None, f"nothing came of it in {PATIENCE:g} s:\n{text[-4000:]}"
    assert status != 0, f"ended with status 0 and had not moved:\n{text[-4000:]}"
    assert reasons, f"ended with status {status} and no reason:\n{text[-4000:]}"
    return f"ended with status {status} after {seconds:.1f} s: {reasons[0]}"


@pytest.mark.long
@pytest.mark.timeout(STARTS * (PATIENCE + 60.0))
@pytest.mark.parametrize("name", LAUNCHES)
def test_every_start_moves_or_says_why(name, tmp_path, busy_cores):
    arguments, packages = LAUNCHES[name]
    require(*packages)
    chance = random.Random(name)
    for number in range(1, STARTS + 1):
        log = tmp_path / f"{number}.log"
        print(f"\n{name} {number}: {start_once(arguments, log, chance)}", flush=True)
