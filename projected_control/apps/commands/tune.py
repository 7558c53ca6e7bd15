"""``projected-control tune``: gains with their margins, from what a run shows of the arm."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from projected_control import extras
from projected_control.apps.commands.sweep import SCHEDULER, WORKERS
from projected_control.apps.console.command import Command, flag, option, positional
from projected_control.errors import InvalidValue

DEFAULT_FOLDER = Path("tune_output")
MEASURE_SECONDS = 6.0
ERROR = 0.1

DESCRIPTION = """\
Goes the steps of a practitioner: noise of the sensors, delay from effort to force, and friction, as
a recorded run shows them (--record; else a run of the simulated arm); then, on the simulated arm
with what was seen, the highest stiffness that is stable, and for every filter the force gains with
a margin of two. Prints the gains with their margins and step responses beside the present ones, and
writes tuned.yaml and tuned.png. The trials are made by processes, one per core, or by the workers
of a Dask cluster (--scheduler).

Nothing is sent to any arm, but with --apply NODE: then the running controller gets these gains,
which blend in over gains.blend_time, unless one of the trials with them was not stable.
"""

EPILOG = """\
examples:
  projected-control tune config/three_link_slider.yaml
  projected-control tune my_arm.yaml --record run.mcap --out tuned/
  projected-control tune my_arm.yaml --record run.mcap --apply force_controller
  projected-control tune config/quadruped.yaml --node passive_joint_controller --lqr --error 0.5
"""


class Arguments(
    Command,
    help="measure an arm, and propose gains with their margins",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    files: list[Path] = positional("later ones win", "FILE")
    node: str | None = option("which kind of controller node", metavar="NODE")
    preset: str = option("a name or a path", "", "NAME")
    set: list[str] = option("counts before all files", [], "NAME:=VALUE")
    record: Path | None = option("a recorded run (*.mcap) to measure from", metavar="FILE")
    out: Path = option(
        "folder for tuned.yaml and tuned.png (default: %(default)s)", DEFAULT_FOLDER, "DIR"
    )
    apply: str | None = option("send the gains to this running controller", metavar="NODE")
    workers: int | None = WORKERS
    scheduler: str = SCHEDULER
    lqr: bool = flag("gains by LQR of the motion on the constraint instead, without trials")
    error: float | None = option(
        "with --lqr: the error in m or rad that costs as much as all motors at their effort limits "
        "(default: 0.1)",
        metavar="E",
    )
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Measure, try, choose, write; send only what --apply asks for."""
    if args.lqr:
        return run_lqr(args)
    if args.error is not None:
        raise InvalidValue("--error is the error that --lqr weighs: give --lqr too, or neither")
    extras.require("matplotlib", "projected-control tune")
    if args.apply:
        extras.require("rclpy", "projected-control tune --apply")
        look_for(args.apply)
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, write_files
    from projected_control.apps.reports.style import render
    from projected_control.apps.sweeps.command_run import make_pool
    from projected_control.apps.tuning import summary

    with (
        output_folder(args.out) as folder,
        closing(make_pool(args.workers, args.scheduler)) as pool,
        terminal_progress(sys.stderr) as progress,
    ):
        found = find(args, pool, progress)
        drawn = render(lambda: summary.figure(found))
        files = {"tuned.yaml": summary.parameter_file(found).encode(), "tuned.png": drawn.png}
        write_files(folder, files)
    steps = (found.proposed.motion_step, found.proposed.force_step)
    stable = all(step is None or step.stable for step in steps)
    if args.apply and stable:
        send(args.apply, summary.parameters(found))
    if args.json:
        print(as_json({**summary.numbers(found), "applied": bool(args.apply) and stable}))
    else:
        for table in summary.tables(found):
            print(table.title)
            print("\n".join(f"  {line}" for line in table.lines()))
            print()
        for remark in (*found.measured.remarks, *summary.cautions(found)):
            print(f"NOTE: {remark}")
        sent = f"sent to {args.apply}" if args.apply and stable else "nothing was sent to any arm"
        print(f"Written: {folder / 'tuned.yaml'} and tuned.png; {sent}")
    if not stable:
        print("projected-control: a trial with the proposed gains was not stable", file=sys.stderr)
    return 0 if stable else 1


def run_lqr(args: Arguments) -> int:
    """Solve, check the sampled loops, write."""
    from projected_control import validate
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, write_files
    from projected_control.apps.tuning.by_lqr import propose
    from projected_control.settings.files import from_command_line
    from projected_control.settings.layers import Layers

    if args.record is not None:
        raise InvalidValue("--lqr measures nothing: leave --record out")
    error = ERROR if args.error is None else validate.positive("--error", args.error)
    if args.apply:
        extras.require("rclpy", "projected-control tune --apply")
        look_for(args.apply)
    layers = Layers.read(args.files, args.preset, from_command_line(args.set, "--set"))
    layers, node = layers.of_controller(args.node)
    found = propose(node, layers.controller(node), layers.arm(), error)
    with output_folder(args.out) as folder:
        write_files(folder, {"tuned.yaml": found.parameter_file(node).encode()})
    if args.apply:
        send(args.apply, found.parameters)
    if args.json:
        print(as_json({**found.numbers, "applied": bool(args.apply)}))
        return 0
    print("\n".join(found.table().lines()))
    print(f"Without what couples the coordinates it costs {found.gains.cost_ratio:.3f} times.")
    sent = f"sent to {args.apply}" if args.apply else "nothing was sent to any arm"
    print(f"Written: {folder / 'tuned.yaml'}; {sent}")
    return 0


def look_for(name: str) -> None:
    """Refuse to begin where the node that shall get the gains is not there."""
    from projected_control.apps.fleet.remote_node import remote_node

    with remote_node(name) as node:
        node.summary()


def send(name: str, values: dict[str, Any]) -> None:
    """Set the gains of a running controller."""
    from projected_control.apps.fleet.remote_node import remote_node

    with remote_node(name) as node:
        node.set(values)


def find(args: Arguments, pool: Any, progress: Any) -> Any:
    """All that is printed; a pool makes the trials."""
    from projected_control.apps.recordings.recording_report import opened
    from projected_control.apps.tuning.choice import (
        best_force,
        force_choices,
        highest_stiffness,
        tried,
        try_force,
    )
    from projected_control.apps.tuning.measure import measure
    from projected_control.apps.tuning.summary import Findings
    from projected_control.apps.tuning.trials import Rig, Trials
    from projected_control.control.gains import MotionGains
    from projected_control.settings import build
    from projected_control.settings.files import from_command_line
    from projected_control.settings.layers import Layers

    layers = Layers.read(args.files, args.preset, from_command_line(args.set, "--set"))
    layers, node = layers.of_controller(args.node)
    controller, arm = layers.controller(node), layers.arm()
    if args.record is not None:
        run = opened(args.record)
    else:
        run = Rig(node, controller, arm).exciting_run(
            MEASURE_SECONDS, lambda done: progress("a run to measure from", done)
        )
    progress("noise, delay, friction", 0.0)
    measured = measure(run, build.build_model(controller))
    progress("noise, delay, friction", 1.0)
    rig = Rig(node, controller, arm.changed(seen(measured, arm)))
    make = Trials(rig, pool)
    force = rig.loop.controller.force if rig.controls_force else None
    present_force = force.gains if force is not None else None
    known = present_force.delay if present_force is not None else 1
    delay = measured.delay or known
    null = controller.gains.null_damping
    stiffness = highest_stiffness(
        make, delay, null, lambda done: progress("highest stable stiffness", done)
    )
    if stiffness.highest <= 0.0:
        raise InvalidValue(
            "no stiffness is stable on the simulated arm with what was measured: look at the delay "
            f"({delay} samples) and at the noise of the velocities first"
        )
    filters = []
    if present_force is not None:
        noise = measured.force_noise if measured.force_noise == measured.force_noise else 0.0
        progress("filter and force gains", 0.0)
        chosen = MotionGains(stiffness.chosen, stiffness.damping, null)
        filters = try_force(make, chosen, force_choices(delay, noise, rig.period))
        progress("filter and force gains", 1.0)
    proposed_force = best_force(filters).gains if filters else None
    progress("step responses", 0.0)
    present = tried(
        make,
        build.build_gains(controller, rig.loop.controller.model.k),
        present_force,
        stiffness.highest,
    )
    progress("step responses", 0.5)
    gains = MotionGains(stiffness.chosen, stiffness.damping, null)
    proposed = tried(make, gains, proposed_force, stiffness.highest)
    progress("step responses", 1.0)
    joints = tuple(rig.loop.controller.model.arm.joint_names)
    return Findings(node, joints, measured, delay, stiffness, filters, present, proposed)


def seen(measured: Any, arm: Any) -> dict[str, Any]:
    """What the simulated arm of the trials has beyond its file: what was measured."""
    values: dict[str, Any] = {}
    for name, numbers in (("coulomb", measured.coulomb), ("viscous", measured.viscous)):
        if numbers is not None:
            values[f"friction.{name}"] = [float(x) for x in numbers]
    if measured.delay is not None:
        values["motor.delay"] = measured.delay - 1
        values["sensor.delay"] = 0
    if (measured.position_step > 0.0).all():
        values["encoder.resolution"] = [float(x) for x in measured.position_step]
        if arm.encoder.velocity == "exact":
            values["encoder.velocity"] = "differenced"
    if measured.force_noise == measured.force_noise:
        values["sensor.noise"] = float(measured.force_noise)
    return values
