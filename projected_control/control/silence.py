"""What an acting side does when the deciding side has fallen silent.

A loop that runs without Python (in a controller manager) misses its heartbeat and calls
`answer_silence` before each tick. From then on nothing new is decided: the reference is braked to
rest, λ_d goes to zero, and in the end all motion is damped, by the same kernels as ever.

| answer | what happens |
|---|---|
| STOP | the reference comes to rest and λ_d to zero within the stopping time, then a damped stop |
| HOLD | the reference comes to rest within the stopping time and stays; λ_d stays |
| FINISH | what there is is followed to its end, then as STOP; without an end, STOP at once |

Silence is final: who comes back begins anew, from where the arm is then.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import Integers, Matrix, Numbers, compiled, kernel
from projected_control.control.path_clock import begin_clock, lag_at, slow_down
from projected_control.model.linalg import fill
from projected_control.model.motion_tables import COEFFICIENTS, evaluate_motion, unpack_motion
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SILENT = 4
"""In the tick's choices: 1 where the deciding side is silent and all motion is to be damped."""


class SilenceAnswer(IntEnum):
    """What is done in silence."""

    STOP = 0
    HOLD = 1
    FINISH = 2


class SilencePhase(IntEnum):
    """How far the answer to a silence has come."""

    NONE = 0
    """The deciding side is heard."""
    FINISHING = 1
    """What there is is followed to its end."""
    BRAKING = 2
    """The references come to rest."""
    OVER = 3
    """They are at rest."""


_STOP, _HOLD, _FINISH = (int(answer) for answer in SilenceAnswer)
_NONE, _FINISHING, _BRAKING, _OVER = (int(phase) for phase in SilencePhase)


class SilenceTerms(NamedTuple):
    """What is done in silence, and how far it has come; m constraint rows, k coordinates."""

    answer: Annotated[Array, Part("1", "`SilenceAnswer`.")]
    patience: Annotated[Array, Part("1", "Time without a heartbeat that counts as silence [s].")]
    seconds: Annotated[Array, Part("1", "Time in which the references come to rest [s].")]
    phase: Annotated[Array, Part("1", "`SilencePhase`.")]
    begun: Annotated[Array, Part("1", "Time at which braking began; NaN before [s].")]
    motion: Annotated[Array, Part("3, k", "θ_d, θ̇_d and θ̈_d at that time.")]
    force: Annotated[Array, Part("3, m", "λ_d and its derivatives at that time.")]


SILENCE = Layout(SilenceTerms, "m", "k")
_unpack = SILENCE.unpack


@kernel
def motion_end(table: Numbers) -> float:
    """From when on a table stands still [s]; minus infinity for one that never comes to rest."""
    size, pieces = int(table[0]), int(table[3])
    if pieces == 0:
        return -np.inf
    t = unpack_motion(table, size, int(table[1]), int(table[2]))
    last = pieces - 1
    moves = t.first_sine[last] != t.first_sine[last + 1]
    for i in range(size):
        for j in range(1, COEFFICIENTS):
            moves = moves or t.coefficients[last, i, j] != 0.0
    return -np.inf if moves else t.begin[last]


@compiled
def _begin_table(begin: float, seconds: float, start: Array, table: Array) -> None:
    """Three pieces: a place, what is filled in by others, and another place."""
    size = int(table[0])
    t = unpack_motion(table, size, int(table[1]), int(table[2]))
    table[3], table[4] = 3.0, 0.0
    t.begin[0], t.begin[1], t.begin[2] = -np.inf, begin, begin + seconds
    for p in range(4):
        t.first_sine[p] = 0.0
    for p in range(3):
        fill(t.origin[p], begin + seconds if p == 2 else begin)
        for i in range(size):
            for j in range(COEFFICIENTS):
                t.coefficients[p, i, j] = 0.0
            t.coefficients[p, i, 0] = start[0, i]


@kernel
def brake_table(begin: float, seconds: float, start: Matrix, table: Numbers) -> None:
    """A motion that comes to rest, its rate a cubic from where it is to zero, flat at the end.

    θ̇(τ) = v + a τ − (3v + 2aT) τ²/T² + (2v + aT) τ³/T³

    Args:
        begin: When [s].
        seconds: T, in which it does [s].
        start: Value, rate v and acceleration a at that time, 3 × size.
        table: Result, an array of `MotionTerms` with room for three pieces.
    """
    _begin_table(begin, seconds, start, table)
    t, T = unpack_motion(table, int(table[0]), int(table[1]), int(table[2])), seconds
    for i in range(start.shape[1]):
        v, a = start[1, i], start[2, i]
        c = t.coefficients[1, i]
        c[1], c[2] = v, 0.5 * a
        c[3], c[4] = -(3.0 * v + 2.0 * a * T) / (3.0 * T**2), (2.0 * v + a * T) / (4.0 * T**3)
        t.coefficients[2, i, 0] = start[0, i] + T * v / 2.0 + T**2 * a / 12.0


@kernel
def fade_table(begin: float, seconds: float, start: Matrix, table: Numbers) -> None:
    """What goes to zero, as a polynomial of the fifth degree that is flat at its end.

    Args:
        begin: When [s].
        seconds: T, in which it does [s].
        start: Value, rate and acceleration at that time, 3 × size.
        table: Result, an array of `MotionTerms` with room for three pieces.
    """
    _begin_table(begin, seconds, start, table)
    t, T = unpack_motion(table, int(table[0]), int(table[1]), int(table[2])), seconds
    for i in range(start.shape[1]):
        x, v, a = start[0, i], start[1, i] * T, start[2, i] * T**2
        c = t.coefficients[1, i]
        c[1], c[2] = v / T, 0.5 * a / T**2
        c[3] = (-20.0 * x - 12.0 * v - 3.0 * a) / (2.0 * T**3)
        c[4] = (30.0 * x + 16.0 * v + 3.0 * a) / (2.0 * T**4)
        c[5] = (-12.0 * x - 6.0 * v - a) / (2.0 * T**5)
        t.coefficients[2, i, 0] = 0.0


@kernel
def answer_silence(
    silent: int,
    stamp: float,
    sizes: Integers,
    choices: Integers,
    control_work: Numbers,
    reference: Numbers,
    force_reference: Numbers,
    silence: Numbers,
) -> int:
    """Before each tick: lead the references to rest where the deciding side has fallen silent.

    Args:
        silent: 1 where no heartbeat came for longer than `SilenceTerms.patience`, else 0.
        stamp: Time of the state that is answered next [s].
        sizes, choices, control_work, reference, force_reference: See `TickArguments`; the path's
            clock, with which the workspace begins, and the tables change.
        silence: An array of `SilenceTerms`.

    Returns:
        The `SilencePhase`.
    """
    s = _unpack(silence, sizes[1], sizes[2])
    phase, answer, seconds = int(s.phase[0]), int(s.answer[0]), s.seconds[0]
    if phase == _NONE and silent == 0:
        return _NONE
    if phase < _BRAKING:
        when = stamp - lag_at(stamp, control_work)
        if answer == _FINISH and when < motion_end(reference):
            s.phase[0] = _FINISHING
            return _FINISHING
        evaluate_motion(when, reference, s.motion)
        slow_down(control_work, s.motion)
        begin_clock(control_work)
        brake_table(stamp, seconds, s.motion, reference)
        if answer != _HOLD and force_reference[3] > 0.0:
            evaluate_motion(stamp, force_reference, s.force)
            fade_table(stamp, seconds, s.force, force_reference)
        s.phase[0], s.begun[0] = _BRAKING, stamp
        return _BRAKING
    if phase == _BRAKING and stamp >= s.begun[0] + seconds:
        s.phase[0] = _OVER
        if answer != _HOLD:
            choices[SILENT] = 1
    return int(s.phase[0])


def silence_array(m: int, k: int, answer: SilenceAnswer, patience: float, seconds: float) -> Array:
    """An array of `SilenceTerms` for a loop of m constraint rows and k coordinates.

    Args:
        m, k: Constraint rows and coordinates.
        answer: What is done.
        patience: Time without a heartbeat that counts as silence [s].
        seconds: Time in which the references come to rest [s].
    """
    array = SILENCE.new(m=m, k=k)
    terms = SILENCE.view(array, m=m, k=k)
    terms.answer[0], terms.begun[0] = answer, np.nan
    terms.patience[0] = validate.positive("silence time", patience)
    terms.seconds[0] = validate.positive("stop time", seconds)
    return array
