"""Where the joints of an arm are along a motion of its coordinates.

Between constraint and coordinates, a redundant arm has motions left. They go where the posture
draws them, or stay as small as they can. Joint limits do not count: what looks at a motion wants to
know by how much it passes them.
"""

from __future__ import annotations

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.tasks import SquareAxis, Task

CONTINUATION = 12  # steps in which the beginning of a path is looked for from where the arm is


class Follower:
    """Finds the joint positions of an arm for values of its coordinates, one after the other.

    Args:
        model: The arm, its constraint and its coordinates; left as it was.
        q: Where the arm is, n.
        posture: Where what is left free is drawn to, n; None for nowhere.
        square: Coordinates that follow the surface rather than given values.
        explain: Whether it is looked for what keeps the arm from values, which takes a while.

    Attributes:
        q: Where it is now, n.
        time: When, where the constraint moves [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        q: Array,
        posture: Array | None = None,
        square: SquareAxis | None = None,
        *,
        explain: bool = True,
    ) -> None:
        if model.coordinates is None:
            raise InvalidValue("a path needs coordinates to be followed: give the model some")
        self.coordinates = model.coordinates
        self.q: Array = np.array(q, dtype=np.float64)
        self.time = 0.0
        self._arm, self._constraint, self._explain = model.arm, model.constraint, explain
        self._ik = self._solver(np.zeros(model.k))
        self._ik.posture, self._ik.equations.square = posture, square

    def _solver(self, values: Array) -> InverseKinematics:
        task = Task(self.coordinates, values, "the path")
        return InverseKinematics(self._arm, self._constraint, [task], restarts=10)

    def approach(self, values: Array) -> Array:
        """The joint positions for the first values, however far they are; see `at`."""
        here = self.theta
        way = self.coordinates.difference(values, here)
        for share in np.linspace(0.0, 1.0, CONTINUATION + 1)[1:]:
            q = self.at(here + share * way)
        return q

    def at(self, values: Array) -> Array:
        """The joint positions nearest the last ones with these values of the coordinates, n."""
        found = self._ik.track(self.q, [values], time=self.time)
        if found is None:
            raise Unreachable(self._why_not(values))
        self.q = found
        return found

    def _why_not(self, values: Array) -> str:
        """In words, what keeps the arm from these values, and whether another posture has them."""
        names, wanted = ", ".join(self.coordinates.names), np.round(values, 4).tolist()
        if not self._explain:
            return f"the arm does not reach {names} = {wanted} from where it is"
        found = self._solver(values).solve(self.q, strict=False)
        why = found.phrase
        if found.met:
            why = f"it gets stuck on the way; q = {np.round(found.q, 3).tolist()} would have them"
        return f"the arm cannot follow the path to {names} = {wanted}: {why}"

    @property
    def theta(self) -> Array:
        """θ of the last joint positions, k."""
        return self._ik.values_at(self.q, self.time)
