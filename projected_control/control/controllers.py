"""Controllers: a law, the model it acts on, gains that blend and a reference to follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.compensation import (
    NO_COMPENSATION,
    FrictionCompensation,
    write_contact,
)
from projected_control.control.contact import ENERGY, Contact
from projected_control.control.contact_stability import normal_masses
from projected_control.control.disturbance import NO_DISTURBANCE, Disturbance, DisturbanceKind
from projected_control.control.energy import Ledger
from projected_control.control.force import ForceGains, ForceLoopState
from projected_control.control.force_source import ForceSource
from projected_control.control.gains import (
    BLEND_SECONDS,
    POSTURE_DRIFT,
    MotionGains,
    Posture,
)
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.law_kinds import EFFORT, Law, LawKind, kind_of
from projected_control.control.live import advance_slots, is_blending
from projected_control.control.mailbox import Mailbox
from projected_control.control.motion import SINGULAR_RANGE
from projected_control.control.one_sided import OneSidedContacts
from projected_control.control.stability import MotionLoop
from projected_control.control.surface import (
    EstimatedSurface,
    estimate_surface,
    is_beyond,
    plane_now,
    reset_surface,
)
from projected_control.control.task_terms import TASK
from projected_control.control.terms import CONTROL, ControlTerms, Effort
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.projection import singular_values

Array = NDArray[np.float64]


FORGOTTEN = (
    "friction",
    "disturbance",
    "integral",
    "limited",
    "waits",
    "kept_rank",
    "stop_for",
    "interrupted",
    "rejoin",
    "withheld",
    "path_clock",
    "above_for",
    "held_back",
    "sudden",
    "watched_for",
    "collided_for",
    "yielded",
    "ledger",
    "ledger_forces",
    "ledger_rates",
)
"""Terms that begin at zero when a controller starts anew."""

POSTURE = "posture"
"""Name of the loop that draws free motions to a posture."""


class SampledLoop(Protocol):
    """A loop of the motion as the sampled system it is."""

    @property
    def gain_margin(self) -> float:
        """The factor by which its gains may grow before it diverges."""

    @property
    def reduction_margin(self) -> float:
        """The factor by which they may be divided before it diverges."""

    def require_stable(self, name: str = "") -> Any:
        """Raise where it would diverge, with what would be stable."""


def motion_loops(
    gains: MotionGains, disturbance: Disturbance, names: Sequence[str], period: float, delay: int
) -> list[tuple[MotionLoop, str]]:
    """The sampled loops of coordinates with their names, each pair of gains once.

    Args:
        gains, disturbance: What acts on the coordinates.
        names: Of the coordinates, k; empty ones where they have none.
        period: Of the loop [s].
        delay: From a state to the effect of its answer [samples].
    """
    stiffness, damping, _ = gains.array(len(names))
    loops: dict[MotionLoop, str] = {}
    for name, K, D in zip(names, stiffness, damping, strict=True):
        loops.setdefault(disturbance.loop(MotionLoop(float(K), float(D), period, delay)), name)
    return list(loops.items())


class Controller:
    """A law that turns a state into joint efforts, once per tick.

    Attributes:
        model: The arm, its constraint and its coordinates, evaluated by `update`.
        law, law_number: Which one, and its number for kernels.
        kind: What is known of it.
        passive: Indices of the joints without a motor.
        work: An array of `ControlTerms`, for compiled loops.
        mailbox: Where new gains wait for the next tick.
        period: Period of the loop [s].
        gains: In force, or blending in.
        posture: Where free motions are drawn to; None where they are only damped.
        has_contact: Whether the constraint has a frame that rubs on what it touches.
        undescribed: How many free directions no coordinate described at the start (see `hold`).
        compensation: Friction that is compensated, or being blended in.
        disturbance: What answers what no model knows.
        motion: The reference: rows θ_d, θ̇_d, θ̈_d, 3 × k; written by what plans the motion.
        error: Rows e = θ_d − θ and ė of the last tick, 2 × k.
        effort: What the last tick gave.
        contacts: Those that come and go.
        force: The force loop of laws that have one, else None.
        task: Levels, axes and selection of the laws in task space, see `TaskTerms`.
        needs_independence: Whether the coordinates must be independent of the constraint and of
            each other.
        feeds_force_back: Whether the force loop looks at the measured λ.
        delay: From a state to the effect of its answer, for which all loops are checked [samples].
        arm_delay: What the arm itself takes of that, as it was estimated or measured [samples];
            no setting makes `delay` shorter.
    """

    force: ForceLoopState | None = None
    posture: Posture | None = None
    undescribed = 0
    needs_independence = True
    feeds_force_back = True

    def __init__(self, model: ConstrainedArm, gains: MotionGains, period: float, law: Law) -> None:
        if model.coordinates is None:
            raise InvalidValue("a controller needs coordinates to follow: give the model some")
        self.model, self.law, self.law_number = model, law, int(law)
        self.kind: LawKind = kind_of(law)
        model.fade()
        self.period = validate.positive("period", period)
        self.passive = np.flatnonzero(model.arm.actuated == 0.0).astype(np.int64)
        sizes = {"n": model.n, "m": model.m, "k": model.k, "p": self.passive.size}
        self.work: Array = CONTROL.new(**sizes)
        self._terms = CONTROL.view(self.work, **sizes)
        self._terms.period[0] = self.period
        self._terms.motion_share[0] = 1.0
        self.task = TASK.view(self._terms.task, n=model.n, k=model.k)
        self.task.level[:] = self.task.selected[:] = self.task.projected[:] = 1.0
        self.task.singular_range[0], self.task.T[:] = SINGULAR_RANGE, np.eye(model.k)
        self.mailbox = Mailbox(model.n, model.m, model.k)
        self.motion, self.error = self._terms.motion, self._terms.error
        self._terms.margins[:] = 1.0
        self.effort = Effort(*self._terms.effort)
        self._terms.topology[:] = model.coordinates.topology
        units = [coordinate.unit for coordinate in model.coordinates.members]
        self._terms.scale[:] = [model.row_length if unit == "rad" else 1.0 for unit in units]
        self._terms.force_limits[: model.m] = np.inf
        self.contacts = OneSidedContacts(model, self._terms, self.mailbox)
        self.gains = gains
        self._at_velocity = [each.at_velocity for each in model.coordinates.members]
        if any(self._at_velocity) and not (self.kind.uses_gains and self.kind.follows):
            raise InvalidValue(
                "an angular momentum has no error but that of its rate, which this law does not "
                "follow: take one with gains.*, or other coordinates",
                key="coordinates",
            )
        self._terms.gains[:] = self._gain_numbers(gains)
        self.has_contact = write_contact(model, self._terms)
        self._source: ForceSource | None = None
        self._estimates = False
        self.compensation, self.disturbance = NO_COMPENSATION, NO_DISTURBANCE
        self._terms.all_friction[:] = NO_COMPENSATION.array(model.n)
        self._terms.disturbance_gains[:] = NO_DISTURBANCE.array(model.k)
        self.arm_delay = 1
        self.set_delay(1)

    def set_gains(self, gains: MotionGains, seconds: float = BLEND_SECONDS) -> None:
        """Change the gains while running; they come into force over this time [s]."""
        seconds = validate.not_negative("blend time", seconds)
        self.mailbox.post("gains", self._gain_numbers(gains), seconds)
        self.gains = gains

    def _gain_numbers(self, gains: MotionGains) -> Array:
        """The gains per coordinate; no stiffness where only the rate means anything."""
        numbers = gains.array(self.model.k)
        numbers[0, self._at_velocity] = 0.0
        return numbers

    def set_posture(self, posture: Posture | None) -> None:
        """Draw what the coordinates leave free to a posture; None for damping only.

        Not while the arm moves: it comes into force at once; one that is where the arm stands at
        the start, with `hold`.
        """
        self._terms.posture_gains[:] = self._terms.posture_bound[:] = 0.0
        if posture is not None and posture.has_target:
            self._terms.posture[:] = posture.array(self.model.n)
            self._terms.posture_gains[:] = posture.stiffness, posture.damping
        self.posture = posture

    def _hold_posture(self) -> None:
        """Take where the arm stands as the posture, if that is what it is and something is left.

        Where coordinates describe all free motions there is nothing to hold.
        """
        posture = self.posture
        self.undescribed = self.model.undescribed_directions
        if posture is None or posture.has_target:
            return
        self._terms.posture_gains[:] = self._terms.posture_bound[:] = 0.0
        if self.undescribed:
            self._terms.posture[:] = self.model.arm.q
            self._terms.posture_gains[:] = posture.stiffness, posture.damping
            self._terms.posture_bound[0] = POSTURE_DRIFT

    @property
    def posture_acts(self) -> bool:
        """Whether free motions are drawn anywhere."""
        return bool(self._terms.posture_gains[0] > 0.0)

    @property
    def drawn_to(self) -> Array | None:
        """Where free motions are drawn to, as the ticks have it, n; None for nowhere."""
        return self._terms.posture.copy() if self.posture_acts else None

    @property
    def held_by(self) -> str:
        """In words, what holds the motions that no coordinate describes."""
        if not self.undescribed:
            return "there are none"
        if not self.kind.follows:
            return "nothing: they are led by hand, and damped"
        if not self.posture_acts:
            return "nothing: they are only damped"
        assert self.posture is not None
        given = self.posture.has_target
        where = "posture.target" if given else "where the arm stood at the start"
        return f"a posture, {where} ({self.posture.stiffness:g} 1/s²)"

    def set_compensation(
        self, compensation: FrictionCompensation, seconds: float = BLEND_SECONDS
    ) -> None:
        """Compensate this friction; it comes into force over this time [s]."""
        numbers = self.check_compensation(compensation)
        self.mailbox.post("friction", numbers, validate.not_negative("blend time", seconds))
        self.compensation = compensation

    def check_compensation(self, compensation: FrictionCompensation) -> Array:
        """What `set_compensation` would blend to; raises where it would refuse it."""
        if compensation.contact > 0.0 and not self.has_contact:
            raise InvalidValue(
                "friction at the contact cannot be compensated: the constraint has no frame that "
                "rubs on anything"
            )
        return compensation.array(self.model.n)

    def set_disturbance(self, disturbance: Disturbance, seconds: float = BLEND_SECONDS) -> None:
        """Answer what no model knows; gains, limits and band come into force over this time [s].

        Another kind or bandwidth is in force at once: not while the arm moves.
        """
        if any(self._at_velocity) and disturbance.number is DisturbanceKind.INTEGRAL:
            raise InvalidValue(
                "an angular momentum has no error to integrate: take disturbance.kind observer",
                key="disturbance.kind",
            )
        numbers = disturbance.array(self.model.k)
        seconds = validate.not_negative("blend time", seconds)
        self._terms.disturbance_kind[0] = float(disturbance.number)
        self.mailbox.post("disturbance", numbers, seconds)
        self.disturbance = disturbance
        self._tell_source()

    def set_contact(self, contact: Contact) -> None:
        """What the arm presses on, and how contacts that come and go are made, kept and left.

        Their cones (``friction``) are kept by any law. Not while the arm moves; refused where a
        force loop would diverge on it where the arm is.
        """
        if self.force is not None:
            self.force.set_contact(contact)
        self._terms.contact_rules[:] = contact.rules
        self.mailbox.fill("contact_rules", contact.rules)

    def connect(self, source: ForceSource) -> None:
        """The source of λ, which follows the momentum where disturbances are observed."""
        self._source = source
        self._tell_source()

    def _tell_source(self) -> None:
        if self._source is not None:
            bandwidth = self.disturbance.bandwidth if self.disturbance.observes else None
            self._source.observe_disturbance(bandwidth, self._terms.collision[0] > 0.0)

    def feel_collisions(self, effort: float, *, stop: bool = True) -> None:
        """Notice contacts that nobody declared, by an effort that nothing explains; 0 for not.

        Not while the arm moves.
        """
        threshold = validate.not_negative("effort of an unexpected contact", effort)
        if threshold > 0.0 and self.kind.commands != EFFORT:
            raise InvalidValue(
                "contact.unexpected takes the effort that is sent for the torque at the joints, "
                f"and {self.kind.name} sends none: set it to 0, or take another law",
                key="contact.unexpected",
            )
        self._terms.collision[:] = threshold, float(stop)
        self._tell_source()

    @property
    def ledger(self) -> Ledger | None:
        """What the force has given and taken; None where no ledger is kept (`Contact.energy`)."""
        energy = float(self._terms.contact_rules[ENERGY])
        return Ledger.of(energy, self._terms.ledger) if energy > 0.0 else None

    def estimate_surface(
        self, surface: EstimatedSurface, source: ForceSource, name: str = ""
    ) -> None:
        """Have ticks follow the plane of the constraint, or of the one named in a stack."""
        estimate_surface(self.model, source, self._terms, surface, self.period, name)
        self._estimates = True

    @property
    def surface(self) -> tuple[Array, float] | None:
        """Normal and offset nᵀp [m] of an estimated plane; None where none is."""
        return plane_now(self._terms) if self._estimates else None

    @property
    def surface_lost(self) -> bool:
        """Whether an estimated plane is beyond its bounds."""
        return self._estimates and is_beyond(self._terms)

    def set_delay(self, samples: int, *, running: bool = False) -> None:
        """From a state to the effect of its answer.

        It also bounds the slope of the compensation: of a run that is going on, by what was known
        when it began, so that it is the same wherever its ticks are made.
        """
        self.delay = samples
        if not running:
            self._terms.delay[0] = float(samples)

    @property
    def starting_delay(self) -> int:
        """The delay that was known when the run began [samples]."""
        return int(self._terms.delay[0])

    def motion_loops(self, delay: int) -> list[tuple[SampledLoop, str]]:
        """The sampled loops of the motion with this delay, and their names.

        Those of the coordinates (see `motion_loops`), and one of the posture where there is one.
        """
        names = self.model.coordinates.names if self.model.coordinates else ()
        loops = motion_loops(self.gains, self.disturbance, names, self.period, delay)
        return [*loops, *self.posture_loops(self.gains, delay)]

    def posture_loops(self, gains: MotionGains, delay: int) -> list[tuple[SampledLoop, str]]:
        """The loop that draws free motions to the posture, with these gains; none without one.

        Raises:
            InvalidValue: Where nothing damps it.
        """
        posture = self.posture
        if posture is None or (not posture.has_target and not self.posture_acts):
            return []
        damping = gains.null_damping + posture.damping
        if damping == 0.0:
            raise InvalidValue(
                "free motions are drawn to a posture, and nothing damps the motion towards it: "
                "set gains.null_damping or posture.damping"
            )
        return [(MotionLoop(posture.stiffness, damping, self.period, delay), POSTURE)]

    @property
    def friction(self) -> Array:
        """Friction that the last tick compensated, n [N·m or N]."""
        return self._terms.friction

    @property
    def desired_velocity(self) -> Array:
        """q̇_d of the last tick that compensated friction, n [rad/s or m/s]."""
        return self._terms.v_desired

    def hold(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Take the present place as the reference: start from here without a jump.

        A posture that is where the arm stands at the start is here.
        """
        position = validate.finite_array("position", q, (self.model.n,))
        velocity = np.zeros(self.model.n) if v is None else np.asarray(v, dtype=np.float64)
        self.model.evaluate(position, velocity, self.model.time)
        self.motion[0] = self.model.theta
        self.motion[1:] = 0.0
        self._hold_posture()

    @property
    def terms(self) -> ControlTerms:
        """The parts of `work`."""
        return self._terms

    @property
    def inverse_dynamics(self) -> Array:
        """h + M u_p of the last tick, what IDC would send, in the metric's coordinates, n."""
        return self._terms.full

    @property
    def measured(self) -> Array:
        """λ as it was given to the last tick, m."""
        return self._terms.lambda_measured

    @property
    def blending(self) -> bool:
        """Whether new gains are still coming into force."""
        return self.mailbox.blend_pending or is_blending(self._terms)

    def advance(self) -> None:
        """Take new gains and blend them one tick on, as a tick of the loop does by itself.

        A controller may override this to change its gains in every tick; the loop then calls it
        before each, and needs Python for that.
        """
        advance_slots(self.mailbox.box, self.mailbox.taken, self._terms)

    def update(self, q: ArrayLike, v: ArrayLike, time: float = 0.0) -> Effort:
        """The efforts for this state. One Pinocchio pass, one decomposition, one compiled law."""
        q, v = self._state(q, v)
        self.advance()
        self.model.prepare(q, v, time)
        self._compute(False, q, v)
        return self.effort

    def stop(self, q: ArrayLike, v: ArrayLike, time: float = 0.0) -> Effort:
        """Efforts that carry the arm's weight and brake its motion, whatever the reference says.

        For any state, not only that of the tick after the last: what directions the constraint had
        before is forgotten.
        """
        q, v = self._state(q, v)
        self._terms.kept_rank[0] = 0.0
        self.model.prepare(q, v, time)
        self._compute(True, q, v)
        return self.effort

    @property
    def controllable(self) -> bool:
        """Whether the motors reached all free motions at the last tick."""
        return bool(self._terms.margins[1] > CONTROLLABILITY_TOLERANCE)

    @property
    def margins(self) -> Array:
        """How far the last tick was from dependent coordinates, and from losing passive joints.

        The smallest singular values of J_θ P (of J_θ where the law does not know of the constraint)
        and of the rows of I − P that belong to passive joints, 1 where there are none. A tick knows
        only that they are large enough; here they are found.
        """
        model, P = self.model, self.model.P
        free = model.J_theta @ P if self.task.projected[0] else model.J_theta
        reach, whole = 1.0, model.span.V[model.span.share == 1.0]
        if self.passive.size:  # what is on its way out of P is no help: what A says now counts too
            rows = (np.eye(model.n) - P)[self.passive], whole.T[self.passive] @ whole
            reach = min(float(singular_values(each).min()) for each in rows)
        return np.array([singular_values(free).min(initial=np.inf), reach])

    def require_controllable(self, q: ArrayLike) -> None:
        """Refuse a configuration in which some free motion is out of the motors' reach."""
        place = validate.finite_array("position", q, (self.model.n,))
        self.stop(place, np.zeros(self.model.n), self.model.time)
        if not self.controllable:
            raise Uncontrollable(
                f"with {sorted(self.model.arm.passive)} passive the motors cannot move the arm in "
                f"all its {self.model.free_directions} free directions at q = "
                f"{np.round(place, 6).tolist()}: the controllability margin is "
                f"{self.margins[1]:.3g}, needed is more than {CONTROLLABILITY_TOLERANCE:g}; "
                "actuate more joints or start from another pose"
            )

    def reset(self) -> None:
        """Forget what a controller remembers from tick to tick."""
        self._terms.effort[:] = 0.0
        self._terms.error[:] = 0.0
        if self._estimates and self._source is not None:
            reset_surface(self.model, self._terms, self._source)
        for part in FORGOTTEN:
            getattr(self._terms, part)[:] = 0.0
        self._terms.motion_share[0] = 1.0
        self.contacts.reset()
        if self.force is not None:
            self.force.reset()

    def _state(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        n = self.model.n
        return validate.vector("q", q, n), validate.vector("v", v, n)

    def _close_force_loop(self, gains: ForceGains | None) -> None:
        """Control λ, where gains for it are given."""
        if gains is not None:
            units = self.model.constraint.row_units if self.model.constraint else ()
            self._terms.lengths[:] = [float(unit == "m") for unit in units]
            self.force = ForceLoopState(
                gains, self._terms, self.period, self.mailbox, self._normal_masses
            )
            self.set_delay(gains.delay)

    def _normal_masses(self) -> Array:
        return normal_masses(self.model, self._terms.controlled)

    def _compute(self, stop: bool, q: Array, v: Array) -> None:
        from projected_control.control.laws import compute  # all of them, which build on this class

        compute(
            self.law_number,
            stop,
            self.model.time,
            q,
            v,
            *self.model.arguments,
            self.passive,
            self.work,
        )


def refuse_passive(model: ConstrainedArm) -> None:
    """Raise where a joint has no motor."""
    if model.arm.passive:
        raise InvalidValue(
            f"joints {sorted(model.arm.passive)} are passive, and this law would ask them for "
            "torque; use the passive-joint controller"
        )
