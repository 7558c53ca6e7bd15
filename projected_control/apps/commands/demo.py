"""``projected-control demo``: the real nodes, live."""

from __future__ import annotations

import argparse
import os
import select
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from projected_control.apps import extras
from projected_control.resources import PRESETS

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers
    from projected_control.apps.demo.case import DemoSettings
    from projected_control.apps.demo.fleet import Fleet
    from projected_control.apps.demo.monitor import Monitor, Recording
    from projected_control.apps.demo.task_run import TaskRun
    from projected_control.apps.experiments.progress import Progress
    from projected_control.apps.view.process import PageProcess

DEFAULT_FOLDER = Path("demo_output")
START_SECONDS = 1200.0
"""How long the nodes may take to come up; the first time they compile their kernels [s]."""

REPORT_MEGABYTES = 16
"""What report, figures and logs may take [MB]."""

LOOK_SECONDS = 0.5
"""Between two looks at the nodes while the page stays [s]."""

ARRIVE_SECONDS = 10.0
"""How long the last messages of a run in lockstep may take to arrive [s]."""

DESCRIPTION = """\
Starts a simulated arm, its watchdog and a controller as ROS 2 processes, lets the arm follow the
paper's trajectory, shows how it goes, and writes a report. On a terminal it also serves the live
page (projected-control view --control), opens it where there is a display, and stays until Enter.

  motion    projected inverse dynamics: the least torque for the motion
  force     the same, and the constraint force held at zero
  passive   a crank with one motor and one passive joint
  idc       inverse dynamics, the baseline

The run is compared with the same one in process. Where states are missing or a number is off, the
report says so, and the exit status is 1.

Without --controller and --task a tip follows its motion on a slider and holds 10 N across it: what
the motion takes (f∥) stands beside what inverse dynamics sends for it, the force held beside the
force wanted.

Or a mechanism, with --task: slider, seven_joints (a tool wipes a table with 10 N), crank, five_bar
(two motors, passive elbows), four_bar_3d (a planar loop in space, rows that repeat), hitch
(prismatic cylinders), two_arms (fourteen joints carry one bar, the internal force is held).

Or a task on a real arm (the extra arms), also with --task: wipe (a Panda on a table, 10 N), drawer
(an xArm7), wipe_sphere (a UR5 on a dome), valve (a Panda). The simulated arm is made of real parts,
which stick, count, are late and noisy (config/real.yaml). The task's numbers are force_wanted and
force_error_rms [N], lateral_drift [m], tilt_error [rad], tracking_rms [m or rad], residual_max [m]
and torque_peak_ratio, of the simulated arm itself, after the first second.
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "demo",
        help="run the ROS 2 nodes on the simulated arm, live, with a report",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--controller",
        metavar="NAME",
        default="",
        help="one of the above, on its arm of the papers (default: the task slider)",
    )
    parser.add_argument(
        "--task",
        metavar="NAME",
        default="",
        help="a mechanism or a task, with the controller that fits it: slider, seven_joints, "
        "crank, five_bar, four_bar_3d, hitch, two_arms; wipe, wipe_sphere, drawer, valve",
    )
    parser.add_argument(
        "--arm", type=Path, metavar="FILE", help="your own arm's parameter file, with --controller"
    )
    parser.add_argument(
        "--in-process",
        action="store_true",
        help="without ROS: only the run in process, and its numbers",
    )
    parser.add_argument(
        "--with",
        dest="files",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a parameter file that counts before the arm's own; may be repeated",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="a value that counts before all files, for controller and arm (realtime.* for the "
        "watchdog, too); may be repeated",
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of simulated time (default: %(default)g)"
    )
    parser.add_argument("--preset", choices=PRESETS, default="paper", help="default: %(default)s")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--lockstep", action="store_true", help="as fast as it goes, the same numbers every time"
    )
    pace.add_argument(
        "--real-time",
        action="store_true",
        help="by the clock, as a real arm: on a busy computer states are lost and the watchdog "
        "acts; without it, time then passes more slowly",
    )
    parser.add_argument(
        "--friction", action="store_true", help="give the joints Coulomb and viscous friction"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder for report, logs and parameters (default: %(default)s)",
    )
    parser.add_argument(
        "--headless", action="store_true", help="without the live page: end when the time is over"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the nodes, watch them, report."""
    from projected_control.errors import InvalidValue

    if not 0.0 < args.seconds <= 86400.0:  # before anything is loaded that takes time
        raise InvalidValue(f"--seconds must be between 0 and a day, got {args.seconds:g}")
    for file in (*args.files, *([args.arm] if args.arm is not None else [])):
        if not file.is_file():
            raise InvalidValue(f"there is no file {file}")
    from projected_control import validate
    from projected_control.settings.files import from_command_line
    from projected_control.settings.nodes import TASKS, demo_cases

    if args.task:
        validate.one_of("task", args.task, list(TASKS))
    elif args.controller:
        validate.one_of("controller", args.controller, list(demo_cases()))
    if not args.in_process:
        extras.require("rclpy", "projected-control demo")
        extras.require("matplotlib", "projected-control demo")
    from projected_control.apps.demo.case import settings_for
    from projected_control.apps.experiments.outcome import as_json

    overrides: dict[str, Any] = {}
    if args.friction:
        from projected_control.apps.launch.choices import FRICTION

        overrides = dict(FRICTION)
    if not (args.task or args.controller):
        if args.arm is None:
            args.task = "slider"
        else:
            args.controller = "force"
    choice = args.task or args.controller
    overrides |= {name: g.value for name, g in from_command_line(args.set, "--set").items()}
    settings = settings_for(
        choice,
        args.seconds,
        args.preset,
        not args.real_time,
        overrides,
        args.files,
        args.arm,
        paced=not args.lockstep,
    )
    if args.in_process:
        from projected_control.apps.experiments.progress import terminal_progress

        with terminal_progress(sys.stderr) as progress:
            numbers = _in_process(settings, choice, progress)
        print(as_json(numbers))
        return 0
    from projected_control.apps.demo.node_samples import node_samples
    from projected_control.apps.demo.report import make_report
    from projected_control.apps.demo.torque import motion_and_force
    from projected_control.apps.demo.verdict import judge
    from projected_control.apps.experiments.output import output_folder, publish, write_files
    from projected_control.apps.tracking import by_unit

    say = (lambda text: None) if args.json else (lambda text: print(text, file=sys.stderr))
    with output_folder(args.out, REPORT_MEGABYTES) as folder:
        parameters = settings.parameter_file().encode()
        (path,) = write_files(folder, {"parameters.yaml": parameters})
        page = _wants_page(args)
        run = _run_nodes(settings, folder, path, args.json, page, say)
        state, truth, summary, interrupted = run.state, run.truth, run.summary, run.interrupted
        if interrupted and not state[0].size:  # there is nothing to report on
            raise KeyboardInterrupt
        twin = run.twin
        expected: dict[str, Any] | None = run.expected
        judged: dict[str, Any] = {}
        if twin is not None and not interrupted:
            judged = node_samples(state, truth, twin).numbers(choice, twin.loop.controller)
        if interrupted:
            expected = None
        verdict = judge(settings, summary, expected, run.changed, run.ended)
        numbers = {
            "controller": settings.case.node if args.task else args.controller,
            "task": args.task,
            "lockstep": args.lockstep,
            "real_time": args.real_time,
            **summary,
            "tracking_rms_by_unit": by_unit(summary, settings.units),
            **motion_and_force(state[1]).numbers(),
            **judged,
            **verdict.numbers(),
            "in_process": expected,
        }
        outcome = make_report(settings, *state, summary, verdict)
        files = publish(folder, [outcome], "index.html")
        files += write_files(folder, {"demo.json": as_json(numbers).encode()})
    if args.json:
        print(as_json(numbers))
    else:
        print(outcome.summary)
        print(f"Report: {folder / 'index.html'}")
    if verdict.warning and not interrupted:
        print(_red(f"projected-control: {verdict.warning}"), file=sys.stderr)
    return 130 if interrupted else int(bool(verdict.problems))


def _red(text: str) -> str:
    return f"\x1b[31m{text}\x1b[0m" if sys.stderr.isatty() else text


def _wants_page(args: argparse.Namespace) -> bool:
    """Whether there is a terminal, and so a person who looks at the page; not in a script."""
    if args.headless or args.json:
        return False
    return find_spec("aiohttp") is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _in_process(settings: DemoSettings, choice: str, progress: Progress) -> dict[str, Any]:
    """The numbers of a run without ROS: those of a task, and what every run counts."""
    done, summary = _run_in_process(settings, progress)
    return {**(done.numbers(choice) if done is not None else {}), "in_process": summary}


def _run_in_process(
    settings: DemoSettings, progress: Progress
) -> tuple[TaskRun | None, dict[str, Any]]:
    """The run without ROS, of a task with all that it is judged by; and what it counted."""
    from projected_control.apps.demo.case import recorder, run_in_process
    from projected_control.apps.demo.task_run import run_task

    if not settings.is_task:
        return None, run_in_process(settings, progress)
    node, controller, arm = settings.case.node, settings.controller, settings.arm
    done = run_task(
        node, controller, arm, settings.ticks, record=recorder(settings), progress=progress
    )
    return done, _summary_of(settings, done)


def _summary_of(settings: DemoSettings, done: TaskRun) -> dict[str, Any]:
    from projected_control.apps.demo.case import judge_arm

    return {**done.statistics.totals.summary(), **judge_arm(settings, done.arm.summary())}


class NodesRun(NamedTuple):
    """What was seen of a run of nodes.

    Attributes:
        state, truth: What the controller and the simulated arm told over the time.
        summary: What they counted.
        twin: The same run in process, of a task; else None.
        expected: What that one counted.
        changed: What was changed meanwhile.
        ended: Why it ended early, in words; empty where it did not.
        interrupted: Whether it was ended by Ctrl-C.
    """

    state: Recording
    truth: Recording
    summary: dict[str, Any]
    twin: TaskRun | None
    expected: dict[str, Any]
    changed: list[str]
    ended: str
    interrupted: bool


def _run_nodes(
    settings: DemoSettings, folder: Path, parameters: Path, quiet: bool, with_page: bool, say: Any
) -> NodesRun:
    """Start the nodes, watch them to the end or to Ctrl-C, and stop them, whatever happens.

    With the page they go on after the time is over, until Enter: the report is of that time.
    """
    from projected_control.apps.demo.case import judge_arm, warm_up
    from projected_control.apps.demo.display import live_display
    from projected_control.apps.demo.domain import join, refuse_others
    from projected_control.apps.demo.fleet import Fleet
    from projected_control.apps.experiments.progress import terminal_progress
    from projected_control.settings.nodes import ARM, WATCHDOG

    if "HOME" not in os.environ:
        os.environ.setdefault("ROS_LOG_DIR", str(folder))
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monitor = join(settings.case.node, say)
    monitor.units = settings.units
    fleet, interrupted, ended, page = Fleet(folder, {}), False, "", None
    try:
        say("Preparing the control law …")
        warm_up(settings)
        refuse_others(monitor)
        page = _open_page(folder) if with_page else None
        arguments = ["--params-file", str(parameters.resolve())]
        for node in (settings.case.node, WATCHDOG):
            fleet.start(node, arguments)
        say("Working out in process what to expect, while the nodes come up …")
        with terminal_progress(sys.stderr) as progress:
            twin, expected = _run_in_process(settings.unrecorded, progress)
        began = monotonic()
        while not monitor.connected() and monotonic() - began < START_SECONDS:
            monitor.spin(0.05)
            fleet.check()
        refuse_others(monitor, (settings.case.node, WATCHDOG))
        fleet.start(ARM, arguments)
        if page is not None:
            _tell_address(page, say)
        with live_display(sys.stderr, settings.case.title, quiet) as show:
            try:
                ended = _watch(settings, fleet, monitor, show, forgiving=page is not None)
            except KeyboardInterrupt:
                interrupted = True
            summary = {**monitor.summary(), **judge_arm(settings, monitor.arm_summary())}
        state, truth, changed = monitor.recording(), monitor.truth(), list(monitor.changed)
        if page is not None and not interrupted:
            say(
                f"The {settings.seconds:g} s of the report are over; the page stays. Enter ends it."
            )
            with suppress(KeyboardInterrupt):
                if settings.controller.lockstep:
                    monitor.go_on()
                _stay(fleet, say)
    finally:
        with suppress(KeyboardInterrupt):
            if page is not None:
                page.close()
            fleet.stop()
        monitor.close()
    return NodesRun(state, truth, summary, twin, expected, changed, ended, interrupted)


def _stay(fleet: Fleet, say: Any) -> None:
    """Until Enter; a node that dies meanwhile is told of once."""
    told: set[str] = set()
    while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        for node, reason in fleet.ended().items():
            if node not in told:
                told.add(node)
                say(f"{reason}. The page stays; Enter ends it.")
    sys.stdin.readline()


def _open_page(folder: Path) -> PageProcess:
    """The live page, which may send: the arm is simulated."""
    from projected_control.apps.view.process import PageProcess

    return PageProcess(folder, dict(os.environ), control=True, browser=True)


def _tell_address(page: PageProcess, say: Any) -> None:
    """Say where the page is; the demonstration goes on where there is none."""
    from projected_control.apps.view.process import way_there
    from projected_control.errors import ProjectedControlError

    try:
        address = page.address()
    except ProjectedControlError as error:
        say(f"Without the live page: {error}")
        return
    say(f"The arm in a browser, and its gains to change: {address}")
    if hint := way_there(address):
        say(hint)


def _watch(settings: DemoSettings, fleet: Any, monitor: Monitor, show: Any, forgiving: bool) -> str:
    """Until the simulated time is over; or until the user has stopped it, where that may be.

    Returns:
        Why it ended early, in words; nothing where it did not.
    """
    from projected_control.errors import ProjectedControlError

    began = monotonic()
    start: float | None = None
    while True:
        monitor.spin(0.1)
        fleet.check()
        level, message, values = monitor.diagnostics.get(settings.case.node, (0, "", {}))
        stopped = values.get("state") == "inactive" and start is not None
        if forgiving and (stopped or (level == 2 and start is not None)):
            return f"{settings.case.node} went inactive: {message or 'it was told to'}"
        if level == 2:
            raise ProjectedControlError(f"{settings.case.node}: {message}")
        if start is None:
            if monitor.time > 0.0:
                start = 0.0 if settings.controller.lockstep else monitor.time
            elif monotonic() - began > START_SECONDS:
                reason = message or fleet.tail(settings.case.node)
                raise ProjectedControlError(f"the controller did not start: {reason}")
            continue
        done = (monitor.time - start) / settings.seconds
        show(monitor, done)
        if settings.controller.lockstep:
            if done > 0.9 and monitor.summary()["ticks"] >= settings.ticks:
                _let_arrive(settings, monitor)
                return ""
        elif done >= 1.0:
            return ""


def _let_arrive(settings: DemoSettings, monitor: Monitor) -> None:
    """The last messages of a run in lockstep: what was sent comes, on a busy computer later."""
    from projected_control.errors import ProjectedControlError
    from projected_control.ros.truth_topic import RATE

    last = settings.seconds - 2.0 / min(settings.controller.state_rate, RATE)
    began = monotonic()
    while min(monitor.time, monitor.true_time) < last:
        if monotonic() - began > ARRIVE_SECONDS:
            raise ProjectedControlError(
                f"of {settings.seconds:g} s the controller told {monitor.time:g} s and the "
                f"simulated arm {monitor.true_time:g} s, and nothing more came for "
                f"{ARRIVE_SECONDS:g} s; is the computer very busy? Try once more"
            )
        monitor.spin(0.05)
