"""Back to a reference that has gone on while the arm was stopped, held or without effort.

What is followed is led from where the arm is, braked as in a stop, over to the reference:

    θ_f(τ) = θ_s(τ) + s(τ/T) (θ_d − θ_s),    s(x) = 10 x³ − 15 x⁴ + 6 x⁵,
    θ_s(τ) = θ₀ + θ̇₀ (1 − e^(−dτ))/d,       θ₀, θ̇₀ where following begins again, d of the stop,

so it is always between the place where the arm was stopped and the reference, and begins with the
acceleration that the stop asked for. T is as long as following was interrupted, and longer where
errors e₀ and ė₀ ask for it:

    1.875 |e₀|/T ≤ `RETURN_RATE`,    5.78 |e₀|/T² + 4.7 |ė₀|/T ≤ `RETURN_ACCELERATION`.

An interruption below `SHORT` is none: what the reference has gone on in it is small, and an effort
that carries something must not fall away because of one bad state.

The factors are the extremes of ṡ, of s̈ and of x s̈ + 2 ṡ: the largest speed on the way is at most
`RETURN_RATE` and 1.78 times the fastest of the reference meanwhile. A posture is faded in by s.

In a stop the arm carries itself at λ = 0. Afterwards the share 1 − w of λ_d and of the integral is
asked for, which grows from nothing with ``force.max_rate``:

    u_λ = (1 − w) (λ_d + G_I ∫ e_λ dt) + G_F e_λ,    e_λ = (1 − w) λ_d − λ,
    w ← w − r T / max |λ_d + G_I ∫ e_λ dt|,          r the largest rate.

An effort that was held has held λ too: after that nothing is led back.
"""

from __future__ import annotations

import numpy as np

from projected_control.compiled import compiled
from projected_control.control.events import ANSWER_FOLLOW, ANSWER_HOLD, ANSWER_ZERO
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import copy, fill
from projected_control.model.rotations import subtract

RETURN_RATE = 0.25
"""With which an error after a stop is made up for, the reference at rest [m/s or rad/s]: what ISO
10218-1 calls reduced speed."""

RETURN_ACCELERATION = 1.0
"""Largest acceleration for that [m/s² or rad/s²]."""

SHORT = 0.1
"""Interruption after which following goes on as if there had been none [s]: a few bad states, a
crossing at which control is lost, a start against friction that is tried again."""

_RATE, _ACCELERATION, _TURN = 1.875, 5.78, 4.7
"""Largest of ṡ, of |s̈| and of |x s̈ + 2 ṡ|, by x."""


@compiled
def note_following(action: int, c: ControlTerms) -> None:
    """After a tick: for how long the reference has not been followed.

    An arm that was let go is not held where an earlier stop has held it.
    """
    if action == ANSWER_FOLLOW:
        c.interrupted[0] = 0.0
        return
    if c.rejoin[1] > 0.0:  # on the way back: that begins anew, however short this is
        c.interrupted[0] = max(c.interrupted[0], SHORT)
        fill(c.rejoin, 0.0)
    c.interrupted[0] += c.period[0]
    if action != ANSWER_HOLD and (c.interrupted[0] > SHORT or c.withheld[0] > 0.0):
        c.withheld[0] = 1.0
    if action == ANSWER_ZERO:
        c.stop_for[0] = 0.0


@compiled
def lead_back(t: Terms, c: ControlTerms) -> None:
    """Before the law of a tick that follows, with the errors known: begin, go on or end."""
    if c.interrupted[0] > SHORT:
        seconds = c.interrupted[0]
        for i in range(t.theta.size):
            away, rate = abs(c.error[0, i]), abs(c.error[1, i])
            seconds = max(seconds, _RATE * away / RETURN_RATE)
            seconds = max(seconds, np.sqrt(2.0 * _ACCELERATION * away / RETURN_ACCELERATION))
            seconds = max(seconds, 2.0 * _TURN * rate / RETURN_ACCELERATION)
        c.rejoin[0], c.rejoin[1], c.rejoin[2] = 0.0, seconds, 1.0
        copy(t.theta, c.left[0])
        copy(t.theta_rate, c.left[1])
    elif c.rejoin[1] > 0.0:
        c.rejoin[0] += c.period[0]
        x = c.rejoin[0] / c.rejoin[1]
        if x < 1.0:
            c.rejoin[2] = 1.0 - x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
        else:
            fill(c.rejoin, 0.0)


@compiled
def lead_force_back(c: ControlTerms) -> None:
    """Before the law of a tick that follows: the share of λ_d that is not back yet becomes less."""
    if c.withheld[0] == 0.0 or c.interrupted[0] > 0.0:
        return
    largest, integral = 0.0, c.force_state[1]
    for j in range(integral.size):
        largest = max(largest, c.controlled[j] * abs(c.lambda_desired[j] + integral[j]))
    within = c.force_rate[0] < c.withheld[0] * largest and c.force_rate[0] > 0.0
    c.withheld[0] = c.withheld[0] - c.force_rate[0] / largest if within else 0.0


@compiled
def followed_error(d: float, t: Terms, c: ControlTerms) -> None:
    """e, ė and θ̈ of what is followed in place of the reference; after `tracking_error`.

    Args:
        d: Damping of a stop [1/s].
        t: The evaluated model.
        c: With the errors of the reference, which are replaced. The vector a is overwritten.
    """
    if c.rejoin[1] == 0.0:
        return
    T, x = c.rejoin[1], c.rejoin[0] / c.rejoin[1]
    s, s_1, s_2 = (
        1.0 - c.rejoin[2],
        30.0 * x * x * (1.0 - x) * (1.0 - x) / T,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / (T * T),
    )
    decay = np.exp(-d * c.rejoin[0])
    subtract(c.left[0], t.theta, c.topology, c.a)
    for i in range(t.theta.size):
        v = c.left[1, i]
        e, rate, acceleration = c.a[i] + v * (1.0 - decay) / d, v * decay, -d * v * decay
        rate -= t.theta_rate[i]
        apart, apart_rate = c.error[0, i] - e, c.error[1, i] - rate
        c.feedforward[i] = acceleration + s * (c.feedforward[i] - acceleration)
        c.feedforward[i] += 2.0 * s_1 * apart_rate + s_2 * apart
        c.error[0, i] = e + s * apart
        c.error[1, i] = rate + s * apart_rate + s_1 * apart
