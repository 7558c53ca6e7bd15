"""Friction, payload and rotor inertia from a recorded motion, by linear least squares.

The effort of the motors is linear in what is not known,

    f = M q̈ + h + Y_L(q, q̇, q̈) π_L + J_r q̈ + F_v q̇ + F_c sign(q̇) + Aᵀλ,

with Y_L Pinocchio's regressor of the body that carries the payload, π_L = (m, m c, …) that of the
payload, J_r the rotors' inertia. On a constraint both sides are multiplied by P, which takes Aᵀλ
away. Positions come in an encoder's steps: they pass a low-pass without phase before they are
differentiated, as does the effort, and all pass it once more afterwards: nothing is late or sharper
than the rest.
A payload is a point: its moments of inertia follow from mass and centre, so that they are worked
out from the last estimate and the fit is made again, a few times.

Static friction and Stribeck's velocity, in which the efforts are not linear, are sought afterwards,
joint by joint (see `stribeck`).

Each parameter comes with a bound of 95 % confidence, and with how well the motion tells it from the
others: its inflation, the factor by which the others widen its bound. Samples are thinned to twice
the cut-off, beyond which filtered noise repeats itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.motion_record import (
    CONFIDENCE,
    Estimate,
    Identification,
    MotionRecord,
    low_pass,
)
from projected_control.model.stribeck import SLOWER, JointMotion, fit_stribeck

Array = NDArray[np.float64]

__all__ = ["Estimate", "Identification", "MotionRecord", "identify", "low_pass"]

ALL_MOVES = 0.98  # share of the filter's reach in which a joint must move for its equation to count

ROUNDS = 60
"""Fits at most, until mass and first moments of the payload change by less than `SETTLED`."""

SETTLED = 1e-5
EDGE_SECONDS = 0.3  # what is left out at both ends, where filters begin and end [s]


def identify(
    model: ConstrainedArm,
    record: MotionRecord,
    *,
    payload_link: str = "",
    armature: bool = True,
    cutoff: float = 20.0,
    slowest: float = 0.03,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Identification:
    """Friction of all joints, their armature and a payload, from a recorded motion.

    Args:
        model: The arm as it is known, without payload; and what held it during the motion.
        record: The motion.
        payload_link: Link that carries something; empty for nothing.
        armature: Whether the rotors' inertia is sought, on top of the model's.
        cutoff: Of the low-pass [Hz]: above the motion's own frequencies.
        slowest: Joint velocity below which a joint's equation is left out [rad/s or m/s].
        progress: Told which fraction is done.
    """
    arm = model.arm
    if record.q.shape[1] != arm.n:
        raise InvalidValue(f"the record has {record.q.shape[1]} joints, the arm {arm.n}")
    T = record.period
    if not 0.0 < cutoff < 0.4 / T:
        raise InvalidValue(f"the cut-off must be between 0 and {0.4 / T:g} Hz, got {cutoff:g}")
    equations = _Equations(model, record, payload_link, armature, cutoff, slowest, progress)
    return equations.solve()


class _Equations:
    """The regression, for one record."""

    def __init__(
        self,
        model: ConstrainedArm,
        record: MotionRecord,
        payload_link: str,
        armature: bool,
        cutoff: float,
        slowest: float,
        progress: Callable[[float], None],
    ) -> None:
        self.model, self.arm, self.link, self.armature = model, model.arm, payload_link, armature
        self.place = model.arm.attachment(payload_link) if payload_link else None
        if self.place is not None and self.place.joint == 0:
            raise InvalidValue(f"{payload_link} does not move, and nothing is felt of its payload")
        T, n = record.period, model.arm.n
        self.period, self.cutoff = T, cutoff
        self.q = low_pass(record.q, cutoff, T)
        self.v = np.gradient(self.q, T, axis=0)
        self.a = np.gradient(self.v, T, axis=0)
        acting = np.roll(record.effort, record.delay, axis=0)
        effort = 0.5 * (acting + np.roll(acting, 1, axis=0))  # held from one sample to the next
        known, moved, projector = self._walk(progress)
        thin = max(round(0.5 / (cutoff * T)), 1)
        edge = round(EDGE_SECONDS / T) + record.delay + 1
        kept = np.arange(edge, len(record.time) - edge, thin)
        self.time, self.P, self.kept = record.time[kept], projector[kept], kept
        effort = low_pass(effort, cutoff, T)  # once as positions are, and once more with all else
        self.y = low_pass(effort - known, cutoff, T)[kept]
        self.effort = low_pass(effort, cutoff, T)[kept]
        self.parts = {
            "coulomb": low_pass(low_pass(np.sign(self.v), cutoff, T), cutoff, T)[kept],
            "viscous": low_pass(self.v, cutoff, T)[kept],
        }
        if armature:
            self.parts["armature"] = low_pass(self.a, cutoff, T)[kept]
        self.body = low_pass(moved.reshape(len(record.time), -1), cutoff, T)[kept]
        self.body = self.body.reshape(len(kept), n, -1)
        # A joint that hardly moves sticks now and then, under a friction that is not Coulomb's; the
        # low-pass carries that to what is before and after.
        self.moves = self._faster_than(slowest)
        self.creeps = self._faster_than(SLOWER * slowest)

    def _faster_than(self, speed: float) -> NDArray[np.bool_]:
        """Which joints move so fast all over the filter's reach, samples × n."""
        moves = low_pass((np.abs(self.v) > speed).astype(np.float64), self.cutoff, self.period)
        return np.asarray(low_pass(moves, self.cutoff, self.period)[self.kept] > ALL_MOVES)

    def _walk(self, progress: Callable[[float], None]) -> tuple[Array, Array, Array]:
        """M q̈ + h, the payload's regressor and P at every sample."""
        samples, n = self.q.shape
        pin, data = self.arm.pinocchio_model, self.arm.pinocchio_model.createData()
        known, moved = np.empty((samples, n)), np.zeros((samples, n, 10 if self.place else 0))
        projector = np.empty((samples, n, n))
        held = self.model.m > 0
        projector[:] = np.eye(n)
        for k in range(samples):
            q, v, a = self.q[k], self.v[k], self.a[k]
            known[k] = pinocchio.rnea(pin, data, q, v, a)
            if self.place is not None:
                Y = pinocchio.computeJointTorqueRegressor(pin, data, q, v, a)
                begin = 10 * (self.place.joint - 1)
                moved[k] = Y[:, begin : begin + 10]
            if held:
                projector[k] = self.model.evaluate(q, v).P
            if k % 1000 == 0:
                progress(k / samples)
        progress(1.0)
        return known, moved, projector

    def _columns(self) -> tuple[list[str], list[str], Array]:
        """Names, units and columns, samples × n × parameters, before P."""
        names, units, columns = [], [], []
        n = self.arm.n
        kinds = {"coulomb": "N·m or N", "viscous": "N·m·s/rad or N·s/m", "armature": "kg·m² or kg"}
        for kind, values in self.parts.items():
            for i, joint in enumerate(self.arm.joint_names):
                column = np.zeros((len(values), n))
                column[:, i] = values[:, i]
                names.append(f"{kind} of {joint}")
                units.append(kinds[kind])
                columns.append(column)
        if self.place is not None:
            for j, name in enumerate(
                ("mass", "first moment x", "first moment y", "first moment z")
            ):
                names.append(f"payload {name}")
                units.append("kg" if j == 0 else "kg·m")
                columns.append(self.body[:, :, j])
        return names, units, np.stack(columns, axis=2)

    def _point_inertia(self, load: Array) -> Array:
        """Effort of the moments of inertia of a point of mass m at c, about the joint's origin."""
        m, c = load[0], load[1:] / load[0] if load[0] > 1e-6 else np.zeros(3)
        inertia = m * (c @ c * np.eye(3) - np.outer(c, c))
        numbers = inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]  # Pinocchio's order
        return np.asarray(self.body[:, :, 4:] @ numbers)

    def solve(self) -> Identification:
        names, units, columns = self._columns()
        samples, n, count = columns.shape
        X = np.einsum("kij,kjp->kip", self.P, columns)
        # Along the constraint an equation mixes joints: it counts where all of them move.
        held = self.model.m > 0
        rows = (
            np.broadcast_to(np.all(self.moves, axis=1, keepdims=True), (samples, n))
            if held
            else self.moves
        )
        if rows.sum() < 10 * count:
            raise InvalidValue(
                f"only {int(rows.sum())} of {samples * n} equations are of joints that move, for "
                f"{count} parameters: move for longer, or all joints at once"
            )
        load, sigma = np.zeros(4), np.ones(n)
        for turn in range(ROUNDS):
            y = self.y if self.place is None else self.y - self._point_inertia(load)
            target = np.einsum("kij,kj->ki", self.P, y)
            weights = (1.0 / sigma)[None, :] * rows
            W = (weights[:, :, None] * X).reshape(-1, count)
            scale = np.linalg.norm(W, axis=0)
            scale[scale == 0.0] = 1.0
            solution = np.linalg.lstsq(W / scale, (weights * target).reshape(-1), rcond=1e-12)[0]
            values = solution / scale
            missing = (target - X @ values) * rows
            sigma = np.sqrt((missing**2).sum(axis=0) / np.maximum(rows.sum(axis=0), 1))
            sigma = np.maximum(sigma, 1e-9)
            before = load
            load = values[-4:].copy() if self.place is not None else load
            if turn > 1 and np.abs(load - before).max() <= SETTLED * np.abs(load).max():
                break
        return self._result(names, units, W / scale, scale, values, X, target, rows, sigma)

    def _result(
        self,
        names: list[str],
        units: list[str],
        W: Array,
        scale: Array,
        values: Array,
        X: Array,
        target: Array,
        rows: NDArray[np.bool_],
        sigma: Array,
    ) -> Identification:
        """Bounds, inflations, shares; and measured against predicted efforts."""
        count = len(names)
        S, Vt = np.linalg.svd(W, full_matrices=False)[1:]
        inverse = np.where(1e-10 * S[0] < S, 1.0 / np.maximum(S, 1e-300), np.inf)
        with np.errstate(invalid="ignore"):
            spread = np.where(Vt != 0.0, (Vt * inverse[:, None]) ** 2, 0.0).sum(axis=0)
        inflation = np.sqrt(spread)  # of columns of length one: one where nothing is alike
        freedom = max(int(rows.sum()) - count, 1)
        left = ((target - X @ values) / sigma * rows) ** 2
        deviation = np.sqrt(left.sum() / freedom) * inflation / scale
        size = np.sqrt((target[rows] ** 2).mean())
        estimates = {}
        for j, name in enumerate(names):
            share = float(np.sqrt(((X[:, :, j] * values[j])[rows] ** 2).mean()) / size)
            estimates[name] = Estimate(
                name,
                float(values[j]),
                float(CONFIDENCE * deviation[j]),
                float(inflation[j]) if (X[:, :, j][rows] != 0.0).any() else np.inf,
                share,
                units[j],
            )
        centre = centre_bound = None
        if self.place is not None:
            m, first = values[-4], values[-3:]
            centre = self.place.rotation.T @ (first / m - self.place.translation)
            centre_bound = CONFIDENCE * deviation[-3:] / abs(m)
        stribeck = {} if self.model.m else self._stribeck(estimates, names, values, target)
        unknown = target - X @ values
        measured = np.einsum("kij,kj->ki", self.P, self.effort)
        residual = np.sqrt((unknown**2 * rows).sum(axis=0) / np.maximum(rows.sum(axis=0), 1))
        return Identification(
            estimates,
            stribeck,
            self.arm.joint_names,
            self.link,
            centre,
            centre_bound,
            self.time,
            measured,
            measured - unknown,
            residual,
        )

    def _stribeck(
        self, estimates: dict[str, Estimate], names: list[str], values: Array, target: Array
    ) -> dict[str, Estimate]:
        """Static friction of each joint; where it is told, the joint's other friction with it."""
        load = [j for j, name in enumerate(names) if name.startswith("payload")]
        effort = target - self.body[:, :, : len(load)] @ values[load]
        found: dict[str, Estimate] = {}
        for i, joint in enumerate(self.arm.joint_names):
            motion = JointMotion(
                self.v[:, i],
                self.period,
                self.cutoff,
                self.kept,
                self.creeps[:, i],
                effort[:, i],
                {kind: part[:, i] for kind, part in self.parts.items()},
            )
            fit = fit_stribeck(motion, joint)
            found |= {each.name: each for each in fit.estimates}
            for kind, (value, bound) in fit.others.items():
                name = f"{kind} of {joint}"
                estimates[name] = replace(estimates[name], value=value, bound=bound)
        return found
