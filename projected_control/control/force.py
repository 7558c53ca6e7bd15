"""Control of the constraint force, alone and together with motion (hybrid).

    f⊥ = h⊥ + µ (f∥ − h∥ + M C q̇) + Aᵀ u_λ,    µ = (I − P) M M_c⁻¹       (Aghili 49, corrected)
    u_λ = λ_d + G_F e_λ + G_I ∫ e_λ dt + G_V ė_λ,    e_λ = λ_d − λ       (Aghili 50, on λ)

The first two terms cancel what gravity and the motion itself do to the constraint, so that λ = u_λ
and (G_F + 1) ė_λ + G_I e_λ = 0, whatever the motion. They are computed as (I − P)(h + M q̈), q̈ being
the acceleration that f∥ will give, which is the same thing.

The integral is of λ, not of the vector F: that one leaves the normal space while the arm moves and
then disturbs the motion. The derivative, which makes it a PID (G_V, zero unless asked for), is that
of the filtered λ, λ̇ = (1 − a)/(a T) (λ − λ_filtered).

On a surface that gives, the normal direction moves as well, and u_λ has −d_n (A q̇ − ẋ) on top, in
rows that are lengths (`contact_stability`); a rigid one does not let A q̇ differ from ẋ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import compiled, kernel
from projected_control.control.contact import RIGID, Contact
from projected_control.control.contact_stability import ContactLoop
from projected_control.control.gains import BLEND_SECONDS
from projected_control.control.holding import along_normal, damped_rate, is_head, least_force
from projected_control.control.mailbox import Mailbox
from projected_control.control.motion import carry_all
from projected_control.control.one_sided_terms import OneSidedTerms, unpack_one_sided
from projected_control.control.rank_change import counts_as_full
from projected_control.control.stability import ForceLoop
from projected_control.control.terms import ControlTerms
from projected_control.declaration import SMALL, Group, called, key_of, parameter
from projected_control.errors import InvalidValue, UnstableForceLoop
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec,
    matvec_add,
    matvec_transposed,
    matvec_transposed_add,
)
from projected_control.model.on_constraint import (
    find_acceleration,
    free_part,
    is_whole,
    least_motion,
    multipliers_of,
    normal_part,
)

Array = NDArray[np.float64]

SHARED = 0.1
"""Entry of A A⁺ between a row that is controlled and one that is not, from which on neither has a
force of its own."""

ROUNDED = 1e-9
"""Up to which such an entry is rounding."""

WAY_POINTS = 12
"""Number of points on the way to new gains at which the loop must be stable."""


class AntiWindup(Enum):
    """What the integral does while the motors cannot give what is asked of them."""

    NONE = "none"
    """It goes on, up to its limit."""
    CONDITIONAL = "conditional"
    """It waits while the effort is limited."""
    BACK_CALCULATION = "back_calculation"
    """It is led back by what the limits took away, within the tracking time."""


_STRATEGIES = tuple(AntiWindup)
_CONDITIONAL = _STRATEGIES.index(AntiWindup.CONDITIONAL)
_BACK_CALCULATION = _STRATEGIES.index(AntiWindup.BACK_CALCULATION)


@dataclass(frozen=True)
class ForceGains(Group):
    """The PI loop on λ; the cut-off may be None as well as 0 for no low-pass."""

    proportional: float = parameter(3.0, "G_F", minimum=0.0, maximum=1e4, live=True)
    integral: float = parameter(0.1, "G_I", "1/s", minimum=0.0, maximum=1e5, live=True)
    cutoff: float | None = parameter(
        50.0,
        "Cut-off of the low-pass on the measured force; 0 for none",
        "Hz",
        minimum=0.0,
        maximum=1e5,
        live=True,
    )
    delay: int = parameter(
        1,
        "Samples from a torque to its effect in the measured force",
        "samples",
        minimum=1,
        maximum=100,
        live=True,
    )
    integral_limit: float = parameter(
        100.0, "Largest share of the integral", "N", minimum=SMALL, maximum=1e6, live=True
    )
    anti_windup: AntiWindup = parameter(
        AntiWindup.CONDITIONAL, "What the integral does while efforts are limited", live=True
    )
    tracking_time: float = parameter(
        0.1, "Time constant of back-calculation", "s", minimum=1e-4, maximum=100.0, live=True
    )
    normal_damping: float = parameter(
        0.0,
        "d_n: damping of the motion across the constraint, which a surface that gives permits "
        "(contact.stiffness); of rows that are lengths",
        "N·s/m",
        minimum=0.0,
        maximum=1e7,
        live=True,
    )
    max_rate: float = parameter(
        200.0,
        "Largest rate at which λ_d goes to a new reference, of ~/force_reference or "
        "force.reference, while the controller is active, and comes back after a stop",
        "N/s or N·m/s",
        minimum=1e-3,
        maximum=1e9,
        live=True,
    )
    derivative: float = parameter(
        0.0,
        "G_V, on the rate of the filtered error, which takes a low-pass (force.cutoff)",
        "s",
        minimum=0.0,
        maximum=10.0,
        live=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "anti_windup", AntiWindup(self.anti_windup))
        validate.positive("integral limit", self.integral_limit)
        validate.positive("tracking time", self.tracking_time)
        validate.not_negative("damping along the normal d_n", self.normal_damping)
        validate.positive("largest rate of λ_d", self.max_rate)
        if validate.not_negative("derivative force gain G_V", self.derivative) and not self.cutoff:
            raise InvalidValue(
                f"a derivative of the force ({called(self, 'derivative')}) needs a low-pass: set "
                f"{called(self, 'cutoff')} above 0",
                key=key_of(self, "derivative"),
            )
        self.loop(1e-3)

    def loop(self, period: float) -> ForceLoop:
        """The sampled loop these gains make."""
        gains = self.proportional, self.integral
        return ForceLoop(*gains, period, self.cutoff or None, self.delay, self.derivative)

    def array(self, period: float) -> Array:
        """G_F, G_I T, the filter's pole a, and the integral's limit."""
        loop = self.loop(period).require_stable()
        return np.array([self.proportional, self.integral * period, loop.pole, self.integral_limit])

    def anti_windup_array(self, period: float) -> Array:
        """Number of the strategy, T over the tracking time, and the integral's limit."""
        strategy = _STRATEGIES.index(self.anti_windup)
        return np.array([strategy, period / self.tracking_time, self.integral_limit])

    def rate_array(self, period: float) -> Array:
        """By how much λ_d comes back after a stop, in one period [N or N·m]."""
        return np.array([self.max_rate * period])


@compiled
def keep_in_range(t: Terms, c: ControlTerms, multipliers: Array) -> None:
    """x ← A A⁺ x: where rows repeat each other, what no force can be is taken out of x."""
    least_motion(t, multipliers, c.load)
    matvec(t.A, c.load, multipliers)
    for j in range(multipliers.size):
        multipliers[j] *= 1.0 - c.unpressed[j]


@kernel
def own_force(t: Terms, c: ControlTerms) -> float:
    """1 where the rows that are controlled have a force of their own, 0 where they share it.

    Where a controlled row depends on one that is not, as with the same plane twice, λ of either
    may be anything: I − A A⁺ then couples the two. Towards that the force fades.
    """
    shared = 0.0
    for j in range(t.b.size):
        if c.controlled[j] == 0.0:
            fill(c.pressed, 0.0)
            c.pressed[j] = 1.0
            least_motion(t, c.pressed, c.load)
            for i in range(t.b.size):
                if c.controlled[i] != 0.0:
                    shared = max(shared, abs(dot(t.A[i], c.load)))
    return 1.0 if shared < ROUNDED else max(0.0, 1.0 - shared / SHARED)


@compiled
def force_feedback(wait: bool, t: Terms, c: ControlTerms) -> None:
    """u_λ from the filtered error; a measurement that is not finite is skipped.

    Where A has less than full row rank, λ, e_λ, the integral and u_λ are kept in R(A), so that
    nothing winds up in directions that do not exist. Rows that are not controlled have no part,
    and where one that is depends on them, the integral waits (see `own_force`).
    While measured force and model go apart (`force_kernels.watch_sign`), there is no feedback.
    After a stop, λ_d and the integral are led back (see `rejoining`), and the integral waits.

    Args:
        wait: Leave the integral as it is: the effort will not be that of this law.
        t: The evaluated model.
        c: Reference, measurement, gains and state, and what is computed.
    """
    G_F, integral_step, pole, limit = c.force_gains
    filtered, integral, error = c.force_state[0], c.force_state[1], c.force_state[2]
    m = c.u_lambda.size
    asked = 1.0 - c.withheld[0]
    redundant = not counts_as_full(t, c)
    c.definite[0] = own_force(t, c) if redundant and c.uncontrolled[0] != 0.0 else 1.0
    wait = wait or c.definite[0] < 1.0 or asked < 1.0
    for j in range(m):
        known = np.isfinite(c.lambda_measured[j])
        if known:
            if np.isfinite(filtered[j]):
                filtered[j] += (1.0 - pole) * (c.lambda_measured[j] - filtered[j])
            else:
                filtered[j] = c.lambda_measured[j]
        error[j] = 0.0
        felt = c.controlled[j] != 0.0 and c.unpressed[j] == 0.0
        if np.isfinite(filtered[j]) and felt and c.doubted[0] == 0.0:
            error[j] = asked * c.lambda_desired[j] - c.not_asked[j] - filtered[j]
    if redundant:
        keep_in_range(t, c, error)
    for j in range(m):
        known = np.isfinite(c.lambda_measured[j])
        if known and np.isfinite(error[j]) and c.integrate[0] != 0.0 and not wait:
            integral[j] = min(max(integral[j] + integral_step * error[j], -limit), limit)
    if redundant:
        keep_in_range(t, c, integral)
    for j in range(m):
        if c.controlled[j] == 0.0:
            integral[j] = 0.0
        wanted = asked * c.lambda_desired[j] - c.not_asked[j] + G_F * error[j]
        c.u_lambda[j] = c.controlled[j] * (wanted + asked * integral[j])
    if c.force_derivative[0] != 0.0 and pole > 0.0:
        gain = c.force_derivative[0] * (1.0 - pole) / (pole * c.period[0])
        for j in range(m):
            lag = c.lambda_measured[j] - filtered[j]
            if np.isfinite(lag) and c.unpressed[j] == 0.0 and c.doubted[0] == 0.0:
                rate = asked * c.force_derivative[0] * c.lambda_motion[1, j]
                c.u_lambda[j] += c.controlled[j] * (rate - gain * lag)
    o = unpack_one_sided(c.one_sided, m)
    if o.total[0] != 0.0:
        press_one_sided(c, o)
    if c.normal_damping[0] != 0.0:
        damp_normal(t, c)
    if redundant:
        keep_in_range(t, c, c.u_lambda)


@compiled
def press_one_sided(c: ControlTerms, o: OneSidedTerms) -> None:
    """u_λ of one that is lost is what its approach presses with, else `least_force` at least.

    What is bounded here is what is asked; what it takes to keep λ so is the solver's.
    """
    o.bounded[0], least = 0.0, least_force(c, o)
    for r in range(c.u_lambda.size):
        if not is_head(r, o):
            continue
        lacks = 0.0
        if c.unpressed[r] == 0.0:
            lacks = max(least - along_normal(r, c.u_lambda, o), 0.0)
            asked = along_normal(r, c.lambda_desired, o)
            o.bounded[0] = max(o.bounded[0], 1.0 if asked < least else 0.0)
        for j in range(r, c.u_lambda.size):
            if o.head[j] == r + 1.0:
                pressed = c.u_lambda[j] + lacks * o.normal[j]
                c.u_lambda[j] = o.normal[j] * o.press[r] if c.unpressed[j] != 0.0 else pressed


@compiled
def damp_normal(t: Terms, c: ControlTerms) -> None:
    """u_λ ← u_λ − d_n (A q̇ − ẋ), in the controlled rows that are lengths; see `damped_rate`."""
    matvec(t.A, t.v, c.pressed)
    o = unpack_one_sided(c.one_sided, c.u_lambda.size)
    for j in range(c.u_lambda.size):
        rate = (1.0 - c.unseen[j]) * (1.0 - c.unpressed[j]) * (c.pressed[j] - t.target[1, j])
        if c.unseen[j] != 0.0:
            rate = o.normal[j] * damped_rate(int(o.head[j]) - 1, o)
        c.u_lambda[j] -= c.controlled[j] * c.lengths[j] * c.normal_damping[0] * rate


@kernel
def lead_integral(limited: bool, c: ControlTerms) -> None:
    """Anti-windup: the integral waits, or is led back by the shortfall, while limits act."""
    strategy = int(c.anti_windup[0])
    c.integrate[0] = 0.0 if limited and strategy == _CONDITIONAL else 1.0
    if limited and strategy == _BACK_CALCULATION:
        integral, limit = c.force_state[1], c.anti_windup[2]
        axpy(c.anti_windup[1], c.shortfall, integral)
        for j in range(integral.size):
            integral[j] = min(max(integral[j], -limit), limit)


@compiled
def normal_effort(t: Terms, c: ControlTerms) -> None:
    """normal = (I − P)(h + M q̈) + Aᵀ u_λ, with q̈ the acceleration under f∥ = tangent.

    M_c q̈ = f∥ − P h + M C q̇,   C q̇ = A⁺b; where f∥ = P (h + M u_p) and A u_p = b, that is u_p.

    Where only some rows S are controlled, nothing is spent on the others:
    normal = Aᵀ S (A⁺ᵀ(h + M q̈) + u_λ), and nothing at all where S shares its force with them.
    """
    if c.as_asked[0] != 0.0 and is_whole(t):
        copy(c.full, c.load)
    else:
        copy(c.tangent, c.net)
        free_part(t, c.h, c.load)
        axpy(-1.0, c.load, c.net)
        find_acceleration(t, c.net, t.b, c.acceleration)
        copy(c.h, c.load)
        matvec_add(t.M, c.acceleration, c.load)
    if c.uncontrolled[0] != 0.0:
        multipliers_of(t, c.load, c.pressed)
        for j in range(c.pressed.size):
            c.pressed[j] += c.u_lambda[j]
            c.pressed[j] *= c.controlled[j] * c.definite[0]
        matvec_transposed(t.A, c.pressed, c.normal)
        return
    normal_part(t, c.load, c.normal)
    matvec_transposed_add(t.A, c.u_lambda, c.normal)


@compiled
def hold_force(stop: bool, t: Terms, c: ControlTerms) -> None:
    """normal from the force loop; in a stop the arm carries itself, at λ = 0."""
    force_feedback(stop, t, c)
    if stop:
        carry_all(t, c)
    else:
        normal_effort(t, c)


class ForceLoopState:
    """Reference, measurement, gains and state of a force loop.

    Attributes:
        controlled: 1 for each row whose force is controlled, else 0.
        desired: λ_d, m; written by what plans the force [N or N·m].
        measured: λ, m; written by what measures it.
        gains: The gains in force, or those being blended in.
        contact: What the arm presses on; rigid unless `set_contact` said otherwise.
        source_cutoff: Cut-off of what finds λ, before the filter here [Hz]; None for none.

    Args:
        gains: To begin with.
        terms, period, mailbox: Of the controller.
        masses: What moves along the normal where the arm is [kg], see `normal_masses`.
    """

    contact: Contact = RIGID
    source_cutoff: float | None = None

    def __init__(
        self,
        gains: ForceGains,
        terms: ControlTerms,
        period: float,
        mailbox: Mailbox,
        masses: Callable[[], Array],
    ) -> None:
        if terms.lambda_desired.size == 0:
            raise InvalidValue("force control needs a constraint: the model has none")
        self.gains, self.period = gains, period
        self.desired, self.measured = terms.lambda_desired, terms.lambda_measured
        self._terms, self._mailbox, self._masses = terms, mailbox, masses
        self._integrate, self._state = terms.integrate, terms.force_state
        self.controlled, self._uncontrolled = terms.controlled, terms.uncontrolled
        self.controlled[:] = terms.force_loop[:] = terms.definite[:] = 1.0
        terms.force_gains[:] = gains.array(period)
        terms.anti_windup[:] = gains.anti_windup_array(period)
        terms.normal_damping[0] = gains.normal_damping
        terms.force_derivative[0] = gains.derivative
        terms.force_rate[:] = gains.rate_array(period)
        self.reset()

    @property
    def filtered(self) -> Array:
        """λ after the low-pass; NaN before the first measurement."""
        return self._state[0]

    @property
    def integral(self) -> Array:
        """The integral's share of u_λ."""
        return self._state[1]

    @property
    def error(self) -> Array:
        """e_λ of the last tick."""
        return self._state[2]

    def set_gains(self, gains: ForceGains, seconds: float = BLEND_SECONDS) -> None:
        """Change the gains while running; unstable ones are refused and the old ones stay.

        So are those on the way to which the blended loop would be unstable.
        """
        self.put_gains(gains, self.check_gains(gains, seconds), seconds)

    def put_gains(
        self,
        gains: ForceGains,
        target: Array,
        seconds: float = BLEND_SECONDS,
        contact: Contact | None = None,
    ) -> None:
        """Put gains, and a contact, into force that `check_gains` has answered with this target."""
        seconds = validate.not_negative("blend time", seconds)
        with self._mailbox.together():
            self._mailbox.post("force_gains", target, seconds)
            self._mailbox.post("anti_windup", gains.anti_windup_array(self.period))
            self._mailbox.post("normal_damping", [gains.normal_damping], seconds)
            self._mailbox.post("force_derivative", [gains.derivative], seconds)
            self._mailbox.post("force_rate", gains.rate_array(self.period))
        self.gains, self.contact = gains, self.contact if contact is None else contact

    def check_gains(
        self, gains: ForceGains, seconds: float = BLEND_SECONDS, contact: Contact | None = None
    ) -> Array:
        """What `set_gains` would blend to; raises where it would refuse them.

        So it does where they would be unstable on this contact, or on the one that is known.
        """
        target = gains.array(self.period)
        contact = self.contact if contact is None else contact
        self.contact_loop(gains, contact).require_stable()
        if seconds > 0.0:
            self._refuse_unstable_way(gains, target, contact)
        return target

    def set_contact(self, contact: Contact) -> None:
        """What the arm presses on; refused where the loop would diverge on it where the arm is."""
        self.check_gains(self.gains, 0.0, contact)
        self.contact = contact

    @property
    def masses(self) -> Array:
        """What moves along the normal where the arm is [kg], see `normal_masses`."""
        return self._masses()

    def contact_loop(
        self,
        gains: ForceGains | None = None,
        contact: Contact | None = None,
        masses: Array | None = None,
    ) -> ContactLoop:
        """The sampled loop of these gains on this contact where the arm is.

        Each is the one in force unless given. Without masses (see `normal_masses`) there is
        nothing that could diverge: before the model was evaluated, and where nothing is pressed.
        """
        gains = self.gains if gains is None else gains
        contact = self.contact if contact is None else contact
        if contact.gives and self._terms.refused.size:
            raise InvalidValue(
                "contact.stiffness is not known for an arm with passive joints: what they take "
                "from the normal effort is not in its sampled loop; leave it empty",
                key="contact.stiffness",
            )
        if masses is None:
            acts = contact.gives and self._terms.force_loop[0] != 0.0
            masses = self.masses if acts else np.zeros(0)
        loop = self._seen_through_source(gains.loop(self.period))
        return ContactLoop(loop, gains.normal_damping, contact.stiffnesses, masses)

    def _seen_through_source(self, loop: ForceLoop) -> ForceLoop:
        """With the lag of what finds λ in its filter: two low-passes are about one of both lags."""
        if self.source_cutoff is None:
            return loop
        lag = 1.0 / self.source_cutoff + (0.0 if loop.cutoff is None else 1.0 / loop.cutoff)
        return replace(loop, cutoff=1.0 / lag)

    def _refuse_unstable_way(self, gains: ForceGains, target: Array, contact: Contact) -> None:
        start, delay = self._terms.force_gains, max(gains.delay, self.gains.delay)
        from_damping = self._terms.normal_damping[0]
        from_derivative = self._terms.force_derivative[0]
        surfaces = self.contact_loop(gains, contact)
        for weight in np.linspace(0.0, 1.0, WAY_POINTS)[1:-1]:
            proportional, integral_step, pole, _ = start + weight * (target - start)
            cutoff = None if pole <= 0.0 else -np.log(pole) / (2.0 * np.pi * self.period)
            derivative = from_derivative + weight * (gains.derivative - from_derivative)
            integral = integral_step / self.period
            way = ForceLoop(proportional, integral, self.period, cutoff, delay, derivative)
            damping = from_damping + weight * (gains.normal_damping - from_damping)
            on_surface = replace(surfaces, force=self._seen_through_source(way), damping=damping)
            if way.stable and not on_surface.stable:
                raise UnstableForceLoop(
                    "the force loop would diverge on the way to these gains on a surface of "
                    f"{list(contact.stiffness)} N/m (contact.stiffness), at G_F = "
                    f"{proportional:.3g} with d_n = {damping:.4g} N·s/m; change "
                    "force.normal_damping alone first"
                )
            if not way.stable:
                raise UnstableForceLoop(
                    "the force loop would diverge on the way to these gains, at G_F = "
                    f"{proportional:.3g} with a {cutoff or np.inf:.3g} Hz filter; lower G_F alone "
                    "first, then change the filter, then raise G_F"
                )

    def set_reference(self, multipliers: ArrayLike) -> None:
        """λ_d, one number per constraint row."""
        self.desired[:] = validate.finite_array(
            "force reference λ_d", multipliers, self.desired.shape
        )

    def control_rows(self, rows: Sequence[int]) -> None:
        """Control the force of these rows alone, counted from zero; nothing is spent on others."""
        self.controlled[:] = 0.0
        self.controlled[list(rows)] = 1.0
        self._uncontrolled[0] = float(self.controlled.size - self.controlled.sum())

    def expanded(self, multipliers: ArrayLike) -> Array:
        """λ_d for every row, from one number for all, one per controlled row, or one per row."""
        values = np.atleast_1d(np.asarray(multipliers, dtype=np.float64))
        m, rows = self.controlled.size, np.flatnonzero(self.controlled)
        if values.ndim != 1 or values.size not in (1, rows.size, m):
            raise InvalidValue(
                f"the force reference must have {rows.size} numbers, one per row that is "
                f"controlled, got {values.size}"
            )
        if values.size == m:
            return values * self.controlled
        desired = np.zeros(m)
        desired[rows] = values
        return desired

    @property
    def definite(self) -> bool:
        """Whether the rows controlled had a force of their own at the last tick."""
        return bool(self._terms.definite[0] == 1.0)

    def limited(self, shortfall: Array | None) -> None:
        """Tell the loop what the limits did to its effort.

        Args:
            shortfall: What was sent minus what was asked for, in multipliers (m); None where
                nothing was taken away.
        """
        if shortfall is not None:
            self._terms.shortfall[:] = shortfall
        lead_integral(shortfall is not None, self._terms)

    def reset(self) -> None:
        """Forget filter and integral."""
        self._state[:] = 0.0
        self._state[0] = np.nan
        self.measured[:] = np.nan
        self._integrate[0] = 1.0
