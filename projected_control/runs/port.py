"""What a control loop asks of an arm, and the kinds of port that ``hardware`` can name.

Among them is the port of an arm whose simulator calls us, once per step: Gazebo's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.control.force_source import WORLD
from projected_control.control.law_kinds import EFFORT, VELOCITY, LawKind
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.registry import Registry
from projected_control.simulation.plant import PlantState


class Port(ABC):
    """The way to an arm: `open` it, `engage` it, `read` and `write` in turn, `close` it.

    A `Runner` does this for every kind of port. `close` is called in the end whatever happens.

    Attributes:
        waits: Whether `read` waits for the arm. A port that does not gives the state of this very
            period, or None where there is none: a simulated arm, or one whose simulator calls us.
        patience: How long `open` waits for an arm that sends nothing [s].
        heard: When the arm was last heard of, by `time.monotonic`, where `read` waits [s].
        delay: Samples from an effort to its effect in the state, at least; zero where it is not
            known. Known once the port is open.
        stamp_ns: Time of the last state by the arm's own clock [ns].
        wrench_frame: In whose axes the wrench of a state is; `WORLD` for the world's.
        commands: Topic on which only we may command the arm; empty where there is none.
        disturbed: What another node commanded there, which ended the run; empty for nothing.
        last_word: What goes on answering there when the port is closed, until it is stopped, too;
            None where nothing does. See `outlast`.
        remote: Whether the ticks are made at the arm: what is read was answered there already,
            and nothing is written.
        report_rate: How often `read` gives a state, where that is not every period [Hz].
        refusal: Why the arm's side refused a change; empty where it did not.
        takes: What of a law it takes, efforts or velocities of the joints, see `LawKind.commands`.
        truth: What a simulated arm really does, at the state that was read last; else None.
    """

    waits: bool = False
    patience: float = 0.0
    heard: float = 0.0
    delay: int = 0
    stamp_ns: int = 0
    wrench_frame: str = WORLD
    commands: str = ""
    disturbed: str = ""
    last_word: Any = None
    remote: bool = False
    report_rate: float | None = None
    refusal: str = ""
    takes: str = EFFORT
    truth: PlantState | None = None

    @abstractmethod
    def open(self) -> RawState:
        """Find the arm; a state to start from. Nothing moves yet.

        Raises:
            ProjectedControlError: Where it cannot be had, with the reason.
        """

    def engage(self) -> None:
        """Take control: efforts count from now on."""

    @abstractmethod
    def read(self) -> RawState | None:
        """The next state, or None where none has come."""

    @abstractmethod
    def write(self, effort: Array) -> None:
        """Command joint efforts, n [N·m or N]; velocities where it takes these [rad/s or m/s]."""

    def let_go(self) -> None:
        """What is written from now on answers no state: the run is over."""

    def outlast(self) -> None:
        """Another node has ended the run: keep zero the last word, also when the port is closed."""

    def interrupt(self) -> None:
        """Make a `read` that waits come back; from any thread."""

    def wake(self) -> None:
        """Make a `read` that waits look for changes, where ticks are remote."""

    def beat(self) -> None:
        """The deciding side lives; called now and then by what decides."""

    def adopt(self, settings: Any) -> None:
        """Other settings of the controller hold from now on."""

    def measured_delay(self) -> int | None:
        """Samples from an effort to its effect as they were measured; None for no measurement."""
        return None

    @property
    def delay_counts(self) -> bool:
        """Whether that measurement is one to go by."""
        return False

    def cycles(self) -> Sequence[tuple[float, int]]:
        """Of remote ticks since the last reading: stamps [s] and durations [ns]."""
        return ()

    def missing(self, silent: float) -> str:
        """In words, what it means that nothing was heard for so long [s]."""
        return (
            f"no joint state for {silent:.2f} s: the arm or its driver has stopped, or this "
            "computer was too busy to deliver them"
        )

    def counters(self) -> dict[str, int]:
        """What only this port can count, by name, for summaries."""
        return {}

    def check(self) -> None:
        """Raise where the arm takes efforts no longer. Asked a few times a second."""

    @abstractmethod
    def close(self) -> None:
        """Leave the arm without torque, and give it back."""


@dataclass(frozen=True)
class PortKind:
    """A kind of port that a controller node can be told to use."""

    name: str  # what ``hardware`` is set to
    title: str  # what it is, in words
    # ``module:function``, loaded when it is needed, so that naming a kind needs no ROS. It is
    # called with the controller node, its node for topics, and the control loop.
    factory: str
    # Whether a watchdog makes sense, to end a torque when the node dies; else the arm's side
    # does something about it by itself.
    needs_watchdog: bool = True
    needs_limits: bool = False  # whether the arm is a real one, that does not move without limits
    knows_base: bool = False  # whether the state of a floating base comes beside that of joints

    @property
    def lets_fall(self) -> bool:
        """Whether a real arm has no torque any more where the node is late."""
        return self.needs_limits and self.needs_watchdog

    def make(self, node: Any, side: Any, loop: Any) -> Port:
        """A port for a controller node, not open yet."""
        module, _, function = self.factory.partition(":")
        make: Callable[..., Port] = getattr(import_module(module), function)
        return make(node, side, loop)


PORTS: Registry[PortKind] = Registry("port", "projected_control.ports")

PORTS.add(
    PortKind(
        "topics",
        "every node that listens on effort_controller/commands",
        "projected_control.ros.topics_port:make_port",
    )
)
PORTS.add(
    PortKind(
        "ros2_control",
        "controllers of ros2_control, which are found, checked and switched",
        "projected_control.ros.ros2_control_port:make_port",
        needs_limits=True,
    )
)
PORTS.add(
    PortKind(
        "plugin",
        "our plugin in the controller manager, which makes the ticks there",
        "projected_control.ros.plugin_port:make_port",
        needs_watchdog=False,
        needs_limits=True,
        knows_base=True,
    )
)


def require_command(law: LawKind, takes: str) -> None:
    """Refuse a law that sends what an arm does not take."""
    if law.commands != takes:
        units = {EFFORT: "efforts", VELOCITY: "velocities"}
        raise InvalidValue(
            f"the law {law.name or law.number.name.lower()} sends {units[law.commands]}, and this "
            f"arm takes {units[takes]}: velocities are for simulated arms in process with "
            "simulation.drive, efforts for all others",
            key="law",
        )


class SteppedArm(Port):
    """States are put in, a runner is stepped, efforts are taken out.

    Args:
        joints: Number of joints, n.
        wrench_frame: In whose axes the engine's sensor measures.

    Attributes:
        effort: What was written last, n; zero once closed.
    """

    def __init__(self, joints: int, wrench_frame: str = WORLD) -> None:
        self.wrench_frame = wrench_frame
        self.effort: Array = np.zeros(joints)
        self._state: RawState | None = None
        self._time = self._origin = 0.0

    def put(self, q: ArrayLike, v: ArrayLike, time: float, wrench: ArrayLike | None = None) -> None:
        """The state of this step, at the engine's time [s]."""
        n = self.effort.size
        q, v = validate.vector("q", q, n), validate.vector("v", v, n)
        wrench = None if wrench is None else np.asarray(wrench, dtype=np.float64)
        self._time, self.stamp_ns = time, round(1e9 * time)
        self._state = RawState(q, v, time - self._origin, wrench)

    def open(self) -> RawState:
        if self._state is None:
            raise ProjectedControlError("the simulator has not made a step yet")
        self._origin = self._time
        self._state = self._state._replace(stamp=0.0)
        return self._state

    def read(self) -> RawState | None:
        state, self._state = self._state, None
        return state

    def write(self, effort: Array) -> None:
        self.effort[:] = effort

    def close(self) -> None:
        self.effort[:] = 0.0
