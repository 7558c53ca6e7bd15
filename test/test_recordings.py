"""Recordings: nothing is missed, everything is repeated to the last bit, what is broken is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import LAWS, build

from projected_control import Port, Runner, run
from projected_control.cdr import CdrFormat
from projected_control.control.gains import MotionGains
from projected_control.control.references import Constant, Reference, ReferencePoint, SetPoint
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import read_recording
from projected_control.runs.replay import RecordedArm, RecordedReference, replay
from projected_control.runs.ring import LOST, Ring
from projected_control.runs.row_messages import PER_NAME, column, parameter_event, parameters_of
from projected_control.runs.rows import ROW
from projected_control.simulation.plant_terms import TRUTH

mcap = pytest.importorskip("mcap", reason="the package mcap is not installed")

TICKS = 300


class Troubled(Port):
    """An arm that now and then has no state, or one that is not finite."""

    def __init__(self, arm: Port) -> None:
        self._arm, self._count = arm, 0
        self.wrench_frame = arm.wrench_frame

    def open(self) -> RawState:
        return self._arm.open()

    def read(self) -> RawState | None:
        self._count += 1
        state = self._arm.read()
        assert state is not None
        if 100 <= self._count < 103:
            return state._replace(q=np.full_like(state.q, np.nan))
        if self._count in (150, 151):
            return None
        if self._count == 200:
            return state._replace(stamp=state.stamp - 0.01)
        if self._count == 210:
            return state._replace(wrench=None)
        return state

    def write(self, effort: np.ndarray) -> None:
        self._arm.write(effort)

    def close(self) -> None:
        self._arm.close()


class Wandering(Reference):
    """A reference without a table, which Python is asked for in every tick."""

    def __init__(self, start: np.ndarray) -> None:
        self._start, self.size = start, start.size

    def at(self, time: float) -> ReferencePoint:
        swing = 0.01 * np.sin(3.0 * time) * np.ones(self.size)
        rate, acceleration = 0.03 * np.cos(3.0 * time), -0.09 * np.sin(3.0 * time)
        ones = np.ones(self.size)
        return ReferencePoint(self._start + swing, rate * ones, acceleration * ones)


def change_things(runner: Runner, tick: int) -> None:
    """What the deciding side does in the course of a run."""
    loop, controller = runner.loop, runner.loop.controller
    if tick == 40:
        controller.set_gains(MotionGains(300.0, 30.0), 0.05)
    if tick == 80:
        here = loop.reference.at(runner.time)
        loop.set_reference(SetPoint(here, here.value + 0.01, begin=runner.time))
    if tick == 120 and controller.force is not None:
        loop.set_force_reference(Constant(np.full(controller.model.m, 3.0)))
    if tick == 250:
        loop.set_reference(Wandering(loop.reference.at(runner.time).value.copy()))


def recorded(path: Path, law: str, begin: int = 0) -> np.ndarray:
    """A run with all that can happen, recorded from a tick on; all efforts that were sent."""
    loop, arm = build(law)
    runner, recorder, sent = Runner(loop, Troubled(arm)), Recorder(path), []
    runner.open()
    try:
        for tick in range(TICKS):
            if tick == begin:
                runner.record(recorder)
            change_things(runner, tick)
            runner.step()
            sent.append(loop.guard.sent.copy())
    finally:
        recorder.close()
    return np.array(sent)


@pytest.mark.parametrize("begin", [0, 60])
@pytest.mark.parametrize("law", LAWS)
def test_a_replay_is_the_run_to_the_last_bit(law, begin, tmp_path):
    sent = recorded(tmp_path / "run.mcap", law, begin=begin)
    recording = read_recording(tmp_path / "run.mcap")
    assert recording.warnings() == []
    assert len(recording.rows) == TICKS - begin
    np.testing.assert_array_equal(recording.column("effort"), sent[begin:])
    assert not np.isfinite(recording.column("q")).all()  # NaN states among them
    assert (~recording.answers).sum() == 2  # and silence
    done = replay(recording, build(law)[0])
    assert done.difference == 0.0
    np.testing.assert_array_equal(done.effort, sent[begin:])
    same = [name for name in recording.columns if name not in ("took", "letter")]
    for name in same:
        theirs = recording.column(name)
        ours = type(recording)(recording.path, recording.about, rows=done.rows).column(name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


def test_other_gains_ask_for_something_else_and_stay_against_recorded_changes(tmp_path):
    recorded(tmp_path / "run.mcap", "pidc")
    loop = build("pidc")[0]
    soft = MotionGains(5.0, 1.0)
    done = replay(
        tmp_path / "run.mcap",
        loop,
        keep={"gains"},
        prepare=lambda loop: loop.controller.set_gains(soft, 0.0),
    )
    assert done.difference > 1e-3
    np.testing.assert_array_equal(loop.mailbox.draft.gains[:2], 5.0)


def test_ticks_that_are_made_at_the_arm_are_recorded_and_called_so(tmp_path):
    loop, arm = build("pidc")
    port = Troubled(arm)
    port.remote = True
    run(loop, port, 50, record=tmp_path / "run.mcap")
    recording = read_recording(tmp_path / "run.mcap")
    assert len(recording.rows) == 50
    assert not recording.exact
    assert "a replay is not exact" in " ".join(recording.warnings())


def test_foxgloves_own_reader_validates_it(tmp_path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    sent = recorded(tmp_path / "run.mcap", "hybrid")
    recording = read_recording(tmp_path / "run.mcap")
    with (tmp_path / "run.mcap").open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        header, summary = reader.get_header(), reader.get_summary()
        assert header.profile == "ros2"
        kinds = {c.topic: summary.schemas[c.schema_id].name for c in summary.channels.values()}
        found: dict[str, list] = {}
        for _, channel, message, decoded in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message, decoded))
        attached = {a.name for a in reader.iter_attachments()}
    assert kinds == {
        "/joint_states": "sensor_msgs/msg/JointState",
        "/wrench": "geometry_msgs/msg/WrenchStamped",
        "/effort_controller/commands": "std_msgs/msg/Float64MultiArray",
        "/controller/state": "sensor_msgs/msg/JointState",
        "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
        "/parameter_events": "rcl_interfaces/msg/ParameterEvent",
        "/robot_description": "std_msgs/msg/String",
        "/controller/recording/ticks": "std_msgs/msg/Float64MultiArray",
        "/controller/recording/letters": "std_msgs/msg/Float64MultiArray",
    }
    assert {"memory.npz", "parameters.json", "robot_description.urdf"} <= attached
    efforts = np.array([d.data for _, d in found["/effort_controller/commands"]])
    np.testing.assert_array_equal(efforts, sent)
    positions = np.array([d.position for _, d in found["/joint_states"]])
    np.testing.assert_array_equal(positions, recording.column("q")[recording.answers])
    wrench = found["/wrench"][5][1].wrench
    expected = recording.column("wrench")[5]
    assert [wrench.force.x, wrench.force.y, wrench.torque.z] == expected[[0, 1, 5]].tolist()
    times = [m.log_time for m, _ in found["/joint_states"]]
    assert times == sorted(times)
    assert "<robot" in found["/robot_description"][0][1].data
    state = found["/controller/state"][3][1]
    assert state.name[:3] == ["tip.x", "tip.x/desired", "tip.x/error"]


def test_a_payload_that_was_taken_up_is_replayed_and_kept_against(tmp_path):
    """It is in the live block, from the beginning on: no parameter has to say it."""
    loop, arm = build("pidc")
    loop.controller.model.arm.set_payload("link_1", 0.2)
    loop.take_load()
    runner, recorder = Runner(loop, arm), Recorder(tmp_path / "run.mcap")
    runner.record(recorder)
    runner.open()
    for tick in range(100):
        if tick in (30, 70):
            loop.controller.model.arm.set_payload("link_2", 0.5 if tick == 30 else 0.0)
            loop.take_load()
        runner.step()
    recorder.close()
    recording = read_recording(tmp_path / "run.mcap")
    done = replay(recording, build("pidc")[0])
    assert done.difference == 0.0
    without = replay(recording, build("pidc")[0], keep={"bodies"})
    assert without.difference > 0.05
    apart = np.abs(without.effort - recording.column("effort")).max(axis=1) > 1e-6
    assert apart[31:70].all()
    assert not apart[:30].any()


def test_a_change_that_did_not_reach_the_file_ends_what_is_used(tmp_path):
    """As a crash can have it: rows go through shared memory, changes through a pipe."""
    loop, arm = build("pidc")
    runner, recorder = Runner(loop, arm), Recorder(tmp_path / "run.mcap")
    runner.record(recorder)
    runner.open()
    for tick in range(100):
        if tick == 60:
            loop.mailbox.listener = None
            loop.controller.set_gains(MotionGains(100.0, 20.0), 0.0)
        runner.step()
    recorder.close()
    recording = read_recording(tmp_path / "run.mcap")
    assert len(recording.rows) == 60
    assert "has 100 ticks, of which 60 are used" in recording.warnings()[0]
    assert replay(recording, build("pidc")[0]).difference == 0.0


def test_a_file_that_breaks_off_is_read_up_to_there_and_says_so(tmp_path):
    from mcap.reader import make_reader

    path = tmp_path / "run.mcap"
    loop, arm = build("pidc")
    recorder = Recorder(path)
    runner = Runner(loop, arm)
    runner.record(recorder)
    runner.open()
    rows = 0
    for _ in range(4):  # chunks, each of which is on the disk before the next one begins
        for _ in range(100):
            runner.step()
        rows += 100
        wait_for(lambda: _rows(path) == rows)  # noqa: B023
    recorder.close()
    whole, content = read_recording(path), path.read_bytes()
    assert whole.broken == ""
    for share in (0.999, 0.9, 0.7):
        cut = tmp_path / f"cut_{share}.mcap"
        cut.write_bytes(content[: int(share * len(content))])
        part = read_recording(cut)
        rows = len(part.rows)
        assert "breaks off" in part.broken
        assert part.warnings()[0] == part.broken
        np.testing.assert_array_equal(part.rows, whole.rows[:rows])
    with path.open("rb") as file:
        last_chunk = make_reader(file).get_summary().chunk_indexes[-1].chunk_start_offset
    damaged = bytearray(content)
    damaged[last_chunk + 500] ^= 0xFF
    (tmp_path / "damaged.mcap").write_bytes(damaged)
    part = read_recording(tmp_path / "damaged.mcap")
    assert part.broken
    np.testing.assert_array_equal(part.rows, whole.rows[: len(part.rows)])


def wait_for(condition, seconds: float = 60.0) -> None:
    from time import monotonic, sleep

    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "it did not come"
        sleep(0.02)


RUN = """\
import sys, time
sys.path.insert(0, sys.argv[2])
from loops import build
from projected_control import Runner
from projected_control.runs.recorder import Recorder
loop, arm = build("pidc")
runner, recorder = Runner(loop, arm), Recorder(sys.argv[1])
runner.record(recorder)
runner.open()
print(recorder._process.pid, flush=True)
while True:
    runner.step()
    time.sleep(0.0005)
"""


@pytest.mark.parametrize("victim", ["loop", "writer"])
def test_kill_9_in_the_midst_loses_at_most_what_was_not_yet_on_the_disk(victim, tmp_path):
    path = tmp_path / "run.mcap"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        writer = int(process.stdout.readline())
        wait_for(lambda: path.stat().st_size > 0 and _rows(path) > 200)
        there = _rows(path)
        os.kill(process.pid if victim == "loop" else writer, signal.SIGKILL)
        if victim == "loop":
            process.wait()
            wait_for(lambda: not Path(f"/proc/{writer}").exists())
    finally:
        process.kill()
        process.wait()
    recording = read_recording(path)
    assert len(recording.rows) >= there
    assert recording.gap is None
    if victim == "loop":  # the writer lives on, and completes the file
        assert recording.broken == ""
        assert recording.reason == "the process that recorded was killed"
    else:
        assert "breaks off" in recording.broken
    assert replay(recording, build("pidc")[0]).difference == 0.0


def _rows(path: Path) -> int:
    try:
        return len(read_recording(path).rows)
    except InvalidValue:  # its very beginning is not written yet
        return 0


def test_ticks_that_are_lost_are_counted_and_the_loop_does_not_wait(tmp_path):
    path = tmp_path / "run.mcap"
    loop, arm = build("pidc", 5e-3)
    runner, recorder = Runner(loop, arm), Recorder(path, patient=False)
    runner.record(recorder)
    runner.open()
    ticks = 2 * recorder._ring.capacity
    for tick in range(ticks):
        runner.step()
        if tick == 0:  # when the process has begun to write, it is held up
            wait_for(lambda: recorder.status()["megabytes"] > 0.0)
            os.kill(recorder._process.pid, signal.SIGSTOP)
    os.kill(recorder._process.pid, signal.SIGCONT)
    wait_for(lambda: recorder.status()["lost"] > 0)
    assert "were not recorded" in recorder.trouble
    recorder.close()
    recording = read_recording(path)
    assert recording.lost > 0
    assert recording.lost + len(recording.rows) == ticks
    assert recording.gap is not None
    assert "lost" in " ".join(recording.warnings())
    assert replay(recording, build("pidc", 5e-3)[0]).difference == 0.0  # up to the gap


def test_a_recording_ends_at_its_largest_size(tmp_path):
    loop, arm = build("hybrid")
    recorder = Recorder(tmp_path / "run.mcap", megabytes=0.2)
    run(loop, arm, 3000, record=recorder)
    recording = read_recording(recorder.file)
    assert "largest size" in recording.reason
    assert 0 < len(recording.rows) < 3000
    assert recording.broken == ""


def test_files_are_never_overwritten_and_refusals_say_why(tmp_path):
    for expected in ("run.mcap", "run_2.mcap", "run_3.mcap"):
        recorder = Recorder(tmp_path / "run.mcap")
        assert recorder.file == tmp_path / expected
        (tmp_path / expected).write_bytes(b"kept")
    with pytest.raises(InvalidValue, match="there is no folder"):
        Recorder(tmp_path / "nowhere" / "run.mcap")
    with pytest.raises(InvalidValue, match=r"a recording is a file \*\.mcap"):
        Recorder(tmp_path / "run.bag")
    with pytest.raises(InvalidValue, match="cannot read"):
        read_recording(tmp_path / "missing.mcap")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"kept", "is no MCAP file: it begins with b'kept'"),
        (b"#ROSBAG V2.0\n", "is no MCAP file: it begins with b'#ROSBAG '"),
        (b"\x89MCA", "breaks off after 4 bytes"),
        (b"\x89MCAP0\r\n", "nothing of it can be read"),
        (b"\x89MCAP0\r\n\xff\xff\xff\xff", "nothing of it can be read"),
        (b"\x89MCAP0\r\n\x01" + bytes(40), "nothing of it can be read"),
    ],
)
def test_what_is_no_recording_is_refused_with_what_is_wrong_and_what_to_do(
    tmp_path, content, reason
):
    (tmp_path / "run.mcap").write_bytes(content)
    with pytest.raises(InvalidValue) as refused:
        read_recording(tmp_path / "run.mcap")
    assert reason in str(refused.value)
    assert "expected is a recording" in str(refused.value)
    assert "projected-control record" in str(refused.value)


def test_another_programs_mcap_is_refused_with_what_to_do(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "other.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start()
        writer.finish()
    with pytest.raises(InvalidValue, match="projected-control record"):
        read_recording(tmp_path / "other.mcap")


def test_a_recording_of_another_arm_or_law_is_refused(tmp_path):
    recorded(tmp_path / "run.mcap", "pidc")
    with pytest.raises(InvalidValue, match="joints"):
        replay(tmp_path / "run.mcap", build("crank")[0])
    recording = read_recording(tmp_path / "run.mcap")
    recording.memory["guard_work"] = np.zeros(3)
    with pytest.raises(InvalidValue, match="not the memory of such a loop"):
        replay(recording, build("pidc")[0])


def test_a_recording_is_a_port(tmp_path):
    recorded(tmp_path / "run.mcap", "pidc")
    recording = read_recording(tmp_path / "run.mcap")
    port = RecordedArm(recording)
    port.open()
    states = [port.read() for _ in range(TICKS)]
    assert states[150 - 1] is None
    assert states[10].stamp == recording.column("stamp")[10]
    motion = RecordedReference(recording.column("stamp"), recording.column("motion"))
    np.testing.assert_array_equal(motion.at(0.05).value, recording.column("motion")[50, 0])


@given(st.integers(1, 40), st.lists(st.integers(0, 60), max_size=12))
def test_a_ring_gives_every_row_once_or_counts_it_as_lost(capacity, bursts):
    ring, reader = Ring.new(capacity + 1, 1), None
    reader = Ring(ring.handle, ring.capacity, 1)
    written, seen = 0, []
    for burst in bursts:
        for _ in range(burst):
            ring.counters[0] = written + 1
            ring.rows[written % ring.capacity] = written
            written += 1
            ring.counters[1] = written
        first, rows = reader.take(1000)
        assert rows[:, 0].tolist() == list(range(first, first + len(rows)))
        seen += rows[:, 0].tolist()
    assert len(seen) + int(ring.counters[LOST]) == written
    assert seen == sorted(set(seen))
    ring.release()


@given(st.lists(st.floats(width=64), min_size=3, max_size=3), st.text("abc/"), st.integers(1, 5))
def test_many_messages_at_once_are_each_alone(numbers, frame, count):
    form = CdrFormat().number("i").number("I").text(frame).array(3)
    lines = np.array([[i, 7, *numbers] for i in range(count)])
    many = form.write_many(lines)
    for i in range(count):
        assert many[i].tobytes() == form.write(i, 7, *numbers)


VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    st.lists(st.floats(allow_nan=False), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.integers(-(2**60), 2**60), min_size=1),
    st.lists(st.text("abc"), min_size=1),
)


@given(st.dictionaries(st.text("abc.", min_size=1), VALUES, max_size=4))
def test_parameters_that_change_come_back(values):
    assert parameters_of(parameter_event(1_500_000_000, "/node", values)) == values


def test_without_mcap_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mcap", None)
    with pytest.raises(ProjectedControlError, match="pip install mcap"):
        Recorder(tmp_path / "run.mcap")


def test_rows_in_memory_have_what_the_arm_really_did():
    """The same row as in a file, and the truth beside it; of ten ticks the last where asked."""
    loop, arm = build("hybrid")
    runner, seen = Runner(loop, arm), []
    every, tenth = runner.keep(50), runner.keep(5, every=10)
    runner.run(50, lambda _, tick: seen.append((tick.report.effort.copy(), arm.truth)))
    np.testing.assert_array_equal(every.column("effort"), [effort for effort, _ in seen])
    for name, part in (("q", "q"), ("multipliers", "multipliers"), ("work_done", "work")):
        truth = [getattr(state, part) for _, state in seen]
        np.testing.assert_array_equal(every.column(f"true_{name}"), truth)
    np.testing.assert_array_equal(tenth.kept[:, :3], every.kept[9::10, :3])
    np.testing.assert_array_equal(tenth.column("true_q"), every.column("true_q")[9::10])
    runner.step()
    with pytest.raises(InvalidValue, match="51 rows came where 50 were expected"):
        every.column("q")


def test_parts_that_stay_lists_are_those_of_the_layout():
    """`messages` must not load kernels, so that it says by itself which parts are one per name."""
    named = {name for name, part in ROW.declared.items() if set("nmk") & set(part.shape)}
    named |= {f"true_{name}" for name, part in TRUTH.declared.items() if part.shape != "1"}
    assert set(PER_NAME) == named


@pytest.mark.parametrize("count", [0, 3])
def test_an_arm_that_nothing_holds_has_parts_without_a_number(count):
    rows, places = np.zeros((count, 4)), {"force_motion": (4, (3, 0)), "q": (0, (4,))}
    assert column(rows, places, "force_motion").shape == (count, 3, 0)
    assert column(rows, places, "q").shape == (count, 4)
