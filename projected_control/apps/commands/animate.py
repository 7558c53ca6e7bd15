"""``projected-control animate``: a moving picture of a task, an experiment or a recording."""

from __future__ import annotations

import sys
from pathlib import Path

from projected_control import extras
from projected_control.apps.console.command import Command, option, positional

DESCRIPTION = """\
Draws an arm that moves, with what holds it, the trace of its tip and the force below, as GIF or MP4
(for which ffmpeg is needed). It can be

  a task or mechanism      slider, crank, five_bar, four_bar_3d, hitch, two_arms, seven_joints,
                           wipe_edge, drawer_stop, peg, push;
                           wipe, wipe_sphere, drawer, valve (the extra arms)
  a robot with legs        quadruped; stand_still, squat, anymal_squat, lean … (the extra arms)
  an experiment            free-fall, slider-crank, table1, table2, wiping, laws, limits,
                           weak-motors
  a kind of constraint     point_on_plane, hinge, … : an arm swings on it
  a recording              *.mcap
  a parameter file         *.yaml: the controller of its file on the simulated arm
"""

EPILOG = """\
examples:
  projected-control animate crank
  projected-control animate run.mcap --out run.mp4
  projected-control animate my_arm.yaml --seconds 6
  projected-control animate slider crank five_bar --out pictures/
"""


class Arguments(
    Command,
    help="a moving picture of a task, an experiment, a constraint or a recording",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    what: list[str] = positional("names or files, see above", "WHAT")
    out: Path | None = option(
        "where to: *.gif, *.mp4, or a folder for several (default: its name, as GIF)",
        metavar="FILE",
    )
    seconds: float | None = option("how long (default: what it usually takes)")
    rate: int = option("pictures per second (default: 8)", 8, "N")


def run(args: Arguments) -> int:
    extras.require("matplotlib", "projected-control animate")
    from projected_control.apps.animation.drawing import encode, pictures, require_kind
    from projected_control.apps.animation.sources import film
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.output import output_folder, write_files
    from projected_control.errors import InvalidValue

    if args.seconds is not None and not 0.0 < args.seconds <= 600.0:
        raise InvalidValue(f"--seconds must be between 0 and 600, got {args.seconds:g}")
    if not 1 <= args.rate <= 60:
        raise InvalidValue(f"--rate must be from 1 to 60, got {args.rate}")
    several = len(args.what) > 1 or (args.out is not None and not args.out.suffix)
    if len(args.what) > 1 and args.out is not None and args.out.suffix:
        raise InvalidValue(f"for several pictures --out must be a folder, got {args.out}")
    for what in args.what:
        default = Path(f"{Path(what).stem}.gif")
        path = (args.out / default if args.out else default) if several else args.out or default
        require_kind(path)
        with terminal_progress(sys.stderr) as progress:
            shown = film(what, args.seconds, progress)
            step = max(round(1.0 / args.rate / (shown.times[1] - shown.times[0])), 1)
            drawn = pictures(shown.at(step), lambda done: progress("drawing", done))
            content = encode(path, drawn, args.rate)
        with output_folder(path.parent) as folder:
            write_files(folder, {path.name: content})
        print(f"{path}: {len(content) / 1e3:.0f} kB")
    return 0
