"""The control loop: read → update → guard → write, the same on every kind of arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.control.base import Controller
from projected_control.control.force import ForceMemory
from projected_control.control.observer import ForceEstimate
from projected_control.control.passive import PassiveJointController
from projected_control.errors import InvalidValue
from projected_control.guard import Action, Event, Guard, GuardReport, answer_to
from projected_control.hardware.base import ArmState, Hardware
from projected_control.reference import Reference

Array = NDArray[np.float64]

_LIMITED = int(Event.EFFORT_LIMITED | Event.RATE_LIMITED)
_RANK_CHANGED, _CONTROL_LOST = int(Event.RANK_CHANGED), int(Event.CONTROL_LOST)


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
        self.actions[report.action] = self.actions.get(report.action, 0) + 1
        if report.events:
            for event in Event(report.events):
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
        self._force: ForceMemory | None = getattr(controller, "force", None)
        self._passive = controller if isinstance(controller, PassiveJointController) else None
        self._rank: int | None = None
        self._unmeasured = np.full(controller.model.m, np.nan)
        self.set_reference(reference)
        self.set_force_reference(force_reference)
        self.statistics = Statistics()

    def set_reference(self, reference: Reference) -> None:
        """Follow another reference from the next tick on."""
        if reference.size != self.controller.model.k:
            names = self.controller.model.coordinates
            raise InvalidValue(
                f"the reference has {reference.size} coordinates, the controller follows "
                f"{self.controller.model.k}: {', '.join(names.names) if names else ''}"
            )
        self.reference = reference

    def set_force_reference(self, reference: Reference | None) -> None:
        """λ_d from the next tick on; None for zero."""
        if reference is not None:
            if self._force is None:
                raise InvalidValue(
                    "this controller has no force loop, so it takes no force reference"
                )
            if reference.size != self.controller.model.m:
                raise InvalidValue(
                    f"the force reference has {reference.size} numbers, the constraint has "
                    f"{self.controller.model.m} rows"
                )
        self.force_reference = reference

    def reset(self) -> None:
        """Start anew."""
        self.controller.reset()
        self.guard.reset()
        self._rank = None
        if self.observer is not None:
            self.observer.reset()

    def update(self, state: ArmState) -> GuardReport:
        """What to send in answer to a state. Never raises for what an arm or a planner may do."""
        controller, guard = self.controller, self.guard
        point = self.reference.at(state.stamp)
        motion = controller.motion
        motion[0], motion[1], motion[2] = point
        events = guard.inspect(state.q, state.v, state.stamp, motion)
        action = answer_to(events) if events else Action.FOLLOW
        if action >= Action.HOLD:
            return guard.release(controller.effort.total, events)
        if self._force is not None:
            self._measure(self._force, state)
        if action is Action.STOP:
            effort = controller.stop(state.q, state.v, state.stamp)
        else:
            effort = controller.update(state.q, state.v, state.stamp)
        report = guard.release(effort.total, events | self._inspect_control())
        if self._force is not None:
            self._tell(self._force, effort.total, report)
        return report

    def _measure(self, force: ForceMemory, state: ArmState) -> None:
        if state.multipliers is not None:
            force.measured[:] = state.multipliers
        elif self.observer is not None:
            self.controller.model.evaluate(state.q, state.v, state.stamp)
            force.measured[:] = self.observer.update(self.guard.sent).multipliers
        else:
            force.measured[:] = np.nan
        if self.force_reference is not None:
            force.wanted[:] = self.force_reference.at(state.stamp).value

    def _inspect_control(self) -> int:
        events = 0
        controller = self.controller
        rank = controller.model.rank
        if rank != self._rank:
            if self._rank is not None:
                events |= _RANK_CHANGED
            self._rank = rank
        if self._passive is not None and not self._passive.controllable:
            events |= _CONTROL_LOST
        return events

    def _tell(self, force: ForceMemory, asked: Array, report: GuardReport) -> None:
        """Anti-windup: what the guard did to the effort, seen as a force."""
        if report.events & _LIMITED or report.action:
            model = self.controller.model
            force.limited(model.A_pinv.T @ ((report.effort - asked) / model.root))
        else:
            force.limited(None)

    @property
    def multipliers(self) -> Array:
        """λ as the force loop saw it at the last tick; NaN without one."""
        return self._unmeasured if self._force is None else self._force.measured

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


def warm_up(controller: Controller, guard: Guard) -> None:
    """Run every compiled kernel once, so that no tick waits for the compiler."""
    n = controller.model.n
    rest = np.zeros(n)
    controller.update(rest, rest)
    controller.stop(rest, rest)
    guard.inspect(rest, rest, 0.0, controller.motion)
    guard.release(rest)
    controller.reset()
    guard.reset()
