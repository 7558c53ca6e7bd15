"""Friction where an arm is held, in MuJoCo: dry friction in the joints of the carriage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.frames import Attachment
from projected_control.simulation.mujoco_model import import_mujoco

Array = NDArray[np.float64]

STANDS = 1e-4  # speed below which a contact counts as standing [m/s]
LEAST = 1e-12  # smallest friction that still has a row in MuJoCo [N·m or N]


class Rubbing:
    """Friction of the contact at one carriage.

    Args:
        model, data: MuJoCo's.
        carriages: Velocities of the carriages that hold the contact, by number; one of them rubs.
        place: Where the contact is.
    """

    def __init__(
        self, model: Any, data: Any, carriages: Sequence[NDArray[np.int64]], place: Attachment
    ) -> None:
        hinge = import_mujoco().mjtJoint.mjJNT_HINGE
        turns = [[bool(model.jnt_type[model.dof_jntid[d]] == hinge) for d in c] for c in carriages]
        if len(carriages) != 1 or len(turns[0]) > 2 or any(turns[0][1:]):
            raise InvalidValue(
                "in MuJoCo friction at the contact acts in the joints of what slides, which a "
                "plane, a line and a circle have; take these, friction.contact 0 or "
                "simulation.engine built_in"
            )
        self._model, self._data, self._place = model, data, place
        self._dofs, self._turns = carriages[0], turns[0]
        model.dof_frictionloss[self._dofs] = LEAST

    def _ways(self) -> Array:
        """Way of the contact per unit of its carriage's joints, in world axes."""
        d, ways = self._data, []
        for dof, turns in zip(self._dofs, self._turns, strict=True):
            joint = self._model.dof_jntid[dof]
            axis = np.array(d.xaxis[joint])
            if turns:
                at = self._place
                there = at.joint_translation + at.joint_rotation @ at.translation
                axis = np.cross(axis, there - d.xanchor[joint])
            ways.append(axis)
        return np.array(ways)

    def _efforts(self) -> Array:
        """Friction in the joints of what slides, under the last forces that were worked out."""
        d = self._data
        rubbing = np.flatnonzero(self._model.dof_frictionloss > 0.0)
        if d.nf != rubbing.size:  # before the first step with friction
            return np.zeros(len(self._dofs))
        forces = np.zeros(self._model.nv)
        forces[rubbing] = d.efc_force[d.ne : d.ne + d.nf]
        return np.asarray(forces[self._dofs])

    def force(self) -> Array:
        """Friction on the arm at its contact, in world axes [N]."""
        ways = self._ways()
        sizes = np.einsum("ij,ij->i", ways, ways)
        return np.asarray((self._efforts() / sizes) @ ways)

    def bound(self, most: float) -> None:
        """Let friction be so large at most [N], against the motion.

        Along two directions the bounds are those of a circle: while it slides, each has the share
        of its speed; while it stands, what the other direction leaves.
        """
        levers = np.linalg.norm(self._ways(), axis=1)
        rates = self._data.qvel[self._dofs] * levers
        speed = float(np.linalg.norm(rates))
        if len(levers) == 1:
            bounds = np.array([most])
        elif speed > STANDS:
            bounds = most * np.abs(rates) / speed
        else:
            others = (self._efforts() / levers)[::-1]
            bounds = np.sqrt(np.maximum(most**2 - others**2, 0.0))
        self._model.dof_frictionloss[self._dofs] = np.maximum(bounds * levers, LEAST)
