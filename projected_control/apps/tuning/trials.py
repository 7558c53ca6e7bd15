"""Trials on the simulated arm: what gains do to a step of a coordinate, and to one of the force."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from projected_control.apps.console import interrupt
from projected_control.apps.sweeps.local_pool import Pool
from projected_control.arrays import Array
from projected_control.control.force import ForceGains
from projected_control.control.gains import MotionGains
from projected_control.control.references import Constant, ReferencePoint
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.runs.recording import Recording
from projected_control.runs.recording_head import About, metadata_of
from projected_control.runs.rows import Rows
from projected_control.runs.runner import Runner
from projected_control.settings import build
from projected_control.settings.nodes import (
    ControllerSettings,
    SimulatedArmSettings,
    checked_controller,
)
from projected_control.settings.recorded import files_of, with_contents

WAIT_SECONDS = 0.2  # how long it waits for a trial before it looks whether it shall end [s]

STEP_SECONDS = 1.0
STEP_LENGTH = 0.005
"""A step of a coordinate [m or rad]: small enough for friction to count, and for any arm."""

STEP_FORCE = 5.0  # a step of λ_d [N or N·m]
BEFORE = 100  # ticks before a step
SETTLED = 0.05  # share of a step that may be left when a response counts as settled
SMOOTH = 10  # ticks over which a response is averaged to see when it has settled

LEFT = 0.35
"""Share of a step that may be left, or oscillate, at the end of a trial that counts as stable."""


@dataclass(frozen=True)
class Response:
    """A step response."""

    times: Array  # from the step on, N [s]
    values: Array  # what answers, over the step: zero before it, one when it is followed, N
    # RMS of the efforts' changes from tick to tick in the last third [N·m or N].
    effort_noise: float
    failure: str = ""  # why the trial ended early; empty if it did not

    @property
    def stable(self) -> bool:
        """Whether it comes to rest near its goal, and does not swing more and more."""
        if self.failure or not len(self.values) or not np.isfinite(self.values).all():
            return False
        third = len(self.values) // 3
        off = np.abs(1.0 - self.values)
        swing = [
            float(np.ptp(self.values[-2 * third : -third])),
            float(np.ptp(self.values[-third:])),
        ]
        return bool(
            off[-third:].max() < 1.0 + LEFT and (swing[1] < LEFT or swing[1] < 0.5 * swing[0])
        )

    @property
    def overshoot(self) -> float:
        """By which it passes its goal, over the step."""
        return float(max(self.values.max(initial=0.0) - 1.0, 0.0))

    @property
    def rise(self) -> float:
        """Time to nine tenths of the step [s]; NaN where it does not get there."""
        there = np.flatnonzero(self.values >= 0.9)
        return float(self.times[there[0]]) if there.size else float("nan")

    @property
    def settling(self) -> float:
        """Time from which on it stays within `SETTLED` of its goal [s]; NaN where it does not."""
        if len(self.values) < SMOOTH:  # it ended as soon as it began
            return float("nan")
        smooth = np.convolve(self.values, np.ones(SMOOTH) / SMOOTH, mode="valid")  # over noise
        away = np.flatnonzero(np.abs(smooth - 1.0) > SETTLED)
        if not away.size:
            return 0.0
        return float(self.times[away[-1] + 1]) if away[-1] + 1 < len(smooth) else float("nan")


MOTION_STEP, FORCE_STEP, FORCE_PUSH = "motion step", "force step", "force push"


class Trial(NamedTuple):
    """A trial that is asked for."""

    kind: str  # a step of a coordinate or of λ_d, or a push
    # motion, force: gains; no force gains for those of the settings.
    motion: MotionGains
    force: ForceGains | None = None
    coordinate: int = 0  # which one takes the step


class RigCase(NamedTuple):
    """A rig for another process: all settings, which need no file."""

    node: str  # kind of the controller
    # controller, arm: parameters by name.
    controller: dict[str, Any]
    arm: dict[str, Any]
    description: str  # the expanded description
    # Contents of files that parameters of controller and arm name.
    files: tuple[dict[str, bytes], dict[str, bytes]]


_kept = threading.local()


def make_trial(packed: bytes, trial: Trial) -> Response:
    """Make a trial: what a worker does; the rig of the last one is kept.

    Args:
        packed: A pickled `RigCase`.
        trial: Which.
    """
    if getattr(_kept, "packed", b"") != packed:
        case: RigCase = pickle.loads(packed)
        ours, theirs = (
            with_contents(values, case.description, files)
            for values, files in zip((case.controller, case.arm), case.files, strict=True)
        )
        _kept.rig = Rig(
            case.node, checked_controller(case.node, ours), SimulatedArmSettings.of(theirs)
        )
        _kept.packed = packed
    made: Response = _kept.rig.make(trial)
    return made


class Trials:
    """Trials on one rig, made by a pool of workers."""

    def __init__(self, rig: Rig, pool: Pool) -> None:
        self.rig, self._pool = rig, pool
        values = rig.settings.values(), rig.arm_settings.values()
        case = RigCase(
            rig.node,
            *values,
            rig.loop.controller.model.arm.urdf,
            (files_of(values[0]), files_of(values[1])),
        )
        self._packed = pickle.dumps(case)

    def __call__(self, wanted: Sequence[Trial]) -> list[Response]:
        """What trials do, in order."""
        found: dict[int, Response] = {}
        for number, trial in enumerate(wanted):
            self._pool.put(number, make_trial, self._packed, trial)
        while len(found) < len(wanted):
            for done in self._pool.take(WAIT_SECONDS):
                if done.failure:
                    raise InvalidValue(f"a trial could not be made: {done.failure}")
                found[done.key] = done.result
            interrupt.check()
        return [found[number] for number in range(len(wanted))]


class Rig:
    """A test rig: a controller on a simulated arm, for one trial after the other.

    Args:
        node: Kind of the controller.
        controller, arm: Settings; the arm's with friction, noise and delays as they were measured.
    """

    def __init__(
        self, node: str, controller: ControllerSettings, arm: SimulatedArmSettings
    ) -> None:
        self.settings = controller.changed({"limits.reference_jump": 10.0})
        self.arm = build.build_plant(arm)
        self.loop = build.build_loop(node, self.settings)
        self.node, state = node, self.arm.sense()
        self.loop.controller.hold(state.q, state.v)
        self._start, self._q = self.loop.controller.model.theta.copy(), state.q.copy()
        self.arm_settings, self._force = arm, self.loop.force_reference
        force = self.loop.controller.force
        self._force_gains = None if force is None else force.gains

    @property
    def period(self) -> float:
        """Of the loop [s]."""
        return self.loop.controller.period

    @property
    def controls_force(self) -> bool:
        """Whether there is a force loop."""
        force = self.loop.controller.force
        return force is not None and bool(force.controlled.any())

    def put(self, gains: MotionGains, force: ForceGains | None = None) -> None:
        """Use these gains from the next trial on."""
        self.loop.controller.set_gains(gains, 0.0)
        if force is not None and self.loop.controller.force is not None:
            self.loop.controller.force.set_gains(force, 0.0)

    def make(self, trial: Trial) -> Response:
        """Make a trial; it is the same whatever was made before it."""
        self.put(trial.motion, trial.force or self._force_gains)
        if self._force is not None:
            self.loop.set_force_reference(self._force)
        if trial.kind == MOTION_STEP:
            return self.motion_step(trial.coordinate)
        return self.force_step() if trial.kind == FORCE_STEP else self.force_push()

    def motion_step(self, coordinate: int = 0, seconds: float = STEP_SECONDS) -> Response:
        """The answer of a coordinate to a step of its reference."""
        goal = self._start.copy()
        goal[coordinate] += STEP_LENGTH

        def step() -> None:
            self.loop.set_reference(Constant(goal))

        def values(rows: Rows) -> Array:
            return np.asarray(1.0 - rows.column("error")[:, coordinate] / STEP_LENGTH)

        return self._trial(step, values, seconds)

    def force_step(self, seconds: float = STEP_SECONDS) -> Response:
        """The answer of the true λ to a step of λ_d, in the first row that is controlled."""
        force = self.loop.controller.force
        if force is None:
            raise InvalidValue("this controller has no force loop")
        row = int(np.flatnonzero(force.controlled)[0])
        before = np.zeros(self.loop.controller.model.m)
        after = before.copy()
        after[row] = STEP_FORCE
        self.loop.set_force_reference(Constant(before))

        def step() -> None:
            self.loop.set_force_reference(Constant(after))

        def values(rows: Rows) -> Array:
            return np.asarray(rows.column("true_multipliers")[:, row] / STEP_FORCE)

        return self._trial(step, values, seconds)

    def force_push(self, seconds: float = STEP_SECONDS) -> Response:
        """How an unknown push on the constraint is taken away: zero when it comes, one when gone.

        The push is joint efforts Aᵀ times a step, which the controller does not know of.
        """
        force = self.loop.controller.force
        if force is None:
            raise InvalidValue("this controller has no force loop")
        row = int(np.flatnonzero(force.controlled)[0])
        desired = np.zeros(self.loop.controller.model.m)
        desired[row] = 2.0 * STEP_FORCE
        self.loop.set_force_reference(Constant(desired))
        model = self.loop.controller.model
        self.arm.push[:] = 0.0

        def step() -> None:
            self.arm.push[:] = model.terms.jacobian[row] * STEP_FORCE

        def values(rows: Rows) -> Array:
            off = rows.column("true_multipliers")[:, row] - desired[row]
            return np.asarray(1.0 - np.abs(off) / STEP_FORCE)

        try:
            return self._trial(step, values, seconds)
        finally:
            self.arm.push[:] = 0.0

    def _trial(
        self, step: Callable[[], None], values: Callable[[Rows], Array], seconds: float
    ) -> Response:
        loop, runner = self.loop, Runner(self.loop, self.arm)
        loop.set_reference(Constant(self._start))
        runner.open()
        ticks, failure = round(seconds / self.period), ""
        kept = runner.keep(BEFORE + ticks)
        try:
            for tick in range(BEFORE + ticks):
                if tick == BEFORE:
                    step()
                runner.step()
        except SimulationFailed as error:
            failure = str(error)
        changes = np.diff(kept.column("effort")[BEFORE:], axis=0)[-ticks // 3 :]
        noise = float(np.sqrt(np.mean(changes**2))) if changes.size else float("nan")
        answer = values(kept)[BEFORE:]
        times: Array = np.asarray(self.period * np.arange(len(answer)), dtype=np.float64)
        return Response(times, answer, noise, failure or runner.lost)

    def exciting_run(
        self, seconds: float, progress: Callable[[float], None] = lambda done: None
    ) -> Recording:
        """A run to measure from: the reference of the settings, and steps of the force."""
        loop, model = self.loop, self.loop.controller.model
        here = ReferencePoint(self._start, *np.zeros((2, model.k)))
        loop.set_reference(build.build_reference(self.settings, here, 0.0, self._q))
        ticks, random = round(seconds / self.period), np.random.default_rng(0)
        runner = Runner(loop, self.arm)
        runner.open()
        kept = runner.keep(ticks)
        for tick in range(ticks):
            if self.controls_force and loop.controller.force is not None and tick % 100 == 50:
                push = loop.controller.force.controlled * random.choice([-1.0, 1.0])
                loop.set_force_reference(Constant(STEP_FORCE + push))
            runner.step()
            if runner.lost:
                raise InvalidValue(f"the run to measure from ended early: {runner.lost}")
            if tick % 500 == 0:
                progress(tick / ticks)
        progress(1.0)
        about = metadata_of(About(self.node, self.node), loop, self.arm, kept.places)
        return Recording(Path("simulated"), about, rows=kept.kept, index=np.arange(ticks))
