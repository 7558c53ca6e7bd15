"""Around `projected-control replay`: the recorded loop built anew, with changes, or simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.control.live import slots_of
from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.native.engine import accept_engine
from projected_control.planning import assemble
from projected_control.ros.live_changes import prepare_change
from projected_control.runs.port import Port
from projected_control.runs.recording import Recording
from projected_control.runs.replay import Changed, Replayer, replay, take_through
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.recorded import arm_settings, controller_settings

Progress = Callable[[float], None]


class Changes:
    """What is to be different from the recorded run."""

    def __init__(self, recording: Recording, values: Mapping[str, Any]) -> None:
        self.recording = recording
        self.before = controller_settings(recording)
        own = {n: v for n, v in values.items() if type(self.before).parameter(n) is not None}
        self.after = controller_settings(recording, own)
        old, new = self.before.values(), self.after.values()
        self.names = [name for name in new if new[name] != old.get(name)]
        self.beyond = {name: value for name, value in values.items() if name not in own}

    @property
    def live(self) -> bool:
        """Whether all of it could have been changed while the controller ran."""
        kinds = [type(self.after).parameter(name) for name in self.names]
        return all(kind is not None and kind.live for kind in kinds)

    @property
    def keep(self) -> set[str]:
        """Slots of the live block in which these changes win over what was changed then."""
        return slots_of(self.names)

    def loop(self, engine: str | None) -> ControlLoop:
        """The loop, before its memory is restored."""
        settings = self.before if self.live else self.after
        # No arm moves: what must be said of one, and limits that need a word, count for nothing.
        nowhere = settings.changed({"hardware": "topics", "limits.above_description": True})
        loop = build.build_loop(self.recording.about["kind"], nowhere)
        if engine:
            accept_engine(engine)
        return loop

    def put_into_force(self, loop: ControlLoop) -> None:
        """Make the changes at once, without a blend; after the memory was restored."""
        asked = build.delay_of(self.before)
        if (known := loop.controller.starting_delay) > asked:  # what was known of the arm then
            loop.controller.arm_delay = known
        if self.live and self.names:
            prepare_change(loop, self.after, self.names, running=False)(loop, 0.0)

    def follow_payload(self) -> Changed:
        """What puts a recorded change of payload into force, where no live block does."""
        state = [self.after]

        def changed(loop: ControlLoop, values: Mapping[str, Any]) -> None:
            mine = {
                name: value
                for name, value in values.items()
                if name.startswith("payload.") and name not in self.names
            }
            if mine:
                state[0] = settings = state[0].changed(mine)
                build.set_payload(loop.controller.model.arm, settings.payload)

        return changed


def what_if(
    recording: Recording,
    values: Mapping[str, Any],
    engine: str | None = None,
    progress: Progress = lambda fraction: None,
) -> tuple[Recording, float]:
    """What a controller with other parameters would have asked for at the recorded states.

    Returns:
        The recording with its answers, and the largest difference of any effort.
    """
    changes = Changes(recording, values)
    if changes.beyond:
        raise InvalidValue(
            f"{', '.join(changes.beyond)} is of the simulated arm, and the recorded states stay as "
            "they were; with --simulate it counts"
        )
    if any(name.startswith("reference.") for name in changes.names):
        raise InvalidValue(
            "a recorded motion was made by the recorded reference: another one makes sense with "
            "--simulate alone"
        )
    done = replay(
        recording,
        changes.loop(engine),
        keep=changes.keep,
        anew=not changes.live,
        changed=changes.follow_payload(),
        prepare=changes.put_into_force,
        progress=progress,
    )
    return done.as_recording, done.difference


class _FollowingArm(Port):
    """A simulated arm in place of the recorded one, from its first state on."""

    def __init__(self, arm: SimulatedArm, replayer: Replayer, recording: Recording) -> None:
        self._arm, self._replayer, self.truth = arm, replayer, arm.truth
        self.takes = arm.takes
        self._answers = recording.answers
        stamps = recording.column("stamp")
        self._begin = float(stamps[np.isfinite(stamps)][0])
        self._row = 0

    def open(self) -> RawState:
        return self._shifted(self._arm.open())

    def engage(self) -> None:
        self._replayer.begin()

    def read(self) -> RawState | None:
        row, self._row = self._row, self._row + 1
        self._replayer.before(row)
        if not self._answers[row]:
            return None
        state, self.truth = self._arm.sense(), self._arm.truth
        return self._shifted(state)

    def _shifted(self, state: RawState) -> RawState:
        return state._replace(stamp=self._begin + state.stamp)

    def write(self, effort: Array) -> None:
        self._arm.write(effort)

    def close(self) -> None:
        self._arm.close()


def simulated(
    recording: Recording,
    values: Mapping[str, Any],
    engine: str | None = None,
    progress: Progress = lambda fraction: None,
) -> Recording:
    """What would have happened on the simulated arm, from the first recorded state on.

    The arm is the one of the recorded parameters; what only a simulated arm has (friction, noise,
    delays) is what was recorded of it, if it was one, and what the values say.
    """
    changes = Changes(recording, values)
    motion = [name for name in changes.names if name.startswith("reference.")]
    loop = changes.loop(engine)
    arm = _plant_of(recording, changes.after, values)
    replayer = Replayer(
        loop,
        recording,
        keep=changes.keep,
        anew=not changes.live or bool(motion),
        changed=changes.follow_payload(),
    )
    runner = Runner(loop, _FollowingArm(arm, replayer, recording))
    runner.open()
    kept = runner.keep(len(recording.rows))
    changes.put_into_force(loop)
    if motion:
        state = arm.truth
        here = loop.reference.at(0.0)
        begin = float(recording.column("stamp")[0])
        loop.set_reference(build.build_reference(changes.after, here, begin, state.q.copy()))
    try:
        take_through(runner, len(recording.rows), progress)
    except SimulationFailed as error:
        raise SimulationFailed(f"after {len(kept.kept)} ticks: {error}") from None
    done = recording.with_rows(kept.kept, kept.places)
    return replace(done, index=np.arange(len(kept.kept)))


def _plant_of(
    recording: Recording, settings: ControllerSettings, values: Mapping[str, Any]
) -> SimulatedArm:
    q, v = recording.column("q"), recording.column("v")
    known = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
    if not known.size:
        raise InvalidValue(f"{recording.path.name} has no finite state to start from")
    first = known[0]
    start: dict[str, Any] = {
        f"simulation.{name}": [] for name in ("coordinates", "values", "rates")
    }
    start["simulation.start"] = q[first].tolist()
    arm = build.build_plant(arm_settings(recording, {**values, **start}))
    model = arm.plant.model
    q0 = assemble(model.arm, model.constraint, q[first], None, None)
    model.evaluate(q0, v[first])
    arm.start_at(q0, model.P @ v[first])
    return arm


def differing_parameters(one: Recording, other: Recording) -> list[tuple[str, Any, Any]]:
    """Parameters in which two runs differ: name, of the one, of the other.

    Those of the simulated arm too, where both were runs of one.
    """
    both = [dict(recording.parameters) for recording in (one, other)]
    if one.simulated and other.simulated:
        for values, recording in zip(both, (one, other), strict=True):
            values |= {f"simulated_arm: {k}": v for k, v in recording.simulated.items()}
    names: Sequence[str] = sorted({*both[0], *both[1]})
    found = [(name, both[0].get(name), both[1].get(name)) for name in names]
    return [line for line in found if line[1] != line[2] and line[0] != "recording.file"]
