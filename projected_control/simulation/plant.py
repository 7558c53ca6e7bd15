"""The simulated plant: a constrained arm under joint efforts, integrated with a fixed step.

After each step the configuration is put back on the constraint, ``q ← q − A⁺Φ`` (Aghili 37), **and
so is the velocity**, ``q̇ ← P q̇ + A⁺ẋ``. The first alone is not enough: near a singular
configuration a velocity error ε grows to A⁺ε, and the simulation leaves through the singularity.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import acceleration_kernel
from projected_control.model.linalg import axpy, copy, dot, matvec, matvec_add
from projected_control.simulation.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.integrators import RK4, Tableau, integrate_step
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

MAX_CORRECTIONS = 20

LOST = 1e-3
"""‖Φ‖ after the correction from which the arm counts as off its constraint."""


class PlantState(NamedTuple):
    """The plant between two steps.

    Attributes:
        time: [s].
        q, v: Joint positions and velocities [rad or m, and per second].
        acceleration: q̈ under the effort last applied.
        multipliers: λ under the effort last applied [N or N·m].
        constraint_force: F = Aᵀλ [N·m or N].
        residual: ‖Φ(q) − x(t)‖.
        energy: Kinetic and potential energy [J].
        work: Work done on the arm by motors, friction and moving constraints since the start [J].
        rank: Rank of A.
    """

    time: float
    q: Array
    v: Array
    acceleration: Array
    multipliers: Array
    constraint_force: Array
    residual: float
    energy: float
    work: float
    rank: int


class Plant:
    """A constrained arm that moves.

    Args:
        model: Arm and constraint; coordinates and metric play no part.
        step: Integration step [s].
        friction: Friction of the joints.
        tableau: Integration method.
        tolerance: ‖Φ‖ down to which the position is corrected.
        correct_position: Put q back on the constraint after each step.
        correct_velocity: Put q̇ back in the constraint's tangent after each step.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        step: float = 1e-3,
        *,
        friction: JointFriction = FRICTIONLESS,
        tableau: Tableau = RK4,
        tolerance: float = 1e-12,
        correct_position: bool = True,
        correct_velocity: bool = True,
    ) -> None:
        if not (model.sqrt_metric == 1.0).all():
            raise InvalidValue("a plant has no metric: its model must be built without one")
        for name in ("coulomb", "viscous"):
            if np.size(getattr(friction, name)) not in (1, model.n):
                raise InvalidValue(
                    f"{name} friction must be one number or {model.n}, one per joint, "
                    f"got {np.size(getattr(friction, name))}"
                )
        self.model = model
        n = model.n
        self._scratch = SLOPE.new(n=n)
        self._load = SLOPE.view(self._scratch, n=n).load
        self.step_size = validate.positive("integration step", step)
        self.friction, self.tableau = friction, tableau
        self.tolerance = validate.positive("tolerance of the position correction", tolerance)
        self.correct_position, self.correct_velocity = correct_position, correct_velocity
        self._y = np.zeros(2 * n + 1)
        self._slope = np.zeros(2 * n + 1)
        self._effort = np.zeros(n)
        self.time = 0.0

    @property
    def friction(self) -> JointFriction:
        """Friction of the joints; may be changed at any time."""
        return self._friction

    @friction.setter
    def friction(self, friction: JointFriction) -> None:
        self._friction = friction
        self._friction_table = friction.of_joints(self.model.n)

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> PlantState:
        """Start from here: a position on the constraint, a velocity that is projected on it."""
        n = self.model.n
        self.time = validate.finite("time", time)
        self._effort = np.zeros(n)
        self._y[:n] = validate.finite_array("initial position q", q, (n,))
        self._y[n : 2 * n] = (
            0.0 if v is None else validate.finite_array("initial velocity", v, (n,))
        )
        self._y[2 * n] = 0.0
        state = self.model.evaluate(self._y[:n], self._y[n : 2 * n], self.time)
        error = float(np.linalg.norm(state.residual))
        if error > 1e-6:
            raise InvalidValue(
                f"the initial position {self._y[:n].tolist()} is not on the constraint: it is off "
                f"by {error:.3g}; see `assemble` for the nearest one that is"
            )
        self._correct()
        return self.state

    @property
    def q(self) -> Array:
        """Joint positions now."""
        return self._y[: self.model.n].copy()

    @property
    def v(self) -> Array:
        """Joint velocities now."""
        return self._y[self.model.n : 2 * self.model.n].copy()

    @property
    def state(self) -> PlantState:
        """Everything at this instant, under the effort last applied."""
        n, y, model = self.model.n, self._y, self.model
        self._derivative(self.time, y, self._slope)
        acceleration = self._slope[n : 2 * n].copy()
        unbalanced = self._load - model.h - model.M @ acceleration
        force = unbalanced - model.P @ unbalanced
        return PlantState(
            self.time,
            self.q,
            self.v,
            acceleration,
            model.A_pinv.T @ force,
            force,
            float(np.linalg.norm(model.residual)),
            model.arm.energy,
            float(y[2 * n]),
            model.rank,
        )

    def apply(self, effort: ArrayLike) -> None:
        """Apply joint efforts [N·m or N] without letting time pass: only forces answer."""
        self._effort = validate.finite_array("effort", effort, (self.model.n,))

    def step(self, effort: ArrayLike) -> None:
        """Apply joint efforts [N·m or N] for one step."""
        n = self.model.n
        self.apply(effort)
        y = integrate_step(self.tableau, self._derivative, self.time, self._y, self.step_size)
        if not np.isfinite(y).all():
            raise SimulationFailed(
                f"the simulation left the finite numbers at t = {self.time:.6g} s, from "
                f"q = {self._y[:n].tolist()}, q̇ = {self._y[n : 2 * n].tolist()}; use a smaller step"
            )
        self._y = y
        self.time += self.step_size
        self._correct()

    def _derivative(self, time: float, y: Array, slope: Array) -> None:
        model, n = self.model, self.model.n
        v = y[n : 2 * n]
        model.evaluate(y[:n], v, time)
        slope_kernel(
            v,
            self._effort,
            self._friction_table,
            model.M,
            model.h,
            model.P,
            model.A_pinv,
            model.b,
            model.target_rate,
            slope,
            self._scratch,
        )

    def _correct(self) -> None:
        n, model = self.model.n, self.model
        q, v = self._y[:n], self._y[n : 2 * n]
        model.evaluate(q, v, self.time)
        if self.correct_position:
            for _ in range(MAX_CORRECTIONS):
                if np.linalg.norm(model.residual) <= self.tolerance:
                    break
                q -= model.A_pinv @ model.residual
                model.evaluate(q, v, self.time)
            error = float(np.linalg.norm(model.residual))
            if not error <= LOST:
                raise SimulationFailed(
                    f"the arm left its constraint at t = {self.time:.6g} s: it is off by "
                    f"{error:.3g} at q = {q.tolist()}; use a smaller step"
                )
        if self.correct_velocity:
            v[:] = model.P @ v + model.normal_rate


class SlopeTerms(NamedTuple):
    """Scratch of `slope_kernel`."""

    load: Annotated[Array, Part("n", "f, the effort of motors and friction [N·m or N].")]
    net: Annotated[Array, Part("n", "f − h, then f − h − M q̈.")]
    tangent: Annotated[Array, Part("n", "P (f − h).")]
    normal_acceleration: Annotated[Array, Part("n", "C q̇ = A⁺b.")]
    normal_rate: Annotated[Array, Part("n", "A⁺ẋ.")]
    PM: Annotated[Array, Part("n, n", "P M.")]
    M_c: Annotated[Array, Part("n, n", "M + PM − (PM)ᵀ.")]


SLOPE = Layout(SlopeTerms, "n")
unpack_slope = SLOPE.unpack


@compiled
def slope_kernel(
    v: Array,
    effort: Array,
    friction: Array,
    M: Array,
    h: Array,
    P: Array,
    A_pinv: Array,
    b: Array,
    target_rate: Array,
    slope: Array,
    scratch: Array,
) -> None:
    """q̇, q̈ and the power that enters the arm, at an evaluated state.

    The power is q̇ᵀf of motors and friction, and −(A⁺ẋ)ᵀF of a constraint that moves, where
    F = (I − P)(f − h − M q̈).

    Args:
        v: q̇, n.
        effort: Effort of the motors, n.
        friction: `JointFriction.of_joints`, 3 × n.
        M, h, P, A_pinv, b: Terms of the evaluated model.
        target_rate: ẋ of a moving constraint, m.
        slope: Result, 2 n + 1.
        scratch: An array of `SlopeTerms`; `load` stays there.
    """
    n = v.size
    s = unpack_slope(scratch, n)
    for i in range(n):
        dry, viscous, blend = friction[0, i], friction[1, i], friction[2, i]
        s.load[i] = effort[i] - dry * np.tanh(v[i] / blend) - viscous * v[i]
    copy(s.load, s.net)
    axpy(-1.0, h, s.net)
    matvec(P, s.net, s.tangent)
    matvec(A_pinv, b, s.normal_acceleration)
    acceleration = slope[n : 2 * n]
    acceleration_kernel(M, P, s.tangent, s.normal_acceleration, acceleration, s.PM, s.M_c)
    copy(v, slope[:n])
    matvec_add(M, acceleration, s.net, -1.0)
    matvec(A_pinv, target_rate, s.normal_rate)
    slope[2 * n] = dot(v, s.load) - dot(s.normal_rate, s.net)
