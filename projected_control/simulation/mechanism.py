"""What a compiled MuJoCo model is made of, for engines that are to hold an arm in the same way.

How an arm is held by bodies and equalities is worked out once (`mujoco_holds`). DART and Pinocchio
get the same bodies, joints and equalities as far as they have them, and move them by methods of
their own. Every joint is a hinge or a slide, so that positions and velocities have one order, that
of MuJoCo.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.simulation.mujoco_model import import_mujoco

Array = NDArray[np.float64]


class Place(NamedTuple):
    """A position and a rotation in a body."""

    position: Array
    rotation: Array


class Joint(NamedTuple):
    """A hinge, or a slide, about or along an axis of its body."""

    name: str
    slides: bool
    axis: Array
    armature: float


class Body(NamedTuple):
    """A body: its parent by number (0: the world), its place there, its joints and its inertia."""

    # number, parent: by which bodies are known.
    number: int
    parent: int
    place: Place  # in the parent, where its joints are at zero
    joints: tuple[Joint, ...]  # in their order from the parent
    mass: float  # [kg]
    lever: Array  # centre of mass
    inertia: Array  # about that, in the body's axes [kg·m²]


class Equality(NamedTuple):
    """Two places that stay together: the point, or point and rotation (welded)."""

    welded: bool
    first: int
    second: int
    at_first: Place
    at_second: Place


def _rotation(quaternion: Array) -> Array:
    found = np.zeros(9)
    import_mujoco().mju_quat2Mat(found, quaternion)
    return found.reshape(3, 3)


def bodies_of(model: Any) -> Iterator[Body]:
    """Of a compiled model, parents first."""
    slide = import_mujoco().mjtJoint.mjJNT_SLIDE
    for number in range(1, model.nbody):
        first, count = model.body_jntadr[number], model.body_jntnum[number]
        joints = tuple(
            Joint(
                model.joint(j).name,
                int(model.jnt_type[j]) == int(slide),
                model.jnt_axis[j].copy(),
                float(model.dof_armature[model.jnt_dofadr[j]]),
            )
            for j in range(first, first + count)
        )
        axes = _rotation(model.body_iquat[number])
        yield Body(
            number,
            int(model.body_parentid[number]),
            Place(model.body_pos[number].copy(), _rotation(model.body_quat[number])),
            joints,
            float(model.body_mass[number]),
            model.body_ipos[number].copy(),
            axes @ np.diag(model.body_inertia[number]) @ axes.T,
        )


def equalities_of(model: Any, engine: str) -> list[Equality]:
    """Of a compiled model; refused where they are neither points nor frames."""
    kinds, found = import_mujoco().mjtEq, []
    for i in range(model.neq):
        kind = kinds(model.eq_type[i])
        if kind not in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            what = "joints to each other" if kind == kinds.mjEQ_JOINT else "a distance"
            raise InvalidValue(
                f"{engine} has no equality that holds {what}: take simulation.engine built_in or "
                "mujoco",
                key="simulation.engine",
            )
        a, b = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        first, second = int(model.site_bodyid[a]), int(model.site_bodyid[b])
        welded = bool(kind == kinds.mjEQ_WELD)
        found.append(Equality(welded, first, second, _site(model, a), _site(model, b)))
    return found


def _site(model: Any, number: int) -> Place:
    return Place(model.site_pos[number].copy(), _rotation(model.site_quat[number]))
