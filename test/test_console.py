"""The guard's answers on the console: one line at the beginning, one at the end, not a thousand."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from projected_control.control.events import Action, Event, GuardReport, answer_to
from projected_control.ros.console import ADVICE, ANSWERED, GuardConsole, Notices


def report(events: int) -> GuardReport:
    return GuardReport(np.zeros(3), answer_to(events), events)


def test_one_line_at_the_beginning_and_one_at_the_end():
    console = GuardConsole()
    for tick in range(100):
        console.noticed(report(Event.POSITION_LIMIT if 10 <= tick < 60 else 0), tick * 1e-3)
    begin, end = console.lines(0.0)
    assert begin.startswith("position limit: the arm is braked; ")
    for remedy in ("~/reset", "brakes", "hold"):
        assert remedy in begin
    assert end == "position limit: over after 0.050 s"
    assert console.lines(1.0) == []


def test_what_is_only_clipped_is_not_said():
    console = GuardConsole()
    for tick in range(10):
        console.noticed(report(Event.EFFORT_LIMITED if tick % 2 else Event.RATE_LIMITED), tick)
    assert console.lines(0.0) == []


def test_what_comes_and_goes_is_said_once_in_a_while():
    """A hundred times a second for ten seconds: a few lines, with how often it was."""
    console, said = GuardConsole(), []
    for tick in range(1000):
        now = tick * 1e-2
        console.noticed(report(Event.FORCE_STALE if tick % 2 else 0), now)
        said += console.lines(now)
    begun = [line for line in said if "the arm is braked" in line]
    assert len(begun) == 2
    assert len(said) <= 4
    assert begun[1].endswith(" times by now)")


def test_what_lasts_is_said_even_if_it_began_in_a_pause():
    notices = Notices(pause=5.0)
    notices.begin("a", "it began")
    assert notices.due(0.0) == ["it began"]
    notices.end("a", "it ended")
    notices.begin("a", "it began again")
    assert notices.due(1.0) == ["it ended"]
    assert notices.due(5.5) == ["it began again"]
    assert notices.due(6.0) == []


def test_two_at_once_are_two():
    console = GuardConsole()
    console.noticed(report(Event.STATE_FROZEN | Event.VELOCITY_LIMIT), 0.0)
    console.noticed(report(Event.VELOCITY_LIMIT), 0.5)
    lines = console.lines(0.0)
    assert sum("zero torque" in line for line in lines) >= 1
    assert "state frozen: over after 0.500 s" in lines
    assert not any(line.startswith("velocity limit: over") for line in lines)


@pytest.mark.parametrize("event", [Event.POSITION_LIMIT, Event.LEFT_CONSTRAINT])
@pytest.mark.parametrize("real", [True, False])
def test_only_the_simulated_arm_can_be_reset(event, real):
    """Behind a controller manager there is no ~/reset."""
    console = GuardConsole(real)
    console.noticed(report(event), 0.0)
    (line,) = console.lines(0.0)
    assert ("~/reset" in line) is not real
    assert "by hand, or with its own controller" in line
    assert "{" not in line


def test_every_answered_event_has_advice():
    answered = {str(event.name) for event in Event if event and event & ANSWERED}
    assert answered == set(ADVICE)
    by_setting = Event.UNEXPECTED_CONTACT  # contact.unexpected says whether the arm stops
    always = [event for event in Event if event & ANSWERED & ~by_setting]
    assert all(answer_to(int(event)) is not Action.FOLLOW for event in always)


def test_a_force_with_the_wrong_sign_may_be_a_bias():
    """The line says how to tell one from the other, and what to do in either case."""
    said = ADVICE["FORCE_REVERSED"]
    assert said.index("~/tare") < said.index("force.sign: -1")
    assert "In this stop the arm presses on nothing" in said
