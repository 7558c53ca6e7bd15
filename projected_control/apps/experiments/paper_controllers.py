"""A controlled run as data: the law, what it follows, what it believes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projected_control.apps.experiments.case import Bound
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.reports.run_numbers import rms
from projected_control.control import (
    Controller,
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinates
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm

BOUNDLESS = 1e9  # wider than anything in these runs, for limits that must be finite


def wide_limits(arm: Arm) -> Limits:
    """A guard's limits that never bind, so that a run shows the law and nothing else."""
    return Limits.of(
        arm,
        effort=np.inf,
        effort_rate=np.inf,
        velocity=np.inf,
        lower=-np.inf,
        upper=np.inf,
        reference_jump=BOUNDLESS,
        frozen_time=BOUNDLESS,
    )


@dataclass(frozen=True, kw_only=True)
class Control:
    """The control loop of this package, with its guard, as it runs on any arm."""

    law: Law  # which one
    coordinates: Coordinates  # what it moves
    reference: Reference  # where to
    gains: MotionGains  # on the coordinates
    force_gains: ForceGains | None = None  # on λ, for laws with a force loop; λ_d is zero
    # What the law takes the constraint to be; the real one unless given.
    assumed_constraint: Constraint | None = None

    def bind(
        self, port: SimulatedArm, arm: Arm, constraint: Constraint, period: float, ticks: int
    ) -> Bound:
        loop = self.loop(arm, constraint, period)
        runner = Runner(loop, port)
        runner.open()
        return Bound(runner.step, runner.keep(ticks))

    def loop(self, arm: Arm, constraint: Constraint, period: float) -> ControlLoop:
        """The control loop, on an arm of its own."""
        model = ConstrainedArm(arm, self.assumed_constraint or constraint, self.coordinates)
        controller = self._controller(model, period)
        return ControlLoop(controller, self.reference, limits=wide_limits(arm))

    def _controller(self, model: ConstrainedArm, period: float) -> Controller:
        if self.law in (Law.PASSIVE, Law.PASSIVE_FORCE):
            return PassiveJointController(model, self.gains, self.force_gains, period)
        if self.law is not Law.HYBRID:
            return MotionController(model, self.gains, self.law, period)
        if self.force_gains is None:
            raise InvalidValue("the hybrid law needs force gains")
        return ForceController(model, self.gains, self.force_gains, period)


def rms_norm(recording: CaseRun) -> float:
    """(1/T ∫ fᵀf dt)^½ of the joint efforts, held from sample to sample [N·m]."""
    return rms(recording.effort[:-1])


def peak_norm(recording: CaseRun) -> float:
    """The largest magnitude of any joint's effort [N·m]."""
    return float(np.abs(recording.effort[:-1]).max())
