"""Recordings of yesterday replay to the last bit, whatever was added to a loop since then."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from golden_recordings import RUNS, difference, file_of
from golden_runs import made_with
from loops import build

from projected_control import Runner
from projected_control.errors import InvalidValue
from projected_control.runs.kept_memory import block_as_here, described
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import Recording, read_recording
from projected_control.runs.replay import replay


@pytest.mark.parametrize("name", RUNS)
def test_a_golden_recording_replays(name: str) -> None:
    before, now = made_with()
    assert difference(file_of(name)) <= (0.0 if before == now else 1e-9)


def test_the_files_are_small() -> None:
    assert sum(file_of(name).stat().st_size for name in RUNS) < 600_000


@pytest.fixture
def recorded(tmp_path) -> Recording:
    """A hybrid loop with a change of gains."""
    loop, arm = build("hybrid")
    runner, recorder = Runner(loop, arm), Recorder(tmp_path / "run.mcap")
    runner.record(recorder)
    runner.open()
    for tick in range(60):
        if tick == 30:
            loop.controller.set_gains(loop.controller.gains, 0.01)
        runner.step()
    recorder.close()
    return read_recording(tmp_path / "run.mcap")


def of_a_smaller_version(recording: Recording) -> Recording:
    """As if it had been made before parts were added: some lie apart, some are not there."""
    content = json.loads(recording.about["memory"])
    places = content["places"]
    guard, control = recording.memory["guard_work"], recording.memory["control_work"]
    begin, (length,) = places["guard_work"].pop("missing")
    moved = {"guard_work": np.delete(guard, np.s_[begin : begin + length])}
    for name, (at, shape) in places["guard_work"].items():
        places["guard_work"][name] = (at - length if at > begin else at, shape)
    gap = 5  # and the controller's parts further back
    moved["control_work"] = np.concatenate([np.full(gap, np.nan), control])
    places["control_work"] = {
        name: (at + gap, shape) for name, (at, shape) in places["control_work"].items()
    }
    places["control_work"]["once"] = (0, (gap,))
    return replace(
        recording,
        memory={**recording.memory, **moved},
        about={**recording.about, "memory": json.dumps(content)},
    )


def test_parts_are_found_by_name_wherever_they_lay(recorded: Recording) -> None:
    assert replay(of_a_smaller_version(recorded), build("hybrid")[0]).difference == 0.0


def test_blocks_of_fewer_slots_are_taken(recorded: Recording) -> None:
    """Without a slot that was added later, and what a block has for it."""
    loop = build("hybrid")[0]
    content = json.loads(recorded.about["memory"])
    places = content["places"]["mailbox"]
    number, block = max(recorded.blocks.items())
    lost = []
    slot = ("impedance", "versions.impedance", "applied.impedance", "seconds.impedance")
    for name in slot:
        at, (length,) = places.pop(name)
        lost += range(at, at + length)
    for name, (at, shape) in places.items():
        places[name] = (at - sum(place < at for place in lost), shape)
    old = np.delete(block, lost)
    here = block_as_here(loop, old, json.dumps(content))
    ours = json.loads(described(loop))["places"]["mailbox"]
    same = [name for name in ours if name not in slot]
    for name in same:
        at, shape = ours[name]
        part = slice(at, at + int(np.prod(shape)))
        np.testing.assert_array_equal(here[part], block[part], err_msg=name)
    assert here[0] == number


def test_what_is_of_another_arm_or_damaged_is_refused(recorded: Recording) -> None:
    with pytest.raises(InvalidValue, match="joints"):
        replay(recorded, build("crank")[0])
    recorded.memory["guard_work"] = np.zeros(3)
    with pytest.raises(InvalidValue, match="not the memory of such a loop: guard_work"):
        replay(recorded, build("hybrid")[0])


def test_a_block_whose_numbers_have_other_sizes_is_refused(recorded: Recording) -> None:
    content = json.loads(recorded.about["memory"])
    at, (length,) = content["places"]["mailbox"]["friction"]
    content["places"]["mailbox"]["friction"] = (at, (length - 1,))
    about = {**recorded.about, "memory": json.dumps(content)}
    with pytest.raises(InvalidValue, match="friction of a live block had the shape"):
        replay(replace(recorded, about=about), build("hybrid")[0])
