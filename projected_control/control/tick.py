"""One tick as one compiled function: from a state and Pinocchio's pass to a guarded effort.

Everything it needs lies in plain arrays, declared by `TickArguments`, so that it can be called from
Python, exported, and called from C++. In order: changes of the live block are taken, references are
evaluated at the state's time, the model is completed, λ is found, the guard looks at state and
reference, the law acts, limits are kept (`keep_limits`), the guard releases what may be sent,
everything is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Integers, Matrix, Numbers, compiled, kernel
from projected_control.control.approach import drive_contacts
from projected_control.control.collision import watch_collision
from projected_control.control.compensation import locate_contact
from projected_control.control.contact import ENERGY
from projected_control.control.counters import COUNTERS, count_tick, unpack_counters
from projected_control.control.disturbance import DisturbanceKind
from projected_control.control.energy import begin_ledger, keep_ledger
from projected_control.control.events import Action, Event, severity
from projected_control.control.force import lead_integral
from projected_control.control.force_ceiling import watch_ceiling
from projected_control.control.force_kernels import (
    SIGN_REVERSED,
    SIGN_SHARE,
    SOURCE,
    SourceKind,
    SourceTerms,
    find_force,
    follow_bends,
    observe_disturbance,
    sensor_disagrees,
    unpack_source,
    watch_sign,
)
from projected_control.control.guard_kernels import (
    GUARD,
    GuardTerms,
    accept_replaced,
    inspect_tick,
    release_effort,
    unpack_guard,
)
from projected_control.control.holding import follow_contacts, is_settled, see_contacts
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.keep_limits import (
    NOTHING,
    keep_limits,
    keep_nothing,
    stop_in_range,
)
from projected_control.control.keep_rates import keep_rates
from projected_control.control.law_kinds import Law
from projected_control.control.laws import apply_law
from projected_control.control.limit_terms import LIMITS, unpack_limits
from projected_control.control.live import (
    LIVE,
    NUMBER,
    PIECES_AT,
    WRITTEN_BY_PYTHON,
    blend_slots,
    is_new,
    take,
    take_control,
    take_guard,
    take_source,
    take_table,
    unpack_block,
)
from projected_control.control.motion import note_stop, posture_distance, tracking_error
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.path_clock import (
    LAG,
    POSSIBLE,
    SLOW,
    begin_clock,
    evaluate_slowed,
    lead_clock,
)
from projected_control.control.rank_change import keep_directions
from projected_control.control.rejoining import lead_back, lead_force_back, note_following
from projected_control.control.silence import SILENT
from projected_control.control.surface import follow_surface
from projected_control.control.task_axes import locate_axes
from projected_control.control.terms import CONTROL, ControlTerms, unpack_control
from projected_control.model.constrained_arm import TERMS, Terms, evaluate_model
from projected_control.model.linalg import copy, dot, fill
from projected_control.model.motion_tables import MOTION, evaluate_motion
from projected_control.model.on_constraint import least_motion
from projected_control.model.rotations import out_of_reach
from projected_control.model.scalar_functions import TABLE
from projected_control.workspace import Layout

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_RANK_CHANGED, _CONTROL_LOST = int(Event.RANK_CHANGED), int(Event.CONTROL_LOST)
_LEFT_CONSTRAINT, _FORCE_STALE = int(Event.LEFT_CONSTRAINT), int(Event.FORCE_STALE)
_COMMANDER_SILENT = int(Event.COMMANDER_SILENT)
_POSTURE_DRIFTED = int(Event.POSTURE_DRIFTED)
_FORCE_REVERSED, _FORCE_FAR_OFF = int(Event.FORCE_REVERSED), int(Event.FORCE_FAR_OFF)
_LATCHED, _CONTRADICT = int(Event.LATCHED), int(Event.CONSTRAINTS_CONTRADICT)
_FORCE_DISAGREES, _JUMPED = int(Event.FORCE_DISAGREES), int(Event.REFERENCE_JUMPED)
_ACTION_FOLLOW, _ACTION_STOP, _ACTION_HOLD = (
    int(Action.FOLLOW),
    int(Action.STOP),
    int(Action.HOLD),
)
_RESOLVED_RATE = int(Law.RESOLVED_RATE)
_BOUNDED = int(Event.CONTACT_BOUNDED)
_OBSERVER = int(DisturbanceKind.OBSERVER)
_NONE, _SENSOR = int(SourceKind.NONE), int(SourceKind.SENSOR)
_REFERENCE, _FORCE_REFERENCE = NUMBER["reference"], NUMBER["force_reference"]
_BODIES = NUMBER["bodies"]

SLACK, COUNTED = 1e-5, 10.0
"""By how much velocities of rows may differ that depend on each other [m/s or rad/s], and how often
the tolerance of singular values times ‖q̇‖ is allowed on top."""


@dataclass(frozen=True)
class Argument:
    """One argument of `tick`.

    Attributes:
        meaning: What it holds, with its unit.
        shape: Its extents, as expressions in n (joints), m (constraint rows), p (passive joints)
            and joints (n and the world); empty where a layout says it.
        layout: The declaration of what lies in it, for an array that is a workspace.
        order: ``C``, or ``F`` for a matrix that stands column by column.
        whole: Whether it holds whole numbers (64 bits) rather than doubles.
        written: Whether a tick writes there.
    """

    meaning: str
    shape: str = ""
    layout: Layout[Any] | None = None
    order: str = "C"
    whole: bool = False
    written: bool = False


class TickArguments(NamedTuple):
    """What `tick` takes after stamp, age of the wrench, q, q̇ and wrench, in this order.

    The arrays stay where they are from tick to tick.
    """

    M: Annotated[Array, Argument("Pinocchio's M, both triangles.", "n, n", order="F")]
    h: Annotated[Array, Argument("Pinocchio's nle.", "n")]
    spatial_jacobian: Annotated[Array, Argument("Pinocchio's J.", "6, n", order="F")]
    placements: Annotated[Array, Argument("Pinocchio's oMi, see `Arm.placements`.", "joints, 12")]
    state: Annotated[Array, Argument("The arm's own q and q̇.", "2, n", written=True)]
    sizes: Annotated[
        Whole,
        Argument("First compiled row, m, k, frames (see `ModelArguments`).", "4", whole=True),
    ]
    functions: Annotated[Array, Argument("Constraint and coordinates.", layout=TABLE, written=True)]
    target: Annotated[Array, Argument("x(t) of a moving constraint.", layout=MOTION)]
    model_work: Annotated[Array, Argument("The model.", layout=TERMS, written=True)]
    coriolis: Annotated[
        Array, Argument("Pinocchio's C; read for the momentum source alone.", "n, n", order="F")
    ]
    choices: Annotated[
        Whole,
        Argument(
            "Number of the `Law`; of the `SourceKind`; 1 where the law needs a wrench; 1 where "
            "Python advances the gains; 1 where the deciding side is silent (see `silence`).",
            "5",
            whole=True,
        ),
    ]
    passive: Annotated[Whole, Argument("Joints without a motor.", "p", whole=True)]
    control_work: Annotated[Array, Argument("The controller.", layout=CONTROL, written=True)]
    source_work: Annotated[Array, Argument("The source of λ.", layout=SOURCE, written=True)]
    guard_work: Annotated[Array, Argument("The guard.", layout=GUARD, written=True)]
    counters: Annotated[Array, Argument("Counters.", layout=COUNTERS, written=True)]
    reference: Annotated[Array, Argument("θ_d(t) in force.", layout=MOTION, written=True)]
    force_reference: Annotated[Array, Argument("λ_d(t) in force.", layout=MOTION, written=True)]
    mailbox: Annotated[Array, Argument("The live block of the deciding side.", layout=LIVE)]
    taken: Annotated[Array, Argument("The block as last taken.", layout=LIVE, written=True)]
    limits_work: Annotated[Array, Argument("The solver of limits.", layout=LIMITS, written=True)]


@compiled
def take_block(
    mailbox: Array,
    taken: Array,
    reference: Array,
    force_reference: Array,
    c: ControlTerms,
    s: SourceTerms,
    g: GuardTerms,
) -> None:
    """Put what the deciding side has written into force: all of a change, or nothing."""
    if not take(mailbox, taken):
        return
    live = unpack_block(taken, g.q.size, c.controlled.size, g.theta.size)
    take_control(live, c)
    take_source(live, s)
    take_guard(live, g)
    is_new(_BODIES, live)  # with which Pinocchio has computed already
    if take_table(_REFERENCE, live.reference, live, reference):
        g.replaced[0] = 1.0
        begin_clock(c.path_clock)
        begin_ledger(c)
    new = take_table(_FORCE_REFERENCE, live.force_reference, live, force_reference)
    if new and force_reference[PIECES_AT] == 0.0:
        fill(c.lambda_desired, 0.0)


@compiled
def is_written(taken: Array, rows: int, g: GuardTerms) -> bool:
    """Whether Python writes the reference in every tick."""
    live = unpack_block(taken, g.q.size, rows, g.theta.size)
    return live.reference[PIECES_AT] == WRITTEN_BY_PYTHON


@compiled
def doubt_force(
    fed_back: bool, age: float, t: Terms, c: ControlTerms, s: SourceTerms, g: GuardTerms
) -> int:
    """Events of a measured λ that the model does not bear out; while in doubt, no feedback."""
    bound, stop = g.force_difference[0], g.force_stop[0]
    differs = sensor_disagrees(c.lambda_measured, g.sent, c.friction, bound, stop, t, s)
    events = _FORCE_DISAGREES if differs & 1 else 0
    if not fed_back:
        return events
    if differs & 2:
        events |= _FORCE_FAR_OFF
        g.latched[0] = max(g.latched[0], float(_ACTION_STOP))
    apart = watch_sign(
        c.lambda_measured,
        g.sent,
        c.friction,
        c.controlled,
        SIGN_SHARE * bound,
        age,
        g.period[0],
        c.delay[0],
        t,
        s,
    )
    c.doubted[0] = 1.0 if apart else 0.0
    return events | (_FORCE_REVERSED if s.sign_seen[0] == SIGN_REVERSED else 0)


@compiled
def rows_contradict(t: Terms, c: ControlTerms) -> bool:
    """Whether rows that depend on each other move differently: no q̇ has A q̇ = ẋ.

    In a singular configuration, a direction that does not count may take its share of q̇.
    """
    moving = False
    for r in range(t.b.size):
        moving = moving or t.target[1, r] != 0.0
    if not moving:
        return False
    least_motion(t, t.target[1], c.load)
    bound = SLACK + COUNTED * t.tolerance[0] * np.sqrt(dot(t.v, t.v))
    apart = 0.0
    for r in range(t.b.size):
        apart = max(apart, abs(t.target[1, r] - dot(t.A[r], c.load)))
    return apart > bound


@compiled
def force_is_short(c: ControlTerms) -> bool:
    """Whether limits took something of a force that is controlled away; that is the shortfall."""
    short = False
    for j in range(c.shortfall.size):
        c.shortfall[j] = c.force_given_up[j]
        short = short or (c.controlled[j] != 0.0 and abs(c.shortfall[j]) > NOTHING)
    return short


@kernel
def tick(
    stamp: float,
    wrench_age: float,
    q: Numbers,
    v: Numbers,
    wrench: Numbers,
    M: Columns,
    h: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    functions: Numbers,
    target: Numbers,
    model_work: Numbers,
    coriolis: Columns,
    choices: Integers,
    passive: Integers,
    control_work: Numbers,
    source_work: Numbers,
    guard_work: Numbers,
    counters: Numbers,
    reference: Numbers,
    force_reference: Numbers,
    mailbox: Numbers,
    taken: Numbers,
    limits_work: Numbers,
) -> tuple[int, int]:
    """One turn from Pinocchio's pass to a guarded effort.

    Args:
        stamp: Time of the state [s].
        wrench_age: Age of the wrench [s]; infinite where there is none.
        q, v: The state, n each.
        wrench: The measured wrench, 6; NaN where none was measured.
        M, …, limits_work: See `TickArguments`.

    Returns:
        The guard's action and events; the effort is left in the guard's workspace.
    """
    law, source, needs_wrench, in_python = choices[0], choices[1], choices[2], choices[3]
    t = evaluate_model(
        stamp, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target, model_work
    )
    c = unpack_control(control_work, t, passive.size)
    o = unpack_one_sided(c.one_sided, t.b.size)
    contacts = o.total[0] != 0.0
    if contacts:
        see_contacts(t, c, o)
    keep_directions(t, c)
    g = unpack_guard(guard_work, q.size, t.theta.size)
    s = unpack_source(source_work, q.size, t.b.size)
    take_block(mailbox, taken, reference, force_reference, c, s, g)
    if not in_python:
        blend_slots(c)
    if c.path_clock[LAG] == 0.0 and c.path_clock[SLOW] == 0.0:
        evaluate_motion(stamp, reference, c.motion)
    else:
        evaluate_slowed(stamp, is_written(taken, t.b.size, g), reference, c)
    if force_reference[PIECES_AT] > 0.0:
        evaluate_motion(stamp, force_reference, c.lambda_motion)
        copy(c.lambda_motion[0], c.lambda_desired)
    events = _COMMANDER_SILENT if choices[SILENT] else 0
    if source == _SENSOR and not wrench_age <= g.force_time[0]:
        if needs_wrench:
            events |= _FORCE_STALE
        else:
            source = _NONE
    if s.varies[0] != 0.0:
        follow_bends(placements, functions, s)
    observes = int(c.disturbance_kind[0]) == _OBSERVER
    feels = c.collision[0] > 0.0
    followed = find_force(
        source,
        wrench,
        v,
        h,
        placements,
        coriolis,
        g.sent,
        c.friction,
        observes or feels,
        t,
        s,
        c.lambda_measured,
    )
    if observes:
        observe_disturbance(c.waits[0] != 0.0, followed, s, c.disturbance)
    if feels:
        events |= watch_collision(followed, t, c, s, g)
    c.path_waits[0] = 0.0
    if contacts:
        events |= follow_contacts(c, o, g)
    if source == _SENSOR and (not contacts or is_settled(o)):
        events |= doubt_force(needs_wrench != 0, wrench_age, t, c, s, g)
    events |= watch_ceiling(c, g)
    seen = True
    if c.surface[0] != 0.0:  # its row
        seen = follow_surface(v, spatial_jacobian, placements, sizes, functions, c, s)
    if not seen or dot(t.residual, t.residual) > g.residual[0] * g.residual[0]:
        events |= _LEFT_CONSTRAINT
    if t.rank[0] < t.b.size and rows_contradict(t, c):
        events |= _CONTRADICT
    if accept_replaced(c.motion, t.theta, c.topology, g) and c.posture_bound[0] > 0.0:
        copy(q, c.posture)  # what is held goes on from where the stop has left it
    if out_of_reach(c.motion[0], t.theta, c.topology):
        events |= _JUMPED
    if g.latched[0] != 0.0:
        events |= _LATCHED
    events |= inspect_tick(q, v, stamp, c.motion, g, events)
    answer = max(severity(events), int(g.latched[0]))
    if answer < _ACTION_HOLD:
        locate_contact(v, spatial_jacobian, placements, c)
        locate_axes(placements, q.size, c)
        note_stop(answer == _ACTION_STOP, t, c)
        if answer == _ACTION_FOLLOW:
            lead_force_back(c)
            if c.interrupted[0] > 0.0 or c.rejoin[1] > 0.0:
                tracking_error(t, c)
                lead_back(t, c)
        if contacts:
            drive_contacts(answer == _ACTION_STOP, t, c, o)
        apply_law(law, answer == _ACTION_STOP, passive, t, c)
        events |= _BOUNDED if contacts and o.bounded[0] != 0.0 else 0
        if c.rejoin[1] != 0.0:
            tracking_error(t, c)  # what is reported is the error of the reference
        if t.rank[0] != g.rank[0]:
            if not np.isnan(g.rank[0]):
                events |= _RANK_CHANGED
            g.rank[0] = t.rank[0]
        if c.posture_bound[0] > 0.0 and posture_distance(t, c) > c.posture_bound[0]:
            events |= _POSTURE_DRIFTED
        if passive.size and c.margins[1] <= CONTROLLABILITY_TOLERANCE:
            events |= _CONTROL_LOST
    keep_nothing(c)
    answer = max(severity(events), int(g.latched[0]))
    w = unpack_limits(limits_work, q.size, t.b.size, t.theta.size)
    if answer == _ACTION_FOLLOW:
        events |= keep_limits(law, False, passive, t, c, g, w)
    elif answer == _ACTION_STOP and law == _RESOLVED_RATE:
        events |= keep_rates(True, t, c, g)
    elif answer == _ACTION_STOP:
        events |= stop_in_range(law, passive, t, c, g, w)
    if c.contact_rules[ENERGY] > 0.0:
        events |= keep_ledger(answer == _ACTION_FOLLOW, t, c)
    action, events = release_effort(c.solved, events, g)
    note_following(action, c)
    lead_integral(action == _ACTION_FOLLOW and force_is_short(c), c)
    c.limited[0] = 1.0 if action == _ACTION_FOLLOW and c.motion_share[0] < 1.0 else 0.0
    if c.motion_share[0] < 1.0 or c.path_clock[POSSIBLE] != 0.0 or c.path_waits[0] != 0.0:
        lead_clock(action == _ACTION_FOLLOW, stamp, is_written(taken, t.b.size, g), reference, c)
    count_tick(action, events, g.sent, t.sqrt_metric, c, unpack_counters(counters, t.theta.size))
    return action, events
