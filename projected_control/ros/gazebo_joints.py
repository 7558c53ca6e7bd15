"""The joints of an arm in Gazebo: read and driven by Python, or by the compiled library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import Gazebo
from projected_control.ros.gazebo_sensor import ForceSensor

Array = NDArray[np.float64]

_READ, _NO_WRENCH = 0, 2
_MESSAGE_BYTES = 300


class Joints(Protocol):
    """What a step of the physics needs of a model.

    Attributes:
        q, v: Positions and velocities as read last [rad or m, and per second].
        force: Efforts for the step to come, which `write` applies [N·m or N].
        measures: Whether reading the wrench costs next to nothing.
    """

    q: Array
    v: Array
    force: Array
    measures: bool

    def measure(self) -> None:
        """The wrench is wanted from now on; before the first step."""

    def read(self, ecm: Any) -> bool:
        """Fill positions and velocities; False where there are none yet."""

    def wrench(self) -> Array | None:
        """What the sensor measured in the last step, 6; None where it did not."""

    def write(self, ecm: Any) -> None:
        """Apply the efforts."""

    def forget(self) -> None:
        """Time begins anew."""

    @property
    def complaint(self) -> str:
        """What is wrong where the sensor does not answer."""


class PythonJoints:
    """By Gazebo's Python modules; the wrench comes with the sensor's message, and is waited for.

    Args:
        gazebo: Its modules.
        entity: Of the model.
        ecm: Gazebo's entity-component manager.
        names: Of the joints.
        topic: Of the sensor.
        say: Is told where the sensor does not answer.
    """

    measures = False

    def __init__(
        self,
        gazebo: Gazebo,
        entity: int,
        ecm: Any,
        names: Sequence[str],
        topic: str,
        say: Callable[[str], None],
    ) -> None:
        model = gazebo.sim.Model(entity)
        self._joints = [gazebo.sim.Joint(model.joint_by_name(ecm, name)) for name in names]
        for joint in self._joints:
            joint.enable_position_check(ecm, True)
            joint.enable_velocity_check(ecm, True)
        self.q, self.v, self.force = np.zeros((3, len(names)))
        self._sensor: ForceSensor | None = None
        self._listen = lambda: ForceSensor(gazebo, topic, say)

    def measure(self) -> None:
        """Listen to the sensor: one without a listener costs Gazebo nothing."""
        self._sensor = self._listen()

    def read(self, ecm: Any) -> bool:
        for i, joint in enumerate(self._joints):
            position, velocity = joint.position(ecm), joint.velocity(ecm)
            if not position or not velocity:
                return False
            self.q[i], self.v[i] = position[0], velocity[0]
        return True

    def wrench(self) -> Array | None:
        return None if self._sensor is None else self._sensor.next()

    def write(self, ecm: Any) -> None:
        for joint, value in zip(self._joints, self.force.tolist(), strict=True):
            joint.set_force(ecm, [value])

    def forget(self) -> None:
        if self._sensor is not None:
            self._sensor.forget()

    @property
    def complaint(self) -> str:
        return "" if self._sensor is None else self._sensor.complaint


class CompiledJoints:
    """By native/cpp/gazebo: all in one call, and the wrench as the physics has left it.

    Args:
        library: Path of the library, which the model has loaded as a system.
        entity: Of the model.
        names: Of the joints.
        sensor: Joint whose wrench is measured; empty for none.

    Raises:
        ProjectedControlError: Where the library does not find what it should.
    """

    measures = True

    def __init__(self, library: str, entity: int, names: Sequence[str], sensor: str) -> None:
        loaded = ctypes.CDLL(library)
        given = (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        opening = loaded.projected_control_access_open
        opening.restype = ctypes.c_void_p
        address = opening(
            ctypes.c_uint64(entity),
            ctypes.c_int64(len(names)),
            given,
            sensor.encode() if sensor else None,
            message,
            ctypes.c_int64(_MESSAGE_BYTES),
        )
        if not address:
            raise ProjectedControlError(message.value.decode())
        self.q, self.v, self.force = np.zeros((3, len(names)))
        self._wrench, self._status = np.zeros(6), 1
        self._reading, self._writing = (
            loaded.projected_control_access_read,
            loaded.projected_control_access_write,
        )
        self._address = ctypes.c_void_p(address)
        self._places = [ctypes.c_void_p(a.ctypes.data) for a in (self.q, self.v, self._wrench)]
        self._commanded = ctypes.c_void_p(self.force.ctypes.data)
        self._sensor = sensor

    def measure(self) -> None:
        """The wrench is read with the rest."""

    def read(self, ecm: Any) -> bool:
        self._status = self._reading(self._address, *self._places)
        return self._status in (_READ, _NO_WRENCH)

    def wrench(self) -> Array | None:
        return self._wrench.copy() if self._status == _READ else None

    def write(self, ecm: Any) -> None:
        self._writing(self._address, self._commanded)

    def forget(self) -> None:
        """What was read last is read anew."""

    @property
    def complaint(self) -> str:
        return f"Gazebo's physics gives no force at the joint {self._sensor}"
