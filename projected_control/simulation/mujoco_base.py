"""A floating base in MuJoCo, whose free joint has other axes than Pinocchio's.

Both have the place of the base and a quaternion. MuJoCo's linear velocity, and the force that goes
with it, are in the world's axes; ours are in the base's own. The angular ones agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.model.floating_base import SIZE, base_rates
from projected_control.model.rotations import quaternion_of, rotation_vector

Array = NDArray[np.float64]


class FreeBase:
    """MuJoCo's free joint, the first, and the joints behind it.

    Args:
        model, data: MuJoCo's.
        places: Of the other joints in qpos.
    """

    def __init__(self, model: Any, data: Any, places: list[int]) -> None:
        self._data, self._places = data, np.array(places, dtype=np.int64)
        if model.jnt_qposadr[0] != 0 or model.jnt_dofadr[0] != 0:
            raise AssertionError("the free joint is not MuJoCo's first")

    @property
    def rotation(self) -> Array:
        """R, the base in the world, where MuJoCo has it now."""
        w, x, y, z = self._data.qpos[3:7]
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.asarray(np.eye(3) + 2.0 * w * K + 2.0 * K @ K)

    def put(self, q: Array, v: Array, dofs: Any) -> None:
        """Our state into MuJoCo's."""
        d, rates = self._data, np.zeros(SIZE)
        d.qpos[:3], d.qpos[3:7] = q[:3], quaternion_of((q[3], q[4], q[5]))
        d.qpos[self._places] = q[SIZE:]
        base_rates(np.ascontiguousarray(q), np.ascontiguousarray(v), rates)
        d.qvel[dofs] = v
        d.qvel[:3] = rates[:3]

    def state(self, dofs: Any) -> tuple[Array, Array]:
        """MuJoCo's state as ours."""
        d = self._data
        w, x, y, z = (float(number) for number in d.qpos[3:7])
        turn = rotation_vector((w, x, y, z))
        q = np.concatenate([d.qpos[:3], turn, d.qpos[self._places]])
        v = np.array(d.qvel[dofs])
        v[:3] = self.rotation.T @ v[:3]
        return q, v

    def turn(self, force: Array, v: Array, slope: Array) -> None:
        """Force and acceleration of the base into its own axes: Rᵀ a − ω × v."""
        back, n = self.rotation.T, v.size
        force[:3] = back @ force[:3]
        slope[n : n + 3] = back @ slope[n : n + 3] - np.cross(v[3:6], v[:3])
