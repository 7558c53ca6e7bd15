"""The processes of ``bench node``: an arm, its watchdog, and who answers its states."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic

from projected_control.apps.demo.case import settings_for
from projected_control.apps.fleet.monitor import Monitor
from projected_control.apps.fleet.node_processes import Fleet
from projected_control.errors import ProjectedControlError
from projected_control.ros.transport import avoid_shared_memory
from projected_control.settings.nodes import ARM, WATCHDOG

START_SECONDS = 600.0
"""How long the nodes may take until the arm moves [s]."""

SETTLED = 1000
"""States after which a turn begins."""

EFFORT = "0.1"
"""What the echo sends to each joint [N·m]."""


def measure(who: str, folder: Path, seconds: float) -> dict[str, float]:
    """One turn: processor time per state of who answers, of the arm and of the watchdog [µs].

    Args:
        who: ``controller`` or ``echo``.
        folder: For parameters and logs.
        seconds: How long, by the clock.
    """
    settings = settings_for("force", 1.0, "paper", True, {}, paced=True)
    settings = replace(settings, arm=settings.arm.changed({"simulation.duration": 0.0}))
    file = folder / "parameters.yaml"
    file.write_text(settings.parameter_file(), encoding="utf-8")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    avoid_shared_memory()
    fleet, echo = Fleet(folder, {}), None
    monitor = Monitor(settings.case.node)
    arguments = ["--params-file", str(file)]
    try:
        if who == "controller":
            fleet.start(settings.case.node, arguments)
        else:
            joints = ",".join(settings.arm.joints)
            efforts = ",".join([EFFORT] * len(settings.arm.joints))
            module = "projected_control.ros.echo"
            echo = subprocess.Popen([sys.executable, "-m", module, joints, efforts])
        for node in (WATCHDOG, ARM):
            fleet.start(node, arguments)
        pids = {
            "self": echo.pid if echo is not None else fleet.pid(settings.case.node),
            "arm": fleet.pid(ARM),
            "watchdog": fleet.pid(WATCHDOG),
        }
        began = monotonic()
        while (before := _states(fleet, monitor)) < SETTLED:
            if monotonic() - began > START_SECONDS:
                raise ProjectedControlError(f"the {who} did not answer the arm's states")
        used = {name: processor_time(pid) for name, pid in pids.items()}
        monitor.spin(seconds)
        count = _states(fleet, monitor) - before
        return {
            name: 1e6 * (processor_time(pid) - used[name]) / count for name, pid in pids.items()
        }
    finally:
        if echo is not None:
            echo.terminate()
            echo.wait()
        fleet.stop()
        monitor.close()


def _states(fleet: Fleet, monitor: Monitor) -> int:
    """How many the arm has had answered, as it says next."""
    monitor.diagnostics.clear()
    while True:
        monitor.spin(0.1)
        fleet.check()
        _, _, values = monitor.diagnostics.get(ARM, (0, "", {}))
        if "ticks" in values:
            return int(values["ticks"])


def processor_time(pid: int) -> float:
    """Of a process, all its threads, user and system [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
