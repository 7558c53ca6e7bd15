"""What a tick knows and remembers of contacts that hold one way only (see `holding`)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.control.contact import MAX_FACETS
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class OneSidedTerms(NamedTuple):
    """Of m constraint rows. What belongs to a contact has its number at the contact's first row.

    Along its normal, into the surface: a gap above zero is depth, below zero distance; a rate above
    zero is towards the surface, a force above zero presses.
    """

    total: Annotated[Array, Part("1", "How many contacts are one-sided.")]
    feels: Annotated[Array, Part("1", "1 where they are felt, so that they can be lost; else 0.")]
    head: Annotated[Array, Part("m", "1 + the contact's first row; 0 for a row held both ways.")]
    normal: Annotated[Array, Part("m", "The normal, as a sum of the contact's rows.")]
    tangents: Annotated[Array, Part("2, m", "Directions along the surface, where it can stick.")]
    facets: Annotated[Array, Part("2", "Facets that `directions` are of, and cos(π/F).")]
    directions: Annotated[Array, Part(f"2, {MAX_FACETS}", "cos φ and sin φ of each facet.")]
    switched: Annotated[Array, Part("m", "The number of its switch that was heard last.")]
    wanted: Annotated[Array, Part("m", "1 for a contact that is to be made, 0 to be left.")]
    state: Annotated[Array, Part("m", "`ContactState` of each row.")]
    begins: Annotated[Array, Part("m", "1 before the contact's force was seen, else 0.")]
    gap: Annotated[Array, Part("m", "Φ along the normal [m or rad].")]
    away: Annotated[Array, Part("m", "Φ of each row, whatever holds [m or rad].")]
    rate: Annotated[Array, Part("m", "A q̇ − ẋ along the normal [m/s or rad/s].")]
    came: Annotated[Array, Part("m", "The rate when it was trusted last [m/s or rad/s].")]
    force: Annotated[Array, Part("m", "λ along the normal, as measured [N or N·m].")]
    above_for: Annotated[Array, Part("m", "For how many ticks it was above λ_on.")]
    below_for: Annotated[Array, Part("m", "For how many it was below λ_off, or the cone broken.")]
    given_up: Annotated[Array, Part("m", "1 where the last tick could not keep its force.")]
    bounded: Annotated[Array, Part("1", "1 where a force was kept from becoming too small.")]
    not_yet: Annotated[Array, Part("m", "λ_d along the normal that is not asked yet [N or N·m].")]
    goal: Annotated[Array, Part("m", "Where the gap is led while it is lost [m or rad].")]
    speed: Annotated[Array, Part("m", "How fast [m/s or rad/s].")]
    lost_at: Annotated[Array, Part("m", "Gap where it was lost; else zero [m or rad].")]
    back: Annotated[Array, Part("m", "1 while it goes back, as nothing was found, else 0.")]
    missed: Annotated[Array, Part("m", "1 where nothing was found within the travel, else 0.")]
    haste: Annotated[Array, Part("m", "Share of the approach's speed; less after a bounce.")]
    press: Annotated[Array, Part("m", "What it is pressed with before it is made [N or N·m].")]
    made_for: Annotated[Array, Part("m", "How long it has held [s].")]
    blocked_for: Annotated[Array, Part("m", "How long it has been held up on its way [s].")]
    blind_for: Annotated[Array, Part("m", "Ticks for which its rate is not trusted yet.")]
    unanswered: Annotated[Array, Part("m", "1 for each row that a lost contact leaves out of A.")]


ONE_SIDED = Layout(OneSidedTerms, "m")
unpack_one_sided = ONE_SIDED.unpack
