"""The simulated plant: a constrained arm under joint efforts, integrated with a fixed step.

After each step the configuration is put back on the constraint, ``q ← q − A⁺Φ`` (Aghili 37), **and
so is the velocity**, ``q̇ ← P q̇ + A⁺ẋ``. The first alone is not enough: near a singular
configuration a velocity error ε grows to A⁺ε, and the simulation leaves through the singularity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.consistency import contradiction, require_consistent
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import massless_joints
from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.integrators import RK4, Tableau
from projected_control.simulation.plant_kernels import (
    DONE,
    GOES_ON,
    Step,
    advance_step,
    begin_step,
    observe_plant,
)
from projected_control.simulation.plant_sensing import take_effort
from projected_control.simulation.plant_terms import PLANT
from projected_control.simulation.surfaces import (
    CONTACTS,
    FASTEST,
    RIGID,
    ContactTerms,
    Extent,
    Row,
    Surface,
    find_outside,
    forget_contacts,
)

Array = NDArray[np.float64]


DRIVE_SHARE = 1.0
"""Bandwidth of a drive times an integration step, at most."""


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
        motor_effort: Effort last applied, as the motors gave it, and a push [N·m or N].
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
    motor_effort: Array

    def put(self, truth: Array) -> None:
        """Write it, but for the time, into an array of `TruthTerms`."""
        _, *vectors, residual, energy, work, rank, given = self
        np.concatenate([*vectors, (residual, energy, work, rank), given], out=truth)


def row_laws(
    units: Sequence[str], surface: Surface, one_sided: Sequence[int] | None
) -> tuple[list[Row], list[int]]:
    """What each row of a constraint is, and its side (see `Plant`).

    A surface that gives is what can be left, where anything can.
    """
    sides = [0] * len(units) if one_sided is None else [int(side) for side in one_sided]
    if len(sides) != len(units) or not set(sides) <= {-1, 0, 1}:
        raise InvalidValue(
            f"one_sided must have {len(units)} entries, 1, 0 or -1 per row, got {sides}"
        )
    laws = []
    for unit, side in zip(units, sides, strict=True):
        if surface.gives and unit == "m" and (side or not any(sides)):
            laws.append(Row.GIVES_ONE_SIDED if side else Row.GIVES)
        else:
            laws.append(Row.ONE_SIDED if side else Row.HELD)
    if surface.gives and not any(law >= Row.GIVES for law in laws):
        raise InvalidValue(
            "nothing gives: contact.stiffness is for rows of the constraint that are lengths",
            key="contact.stiffness",
        )
    return laws, sides


class Plant:
    """A constrained arm that moves.

    Args:
        model: Arm and constraint; coordinates and metric play no part.
        step: Integration step [s].
        friction: Friction of the joints.
        contact_friction: µ at the constraint's frame, which rubs along what holds it.
        surface: What one-sided rows touch, and how it gives; rigid unless given.
        one_sided: For each row 1 or −1 where it can be left, 0 where not: with 1 the arm is free
            where Φ ≤ 0, and λ ≥ 0; with −1 the other way round. None for none.
        extents: For each row where its surface ends, None where it does not. None for none.
        stops: Where the joints meet their stops, lower above upper [rad or m], see `stops_within`;
            None for joints that turn without end.
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
        contact_friction: float = 0.0,
        surface: Surface = RIGID,
        one_sided: Sequence[int] | None = None,
        extents: Sequence[Extent | None] | None = None,
        stops: ArrayLike | None = None,
        tableau: Tableau = RK4,
        tolerance: float = 1e-12,
        correct_position: bool = True,
        correct_velocity: bool = True,
    ) -> None:
        if not (model.sqrt_metric == 1.0).all():
            raise InvalidValue("a plant has no metric: its model must be built without one")
        self.model, self.tableau = model, tableau
        self.step_size = validate.positive("integration step", step)
        self.tolerance = validate.positive("tolerance of the position correction", tolerance)
        self.correct_position, self.correct_velocity = correct_position, correct_velocity
        self._observed = False
        self._lay_out(0, 0)
        self.friction = friction
        self.contact_friction = contact_friction
        self._lay_surfaces(surface, one_sided)
        self._lay_extents(extents or ())
        if stops is not None:
            self.terms.stops[:] = np.asarray(stops, dtype=np.float64)

    def _lay_out(self, delay: int, wait: int) -> None:
        """Make the workspace, with room for so many samples of delay of force sensor and motors."""
        stages, n = self.tableau.weights.size, self.model.n
        sizes = {"n": n, "m": self.model.m, "stages": stages, "delay": delay, "wait": wait}
        self.work: Array = PLANT.new(**sizes)
        self.terms = terms = PLANT.view(self.work, **sizes)
        self.sizes = np.array([stages, delay, wait], dtype=np.int64)
        terms.step[0], terms.tolerance[0] = self.step_size, self.tolerance
        terms.span[0] = self.step_size
        terms.stops[0], terms.stops[1] = -np.inf, np.inf
        terms.corrects[:] = self.correct_position, self.correct_velocity
        terms.nodes[:], terms.weights[:] = self.tableau.nodes, self.tableau.following
        self._q, self._v = terms.y[:n], terms.y[n : 2 * n]
        self._at_q, self._at_v = terms.at[:n], terms.at[n : 2 * n]

    def _lay_surfaces(self, surface: Surface, one_sided: Sequence[int] | None) -> None:
        """Say of every row whether it can be left, and whether it gives."""
        constraint = self.model.constraint
        units = () if constraint is None else constraint.row_units
        laws, sides = row_laws(units, surface, one_sided)
        self.surface, self.laws = surface, tuple(laws)
        contacts = self.contacts
        contacts.law[:], contacts.surface[:] = laws, surface.numbers
        contacts.side[:] = [side or 1 for side in sides]
        contacts.kinds[:] = laws.count(Row.ONE_SIDED), sum(law >= Row.GIVES for law in laws)
        forget_contacts(contacts)

    def _lay_extents(self, extents: Sequence[Extent | None]) -> None:
        """Say of every row where its surface ends."""
        if extents and len(extents) != self.model.m:
            raise InvalidValue(f"extents must have {self.model.m} entries, got {len(extents)}")
        for row, extent in enumerate(extents):
            if extent is None:
                continue
            if self.laws[row] not in (Row.ONE_SIDED, Row.GIVES_ONE_SIDED):
                raise InvalidValue("only a surface that can be left ends: say one_sided, too")
            place = self.model.arm.attachment(extent.frame)
            box = *extent.least, *extent.most
            self.contacts.extent[row] = place.joint, *place.translation, *box

    @property
    def contacts(self) -> ContactTerms:
        """What comes and goes."""
        return CONTACTS.view(self.terms.contacts, n=self.model.n, m=self.model.m)

    def make_room(self, *, delay: int | None = None, wait: int | None = None) -> None:
        """Keep room for so many samples of delay of a force sensor, and of the motors (wait)."""
        delay = int(self.sizes[1]) if delay is None else delay
        wait = int(self.sizes[2]) if wait is None else wait
        if tuple(self.sizes[1:]) != (delay, wait):
            before = self.terms
            self._lay_out(delay, wait)
            for new, old in zip(self.terms, before, strict=True):
                if new.shape == old.shape:
                    new[:] = old

    def take_load(self) -> None:
        """Compute with the masses that the arm has now: at once, as they are read in every step."""

    @property
    def time(self) -> float:
        """Now [s]."""
        return float(self.terms.time[0])

    @property
    def friction(self) -> JointFriction:
        """Friction of the joints; may be changed at any time."""
        return self._friction

    @friction.setter
    def friction(self, friction: JointFriction) -> None:
        base = self.model.arm.base_size  # the air does not rub
        self.terms.friction[:, :base] = FRICTIONLESS.of_joints(base)
        self.terms.friction[:, base:] = friction.of_joints(self.model.n - base)
        self.terms.sticks[0] = float(friction.sticks)
        self._friction = friction

    @property
    def drive(self) -> float:
        """Bandwidth of the joints' drives, which take velocities [1/s]; 0: they take efforts."""
        return float(self.terms.drive[0])

    @drive.setter
    def drive(self, bandwidth: float) -> None:
        bandwidth, passive = validate.not_negative("drive", bandwidth), self.model.arm.passive
        most = DRIVE_SHARE / self.step_size
        reason = ""
        if bandwidth > most:
            reason = f"at most {most:g} 1/s with this step"
        if type(self) is not Plant:
            reason = "for our own plant, simulation.engine built_in"
        if passive:
            reason = (
                f"for arms with a motor at every joint, and {', '.join(sorted(passive))} has none"
            )
        if bandwidth > 0.0 and reason:
            raise InvalidValue(
                f"drives that take velocities (simulation.drive, {bandwidth:g} 1/s) are {reason}",
                key="simulation.drive",
            )
        self.terms.drive[0] = bandwidth

    @property
    def contact_friction(self) -> float:
        """µ at the constraint's frame; may be changed at any time."""
        return float(self.terms.contact[0])

    @contact_friction.setter
    def contact_friction(self, mu: float) -> None:
        terms, constraint = self.terms, self.model.constraint
        terms.contact[:] = 0.0
        if validate.not_negative("friction at the contact", mu) == 0.0:
            return
        if constraint is None or constraint.frame is None:
            raise InvalidValue(
                "friction at the contact needs a constraint with a frame that rubs: give a plane, "
                "a line, a circle or a surface, or no friction there"
            )
        place = self.model.arm.attachment(constraint.frame)
        terms.contact[:] = mu, place.joint, *place.translation
        terms.contact_support[:] = place.support
        terms.contact_rows[:] = [float(unit == "m") for unit in constraint.row_units]

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> PlantState:
        """Start from here: a position on the constraint, a velocity that is projected on it."""
        n, terms = self.model.n, self.terms
        terms.time[0] = validate.finite("time", time)
        terms.effort[:] = terms.dry[:] = terms.pressing[0] = 0.0
        self._q[:] = self.model.arm.configuration(q, "initial position q")
        self._v[:] = 0.0 if v is None else validate.finite_array("initial velocity", v, (n,))
        terms.y[2 * n] = 0.0
        state = self.model.evaluate(self._q, self._v, self.time)
        if lost := massless_joints(state.M, state.P, self.model.arm.joint_names):
            raise InvalidValue(
                f"how joint {', '.join(lost)} moves is not determined: it has no inertia, and the "
                "constraint does not carry it; give its link an <inertial>, or it an armature"
            )
        require_consistent(self.model.arm, self.model.constraint, self._q, self.time)
        forget_contacts(self.contacts)
        self._require_step(state)
        held = np.array([law is Row.HELD for law in self.laws], dtype=bool)
        free = np.array([law is Row.ONE_SIDED for law in self.laws], dtype=bool)
        find_outside(self.model.arguments.placements, self.contacts)
        free &= self.contacts.outside == 0.0
        deepest = float((self.contacts.side * state.residual)[free].max(initial=0.0))
        error = max(float(np.linalg.norm(state.residual[held])), deepest)
        if error > 1e-6:
            raise InvalidValue(
                f"the initial position {self._q.tolist()} is not on the constraint: it is off "
                f"by {error:.3g}; see `assemble` for the nearest one that is"
            )
        self._correct()
        return self.state

    def _require_step(self, state: ConstrainedArm) -> None:
        """Raise where a step is too long for the surfaces that give."""
        soft = np.array([law >= Row.GIVES for law in self.laws], dtype=bool)
        if not soft.any():
            return
        G = state.A[soft] @ np.linalg.pinv(state.M, hermitian=True) @ state.A[soft].T
        lightest = 1.0 / float(np.linalg.eigvalsh(G)[-1])
        surface, T = self.surface, self.step_size
        omega = float(np.sqrt(surface.K / lightest))
        fastest = max(omega, surface.damping / lightest)
        if fastest * T > FASTEST:
            raise InvalidValue(
                f"a step of {T:g} s is too long for a surface of {surface.K:g} N/m and "
                f"{surface.damping:g} N·s/m under {lightest:.3g} kg: it takes at most "
                f"{FASTEST / fastest:.3g} s (simulation.step)",
                key="contact.stiffness",
            )

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
        self._observe()
        n, model, terms = self.model.n, self.model, self.terms
        y, slope, seen = terms.y.copy(), terms.slope.copy(), terms.seen.copy()
        return PlantState(
            self.time,
            y[:n],
            y[n : 2 * n],
            slope[n : 2 * n],
            seen[n:-1],
            seen[:n],
            float(seen[-1]),
            model.arm.energy,
            float(y[-1]),
            model.rank,
            terms.effort.copy(),
        )

    def _observe(self) -> None:
        """Fill the workspace with what `state` says."""
        self.model.prepare(self._q, self._v, self.time)
        observe_plant(self.sizes, self.work, *self.model.arguments)
        self._observed = True

    @property
    def force_below(self) -> Array:
        """What a sensor below the surface feels, per row, at the state looked at [N or N·m]."""
        return self.terms.multipliers.copy()

    def apply(self, effort: ArrayLike) -> None:
        """Apply joint efforts [N·m or N] without letting time pass: only forces answer."""
        target = self.terms.effort
        if (
            isinstance(effort, np.ndarray)
            and effort.dtype == np.float64
            and effort.shape == target.shape
            and take_effort(effort, target)
        ):
            return
        target[:] = validate.finite_array("effort", effort, (self.model.n,))

    def step(self, effort: ArrayLike | None = None) -> None:
        """Apply joint efforts [N·m or N] for one step; those applied last unless given."""
        if effort is not None:
            self.apply(effort)
        model = self.model.arguments
        observed = self._observed and self.model.time == self.time
        status = begin_step(
            observed,
            self.sizes,
            self.work,
            model.spatial_jacobian,
            model.placements,
            model.state,
            model.sizes,
            model.work,
        )
        self._observed = False
        self._go_on(status)

    def _correct(self) -> None:
        """Put the state back on the constraint, as after a step."""
        terms = self.terms
        terms.at[:], terms.at_time[0] = terms.y, self.time
        terms.phase[0] = self.sizes[0]
        self._go_on(GOES_ON)

    def _go_on(self, status: int) -> None:
        """Make the passes that a step wants."""
        terms, model = self.terms, self.model
        while status == GOES_ON:
            model.prepare(self._at_q, self._at_v, float(terms.at_time[0]))
            status = advance_step(self.sizes, self.work, *model.arguments)
        if status != DONE:
            raise SimulationFailed(self.failure(status))

    def failure(self, status: int) -> str:
        """What a status of `advance_step` other than done means here, in words."""
        if status == Step.NOT_FINITE:
            return (
                f"the simulation left the finite numbers at t = {self.time:.6g} s, from "
                f"q = {self._q.tolist()}, q̇ = {self._v.tolist()}; use a smaller step"
            )
        error = float(np.linalg.norm(self.model.residual))
        why = contradiction(self.model.arm, self.model.constraint, self._q, self.time)
        return (
            f"the arm left its constraint at t = {self.time:.6g} s: it is off by "
            f"{error:.3g} at q = {self._q.tolist()}; {why or 'use a smaller step'}"
        )
