"""``projected-control replay``: a recorded run once more, with the same or with other gains."""

from __future__ import annotations

import sys
from pathlib import Path

from projected_control.apps.console.command import Command, flag, option, positional

SAME = 1e-9  # difference up to which two efforts are the same [N·m or N]

DESCRIPTION = """\
Lets the controller of a recording answer all recorded states once more.

As it is, that proves the recording: the same efforts come out, or the exit status is 1. With --set
it tells what other gains would have asked for at these states. With --simulate the simulated arm
takes the place of the recorded one, from its first state on, and follows what the controller sends;
--set then also takes what only a simulated arm has: friction, noise, delays.
"""

EPILOG = """\
examples:
  projected-control replay run.mcap
  projected-control replay run.mcap --set gains.stiffness=200
  projected-control replay run.mcap --set gains.stiffness=200 --simulate
  projected-control replay run.mcap --simulate --set friction.coulomb=0.5 --report out/
"""


class Arguments(
    Command,
    help="let a controller answer a recorded run once more",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    file: Path = positional("a recording, *.mcap", "FILE")
    set: list[str] = option(
        "another value of a parameter (NAME:=VALUE is the same); may be repeated", [], "NAME=VALUE"
    )
    simulate: bool = flag("on the simulated arm, from the first state on")
    engine: str | None = option(
        "of before (numba, native, auto), and no longer needed: the library of kernels makes all "
        "ticks. What moves a simulated arm is another thing: --set simulation.engine=NAME",
        metavar="NAME",
    )
    report: Path | None = option("write a page with both runs side by side", metavar="DIR")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    from projected_control import extras

    extras.require("matplotlib", "projected-control replay")
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.recordings.playback import simulated, what_if
    from projected_control.apps.recordings.recording_report import comparison, opened
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish
    from projected_control.settings.files import from_command_line

    items = [item if ":=" in item else item.replace("=", ":=", 1) for item in args.set]
    values = {name: given.value for name, given in from_command_line(items, "--set").items()}
    recording = opened(args.file)
    with terminal_progress(sys.stderr) as progress:
        if args.simulate:
            done, difference = (
                simulated(recording, values, args.engine, lambda f: progress("simulating", f)),
                None,
            )
        else:
            done, difference = what_if(
                recording, values, args.engine, lambda f: progress("replaying", f)
            )
    name = "simulated" if args.simulate else "replayed"
    outcome = comparison(recording, done, ("recorded", name))
    exact = not args.simulate and not values and recording.exact
    numbers = {**outcome.numbers["comparison"], "effort_difference": difference}
    if args.report is not None:
        with output_folder(args.report) as folder:
            publish(folder, [outcome], "index.html")
    if args.json:
        print(as_json(numbers))
    else:
        print("\n".join(outcome.tables[0].lines()))
        if difference is not None:
            print(f"largest difference of any effort to the recorded one: {difference:.3g} N·m")
        if args.report is not None:
            print(f"Report: {args.report / 'index.html'}")
    wanting = exact and difference is not None and difference > SAME
    return 1 if wanting else 0
