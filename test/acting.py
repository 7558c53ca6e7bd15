"""The plugin without ros2_control: its session and simulated arm, called as a manager would."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.native.library import native_loop
from projected_control.native.plant_file import plant_sections
from projected_control.native.session import begin_sections, change_sections
from projected_control.native.updates import Message, Update, decode, encode
from projected_control.runs.simulated import SimulatedArm

Array = NDArray[np.float64]
BUFFER_SIZE = 1 << 20


def _names(names: Sequence[str]) -> bytes:
    return b"".join(name.encode() + b"\0" for name in names) + b"\0"


def _at(array: Array | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


class Acting:
    """A session as a controller manager would have it; its clocks stand until told otherwise.

    Attributes:
        now_ns: The steady clock.
        time_ns: The manager's time.
        arm_seconds: The arm's own, where `arm_clock` says that it has one.
    """

    def __init__(
        self,
        joints: Sequence[str],
        period: float,
        commands: Sequence[str] | None = None,
        record: int = 0,
        arm_clock: bool = False,
    ) -> None:
        self._library = native_loop()
        self._library.projected_control_session_create.restype = ctypes.c_void_p
        for name in ("receive", "activate", "state"):
            function = getattr(self._library, f"projected_control_session_{name}")
            function.restype = ctypes.c_int64
        self.commands = list(commands or joints)
        self._session = ctypes.c_void_p(
            self._library.projected_control_session_create(
                _names(joints),
                _names(self.commands),
                ctypes.c_double(period),
                ctypes.c_int64(record),
                ctypes.c_int32(arm_clock),
            )
        )
        self.period, self.now_ns, self.time_ns = period, 1_000_000_000, 5_000_000_000
        self.arm_seconds = 40.0
        self._buffer = ctypes.create_string_buffer(BUFFER_SIZE)
        self._answer = ctypes.create_string_buffer(2000)  # another thread may receive

    def __del__(self) -> None:
        self._library.projected_control_session_destroy(self._session)

    def receive(self, data: bytes) -> Message | None:
        """What is acknowledged; None where nothing is."""
        size = self._library.projected_control_session_receive(
            self._session,
            data,
            ctypes.c_int64(len(data)),
            ctypes.c_int64(self.now_ns),
            self._answer,
            ctypes.c_int64(len(self._answer)),
        )
        return decode(self._answer.raw[:size]) if size else None

    def activate(self) -> str:
        """Why it does not become active; empty where it does."""
        self._library.projected_control_session_activate(
            self._session, ctypes.c_int64(self.now_ns), self._buffer, ctypes.c_int64(BUFFER_SIZE)
        )
        return self._buffer.value.decode()

    def deactivate(self) -> None:
        self._library.projected_control_session_deactivate(self._session)

    def cycle(self, q: Array, v: Array, wrench: Array | None = None, *, periods: int = 1) -> Array:
        """The efforts that are sent, so many periods after the last cycle."""
        step = periods * round(self.period * 1e9)
        self.now_ns, self.time_ns = self.now_ns + step, self.time_ns + step
        self.arm_seconds += periods * self.period
        efforts = np.full(len(self.commands), np.nan)
        q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
        self._library.projected_control_session_cycle(
            self._session,
            _at(q),
            _at(v),
            _at(wrench),
            ctypes.c_int64(self.time_ns),
            ctypes.c_double(self.arm_seconds),
            ctypes.c_int64(self.now_ns),
            _at(efforts),
        )
        return efforts

    def cycles(self, plant: ActingPlant, effort: Array, cycles: int) -> int:
        """Cycles without Python between them; what they allocated, −1 where it is not counted."""
        function = self._library.projected_control_session_cycles
        function.restype = ctypes.c_int64
        return int(
            function(
                self._session,
                plant.address,
                _at(effort),
                ctypes.c_int64(cycles),
                ctypes.c_int64(self.time_ns),
                ctypes.c_double(self.arm_seconds),
                ctypes.c_int64(self.now_ns),
            )
        )

    def state(self) -> Message | None:
        size = self._library.projected_control_session_state(
            self._session,
            ctypes.c_int64(self.time_ns),
            ctypes.c_int64(self.now_ns),
            self._buffer,
            ctypes.c_int64(BUFFER_SIZE),
        )
        return decode(self._buffer.raw[:size]) if size else None


class ActingPlant:
    """A simulated arm as the hardware plugin has it."""

    def __init__(self, hardware: SimulatedArm) -> None:
        self._library = native_loop()
        self._library.projected_control_plant_create.restype = ctypes.c_void_p
        data = encode(Update.PLANT, 0, 0, plant_sections(hardware))
        reason = ctypes.create_string_buffer(500)
        self.address = ctypes.c_void_p(
            self._library.projected_control_plant_create(
                data, ctypes.c_int64(len(data)), reason, ctypes.c_int64(len(reason))
            )
        )
        assert self.address, reason.value.decode()
        n = hardware.plant.model.n
        self.q, self.v, self.wrench = np.zeros(n), np.zeros(n), np.zeros(6)

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self._library.projected_control_plant_destroy(self.address)

    def read(self, effort: Array | None = None) -> int:
        """Where the arm is, after one period under an effort if there is one; the status."""
        return int(
            self._library.projected_control_plant_read(
                self.address, _at(effort), _at(self.q), _at(self.v), _at(self.wrench)
            )
        )


def begin_message(
    loop: ControlLoop,
    session: int = 7,
    *,
    answer: SilenceAnswer = SilenceAnswer.STOP,
    patience: float = 0.1,
    seconds: float = 0.2,
    sequence: int = 1,
) -> bytes:
    """The first message of a session."""
    model = loop.controller.model
    silence = silence_array(model.m, model.k, answer, patience, seconds)
    return encode(Update.BEGIN, session, sequence, begin_sections(loop, silence, 0.01))


def change_message(loop: ControlLoop, session: int = 7, sequence: int = 2) -> bytes:
    """What the loop's mailbox holds, with both tables and what Pinocchio gives for its masses."""
    return encode(Update.CHANGE, session, sequence, change_sections(loop))
