"""``projected-control identify``: friction, payload and armature from a recorded motion."""

from __future__ import annotations

import sys
from pathlib import Path

from projected_control import extras
from projected_control.apps.console.command import Alternatives, Command, flag, option, positional

DEFAULT_FOLDER = Path("identify_output")

DESCRIPTION = """\
Finds Coulomb and viscous friction and rotor inertia of every joint, and the payload of a link, with
bounds of 95 % confidence, by least squares over a recorded motion or one of the simulated arm.
Where the motion is slow enough to show them, also static friction and Stribeck's velocity. What the
motion does not excite enough is said, and left out.

Writes identified.yaml, which controllers load after their own file, identified.png with measured
and predicted efforts, and with --simulate the motion itself, motion.npz.

A recorded motion is a recording (*.mcap, see projected-control record), or an .npz file with the
arrays
  time    N      evenly spaced [s]
  q       N × n  measured positions [rad or m]
  effort  N × n  efforts as sent, each from its sample on, with gravity [N·m or N]
  joints  n      names, where the order is another than the description's
  delay          samples after which an effort acts, zero unless given
"""

EPILOG = """\
examples:
  projected-control identify my_arm.yaml --record motion.npz --payload-link hand
  projected-control identify my_arm.yaml --record run.mcap --held
  projected-control identify config/three_link_slider.yaml --simulate 30 \\
      --set friction.coulomb:=[0.3] --set friction.sticks:=true --set encoder.resolution:=[0.0001]
"""


SOURCE = Alternatives(required=True)


class Arguments(
    Command,
    help="friction, payload and armature from a recorded motion",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    files: list[Path] = positional("later ones win", "FILE")
    record: Path | None = option("a recorded motion", metavar="FILE", alternatives=SOURCE)
    simulate: float | None = option(
        "move the simulated arm freely for so long [s]", metavar="S", alternatives=SOURCE
    )
    slow: bool = flag("with --simulate: move ten times as slowly, which shows static friction")
    payload_link: str = option("link whose payload is sought", "", "LINK")
    no_armature: bool = flag("take the rotors' inertia as the file has it")
    held: bool = flag("during the recorded motion the constraint of the file held the arm")
    cutoff: float = option("of the low-pass (default: 20)", 20.0, "HZ")
    set: list[str] = option(
        "a value that counts before all files; may be repeated", [], "NAME:=VALUE"
    )
    seed: int = option("of the simulated motion (default: 0)", 0)
    out: Path = option("folder for file and picture (default: %(default)s)", DEFAULT_FOLDER, "DIR")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Read or make the motion, fit, write; the exit status is 1 where something was not excited."""
    extras.require("matplotlib", "projected-control identify")
    from projected_control.apps.assess import exciting_motion
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, write_files
    from projected_control.model.constrained_arm import ConstrainedArm
    from projected_control.model.constraints import with_mimics
    from projected_control.model.identification import identify
    from projected_control.settings import build
    from projected_control.settings.files import from_command_line
    from projected_control.settings.layers import Layers

    layers = Layers.read(args.files, "", from_command_line(args.set, "--set"))
    settings = layers.arm()
    link = args.payload_link or settings.payload.link
    bare = {"payload.mass": 0.0} if args.no_armature else {"payload.mass": 0.0, "armature": []}
    arm = build.build_arm(settings.changed(bare))
    with terminal_progress(sys.stderr) as progress, output_folder(args.out) as folder:
        if args.record is not None:
            record = exciting_motion.recorded_motion(args.record, arm)
        elif args.simulate is not None:  # one of the two is given
            record = exciting_motion.simulated_motion(
                settings,
                args.simulate,
                args.seed,
                lambda done: progress("moving the arm", done),
                args.slow,
            )
        constraint = build.build_constraint(settings) if args.held and args.record else None
        found = identify(
            ConstrainedArm(arm, with_mimics(arm, constraint)),
            record,
            payload_link=link,
            armature=not args.no_armature,
            cutoff=args.cutoff,
            progress=lambda done: progress("regressor", done),
        )
        files = {
            "identified.yaml": exciting_motion.parameter_file(found).encode(),
            "identified.png": exciting_motion.picture(found),
        }
        write_files(folder, files)
        if args.simulate is not None:
            record.save(folder / "motion.npz", arm.joint_names)
    if args.json:
        print(as_json(exciting_motion.numbers(found)))
    else:
        print("\n".join(exciting_motion.table(found)))
        print(f"Written: {folder / 'identified.yaml'}; load it after your own file")
    return 0 if all(estimate.excited for estimate in found.estimates.values()) else 1
