"""The control loop: read → update → guard → write, the same on every kind of arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.force_source import ForceEstimate
from projected_control.control.guard import (
    Action,
    Event,
    Guard,
    GuardReport,
    events_in,
    inspect_tick,
    release_effort,
    severity,
    unpack_guard,
)
from projected_control.control.law import apply_law
from projected_control.control.passive import CONTROLLABILITY_TOLERANCE
from projected_control.control.references import Reference
from projected_control.control.terms import unpack_control
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import Arguments, evaluate_model
from projected_control.model.linalg import copy
from projected_control.ports.port import ArmState, Hardware

Array = NDArray[np.float64]

ACTIONS = tuple(Action)
_LIMITED = int(Event.EFFORT_LIMITED | Event.RATE_LIMITED)
_RANK_CHANGED, _CONTROL_LOST = int(Event.RANK_CHANGED), int(Event.CONTROL_LOST)
_STOP, _HOLD = int(Action.STOP), int(Action.HOLD)


@compiled
def tick(
    law: int,
    noticed: int,
    stamp: float,
    q: Array,
    v: Array,
    theta: Array,
    theta_rate: Array,
    theta_acceleration: Array,
    multipliers: Array,
    guard: Array,
    passive: NDArray[np.int64],
    model: Arguments,
    own: Array,
) -> tuple[int, int]:
    """One turn from a prepared model to a guarded effort, in one compiled call.

    Args:
        law: Number of the control law.
        noticed: Events that were noticed before.
        stamp: Of the state [s].
        q, v: The state.
        theta, theta_rate, theta_acceleration: The reference.
        multipliers: λ as measured or observed, NaN where neither.
        guard: The guard's workspace.
        passive: Indices of the joints without a motor.
        model: What `evaluate_model` takes after the state.
        own: The controller's workspace.

    Returns:
        The guard's action and events; the effort is left in the guard's workspace.
    """
    t = evaluate_model(q, v, *model)
    c = unpack_control(own, t, passive.size)
    g = unpack_guard(guard, q.size, theta.size)
    copy(theta, c.motion[0])
    copy(theta_rate, c.motion[1])
    copy(theta_acceleration, c.motion[2])
    copy(multipliers, c.lambda_measured)
    events = noticed | inspect_tick(q, v, stamp, c.motion, g, noticed)
    answer = severity(events)
    if answer < _HOLD:
        apply_law(law, answer == _STOP, passive, t, c)
        if t.rank[0] != g.rank[0]:
            if not np.isnan(g.rank[0]):
                events |= _RANK_CHANGED
            g.rank[0] = t.rank[0]
        if passive.size and c.margins[1] <= CONTROLLABILITY_TOLERANCE:
            events |= _CONTROL_LOST
    return release_effort(c.effort[2], events, g)


class Observer(Protocol):
    """What can stand in for a force sensor."""

    def update(self, effort: Array) -> ForceEstimate:
        """Estimate the force from the effort in force."""

    def reset(self) -> None:
        """Start anew."""


class Tick(NamedTuple):
    """One turn of the loop. Arrays are live: copy what is to be kept.

    Attributes:
        state: What was read.
        report: What was sent, and why.
        controller: Who asked for it; holds errors, margins and the effort's parts.
        multipliers: λ as measured or observed, m; NaN where neither was.
    """

    state: ArmState
    report: GuardReport
    controller: Controller
    multipliers: Array


@dataclass
class Statistics:
    """Counters of a loop.

    Attributes:
        ticks: States answered.
        missed: Reads that gave no state.
        events: How often the guard noticed what.
        actions: How often it sent what.
        busy_ns: Time spent on the last tick, and the longest [ns].
        longest_ns: See there.
    """

    ticks: int = 0
    missed: int = 0
    events: dict[Event, int] = field(default_factory=dict)
    actions: dict[Action, int] = field(default_factory=dict)
    busy_ns: int = 0
    longest_ns: int = 0

    def count(self, report: GuardReport, busy_ns: int) -> None:
        """One more tick."""
        self.ticks += 1
        self.busy_ns = busy_ns
        self.longest_ns = max(self.longest_ns, busy_ns)
        self.note(report)

    def note(self, report: GuardReport) -> None:
        """What the guard did."""
        self.actions[report.action] = self.actions.get(report.action, 0) + 1
        if report.events:
            for event in events_in(report.events):
                self.events[event] = self.events.get(event, 0) + 1


class ControlLoop:
    """Steps a controller on an arm.

    `update` turns a state into what may be sent and is all that a node needs; `step` and `run` add
    reading and writing for arms that live in this process.

    Args:
        controller: The law.
        guard: What may be sent.
        reference: Of the coordinates; may be replaced while running.
        force_reference: Of λ, for controllers that have a force loop.
        observer: Estimates λ where the arm does not measure it.

    Attributes:
        report: Of the last tick.
    """

    def __init__(
        self,
        controller: Controller,
        guard: Guard,
        reference: Reference,
        force_reference: Reference | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.controller, self.guard, self.observer = controller, guard, observer
        self._was_limited = False
        self._unmeasured = np.full(controller.model.m, np.nan)
        self.set_reference(reference)
        self.set_force_reference(force_reference)
        self.statistics = Statistics()
        self.report = GuardReport(guard.sent, Action.FOLLOW, 0)

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
        self.update(ArmState(rest, rest, None, 0.0))
        self.reset()

    def reset(self) -> None:
        """Start anew."""
        self.controller.reset()
        self.guard.reset()
        self._was_limited = False
        if self.observer is not None:
            self.observer.reset()

    def update(self, state: ArmState, noticed: int = 0) -> GuardReport:
        """What to send in answer to a state. Never raises for what an arm or a planner may do.

        Args:
            state: Of the arm.
            noticed: `Event`s that whoever read it noticed about it.
        """
        q, v, multipliers, stamp = state
        controller, guard = self.controller, self.guard
        if multipliers is None:
            multipliers = self._observe(state)
        elif multipliers.shape != self._unmeasured.shape:
            raise InvalidValue(
                f"the arm measures {multipliers.size} multipliers, the constraint has "
                f"{self._unmeasured.size} rows"
            )
        if self.force_reference is not None and controller.force is not None:
            controller.force.desired[:] = self.force_reference.at(stamp).value
        if controller.blending:
            controller.advance()
        controller.model.prepare(q, v, stamp)
        action, events = tick(
            controller.law_number,
            noticed,
            stamp,
            q,
            v,
            *self.reference.at(stamp),
            multipliers,
            guard.work,
            *controller.arguments,
        )
        self.report = report = GuardReport(guard.sent, ACTIONS[action], events)
        if events & _LIMITED or self._was_limited:
            self._tell(report)
        return report

    def _observe(self, state: ArmState) -> Array:
        """λ where the arm does not measure it: from the observer, or nothing."""
        if self.observer is None:
            return self._unmeasured
        self.controller.model.evaluate(state.q, state.v, state.stamp)
        return self.observer.update(self.guard.sent).multipliers

    def _tell(self, report: GuardReport) -> None:
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
        """λ as measured or observed at the last tick; NaN where neither was."""
        return self.controller.measured

    def step(self, hardware: Hardware) -> Tick | None:
        """Read, answer, write. None where the arm gave no state (and zero was written)."""
        state = hardware.read()
        if state is None:
            self.statistics.missed += 1
            report = self.guard.release(self.controller.effort.total, Event.STATE_STALE)
            hardware.write(report.effort)
            return None
        begin = perf_counter_ns()
        report = self.update(state)
        self.statistics.count(report, perf_counter_ns() - begin)
        hardware.write(report.effort)
        return Tick(state, report, self.controller, self.multipliers)

    def run(
        self, hardware: Hardware, ticks: int, observe: Callable[[int, Tick], None] | None = None
    ) -> Statistics:
        """Take an arm through this many ticks, as fast as it goes; then give it back."""
        hardware.configure()
        hardware.activate()
        self.reset()
        try:
            for i in range(ticks):
                tick = self.step(hardware)
                if observe is not None and tick is not None:
                    observe(i, tick)
        finally:
            hardware.deactivate()
        return self.statistics
