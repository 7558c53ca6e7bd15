"""Static friction and Stribeck's velocity of one joint, from its motion at low speed.

    τ = F_c sign(q̇) + F_v q̇ + J_r q̈ + (F_s − F_c) exp(−(q̇/v_s)²) sign(q̇)

is linear in all but v_s, which is looked for along a line: for each v_s the rest is least squares.
It shows only while a joint moves about as slowly as v_s and does not stick. Where the last term
makes the fit no better than noise does, or v_s could as well be another, the motion does not tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from projected_control.model.motion_record import CONFIDENCE, Estimate, low_pass

Array = NDArray[np.float64]

SLOWEST, FASTEST, CANDIDATES = 0.005, 0.5, 13
"""Velocities v_s among which it is sought [rad/s or m/s], and how many are tried at first."""

SLOWER = 0.2  # slowest motion that counts here, as a share of that of the linear fit
FEWEST = 40  # samples slower than `FASTEST` that it takes at least

LEAST_EXCESS = 0.1
"""Share of Coulomb friction that F_s − F_c must be of to be told: less is the filters' doing."""

LARGEST_DOUBT = 0.5  # bound of v_s, as a share of it, beyond which it could as well be another

ADVICE = "move this joint slowly, below 0.1 rad/s, to and fro"


class JointMotion(NamedTuple):
    """One joint of a motion."""

    velocity: Array  # at all N samples [rad/s or m/s]
    period: float  # from sample to sample [s]
    cutoff: float  # of the low-pass [Hz]
    kept: NDArray[np.int64]  # which samples are used, K
    moves: NDArray[np.bool_]  # in which of these the joint moves and does not stick, K
    effort: Array  # what friction and armature have to explain at these, filtered, K [N·m or N]
    # Regressors of ``coulomb``, ``viscous``, ``armature``, filtered, K each.
    parts: dict[str, Array]

    def curve(self, v_s: float) -> Array:
        """exp(−(q̇/v_s)²) sign(q̇), filtered as all else, at the samples in which it moves."""
        v = self.velocity
        column = np.exp(-((v / v_s) ** 2)) * np.sign(v)
        twice = low_pass(low_pass(column, self.cutoff, self.period), self.cutoff, self.period)
        return np.asarray(twice[self.kept][self.moves])


class StribeckFit(NamedTuple):
    """What was found of one joint."""

    # Of ``static`` and ``stribeck velocity``; not `excited` where it is not told.
    estimates: tuple[Estimate, Estimate]
    # Value and bound of the joint's other parameters with it, by kind; none where it is not
    # told.
    others: dict[str, tuple[float, float]]


def fit_stribeck(motion: JointMotion, joint: str) -> StribeckFit:
    """Static friction of a joint, or that its motion does not tell it."""
    kinds = list(motion.parts)
    B = np.stack([motion.parts[kind][motion.moves] for kind in kinds], axis=1)
    y = motion.effort[motion.moves]
    speed = np.abs(motion.velocity[motion.kept][motion.moves])
    if y.size < FEWEST + B.shape[1] or (speed < 0.1 * FASTEST).sum() < FEWEST:
        return _untold(joint, float(_solve(B, y)[0][0]) if y.size > B.shape[1] else 0.0)

    def left(log_v_s: float) -> float:
        return _solve(np.column_stack([B, motion.curve(np.exp(log_v_s))]), y)[1]

    grid = np.linspace(np.log(SLOWEST), np.log(FASTEST), CANDIDATES)
    best = int(np.argmin([left(x) for x in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, CANDIDATES - 1)]
    x = float(minimize_scalar(left, bounds=(low, high), method="bounded").x)
    curve = motion.curve(np.exp(x))
    values, rest = _solve(np.column_stack([B, curve]), y)
    slope = (motion.curve(np.exp(x + 1e-3)) - motion.curve(np.exp(x - 1e-3))) / 2e-3
    bounds, covariance = _bounds(np.column_stack([B, curve, values[-1] * slope]), rest)
    excess, coulomb = values[-1], values[kinds.index("coulomb")]
    told = (
        0 < best < CANDIDATES - 1
        and excess > max(bounds[-2], LEAST_EXCESS * abs(coulomb))
        and bounds[-1] < LARGEST_DOUBT
    )
    if not told:
        return _untold(joint, float(_solve(B, y)[0][0]))
    both = np.zeros(len(values) + 1)
    both[[kinds.index("coulomb"), -2]] = 1.0
    static_bound = CONFIDENCE * float(np.sqrt(both @ covariance @ both))
    share = float(
        np.sqrt(np.mean((excess * curve) ** 2)) / max(float(np.sqrt(np.mean(y**2))), 1e-9)
    )
    v_s = float(np.exp(x))
    return StribeckFit(
        (
            Estimate(
                f"static of {joint}",
                float(coulomb + excess),
                static_bound,
                1.0,
                share,
                "N·m or N",
                ADVICE,
            ),
            Estimate(
                f"stribeck velocity of {joint}",
                v_s,
                v_s * float(bounds[-1]),
                1.0,
                share,
                "rad/s or m/s",
                ADVICE,
            ),
        ),
        {kind: (float(values[j]), float(bounds[j])) for j, kind in enumerate(kinds)},
    )


def _untold(joint: str, coulomb: float) -> StribeckFit:
    """Static friction like Coulomb's, and no bound."""
    return StribeckFit(
        (
            Estimate(f"static of {joint}", coulomb, np.inf, np.inf, 0.0, "N·m or N", ADVICE),
            Estimate(
                f"stribeck velocity of {joint}", 0.0, np.inf, np.inf, 0.0, "rad/s or m/s", ADVICE
            ),
        ),
        {},
    )


def _solve(X: Array, y: Array) -> tuple[Array, float]:
    """The parameters that fit best, and the sum of squares that is left."""
    values: Array = np.asarray(np.linalg.lstsq(X, y, rcond=1e-10)[0], dtype=np.float64)
    return values, float(((y - X @ values) ** 2).sum())


def _bounds(X: Array, left: float) -> tuple[Array, Array]:
    """Bounds of 95 % of parameters with these derivatives, and their covariance."""
    covariance = np.linalg.pinv(X.T @ X) * left / max(len(X) - X.shape[1], 1)
    return CONFIDENCE * np.sqrt(np.diag(covariance)), covariance
