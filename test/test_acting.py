"""The plugin without ros2_control: the same torques and the same motion as in Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from acting import Acting, ActingPlant, begin_message
from acting_runs import NEEDS_NATIVE, ActingRun
from arms import slider_model, state_on
from loops import LAWS, T, build, opened

from projected_control import Runner, SimulatedArm
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task, simulated_arm
from projected_control.control.events import Event
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.native import build as build_module
from projected_control.native.session import RemoteTick, begin_sections
from projected_control.native.updates import Report, Section, Status, Update, encode
from projected_control.simulation import Encoders, ForceSensor, JointFriction, Motors, Plant

pytestmark = NEEDS_NATIVE


@pytest.mark.parametrize("law", LAWS)
def test_the_same_torques_as_the_python_loop(law):
    """1,000 ticks, and the Python loop fed with the states that were read: bit for bit."""
    run = ActingRun(law)
    run.go(1000)
    loop, _ = opened(law)
    expected = [loop.update(row).effort.copy() for row in run.rows]
    assert np.array_equal(np.array(run.efforts), np.array(expected))


@pytest.mark.parametrize("law", LAWS)
def test_the_same_motion_as_in_process(law):
    """1,000 ticks on both simulated arms, with one sample of delay: positions within 1e-9 rad."""
    run = ActingRun(law)
    run.go(1000)
    loop, hardware = build(law)
    runner = Runner(loop, hardware)
    runner.open()
    states = [runner.step().state for _ in range(1000)]
    ours, theirs = ([row.q for row in rows] for rows in (run.rows, states))
    np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=0.0, atol=1e-9)


def test_encoders_motors_and_stiction_are_those_of_the_simulated_arm():
    """500 periods under the same efforts: what is measured is the same, bit for bit."""

    def arm():
        model = slider_model()
        plant = Plant(
            ConstrainedArm(model.arm.twin(), model.constraint),
            T / 2,
            friction=JointFriction(0.2, 0.05, static=0.3, sticks=True),
        )
        return SimulatedArm(
            plant,
            state_on(model, 4)[0],
            period=T,
            sensor=ForceSensor(delay=2),
            encoders=Encoders(1e-4, "filtered"),
            motors=Motors(delay=3),
        )

    hardware, plant = arm(), ActingPlant(arm())
    hardware.open()
    plant.read()
    for i in range(500):
        state = hardware.read()
        for ours, theirs in ((plant.q, state.q), (plant.v, state.v), (plant.wrench, state.wrench)):
            assert np.array_equal(ours, theirs), i
        effort = 2.0 * np.sin(0.02 * i + np.arange(3.0))
        hardware.write(effort)
        assert plant.read(effort) == 0


def test_what_is_reported_is_what_the_python_loop_has():
    """A state fills the loop's own arrays: the same θ, errors, λ, efforts and counters."""
    run = ActingRun("hybrid")
    run.go(200)
    assert run.state().sections[Section.INSTANTS].size == 2 * 64  # no more are kept
    run.go(9)
    state = run.state()
    own, _ = opened("hybrid")
    for row in run.rows:
        own.update(row)
    remote = RemoteTick(run.loop)
    remote.put(state)
    row = run.rows[-1]
    run.loop.update(row)
    assert np.array_equal(run.loop.controller.error, own.controller.error)
    assert np.array_equal(run.loop.multipliers, own.multipliers)
    assert np.array_equal(run.loop.guard.sent, own.guard.sent)
    assert run.loop.counters.ticks[0] == own.counters.ticks[0] == len(run.rows)
    assert state.sections[Section.NOW][0] == row.stamp
    assert len(remote.cycles) == 10  # those between the two states


COUNT = """
import sys
from dataclasses import replace
import numpy as np
sys.path.insert(0, {test!r})
from acting_runs import NEEDS_NATIVE, ActingRun, long_reference
from projected_control.control.events import Event
from projected_control.native.updates import Report, Section
for law in {laws}:
    run = ActingRun(law, arm_clock=law == "hybrid")
    run.go(20)
    with run.loop.mailbox.together():
        arm = run.loop.controller.model.arm
        arm.set_payload(arm.frame_names[-1], 0.1)
        run.loop.take_load()
        run.loop.set_reference(long_reference(run.loop, 300, 0.02))
        half = np.full(arm.n, 0.5 * np.abs(run.efforts).max())
        run.loop.guard.set_limits(replace(run.loop.guard.limits, effort=half))
    assert run.change() == 0
    run.acting.state()
    count = run.acting.cycles(run.plant, run.effort, 2000)
    report = run.acting.state().sections[Section.REPORT]
    print(law, count, bool(int(report[Report.EVENTS_SINCE]) & Event.EFFORT_LIMITED))
"""


def test_a_cycle_allocates_nothing():
    """2,000 cycles of each law, a payload and longer tables taken and a state put aside in them.

    Motors give half of what the laws have asked for, so that the solver of limits runs.
    """
    test = str(Path(__file__).parent)
    counter = build_module.loop_folder() / build_module.COUNTER
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(test=test, laws=LAWS)],
        env={**os.environ, "LD_PRELOAD": str(counter)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{law} 0 True" for law in LAWS], done.stderr


# A floating base, whose six numbers are state interfaces like those of joints


def quadruped():
    """The task's loop, opened, and its simulated arm."""
    asked = settings_for("quadruped", 1.0, "paper", True, {})
    ready, _ = ready_task(asked.case.node, asked.controller, asked.arm)
    hardware = simulated_arm(ready)
    Runner(ready.loop, hardware).open()
    return ready.loop, hardware


def test_a_robot_with_legs_gets_the_same_torques_and_moves_as_in_process():
    """The base as base_x … base_rz among the state interfaces, no motor on them; 500 cycles."""
    run = ActingRun(quadruped())
    run.go(500)
    loop, hardware = quadruped()
    expected = [loop.update(row).effort.copy() for row in run.rows]
    assert np.array_equal(np.array(run.efforts), np.array(expected))
    assert not np.array(run.efforts)[:, :6].any()
    loop, hardware = quadruped()
    runner = Runner(loop, hardware)
    runner.open()
    states = [runner.step().state.q.copy() for _ in range(500)]
    np.testing.assert_allclose([row.q for row in run.rows], states, rtol=0.0, atol=1e-9)


def test_without_the_base_among_the_state_interfaces_a_robot_with_legs_is_refused():
    loop, _ = quadruped()
    names = loop.controller.model.arm.joint_names
    acting = Acting(names[6:], T)
    answer = acting.receive(begin_message(loop))
    assert answer.status is Status.JOINTS
    assert "joint base_x is not among the controller's parameter joints" in answer.reason


@pytest.mark.parametrize(
    ("section", "numbers", "reason"),
    [
        (Section.KINDS, {5: 0}, "a floating base is not six joints"),
        (Section.KINDS, {8: 8}, "a floating base is not the first joint"),
        (Section.PARENTS, {6: 3}, "a joint is carried by a part of the base"),
        (Section.FUNCTIONS, {0: 14.0}, "a frame sits on joint 14"),
    ],
)
def test_a_base_that_cannot_be_meant_is_refused(section, numbers, reason):
    """Of thirteen joints of Pinocchio's; a frame on the fourteenth would be read beyond them."""
    loop, _ = quadruped()
    model = loop.controller.model
    silence = silence_array(model.m, model.k, SilenceAnswer.STOP, 0.1, 0.2)
    sections = begin_sections(loop, silence, 0.01)
    changed = np.array(sections[section])
    for place, number in numbers.items():
        changed[place] = number
    sections[section] = changed
    answer = Acting(model.arm.joint_names, T).receive(encode(Update.BEGIN, 7, 1, sections))
    assert answer.status is Status.VALUE
    assert reason in answer.reason


def test_a_rotation_vector_may_be_any_of_its_rotation():
    """The base once round: the same efforts."""
    run, again = ActingRun(quadruped()), ActingRun(quadruped())
    run.go(100)
    for row in run.rows:
        once_more = row.q.copy()
        phi = once_more[3:6] if np.abs(once_more[3:6]).any() else np.array([1e-9, 0.0, 0.0])
        once_more[3:6] = phi * (1.0 - 2.0 * np.pi / np.linalg.norm(phi))
        again.send(encode(Update.BEAT, again.session, again.next()))
        again.efforts.append(again.acting.cycle(once_more, row.v, row.wrench))
    np.testing.assert_allclose(again.efforts, run.efforts, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("place", "change", "event"),
    [
        (4, np.nan, Event.STATE_NOT_FINITE),
        (2, 0.05, Event.LEFT_CONSTRAINT),
        (5, 0.1, Event.LEFT_CONSTRAINT),
    ],
)
def test_a_base_that_is_lost_or_jumps_ends_in_zero_effort_as_any_joint_does(place, change, event):
    run = ActingRun(quadruped())
    run.go(100)
    assert np.abs(run.effort).max() > 1.0
    seen, effort = [], run.effort
    for _ in range(600):
        run.plant.read(effort)
        q = run.plant.q.copy()
        q[place] += change
        run.send(encode(Update.BEAT, run.session, run.next()))
        effort = run.acting.cycle(q, run.plant.v, None)
        seen.append(np.abs(effort).max())
    state = run.state()
    events = Event(int(state.sections[Section.REPORT][Report.EVENTS_SINCE]))
    assert event in events
    assert seen[-1] == 0.0
