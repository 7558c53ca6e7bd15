"""From rows of numbers to the standard messages that others read.

Messages are put together many at a time, by a format that is worked out once (`cdr`). The package
mcap-ros2-support, which writes and reads any message by its definition, would take 59 µs for the
three messages of a tick where this takes 10 (5,000 ticks of 70 numbers, one core): with a loop at
1 kHz beside it that is a twentieth of a core more. It does not bring definitions either: those of
the messages used here are in `process`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.cdr import CdrFormat

Places = dict[str, tuple[int, tuple[int, ...]]]
"""Where each part of a row, or of another array, begins, and its shape."""

NANOSECONDS = 1_000_000_000
EPOCH_SECONDS = 1_000_000_000
"""From here on a clock counts from 1970, and is no simulated one [s]."""

TICKS, STATES, WRENCH, COMMANDS, STATE = "ticks", "joint_states", "wrench", "commands", "state"
DIAGNOSTICS, PARAMETERS, DESCRIPTION = "diagnostics", "parameters", "robot_description"
BLOCKS = "letters"
"""Changes of the live block, by the name that they have in files."""

TYPES = {
    STATES: "sensor_msgs/JointState",
    WRENCH: "geometry_msgs/WrenchStamped",
    COMMANDS: "std_msgs/Float64MultiArray",
    STATE: "sensor_msgs/JointState",
    DIAGNOSTICS: "diagnostic_msgs/DiagnosticArray",
    PARAMETERS: "rcl_interfaces/ParameterEvent",
    DESCRIPTION: "std_msgs/String",
    TICKS: "std_msgs/Float64MultiArray",
    BLOCKS: "std_msgs/Float64MultiArray",
}
"""The channels of a recording, and the type of each."""


@dataclass(frozen=True)
class Head:
    """What the writer of a file is told at the beginning."""

    node: str  # name of the controller
    # joints, coordinates: names.
    joints: Sequence[str]
    coordinates: Sequence[str]
    quantities: Sequence[str]  # names in the topic ~/state, in the order of `plotted`
    columns: Places  # where each part of a row begins, and its shape
    topics: Mapping[str, str]  # where each channel is heard otherwise
    wrench_frame: str  # in whose axes the wrench is measured
    state_every: int  # ticks from one message of ~/state to the next
    began_ns: int  # by the wall clock, since 1970 [ns]
    # What else there is to know, as texts.
    metadata: Mapping[str, str] = field(default_factory=dict)
    # Files by name: type of media and content.
    attachments: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    largest: int = 1 << 40  # size at which the file ends [bytes]

    @property
    def width(self) -> int:
        """Numbers per row."""
        return width(self.columns)


def width(columns: Places) -> int:
    """Numbers per row."""
    return max(at + int(np.prod(shape)) for at, shape in columns.values())


class RecordMessage(NamedTuple):
    """One message of a channel, in CDR."""

    channel: str
    time_ns: int
    data: bytes
    sequence: int = 0


def column(rows: Array, columns: Places, name: str) -> Array:
    """A part of all rows, N × its shape; a number per row where the part is one number."""
    begin, shape = columns[name]
    part = rows[:, begin : begin + int(np.prod(shape))].reshape(len(rows), *shape)
    return part[:, 0] if shape == (1,) and name not in PER_NAME else part


PER_NAME = (
    *("q", "v", "effort", "tangent", "normal", "motion", "force_motion", "theta", "error"),
    *("lambda_desired", "lambda_measured"),
    *("given_up", "force_given_up", "binds", "ceiling_binds"),
    *("contact_state", "contact_gap", "contact_force"),
    *("true_q", "true_v", "true_acceleration", "true_multipliers", "true_constraint_force"),
    "true_motor_effort",
)
"""Parts that stay lists where there is one joint, coordinate or constraint row."""


def plotted(rows: Array, columns: Places) -> Array:
    """The numbers of ~/state, one line per row; see `plotted_names`."""

    def part(name: str) -> Array:
        return column(rows, columns, name)

    parts = [
        np.stack([part("theta"), part("motion")[:, 0], part("error")], axis=2),
        np.stack([part("lambda_measured"), part("lambda_desired")], axis=2),
        np.stack([part("tangent"), part("normal"), part("effort"), part("q")], axis=2),
    ]
    norms = [part("residual"), np.linalg.norm(part("effort"), axis=1), part("inverse_dynamics")]
    if "path_rate" in columns:
        norms += [part("path_rate"), part("path_lag")]
    else:  # a recording of a version in which no path waited
        norms += [np.ones(len(rows)), np.zeros(len(rows))]
    if "binds" in columns:
        norms += [part("motion_share"), *part("binds").T]
    else:  # of one in which no solver kept limits
        norms += [np.ones(len(rows)), *np.zeros_like(part("q")).T]
    if "contact_state" in columns:
        norms += [*part("contact_state").T]
    else:  # of one in which every contact held for ever
        norms += [*np.zeros_like(part("lambda_desired")).T]
    flat = (p.reshape(len(rows), int(np.prod(p.shape[1:]))) for p in parts)
    return np.column_stack([*flat, *norms])


def plotted_names(coordinates: Sequence[str], rows: int, joints: Sequence[str]) -> list[str]:
    """Names of the quantities in the topic ~/state of a controller.

    Args:
        coordinates, joints: Names.
        rows: Of the constraint.
    """
    names: list[str] = []
    for name in coordinates:
        names += [name, f"{name}/desired", f"{name}/error"]
    for row in range(rows):
        names += [f"lambda_{row}", f"lambda_{row}/desired"]
    for joint in joints:
        names += [f"{joint}/tangent", f"{joint}/normal", f"{joint}/effort", f"{joint}/position"]
    names += ["residual", "torque_norm", "torque_norm/idc", "path/rate", "path/lag", "motion/share"]
    names += [f"{joint}/binds" for joint in joints]
    return [*names, *(f"lambda_{row}/state" for row in range(rows))]


def _header(frame: str = "") -> CdrFormat:
    return CdrFormat().number("i").number("I").text(frame)


def numbers_format(count: int) -> CdrFormat:
    """A Float64MultiArray of so many numbers: data_offset, numbers."""
    return CdrFormat().empty().number("I").array(count)


class Encoder:
    """Turns rows into messages.

    Args:
        head: What the rows hold.
    """

    def __init__(self, head: Head) -> None:
        self._head, n = head, len(head.joints)
        self._ticks, self._commands = numbers_format(head.width), numbers_format(n)
        self._states = _header().texts(head.joints).array(n).array(n).array(0)
        self._wrench = _header(head.wrench_frame).numbers("d", 6)
        quantities = list(head.quantities)
        self._state = _header().texts(quantities).array(len(quantities)).array(0).array(0)
        self._first_ns: int | None = None
        self.time_ns = head.began_ns

    def times(self, clock: Array) -> NDArray[np.int64]:
        """When rows are logged [ns]: by the arm's clock, or that clock set to the wall's."""
        now = clock.astype(np.int64) @ np.array([NANOSECONDS, 1])
        if self._first_ns is None:
            self._first_ns = int(now[0])
        if self._first_ns < EPOCH_SECONDS * NANOSECONDS:
            now = now - self._first_ns + self._head.began_ns
        now = np.maximum.accumulate(np.maximum(now, self.time_ns))
        self.time_ns = int(now[-1])
        return now

    def messages(self, first: int, rows: Array) -> Iterator[RecordMessage]:
        """All messages of some rows, in their order; the first has this number."""
        if not len(rows):
            return
        head, columns = self._head, self._head.columns

        def part(name: str) -> Array:
            return column(rows, columns, name)

        clock = part("clock")
        times = self.times(clock).tolist()
        zero, answers = np.zeros(len(rows)), part("kind") == 0.0
        ticks = self._ticks.write_many(np.column_stack([zero, rows]))
        commands = self._commands.write_many(np.column_stack([zero, part("effort")]))
        states = self._states.write_many(np.column_stack([clock, part("q"), part("v")]))
        wrench = self._wrench.write_many(np.column_stack([clock, part("wrench")]))
        state = self._state.write_many(np.column_stack([clock, plotted(rows, columns)]))
        measured = answers & np.isfinite(part("wrench_age"))
        for i, time in enumerate(times):
            number = (first + i) & 0xFFFFFFFF
            yield RecordMessage(TICKS, time, ticks[i].tobytes(), number)
            yield RecordMessage(COMMANDS, time, commands[i].tobytes(), number)
            if answers[i]:
                yield RecordMessage(STATES, time, states[i].tobytes(), number)
            if measured[i]:
                yield RecordMessage(WRENCH, time, wrench[i].tobytes(), number)
            if answers[i] and (first + i) % head.state_every == 0:
                yield RecordMessage(STATE, time, state[i].tobytes(), number)


def text_message(text: str) -> bytes:
    """A String."""
    return CdrFormat().text(text).write()


def numbers_message(numbers: Array) -> bytes:
    """A Float64MultiArray."""
    return numbers_format(numbers.size).write(0, *numbers.tolist())


def diagnostics_message(stamp_ns: int, status: Mapping[str, Any]) -> bytes:
    """A DiagnosticArray with one status: level, name, message, hardware_id, values."""
    form = _header().constant("I", 1).constant("B", int(status["level"]))
    for key in ("name", "message", "hardware_id"):
        form.text(str(status[key]))
    form.constant("I", len(status["values"]))
    for key, value in status["values"].items():
        form.text(str(key)).text(str(value))
    return form.write(*divmod(stamp_ns, NANOSECONDS))


_NOT_SET, _BOOL, _INTEGER, _DOUBLE, _STRING, _BYTES, _BOOLS, _INTEGERS, _DOUBLES, _STRINGS = range(
    10
)


def parameter_event(stamp_ns: int, node: str, values: Mapping[str, Any]) -> bytes:
    """A ParameterEvent with these changed parameters."""
    form = CdrFormat().number("i").number("I").text(node).constant("I", 0)
    form.constant("I", len(values))
    for name, value in values.items():
        _parameter(form.text(name), value)
    form.constant("I", 0)
    return form.write(*divmod(stamp_ns, NANOSECONDS))


def _parameter(form: CdrFormat, value: Any) -> None:
    listed = list(value) if isinstance(value, (list, tuple)) else None
    kind = _kind(value, listed)

    def of(wanted: int) -> list[Any]:
        return listed if listed is not None and kind == wanted else []

    form.constant("B", kind).constant("B", int(kind == _BOOL and value))
    form.constant("q", int(value) if kind == _INTEGER else 0)
    form.constant("d", float(value) if kind == _DOUBLE else 0.0)
    form.text(value if kind == _STRING else "")
    form.constant("I", 0)  # bytes
    for wanted, code in ((_BOOLS, "B"), (_INTEGERS, "q"), (_DOUBLES, "d")):
        form.constant("I", len(of(wanted)))
        for item in of(wanted):
            form.constant(code, float(item) if code == "d" else int(item))
    form.texts([str(item) for item in of(_STRINGS)])


def _kind(value: Any, listed: list[Any] | None) -> int:
    if listed is None:
        kinds = {bool: _BOOL, int: _INTEGER, float: _DOUBLE, str: _STRING}
        return kinds.get(type(value), _NOT_SET)
    if not listed:
        return _NOT_SET
    kinds = {bool: _BOOLS, int: _INTEGERS, float: _DOUBLES, str: _STRINGS}
    return kinds.get(type(listed[0]), _NOT_SET)


def parameters_of(data: bytes) -> dict[str, Any]:
    """The changed parameters of a ParameterEvent as `parameter_event` writes it."""
    reader = _Bytes(data)
    reader.number("i")
    reader.number("I")
    reader.text()
    values: dict[str, Any] = {}
    for _ in range(3):  # new, changed, deleted
        for _ in range(reader.number("I")):
            name = reader.text()
            values[name] = reader.value()
    return values


class _Bytes:
    """Reads a message field by field."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data[4:], 0

    def number(self, code: str) -> Any:
        size = struct.calcsize(f"<{code}")
        self._at += -self._at % size
        (value,) = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += size
        return value

    def text(self) -> str:
        size = self.number("I")
        raw = self._data[self._at : self._at + size - 1]
        self._at += size
        return raw.decode()

    def several(self, code: str) -> list[Any]:
        count = self.number("I")
        return [self.text() if code == "s" else self.number(code) for _ in range(count)]

    def value(self) -> Any:
        kind = self.number("B")
        single = [bool(self.number("B")), self.number("q"), self.number("d"), self.text()]
        self.several("B")
        lists = [self.several(code) for code in ("B", "q", "d", "s")]
        lists[0] = [bool(item) for item in lists[0]]
        if kind == _NOT_SET:
            return []
        return single[kind - 1] if kind <= _STRING else lists[kind - _BOOLS]
