"""The simulated plant: a constrained arm under joint efforts, integrated with a fixed step.

After each step the configuration is put back on the constraint, ``q ← q − A⁺Φ`` (Aghili 37), **and
so is the velocity**, ``q̇ ← P q̇ + A⁺ẋ``. The first alone is not enough: near a singular
configuration a velocity error ε grows to A⁺ε, and the simulation leaves through the singularity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.simulation.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.integrators import RK4, Tableau
from projected_control.simulation.plant_kernels import (
    PLANT,
    correct_state,
    integrate_stage,
    observe,
    same_state,
    take_effort,
)

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
        n, stages = model.n, tableau.weights.size
        self._work = PLANT.new(n=n, m=model.m, stages=stages)
        self._terms = terms = PLANT.view(self._work, n=n, m=model.m, stages=stages)
        self.step_size = validate.positive("integration step", step)
        self.friction, self.tableau = friction, tableau
        self.tolerance = validate.positive("tolerance of the position correction", tolerance)
        self.correct_position, self.correct_velocity = correct_position, correct_velocity
        terms.step[0] = self.step_size
        for s in range(stages):
            terms.weights[s, :s] = tableau.stages[s, :s]
        terms.weights[stages] = tableau.weights
        self._moments = [float(node) * self.step_size for node in tableau.nodes]
        self._y, self._q, self._v = terms.y, terms.y[:n], terms.y[n : 2 * n]
        self._effort = terms.effort
        self._stage = terms.stage[:n], terms.stage[n : 2 * n]
        self._evaluated = False
        self.time = 0.0

    @property
    def friction(self) -> JointFriction:
        """Friction of the joints; may be changed at any time."""
        return self._friction

    @friction.setter
    def friction(self, friction: JointFriction) -> None:
        self._friction = friction
        self._terms.friction[:] = friction.of_joints(self.model.n)

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> PlantState:
        """Start from here: a position on the constraint, a velocity that is projected on it."""
        n = self.model.n
        self.time = validate.finite("time", time)
        self._effort[:] = 0.0
        self._q[:] = validate.finite_array("initial position q", q, (n,))
        self._v[:] = 0.0 if v is None else validate.finite_array("initial velocity", v, (n,))
        self._y[2 * n] = 0.0
        state = self.model.evaluate(self._q, self._v, self.time)
        error = float(np.linalg.norm(state.residual))
        if error > 1e-6:
            raise InvalidValue(
                f"the initial position {self._q.tolist()} is not on the constraint: it is off "
                f"by {error:.3g}; see `assemble` for the nearest one that is"
            )
        self._correct()
        return self.state

    @property
    def q(self) -> Array:
        """Joint positions now."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """Joint velocities now."""
        return self._v.copy()

    @property
    def state(self) -> PlantState:
        """Everything at this instant, under the effort last applied."""
        model, q, v = self.model, self._q, self._v
        evaluated = self._is_evaluated()
        if not evaluated:
            model.prepare(q, v, self.time)
        stages = len(self._moments)
        observe(evaluated, self.time, q, v, *model.arguments, stages, self._work)
        self._evaluated = True
        n = model.n
        seen = self._terms.seen.copy()
        return PlantState(
            self.time,
            seen[:n],
            seen[n : 2 * n],
            seen[2 * n : 3 * n],
            seen[4 * n : -1],
            seen[3 * n : 4 * n],
            float(seen[-1]),
            model.arm.energy,
            float(self._y[2 * n]),
            model.rank,
        )

    def apply(self, effort: ArrayLike) -> None:
        """Apply joint efforts [N·m or N] without letting time pass: only forces answer."""
        if (
            isinstance(effort, np.ndarray)
            and effort.dtype == np.float64
            and effort.shape == self._effort.shape
            and take_effort(effort, self._effort)
        ):
            return
        self._effort[:] = validate.finite_array("effort", effort, (self.model.n,))

    def step(self, effort: ArrayLike) -> None:
        """Apply joint efforts [N·m or N] for one step."""
        model, stages = self.model, len(self._moments)
        self.apply(effort)
        q, v = self._q, self._v
        evaluated = self._is_evaluated()
        finite = True
        for s, moment in enumerate(self._moments):
            time = self.time + moment
            if not evaluated:
                model.prepare(q, v, time)
            finite = integrate_stage(s, evaluated, time, q, v, *model.arguments, stages, self._work)
            (q, v), evaluated = self._stage, False
        self._evaluated = False
        if not finite:
            raise SimulationFailed(
                f"the simulation left the finite numbers at t = {self.time:.6g} s, from "
                f"q = {self._q.tolist()}, q̇ = {self._v.tolist()}; use a smaller step"
            )
        self._y[:] = self._terms.stage
        self.time += self.step_size
        self._correct()

    def _is_evaluated(self) -> bool:
        """Whether the model is evaluated at the present state and time, by the last `state`."""
        model = self.model
        return self._evaluated and model.time == self.time and same_state(self._y, model.arm.state)

    def _correct(self) -> None:
        model, q, v = self.model, self._q, self._v
        self._evaluated = False
        for corrections in range(MAX_CORRECTIONS + 1):
            model.prepare(q, v, self.time)
            position = self.correct_position and corrections < MAX_CORRECTIONS
            error = correct_state(
                position,
                self.correct_velocity,
                self.time,
                q,
                v,
                *model.arguments,
                self.tolerance,
            )
            if not position or error <= self.tolerance:
                break
        if self.correct_position and not error <= LOST:
            raise SimulationFailed(
                f"the arm left its constraint at t = {self.time:.6g} s: it is off by "
                f"{error:.3g} at q = {q.tolist()}; use a smaller step"
            )
