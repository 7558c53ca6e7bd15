"""``projected-control demo``: the real nodes, live."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control import extras
from projected_control.apps.console.command import Alternatives, Command, flag, option
from projected_control.resources import PRESETS

if TYPE_CHECKING:
    from projected_control.apps.demo.demo_settings import DemoSettings

DEFAULT_FOLDER = Path("demo_output")
REPORT_MEGABYTES = 16
"""What report, figures and logs may take [MB]."""

OFFERED = ("slider", "seven_joints", "wipe_edge", "drawer_stop", "peg", "push")
"""Tasks to which the live page can switch, besides the one it was started with: they need nothing
that is not here."""

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
(prismatic cylinders), two_arms (fourteen joints carry one bar, the internal force is held). Or
contacts that come and go: wipe_edge (down on a table, over its edge, and on in the air),
drawer_stop (a drawer is opened until it meets its stop), peg (into a hole, along two of its walls),
push (a box over a table).

Or a task on a real arm (the extra arms), also with --task: wipe (a Panda on a table, 10 N), drawer
(an xArm7), wipe_sphere (a UR5 on a dome), valve (a Panda). The simulated arm is made of real parts,
which stick, count, are late and noisy (config/real.yaml). The task's numbers are force_wanted and
force_error_rms [N], lateral_drift [m], tilt_error [rad], tracking_rms [m or rad], residual_max [m]
and torque_peak_ratio, of the simulated arm itself, after the first second.

Or a robot with legs, with --task and --in-process: quadruped (ours); stand_still, squat (Solo12),
anymal_stand_still and anymal_squat, lean (Talos, on two soles) with the extra arms.
"""


PACE = Alternatives()


class Arguments(
    Command,
    help="run the ROS 2 nodes on the simulated arm, live, with a report",
    description=DESCRIPTION,
):
    controller: str = option(
        "one of the above, on its arm of the papers (default: the task slider)", "", "NAME"
    )
    task: str = option(
        "a mechanism or a task, with the controller that fits it: slider, seven_joints, "
        "wipe_edge, drawer_stop, peg, push, crank, five_bar, four_bar_3d, hitch, two_arms; "
        "wipe, wipe_sphere, drawer, valve; quadruped, stand_still, squat, anymal_stand_still, "
        "anymal_squat, lean",
        "",
        "NAME",
    )
    arm: Path | None = option("your own arm's parameter file, with --controller", metavar="FILE")
    engine: str = option(
        "what moves the simulated arm: built_in or mujoco, or, bare, dart or pinocchio (default: "
        "what simulation.engine says). numba and native, once engines too, said what "
        "makes the ticks: they are no longer needed",
        "",
        "NAME",
    )
    in_process: bool = flag("without ROS: only the run in process, and its numbers")
    files: list[Path] = option(
        "a parameter file that counts before the arm's own; may be repeated",
        [],
        "FILE",
        flags=("--with",),
    )
    set: list[str] = option(
        "a value that counts before all files, for controller and arm (realtime.* for the "
        "watchdog, too); may be repeated",
        [],
        "NAME:=VALUE",
    )
    seconds: float = option("of simulated time (default: %(default)g)", 10.0)
    preset: str = option("default: %(default)s", "paper", choices=PRESETS)
    lockstep: bool = flag("as fast as it goes, the same numbers every time", alternatives=PACE)
    real_time: bool = flag(
        "by the clock, as a real arm: on a busy computer states are lost and the watchdog "
        "acts; without it, time then passes more slowly",
        alternatives=PACE,
    )
    friction: bool = flag("give the joints Coulomb and viscous friction")
    out: Path = option(
        "folder for report, logs and parameters (default: %(default)s)", DEFAULT_FOLDER, "DIR"
    )
    headless: bool = flag("without the live page: end when the time is over")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Run the nodes, watch them, report."""
    from projected_control.errors import InvalidValue

    if not 0.0 < args.seconds <= 86400.0:  # before anything is loaded that takes time
        raise InvalidValue(f"--seconds must be between 0 and a day, got {args.seconds:g}")
    for file in (*args.files, *([args.arm] if args.arm is not None else [])):
        if not file.is_file():
            raise InvalidValue(f"there is no file {file}")
    from projected_control import validate
    from projected_control.settings.files import from_command_line
    from projected_control.settings.nodes import LEGGED, TASKS, demo_cases

    if args.task:
        validate.one_of("task", args.task, [*TASKS, *LEGGED])
        if args.task in LEGGED and not args.in_process:
            raise InvalidValue(
                f"the base of the robot of {args.task} floats, which no node serves: add "
                "--in-process"
            )
    elif args.controller:
        validate.one_of("controller", args.controller, list(demo_cases()))
    if not args.in_process:
        extras.require("rclpy", "projected-control demo")
        extras.require("matplotlib", "projected-control demo")
    from projected_control.apps.demo.demo_settings import settings_for
    from projected_control.apps.reports.contents import as_json

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
    if args.engine:
        overrides["simulation.engine"] = args.engine
    overrides |= {name: g.value for name, g in from_command_line(args.set, "--set").items()}

    def make(choice: str) -> DemoSettings:
        return settings_for(
            choice,
            args.seconds,
            args.preset,
            not args.real_time,
            overrides,
            args.files,
            args.arm,
            paced=not args.lockstep,
        )

    settings = make(choice)
    if args.in_process:
        from projected_control.apps.console.progress import terminal_progress
        from projected_control.apps.demo.demo_settings import numbers_in_process

        with terminal_progress(sys.stderr) as progress:
            numbers = numbers_in_process(settings, choice, progress)
        print(as_json(numbers))
        return 0
    from projected_control.apps.demo.nodes_run import Stage
    from projected_control.apps.demo.report import make_report
    from projected_control.apps.demo.task_run import node_samples
    from projected_control.apps.demo.verdict import judge
    from projected_control.apps.reports.output import output_folder, publish, write_files
    from projected_control.apps.reports.run_numbers import by_unit, motion_and_force

    say = (lambda text: None) if args.json else (lambda text: print(text, file=sys.stderr))
    with output_folder(args.out, REPORT_MEGABYTES) as folder:
        tasks = _offered(args, choice) if _wants_page(args) else None
        run = Stage(folder, args.json, tasks, make, say).show(choice)
        settings, choice = run.settings, run.choice
        write_files(folder, {"parameters.yaml": settings.parameter_file().encode()})
        state, truth, summary, interrupted = run.state, run.truth, run.summary, run.interrupted
        if interrupted and not state[0].size:  # there is nothing to report on
            raise KeyboardInterrupt
        twin = run.twin
        expected: dict[str, Any] | None = run.expected
        judged: dict[str, Any] = {}
        if settings.is_task and not interrupted:
            judged = node_samples(state, truth, twin).numbers(choice, twin.loop.controller)
        if interrupted:
            expected = None
        verdict = judge(settings, summary, expected, run.changed, run.ended)
        numbers = {
            "controller": choice if choice == args.controller else settings.case.node,
            "task": "" if choice == args.controller else choice,
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


def _offered(args: Arguments, choice: str) -> dict[str, str]:
    """The tasks that the page offers, by name: all of an own arm's is its own."""
    from projected_control.settings.nodes import LEGGED, TASKS, demo_cases

    own = {choice: {**TASKS, **LEGGED, **demo_cases()}[choice].title}
    if args.arm is not None:
        return own
    return own | {name: TASKS[name].title for name in OFFERED}


def _wants_page(args: Arguments) -> bool:
    """Whether there is a terminal, and so a person who looks at the page; not in a script."""
    if args.headless or args.json:
        return False
    return find_spec("aiohttp") is not None and sys.stdin.isatty() and sys.stderr.isatty()
