"""``projected-control doctor``: what this computer allows a controller, and what to do.

Nothing here imports ROS: packages are looked for by name.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from projected_control.apps.console.command import Command, flag
from projected_control.resources import MissingResource, share_file

DESCRIPTION = """\
Looks at what a controller needs of this computer: compiled kernels, processors, real-time priority,
memory that may be locked, the settings of the middleware, the packages that launch files start.
Says what was found and what to do about it. The exit status is 1 where nodes cannot run at all.
"""


class Arguments(Command, help="what this computer allows, and what to do", description=DESCRIPTION):
    json: bool = flag("print the findings as JSON")


def run(args: Arguments) -> int:
    """Look, and print what was found."""
    import json

    findings = examine()
    if args.json:
        rows = [{**f._asdict(), "verdict": f.verdict.value} for f in findings]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{finding.verdict.value:7}  {finding.subject:{width}}  {finding.found}")
            if finding.advice:
                print(f"{'':7}  {'':{width}}  → {finding.advice}")
    return 1 if any(f.verdict is Rating.MISSING for f in findings) else 0


PLENTY = 64 << 20  # memory that may be locked, from which a node fits [bytes]


class Rating(Enum):
    """How well something is."""

    GOOD = "good"
    FAIR = "fair"
    MISSING = "missing"


class Finding(NamedTuple):
    """One thing that was looked at."""

    subject: str  # what
    verdict: Rating  # how it is; `MISSING` where nodes do not run without it
    found: str  # what was found, in words
    advice: str = ""  # what to do; empty where nothing has to be done


def _rated(subject: str, fine: bool, found: str, advice: str) -> Finding:
    """Good, or fair with the advice."""
    return Finding(subject, *((Rating.GOOD, found) if fine else (Rating.FAIR, found, advice)))


def examine() -> list[Finding]:
    return [finding for look in EXAMINATIONS for finding in look()]


def _kernels() -> Iterator[Finding]:
    from projected_control import kernel_library

    subject = "library of kernels"
    if os.environ.get("PROJECTED_CONTROL_COMPILE", "1") == "0":
        advice = "unset PROJECTED_CONTROL_COMPILE: a tick takes about a hundred times as long"
        yield Finding(subject, Rating.FAIR, "switched off", advice)
        return
    try:
        library = kernel_library.load()
    except kernel_library.LibraryMismatch as error:
        yield Finding(subject, Rating.MISSING, "not there", str(error))
        return
    made = kernel_library.text(library, "compiler")
    yield Finding(subject, Rating.GOOD, f"{kernel_library.folder()}, made by {made}")


def _processors() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0))
    advice = "give the computer two or more: one is the loop's own"
    yield _rated("processors", usable >= 2, f"{usable} to use", advice)
    load = os.getloadavg()[0]
    found = f"{load:.1f} processes run or wait for {usable} processors"
    advice = "stop what need not run, or allow real-time priority"
    yield _rated("load", load <= usable, found, advice)
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor.is_file():
        name = governor.read_text(encoding="utf-8").strip()
        advice = "sudo cpupower frequency-set -g performance"
        yield _rated("clock of the processors", name == "performance", name, advice)


def _real_time() -> Iterator[Finding]:
    permitted = _may_have_priority()
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    advice = (
        "add '@realtime - rtprio 99' and '@realtime - memlock unlimited' to "
        "/etc/security/limits.d/realtime.conf, join the group realtime, log in again"
    )
    found = "permitted" if permitted else f"not permitted (rtprio {limit})"
    yield _rated("real-time priority", permitted, found, advice)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    enough = locked == resource.RLIM_INFINITY or os.geteuid() == 0
    amount = "any amount" if enough else f"{locked >> 10} KiB"
    yield _rated("memory that may be locked", enough or locked >= PLENTY, amount, advice)
    real_time = "PREEMPT_RT" in platform.version() or Path("/sys/kernel/realtime").is_file()
    found = f"{platform.release()}, {'PREEMPT_RT' if real_time else 'not a real-time kernel'}"
    advice = "for an arm: a PREEMPT_RT kernel (Ubuntu: pro enable realtime-kernel)"
    yield _rated("kernel", real_time, found, advice)


def _may_have_priority() -> bool:
    """Tried in a process of its own."""
    attempt = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))"
    result = subprocess.run([sys.executable, "-c", attempt], capture_output=True, check=False)
    return result.returncode == 0


def _transport() -> Iterator[Finding]:
    names = {
        "RMW_IMPLEMENTATION": "the default, rmw_fastrtps_cpp",
        "ROS_DOMAIN_ID": "0",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST for our nodes, SUBNET for others",
    }
    for name, otherwise in names.items():
        yield Finding(name, Rating.GOOD, os.environ.get(name) or f"not set: {otherwise}")
    if os.environ.get("ROS_LOCALHOST_ONLY"):
        advice = "use ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, which it overrides"
        yield Finding("ROS_LOCALHOST_ONLY", Rating.FAIR, "set, though deprecated", advice)
    profile = os.environ.get("FASTRTPS_DEFAULT_PROFILES_FILE") or os.environ.get(
        "FASTDDS_DEFAULT_PROFILES_FILE"
    )
    if profile and not Path(profile).is_file():
        advice = "name a file that is there, or unset the variable"
        yield Finding("DDS profile", Rating.FAIR, f"{profile} is not there", advice)
    shared = Path("/dev/shm")
    if shared.is_dir():
        free = shutil.disk_usage(shared).free >> 20
        advice = "remove what processes that were killed left there (fastrtps_*)"
        yield _rated("shared memory", free >= 64, f"{free} MiB free in {shared}", advice)


PYTHON_PACKAGES = {
    "pinocchio": ("the model", True, "pip install pin"),
    "rclpy": ("the nodes", True, "source your ROS 2, or pip install 'projected_control[ros]'"),
    "launch_ros": ("the launch files", False, "apt install ros-$ROS_DISTRO-launch-ros"),
    "matplotlib": ("reports", False, "pip install 'projected_control[apps]'"),
    "rich": ("the demo's display", False, "pip install 'projected_control[apps]'"),
}

ROS_PACKAGES = {
    "robot_state_publisher": "robot-state-publisher",
    "controller_manager": "ros2-control",
    "joint_state_broadcaster": "ros2-controllers",
    "force_torque_sensor_broadcaster": "ros2-controllers",
    "effort_controllers": "ros2-controllers",
    "joint_state_topic_hardware_interface": "joint-state-topic-hardware-interface",
}
"""What hardware.launch.py starts, and the system package that brings it."""


def _packages() -> Iterator[Finding]:
    for name, (use, needed, how) in PYTHON_PACKAGES.items():
        there = find_spec(name) is not None
        verdict = Rating.GOOD if there else Rating.MISSING if needed else Rating.FAIR
        found = f"found, for {use}" if there else f"not found; {use} need it"
        yield Finding(name, verdict, found, "" if there else how)
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if p]
    for name, package in ROS_PACKAGES.items():
        index = Path("share", "ament_index", "resource_index", "packages", name)
        there = any((prefix / index).is_file() for prefix in prefixes)
        found = "found" if there else "not found; arms behind ros2_control need it"
        advice = f"apt install ros-$ROS_DISTRO-{package}, and source your ROS 2"
        yield _rated(name, there, found, advice)
    gazebo = shutil.which("gz")
    found = gazebo or "not found; gazebo.launch.py needs it"
    yield _rated("Gazebo", bool(gazebo), found, "apt install ros-$ROS_DISTRO-ros-gz")


def _installation() -> Iterator[Finding]:
    try:
        file = share_file("config", "presets", "paper.yaml")
        yield Finding("shared files", Rating.GOOD, str(file.parents[2]))
    except MissingResource as error:
        yield Finding("shared files", Rating.MISSING, str(error), "install the package anew")
    command = shutil.which("projected-control")
    advice = "after colcon build: ros2 run projected_control projected-control …"
    yield _rated("projected-control", bool(command), command or "not on the PATH", advice)


EXAMINATIONS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _installation,
    _kernels,
    _processors,
    _real_time,
    _transport,
    _packages,
)
