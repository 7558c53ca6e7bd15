"""``projected-control reproduce``: the papers' cases, as numbers, figures and a report page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control import extras
from projected_control.apps.console.command import Command, flag, option, positional
from projected_control.apps.experiments import (
    ALIASES,
    ALL,
    EXPERIMENTS,
    Options,
    names_of,
    run_experiment,
)
from projected_control.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from projected_control.apps.reports.contents import Outcome

DEFAULT_FOLDER = Path("reproduction")

DESCRIPTION = """\
Runs cases of the papers this package stands on (Aghili; Moura et al.) and writes for each the
figures (PNG and SVG) and one report page (HTML) that sets print and result side by side.
"""

EPILOG = """\
cases:
{cases}

examples:
  projected-control reproduce free-fall
      figures and the page free-fall.html in reproduction/
  projected-control reproduce free-fall --q0 0.2 0.9 -0.4 --seconds 4 --out /tmp/fall
      another start: the slider then goes through the tip as it stands there
  projected-control reproduce slider-crank --gravity 9.81 --seed 7
      with gravity, and other random starts
  projected-control reproduce slider-crank --q0 2.0943951
      one angle is enough: the other follows from the slider, q2 = 2π − 2 q1
  projected-control reproduce table1 --gravity 9.81
      the torques with gravity; one motor still needs √5 times what two need
  projected-control reproduce limits --limit 2.5 --json
      what three ways to stay within 2.5 N·m leave of a motion
  projected-control reproduce impact --restitution 0.3 --json
      impulse, velocity and energy of an arm that meets its floor
  projected-control reproduce cone --mu 0.10 --limit 0.5 --json
      torques, force and slack of a tip that is to stick
  projected-control reproduce engines --task two_arms
      the same task on our plant, MuJoCo, DART and Pinocchio's solver
  projected-control reproduce standing --robot solo12 --mu 0.3 --json
      torques and forces of a quadruped that stands (robots of the extra arms; ours without it)
  projected-control reproduce pushes --robot solo12 --seed 3
      a minute of pushes on ground that it can slip on, in MuJoCo, and which pushes it takes
  projected-control reproduce touch --count 1000 --seed 1
      a thousand random touches of tables that give, beside what others do
  projected-control reproduce all --out reproduction
      everything, and one page index.html
  projected-control reproduce free-fall --json | python3 -m json.tool
      only the numbers; with --json files are written only if --out is given
"""


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _plain(given: Any) -> Any:
    """What was typed, as `Options` has it: one tuple of all that several options or words give."""
    if not isinstance(given, list):
        return given
    return tuple(x for part in given for x in (part if isinstance(part, list) else [part]))


CASES = [(name, entry.summary) for name, entry in EXPERIMENTS.items()]
CASES += [(name, f"the same as {target}") for name, target in ALIASES.items()]
CASES.append((ALL, "every case, and one page index.html"))


class Arguments(
    Command,
    help="the papers' cases: numbers, figures and a report page",
    description=DESCRIPTION,
    epilog=EPILOG.format(cases="\n".join(f"  {name:<14}{summary}" for name, summary in CASES)),
):
    case: str = positional("see the list below", "case", choices=[name for name, _ in CASES])
    out: Path | None = option(
        f"folder for figures and page, made if missing (default: {DEFAULT_FOLDER})", metavar="DIR"
    )
    q0: list[list[float]] | None = option(
        "initial joint angles in rad, base joint first, apart by spaces or commas "
        "(default: the paper's)",
        metavar="ANGLE",
        read=_numbers,
    )
    seconds: float | None = option("simulated time in s (default: the paper's)", metavar="S")
    gravity: float | None = option("in m/s², downwards (default: the paper's)", metavar="G")
    seed: int | None = option(
        "of everything random, 0 or more; the same seed gives the same numbers (default: 0)",
        metavar="N",
    )
    limit: float | None = option(
        "largest torque of every joint in N·m, for limits (default: 1.6) and cone (default: none)",
        metavar="TORQUE",
    )
    restitution: float | None = option(
        "e of an impact, from 0 (none) to 1 (all): how fast it separates (default: 0)",
        metavar="E",
    )
    mu: float | None = option(
        "coefficient of friction, for cone (default: 0.15), or of feet that stand (default: none)",
        metavar="MU",
    )
    task: str | None = option(
        "for engines: a task of demo --task, or a mechanism of config/ (default: slider)",
        metavar="NAME",
    )
    robot: str | None = option(
        "which robot stands: solo12, a1, go2, anymal … of example-robot-data, or the path of a "
        "description; is pushed: solo12, anymal (default: quadruped, ours)",
        metavar="NAME",
    )
    posture: list[list[float]] | None = option(
        "its hips, thighs and knees, or one angle per joint, in rad (default: 0, 0.8, -1.6)",
        metavar="ANGLE",
        read=_numbers,
    )
    feet: list[str] | None = option(
        "links on which it stands (default: all with foot in their name)", metavar="LINK"
    )
    criterion: str | None = option(
        "what is least (default: torque)", choices=("torque", "contact_force")
    )
    count: int | None = option(
        "how many random cases, for touch (default: 20)",
        metavar="N",
    )
    engine: str | None = option(
        "built_in alone: the papers' cases are of rigid constraints; for others see engines",
        metavar="NAME",
    )
    json: bool = flag("print one JSON object of the numbers, nothing else")


def refuse_engine(name: str | None) -> None:
    """Raise where another engine than our own plant is asked for."""
    from projected_control.simulation.engines import BUILT_IN, ENGINES

    if name is None or name == BUILT_IN:
        return
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)
    raise InvalidValue(
        f"the cases of reproduce are of rigid constraints in steps of fourth order, and {name} has "
        "others: reproduce engines --task NAME compares it with our plant, and demo --engine "
        f"{name} runs a task on it"
    )


def run(args: Arguments) -> int:
    """Run the case or cases, write what was asked for, print the numbers or a summary."""
    refuse_engine(args.engine)
    options = Options(**{name: _plain(getattr(args, name)) for name in vars(Options())})
    names = names_of(args.case, options)
    extras.require("matplotlib", "projected-control reproduce")
    if args.json and args.out is None:
        _print_json(args.case, _run(args.case, names, options, None))
        return 0
    from projected_control.apps.reports.output import output_folder

    with output_folder(args.out or DEFAULT_FOLDER) as folder:
        outcomes = _run(args.case, names, options, folder)
    if args.json:
        _print_json(args.case, outcomes)
    else:
        for outcome in outcomes:
            print(f"{outcome.title}\n{outcome.summary}\n")
        print(f"Written: {folder / _page_name(args.case, outcomes)} and its figures beside it")
    return 0


def _run(case: str, names: list[str], options: Options, folder: Path | None) -> list[Outcome]:
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.output import publish

    with terminal_progress(sys.stderr) as progress:
        outcomes = [run_experiment(name, options, progress) for name in names]
        if folder is not None:
            publish(folder, outcomes, _page_name(case, outcomes), progress)
    return outcomes


def _page_name(case: str, outcomes: list[Outcome]) -> str:
    return "index.html" if case == ALL else f"{outcomes[0].name}.html"


def _print_json(case: str, outcomes: list[Outcome]) -> None:
    from projected_control.apps.reports.contents import as_json

    if case == ALL:
        print(as_json({o.name: o.numbers.get(o.name, o.numbers) for o in outcomes}))
    else:
        print(as_json(outcomes[0].numbers))
