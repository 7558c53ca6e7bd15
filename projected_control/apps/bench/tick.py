"""``projected-control bench tick``: from a state to a guarded effort, how long does it take?"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    from projected_control.apps.bench.call_timing import CallTiming
    from projected_control.apps.bench.limit_timing import ContactTiming, LimitTiming
    from projected_control.apps.bench.tick_timing import ColdTiming, TickTiming
    from projected_control.apps.console.progress import Progress

BOUND = 5.0
"""A tick may take this many times what Pinocchio alone takes for the same arm."""

PYTHON_BOUNDS = {3: 3.0, 7: 2.6}
"""From Python, by the arm's number of joints, for the hybrid and the passive law; all others have
`BOUND`. docs/performance.md has what was measured."""

MECHANISM_SHARE = 1.2
"""From Python, mechanisms may take so much more: `four_bar_3d` has five rows for three joints."""

NATIVE_BOUNDS = {3: 2.1, 7: 2.0, 14: 2.2, 30: 3.0, 32: 4.0, 50: 5.0}
"""And in C++, against Pinocchio in C++: by the arm's number of joints; mechanisms have `BOUND`."""

LEGGED_BOUND = 4.0
"""The same for robots with legs, whose bases float, while no limit binds."""

COLD_BOUND = 3.0
"""99.9 % of the ticks at 1 kHz, with caches cold, take at most so many times their median."""

LOOK_BOUND, LIMIT_BOUND = 0.1, 4.0
"""By which share a tick may be longer as it looks whether limits bind; and how many times as long
as a free one it may take where four of them do, with 7 joints in C++."""

CONTACT_BOUND = 7.0
"""The same where one facet of the cones of four contacts binds."""

CALL_BOUND, ARRAY_BOUND = 1.5, 0.2
"""What a call from Python may cost on top of the kernel, and more per array of a kernel that is not
called in every tick or step [µs]."""

PYTHON_JOINTS = 30
"""Arms with fewer joints are timed from Python too: with more, a call no longer counts."""

LIMIT_CASE = 2  # which of the arms is timed with limits that bind: 7 joints, 3 rows, hybrid
COLD_CASE = 3
"""Which of the random trees is timed with cold caches."""

DEFAULT_SECONDS = 2.0
MAX_SECONDS = 600.0

DESCRIPTION = f"""\
Times one tick, state in, effort out, with everything in it: Pinocchio, constraint, projection, law
and guard, on the way to a set-point (what a planner adds comes on top). Beside it, in turns with
it, Pinocchio's computeAllTerms alone. The first takes at most {PYTHON_BOUNDS[3]:g} times the second
with 3 joints and 1 row, {PYTHON_BOUNDS[7]:g} times with 7 and 3 (other laws {BOUND:g} times), on a
computer that has nothing else to do; medians are those of the quieter half of the rounds.
Where the native loop can be built, the same in C++: a tick takes at most {NATIVE_BOUNDS[3]:g} times
Pinocchio's pass in C++ with 3 joints and 1 row, {NATIVE_BOUNDS[7]:g} times with 7 and 3. How it
grows is told with random trees of 3 to 50 joints: at most {NATIVE_BOUNDS[14]:g} times with 14
joints and 6 rows, {NATIVE_BOUNDS[30]:g} with 30 and 12, {NATIVE_BOUNDS[50]:g} with 50 and 24; and
with talos (32 and 12), where example-robot-data is installed, at most {NATIVE_BOUNDS[32]:g} times.
Robots with legs, their bases floating (18 velocities and 12 rows; talos on its soles 38 and 12),
take at most {LEGGED_BOUND:g} times.
Of the tree of 30, one tick a millisecond is timed, with caches that something else has filled:
99.9 % of these take at most {COLD_BOUND:g} times their median, without a page fault.
Looking whether limits bind makes a tick of 7 joints at most {100 * LOOK_BOUND:g} % longer, and one
in which four do takes at most {LIMIT_BOUND:g} times a free one; the cap of the solver is told.
Where one facet of the cones of four contacts binds, it is at most {CONTACT_BOUND:g} times.
Then the laws in task and joint space, and the closed mechanisms of `demo --task` as they run there,
each within {BOUND:g} times in C++. Last, what a call of a kernel from Python costs on top of the
kernel: at most {CALL_BOUND:g} µs for tick, plant step and model evaluation, {ARRAY_BOUND:g} µs more
per array for any other.
"""


class Arguments(Command, help="one tick of the control loop", description=DESCRIPTION):
    seconds: float = option(
        "measure each case for this long, in s (default: %(default)g)", DEFAULT_SECONDS, "S"
    )
    bound: float = bench.bound(
        BOUND,
        "a tick from Python against Pinocchio alone, medians (3 for 3 joints, 2.6 for 7),",
    )
    native_bound: float | None = option(
        "the same for a tick in C++ (default: 2.1 for 3 joints, 2.0 for 7, 2.2 for 14, 3 for 30, 5 "
        "for 50; 4 for robots with legs, 5 for mechanisms and for laws in task and joint space)",
        metavar="B",
    )
    call_bound: float = option(
        "the same where a call from Python costs more µs than that on top of its kernel "
        "(default: %(default)g)",
        CALL_BOUND,
        "US",
    )
    engine: str = option(
        "measure ticks from Python, in C++ (native), or both where that can be (default: both); "
        "numba is the old name of python",
        "auto",
        choices=("auto", "python", "native", "numba"),
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    """Measure all cases; print a table or JSON. The exit status is 1 where the bound is missed."""
    from projected_control import validate

    bound = validate.positive("bound", args.bound)
    if validate.positive("seconds", args.seconds) > MAX_SECONDS:
        raise InvalidValue(f"seconds must be at most {MAX_SECONDS:g}, got {args.seconds:g}")
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.compiled import COMPILED

    call_bound = validate.positive("call_bound", args.call_bound)
    calls: list[CallTiming] = []
    cold: ColdTiming | None = None
    limits: LimitTiming | None = None
    contacts: ContactTiming | None = None
    with terminal_progress(sys.stderr) as progress:
        timings, reason = measure(args.engine, args.seconds, progress)
        if COMPILED and args.engine != "native":
            from projected_control.apps.bench.call_timing import time_calls

            calls = time_calls(args.seconds, call_bound, ARRAY_BOUND, progress)
        if not reason:
            from projected_control.apps.bench.limit_timing import time_contacts, time_limits
            from projected_control.apps.bench.tick_cases import CASES, GROWTH
            from projected_control.apps.bench.tick_timing import time_cold

            cold = time_cold(GROWTH[COLD_CASE], args.seconds, progress)
            limits = time_limits(CASES[LIMIT_CASE], args.seconds, progress)
            contacts = time_contacts(args.seconds, progress)
    bounds = {timing: _bound(timing, bound, args.native_bound) for timing in timings}
    late = missed(timings, bounds) + [call.missed for call in calls if call.missed]
    if cold is not None and args.native_bound is None:
        late += cold.missed(COLD_BOUND)
    if limits is not None and args.native_bound is None:
        late += limits.missed(LOOK_BOUND, LIMIT_BOUND)
    if contacts is not None and args.native_bound is None:
        late += contacts.missed(CONTACT_BOUND)
    grown = growth(timings)
    numbers = {
        "cases": [{**timing.numbers, "bound": bounds[timing]} for timing in timings],
        "calls": [call.numbers for call in calls],
        "growth": grown,
        "cold": None if cold is None else cold.numbers,
        "limits": None if limits is None else limits.numbers,
        "contacts": None if contacts is None else contacts.numbers,
        "compiled": COMPILED,
        "bound": bound,
        "native": reason or "measured",
    }
    lines = [_table(timings), _verdict(timings, bounds, COMPILED)]
    lines += [
        f"{engine}: with random trees a tick grows like n^{own:.2f}, Pinocchio's pass like "
        f"n^{pass_:.2f}"
        for engine, (own, pass_) in grown.items()
    ]
    lines += [str(each) for each in (cold, limits, contacts) if each is not None]
    lines += [_call_table(calls)] if calls else []
    lines += [f"No ticks in C++: {reason}"] if reason else []
    return bench.report(args.json, numbers, "\n".join(lines), late)


def measure(engine: str, seconds: float, progress: Progress) -> tuple[list[TickTiming], str]:
    """Times of all cases, and why there are none in C++ (empty where there are)."""
    from projected_control.apps.bench.tick_cases import ALL_CASES
    from projected_control.apps.bench.tick_timing import time_native, time_ticks
    from projected_control.native.library import native_loop, reason_against

    if engine == "native":
        native_loop()  # asked for by name: say why not, and end
    reason = "not asked for" if engine in ("python", "numba") else reason_against()
    timings = []
    for case in ALL_CASES:
        if engine != "native" and (case.joints < PYTHON_JOINTS or reason):
            timings.append(time_ticks(case, seconds, progress))
        if not reason:
            timings.append(time_native(case, seconds, progress))
    return timings, reason


def growth(timings: list[TickTiming]) -> dict[str, tuple[float, float]]:
    """Exponents of a tick's time and of Pinocchio's over the joints of random trees, by engine."""
    import numpy as np

    from projected_control.apps.bench.tick_cases import TreeCase

    found: dict[str, tuple[float, float]] = {}
    for engine in dict.fromkeys(t.engine for t in timings):
        trees = [t for t in timings if t.engine == engine and isinstance(t.case, TreeCase)]
        if len(trees) > 2:
            joints = np.log([t.case.joints for t in trees])
            times = np.log([(t.p50_us, t.pinocchio_us) for t in trees])
            own, alone = np.polyfit(joints, times, 1)[0]
            found[engine] = round(float(own), 3), round(float(alone), 3)
    return found


def _bound(timing: TickTiming, bound: float, native: float | None) -> float | None:
    """What a case is held to; None for one that is only measured."""
    from projected_control.apps.bench.tick_cases import CASES, LEGGED, TASK_LAWS, MechanismCase

    mechanism = isinstance(timing.case, MechanismCase)
    if timing.engine != "native":
        if timing.engine == "python" and timing.case in CASES and bound == BOUND:
            return PYTHON_BOUNDS[timing.case.joints]
        return (MECHANISM_SHARE if mechanism else 1.0) * bound
    other = mechanism or timing.case in TASK_LAWS
    promised = BOUND if other else NATIVE_BOUNDS.get(timing.case.joints)
    promised = LEGGED_BOUND if timing.case in LEGGED else promised
    return promised if native is None or promised is None else native


def missed(timings: list[TickTiming], bounds: Mapping[TickTiming, float | None]) -> list[str]:
    """The cases that took longer than they may, in words."""
    return [
        f"a tick of the {t.case.law} law with {t.case.robot} ({t.engine}) took "
        f"{t.ratio:.2f} times what Pinocchio alone takes, {t.p50_us:.1f} µs; it may take "
        f"{bounds[t]:g} times that"
        for t in timings
        if _is_missed(t, bounds)
    ]


def _is_missed(timing: TickTiming, bounds: Mapping[TickTiming, float | None]) -> bool:
    bound = bounds[timing]
    return bound is not None and timing.ratio > bound


def _table(timings: list[TickTiming]) -> str:
    times = ("median (µs)", "99 % (µs)", "Pinocchio (µs)", "ratio")
    return bench.table(
        ("robot", "law", "engine", "joints", "rows", *times),
        [
            (
                *(t.case.robot, t.case.law, t.engine, str(t.case.joints), str(t.case.rows)),
                *(f"{us:.1f}" for us in (t.p50_us, t.p99_us, t.pinocchio_us)),
                f"{t.ratio:.2f}",
            )
            for t in timings
        ],
        left=3,
    )


def _call_table(calls: list[CallTiming]) -> str:
    times = ("in all (µs)", "kernel (µs)", "on top (µs)", "bound (µs)")
    rows = [
        (
            *(c.what, str(c.arrays)),
            *(f"{us:.2f}" for us in (c.python_us, c.kernel_us, c.cost_us, c.bound_us)),
        )
        for c in calls
    ]
    return "\n" + bench.table(("a call from Python", "arrays", *times), rows)


def _verdict(
    timings: list[TickTiming], bounds: Mapping[TickTiming, float | None], compiled: bool
) -> str:
    late = [t for t in timings if _is_missed(t, bounds)]
    verdict = "met" if not late else "not met"
    if late:
        verdict += (
            " (is the computer busy? try again, longer: --seconds 10)"
            if compiled
            else " (the kernels run as NumPy: PROJECTED_CONTROL_COMPILE is 0)"
        )
    sentences = []
    for engine in dict.fromkeys(t.engine for t in timings):
        held = [t for t in timings if t.engine == engine and bounds[t] is not None]
        worst = ", ".join(
            f"{bounds[t]:g} times with {t.case.robot}, here {t.ratio:.2f}"
            for t in held
            if t.ratio == max(u.ratio for u in held if u.case.robot == t.case.robot)
        )
        sentences.append(f"{engine}: at most {worst}")
    return f"Against Pinocchio alone: {verdict}; {'; '.join(sentences)}."
