"""The plugin without ros2_control: what is no update is refused and changes nothing."""

import zlib

import numpy as np
from acting import Acting, change_message
from acting_runs import NEEDS_NATIVE, ActingRun
from loops import T, opened

from projected_control.control import MotionGains
from projected_control.control.live import CONTENT_AT
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.native.session import begin_sections, change_sections
from projected_control.native.updates import (
    HEADER,
    VERSION,
    Report,
    Section,
    Status,
    Update,
    encode,
)

pytestmark = NEEDS_NATIVE


def broken_updates(loop, count, seed=0):
    """Updates with one thing wrong with each, and what is wrong."""
    random = np.random.default_rng(seed)
    good = change_message(loop, 7, 1_000_000)
    whole = change_sections(loop)
    sections = list(whole)
    for i in range(count):
        kind = ("bit", "version", "digest", "size", "nan", "order", "session", "length")[i % 8]
        if kind == "bit":
            data = bytearray(good)
            data[random.integers(len(data))] ^= 1 << random.integers(8)
        elif kind == "version":
            data = bytearray(good)
            data[8:12] = int(random.integers(VERSION + 1, 1 << 31)).to_bytes(4, "little")
        elif kind == "digest":
            data = bytearray(_with_digest(good, int(random.integers(1, 1 << 62))))
        elif kind == "size":
            data = bytearray(good[: random.integers(len(good))])
        elif kind in ("nan", "length"):
            spoiled = {section: content.copy() for section, content in whole.items()}
            spoiled[Section.MAILBOX][0] += 2.0
            section = sections[random.integers(len(sections))]
            content = spoiled[section]
            if kind == "nan":  # whatever a tick looks at: versions, gains, limits, tables, masses
                first = CONTENT_AT if section is Section.MAILBOX else 0
                content[random.integers(first, content.size)] = np.nan
            else:
                spoiled[section] = content[: random.integers(content.size)]
            data = encode(Update.CHANGE, 7, 1_000_000 + i, spoiled)
        elif kind == "order":
            data = change_message(loop, 7, int(random.integers(1, 3)))
        else:
            data = change_message(loop, int(random.integers(8, 1 << 62)), 1_000_000)
        yield kind, bytes(data)


def _with_digest(message, digest):
    fields = list(HEADER.unpack_from(message))
    fields[3], fields[8] = digest, 0
    blank = HEADER.pack(*fields) + message[HEADER.size :]
    fields[8] = zlib.crc32(blank)
    return HEADER.pack(*fields) + message[HEADER.size :]


def test_ten_thousand_broken_updates_change_nothing():
    """Each is refused and acknowledged; the torques stay those of a loop that got none of them."""
    run, own = ActingRun("hybrid"), opened("hybrid")[0]
    run.go(20)
    run.loop.controller.set_gains(MotionGains(1.0, 1.0), seconds=0.0)
    run.loop.guard.set_limits(run.loop.guard.limits)
    statuses = {}
    for i, (kind, data) in enumerate(broken_updates(run.loop, 10_000)):
        answer = run.send(data)
        assert answer is not None, kind
        assert answer.status is not Status.ACCEPTED, kind
        assert answer.reason
        statuses.setdefault(kind, set()).add(answer.status)
        if i % 100 == 0:
            run.go(1)
    assert statuses["version"] == {Status.VERSION}
    assert statuses["digest"] == {Status.DIGEST}
    assert statuses["size"] == {Status.MALFORMED}
    assert statuses["order"] == {Status.ORDER}
    assert statuses["session"] == {Status.SESSION}
    assert statuses["length"] == {Status.SIZE}
    expected = [own.update(row).effort.copy() for row in run.rows]
    assert np.array_equal(np.array(run.efforts), np.array(expected))
    assert run.report(Report.REFUSED) == 10_000


def test_broken_beginnings_are_refused():
    """Every section of a beginning cut or left out: refused, never half made."""
    loop, _ = opened("hybrid")
    model = loop.controller.model
    acting = Acting(model.arm.joint_names, T)
    silence = silence_array(model.m, model.k, SilenceAnswer.STOP, 0.1, 0.2)
    good = begin_sections(loop, silence, 0.01)
    for section, content in good.items():
        if not len(content):
            continue  # no joint is passive
        without = {other: c for other, c in good.items() if other is not section}
        for spoiled in (without, {**without, section: content[:-1]}):
            answer = acting.receive(encode(Update.BEGIN, 7, 1, spoiled))
            assert answer.status is not Status.ACCEPTED, section
    assert acting.receive(encode(Update.BEGIN, 7, 1, good)).status is Status.ACCEPTED
