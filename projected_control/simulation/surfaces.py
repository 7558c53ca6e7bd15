"""Contacts of a plant that come and go: which rows hold, and surfaces that give.

A row of the plant's constraint is one of these (`Row`):

- **held**, rigid in both directions and for ever, as slider and crank are;
- **one-sided**, rigid: Φ ≤ 0 is free space, the row points into the surface, λ ≥ 0; or the other
  way round (`ContactTerms.side`), as outside of a sphere. It holds or it does not; `impacts`
  decides when;
- **giving**, with or without the other side: it constrains nothing, and pushes back with

      λ = K x (1 + α ẋ) + D ẋ,    x = Φ − x_d,

  Kelvin and Voigt's law for α = 0, Hunt and Crossley's for D = 0; on a one-sided surface nothing
  where x ≤ 0, and never less than nothing.

A surface may **end** (`Extent`): beyond its edge there is nothing to touch. What has come below it
out there has come under it, and does not touch it from below: only from where it is free again.
Which edges have been passed is decided at the beginning of a step.

Rows that do not hold leave P and A⁺ of the evaluated model (`hold_rows`); all else of a step is as
it was. A plant whose rows are all held does not come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled, kernel
from projected_control.declaration import Group, Numbers, parameter
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import Terms, keep_rows
from projected_control.model.kinematics import place, vector
from projected_control.model.linalg import axpy, dot, fill
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class Row(IntEnum):
    """What a row of a plant's constraint is."""

    HELD = 0
    ONE_SIDED = 1
    GIVES = 2
    GIVES_ONE_SIDED = 3


_HELD, _ONE_SIDED, _GIVES, _GIVES_ONE_SIDED = (float(row) for row in Row)

TOUCHING = 1e-9
"""How far from its surface a row may be that still touches it [m or rad]."""

FASTEST = 1.0
"""ω T and D T/m_n of a surface that gives, up to which a step is short enough for it."""


@dataclass(frozen=True)
class Surface(Group):
    """What a simulated arm touches."""

    stiffness: Numbers = parameter(
        (),
        "Stiffness of what holds a simulated arm, in rows that are lengths: of constraints that "
        "are one_sided where there are any, else of all; of two numbers the middle, √(K₁ K₂). "
        "Empty for rigid",
        "N/m",
        minimum=1.0,
        maximum=1e12,
    )
    damping: float = parameter(
        0.0, "Its damping, of a surface that gives", "N·s/m", minimum=0.0, maximum=1e9
    )
    dissipation: float = parameter(
        0.0,
        "Its damping in proportion to stiffness and depth (Hunt and Crossley): λ = K x (1 + α ẋ)",
        "s/m",
        minimum=0.0,
        maximum=1e6,
    )
    restitution: float = parameter(
        0.0,
        "e of rigid one-sided contacts: how fast they separate after an impact, over how fast "
        "they met",
        minimum=0.0,
        maximum=1.0,
    )
    rest_speed: float = parameter(
        1e-3,
        "Speed of an impact below which it does not bounce, so that bounces come to an end",
        "m/s",
        minimum=1e-9,
        maximum=10.0,
    )

    def __post_init__(self) -> None:
        if len(self.stiffness) > 2:
            raise InvalidValue(
                f"contact.stiffness must be one number or two, got {list(self.stiffness)}",
                key="contact.stiffness",
            )
        if not self.gives and (self.damping or self.dissipation):
            raise InvalidValue(
                "contact.damping and contact.dissipation are of a surface that gives: give its "
                "contact.stiffness too, or leave them out",
                key="contact.stiffness",
            )
        if self.gives and self.restitution > 0.0:
            raise InvalidValue(
                "contact.restitution is of a rigid surface; one with contact.stiffness bounces by "
                "itself, less with contact.damping or contact.dissipation",
                key="contact.restitution",
            )

    @property
    def gives(self) -> bool:
        """Whether it is not rigid."""
        return bool(self.stiffness)

    @property
    def K(self) -> float:
        """Its stiffness [N/m]; zero for a rigid one."""
        return float(np.sqrt(self.stiffness[0] * self.stiffness[-1])) if self.gives else 0.0

    @property
    def numbers(self) -> Array:
        """For `ContactTerms.surface`."""
        laws = self.K, self.damping, self.dissipation
        return np.array([*laws, self.restitution, self.rest_speed])


RIGID = Surface()


@dataclass(frozen=True)
class Extent:
    """Where a surface is, and beyond which it ends: a box along the world's axes.

    Attributes:
        frame: Name of the frame whose origin touches it.
        least, most: Its corners [m].
    """

    frame: str
    least: tuple[float, ...]
    most: tuple[float, ...]

    @classmethod
    def of(cls, frame: str, corners: Sequence[float], name: str = "extent") -> Extent:
        """From x, y and z of the one corner, then of the other, in any order."""
        numbers = validate.finite_array(name, corners, (6,)).reshape(2, 3)
        least, most = numbers.min(axis=0), numbers.max(axis=0)
        return cls(frame, tuple(least.tolist()), tuple(most.tolist()))


class ContactTerms(NamedTuple):
    """Contacts of a plant with n joints and m constraint rows."""

    law: Annotated[Array, Part("m", "`Row` of each.")]
    side: Annotated[Array, Part("m", "1 where Φ ≤ 0 is free space, −1 where Φ ≥ 0 is.")]
    kinds: Annotated[Array, Part("2", "How many rows are one-sided and rigid, how many give.")]
    surface: Annotated[
        Array, Part("5", "K [N/m], D [N·s/m], α [s/m], e, and the speed of no bounce [m/s].")
    ]
    holds: Annotated[Array, Part("m", "1 for each row that holds now, else 0.")]
    rows: Annotated[Array, Part("m, n", "A where the model was evaluated last, by side.")]
    gap: Annotated[Array, Part("m", "Φ − x there, by side: negative is free.")]
    extent: Annotated[
        Array,
        Part("m, 10", "What touches: its joint (0 for no end) and place there; box [m]."),
    ]
    outside: Annotated[Array, Part("m", "1 where that is out of its box there, else 0.")]
    beyond: Annotated[
        Array, Part("m", "1 where it has passed the edge and not come back from the free side.")
    ]
    pressed: Annotated[Array, Part("m", "|λ| of the rows that give, there [N].")]
    begin: Annotated[Array, Part("2 * n + 1", "The state where this part of the step began.")]
    begin_time: Annotated[Array, Part("1", "And when [s].")]
    begin_gap: Annotated[Array, Part("m", "Φ − x there.")]
    left: Annotated[Array, Part("1", "What of the step is left from there on [s].")]
    bracket: Annotated[
        Array, Part("5", "Before and after a touch: length [s] and depth [m] of each; trials.")
    ]
    touches: Annotated[Array, Part("m", "1 for each row that an impact, or a force, may act on.")]
    G: Annotated[Array, Part("m, m", "A K Aᵀ of these rows [1/kg].")]
    H: Annotated[Array, Part("m, m", "Of the rows that press, for solving.")]
    u: Annotated[Array, Part("m", "Separation: −(A q̇ − ẋ) by side, or its rate.")]
    after: Annotated[Array, Part("m", "u + G p.")]
    p: Annotated[Array, Part("m", "Impulses [N·s], or forces [N].")]
    trial: Annotated[Array, Part("m", "A solution on the way to p.")]
    active: Annotated[Array, Part("m", "1 for each row that presses, else 0.")]
    impulse: Annotated[Array, Part("m", "All impulses since the start [N·s].")]
    counts: Annotated[Array, Part("3", "Impacts, losses, Painlevé's cases since the start.")]


CONTACTS = Layout(ContactTerms, "n", "m")
unpack_contacts = CONTACTS.unpack


@compiled
def gives(law: float) -> bool:
    """Whether a row of this law pushes back instead of holding."""
    return law >= _GIVES


@compiled
def find_outside(placements: Array, c: ContactTerms) -> None:
    """outside: which places are out of their boxes where the model was evaluated."""
    for r in range(c.law.size):
        joint = int(c.extent[r, 0])
        if joint == 0:
            continue
        box = c.extent[r, 4:]
        x, y, z = place(placements[joint], vector(c.extent[r], 1))
        inside = box[0] <= x <= box[3] and box[1] <= y <= box[4] and box[2] <= z <= box[5]
        c.outside[r] = 0.0 if inside else 1.0


@compiled
def pass_edges(c: ContactTerms) -> None:
    """beyond, at the beginning of a step."""
    for r in range(c.law.size):
        if c.outside[r] != 0.0:
            c.beyond[r] = 1.0
        elif c.gap[r] <= TOUCHING:
            c.beyond[r] = 0.0


@compiled
def is_there(r: int, c: ContactTerms) -> bool:
    """Whether there is anything of a row's surface to touch."""
    return c.outside[r] == 0.0 and c.beyond[r] == 0.0


@compiled
def note_gaps(placements: Array, c: ContactTerms, t: Terms) -> None:
    """Keep rows and Φ − x of an evaluated model, and let the rows go that do not hold."""
    find_outside(placements, c)
    for r in range(c.side.size):
        c.gap[r] = c.side[r] * t.residual[r]
        for i in range(t.v.size):
            c.rows[r, i] = c.side[r] * t.jacobian[r, i]
    hold_rows(c, t)


@compiled
def hold_rows(c: ContactTerms, t: Terms) -> None:
    """P and A⁺ of the rows that hold alone; the others have no residual."""
    for r in range(c.holds.size):
        t.residual[r] = c.holds[r] * c.side[r] * c.gap[r]
    keep_rows(c.holds, t)


@compiled
def separation(r: int, v: Array, c: ContactTerms, t: Terms) -> float:
    """−(A q̇ − ẋ) of a row, by side."""
    return c.side[r] * t.target[1, r] - dot(c.rows[r], v)


@compiled
def give_way(c: ContactTerms, t: Terms, load: Array) -> None:
    """pressed = K x (1 + α ẋ) + D ẋ of the rows that give, and load ← load − Aᵀ pressed."""
    K, D, alpha = c.surface[0], c.surface[1], c.surface[2]
    for r in range(c.law.size):
        c.pressed[r] = 0.0
        if not gives(c.law[r]) or not is_there(r, c):
            continue
        depth, rate = c.gap[r], -separation(r, t.v, c, t)
        if c.law[r] == _GIVES or depth > 0.0:
            c.pressed[r] = K * depth * (1.0 + alpha * rate) + D * rate
        if c.law[r] == _GIVES_ONE_SIDED:
            c.pressed[r] = max(c.pressed[r], 0.0)
        axpy(-c.pressed[r], c.rows[r], load)


@compiled
def add_pressed(c: ContactTerms, multipliers: Array) -> None:
    """λ of the rows that give, in its place."""
    for r in range(c.law.size):
        if gives(c.law[r]):
            multipliers[r] = c.side[r] * c.pressed[r]


@compiled
def take_normal_out(c: ContactTerms, J: Array) -> None:
    """Leave of a contact's Jacobian what slides along the surfaces that give: J ← (I − n nᵀ) J.

    A row that gives is nᵀJ; so (J Jᵀ) n = J a. What holds takes its normal out by itself.
    """
    for r in range(c.law.size):
        if not gives(c.law[r]):
            continue
        a = c.rows[r]
        size = dot(a, a)
        if size == 0.0:
            continue
        x, y, z = _normal(dot(J[0], a), dot(J[1], a), dot(J[2], a), J)
        for i in range(a.size):
            along = x * J[0, i] + y * J[1, i] + z * J[2, i]
            J[0, i] -= x * along
            J[1, i] -= y * along
            J[2, i] -= z * along


@compiled
def _normal(x: float, y: float, z: float, J: Array) -> tuple[float, float, float]:
    """n of length one with (J Jᵀ) n = (x, y, z), by elimination; J may have no part along one."""
    xx, xy, xz = dot(J[0], J[0]), dot(J[0], J[1]), dot(J[0], J[2])
    yy, yz, zz = dot(J[1], J[1]), dot(J[1], J[2]), dot(J[2], J[2])
    little = 1e-12 * (xx + yy + zz) + 1e-300
    xx, yy, zz = xx + little, yy + little, zz + little
    f, g = xy / xx, xz / xx
    yy, yz, zz = yy - f * xy, yz - f * xz, zz - g * xz
    y, z = y - f * x, z - g * x
    k = yz / yy
    n_z = (z - k * y) / (zz - k * yz)
    n_y = (y - yz * n_z) / yy
    n_x = (x - xy * n_y - xz * n_z) / xx
    size = np.sqrt(n_x * n_x + n_y * n_y + n_z * n_z)
    return n_x / size, n_y / size, n_z / size


@kernel
def forget_contacts(c: ContactTerms) -> None:
    """At the start of a run: what is held holds, nothing else does; nothing was counted."""
    fill(c.impulse, 0.0)
    fill(c.counts, 0.0)
    fill(c.begin_gap, 0.0)
    fill(c.beyond, 0.0)
    c.bracket[4] = c.left[0] = 0.0
    for r in range(c.law.size):
        c.holds[r] = 1.0 if c.law[r] == _HELD else 0.0
