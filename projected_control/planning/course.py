"""An arm along its whole reference: what of it is within reach, and how well the arm moves there.

The flight check (`flight_check`) says what a controller would do from where the arm stands; here
the question is what the arm could do at all, within its joint limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from projected_control.arrays import Array
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.reach import ease_of_motion

RESTARTS = 5  # from how many other configurations the first place is looked for that is missed


class Course(NamedTuple):
    """An arm along its reference, N places."""

    names: tuple[str, ...]  # of the coordinates
    unit: str  # of the places: seconds, or the way along a path
    places: Array  # times, or ways from the beginning of a path on, N
    wanted: Array  # coordinates as the reference has them, N × k
    q: Array  # joint positions, N × n
    missed: Array  # ‖θ − θ_d‖ and what is missed of the constraint; zero where it is reached, N
    # manipulability, isotropy: of the coordinates, N.
    manipulability: Array
    isotropy: Array
    # Of the joint closest to its limit: one in the middle of its range, zero at its end.
    margin: Array
    trouble: str  # in words, where and why it is missed first; empty where it is not

    @property
    def within_reach(self) -> bool:
        """Whether all of it is."""
        return not self.trouble


def course_along(
    solver: InverseKinematics,
    model: ConstrainedArm,
    places: Array,
    wanted: Array,
    q: Array,
    *,
    unit: str,
) -> Course:
    """The arm along a whole reference, each place reached from the one before.

    Args:
        solver: Of the arm, with one task: the coordinates of the reference, square to the surface
            where they are to be.
        model: The same arm with these coordinates; evaluated here.
        places: Times, or ways from the beginning of a path on, N.
        wanted: The coordinates there, N × k.
        q: Where the arm starts, n [rad or m].
        unit: Of the places.
    """
    joints, missed = np.zeros((len(places), model.n)), np.zeros(len(places))
    first = ""
    for i, values in enumerate(wanted):
        # What lies beyond the first place that is missed is looked at from there only.
        solver.restarts = 0 if i > 0 and missed[i - 1] > 0.0 else RESTARTS
        q, missed[i], phrase = _reached(solver, q, values)
        joints[i] = q
        if phrase and not first:
            first = f"at {places[i]:.3g}: {phrase}"
    names = model.coordinates.names if model.coordinates is not None else ()
    ease = ease_of_motion(solver, model, joints)
    return Course(names, unit, places, wanted, joints, missed, *ease, first)


def _reached(solver: InverseKinematics, q: Array, values: Array) -> tuple[Array, float, str]:
    """Joint positions for values of the coordinates, what they miss, and why."""
    found = solver.follow(q, [values])
    if found is not None:
        return found, 0.0, ""
    best = solver.solve(q, strict=False)
    if best.met:
        return best.q, 0.0, ""
    return best.q, max(outcome.error for outcome in best.outcomes), best.phrase
