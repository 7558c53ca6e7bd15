"""An experiment as data: which arm, on what, driven how, for how long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.planning import assemble
from projected_control.resources import share_file
from projected_control.runs.rows import Rows
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import FRICTIONLESS, TABLEAUX, JointFriction

NEAR = 1e-3  # how far off the constraint a start may be typed, to be put on it [m]


@dataclass(frozen=True)
class CaseArm:
    """A description and its arguments."""

    file: str  # name in urdf/
    mappings: Mapping[str, object] = field(default_factory=dict, hash=False)  # xacro arguments
    gravity: float = 9.81  # along −z [m/s²]
    passive: tuple[str, ...] = ()  # joints without a motor
    chain: tuple[str, ...] = ()  # frames from the base to the tip, by which the arm is drawn
    plane: tuple[int, int] = (0, 2)  # world axes that span the drawing, right and up

    def load(self) -> Arm:
        """The arm, with a state of its own."""
        return _expanded(self).twin()


@lru_cache(maxsize=8)
def _expanded(spec: CaseArm) -> Arm:
    """Read once: expanding a description takes longer than many a simulation."""
    return Arm.from_urdf(
        share_file("urdf", spec.file),
        mappings=spec.mappings,
        gravity=spec.gravity,
        passive=spec.passive,
    )


class Bound(NamedTuple):
    """A drive that is ready for one run."""

    step: Callable[[], object]  # makes one tick: reads the arm, writes to it
    rows: Rows  # what its ticks did


class Drive(Protocol):
    """What drives the arm: data until it is bound to an arm."""

    def bind(
        self, port: SimulatedArm, arm: Arm, constraint: Constraint, period: float, ticks: int
    ) -> Bound:
        """Ready for one run.

        Args:
            port: The way to the arm.
            arm: The arm, its own to evaluate.
            constraint: What really holds the arm.
            period: Between two ticks [s].
            ticks: How many there will be at most.
        """
        ...


@dataclass(frozen=True)
class ConstantEffort:
    """The same joint efforts all the time."""

    values: tuple[float, ...]  # one per joint [N·m or N]

    def bind(
        self, port: SimulatedArm, arm: Arm, constraint: Constraint, period: float, ticks: int
    ) -> Bound:
        effort = validate.finite_array("constant effort", self.values, (arm.n,))
        rows = Rows(ticks, arm.n, 0, 0, (arm.n, port.truth.multipliers.size))

        def step() -> None:
            port.read()
            port.write(effort)
            rows.put_effort(port.truth, effort)

        port.open()
        return Bound(step, rows)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One simulation."""

    name: str  # for progress and messages
    arm: CaseArm  # which arm
    constraint: Constraint  # what really holds it
    drive: Drive  # what drives it
    q0: tuple[float, ...]  # initial joint positions [rad or m]; on the constraint
    # Initial joint velocities [rad/s or m/s]; at rest unless given.
    v0: tuple[float, ...] | None = None
    seconds: float  # simulated time [s]
    sample: float = 0.01  # time between two samples, for the drive and what is kept [s]
    steps_per_sample: int = 1  # integration steps in that time
    tableau: str = "rk4"  # integration method, ``rk4`` or ``dormand-prince``
    friction: JointFriction = FRICTIONLESS  # friction of the joints; the drive does not know of it
    correct_velocity: bool = True  # put q̇ back in the constraint's tangent after each step

    def __post_init__(self) -> None:
        validate.positive("seconds", self.seconds)
        validate.positive("time between two samples", self.sample)
        validate.one_of("integration method", self.tableau, list(TABLEAUX))
        if self.steps_per_sample < 1:
            raise InvalidValue(f"steps per sample must be 1 or more, got {self.steps_per_sample}")
        if self.seconds < self.sample:
            raise InvalidValue(
                f"seconds must be at least one sample, {self.sample:g} s, got {self.seconds:g}"
            )

    @property
    def samples(self) -> int:
        """Samples after the first."""
        return round(self.seconds / self.sample)


def joint_angles(arm: Arm, q0: Sequence[float]) -> Array:
    """A start as typed, one angle per joint [rad]."""
    if len(q0) != arm.n:
        raise InvalidValue(
            f"q0 must be {arm.n} angles, one each for {', '.join(arm.joint_names)}; got {len(q0)}"
        )
    return validate.finite_array("q0", q0, (arm.n,))


def refuse_singular(arm: Arm, constraint: Constraint, q0: Array) -> None:
    """Refuse a start from which the motion is not determined: A has lost rank there."""
    rank = ConstrainedArm(arm, constraint).evaluate(q0, np.zeros(arm.n)).rank
    if rank < constraint.rows:
        raise InvalidValue(
            f"q0 = {_listed(q0)} is singular: there the slider holds the tip in {rank} of "
            f"{constraint.rows} directions, and the motion is not determined; turn a joint a little"
        )


def start_on(arm: Arm, constraint: Constraint, q0: Sequence[float]) -> tuple[float, ...]:
    """A start as typed, put on the constraint; refused where it is visibly off, or singular.

    Args:
        arm: The arm.
        constraint: What it must be on.
        q0: Joint positions [rad or m].
    """
    typed = joint_angles(arm, q0)
    residual = constraint.residual(arm.update(typed, np.zeros(arm.n)))
    off = float(np.linalg.norm(residual))
    nearest = assemble(arm, constraint, typed)
    if off > NEAR:
        raise InvalidValue(
            f"q0 = {_listed(typed)} is off the slider by {off:.3g} m; the nearest start on it is "
            f"--q0 {_listed(nearest)}"
        )
    refuse_singular(arm, constraint, nearest)
    return tuple(float(value) for value in nearest)


def _listed(values: Array) -> str:
    return " ".join(f"{value:.6g}" for value in values)
