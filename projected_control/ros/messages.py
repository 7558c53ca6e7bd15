"""Between ROS messages, as bytes, and arrays: the messages of a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan
from operator import itemgetter
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.arrays import Array
from projected_control.cdr import CdrFormat
from projected_control.errors import InvalidValue
from projected_control.model.description import Mimic

NANOSECONDS = 1_000_000_000  # nanoseconds in a second
LARGEST_WRENCH = 1e9  # bound beyond which no number of a wrench is believed [N or N·m]


def tag_of(nanoseconds: int) -> int:
    """What a command carries in lockstep to name the state it answers: its microsecond, from one.

    Zero is what commands carry that answer no state.
    """
    return (nanoseconds // 1000) % 0xFFFFFFFF + 1


class StateReader:
    """Positions and velocities of an arm's joints out of joint states in any order.

    Args:
        joints: Names, in the arm's order.
        echo: The joint whose reported effort is of interest, if any.
        offsets: Offsets added to the positions, one per joint; none if empty.
        mimics: Joints that follow others, by name: where states do not name one, its position and
            velocity are derived from its leader's, as q = ratio q_leader + offset.

    Attributes:
        echo: Effort of that joint in the last state; NaN where there is none.
    """

    def __init__(
        self,
        joints: Sequence[str],
        echo: str = "",
        offsets: Sequence[float] = (),
        mimics: Mapping[str, Mimic] | None = None,
    ) -> None:
        self._joints = tuple(joints)
        self._mimics = dict(mimics or {})
        self._derived: list[tuple[int, int, float, float]] = []
        if len(offsets) not in (0, len(self._joints)):
            raise InvalidValue(
                f"joint_offsets must have one number per joint, {len(self._joints)}, or none, "
                f"got {len(offsets)}"
            )
        self._offsets = np.array(offsets) if len(offsets) else None
        self.echo, self._echo_joint, self._echo_place = nan, echo, 0
        self._layout: CdrFormat | None = None
        self._q: Callable[[tuple[Any, ...]], Any] = itemgetter(0)
        self._v: Callable[[tuple[Any, ...]], Any] = itemgetter(0)

    def wrong_with(self, message: bytes) -> str:
        """Why a state cannot be read, in words, or nothing."""
        state = _deserialized(message, JointState)
        if state is None:
            return "the joint states cannot be decoded"
        if missing := [n for n in self._joints if self._source(n, state.name) is None]:
            present = ", ".join(state.name) or "no joints at all"
            return f"the joint states have no {', '.join(missing)}; they have {present}"
        q = np.zeros(len(self._joints))
        v = np.zeros_like(q)
        if self.read(message, q, v) is None or not np.isfinite(q + v).all():
            return "the joint states lack numbers or are not finite"
        return ""

    def read(self, message: bytes, q: Array, v: Array) -> int | None:
        """Fill q and v; the state's time [ns], or None where joints or numbers are missing."""
        numbers = None if self._layout is None else self._layout.read(message)
        if numbers is None:
            numbers = self._learn(message)
            if numbers is None:
                return None
        q[:] = self._q(numbers)
        if self._offsets is not None:
            q += self._offsets
        v[:] = self._v(numbers)
        for follower, leader, ratio, offset in self._derived:
            q[follower], v[follower] = ratio * q[leader] + offset, ratio * v[leader]
        self.echo = numbers[self._echo_place] if self._echo_place else nan
        return int(numbers[0]) * NANOSECONDS + int(numbers[1])

    def _source(self, joint: str, names: Sequence[str]) -> str | None:
        """The joint from whose numbers one's own come: itself, or whom it follows; else None."""
        asked: set[str] = set()
        while joint not in names:
            if joint not in self._mimics or joint in asked:
                return None
            asked.add(joint)
            joint = self._mimics[joint].leader
        return joint

    def _derive(self, names: Sequence[str]) -> None:
        """List the joints that states do not name, with whom they follow; leaders first."""

        def depth(joint: str) -> int:
            return 0 if joint in names else 1 + depth(self._mimics[joint].leader)

        place = self._joints.index
        self._derived = [
            (place(joint), place(leader), ratio, offset)
            for joint in sorted((j for j in self._joints if j not in names), key=depth)
            for leader, ratio, offset in [self._mimics[joint]]
        ]

    def _learn(self, message: bytes) -> tuple[Any, ...] | None:
        """The numbers of a state that is not laid out like the last one; expect more like it."""
        state = _deserialized(message, JointState)
        if state is None:
            return None
        names, size = list(state.name), len(state.name)
        sources = [self._source(joint, names) for joint in self._joints]
        found = [names.index(source) for source in sources if source is not None]
        complete = len(found) == len(self._joints) and len(set(names)) == size
        if not complete or len(state.position) != size or len(state.velocity) != size:
            return None
        self._layout = _layout_of(state)
        self._derive(names)
        places = [2 + place for place in found]
        self._q = itemgetter(*places)
        self._v = itemgetter(*(place + size for place in places))
        reported = len(state.effort) == size and self._echo_joint in names
        self._echo_place = 2 + 2 * size + names.index(self._echo_joint) if reported else 0
        stamp = state.header.stamp
        return (stamp.sec, stamp.nanosec, *state.position, *state.velocity, *state.effort)


class StateWriter:
    """Joint states that are written again and again.

    Args:
        joints: Names, in the order of the numbers.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        n = len(joints)
        self._layout = header_layout("").texts(joints).array(n).array(n).array(n)

    def fill(self, stamp: int, q: Array, v: Array, effort: Array) -> bytes:
        """The message: time [ns], positions, velocities and efforts."""
        time = divmod(stamp, NANOSECONDS)
        return self._layout.write(*time, *q.tolist(), *v.tolist(), *effort.tolist())


class EffortWriter:
    """Effort commands that are written again and again.

    Args:
        order: Order of the joints in the command, as indices of the arm's joints.
    """

    def __init__(self, order: Sequence[int]) -> None:
        self._order = np.array(order, dtype=np.int64)
        self._layout = CdrFormat().empty().number("I").array(len(order))

    def fill(self, effort: Array, tag: int = 0) -> bytes:
        """The message with these efforts of the arm's joints [N·m or N]."""
        return self._layout.write(tag, *effort[self._order].tolist())


class EffortReader:
    """Efforts out of commands of the right size."""

    def __init__(self, n: int) -> None:
        self._n, self._layout = n, CdrFormat().empty().number("I").array(n)

    def read(self, message: bytes, effort: Array) -> int | None:
        """Fill the efforts; the command's tag, or None for one of another size or not finite."""
        numbers = self._layout.read(message)
        if numbers is None:
            command = _deserialized(message, Float64MultiArray)
            if command is None or len(command.data) != self._n:
                return None
            numbers = (command.layout.data_offset, *command.data)
        if not all(map(isfinite, numbers)):
            return None
        effort[:] = numbers[1:]
        return int(numbers[0])


class JointCommandReader:
    """Efforts out of the joint states that a JointStateTopicSystem of ros2_control sends.

    These name all joints but carry efforts only for those with a motor; before the first command
    the efforts are NaN.
    """

    def __init__(self, joints: Sequence[str], actuated: Sequence[bool]) -> None:
        self._joints = list(joints)
        self._motors = {name for name, motor in zip(joints, actuated, strict=True) if motor}
        self._layout: CdrFormat | None = None
        self._places: list[tuple[int, int]] = []

    def read(self, message: bytes, effort: Array) -> int | None:
        """Fill the efforts; zero, as such commands have no tag, or None for none that is finite."""
        numbers = None if self._layout is None else self._layout.read(message)
        if numbers is None:
            numbers = self._learn(message)
            if numbers is None:
                return None
        if not all(isfinite(numbers[place]) for _, place in self._places):
            return None
        effort[:] = 0.0
        for joint, place in self._places:
            effort[joint] = numbers[place]
        return 0

    def _learn(self, message: bytes) -> tuple[Any, ...] | None:
        """The numbers of a command that is not laid out like the last one; expect more like it."""
        command = _deserialized(message, JointState)
        if command is None or not self._motors <= set(command.name):
            return None
        whole = len(command.effort) == len(command.name)
        names = [name for name in command.name if whole or name in self._motors]
        if len(command.effort) != len(names):
            return None
        self._layout = _layout_of(command)
        before = 2 + len(command.position) + len(command.velocity)
        self._places = [
            (self._joints.index(name), before + i)
            for i, name in enumerate(names)
            if name in self._motors
        ]
        stamp = command.header.stamp
        numbers = (*command.position, *command.velocity, *command.effort)
        return (stamp.sec, stamp.nanosec, *numbers)


class WrenchReader:
    """Wrenches out of messages: force above moment, in the axes that the messages name.

    Attributes:
        frame: Frame that the last message named; empty before the first.
    """

    def __init__(self) -> None:
        self.frame = ""
        self._layout: CdrFormat | None = None

    def read(self, message: bytes, wrench: Array) -> int | None:
        """Fill the wrench, 6; its time [ns], or None for one that is not finite or absurd."""
        numbers = None if self._layout is None else self._layout.read(message)
        if numbers is None:
            numbers = self._learn(message)
            if numbers is None:
                return None
        seconds, nanoseconds, *components = numbers
        if not all(abs(component) <= LARGEST_WRENCH for component in components):
            return None
        wrench[:] = components
        return int(seconds) * NANOSECONDS + int(nanoseconds)

    def _learn(self, message: bytes) -> tuple[Any, ...] | None:
        """The numbers of a wrench that is not laid out like the last one; expect more like it."""
        wrench = _deserialized(message, WrenchStamped)
        if wrench is None:
            return None
        self.frame = wrench.header.frame_id
        self._layout = wrench_layout(self.frame)
        stamp, f, tau = wrench.header.stamp, wrench.wrench.force, wrench.wrench.torque
        return (stamp.sec, stamp.nanosec, f.x, f.y, f.z, tau.x, tau.y, tau.z)


def _layout_of(state: JointState) -> CdrFormat:
    layout = header_layout(state.header.frame_id).texts(list(state.name))
    for numbers in (state.position, state.velocity, state.effort):
        layout.array(len(numbers))
    return layout


def wrench_layout(frame: str) -> CdrFormat:
    """CdrFormat of wrenches in a frame: time in seconds and nanoseconds, force, torque."""
    return header_layout(frame).numbers("d", 6)


def clock_layout() -> CdrFormat:
    """CdrFormat of the clock: seconds and nanoseconds."""
    return CdrFormat().number("i").number("I")


def state_layout(names: Sequence[str]) -> CdrFormat:
    """CdrFormat of joint states with positions alone: seconds, nanoseconds, one number per name."""
    return header_layout("").texts(names).array(len(names)).array(0).array(0)


def header_layout(frame: str) -> CdrFormat:
    """CdrFormat of a header: seconds and nanoseconds."""
    return clock_layout().text(frame)


def _deserialized(message: bytes, kind: type[Any]) -> Any | None:
    """A message as an object; None for bytes that are no such message."""
    try:
        return deserialize_message(message, kind)
    except Exception:  # rclpy's own error, which has no type
        return None
