"""``projected-control bench faults``: what follows when a process dies or hangs, and how soon."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from projected_control import extras
from projected_control.apps import bench
from projected_control.apps.console.command import Command, option

if TYPE_CHECKING:
    from projected_control.apps.bench.scenes import FaultScene

DRIVE_TIMEOUT = 0.04  # command timeout of the simulated arm: its drive then gives no torque [s]
LOST_TIME, WATCHDOG_TIME = 0.5, 0.5  # the defaults of limits.lost_time and limits.watchdog_time [s]
PROMPT = 0.3  # what may pass after these times until the controller is inactive [s]

ZERO_WITHIN = 0.020
"""From the last word of a controller to zeros on the wire, as promised on a quiet computer
where the loop is the node's; the plugin notices after ``plugin.silence_time`` [s]."""

RESTFUL = {
    "reference.kind": "hold",
    "reference.approach": True,
    "force.reference": [5.0],
    "friction.viscous": [1.0],
    "realtime.priority": 40,
}
"""The controller holds the arm where it is and presses with 5 N: it can start anywhere, there is
always torque, and an arm that nothing holds comes to rest. All nodes ask for the priority that they
have on an arm."""


class Fault(NamedTuple):
    """A fault and its bound."""

    title: str  # what is done
    follows: str  # what is waited for
    bound: float  # within which that must happen [s]
    often: bool = False  # whether it is done as often as asked, or once


FAULTS = {
    "controller_killed": Fault(
        "controller killed with -9", "zeros on the wire", ZERO_WITHIN, often=True
    ),
    "controller_hung": Fault(
        "controller hung (SIGSTOP)", "zeros on the wire", ZERO_WITHIN, often=True
    ),
    "watchdog_killed": Fault(
        "watchdog killed with -9", "controller inactive", WATCHDOG_TIME + PROMPT
    ),
    "watchdog_hung": Fault(
        "watchdog hung (SIGSTOP)", "controller inactive", WATCHDOG_TIME + PROMPT
    ),
    "arm_killed": Fault("arm killed with -9", "controller inactive", LOST_TIME + PROMPT),
    "arm_hung": Fault("arm hung (SIGSTOP)", "controller inactive", LOST_TIME + PROMPT),
    "stranger": Fault(
        "another node commands torques", "the controller's zeros", ZERO_WITHIN, often=True
    ),
    "stranger_nan": Fault("another node commands NaN", "the controller's zeros", ZERO_WITHIN),
    "both_killed": Fault(
        "controller and watchdog killed", "the arm's own drive ends it", DRIVE_TIMEOUT + ZERO_WITHIN
    ),
}
"""By their names in ``--json`` and ``--only``, in the order in which they are done."""

DESCRIPTION = """\
Runs the simulated arm, the watchdog and the hybrid controller, lets processes die or hang while the
arm is under torque, has another node interfere, and measures how long it takes until what should
follow follows. Exits with status 1 where a bound is missed: on a busy computer that may be.
"""


class Arguments(
    Command, help="kill and hang processes and time the answers", description=DESCRIPTION
):
    repeats: int = option(
        "of the faults that must be answered at once; the others happen once "
        "(default: %(default)s)",
        5,
    )
    bound: float = bench.bound(1e3 * ZERO_WITHIN, "what must be answered at once, in ms,")
    only: list[str] | None = option(
        f"of: {', '.join(FAULTS)}", metavar="FAULT", choices=list(FAULTS)
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.contents import as_json
    from projected_control.errors import InvalidValue

    bound = 1e-3 * validate.positive("bound", args.bound)
    if not 1 <= args.repeats <= 1000:
        raise InvalidValue(f"--repeats must be 1 to 1000, got {args.repeats}")
    extras.require("rclpy", "projected-control bench faults")
    names = [name for name in FAULTS if not args.only or name in args.only]
    with tempfile.TemporaryDirectory() as folder, terminal_progress(sys.stderr) as progress:
        taken = measure(names, args.repeats, Path(folder), progress)
    numbers = {name: summary(FAULTS[name], results, bound) for name, results in taken.items()}
    print(as_json(numbers) if args.json else table(numbers))
    return bench.exit_status(missed(numbers))


def measure(
    names: list[str], repeats: int, folder: Path, progress: Any
) -> dict[str, list[tuple[float, str]]]:
    """How long each fault took, every time, until what should follow [s]; and the reasons given."""
    from projected_control.apps.bench.scenes import FaultScene

    jobs = [name for name in names for _ in range(repeats if FAULTS[name].often else 1)]
    taken: dict[str, list[tuple[float, str]]] = {name: [] for name in names}
    with FaultScene(folder) as scene:
        for i, name in enumerate(jobs):
            progress(FAULTS[name].title, i / len(jobs))
            scene.prepare()
            taken[name].append(provoke(scene, name))
        progress("done", 1.0)
    return taken


def provoke(scene: FaultScene, name: str) -> tuple[float, str]:
    """Do it once: how long until what should follow [s], NaN where it never did; and the reason."""
    who, _, what = name.partition("_")
    if who == "stranger":
        return scene.interfere(float("nan") if what == "nan" else 9.0)
    if who == "both":
        return scene.without_anybody()
    node = {"controller": scene.controller, "watchdog": scene.watchdog, "arm": scene.arm}[who]
    act = scene.kill if what == "killed" else scene.hang
    return scene.silence(act) if who == "controller" else scene.inactive(act, node)


def summary(
    fault: Fault, results: list[tuple[float, str]], at_once: float = ZERO_WITHIN
) -> dict[str, Any]:
    """The numbers of ``--json`` for one fault.

    Args:
        fault: Which.
        results: Results of `measure`.
        at_once: Bound of the faults that must be answered at once [s].
    """
    import numpy as np

    bound = at_once if fault.bound == ZERO_WITHIN else fault.bound
    seconds = np.array([time for time, _ in results])
    answered = seconds[np.isfinite(seconds)]
    some = answered if answered.size else np.array([np.nan])
    return {
        "fault": fault.title,
        "follows": fault.follows,
        "repeats": len(results),
        "answered": int(answered.size),
        "bound_ms": 1e3 * bound,
        "p50_ms": float(1e3 * np.median(some)),
        "max_ms": float(1e3 * some.max()),
        "times_ms": [float(1e3 * second) for second in seconds],
        "within_bound": bool((seconds <= bound).all()),
        "reason": results[-1][1],
    }


def missed(numbers: dict[str, Any]) -> list[str]:
    """What did not follow, or not within its bound, in words."""
    sentences = []
    for row in numbers.values():
        if row["within_bound"]:
            continue
        if row["answered"] < row["repeats"]:
            sentences.append(
                f"{row['fault']}: {row['follows']} only {row['answered']} of {row['repeats']} times"
            )
        else:
            sentences.append(
                f"{row['fault']}: {row['follows']} after {row['max_ms']:.1f} ms; it may be "
                f"{row['bound_ms']:g} ms"
            )
    return sentences


def table(numbers: dict[str, Any]) -> str:
    times = ("p50_ms", "max_ms", "bound_ms")
    rows = [
        [row["fault"], row["follows"], str(row["repeats"]), *(f"{row[t]:.0f}" for t in times)]
        for row in numbers.values()
    ]
    header = ("fault", "what follows", "times", "median (ms)", "longest (ms)", "bound (ms)")
    reasons = [f"{row['fault']}: {row['reason']}" for row in numbers.values() if row["reason"]]
    said = ["", "What they said:", *reasons] if reasons else []
    return "\n".join([bench.table(header, rows, left=2), *said])
