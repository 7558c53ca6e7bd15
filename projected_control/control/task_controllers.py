"""The controllers in task and joint space beyond projected inverse dynamics: see `controllers`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.control.controllers import Controller, SampledLoop, refuse_passive
from projected_control.control.disturbance import Disturbance, DisturbanceKind
from projected_control.control.force import ForceGains, ForceLoopState
from projected_control.control.gains import BLEND_SECONDS, MotionGains
from projected_control.control.impedance import Impedance
from projected_control.control.impedance_stability import ImpedanceLoop, impedance_loop
from projected_control.control.law_kinds import Law
from projected_control.control.motion import SINGULAR_RANGE
from projected_control.control.task_axes import locate_axes, write_axes
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import Regularisation, constraint_inertia
from projected_control.model.function_kinds import JointPosition
from projected_control.model.rotations import Topology

Array = NDArray[np.float64]


class _TaskController(Controller):
    """A law whose coordinates need not be independent of each other and of the constraint."""

    needs_independence = False

    def _close_force_loop(self, gains: ForceGains | None) -> None:
        if gains is not None:
            self.force = ForceLoopState(gains, self._terms, self.period, self.mailbox)
            self.set_delay(gains.delay)


class OperationalSpaceController(_TaskController):
    """Tasks by priority under the constraint, the force held across it where gains are given.

    Args:
        model: The arm, its constraint and its coordinates; some joints may be passive.
        gains: On the coordinates.
        priority: Level of each coordinate, 1 is the highest; all on one level unless given.
        force_gains: On λ, or None for motion only.
        period: Period of the loop [s].
        singular_range: Singular values of a level's J_i N from which on it is damped.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        priority: Sequence[int] = (),
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
        *,
        singular_range: float = SINGULAR_RANGE,
    ) -> None:
        super().__init__(model, gains, period, Law.OPERATIONAL_SPACE)
        self.task.level[:] = check_priority(model, priority)
        self.task.singular_range[0] = validate.positive("singular range", singular_range)
        self._close_force_loop(force_gains)


def check_priority(model: ConstrainedArm, priority: Sequence[int]) -> Array:
    """Levels 1, 2, …, one per coordinate; raises where they make none."""
    k, names = model.k, model.coordinates.names if model.coordinates else ()
    if len(priority) == 0:
        return np.ones(k)
    levels = np.asarray(priority, dtype=np.float64)
    if levels.shape != (k,):
        raise InvalidValue(
            f"priority must have {k} numbers, one per coordinate ({', '.join(names)}), got "
            f"{levels.size}",
            key="operational_space.priority",
        )
    if set(levels.tolist()) != set(range(1, int(max(levels, default=0)) + 1)):
        raise InvalidValue(
            f"priority must be levels 1, 2, … without a gap, 1 the highest, got {list(priority)}",
            key="operational_space.priority",
        )
    if model.coordinates is not None:
        for i in np.flatnonzero(model.coordinates.topology == Topology.ROTATION):
            if len(set(levels[i : i + 3])) > 1:
                raise InvalidValue(
                    f"{', '.join(names[i : i + 3])} are one orientation and must have one "
                    f"priority, got {levels[i : i + 3].tolist()}",
                    key="operational_space.priority",
                )
    return levels


class ImpedanceController(_TaskController):
    """A spring and a damper between the coordinates and their reference.

    Args:
        model: The arm, its constraint and its coordinates; some joints may be passive.
        impedance: Stiffness, damping, inertia.
        force_gains: On λ, or None where no force is controlled.
        period: Period of the loop [s].
        projected: Whether the law knows of the constraint: stiffness then acts along it only, and
            the force loop across it. Otherwise the force reference acts open-loop.
        gains: Of these, only the damping of the null space counts.

    Attributes:
        impedance: In force, or blending in.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        impedance: Impedance,
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
        *,
        projected: bool = True,
        gains: MotionGains | None = None,
    ) -> None:
        super().__init__(model, gains or MotionGains(1.0, 1.0), period, Law.IMPEDANCE)
        assert model.coordinates is not None
        if not projected:
            refuse_passive(model)
            if impedance.shaped:
                raise InvalidValue(
                    "another inertia than the arm's needs the projected law: set projected, or "
                    "leave the inertia as it is",
                    key="impedance.inertia",
                )
        write_axes(model.arm, model.coordinates, impedance.frame, self.task)
        self.task.projected[0] = float(projected)
        self.task.shaped[0] = float(impedance.shaped)
        self._terms.impedance[:] = impedance.array(model.k)
        self.impedance = impedance
        self._close_force_loop(force_gains)
        self.feeds_force_back = projected
        self._terms.force_loop[0] = float(projected and force_gains is not None)

    def set_impedance(self, impedance: Impedance, seconds: float = BLEND_SECONDS) -> None:
        """Change stiffness, damping and inertia while running, over this time [s]."""
        numbers = self.check_impedance(impedance)
        self.mailbox.post("impedance", numbers, validate.not_negative("blend time", seconds))
        self.impedance = impedance

    def check_impedance(self, impedance: Impedance, delay: int | None = None) -> Array:
        """What `set_impedance` would blend to; raises where it would refuse it.

        That is, also, where the sampled loop would diverge at the present configuration, with this
        delay or, unless given, the one in force [samples].
        """
        if impedance.frame != self.impedance.frame or impedance.shaped != self.impedance.shaped:
            raise InvalidValue(
                "the frame of an impedance, and whether the inertia is shaped, cannot change while "
                "the controller runs: deactivate it first"
            )
        numbers = impedance.array(self.model.k)
        if self.model.M.any() and np.isfinite(self.model.M).all():  # it was evaluated
            self._loop(impedance, delay or self.delay).require_stable()
        return numbers

    def set_disturbance(self, disturbance: Disturbance, seconds: float = BLEND_SECONDS) -> None:
        if disturbance.number is DisturbanceKind.INTEGRAL:
            raise InvalidValue(
                "an impedance gives way to a force, which disturbance.kind integral would take "
                "back; use none"
            )
        if disturbance.observes and not self.impedance.shaped:
            raise InvalidValue(
                "disturbance.kind observer would cancel the force to which the impedance is to "
                "give way; use none, or shape the inertia (impedance.inertia), which needs it"
            )
        super().set_disturbance(disturbance, seconds)

    @property
    def mobility(self) -> Array:
        """Λ⁻¹ of the coordinates at the state last evaluated, k × k [1/kg, 1/(kg·m²)]."""
        model = self.model
        P = model.P if self.task.projected[0] else np.eye(model.n)
        M_c = constraint_inertia(Regularisation.INERTIA, model.M, P)
        found = model.J_theta @ np.linalg.solve(M_c, P @ model.J_theta.T)
        return np.asarray(0.5 * (found + found.T))

    def _loop(self, impedance: Impedance, delay: int) -> ImpedanceLoop:
        locate_axes(self.model.arm.placements, self.model.n, self._terms)
        turned = self.task.T.copy()
        return impedance_loop(impedance, self.mobility, turned, self.period, delay)

    def motion_loops(self, delay: int) -> list[tuple[SampledLoop, str]]:
        """One loop of all coordinates, at the state last evaluated, and one of the posture."""
        return [(self._loop(self.impedance, delay), ""), *self.posture_loops(self.gains, delay)]


class SelectionController(_TaskController):
    """Motion and force by a selection matrix, for comparison with the constraint force loop.

    Args:
        model: The arm, its constraint and its coordinates, those across the constraint too.
        gains: On the coordinates that are moved.
        force_gains: On λ.
        force_coordinates: Names of the coordinates along which a force is controlled.
        period: Period of the loop [s].
        frame: Whose axes x, y and z the coordinates of a vector stand for; empty for the world's.
    """

    force: ForceLoopState

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains,
        force_coordinates: Sequence[str],
        period: float = 1e-3,
        *,
        frame: str = "",
    ) -> None:
        refuse_passive(model)
        super().__init__(model, gains, period, Law.SELECTION)
        assert model.coordinates is not None
        names = model.coordinates.names
        if not force_coordinates:
            raise InvalidValue(
                "a selection needs the coordinates along which a force is controlled "
                f"(selection.force): some of {', '.join(names)}",
                key="selection.force",
            )
        for name in force_coordinates:
            if name not in names:
                raise UnknownName("coordinate (selection.force)", name, names, "selection.force")
        write_axes(model.arm, model.coordinates, frame, self.task)
        self.task.selected[:] = [float(name not in force_coordinates) for name in names]
        self.task.projected[0] = 0.0
        self._close_force_loop(force_gains)


class ComputedTorqueController(_TaskController):
    """Inverse dynamics of all joints; or gravity compensation, to lead an arm by hand.

    Args:
        model: The arm; its coordinates are its joints, all of them.
        gains: On the joints; for gravity compensation the damping of the null space counts.
        period: Period of the loop [s].
        gravity: Carry the arm and damp it, follow nothing; the coordinates may then be any.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        period: float = 1e-3,
        *,
        gravity: bool = False,
    ) -> None:
        refuse_passive(model)
        super().__init__(model, gains, period, Law.GRAVITY if gravity else Law.COMPUTED_TORQUE)
        functions = model.coordinates.functions if model.coordinates else []
        named = [f.joint for f in functions if isinstance(f, JointPosition)]
        joints = model.arm.joint_names
        if not gravity and (len(named) != model.k or sorted(named) != sorted(joints)):
            raise InvalidValue(
                f"computed torque follows every joint: the coordinates must be {', '.join(joints)}"
            )

    def motion_loops(self, delay: int) -> list[tuple[SampledLoop, str]]:
        return [] if self.law is Law.GRAVITY else super().motion_loops(delay)

    def set_disturbance(self, disturbance: Disturbance, seconds: float = BLEND_SECONDS) -> None:
        if self.law is Law.GRAVITY and disturbance.number is not DisturbanceKind.NONE:
            raise InvalidValue(
                "gravity compensation lets the arm be led by hand; disturbance.kind must be none"
            )
        super().set_disturbance(disturbance, seconds)
