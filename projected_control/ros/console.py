"""What the guard does, on the console: one line when a stop begins, one when it is over.

The loop's thread only compares two integers (`GuardConsole.noticed`); a timer of the node asks for
the lines (`GuardConsole.lines`) and logs them. What begins and ends many times per second is logged
once every few seconds, with how often it happened.
"""

from __future__ import annotations

from collections import deque

from projected_control.control.activation import how_back
from projected_control.control.events import Action, Event, GuardReport, answer_to, events_in

PAUSE = 5.0  # shortest time between two lines about the beginning of the same thing [s]
QUEUED = 1000  # changes that wait to be put into words; of more the oldest are forgotten

ANSWERED = int(Event.UNEXPECTED_CONTACT) | sum(
    int(event) for event in Event if event and answer_to(int(event))
)
"""Events that the guard answers with something else than the controller's effort: always or, as a
contact that was not declared, where a parameter says so."""

_HOW = "{how back}"  # in an advice, the place of how an arm is brought back

_BACK = (
    f"if it does not come back by itself: deactivate the controller, bring the arm back ({_HOW}) "
    "and activate the controller with reference.kind hold"
)
ADVICE = {
    "POSITION_LIMIT": f"a joint is outside limits.lower or limits.upper; {_BACK}",
    "VELOCITY_LIMIT": f"a joint is faster than limits.velocity; {_BACK}",
    "REFERENCE_JUMPED": "send a reference that begins where the arm is (~/reference, or "
    "reference.kind hold)",
    "FORCE_STALE": "no wrench came for limits.force_time; look at the sensor and its driver",
    "FORCE_REVERSED": "the measured force has the other sign than the model's. In this stop the "
    "arm presses on nothing: where a force is measured all the same, the sensor has a bias, "
    "deactivate the controller and call ~/tare without contact; where none is, its sign is turned, "
    "set force.sign: -1 (or 1 where it is -1 now); then activate the controller again",
    "FORCE_FAR_OFF": "the measured force is more than limits.force_stop from the model's; look at "
    "the sensor's sign (force.sign), frame and tare, and at the masses; a reference that begins "
    "at the arm (~/reference) starts it again",
    "FORCE_TOO_LARGE": "the measured force is above limits.force, and limits.force_answer is stop; "
    "lower the force reference or raise limits.force; a reference that begins at the arm "
    "(~/reference) starts it again",
    "CONTACT_STOPS": "a contact was lost, and contact.on_loss is stop; bring the arm back to its "
    "surface; a reference that begins at the arm (~/reference) starts it again",
    "UNEXPECTED_CONTACT": "something pushes the arm that nothing explains (contact.unexpected): a "
    "wall, a person, a wrong mass or friction; a reference that begins at the arm (~/reference) "
    "starts it again",
    "LATCHED": "it has lasted for limits.latch_time, and does not end by itself: send a reference "
    "(~/reference), or activate the controller again",
    "COMMANDER_SILENT": "the node that commands the plugin has died or hangs; start it again, and "
    "it takes over where the arm is",
    "STATE_NOT_FINITE": "look at the arm's driver, and at the arm's time where the plugin has a "
    "time_interface: it may be in another unit",
    "TIME_WENT_BACK": "look at the clocks, and whether two drivers send joint states; where the "
    "arm's clock began anew, activate the controller again",
    "STATE_FROZEN": "the arm's driver repeats the same positions, or brakes hold the arm",
    "STATE_STALE": "the arm or its driver sends no joint states, or their time stands still",
    "EFFORT_NOT_FINITE": "the law gave no finite effort; look at gains and description",
    "LEFT_CONSTRAINT": "‖Φ‖ is more than limits.residual, and the controller goes inactive; bring "
    f"the arm back onto its constraint ({_HOW}) and activate the controller again",
    "CONTROL_LOST": "the motors do not reach the passive joints here; bring it to another pose and "
    "activate the controller again",
}
"""What to do after an event, by its name; see `advice_for`."""

ANSWERS = {
    Action.STOP: "the arm is braked",
    Action.HOLD: "the last effort is held",
    Action.ZERO: "zero torque is sent",
}


class Notices:
    """Lines about things that begin and end, each thing at most once in a while.

    All of it in one thread. Times are by one clock, whichever [s].

    Args:
        pause: Shortest time between two lines about the beginning of the same thing [s].
    """

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._open: dict[str, tuple[str, bool]] = {}
        self._said: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}
        self._lines: list[str] = []

    def begin(self, what: str, text: str) -> None:
        """Something begins; nothing where it has begun already."""
        if what not in self._open:
            self._open[what] = (text, False)
            self._unsaid[what] = self._unsaid.get(what, 0) + 1

    def end(self, what: str, text: str) -> None:
        """Something is over; logged where its beginning was."""
        if self._open.get(what, ("", False))[1]:
            self._lines.append(text)
        self._open.pop(what, None)

    def due(self, now: float) -> list[str]:
        """The lines to be logged now."""
        for what, (text, said) in self._open.items():
            if said or now - self._said.get(what, -self._pause) < self._pause:
                continue
            times = self._unsaid.pop(what)
            self._lines.append(text if times == 1 else f"{text} ({times} times by now)")
            self._open[what], self._said[what] = (text, True), now
        lines, self._lines = self._lines, []
        return lines


class GuardConsole:
    """Puts the guard's answers into lines for the console.

    `noticed` belongs in the loop's thread, `lines` in another.

    Args:
        real: Whether the arm is a real one, or behind a controller manager: it has no ~/reset.
    """

    def __init__(self, real: bool = False) -> None:
        self._last, self._real = 0, real
        self._changes: deque[tuple[int, Action, float]] = deque(maxlen=QUEUED)
        self._notices = Notices()
        self._began: dict[Event, float] = {}

    def noticed(self, report: GuardReport, time: float) -> None:
        """A tick's report, at its time [s]."""
        events = report.events & ANSWERED
        if events != self._last:
            self._last = events
            self._changes.append((events, report.action, time))

    def lines(self, now: float) -> list[str]:
        """The lines to be logged, by a clock that only measures the pauses between them [s]."""
        said: list[str] = []
        while self._changes:
            events, action, time = self._changes.popleft()
            present = set(events_in(events))
            for event in [e for e in self._began if e not in present]:
                lasted = time - self._began.pop(event)
                self._notices.end(event.phrase, f"{event.phrase}: over after {lasted:.3f} s")
            for event in present - set(self._began):
                self._began[event] = time
                self._notices.begin(event.phrase, _sentence(event, action, self._real))
            said += self._notices.due(now)
        return said + self._notices.due(now)


def advice_for(event: Event, real: bool) -> str:
    """What to do after an event; empty where there is nothing to be done."""
    return ADVICE.get(str(event.name), "").replace(_HOW, how_back(real))


def _sentence(event: Event, action: Action, real: bool) -> str:
    answer = ANSWERS.get(max(action, answer_to(int(event))), "")
    advice = advice_for(event, real)
    return f"{event.phrase}: " + "; ".join(filter(None, (answer, advice)))
