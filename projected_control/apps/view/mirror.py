"""What is known of one controller: its parameters, its newest state, its recent history."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from projected_control.apps.view.found_controllers import FoundArm
from projected_control.apps.view.scene import Scene
from projected_control.apps.view.shown_parameters import ParameterControl

HISTORY = 3000  # states that are kept: half a minute at 100 Hz, whatever happens
FRESH_SECONDS = 0.5  # how old the newest state may be while its controller counts as running [s]


class History:
    """The newest states, numbered, so that each browser goes on where it was."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._rows: deque[tuple[float, ...]] = deque(maxlen=HISTORY)
        self.count = 0

    def add(self, names: Sequence[str], time: float, values: Sequence[float]) -> None:
        """One state; another set of names, or a time that goes back, begins anew."""
        if tuple(names) != self.names or (self._rows and time < self._rows[-1][0]):
            self.names = tuple(names)
            self._rows.clear()
        if len(values) == len(self.names):
            self._rows.append((time, *values))
            self.count += 1

    @property
    def newest(self) -> dict[str, float]:
        """The newest state by name; empty before the first."""
        return dict(zip(self.names, self._rows[-1][1:], strict=True)) if self._rows else {}

    @property
    def time(self) -> float:
        """Of the newest state [s]."""
        return self._rows[-1][0] if self._rows else 0.0

    def since(self, count: int) -> list[tuple[float, ...]]:
        """The states after this number that are still kept, the oldest first."""
        wanted = min(max(self.count - count, 0), len(self._rows))
        return [self._rows[i] for i in range(len(self._rows) - wanted, len(self._rows))]


class Member:
    """A node with parameters: a controller, or the simulated arm it works on.

    Attributes:
        node: Full name.
        controls: Its parameters by name; empty before it was asked.
        values: Theirs.
        version: Grows with every change of them.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self.controls: dict[str, ParameterControl] = {}
        self.values: dict[str, Any] = {}
        self.version = 0
        self._heard: dict[str, Any] = {}

    @property
    def known(self) -> bool:
        """Whether it has answered."""
        return bool(self.controls)

    def ask(self) -> None:
        """It is asked for all of its parameters: what changes from now on is newer than that."""
        self._heard = {}

    def learn(self, controls: Mapping[str, ParameterControl], values: Mapping[str, Any]) -> None:
        """All of its parameters, as they were when it was asked."""
        news = {name: value for name, value in self._heard.items() if name in controls}
        self.controls, self.values = dict(controls), {**values, **news}
        self.version += 1

    def change(self, values: Mapping[str, Any]) -> None:
        """Some of them have other values now."""
        self._heard.update(values)
        news = {name: v for name, v in values.items() if name in self.controls}
        if any(self.values.get(name) != value for name, value in news.items()):
            self.values.update(news)
            self.version += 1


class Mirror:
    """One controller.

    Attributes:
        name: Full name, which is its identity.
        kind: Which of our kinds it is; empty for one that is not known here.
        arm: On what it works.
        controller, plant: Parameters of the controller and of the simulated arm.
        scene: How to draw it; None before it is known, or where it cannot be.
        trouble: Why it cannot be drawn or asked; empty where it can.
        history: Its states.
        heard: When the last state came [s].
        posed: Where the arm is while the controller does not run: positions by name.
        generation: Grows when browsers need a new description of it.
        gids: Publishers of its state, by which a restart is noticed.
        present: Whether it is there.
        known: Whether the controller's parameters have been asked for, and came.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = ""
        self.arm = FoundArm("", simulated=False)
        self.controller = Member(name)
        self.plant: Member | None = None
        self.scene: Scene | None = None
        self.trouble = ""
        self.history = History()
        self.heard = 0.0
        self.posed: dict[str, float] = {}
        self.generation = 0
        self.gids: frozenset[bytes] = frozenset()
        self.present, self.known = True, False

    def member(self, node: str) -> Member | None:
        """The controller or its simulated arm, by full name."""
        return next((m for m in (self.controller, self.plant) if m and m.node == node), None)

    @property
    def members(self) -> list[Member]:
        """Those whose parameters are known."""
        return [m for m in (self.controller, self.plant) if m is not None and m.known]

    def running(self, now: float) -> bool:
        """Whether its states are coming."""
        return now - self.heard < FRESH_SECONDS

    def picture(self, now: float) -> dict[str, Any] | None:
        """The moving part of its picture; None where there is nothing to draw."""
        if self.scene is None:
            return None
        if self.posed and not self.running(now):
            return self.scene.frame_at(self.posed, self.history.time)
        newest = self.history.newest
        return self.scene.frame_at(newest, self.history.time) if newest else None
