"""The control loop: from a raw state to a guarded effort, the same on every kind of arm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import COMPILED
from projected_control.control.controllers import Controller
from projected_control.control.counters import COUNTERS
from projected_control.control.events import Action, GuardReport
from projected_control.control.force_kernels import SourceKind
from projected_control.control.force_source import ForceSource
from projected_control.control.guard import Guard
from projected_control.control.kept_state import keep_state
from projected_control.control.limit_terms import LIMITS
from projected_control.control.limits import Limits
from projected_control.control.live import NUMBER
from projected_control.control.mailbox import Blocks
from projected_control.control.path_clock import PathClock
from projected_control.control.references import MotionLimits, Reference, ReferencePoint
from projected_control.control.silence import SILENT
from projected_control.control.state import RawState
from projected_control.control.tick import TickArguments, tick
from projected_control.errors import InvalidValue
from projected_control.model.motion_tables import MotionTable, write_instant
from projected_control.validate import vector

Array = NDArray[np.float64]

ACTIONS = tuple(Action)

_report: Callable[[tuple[Array, Action, int]], GuardReport] = partial(tuple.__new__, GuardReport)
"""A report, without the call of a function in Python that its own constructor is."""

_NEVER = float("inf")
_NO_WRENCH = np.full(6, np.nan)
_SOURCE = 1
_FELT = (SourceKind.SENSOR, SourceKind.MOMENTUM)


_BLOCKS = ("mailbox", "taken", "reference", "force_reference")
REMEMBERED = (
    "state",
    "functions",
    "target",
    "model_work",
    "choices",
    "control_work",
    "source_work",
    "guard_work",
    "counters",
    *_BLOCKS,
)
"""Arguments of a tick that make up a loop's memory: with these, its next ticks are the same."""


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


class _InPython(NamedTuple):
    """What Python is asked for before each tick; None for what the tick knows by itself."""

    motion: Reference | None = None
    force: Reference | None = None
    controller: Controller | None = None


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
        path: The clock of the reference, which waits where limits take motion away.
        report: What the last tick gave.
        counters: What was counted since the beginning; see `CounterTerms`.
        arguments: What `tick` takes after the state.
        tick: What makes a tick: the kernel, or what stands in for it (see `native.session`).
        engine: Its name: native, numpy, or plugin.
        without_python: Whether what Python would have to compute in a tick is refused.
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
        self.controller, self._joints = controller, controller.model.n
        model, period = controller.model, controller.period
        if isinstance(force_source, str):
            force_source = ForceSource(model, force_source, period=period)
        self.force_source = force_source
        self.path = PathClock(controller.terms.path_clock)
        limits = limits or Limits.of(model.arm)
        self.guard = Guard(limits, model.k, period, model.m, controller.kind.commands)
        self.mailbox = controller.mailbox
        controller.terms.force_limits[:] = limits.force_numbers(model.m)
        self.mailbox.fill("force_limits", controller.terms.force_limits)
        self.mailbox.fill("bodies", model.arm.bodies)
        self.guard.post = force_source.post = self.mailbox.post
        controller.connect(force_source)
        fed_back = controller.force is not None and controller.feeds_force_back
        self._needs_wrench = fed_back and force_source.needs_wrench
        if self._needs_wrench:
            force_source.require_frame()
        feels = force_source.number in _FELT and controller.kind.projected
        controller.contacts.feel(bool(feels and fed_back and not controller.passive.size))
        changes_gains = type(controller).advance is not Controller.advance
        self._ask(_InPython(controller=controller if changes_gains else None))
        choices = [controller.law_number, force_source.number, self._needs_wrench, changes_gains]
        self._choices = np.array([*choices, 0], dtype=np.int64)
        counters = COUNTERS.new(k=model.k)
        self.counters = COUNTERS.view(counters, k=model.k)
        self.arguments = TickArguments(
            *model.arguments,
            force_source.coriolis,
            self._choices,
            controller.passive,
            controller.work,
            force_source.work,
            self.guard.work,
            counters,
            *self._blocks(),
            LIMITS.new(n=model.n, m=model.m, k=model.k),
        )
        self._spare: TickArguments | None = None
        self.tick: Callable[..., tuple[int, int]] = tick
        self.engine, self.without_python = "native" if COMPILED else "numpy", False
        self.set_motion_limits(MotionLimits())
        self.set_reference(reference)
        self.set_force_reference(force_reference)
        self.report = GuardReport(self.guard.sent, Action.FOLLOW, 0)

    def _blocks(self, spare: Blocks | None = None) -> tuple[Array, Array, Array, Array]:
        blocks = spare or self.mailbox
        return blocks.reference, blocks.force_reference, blocks.box, blocks.taken

    @property
    def python_parts(self) -> list[str]:
        """What Python has to compute in every tick, in words; empty where the tick is all compiled.

        A loop that runs without Python has to refuse to start with any of these.
        """
        model, found = self.controller.model, []
        if model.computed_in_python:
            found.append("the constraint is computed in Python: make it of scalar functions")
        if model.target_in_python:
            found.append("the constraint's motion is a function: give a reference, such as Sines")
        if self._in_python.motion is not None:
            found.append("the reference has no table: give it one (Reference.table)")
        if self._in_python.force is not None:
            found.append("the force reference has no table: give it one (Reference.table)")
        if self.force_source.computed_in_python:
            found.append("the constraint's wrench is computed in Python at the sensor's frame")
        if self._in_python.controller is not None:
            found.append("the controller changes its gains in Python (it overrides advance)")
        return found

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
        table = self._table(reference)
        self._reserve(table, None)
        self.mailbox.post_table("reference", table)
        self._ask(self._in_python._replace(motion=reference if table is None else None))
        self.reference = reference

    def set_motion_limits(self, limits: MotionLimits) -> None:
        """Within which a path that has waited comes back to its rate, from the next tick on."""
        acceleration = limits.array(self.controller.model.k)[1]
        self.mailbox.post("reference_acceleration", acceleration)

    def beginning(self, time: float) -> ReferencePoint:
        """Where a new reference is to begin at a time [s]: where the present one is.

        Where the guard keeps the arm in a stop that does not end by itself: where the arm is, at
        rest. A reference from there ends the stop, without a bump.
        """
        if self.guard.latched is not Action.STOP:
            return self.path.at(self.reference, time)
        model = self.controller.model
        return ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))

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
        table = None if reference is None else self._table(reference)
        self._reserve(None, table)
        if reference is None:
            self.mailbox.clear_table("force_reference")
        else:
            self.mailbox.post_table("force_reference", table)
        self._ask(self._in_python._replace(force=reference if table is None else None))
        self.force_reference = reference

    def _table(self, reference: Reference) -> MotionTable | None:
        table = reference.table
        if table is None and self.without_python:
            raise InvalidValue(
                f"this loop runs without Python, and a {type(reference).__name__} has no table: "
                "give it one (Reference.table)"
            )
        return table

    def _ask(self, in_python: _InPython) -> None:
        self._in_python, self._asks_python = in_python, any(p is not None for p in in_python)

    def take_load(self) -> None:
        """Have the next tick made with what the arm carries now, wherever that tick is made."""
        self.mailbox.post("bodies", self.controller.model.arm.bodies)

    def get_ready_for(self, reference: Reference | None, force: Reference | None = None) -> None:
        """Get ready for references that are longer than any before, from any thread.

        `set_reference` then allocates nothing in the thread that ticks. What is made here may be
        of another start and time than what is set in the end: only its length counts.
        """
        tables = [None if one is None else one.table for one in (reference, force)]
        blocks = self.mailbox.get_ready_for(*tables)
        if blocks is not None:
            self._spare = self._with_blocks(blocks)

    def _reserve(self, motion: MotionTable | None, force: MotionTable | None) -> None:
        """Move to where references fit in that are longer than any before."""
        if self.mailbox.reserve(motion, force):
            spare = self._spare
            ready = spare is not None and spare.mailbox is self.mailbox.box
            self.arguments = spare if spare is not None and ready else self._with_blocks()

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Be as a loop was whose memory (`REMEMBERED`) was kept; only between two ticks.

        Raises:
            InvalidValue: Where it is the memory of a loop that was built differently.
        """
        for name in REMEMBERED:
            kept, ours = memory.get(name), getattr(self.arguments, name)
            if kept is None or (name not in _BLOCKS and kept.shape != ours.shape):
                had = "is missing" if kept is None else f"has the shape {kept.shape}"
                raise InvalidValue(
                    f"this is not the memory of such a loop: {name} {had}, expected is "
                    f"{ours.shape}; the model, the law or the version is another one"
                )
        for name in REMEMBERED:
            if name not in _BLOCKS:
                getattr(self.arguments, name)[...] = memory[name]
        self.mailbox.restore(*(memory[name] for name in _BLOCKS))
        self.controller.model.arm.set_bodies(self.mailbox.draft.bodies)
        self.arguments = self._with_blocks()

    def deliver(self, block: Array, keep: Collection[str] = ()) -> None:
        """Have the next tick take a block that was kept; see `Mailbox.deliver`."""
        draft = self.mailbox.draft
        before = draft.versions[NUMBER["bodies"]]
        self.mailbox.deliver(block, keep)
        if self.mailbox.draft.versions[NUMBER["bodies"]] != before:
            self.controller.model.arm.set_bodies(self.mailbox.draft.bodies)
        if self.arguments.mailbox is not self.mailbox.box:
            self.arguments = self._with_blocks()

    def _with_blocks(self, spare: Blocks | None = None) -> TickArguments:
        reference, force_reference, box, taken = self._blocks(spare)
        return self.arguments._replace(
            reference=reference, force_reference=force_reference, mailbox=box, taken=taken
        )

    def warm_up(self) -> None:
        """Make a tick and forget it, so that none in real time is the first to touch its memory."""
        rest = np.zeros(self.controller.model.n)
        self.controller.update(rest, rest)
        self.update(RawState(rest, rest, 0.0, np.zeros(6)))
        self.reset()

    def begin(self, state: RawState) -> None:
        """Start from a state without a bump: the guard starts from what the arm needs there.

        That is what limits leave of what the law asks for at this state with the force loop open.
        """
        self.reset()
        self.guard.allow_return(state.q)
        with self.force_source.switched_off():
            self.update(state._replace(wrench=None, wrench_age=0.0))
        needed = keep_state(self.controller, self.guard.limits).effort
        following = self.report.action is Action.FOLLOW
        self.reset()
        if following:
            self.guard.start_from(needed)
        self.guard.allow_return(state.q)

    def reset(self) -> None:
        """Start anew: nothing was sent, no state was seen."""
        self.controller.reset()
        self.guard.reset()
        self.force_source.reset()
        self.arguments.counters[:] = 0.0
        self._choices[SILENT] = 0

    def update(self, state: RawState) -> GuardReport:
        """What to send in answer to a state. Never raises for what an arm or a planner may do.

        Raises:
            InvalidValue: Where q or q̇ is not one number per joint: that is a mistake of the caller.
        """
        q, v, stamp, wrench, age, _ = state
        q, v = vector("q", q, self._joints), vector("v", v, self._joints)
        source = self.force_source
        if self._asks_python:
            self._ask_python(stamp)
        self.controller.model.prepare(q, v, stamp)
        source.prepare(q, v)
        self._choices[_SOURCE] = source.number
        if wrench is None:
            wrench, age = _NO_WRENCH, _NEVER
        action, events = self.tick(stamp, age, q, v, wrench, *self.arguments)
        self.report = report = _report((self.guard.sent, ACTIONS[action], events))
        return report

    def _ask_python(self, stamp: float) -> None:
        """What has no table is asked for here, and what changes gains by itself does so."""
        motion, force, controller = self._in_python
        if motion is not None:
            write_instant(self.mailbox.reference, stamp, self.path.at(motion, stamp))
        if force is not None:
            write_instant(self.mailbox.force_reference, stamp, force.at(stamp))
        if controller is not None:
            controller.advance()

    @property
    def multipliers(self) -> Array:
        """λ as measured or observed at the last tick; NaN where it is unknown."""
        return self.controller.measured
