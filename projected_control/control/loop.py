"""The control loop: from a raw state to a guarded effort, the same on every kind of arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.force_source import (
    ForceSource,
    SourceKind,
    find_force,
    sensor_disagrees,
    unpack_source,
)
from projected_control.control.guard import (
    Action,
    Event,
    Guard,
    GuardReport,
    inspect_tick,
    release_effort,
    severity,
    unpack_guard,
)
from projected_control.control.law import apply_law
from projected_control.control.limits import Limits
from projected_control.control.passive import CONTROLLABILITY_TOLERANCE
from projected_control.control.references import Reference
from projected_control.control.state import RawState
from projected_control.control.terms import unpack_control
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import Arguments, evaluate_model
from projected_control.model.linalg import copy, dot

Array = NDArray[np.float64]

ACTIONS = tuple(Action)
_LIMITED = int(Event.EFFORT_LIMITED | Event.RATE_LIMITED)
_RANK_CHANGED, _CONTROL_LOST = int(Event.RANK_CHANGED), int(Event.CONTROL_LOST)
_LEFT_CONSTRAINT, _FORCE_STALE = int(Event.LEFT_CONSTRAINT), int(Event.FORCE_STALE)
_FORCE_DISAGREES = int(Event.FORCE_DISAGREES)
_ACTION_STOP, _ACTION_HOLD = int(Action.STOP), int(Action.HOLD)

_NONE, _SENSOR = int(SourceKind.NONE), int(SourceKind.SENSOR)
_NEVER = float("inf")
_NO_WRENCH = np.full(6, np.nan)


@compiled
def tick(
    law: int,
    source: int,
    needs_force: bool,
    stamp: float,
    wrench_age: float,
    q: Array,
    v: Array,
    wrench: Array,
    sensor_rotation: Array,
    theta: Array,
    theta_rate: Array,
    theta_acceleration: Array,
    source_work: Array,
    guard_work: Array,
    passive: NDArray[np.int64],
    model: Arguments,
    own: Array,
) -> tuple[int, int]:
    """One turn from a prepared model to a guarded effort, in one compiled call.

    Args:
        law: Number of the control law.
        source: Number of the source of λ.
        needs_force: Whether the law cannot do without a measured wrench.
        stamp: Time of the state [s].
        wrench_age: Age of the wrench [s].
        q, v: The state.
        wrench: The measured wrench, 6; NaN where none was measured.
        sensor_rotation: Rotation of the joint that carries the sensor, 3 × 3.
        theta, theta_rate, theta_acceleration: The reference.
        source_work, guard_work, own: Workspaces of the force source, the guard, the controller.
        passive: Indices of the joints without a motor.
        model: What `evaluate_model` takes after the state.

    Returns:
        The guard's action and events; the effort is left in the guard's workspace.
    """
    t = evaluate_model(q, v, *model)
    c = unpack_control(own, t, passive.size)
    g = unpack_guard(guard_work, q.size, theta.size)
    s = unpack_source(source_work, q.size, t.b.size)
    copy(theta, c.motion[0])
    copy(theta_rate, c.motion[1])
    copy(theta_acceleration, c.motion[2])
    events = 0
    if source == _SENSOR and not wrench_age <= g.force_time[0]:
        if needs_force:
            events |= _FORCE_STALE
        else:
            source = _NONE
    find_force(source, wrench, sensor_rotation, g.sent, t, s, c.lambda_measured)
    bound = g.force_difference[0]
    if source == _SENSOR and sensor_disagrees(c.lambda_measured, g.sent, bound, t, s):
        events |= _FORCE_DISAGREES
    if dot(t.residual, t.residual) > g.residual[0] * g.residual[0]:
        events |= _LEFT_CONSTRAINT
    events |= inspect_tick(q, v, stamp, c.motion, g, events)
    answer = severity(events)
    if answer < _ACTION_HOLD:
        apply_law(law, answer == _ACTION_STOP, passive, t, c)
        if t.rank[0] != g.rank[0]:
            if not np.isnan(g.rank[0]):
                events |= _RANK_CHANGED
            g.rank[0] = t.rank[0]
        if passive.size and c.margins[1] <= CONTROLLABILITY_TOLERANCE:
            events |= _CONTROL_LOST
    return release_effort(c.effort[2], events, g)


class Tick(NamedTuple):
    """One turn of the loop. Arrays are live: copy what is to be kept.

    Attributes:
        state: What was read.
        report: What was sent, and why.
        controller: What asked for it; holds errors, margins and the effort's parts.
        multipliers: λ as measured or observed, m; NaN where it is unknown.
    """

    state: RawState
    report: GuardReport
    controller: Controller
    multipliers: Array


class ControlLoop:
    """Turns raw states of an arm into what may be sent to it.

    Args:
        controller: The law, with the model and the period.
        reference: Reference for the coordinates; may be replaced while running.
        limits: What the arm may be asked for; its description's limits unless given.
        force_reference: Reference for λ, where the controller has a force loop; zero by default.
        force_source: Where λ comes from: a `ForceSource`, or its kind by name; a sensor by default.

    Attributes:
        guard: What stands between the law and the arm.
        report: What the last tick gave.
    """

    def __init__(
        self,
        controller: Controller,
        reference: Reference,
        *,
        limits: Limits | None = None,
        force_reference: Reference | None = None,
        force_source: ForceSource | str = "sensor",
    ) -> None:
        self.controller = controller
        model, period = controller.model, controller.period
        if isinstance(force_source, str):
            force_source = ForceSource(model, force_source, period=period)
        self.force_source = force_source
        self.guard = Guard(limits or Limits.of(model.arm), model.k, period)
        self._needs_wrench = controller.force is not None and force_source.needs_wrench
        if self._needs_wrench:
            force_source.require_frame()
        self._was_limited = False
        self.set_reference(reference)
        self.set_force_reference(force_reference)
        self.report = GuardReport(self.guard.sent, Action.FOLLOW, 0)

    @property
    def needs_wrench(self) -> bool:
        """Whether the law cannot do without a measured wrench."""
        return self._needs_wrench

    def set_reference(self, reference: Reference) -> None:
        """Follow another reference from the next tick on.

        One that begins where the arm is may differ from the last one: it ends a stop after a jump.
        """
        if reference.size != self.controller.model.k:
            names = self.controller.model.coordinates
            raise InvalidValue(
                f"the reference has {reference.size} coordinates, the controller follows "
                f"{self.controller.model.k}: {', '.join(names.names) if names else ''}"
            )
        self.reference = reference
        model = self.controller.model
        point = reference.at(model.time)
        if model.coordinates is not None:
            away = np.abs(model.coordinates.difference(point.value, model.theta))
            if (away <= self.guard.limits.reference_jump).all():
                self.guard.accept_reference(np.array(point))

    def set_force_reference(self, reference: Reference | None) -> None:
        """λ_d from the next tick on; None for zero."""
        if reference is not None:
            if self.controller.force is None:
                raise InvalidValue(
                    "this controller has no force loop, so it takes no force reference"
                )
            if reference.size != self.controller.model.m:
                raise InvalidValue(
                    f"the force reference has {reference.size} numbers, the constraint has "
                    f"{self.controller.model.m} rows"
                )
        elif self.controller.force is not None:
            self.controller.force.desired[:] = 0.0
        self.force_reference = reference

    def warm_up(self) -> None:
        """Run every compiled kernel once, so that no tick waits for the compiler."""
        rest = np.zeros(self.controller.model.n)
        self.controller.update(rest, rest)
        self.update(RawState(rest, rest, 0.0, np.zeros(6)))
        self.reset()

    def begin(self, state: RawState) -> None:
        """Start from a state without a bump: the guard starts from what the arm needs there.

        That is what the law asks for at this state with the force loop open.
        """
        self.reset()
        with self.force_source.switched_off():
            self.update(state._replace(wrench=None, wrench_age=0.0))
        needed = self.controller.effort.total.copy()
        following = self.report.action is Action.FOLLOW
        self.reset()
        if following:
            self.guard.start_from(needed)

    def reset(self) -> None:
        """Start anew: nothing was sent, no state was seen."""
        self.controller.reset()
        self.guard.reset()
        self.force_source.reset()
        self._was_limited = False

    def update(self, state: RawState) -> GuardReport:
        """What to send in answer to a state. Never raises for what an arm or a planner may do."""
        q, v, stamp, wrench, age, _ = state
        controller, guard, source = self.controller, self.guard, self.force_source
        if self.force_reference is not None and controller.force is not None:
            controller.force.desired[:] = self.force_reference.at(stamp).value
        if controller.blending:
            controller.advance()
        controller.model.prepare(q, v, stamp)
        source.prepare(q, v)
        action, events = tick(
            controller.law_number,
            source.number,
            self._needs_wrench,
            stamp,
            _NEVER if wrench is None else age,
            q,
            v,
            _NO_WRENCH if wrench is None else wrench,
            source.joint_rotation,
            *self.reference.at(stamp),
            source.work,
            guard.work,
            *controller.arguments,
        )
        self.report = report = GuardReport(guard.sent, ACTIONS[action], events)
        if events & _LIMITED or self._was_limited:
            self._inform_force_loop(report)
        return report

    def _inform_force_loop(self, report: GuardReport) -> None:
        """Anti-windup: tell the force loop what the guard did to the effort, seen as a force."""
        force, model = self.controller.force, self.controller.model
        self._was_limited = report.action is Action.FOLLOW and bool(report.events & _LIMITED)
        if force is None:
            return
        if self._was_limited:
            shortfall = (report.effort - self.controller.effort.total) / model.sqrt_metric
            force.limited(model.A_pinv.T @ shortfall)
        else:
            force.limited(None)

    @property
    def multipliers(self) -> Array:
        """λ as measured or observed at the last tick; NaN where it is unknown."""
        return self.controller.measured
