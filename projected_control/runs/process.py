"""The process that takes rows out of a ring and writes them into an MCAP file.

``python -m projected_control.runs.process`` with five numbers: descriptors of the ring, of
the pipe and of the file, then the ring's capacity and width. It is started by `recorder`, in
the process of a control loop, and outlives that: when the loop ends in order, or is killed, the
pipe closes, and what is left in the ring still reaches the file.

Messages are defined in the file as ROS 2 has them (encoding ros2msg, `schema`).
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import Any, BinaryIO

from mcap.writer import CompressionType, Writer

from projected_control.runs import row_messages
from projected_control.runs.recording import END, METADATA
from projected_control.runs.ring import BYTES, DONE, ENDED, LOST, Ring
from projected_control.runs.row_messages import Encoder, Head, RecordMessage

WAIT_SECONDS = 0.02  # how often the ring is looked at [s]

FLUSH_SECONDS = 0.5
"""How often all that was written is handed to the disk: a crash loses no more than that [s]."""

FLUSH_BYTES = 1 << 20
"""And how much at most, before compression: a run in process writes a minute in a second."""

MOST_ROWS = 512  # rows that are taken at a time

LIBRARY = "projected_control"

_SEPARATOR = "\n" + 80 * "=" + "\nMSG: {name}\n"

_TIME = "int32 sec\nuint32 nanosec\n"
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
_VECTOR = "float64 x\nfloat64 y\nfloat64 z\n"

_OWN = {
    "builtin_interfaces/Time": _TIME,
    "std_msgs/Header": _HEADER,
    "std_msgs/String": "string data\n",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
        "float64[] effort\n"
    ),
    "geometry_msgs/Vector3": _VECTOR,
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque\n",
    "geometry_msgs/WrenchStamped": "std_msgs/Header header\ngeometry_msgs/Wrench wrench\n",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
    "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data\n",
    "diagnostic_msgs/KeyValue": "string key\nstring value\n",
    "diagnostic_msgs/DiagnosticStatus": (
        "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\n"
        "string message\nstring hardware_id\ndiagnostic_msgs/KeyValue[] values\n"
    ),
    "diagnostic_msgs/DiagnosticArray": (
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n"
    ),
    "rcl_interfaces/ParameterValue": (
        "uint8 type\nbool bool_value\nint64 integer_value\nfloat64 double_value\n"
        "string string_value\nbyte[] byte_array_value\nbool[] bool_array_value\n"
        "int64[] integer_array_value\nfloat64[] double_array_value\nstring[] string_array_value\n"
    ),
    "rcl_interfaces/Parameter": "string name\nrcl_interfaces/ParameterValue value\n",
    "rcl_interfaces/ParameterEvent": (
        "builtin_interfaces/Time stamp\nstring node\nrcl_interfaces/Parameter[] new_parameters\n"
        "rcl_interfaces/Parameter[] changed_parameters\n"
        "rcl_interfaces/Parameter[] deleted_parameters\n"
    ),
}


def schema(name: str) -> bytes:
    """The definition of a message and of all that it is made of.

    Args:
        name: As package/Type.
    """
    needed: list[str] = []

    def visit(one: str) -> None:
        for line in _OWN[one].splitlines():
            kind = line.split()[0].removesuffix("[]")
            if "/" in kind and kind not in needed:
                needed.append(kind)
                visit(kind)

    visit(name)
    parts = [_SEPARATOR.format(name=one) + _OWN[one] for one in needed]
    return "".join([_OWN[name], *parts]).encode()


class RecordingFile:
    """An MCAP file that is being written.

    Args:
        file: Open for writing.
        head: What is recorded.
    """

    def __init__(self, file: BinaryIO, head: Head) -> None:
        self._file, self._head, self.pending = file, head, 0
        self._writer = Writer(file, chunk_size=1 << 22, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library=LIBRARY)
        self._writer.add_metadata(METADATA, dict(head.metadata))
        for name, (media, content) in head.attachments.items():
            self._writer.add_attachment(head.began_ns, head.began_ns, name, media, content)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        for channel in row_messages.TYPES:  # all of them, so that even an empty one says what it is
            self._channel(channel)
        self._encoder = Encoder(head)
        urdf = head.attachments.get("robot_description.urdf")
        if urdf is not None:
            text = row_messages.text_message(urdf[1].decode())
            self.add(RecordMessage(row_messages.DESCRIPTION, head.began_ns, text))
        self.flush()

    def _channel(self, name: str) -> int:
        if name not in self._channels:
            kind = row_messages.TYPES[name]
            if kind not in self._schemas:
                full = kind.replace("/", "/msg/")
                self._schemas[kind] = self._writer.register_schema(full, "ros2msg", schema(kind))
            latched = name == row_messages.DESCRIPTION
            self._channels[name] = self._writer.register_channel(
                self._head.topics[name], "cdr", self._schemas[kind], {"latched": str(latched)}
            )
        return self._channels[name]

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._file.tell()

    def add(self, message: RecordMessage) -> None:
        channel = self._channel(message.channel)
        time = message.time_ns
        self._writer.add_message(channel, time, message.data, time, message.sequence)
        self.pending += len(message.data)

    def add_rows(self, first: int, rows: Any) -> None:
        for message in self._encoder.messages(first, rows):
            self.add(message)

    def add_note(self, kind: str, index: int, content: Any) -> None:
        """Write what came through the pipe: a live block, parameters that changed, diagnostics."""
        now = self._encoder.time_ns
        data = {
            row_messages.BLOCKS: lambda: row_messages.numbers_message(content),
            row_messages.PARAMETERS: lambda: row_messages.parameter_event(
                now, self._head.node, content
            ),
            row_messages.DIAGNOSTICS: lambda: row_messages.diagnostics_message(now, content),
        }[kind]()
        self.add(RecordMessage(kind, now, data, index & 0xFFFFFFFF))

    def flush(self) -> None:
        """Hand all to the disk, so that only a broken disk loses it."""
        self._writer.flush()
        os.fsync(self._file.fileno())
        self.pending = 0

    def finish(self, ticks: int, lost: int, reason: str) -> None:
        end = {"rows": str(ticks), "lost": str(lost), "reason": reason}
        self._writer.add_metadata(END, end)
        self._writer.finish()
        self._file.flush()
        os.fsync(self._file.fileno())


def serve(ring: Ring, pipe: Connection, file: BinaryIO, stop: list[int]) -> None:
    """Write until the pipe closes, the file is full, or we are told to stop."""
    head: Head = pickle.loads(pipe.recv_bytes())
    recording = RecordingFile(file, head)
    flushed, ended, reason = monotonic(), False, "ended"
    while True:
        while not ended and pipe.poll():
            try:
                kind, index, content = pickle.loads(pipe.recv_bytes())
            except (EOFError, OSError):
                ended, reason = True, "the process that recorded was killed"
                break
            if kind == "end":
                ended, reason = True, content
                break
            recording.add_note(kind, index, content)
        taken = ring.take(MOST_ROWS)
        recording.add_rows(taken.first, taken.rows)
        ring.counters[BYTES] = recording.size
        if recording.size >= head.largest:
            reason = f"the recording has reached its largest size, {head.largest / 1e6:.0f} MB"
            break
        if not len(taken.rows):
            if ended or stop:
                break
            sleep(WAIT_SECONDS)
        if monotonic() - flushed > FLUSH_SECONDS or recording.pending > FLUSH_BYTES:
            recording.flush()
            flushed = monotonic()
    recording.finish(int(ring.counters[DONE]), int(ring.counters[LOST]), reason)
    ring.counters[BYTES] = recording.size
    if reason != "ended":
        ring.text = reason


def main(arguments: Sequence[str]) -> int:
    stop: list[int] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loop: we end when it has
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    with suppress(OSError, AttributeError):  # it may have been started by a process with priority
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with suppress(OSError):
        os.nice(5)
    memory, pipe, file, capacity, width = (int(word) for word in arguments)
    ring = Ring(memory, capacity, width)
    try:
        with os.fdopen(file, "wb") as output:
            serve(ring, Connection(pipe, writable=False), output, stop)
    except EOFError:  # killed before it began
        return 0
    except OSError as error:  # a full disk, most of all
        ring.text = f"the recording cannot be written: {error.strerror or error}"
        return 1
    finally:
        ring.counters[ENDED] = 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
