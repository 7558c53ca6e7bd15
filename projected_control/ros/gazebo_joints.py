"""The joints of an arm in Gazebo, and its force-torque sensor.

They are read and driven by Python, or by the compiled library.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import Gazebo

_READ, _NO_WRENCH = 0, 2
_MESSAGE_BYTES = 300

FIRST_SECONDS = 5.0  # for which the very first answer is waited for [s]

SENSOR_SECONDS = 0.5
"""For which a step waits for the answer of a sensor that has answered so far [s]."""

DOUBTED_SECONDS = 0.002  # for which it waits for one that has not [s]

PATIENT_STEPS = 10
"""Steps without an answer after which none is waited for any more: what comes is taken."""

TRUSTED_ANSWERS = 100
"""In a row, after which a sensor that has failed is waited for as if it had not."""

SAY_AGAIN_STEPS = 5000  # steps without an answer after which it is said again


class SensorAnswers:
    """The wrench that a sensor measured in the last step.

    Simulated time stands still while a step waits for its sensor. So it waits long for a sensor
    that answers, and not at all for one that does not: that is said, and the simulation goes on at
    its speed.

    Args:
        gazebo: Its modules.
        topic: Topic of the sensor.
        say: Is told where it does not answer.
    """

    def __init__(self, gazebo: Gazebo, topic: str, say: Callable[[str], None]) -> None:
        self._say, self._topic = say, topic
        self._arrived = threading.Condition()
        self._count = self._expected = 0
        self._missed = self._answered = 0
        self._wrench = np.zeros(6)
        self._node = gazebo.transport.Node()
        if not self._node.subscribe(gazebo.wrench, topic, self._on_wrench):
            raise ProjectedControlError(f"cannot listen to {topic} of Gazebo")

    @property
    def complaint(self) -> str:
        """What is wrong where the sensor does not answer."""
        return (
            f"the force-torque sensor in Gazebo does not answer every step on {self._topic}: has "
            "the world the system gz-sim-forcetorque-system, and is the sensor's update_rate 0?"
        )

    def next(self) -> Array | None:
        """The answer to the last step; None where there is none."""
        self._expected += 1
        wrench = self._after(self._expected, self._patience())
        if wrench is not None:
            self._answered += 1
            return wrench
        self._expected = self._count
        self._answered = 0
        self._missed += 1
        if self._missed == 1 or self._missed % SAY_AGAIN_STEPS == 0:
            self._say(f"{self.complaint} ({self._missed} steps without an answer so far)")
        return None

    def forget(self) -> None:
        """Time begins anew."""
        self._expected = self._count
        self._missed = self._answered = 0

    def _patience(self) -> float:
        """How long to wait for the next answer [s]."""
        if self._answered >= TRUSTED_ANSWERS:
            self._missed = 0
        if self._missed == 0:
            return SENSOR_SECONDS if self._count else FIRST_SECONDS
        return DOUBTED_SECONDS if self._missed < PATIENT_STEPS else 0.0

    def _after(self, count: int, seconds: float) -> Array | None:
        """The wrench once this many have come; None where they do not come within this time [s]."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._count >= count, seconds):
                return None
            return self._wrench.copy()

    def _on_wrench(self, message: Any) -> None:
        force, torque = message.force, message.torque
        with self._arrived:
            self._wrench[:] = force.x, force.y, force.z, torque.x, torque.y, torque.z
            self._count += 1
            self._arrived.notify_all()


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
        self._sensor: SensorAnswers | None = None
        self._listen = lambda: SensorAnswers(gazebo, topic, say)

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
