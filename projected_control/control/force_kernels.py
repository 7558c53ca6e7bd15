"""The sources of λ as kernels: sensor, model, momentum (see `force_source`)."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Matrix, Numbers, compiled, kernel
from projected_control.control.wrench_map import WRENCH, bend_directions, unpack_wrench, update_map
from projected_control.model.constrained_arm import Terms
from projected_control.model.kinematics import add, cross, rotate, turn, vector
from projected_control.model.linalg import copy, fill, matvec, matvec_add
from projected_control.model.on_constraint import find_acceleration, free_part, multipliers_of
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class SourceKind(IntEnum):
    """Where λ comes from."""

    NONE = 0
    SENSOR = 1
    MODEL = 2
    MOMENTUM = 3


SENSOR_NUMBERS = 20
"""Axes, offset, tool and joint of a force sensor; the tare of n efforts follows, see
`SourceTerms.sensor`."""

COMPARE_EVERY, COMPARED_WRONG, COMPARED_FAR_OFF = 20.0, 10.0, 2.0
"""The measured λ is compared with the model's at one tick in twenty; ten failures in a row are
reported, and two in a row by the larger bound stop the arm."""

SIGN_EVERY = 2.0
"""The sign of the measured λ is looked at in one tick of two, until it is known."""

SIGN_SECONDS = 0.02
"""For how long the measured λ must have a sign to be believed or not [s]; twice the delay of the
loop comes on top."""

SIGN_LOOKS = 5.0
"""How often it must have been looked at in this time, at least: slow loops take longer."""

SIGN_AGE = 0.005
"""How old a wrench may be that is looked at [s]; two periods where these are longer."""

SIGN_SHARE = 0.5
"""How large the model's λ must be for that, over `Limits.force_difference`."""

SIGN_RATIO = 3.0
"""By which factor the two may differ in size."""

SIGN_RIGHT, SIGN_REVERSED = 1.0, 2.0
"""What is known of the sign."""

SOURCES = tuple(kind.name.lower() for kind in SourceKind if kind)
"""What ``force.source`` may be."""

_SENSOR, _MODEL, _MOMENTUM = int(SourceKind.SENSOR), int(SourceKind.MODEL), int(SourceKind.MOMENTUM)


class SourceTerms(NamedTuple):
    """What the source of λ knows and remembers: n joints, m constraint rows."""

    decay: Annotated[Array, Part("2", "exp(−K T) of the momentum observer, and 1/T [1/s].")]
    started: Annotated[Array, Part("1", "1 once the last tick is known, else 0.")]
    axes: Annotated[Array, Part("3, 3", "Rotation of the sensor's axes in its joint's.")]
    offset: Annotated[Array, Part("6", "The sensor's own bias, in its axes [N, N·m].")]
    tool: Annotated[Array, Part("4", "Mass beyond the sensor and its place there [kg, m].")]
    joint: Annotated[Array, Part("1", "Which joint carries the sensor; 0 for the world's axes.")]
    effort_tare: Annotated[
        Array, Part("n", "F that model and momentum show without contact [N·m or N].")
    ]
    sensor: Annotated[Array, Part(f"{SENSOR_NUMBERS} + n", "The five above.", at="axes")]
    sign: Annotated[Array, Part("1", "1 or −1, by which what is measured is multiplied.")]
    gravity: Annotated[Array, Part("3", "Acceleration of gravity [m/s²].")]
    wrench: Annotated[Array, Part("6", "What is measured, in world axes [N, N·m].")]
    compared: Annotated[Array, Part("2", "Ticks to the next comparison; those that failed.")]
    far_off: Annotated[Array, Part("1", "Comparisons running that failed by the larger bound.")]
    sign_seen: Annotated[Array, Part("1", "0 not yet, 1 right, 2 reversed; see `watch_sign`.")]
    sign_look: Annotated[Array, Part("1", "Ticks to the next look at the sign.")]
    apart: Annotated[Array, Part("1", "1 where measured λ has the other sign now, else 0.")]
    sign_for: Annotated[
        Array, Part("m", "For how long λ has had the model's sign, or −, the other one [s].")
    ]
    expected: Annotated[Array, Part("m", "λ as the model has it [N or N·m].")]
    to_lambda: Annotated[Array, Part("m, 6", "W⁺.")]
    varies: Annotated[Array, Part("1", "1 where W⁺ follows from the configuration, else 0.")]
    directions: Annotated[Array, Part(WRENCH.length, "How, see `WrenchTerms`.")]
    flow: Annotated[Array, Part("n", "Cᵀq̇ − g at this tick [N·m or N].")]
    estimate: Annotated[Array, Part("n", "r of the momentum observer [N·m or N], for taring.")]
    filtered: Annotated[Array, Part("m", "λ of the momentum observer [N or N·m].")]
    innovation: Annotated[
        Array, Part("n", "What changed the momentum besides effort, model and known friction.")
    ]
    disturbance_decay: Annotated[Array, Part("1", "exp(−K T) of the disturbance observer.")]
    disturbance: Annotated[Array, Part("n", "r of the disturbance observer [N·m or N].")]
    momentum: Annotated[Array, Part("n", "p at this tick.")]
    last_momentum: Annotated[Array, Part("n", "p at the last tick.")]
    last_flow: Annotated[Array, Part("n", "Cᵀq̇ − g at the last tick [N·m or N].")]
    net: Annotated[Array, Part("n", "f − h, then f − h − M q̈.")]
    tangent: Annotated[Array, Part("n", "P (f − h).")]
    acceleration: Annotated[Array, Part("n", "q̈ under the effort in force.")]


SOURCE = Layout(SourceTerms, "n", "m")
unpack_source = SOURCE.unpack


@compiled
def force_from_sensor(wrench: Array, placements: Array, s: SourceTerms, force: Array) -> None:
    """λ = W⁺ w, with w the measured wrench in world axes."""
    joint = placements[int(s.joint[0])]
    for half in (0, 3):  # the force, then the moment
        measured = add(vector(wrench, half), vector(s.offset, half), -1.0)
        in_world = turn(joint, rotate(s.axes, measured))
        for i in range(3):
            s.wrench[half + i] = s.sign[0] * in_world[i]
    if s.tool[0] != 0.0:
        take_tool_away(joint, s)
    if s.varies[0] != 0.0:
        update_map(placements, unpack_wrench(s.directions, force.size), s.to_lambda)
    matvec(s.to_lambda, s.wrench, force)


@kernel
def follow_bends(placements: Matrix, functions: Numbers, s: SourceTerms) -> None:
    """Rows on curved surfaces get the directions that they have here; before `find_force`.

    Args:
        placements: Where the joints are (see `Arm.placements`).
        functions: The model's table of functions.
        s: What the source knows.
    """
    if s.varies[0] != 0.0:
        bend_directions(placements, functions, unpack_wrench(s.directions, s.expected.size))


@compiled
def take_tool_away(joint: Array, s: SourceTerms) -> None:
    """w ← w + (m g, (R c) × m g): what carries the tool's weight does not reach the constraint."""
    weight = add((0.0, 0.0, 0.0), vector(s.gravity, 0), s.tool[0])
    arm = turn(joint, rotate(s.axes, vector(s.tool, 1)))
    moment = cross(arm, weight)
    for i in range(3):
        s.wrench[i] += weight[i]
        s.wrench[3 + i] += moment[i]


@compiled
def sensor_disagrees(
    measured: Array, sent: Array, known: Array, bound: float, stop: float, t: Terms, s: SourceTerms
) -> int:
    """Whether the measured λ has been away from the model's for a while, under our effort.

    At rest under brakes λ is not determined, so that without an effort nothing is compared. One
    tick in `COMPARE_EVERY` is looked at: a wrong sensor stays wrong.

    Returns:
        1 where it differs by more than the bound, plus 2 where it does by more than stop [N].
    """
    s.compared[0] -= 1.0
    if s.compared[0] <= 0.0:
        s.compared[0] = COMPARE_EVERY
        if not any_effort(sent):
            s.compared[1] = s.far_off[0] = 0.0
            return 0
        force_from_model(sent, known, t, s, s.expected)
        wrong, far = False, False
        for j in range(measured.size):
            away = abs(measured[j] - s.expected[j])
            wrong, far = wrong or away > bound, far or away > stop
        s.compared[1] = min(s.compared[1] + 1.0, COMPARED_WRONG) if wrong else 0.0
        s.far_off[0] = min(s.far_off[0] + 1.0, COMPARED_FAR_OFF) if far else 0.0
    differs = 1 if s.compared[1] >= COMPARED_WRONG else 0
    return differs + 2 if s.far_off[0] >= COMPARED_FAR_OFF else differs


@compiled
def any_effort(sent: Array) -> bool:
    """Whether any joint is driven."""
    acts = False
    for i in range(sent.size):
        acts = acts or sent[i] != 0.0
    return acts


@compiled
def watch_sign(
    measured: Array,
    sent: Array,
    known: Array,
    controlled: Array,
    least: float,
    age: float,
    period: float,
    delay: float,
    t: Terms,
    s: SourceTerms,
) -> bool:
    """Find out whether the measured λ has the sign of the model's; `sign_seen` is the result.

    A wrench with the wrong sign falls where the model's λ rises, and the force loop then pushes
    with all it has. So the first time that there is a force to speak of, the measured one has to be
    of the model's sign, and of about its size, for `SIGN_SECONDS`.

    Args:
        measured: λ as measured, m.
        sent, known: The effort in force and friction that is known to act against it, n.
        controlled: 1 for each row whose force is controlled, m.
        least: How large the model's λ must be [N or N·m].
        age: Of the wrench [s]; an old one tells nothing.
        period: Of the loop [s].
        delay: From an effort to its effect in what is measured [samples].
        t: The model.
        s: What the source knows and remembers.

    Returns:
        Whether the signs differ now: the force loop is to wait until it is known why.
    """
    if s.sign_seen[0] != 0.0:
        return False
    s.sign_look[0] -= 1.0
    if s.sign_look[0] > 0.0 or not any_effort(sent):
        return s.apart[0] != 0.0
    s.sign_look[0], s.apart[0] = SIGN_EVERY, 0.0
    felt = False
    for j in range(measured.size):
        felt = felt or (controlled[j] != 0.0 and abs(measured[j]) * SIGN_RATIO > least)
    if not felt or not age <= max(SIGN_AGE, 2.0 * period):
        fill(s.sign_for, 0.0)
        return False
    force_from_model(sent, known, t, s, s.expected)
    step = SIGN_EVERY * period
    enough = max(SIGN_SECONDS, SIGN_LOOKS * step) + 2.0 * delay * period
    for j in range(measured.size):
        size, shown = abs(s.expected[j]), abs(measured[j])
        alike = shown * SIGN_RATIO > size and shown < size * SIGN_RATIO
        if controlled[j] == 0.0 or not alike or size < least:  # NaN is not alike
            s.sign_for[j] = 0.0
        elif s.expected[j] * measured[j] > 0.0:
            s.sign_for[j] = max(s.sign_for[j], 0.0) + step
        else:
            s.sign_for[j] = min(s.sign_for[j], 0.0) - step
            s.apart[0] = 1.0
        if abs(s.sign_for[j]) >= enough:
            s.sign_seen[0] = SIGN_RIGHT if s.sign_for[j] > 0.0 else SIGN_REVERSED
    return s.apart[0] != 0.0


@compiled
def force_from_model(sent: Array, known: Array, t: Terms, s: SourceTerms, force: Array) -> None:
    """λ = A⁺ᵀ (f − τ − h − M q̈ − F₀), with q̈ what effort and known friction τ give; F₀ is tared.

    F = (I − P)(f − h − M q̈), and A⁺ᵀ (I − P) = A⁺ᵀ, as the columns of A⁺ are in R(Aᵀ).
    """
    for i in range(sent.size):
        s.net[i] = (sent[i] - known[i]) / t.sqrt_metric[i] - t.h[i]
    free_part(t, s.net, s.tangent)
    find_acceleration(t, s.tangent, t.b, s.acceleration)
    matvec_add(t.M, s.acceleration, s.net, -1.0)
    for i in range(sent.size):
        s.net[i] -= s.effort_tare[i] / t.sqrt_metric[i]
    multipliers_of(t, s.net, force)


@compiled
def find_flow(v: Array, h: Array, C: Array, flow: Array) -> None:
    """flow = Cᵀq̇ − g, with g = h − C q̇, in joint units."""
    n = v.size
    for i in range(n):
        by_columns = by_rows = 0.0
        for j in range(n):
            by_columns += C[j, i] * v[j]
            by_rows += C[i, j] * v[j]
        flow[i] = by_columns - (h[i] - by_rows)


@compiled
def follow_momentum(sent: Array, known: Array, t: Terms, s: SourceTerms) -> int:
    """innovation = ṗ − f − (Cᵀq̇ − g) + τ, with τ the known friction.

    After a state that is not finite it goes on from the next good one.

    Returns:
        0 where the state is not finite, 1 at the first good one, 2 where there is an innovation.
    """
    n, rate = t.h.size, s.decay[1]
    good, known_before = True, s.started[0] != 0.0
    matvec(t.M, t.v, s.momentum)
    for i in range(n):
        s.momentum[i] *= t.sqrt_metric[i]
        good = good and np.isfinite(s.momentum[i] + s.flow[i])
    for i in range(n):
        change = (s.momentum[i] - s.last_momentum[i]) * rate
        expected = sent[i] + 0.5 * (s.flow[i] + s.last_flow[i])
        s.innovation[i] = (change - expected) + known[i]
    copy(s.momentum, s.last_momentum)
    copy(s.flow, s.last_flow)
    s.started[0] = 1.0 if good else 0.0
    return (2 if known_before else 1) if good else 0


@kernel
def force_from_momentum(known: int, t: Terms, s: SourceTerms, force: Numbers) -> None:
    """λ ← α λ + (1 − α) A⁺ᵀ (−innovation − F₀): what changed the momentum, less what was tared.

    λ is filtered, and not the efforts: R(Aᵀ) turns as the arm moves, so that filtered efforts keep
    shares of where it was.

    Args:
        known: What `follow_momentum` said.
        t: The model.
        s: What the source knows and remembers.
        force: Result, m.
    """
    decay = s.decay[0]
    if known == 2:
        for i in range(t.h.size):
            s.estimate[i] = decay * s.estimate[i] + (1.0 - decay) * s.innovation[i]
            s.net[i] = (-s.innovation[i] - s.effort_tare[i]) / t.sqrt_metric[i]
        multipliers_of(t, s.net, force)
        for j in range(force.size):
            if np.isfinite(force[j]):
                s.filtered[j] = decay * s.filtered[j] + (1.0 - decay) * force[j]
    for j in range(force.size):
        force[j] = s.filtered[j] if known else np.nan


@compiled
def observe_disturbance(waits: bool, known: int, s: SourceTerms, disturbance: Array) -> None:
    """disturbance ← r of the disturbance observer, which stays as it is where it waits."""
    decay = s.disturbance_decay[0]
    for i in range(disturbance.size):
        if known == 2 and not waits:
            s.disturbance[i] = decay * s.disturbance[i] + (1.0 - decay) * s.innovation[i]
        disturbance[i] = s.disturbance[i]


@kernel
def find_force(
    kind: int,
    wrench: Numbers,
    v: Numbers,
    h: Numbers,
    placements: Matrix,
    coriolis: Columns,
    sent: Numbers,
    known: Numbers,
    observes: bool,
    t: Terms,
    s: SourceTerms,
    force: Numbers,
) -> int:
    """Fill λ at an evaluated model; NaN where it is unknown.

    Args:
        kind: A `SourceKind`.
        wrench: The measured wrench, 6.
        v, h: Joint velocities and the arm's h, in joint units, n.
        placements: Where the joints are (see `Arm.placements`).
        coriolis: C with C q̇ + g = h, n × n; read for the momentum alone.
        sent: The effort in force, n.
        known: Friction that is known to act against it, n [N·m or N].
        observes: Whether the momentum is followed whatever the kind.
        t: The model.
        s: What the source knows and remembers.
        force: Result, m.

    Returns:
        What `follow_momentum` said, zero where the momentum is not followed.
    """
    followed = 0
    if observes or kind == _MOMENTUM:
        find_flow(v, h, coriolis, s.flow)
        followed = follow_momentum(sent, known, t, s)
    if kind == _SENSOR:
        force_from_sensor(wrench, placements, s, force)
    elif kind == _MODEL:
        force_from_model(sent, known, t, s, force)
    elif kind == _MOMENTUM:
        force_from_momentum(followed, t, s, force)
    else:
        fill(force, np.nan)
    return followed
