"""The lights: what nodes say of themselves on /diagnostics, the worst first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OK, WARNING, ERROR, SILENT = 0, 1, 2, 3
"""Levels as diagnostic_msgs has them; silent is what it calls stale."""

SILENCE_SECONDS = 3.0
"""Time after which a node that said something counts as silent [s]; ours speak twice a second."""

FORGET_SECONDS = 60.0
"""Time after which one that is silent is forgotten, unless a controller misses it [s]."""

RISING_SECONDS = 5.0  # how long a counter that rose stays lit [s]

COUNTERS = ("deadlines missed", "states skipped", "messages malformed", "commands refused")
"""Values that are counters of something that should not be; and all that are named after events."""

MEASURES = (
    "ticks", "rate (Hz)", "jitter (us)", "latency p50 (us)", "latency p99 (us)",
    "latency max (us)", "residual (m)", "rank", "condition number of M_c",
    "coordinate independence", "path rate (%)", "path late by (s)", "delay (samples)",
    "controllability", "force loop gain margin",
    "time (s)", "times too late", "real-time factor", "heartbeats", "cycles", "updates accepted",
)  # fmt: skip
"""Values that may rise without anything being wrong."""


@dataclass
class NodeLight:
    """What one node said last."""

    name: str  # of the node, or of whatever it speaks of
    level: int = OK  # `OK`, `WARNING` or `ERROR`
    message: str = ""  # why
    values: dict[str, str] = field(default_factory=dict)  # by key
    heard: float = 0.0  # when [s]
    rose: dict[str, float] = field(default_factory=dict)  # when each counter last rose [s]

    def shown_level(self, now: float) -> int:
        """The level, or `SILENT`."""
        return SILENT if now - self.heard > SILENCE_SECONDS else self.level


class Lights:
    """All of them, by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, NodeLight] = {}

    def hear(self, name: str, level: int, message: str, values: dict[str, str], now: float) -> None:
        """A node said something at this time [s]."""
        light = self.by_name.setdefault(name, NodeLight(name))
        for key, text in values.items():
            if key in light.values and _is_counter(key) and _more(text, light.values[key]):
                light.rose[key] = now
        light.level, light.message, light.values, light.heard = level, message, values, now

    def shown(self, now: float, missed: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
        """For the browser: red ones first, then by name.

        Args:
            now: Time [s].
            missed: Names that stay, however long they are silent.
        """
        for name in [n for n, light in self.by_name.items() if n not in missed]:
            if now - self.by_name[name].heard > FORGET_SECONDS:
                del self.by_name[name]
        lights = [_shown(light, now) for light in self.by_name.values()]
        return sorted(lights, key=lambda light: (-light["level"], light["name"]))


def _shown(light: NodeLight, now: float) -> dict[str, Any]:
    level = light.shown_level(now)
    message = light.message
    if level == SILENT:
        message = f"silent for {now - light.heard:.0f} s; it said last: {light.message}"
    rising = [key for key, when in light.rose.items() if now - when < RISING_SECONDS]
    return {
        "name": light.name,
        "level": level,
        "message": message,
        "values": [[key, value, key in rising] for key, value in light.values.items()],
    }


def _is_counter(key: str) -> bool:
    return key in COUNTERS or key not in MEASURES


def _more(new: str, old: str) -> bool:
    """Whether a counter rose; words are no counters."""
    return new.isdigit() and old.isdigit() and int(new) > int(old)
