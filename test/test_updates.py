"""Messages between the nodes and the plugin: what is written is read, all else is refused."""

import struct

import numpy as np
import pytest
from arms import slider_model, spatial_model, state_on
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.events import Event
from projected_control.control.live import NUMBER, SLOTS
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines, Waypoints
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.motion_tables import evaluate_motion, packed_table
from projected_control.native import updates
from projected_control.native.session import (
    LONGEST_TABLE,
    ChangeMessages,
    RemoteTick,
    argument,
    begin_sections,
)
from projected_control.native.updates import (
    BYTES,
    DOUBLE,
    HEADER,
    Message,
    RefusedUpdate,
    Report,
    Section,
    Status,
    Update,
    decode,
    encode,
)
from projected_control.native.updates_header import LOOP, MIRRORED, updates_header

T = 1e-3
numbers = st.integers(0, 2**63 - 1)


@st.composite
def contents(draw):
    """Any sections, each with what it may hold."""
    found = {}
    for section in draw(st.lists(st.sampled_from(Section), unique=True, max_size=6)):
        kind = updates.SECTIONS[section].type
        if kind == BYTES:
            found[section] = draw(st.binary(max_size=40))
        elif kind == DOUBLE:
            found[section] = np.array(draw(st.lists(st.floats(), max_size=9)), dtype=np.float64)
        else:
            values = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9)
            found[section] = np.array(draw(values), dtype=np.int64)
    return found


messages = st.builds(
    encode, st.sampled_from(Update), numbers, numbers, contents(), st.sampled_from(Status)
)


@given(st.sampled_from(Update), numbers, numbers, contents(), st.sampled_from(Status))
def test_what_is_written_is_read(kind, session, sequence, sections, status):
    data = encode(kind, session, sequence, sections, status)
    read = decode(data)
    assert len(data) % 8 == 0
    assert (read.kind, read.session, read.sequence, read.status) == (
        kind,
        session,
        sequence,
        status,
    )
    assert list(read.sections) == sorted(sections)
    for section, content in sections.items():
        if isinstance(content, bytes):
            assert read.sections[section] == content
        else:
            np.testing.assert_array_equal(read.sections[section], content)


@given(st.binary(max_size=300))
def test_noise_is_refused(data):
    with pytest.raises(RefusedUpdate):
        decode(data)


@given(messages, st.data())
def test_one_changed_byte_is_refused(data, draw):
    at = draw.draw(st.integers(0, len(data) - 1))
    changed = bytearray(data)
    changed[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(RefusedUpdate):
        decode(bytes(changed))


@given(messages, st.data())
def test_a_part_is_refused(data, draw):
    with pytest.raises(RefusedUpdate) as refusal:
        decode(data[: draw.draw(st.integers(0, len(data) - 1))])
    assert refusal.value.status is Status.MALFORMED


@settings(max_examples=50)
@given(messages, st.integers(0, 2**32 - 1), st.sampled_from([8, 12, 48]))
def test_a_header_that_lies_is_refused_though_its_checksum_is_right(data, number, at):
    """Version, kind and number of sections of another message, with a checksum made for it."""
    if struct.unpack_from("<I", data, at)[0] == number:
        return
    changed = bytearray(data)
    struct.pack_into("<I", changed, at, number)
    sealed = reseal(changed)
    try:
        kind = decode(sealed).kind
    except RefusedUpdate:
        return
    assert at == 12
    assert kind == number


def reseal(data: bytearray) -> bytes:
    """With the checksum that belongs to it."""
    import zlib

    data[52:56] = bytes(4)
    struct.pack_into("<I", data, 52, zlib.crc32(bytes(data)))
    return bytes(data)


def test_statuses_say_what_is_wrong():
    data = bytearray(encode(Update.BEAT, 1, 1))
    struct.pack_into("<I", data, 8, updates.VERSION + 1)
    with pytest.raises(RefusedUpdate, match="version") as refusal:
        decode(reseal(data))
    assert refusal.value.status is Status.VERSION
    data = bytearray(encode(Update.BEAT, 1, 1))
    struct.pack_into("<Q", data, 16, updates.digest_number() ^ 1)
    with pytest.raises(RefusedUpdate, match="other sources") as refusal:
        decode(reseal(data))
    assert refusal.value.status is Status.DIGEST


def hybrid(build):
    """A hybrid loop on an arm, ready to begin, and the state it begins at."""
    near = {3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
    model = build()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains(), T)
    q, _ = state_on(model, 1, near[model.n], 0.05)
    v = np.zeros(model.n)
    place = model.evaluate(q, v).theta.copy()
    wave = Sines(place, [[Sine(0.01, 1.0 + i)] for i in range(model.k)])
    loop = ControlLoop(controller, wave, force_reference=Constant(np.full(model.m, 5.0)))
    return loop, RawState(q, v, 0.0, np.zeros(6))


def silence_of(loop):
    model = loop.controller.model
    return silence_array(model.m, model.k, SilenceAnswer.STOP, 0.2, 0.5)


@pytest.mark.parametrize("build", [slider_model, spatial_model])
def test_a_loop_that_was_sent_is_the_same_loop(build):
    """Its arrays, put into another loop of the same kind, give the same efforts bit by bit."""
    loop, state = hybrid(build)
    loop.begin(state)
    sections = begin_sections(loop, silence_of(loop), 0.01)
    sent = decode(encode(Update.BEGIN, 5, 1, sections))
    other, _ = hybrid(build)
    for section in LOOP:
        array = argument(other, section)
        array[...] = sent.sections[section].reshape(array.shape)
    for i in range(20):
        now = state._replace(stamp=i * T)
        ours, theirs = loop.update(now), other.update(now)
        np.testing.assert_array_equal(ours.effort, theirs.effort)
        assert (ours.action, ours.events) == (theirs.action, theirs.events)


def state_message(loop, state, events=0):
    """What a plugin that runs this loop would report."""
    report = np.zeros(len(Report), dtype=np.int64)
    report[Report.ACTION], report[Report.EVENTS] = loop.report.action, loop.report.events
    report[Report.EVENTS_SINCE] = events
    return Message(
        Update.STATE,
        5,
        1,
        {
            Section.REPORT: report,
            Section.STAMP_NS: np.array([1], dtype=np.int64),
            Section.INSTANTS: np.array([state.stamp, 9000.0]),
            Section.NOW: np.array([state.stamp, 0.0]),
            Section.Q: state.q,
            Section.V: state.v,
            Section.WRENCH: np.zeros(6),
            Section.APPLIED: loop.arguments.taken[:7].copy(),
            **{section: argument(loop, section).copy() for section in MIRRORED},
        },
    )


def test_a_remote_tick_shows_what_was_computed_there():
    there, state = hybrid(slider_model)
    here, _ = hybrid(slider_model)
    there.update(state)
    remote = RemoteTick(here)
    assert here.engine == "plugin"
    remote.put(state_message(there, state, int(Event.RATE_LIMITED)))
    remote.put(state_message(there, state))
    report = here.update(state)
    np.testing.assert_array_equal(report.effort, there.guard.sent)
    np.testing.assert_array_equal(here.controller.error, there.controller.error)
    np.testing.assert_array_equal(here.controller.model.theta, there.controller.model.theta)
    assert report.events & Event.RATE_LIMITED
    assert list(remote.cycles) == [(0.0, 9000), (0.0, 9000)]
    assert int(here.counters.ticks[0]) == 1
    remote.detach()
    assert here.engine != "plugin"


def test_a_state_of_another_loop_is_refused():
    there, state = hybrid(slider_model)
    here, _ = hybrid(slider_model)
    message = state_message(there, state)
    message.sections[Section.GUARD_WORK] = np.zeros(3)
    with pytest.raises(RefusedUpdate, match="GUARD_WORK"):
        RemoteTick(here).put(message)


def test_changes_are_sent_once_and_whole():
    loop, _ = hybrid(slider_model)
    blocks = []
    loop.mailbox.sender = lambda box: blocks.append(box.copy())
    with loop.mailbox.together():
        loop.controller.set_gains(MotionGains(100.0, 20.0), 0.2)
        loop.set_force_reference(Constant([3.0]))
    assert len(blocks) == 1
    assert blocks[0][0] % 2 == 0
    np.testing.assert_array_equal(blocks[0], loop.mailbox.box)


def test_a_reference_that_is_too_long_to_send_is_refused_beforehand():
    """In the thread that asks for it, and nothing is changed."""
    loop, _ = hybrid(slider_model)
    remote = RemoteTick(loop)
    times = np.linspace(0.0, 100.0, LONGEST_TABLE // 16)
    before = loop.mailbox.box.copy()
    with pytest.raises(InvalidValue, match=r"too long.*262144 are allowed"):
        loop.get_ready_for(Waypoints(times, np.zeros((times.size, 2)), order=3))
    np.testing.assert_array_equal(loop.mailbox.box, before)
    loop.get_ready_for(Waypoints(times[:1000], np.zeros((1000, 2)), order=3))
    remote.detach()


def test_tables_and_masses_go_with_changes_until_one_is_acknowledged():
    loop, _ = hybrid(slider_model)
    messages = ChangeMessages(loop)
    assert set(messages.sections()) == {Section.MAILBOX}
    loop.set_reference(Constant([0.1, 0.2]))
    loop.controller.model.arm.set_payload("tip", 0.5)
    loop.take_load()
    wanted = {Section.MAILBOX, Section.REFERENCE, Section.CHECK}
    for sequence, accepted in ((2, False), (3, True)):
        assert set(messages.sections()) == wanted
        messages.sent(sequence)
        messages.acknowledged(sequence, accepted=accepted)
    assert set(messages.sections()) == {Section.MAILBOX}
    loop.set_force_reference(Constant([1.0]))
    assert set(messages.sections()) == {Section.MAILBOX, Section.FORCE_REFERENCE}


def test_a_packed_table_is_the_same_motion():
    loop, _ = hybrid(slider_model)
    loop.set_reference(Sines([0.1, 0.2], [[Sine(0.01, 0.5)], [Sine(0.02, 0.3)] * 2]))
    table = loop.mailbox.box[-loop.mailbox.force_reference.size - loop.mailbox.reference.size :]
    table = table[: loop.mailbox.reference.size]
    packed = packed_table(table)
    assert packed.size < table.size
    for time in (-1.0, 0.0, 2.5):
        motions = np.empty((2, 3, 2))
        evaluate_motion(time, table, motions[0])
        evaluate_motion(time, packed, motions[1])
        np.testing.assert_array_equal(*motions)


def test_every_section_is_declared_and_in_the_header():
    assert set(updates.SECTIONS) == set(Section)
    text = updates_header()
    for section in Section:
        assert f"PROJECTED_CONTROL_SECTION_{section.name} = {int(section)}," in text
    for slot in SLOTS:
        assert f"PROJECTED_CONTROL_SLOT_{slot.upper()} = {NUMBER[slot]}," in text
    assert f"0x{updates.digest_number():016x}ULL" in text
    assert HEADER.size == 64
