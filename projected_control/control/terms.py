"""What the laws read and write, laid out in one array."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import RULES
from projected_control.control.live import BLENDS
from projected_control.control.one_sided_terms import ONE_SIDED
from projected_control.control.task_terms import TASK
from projected_control.model.constrained_arm import Terms
from projected_control.model.span import SPAN
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


SURFACE_NUMBERS = 24
"""What is known of an estimated surface, see `control.surface`."""

CLOCK_NUMBERS = 6
"""What a path's clock is, see `control.path_clock`."""

LEDGER_NUMBERS = 7
"""What a ledger of energy has, see `control.energy`."""


class Effort(NamedTuple):
    """Joint efforts of one tick [N·m or N]. Live arrays: copy what is to be kept.

    Attributes:
        tangent: f∥, which moves the arm.
        normal: f⊥, which presses on the constraint.
        total: Their sum, which is sent.
    """

    tangent: Array
    normal: Array
    total: Array


class ControlTerms(NamedTuple):
    """A law's references, gains, state and results.

    The sizes are n joints, p of them passive, m constraint rows and k coordinates. Joint-space
    quantities are in the coordinates of the metric W (see `Metric`), but for effort.
    """

    path_clock: Annotated[
        Array, Part(f"{CLOCK_NUMBERS}", "How late the path is, and how slow; see `path_clock`.")
    ]
    path_motion: Annotated[
        Array, Part("2, k", "θ̇ and θ̈ by the path's own time, where it is slow, as J_θ counts them.")
    ]
    path_ahead: Annotated[Array, Part("3, k", "The path where it is looked at ahead.")]
    reference_acceleration: Annotated[
        Array, Part("k", "Largest acceleration on the way back to full rate [m/s² or rad/s²].")
    ]
    motion_share: Annotated[Array, Part("1", "Share of the motion that limits leave, 0 to 1.")]
    given_up: Annotated[
        Array, Part("k", "θ̈ reached − asked for, where that is below 1 [m/s² or rad/s²].")
    ]
    motion_reached: Annotated[Array, Part("k", "θ̈ that was reached then [m/s² or rad/s²].")]
    motion: Annotated[Array, Part("3, k", "Reference: θ_d, θ̇_d, θ̈_d.")]
    gains: Annotated[Array, Part("3, k", "G_P, G_D and null-space damping d.")]
    all_gains: Annotated[Array, Part("3 * k", "The same, as one vector.", at="gains")]
    blends: Annotated[Array, Part(BLENDS.length, "How live numbers come into force, `Blends`.")]
    posture: Annotated[Array, Part("n", "q₀, where free motions are drawn to, in joint units.")]
    posture_gains: Annotated[Array, Part("2", "K₀ [1/s²] and D₀ [1/s]; zero for none.")]
    posture_bound: Annotated[
        Array, Part("1", "Distance from it that is an event [rad or m]; zero for none.")
    ]
    stop_for: Annotated[Array, Part("1", "How long the arm has been in a damped stop [s].")]
    anchor: Annotated[Array, Part("n", "Where it is held in a stop, in joint units.")]
    interrupted: Annotated[
        Array, Part("1", "How long the reference has not been followed, by the last tick [s].")
    ]
    rejoin: Annotated[
        Array, Part("3", "τ and T [s] of the way back to the reference, and 1 − s; zeros for none.")
    ]
    left: Annotated[Array, Part("2, k", "θ₀ and θ̇₀, where that way began; see `rejoining`.")]
    withheld: Annotated[Array, Part("1", "Share of λ_d that is not back after a stop.")]
    period: Annotated[Array, Part("1", "Period of the loop [s].")]
    delay: Annotated[Array, Part("1", "From a state to the effect of its answer [samples].")]
    friction_gains: Annotated[
        Array, Part("5, n", "Coulomb, static, Stribeck velocity, viscous, width; in joint units.")
    ]
    contact_gains: Annotated[Array, Part("2", "µ at the contact, and its width [m/s].")]
    all_friction: Annotated[Array, Part("5 * n + 2", "The two above.", at="friction_gains")]
    contact: Annotated[Array, Part("4", "Joint of the contact, 0 for none; its place there [m].")]
    contact_support: Annotated[Array, Part("n", "1 for each joint that moves the contact.")]
    contact_rows: Annotated[Array, Part("m", "1 for each row whose λ presses on the contact.")]
    contact_jacobian: Annotated[Array, Part("6, n", "J_c, linear above angular, in joint units.")]
    v_desired: Annotated[Array, Part("n", "q̇_d, in joint units.")]
    a_desired: Annotated[Array, Part("n", "(J_θ P)⁺ θ̈_d, in joint units.")]
    friction: Annotated[Array, Part("n", "Friction that is compensated [N·m or N].")]
    disturbance_kind: Annotated[Array, Part("1", "A `DisturbanceKind`.")]
    disturbance_gains: Annotated[
        Array, Part("3 + k", "K_I [1/s³], limits of integral and effort, band of each coordinate.")
    ]
    disturbance: Annotated[Array, Part("n", "r, as observed [N·m or N].")]
    integral: Annotated[Array, Part("k", "K_I ∫ e dt [m/s² or rad/s²].")]
    limited: Annotated[Array, Part("1", "1 where the last effort was limited, else 0.")]
    waits: Annotated[Array, Part("1", "1 where integral and observer wait, else 0.")]
    surface: Annotated[Array, Part(f"{SURFACE_NUMBERS}", "See `control.surface`.")]
    surface_jacobian: Annotated[Array, Part("6, n", "J of the point on it, in joint units.")]
    surface_support: Annotated[Array, Part("n", "1 for each joint that moves it.")]
    h: Annotated[Array, Part("n", "h, with friction and disturbance that are taken away.")]
    topology: Annotated[Array, Part("k", "`Topology` of each coordinate.")]
    error: Annotated[Array, Part("2, k", "e = θ_d − θ and ė; of a rotation see `turning_error`.")]
    feedforward: Annotated[Array, Part("k", "θ̈_d; of a rotation see `turning_error`.")]
    effort: Annotated[Array, Part("3, n", "Tangent, normal and total, in joint units.")]
    lambda_motion: Annotated[Array, Part("3, m", "λ_d and its derivatives, by the reference.")]
    lambda_desired: Annotated[Array, Part("m", "λ_d [N or N·m].")]
    lambda_measured: Annotated[Array, Part("m", "λ, NaN where it is unknown.")]
    u_lambda: Annotated[Array, Part("m", "u_λ, the output of the force loop [N or N·m].")]
    controlled: Annotated[Array, Part("m", "1 for each row whose force is controlled, else 0.")]
    uncontrolled: Annotated[Array, Part("1", "How many rows are not.")]
    definite: Annotated[
        Array, Part("1", "1 where the rows controlled have a force of their own, 0 where not.")
    ]
    pressed: Annotated[Array, Part("m", "Multipliers that the normal effort is made of.")]
    force_state: Annotated[Array, Part("3, m", "Filtered λ, integral's share of u_λ, e_λ.")]
    force_gains: Annotated[Array, Part("4", "See `ForceGains.array`.")]
    normal_damping: Annotated[Array, Part("1", "d_n along rows that are lengths [N·s/m].")]
    force_derivative: Annotated[Array, Part("1", "G_V, on the rate of the filtered e_λ [s].")]
    lengths: Annotated[Array, Part("m", "1 for each row that is a length, 0 for an angle.")]
    anti_windup: Annotated[
        Array, Part("3", "Strategy, period over tracking time, largest integral [N or N·m].")
    ]
    force_rate: Annotated[Array, Part("1", "Most of λ_d that comes back per tick [N or N·m].")]
    shortfall: Annotated[Array, Part("m", "What limits took away, as a force [N or N·m].")]
    doubted: Annotated[Array, Part("1", "1 where the force loop waits for its sign, else 0.")]
    integrate: Annotated[Array, Part("1", "Zero stops the force loop's integral.")]
    force_loop: Annotated[Array, Part("1", "1 where the force loop is closed, else 0.")]
    yielded: Annotated[
        Array, Part("2, k", "x_c and its rate: by how much an admittance gives way [m or rad].")
    ]
    impedance: Annotated[
        Array, Part("3 * k * k + 1", "K, D, Λ_d⁻¹ in the task axes and ζ, see `Impedance.array`.")
    ]
    scale: Annotated[Array, Part("k", "Length of a coordinate that is an angle, else one [m].")]
    force_limits: Annotated[
        Array, Part("m + 2", "λ_max of each row; 1 to prefer force; 1 to stop; see `Limits`.")
    ]
    contact_rules: Annotated[Array, Part(f"{RULES}", "Of contacts, see `Contact.rules`.")]
    contact_switches: Annotated[
        Array, Part("m", "Odd at the first row of a contact that is to be made; see `switched`.")
    ]
    one_sided: Annotated[Array, Part(ONE_SIDED.length, "See `OneSidedTerms`.")]
    collision: Annotated[
        Array, Part("2", "Effort of an unexpected contact [N·m or N], 0 for none; 1 to stop.")
    ]
    sudden: Annotated[Array, Part("2, n", "What nothing explains, fast and slow [N·m or N].")]
    watched_for: Annotated[Array, Part("1", "How long it has been looked at [s], to 0.1 s.")]
    collided_for: Annotated[Array, Part("1", "For how many ticks it has been too much.")]
    unpressed: Annotated[Array, Part("m", "1 for each row that nothing presses on, else 0.")]
    unseen: Annotated[Array, Part("m", "1 for each row whose rate is not to be trusted, else 0.")]
    not_asked: Annotated[Array, Part("m", "What of λ_d is not asked yet [N or N·m].")]
    path_waits: Annotated[Array, Part("1", "1 where the path waits for a contact, else 0.")]
    ledger: Annotated[Array, Part(f"{LEDGER_NUMBERS}", "What was given and taken; see `energy`.")]
    ledger_forces: Annotated[
        Array, Part("4, m", "By damping, feedback, reference, compensation, since the last tick.")
    ]
    ledger_rates: Annotated[Array, Part("2, m", "A q̇ − ẋ and ẋ of the last tick.")]
    above_for: Annotated[Array, Part("m", "For how many ticks λ was above λ_max.")]
    held_back: Annotated[Array, Part("m", "By how much λ_max is lowered for it [N or N·m].")]
    solved: Annotated[Array, Part("n", "What may be sent of the effort, in joint units.")]
    binds: Annotated[Array, Part("n", "What limits each joint: a sum of `Binding`s.")]
    ceiling_binds: Annotated[Array, Part("m", "1 where λ is at its ceiling, else 0.")]
    force_given_up: Annotated[Array, Part("m", "What they changed of λ [N or N·m].")]
    solver_steps: Annotated[Array, Part("1", "Steps of the solver; 0 where it was not needed.")]
    task: Annotated[Array, Part(TASK.length, "Of the laws in task space, see `TaskTerms`.")]
    margins: Annotated[
        Array,
        Part("2", "At least so far are coordinates from dependent, passive joints from lost."),
    ]
    kept_rank: Annotated[Array, Part("1", "Rank of the last P that was not held, see rank_change.")]
    kept_for: Annotated[Array, Part("1", "How long what has dropped out has been kept [s].")]
    kept_span: Annotated[Array, Part(SPAN.length, "A decomposed, before the rank fell.")]
    cut_P: Annotated[Array, Part("n, n", "P without what fades, where something does.")]
    free_span: Annotated[
        Array, Part(SPAN.length_with(m="k"), "J_θ P decomposed, or J_θ, by `invert_motion`.")
    ]
    b_desired: Annotated[Array, Part("m", "b, with feedback on Φ where the law has one.")]
    a: Annotated[Array, Part("k", "θ̈ that is still missing in u_p.")]
    u_p: Annotated[Array, Part("n", "The acceleration asked for.")]
    full: Annotated[Array, Part("n", "f = h + M u_p, what IDC sends.")]
    tangent: Annotated[Array, Part("n", "f∥ = P f.")]
    normal: Annotated[Array, Part("n", "f⊥.")]
    net: Annotated[Array, Part("n", "f∥ − P h.")]
    normal_acceleration: Annotated[Array, Part("n", "C q̇ = A⁺b.")]
    acceleration: Annotated[Array, Part("n", "q̈ under f∥.")]
    load: Annotated[Array, Part("n", "h + M q̈.")]
    as_asked: Annotated[
        Array, Part("1", "1 where q̈ under f∥ is u_p, as A u_p = b and f∥ = P (h + M u_p).")
    ]
    Q_p: Annotated[Array, Part("p, n", "Rows of I − P that belong to passive joints.")]
    passive_span: Annotated[Array, Part(SPAN.length_with(m="p"), "Q_p decomposed.")]
    contact_span: Annotated[
        Array, Part(SPAN.length_with(m="p", n="m"), "Their columns of A decomposed, transposed.")
    ]
    refused: Annotated[Array, Part("p", "What passive joints would be asked for.")]


CONTROL = Layout(ControlTerms, "n", "m", "k", "p")
_unpack = CONTROL.unpack


@compiled
def unpack_control(work: Array, t: Terms, passive: int) -> ControlTerms:
    """The parts of a controller's workspace for this model and this number of passive joints."""
    return _unpack(work, t.h.size, t.b.size, t.theta.size, passive)
