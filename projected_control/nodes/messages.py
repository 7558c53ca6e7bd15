"""Between ROS messages and arrays, without making new ones at every tick."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.arm import Arm
from projected_control.constraints import Constraint, RowConstraint
from projected_control.rows import PointRow

Array = NDArray[np.float64]

LARGEST_WRENCH = 1e9
"""Beyond which no number of a wrench is believed [N or N·m]."""


def stamp_ns(message: JointState | WrenchStamped) -> int:
    """A message's time [ns]."""
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def tag_of(nanoseconds: int) -> int:
    """What a command carries in lockstep to name the state it answers: its microsecond, from one.

    Zero is what commands carry that answer no state.
    """
    return (nanoseconds // 1000) % 0xFFFFFFFF + 1


class StateReader:
    """Positions and velocities of an arm's joints out of joint states in any order.

    Args:
        joints: Names, in the arm's order.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._names: list[str] = []
        self._index: NDArray[np.int64] | None = None

    def missing(self, message: JointState) -> list[str]:
        """Joints the message says nothing of."""
        return [name for name in self._joints if name not in message.name]

    def read(self, message: JointState, q: Array, v: Array) -> bool:
        """Fill q and v; False for a message that lacks joints or numbers."""
        names = message.name
        if names != self._names:
            self._names = list(names)
            complete = not self.missing(message) and len(set(names)) == len(names)
            self._index = (
                np.array([names.index(name) for name in self._joints]) if complete else None
            )
        index, size = self._index, len(names)
        if index is None or len(message.position) != size or len(message.velocity) != size:
            return False
        q[:] = np.frombuffer(message.position)[index]
        v[:] = np.frombuffer(message.velocity)[index]
        return True


class EffortWriter:
    """One effort command that is filled and sent again and again."""

    def __init__(self, n: int) -> None:
        self.message = Float64MultiArray()
        self.message.data = array("d", bytes(8 * n))
        self._view = np.frombuffer(self.message.data)

    def fill(self, effort: Array, tag: int = 0) -> Float64MultiArray:
        """The message with these efforts [N·m or N]."""
        self._view[:] = effort
        self.message.layout.data_offset = tag
        return self.message


class WrenchReader:
    """λ from the wrench that the constraint takes, measured at the constrained frame.

    For constraints on points the map from force to λ is constant and worked out once.

    Args:
        arm: Whose frame it is.
        constraint: What takes the wrench.
        frame: Where it is measured.
    """

    def __init__(self, arm: Arm, constraint: Constraint, frame: str) -> None:
        self._arm, self._constraint, self._frame = arm, constraint, frame
        self._local = arm.attachment(frame)
        self._map: Array | None = None
        if isinstance(constraint, RowConstraint) and all(
            isinstance(row, PointRow) for row in constraint.equations
        ):
            eye = np.eye(3)
            self._map = np.array(
                [constraint.multipliers(arm, frame, axis, np.zeros(3)) for axis in eye]
            ).T.copy()

    def read(self, message: WrenchStamped, multipliers: Array) -> bool:
        """Fill λ; False for a wrench that is not finite or absurd, which changes nothing."""
        force, torque = message.wrench.force, message.wrench.torque
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        if not (np.abs(wrench) <= LARGEST_WRENCH).all():
            return False
        f, tau = wrench[:3], wrench[3:]
        if message.header.frame_id == self._frame:
            rotation = self._local.joint_rotation @ self._local.rotation
            f, tau = rotation @ f, rotation @ tau
        if self._map is not None:
            multipliers[:] = self._map @ f
        else:
            multipliers[:] = self._constraint.multipliers(self._arm, self._frame, f, tau)
        return True
