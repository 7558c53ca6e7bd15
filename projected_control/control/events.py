"""What a guard notices, how it answers, and its report."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import kernel

Array = NDArray[np.float64]


class Event(IntFlag):
    """What the guard noticed in a tick."""

    NONE = 0
    EFFORT_LIMITED = 1
    RATE_LIMITED = 2
    POSITION_LIMIT = 4
    VELOCITY_LIMIT = 8
    STATE_NOT_FINITE = 16
    EFFORT_NOT_FINITE = 32
    TIME_WENT_BACK = 64
    STATE_FROZEN = 128
    STATE_STALE = 256
    REFERENCE_JUMPED = 512
    CONTROL_LOST = 1024
    RANK_CHANGED = 2048
    FORCE_STALE = 4096
    LEFT_CONSTRAINT = 8192
    FORCE_DISAGREES = 16384
    COMMANDER_SILENT = 32768
    POSTURE_DRIFTED = 65536
    FORCE_REVERSED = 131072
    FORCE_FAR_OFF = 262144
    LATCHED = 524288
    CONSTRAINTS_CONTRADICT = 1048576
    RANGE_HELD = 2097152
    VELOCITY_HELD = 4194304
    CEILING_HELD = 8388608
    MOTION_GIVEN_UP = 16777216
    LIMIT_GIVEN_UP = 33554432
    FORCE_HELD_BACK = 67108864
    FORCE_TOO_LARGE = 134217728
    SOLVER_CAPPED = 268435456
    CONTACT_LOST = 536870912
    CONTACT_BOUNDED = 1073741824
    CONTACT_GIVEN_UP = 2147483648
    CONTACT_MISSED = 4294967296
    CONTACT_STOPS = 8589934592
    UNEXPECTED_CONTACT = 17179869184
    ENERGY_SPENT = 34359738368

    @property
    def phrase(self) -> str:
        """The event's name in words."""
        return str(self.name).lower().replace("_", " ")


def events_in(events: int) -> list[Event]:
    """The single events that a sum of events is made of."""
    return [event for event in Event if event and events & event]


class Action(IntEnum):
    """What was sent, in order of severity."""

    FOLLOW = 0
    """What the controller asked for, clipped where needed."""
    STOP = 1
    """Efforts that brake and carry the arm's weight."""
    HOLD = 2
    """The last effort."""
    ZERO = 3
    """Nothing."""


STOP_EVENTS = int(
    Event.POSITION_LIMIT
    | Event.VELOCITY_LIMIT
    | Event.REFERENCE_JUMPED
    | Event.FORCE_STALE
    | Event.COMMANDER_SILENT
    | Event.FORCE_REVERSED
    | Event.FORCE_FAR_OFF
    | Event.FORCE_TOO_LARGE
    | Event.CONTACT_STOPS
    | Event.LATCHED
)
_HOLD_EVENTS = int(Event.STATE_NOT_FINITE | Event.TIME_WENT_BACK)
_ZERO_EVENTS = int(
    Event.STATE_FROZEN
    | Event.STATE_STALE
    | Event.EFFORT_NOT_FINITE
    | Event.CONTROL_LOST
    | Event.LEFT_CONSTRAINT
)
ANSWER_FOLLOW, ANSWER_STOP, ANSWER_HOLD, ANSWER_ZERO = (int(action) for action in Action)
"""The actions as plain integers, which kernels can use."""


@kernel
def severity(events: int) -> int:
    """The severest action that any of the events calls for, as a number for kernels."""
    if events & _ZERO_EVENTS:
        return ANSWER_ZERO
    if events & _HOLD_EVENTS:
        return ANSWER_HOLD
    return ANSWER_STOP if events & STOP_EVENTS else ANSWER_FOLLOW


def answer_to(events: int) -> Action:
    """The severest answer that any of the events calls for."""
    return Action(severity(int(events)))


class GuardReport(NamedTuple):
    """What the guard let through.

    Attributes:
        effort: The effort to be sent, n; a live array [N·m or N].
        action: What kind of effort this is.
        events: The reasons for it, a sum of `Event`s.
    """

    effort: Array
    action: Action
    events: int

    @property
    def reasons(self) -> list[str]:
        """The events in words."""
        return [event.phrase for event in events_in(self.events)]
