"""The mailbox: a change is taken whole or not at all, whatever is written meanwhile."""

import ctypes
import threading
import time
import tracemalloc

import numpy as np
import pytest
from arms import raw_state, slider_model, state_on

from projected_control import kernel_library
from projected_control.compiled import COMPILED
from projected_control.control import (
    AntiWindup,
    ForceController,
    ForceGains,
    MotionController,
    MotionGains,
    mailbox,
)
from projected_control.control.limits import Limits
from projected_control.control.live import CONTENT_AT as FIRST
from projected_control.control.live import __name__ as publish_module
from projected_control.control.live import publish, take
from projected_control.control.loop import ControlLoop
from projected_control.control.mailbox import Mailbox
from projected_control.control.references import (
    Constant,
    Reference,
    ReferencePoint,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving, PointOnLine, Stack, Target
from projected_control.native import exports
from projected_control.native.kernel_calls import Call

T = 1e-3
NEAR = np.array([-3.8, 2.4, 1.4])


def test_changes_are_never_torn():
    """A writer and a reader in threads of their own; neither holds the interpreter in a kernel."""
    if not COMPILED:
        pytest.skip("without the library the interpreter itself keeps the threads apart")
    changes, size = 20_000, 20_000
    draft, box, taken = np.zeros((3, size))
    frames = exports.python_frames()
    calls = {
        name: Call(frames[f"{publish_module}.{name}"], arguments)
        for name, arguments in {"publish": (draft, box), "take": (box, taken)}.items()
    }

    def run(name):
        function = getattr(kernel_library.load(), calls[name].frame.symbol)
        function.argtypes = [ctypes.c_void_p]
        return lambda: function(calls[name].address)

    torn, seen, missed = 0, 0, 0

    def read():
        nonlocal torn, seen, missed
        newest, take_one = 0.0, run("take")
        while newest < changes:
            take_one()
            if not calls["take"].get("result"):
                missed += 1
                continue
            first = taken[FIRST]
            seen += first != newest
            torn += first < newest or (taken[FIRST:] != first).any()
            newest = first

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    publish_one = run("publish")
    for number in range(1, changes + 1):
        draft[FIRST:] = number
        publish_one()
    reader.join(60.0)
    assert not reader.is_alive(), "the reader has not seen the last change"
    assert torn == 0
    assert seen >= 2


def test_a_change_that_is_being_written_is_left_to_the_next_tick():
    draft, box, taken = np.zeros((3, 2 * FIRST))
    draft[FIRST:] = 1.0
    publish(draft, box)
    assert take(box, taken)
    np.testing.assert_array_equal(taken[FIRST:], 1.0)
    box[0] += 1.0  # a writer is in the midst of it
    box[FIRST] = 2.0
    assert take(box, taken)
    np.testing.assert_array_equal(taken[FIRST:], 1.0)
    box[0] += 1.0
    take(box, taken)
    assert taken[FIRST] == 2.0


def make_loop(**settings):
    model = slider_model()
    q, v = state_on(model, 1, NEAR, 0.05)
    place = model.evaluate(q, v).theta.copy()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains())
    wide = Limits.of(model.arm, effort=1e4, effort_rate=1e9, velocity=1e4)  # the path never waits
    loop = ControlLoop(controller, Constant(place), **({"limits": wide} | settings))
    return loop, place, raw_state(model, q, 0.0 * v, 3.0, 0.0)


def tick_on(loop, state, k):
    return loop.update(state._replace(stamp=k * T, q=state.q + 1e-9 * k))


def test_what_is_posted_together_comes_into_force_in_one_tick():
    loop, place, state = make_loop()
    tick_on(loop, state, 0)
    limits = Limits.of(loop.controller.model.arm, effort=0.5)
    with loop.mailbox.together():
        loop.controller.set_gains(MotionGains(100.0, 20.0), 0.0)
        loop.guard.set_limits(limits)
        loop.set_reference(Constant(place + 0.01))
        loop.set_force_reference(Constant([7.0]))
        loop.force_source.set_offset(np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
        tick_on(loop, state, 1)
        assert loop.controller.motion[0, 0] == place[0]
        assert loop.controller._terms.gains[0, 0] == 480.0
        assert loop.controller.force.desired[0] == 0.0
        before = loop.multipliers.copy()
    tick_on(loop, state, 2)
    assert not loop.mailbox.pending
    assert loop.controller._terms.gains[0, 0] == 100.0
    assert loop.controller.motion[0, 0] == place[0] + 0.01
    assert loop.controller.force.desired[0] == 7.0
    np.testing.assert_array_equal(loop.guard._terms.effort, 0.5)
    assert abs(loop.multipliers[0] - before[0]) == pytest.approx(1.0)


def test_nothing_of_a_change_is_seen_halfway_while_another_thread_makes_it():
    """Gains, reference and λ_d carry the same number in each change; every tick sees one number."""
    loop, place, state = make_loop()
    tick_on(loop, state, 0)  # what the loop was built with is in force before the first change
    stop, numbers = threading.Event(), []

    def decide():
        number = 0
        while not stop.is_set():
            number += 1
            with loop.mailbox.together():
                loop.controller.set_gains(MotionGains(480.0 + number, 45.0), 0.0)
                loop.set_reference(Constant(place + 1e-6 * number))
                loop.set_force_reference(Constant([float(number)]))

    writer = threading.Thread(target=decide)
    writer.start()
    try:
        until = time.monotonic() + 60.0
        k = 0
        while len(set(numbers)) < 20 and time.monotonic() < until:
            k += 1
            tick_on(loop, state, k)
            controller = loop.controller
            number = round(float(controller.force.desired[0]))
            assert controller._terms.gains[0, 0] == 480.0 + number
            assert controller.motion[0, 0] == place[0] + 1e-6 * number
            numbers.append(number)
            time.sleep(0.0)
    finally:
        stop.set()
        writer.join()
    assert len(set(numbers)) >= 20
    assert numbers == sorted(numbers)


def test_a_longer_reference_fits_in():
    loop, place, state = make_loop()
    tick_on(loop, state, 0)
    loop.controller.set_gains(MotionGains(100.0, 20.0), 0.2)
    tick_on(loop, state, 1)
    times = np.arange(300) * 0.01
    path = place + 0.01 * np.sin(3.0 * times)[:, None]
    reference = Waypoints(times, path)
    loop.set_reference(reference)
    for k in range(2, 50):
        report = tick_on(loop, state, k)
        np.testing.assert_array_equal(loop.controller.motion, np.array(reference.at(k * T)))
    assert report.events & 512 == 0
    assert loop.controller.blending
    while loop.controller.blending:
        k += 1
        tick_on(loop, state, k)
    assert k == pytest.approx(201, abs=2)
    np.testing.assert_array_equal(loop.controller._terms.gains[0], 100.0)


def test_blocks_for_a_longer_reference_are_made_on_the_deciding_side(monkeypatch):
    """The thread that ticks moves into arrays that are there: nothing is allocated."""
    loop, place, state = make_loop()
    tick_on(loop, state, 0)
    reference = Waypoints(np.arange(300) * 0.01, np.tile(place, (300, 1)))
    before, decider = loop.arguments, threading.Thread(target=loop.get_ready_for, args=(reference,))
    decider.start()
    decider.join()
    tick_on(loop, state, 1)
    assert loop.arguments is before  # nothing has moved yet
    monkeypatch.setattr(mailbox, "Blocks", None)
    tracemalloc.start()
    loop.set_reference(reference)
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loop.arguments.mailbox is not before.mailbox
    assert allocated < loop.arguments.mailbox.nbytes / 2
    tick_on(loop, state, 2)
    np.testing.assert_array_equal(loop.controller.motion, np.array(reference.at(2 * T)))
    loop.set_reference(Waypoints(np.arange(200) * 0.01, np.tile(place, (200, 1))))  # which fits


class Ramp(Reference):
    """A reference of one's own, in Python."""

    def __init__(self, place, rate):
        self.size, self.place, self.rate = len(place), np.array(place), rate

    def at(self, time):
        value = self.place + self.rate * time
        return ReferencePoint(value, np.full(self.size, self.rate), np.zeros(self.size))


def test_references_in_python_are_followed_and_named():
    loop, place, state = make_loop()
    assert loop.python_parts == []
    loop.set_reference(Ramp(place, 0.1))
    loop.set_force_reference(Ramp([2.0], 1.0))
    assert [part.split(" has")[0] for part in loop.python_parts] == [
        "the reference",
        "the force reference",
    ]
    for k in range(5):
        tick_on(loop, state, k)
        np.testing.assert_array_equal(loop.controller.motion[0], place + 0.1 * k * T)
        assert loop.controller.force.desired[0] == 2.0 + k * T
    loop.set_reference(Constant(place))
    loop.set_force_reference(None)
    tick_on(loop, state, 6)
    assert loop.python_parts == []
    np.testing.assert_array_equal(loop.controller.motion, [place, [0, 0], [0, 0]])
    assert loop.controller.force.desired[0] == 0.0


def wave(t):
    return Target(
        *(np.array([0.01 * x]) for x in (np.sin(4 * t), 4 * np.cos(4 * t), -16 * np.sin(4 * t)))
    )


@pytest.mark.parametrize("stacked", [False, True])
def test_a_moving_constraint_from_a_table_is_the_one_from_a_function(stacked):
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0])
    motions = wave, Sines([0.0], [[Sine(0.01, 4.0 / (2.0 * np.pi))]])
    models = []
    for motion in motions:
        constraint = Moving(line, motion)
        if stacked:
            constraint = Stack([line, constraint])
        models.append(ConstrainedArm(slider_model().arm, constraint, slider_model().coordinates))
    by_function, tabulated = models
    assert by_function.target_in_python
    assert not tabulated.target_in_python
    for time_ in np.linspace(0.0, 2.0, 30):
        for model in models:
            model.evaluate(NEAR, np.array([0.1, 0.2, -0.3]), time_)
        np.testing.assert_allclose(tabulated.terms.target, by_function.terms.target, atol=1e-15)
        np.testing.assert_allclose(tabulated.b, by_function.b, atol=1e-13)
        np.testing.assert_allclose(tabulated.residual, by_function.residual, atol=1e-15)
    controller = MotionController(by_function, MotionGains(100.0, 20.0))
    parts = ControlLoop(controller, Constant([0.0, 0.0])).python_parts
    assert len(parts) == 1
    assert "motion is a function" in parts[0]


@pytest.mark.parametrize("strategy", AntiWindup)
def test_the_tick_leads_the_integral_as_the_strategy_says(strategy):
    """Compared with the strategy written out in NumPy, over ticks with a clipped effort."""
    model = slider_model()
    q, v = state_on(model, 1, NEAR, 0.05)
    place = model.evaluate(q, v).theta.copy()
    gains = ForceGains(integral=5.0, anti_windup=strategy, tracking_time=0.02)
    controller = ForceController(model, MotionGains(480.0, 45.0), gains)
    limits = Limits.of(model.arm, effort=1.0, effort_rate=1e5)
    loop = ControlLoop(controller, Constant(place), limits=limits, force_reference=Constant([50.0]))
    state, integral, waits = raw_state(model, q, 0.0 * v, 3.0, 0.0), np.zeros(1), False
    for k in range(30):
        report = tick_on(loop, state, k)
        assert "effort limited" in report.reasons
        if not waits:
            integral = integral + 5.0 * T * controller.force.error
        if strategy is AntiWindup.BACK_CALCULATION:
            lost = report.effort - controller.effort.total
            integral = np.clip(integral + T / 0.02 * (model.A_pinv.T @ lost), -100.0, 100.0)
        waits = strategy is AntiWindup.CONDITIONAL
        np.testing.assert_allclose(controller.force.integral, integral, rtol=1e-12, atol=1e-12)


def test_a_change_that_fails_halfway_is_not_made_at_all():
    loop, place, state = make_loop()
    tick_on(loop, state, 0)

    def change():
        with loop.mailbox.together():
            loop.set_reference(Constant(place + 0.01))
            loop.set_force_reference(Constant([1.0, 2.0]))

    with pytest.raises(InvalidValue, match="has 2 numbers, the constraint has 1 rows"):
        change()
    tick_on(loop, state, 1)
    loop.controller.set_gains(MotionGains(100.0, 20.0), 0.0)
    tick_on(loop, state, 2)
    np.testing.assert_array_equal(loop.controller.motion[0], place)
    assert loop.controller._terms.gains[0, 0] == 100.0


def test_bad_settings_reach_no_mailbox():
    mailbox = Mailbox(3, 1, 2)
    loop, _, _ = make_loop()
    before = loop.mailbox.box.copy()
    with pytest.raises(InvalidValue, match="blend time"):
        loop.controller.set_gains(MotionGains(1.0, 1.0), -1.0)
    with pytest.raises(InvalidValue, match="has 3 coordinates"):
        loop.set_reference(Constant([0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(loop.mailbox.box, before)
    assert not mailbox.pending


def test_a_block_that_was_kept_brings_all_of_it_back():
    """Every slot and every number: what a recording is replayed with."""
    kept, again = Mailbox(3, 1, 2), Mailbox(3, 1, 2)
    written = kept.draft
    for i, name in enumerate(written._fields):
        if name not in ("sequence", "applied", "lengths", "reference", "force_reference"):
            getattr(written, name)[:] = 10.0 * i + np.arange(getattr(written, name).size)
    again.deliver(np.array(kept._written))
    for name in written._fields[3:]:
        np.testing.assert_array_equal(getattr(again.draft, name), getattr(written, name), name)
