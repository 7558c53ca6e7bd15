"""Try a wheel as someone with nothing but Python would: ``python test/try_wheel.py dist [--ros]``.

In a fresh environment with that wheel alone, an empty home and no compiler: the numbers of example
01 and how long they take, the native loop, an error of the command line, what it takes on disk.
With ``--ros``, also how long a controller takes until it is active, and its memory. `make wheel`
runs it; the bounds are those at the top.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from time import monotonic, sleep

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE_SECONDS, ACTIVE_SECONDS, ERROR_SECONDS, DISK_BYTES = 3.0, 5.0, 0.25, 60e6
NODE_MEBIBYTES = 97.0  # of an active controller: 60 % of what one took with numba in it

SIZES = """
import importlib.metadata as m, re
def closure(name, seen):
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name not in seen:
        seen.add(name)
        for line in m.requires(name) or ():
            if "extra ==" not in line:
                try:
                    closure(re.match(r"[A-Za-z0-9._-]+", line)[0], seen)
                except m.PackageNotFoundError:
                    pass  # of another Python or system
    return seen
def size(name):
    files = [f.locate() for f in m.files(name) or ()]
    return sum(f.stat().st_size for f in files if f.is_file())
there = {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower() for d in m.distributions()}
theirs = (closure("pin", set()) | closure("numpy", set()) | closure("scipy", set())) & there
ours = (closure("projected_control", set()) & there) - theirs
print(sum(map(size, ours)), sum(map(size, theirs)))
"""

failures: list[str] = []


def say(what: str, value: float, bound: float, unit: str) -> None:
    print(f"{what}: {value:.2f} {unit} (bound {bound:g})", flush=True)
    if value > bound:
        failures.append(what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path, help="folder with one wheel")
    parser.add_argument("--ros", action="store_true", help="also with ROS 2 from PyPI")
    given = parser.parse_args()
    (wheel,) = given.dist.resolve().glob("*.whl")
    print(wheel.name)
    if not re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", wheel.name):
        failures.append("the wheel's tag")
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        venv.create(python.parents[1], with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "--only-binary", ":all:", wheel], check=True)
        home = Path(folder, "home")
        home.mkdir()
        alone = {"HOME": str(home), "PATH": folder}
        try_library(python, alone)
        if any(home.rglob("*")):
            failures.append("something was written into the home")
        if given.ros:
            subprocess.run([*install, f"{wheel}[ros]"], check=True)
            try_node(python, alone)
    print(f"not met: {', '.join(failures)}" if failures else "all met")
    return 1 if failures else 0


def try_library(python: Path, alone: dict[str, str]) -> None:
    def run(*command: object, status: int = 0) -> tuple[str, float, float]:
        before, began = os.times(), monotonic()
        done = subprocess.run(
            [str(part) for part in command],
            env=alone,
            cwd=alone["HOME"],
            capture_output=True,
            text=True,
        )
        took, after = monotonic() - began, os.times()
        if done.returncode != status:
            failures.append(f"{command[1:]} ended with {done.returncode}: {done.stderr[-500:]}")
        processor = sum(after[2:4]) - sum(before[2:4])
        return done.stdout, took, processor

    out, took, _ = run(python, ROOT / "examples" / "01_slider.py")
    say("example 01, seconds after the command", took, EXAMPLE_SECONDS, "s")
    if "PIDC: RMS torque 1.500 N·m" not in out:
        failures.append(f"the numbers of example 01: {out}")
    command = python.with_name("projected-control")
    out, _, _ = run(command, "export", "--loop")
    if "libprojected_control_loop.so" not in out:
        failures.append("the native loop")
    _, _, processor = run(command, "check", "nowhere.yaml", status=2)
    say("an error of the command line, processor", processor, ERROR_SECONDS, "s")
    out, _, _ = run(python, "-c", SIZES)
    ours, theirs = map(int, out.split())
    say(
        f"on disk beyond Pinocchio, NumPy and SciPy ({theirs / 1e6:.0f} MB)",
        ours / 1e6,
        DISK_BYTES / 1e6,
        "MB",
    )


def try_node(python: Path, alone: dict[str, str]) -> None:
    share = python.parents[1] / "share" / "projected_control" / "config"
    files = [
        "--params-file",
        share / "three_link_slider.yaml",
        "--params-file",
        share / "presets" / "paper.yaml",
    ]
    own = {
        "simulated_arm": [],
        "effort_watchdog": ["-p", "controller:=force_controller"],
        "force_controller": ["-p", "watchdog:=effort_watchdog"],
    }
    environment = {**alone, "ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "97")}
    running: list[subprocess.Popen] = []

    def start(name: str) -> subprocess.Popen:
        command = [python.with_name(name), "--ros-args", *files, *own[name]]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        running.append(process)
        return process

    try:
        start("simulated_arm"), start("effort_watchdog")
        sleep(6.0)
        began, said = monotonic(), ""
        controller = start("force_controller")
        for line in controller.stdout:
            said += line
            if "active:" in line:
                say(
                    "a controller is active, seconds after its start",
                    monotonic() - began,
                    ACTIVE_SECONDS,
                    "s",
                )
                break
        else:
            failures.append(f"the controller: {said[-1000:]}")
            return
        sleep(2.0)
        memory = Path(f"/proc/{controller.pid}/smaps_rollup").read_text()
        taken = int(re.search(r"Pss: +([0-9]+)", memory)[1]) / 1024
        say("its memory (PSS)", taken, NODE_MEBIBYTES, "MiB")
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20.0)


if __name__ == "__main__":
    sys.exit(main())
