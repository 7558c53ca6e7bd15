"""When the deciding side falls silent: references come to rest, then all motion is damped."""

import numpy as np
import pytest
from arms import slider_model, state_on
from hypothesis import given
from hypothesis import strategies as st

from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, ReferencePoint, SetPoint, Sine, Sines
from projected_control.control.silence import (
    SILENCE,
    SILENT,
    SilenceAnswer,
    SilencePhase,
    answer_silence,
    brake_table,
    fade_table,
    motion_end,
    silence_array,
)
from projected_control.control.state import RawState
from projected_control.model.motion_tables import evaluate_motion, new_table

T, STOP_TIME = 1e-3, 0.2
numbers = st.floats(-5.0, 5.0, allow_subnormal=False)
points = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=4)


def motion_at(table, time):
    motion = np.zeros((3, int(table[0])))
    evaluate_motion(time, table, motion)
    return motion


@given(points, st.floats(0.05, 2.0), st.floats(-10.0, 10.0))
def test_braking_begins_where_it_is_and_ends_at_rest(start, seconds, begin):
    start = np.array(start).T.copy()
    table = new_table(start.shape[1], 4, 2)
    brake_table(begin, seconds, start, table)
    np.testing.assert_allclose(motion_at(table, begin), start, atol=1e-12)
    before_end, end = (motion_at(table, begin + seconds + d) for d in (-1e-9, 1e-9))
    np.testing.assert_allclose(before_end, end, atol=1e-5)
    np.testing.assert_array_equal(end[1:], 0.0)
    travelled = seconds * start[1] / 2.0 + seconds**2 * start[2] / 12.0
    np.testing.assert_allclose(end[0] - start[0], travelled, atol=1e-12)
    assert motion_end(table) == begin + seconds


@given(points, st.floats(0.05, 2.0), st.floats(-10.0, 10.0))
def test_fading_begins_where_it_is_and_ends_at_zero(start, seconds, begin):
    start = np.array(start).T.copy()
    table = new_table(start.shape[1], 4, 2)
    fade_table(begin, seconds, start, table)
    np.testing.assert_allclose(motion_at(table, begin), start, atol=1e-12)
    np.testing.assert_allclose(motion_at(table, begin + seconds - 1e-9)[:2], 0.0, atol=1e-4)
    np.testing.assert_array_equal(motion_at(table, begin + seconds), 0.0)


def test_what_never_rests_has_no_end():
    moving = Sines([0.1], [[Sine(0.1, 1.0)]]).table.array()
    there = SetPoint(ReferencePoint(*np.zeros((3, 1))), [0.3])
    assert motion_end(moving) == -np.inf
    assert motion_end(there.table.array()) == pytest.approx(there.end)


@pytest.fixture
def silent_loop():
    """A hybrid controller on a slider in motion, and a function that makes a silent tick."""
    model = slider_model()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains(), T)
    q, v = state_on(model, 1, np.array([-3.8, 2.4, 1.4]), 0.05)
    v *= 0.0
    place = model.evaluate(q, v).theta.copy()
    loop = ControlLoop(
        controller,
        Sines(place, [[Sine(0.02, 1.0)]] * model.k),
        # The arm stands still and feels nothing: what its motors then press with is no fault here.
        limits=Limits.of(model.arm, frozen_time=10.0, force_stop=1e3),
        force_reference=Constant(np.full(model.m, 5.0)),
    )

    def run(answer, ticks, silent_from):
        silence = silence_array(model.m, model.k, answer, 0.1, STOP_TIME)
        seen = []
        for i in range(ticks):
            a = loop.arguments
            phase = answer_silence(
                int(i >= silent_from),
                i * T,
                a.sizes,
                a.choices,
                a.control_work,
                a.reference,
                a.force_reference,
                silence,
            )
            report = loop.update(RawState(q, v, i * T, np.zeros(6)))
            motion = controller.motion.copy()
            seen.append((phase, report.action, report.events, motion, controller.force.desired[0]))
        return seen, SILENCE.view(silence, m=model.m, k=model.k)

    return loop, run


def test_stop_brakes_then_damps_with_the_force_at_zero(silent_loop):
    loop, run = silent_loop
    seen, terms = run(SilenceAnswer.STOP, 400, 100)
    assert [phase for phase, *_ in seen[:100]] == [SilencePhase.NONE] * 100
    assert {phase for phase, *_ in seen[100:300]} == {SilencePhase.BRAKING}
    assert {phase for phase, *_ in seen[301:]} == {SilencePhase.OVER}
    steps = np.diff([motion[0] for *_, motion, _ in seen], axis=0)
    assert np.abs(np.diff(steps, axis=0)).max() < 2e-6  # a jump would show as one of its size
    pressed = [force for *_, force in seen]
    assert pressed[99] == 5.0
    assert np.abs(np.diff(pressed)).max() < 0.06
    assert pressed[-1] == 0.0
    assert np.abs(seen[-1][3][1]).max() == 0.0
    assert seen[250][1] == Action.FOLLOW
    assert not seen[250][2] & Event.COMMANDER_SILENT
    assert seen[-1][1] == Action.STOP
    assert seen[-1][2] & Event.COMMANDER_SILENT
    assert terms.begun[0] == pytest.approx(0.1)
    loop.reset()
    assert loop.arguments.choices[SILENT] == 0


def test_hold_rests_and_presses_on(silent_loop):
    _, run = silent_loop
    seen, _ = run(SilenceAnswer.HOLD, 400, 100)
    assert seen[-1][0] == SilencePhase.OVER
    assert seen[-1][1] == Action.FOLLOW
    assert seen[-1][4] == 5.0
    assert np.abs(seen[-1][3][1:]).max() == 0.0


def test_finish_goes_to_the_end_first(silent_loop):
    loop, run = silent_loop
    here = loop.reference.at(0.0)
    loop.set_reference(
        SetPoint(ReferencePoint(here.value, *np.zeros((2, here.value.size))), here.value + 0.01)
    )
    end = loop.reference.end
    ticks = int((end + STOP_TIME) / T) + 10
    seen, _ = run(SilenceAnswer.FINISH, ticks, 5)
    phases = [phase for phase, *_ in seen]
    assert phases[5] == SilencePhase.FINISHING
    assert phases[-1] == SilencePhase.OVER
    assert phases.index(SilencePhase.BRAKING) == int(np.ceil(end / T))
    np.testing.assert_allclose(seen[-1][3][0], here.value + 0.01)


def test_finish_brakes_a_motion_without_an_end_at_once(silent_loop):
    _, run = silent_loop
    seen, _ = run(SilenceAnswer.FINISH, 8, 5)
    assert seen[5][0] == SilencePhase.BRAKING
