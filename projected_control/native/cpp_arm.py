"""An arm for the native loop: Pinocchio's model handed over as numbers, and its pass in C++."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidDescription
from projected_control.kernel_library import LibraryMismatch
from projected_control.model.arm import Arm
from projected_control.native.library import native_loop

Array = NDArray[np.float64]

_TURNING, _SLIDING = (
    ("RX", "RY", "RZ", "RevoluteUnaligned"),
    ("PX", "PY", "PZ", "PrismaticUnaligned"),
)
KINDS = (*_TURNING, *_SLIDING, "FreeFlyer")
"""Pinocchio's joints, in the order of native_loop.h; all but the last of one number."""

_REALS = ctypes.POINTER(ctypes.c_double)
_WHOLES = ctypes.POINTER(ctypes.c_int64)


class _Description(ctypes.Structure):
    """``struct projected_control_description``."""

    _fields_ = [
        ("joints", ctypes.c_int64),
        ("kinds", ctypes.c_void_p),
        ("parents", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("axes", "rotations", "positions", "masses")),
        *((name, ctypes.c_void_p) for name in ("centres", "inertias", "armature")),
        ("gravity", ctypes.c_double * 3),
    ]


class _Pass(ctypes.Structure):
    """``struct projected_control_pass``."""

    _fields_ = [
        ("M", _REALS),
        ("h", _REALS),
        ("spatial_jacobian", _REALS),
        ("placements", _REALS),
        ("places", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("coriolis", _REALS),
    ]


class NativeArm:
    """The same arm, computed in C++ with a state of its own.

    Its bodies are copies: `take_load` brings them up to date after `Arm.set_payload`.

    Attributes:
        address: Of the arm in C.
        M, h, spatial_jacobian, placements: What a pass leaves behind, as in `Arm`; live views.
        coriolis: What `compute_coriolis` leaves behind; a live view.

    Raises:
        LibraryMismatch: Where its pass does not give what Pinocchio gives in Python.
    """

    def __init__(self, arm: Arm) -> None:
        self._library = library = native_loop()
        library.projected_control_arm_create.restype = ctypes.c_void_p
        library.projected_control_arm_pass.restype = _Pass
        library.projected_control_arm_energy.restype = ctypes.c_double
        description, kept = _described(arm)
        message = ctypes.create_string_buffer(500)
        address = library.projected_control_arm_create(
            ctypes.byref(description), message, ctypes.c_int64(len(message))
        )
        del kept
        if not address:
            raise InvalidDescription(f"the native loop refuses the arm: {message.value.decode()}")
        self.address = int(address)
        self.n = n = arm.n
        self._arm = arm
        result = library.projected_control_arm_pass(ctypes.c_void_p(self.address))
        self.M: Array = np.ctypeslib.as_array(result.M, (n, n)).T
        self.h: Array = np.ctypeslib.as_array(result.h, (n,))
        self.spatial_jacobian: Array = np.ctypeslib.as_array(result.spatial_jacobian, (n, 6)).T
        self.placements: Array = np.ctypeslib.as_array(
            result.placements, (result.places, result.width)
        )
        self.coriolis: Array = np.ctypeslib.as_array(result.coriolis, (n, n)).T
        self._compare(arm)

    def take_load(self) -> None:
        """Carry what the arm in Python carries now; between two passes."""
        bodies = split_bodies(self._arm.bodies)
        self._library.projected_control_arm_set_inertias(
            ctypes.c_void_p(self.address),
            *(ctypes.c_void_p(numbers.ctypes.data) for numbers in bodies.values()),
        )

    def compute(self, q: Array, v: Array) -> None:
        """Pinocchio's one pass."""
        q, v = np.ascontiguousarray(q, dtype=np.float64), np.ascontiguousarray(v, dtype=np.float64)
        self._library.projected_control_arm_compute(
            ctypes.c_void_p(self.address),
            ctypes.c_void_p(q.ctypes.data),
            ctypes.c_void_p(v.ctypes.data),
        )

    @property
    def energy(self) -> float:
        """Kinetic and potential energy at the last pass [J]."""
        return float(self._library.projected_control_arm_energy(ctypes.c_void_p(self.address)))

    def _compare(self, arm: Arm) -> None:
        """Refuse an arm whose pass differs from Python's in a single bit."""
        twin, random = arm.twin(), np.random.default_rng(0)
        q, v = random.uniform(-1.0, 1.0, arm.n), random.uniform(-1.0, 1.0, arm.n)
        twin.update(q, v)
        self.compute(q, v)
        for name in ("M", "h", "spatial_jacobian"):
            ours, theirs = getattr(self, name), getattr(twin, name)
            if not np.array_equal(ours, theirs):
                raise LibraryMismatch(
                    f"Pinocchio gives another {name} in C++ than in Python, by "
                    f"{np.abs(ours - theirs).max():.3g}: it was built differently from its headers"
                )

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self._library.projected_control_arm_destroy(ctypes.c_void_p(self.address))
            self.address = 0


def split_bodies(bodies: Array) -> dict[str, Array]:
    """`Arm.bodies` as the members of ``struct projected_control_description``; views."""
    count = bodies.size // 13
    parts = np.split(bodies, [count, 4 * count])
    return dict(zip(("masses", "centres", "inertias"), parts, strict=True))


def arm_numbers(arm: Arm) -> dict[str, NDArray[Any]]:
    """An arm as numbers: the members of ``struct projected_control_description`` by name.

    Raises:
        InvalidDescription: Where it has a joint that the native loop does not know.
    """
    model, n = arm.pinocchio_model, arm.n
    # A floating base is one joint of Pinocchio's, and the first six lines here.
    more = max(arm.base_size - 1, 0)
    kinds, axes = np.full(n, KINDS.index("FreeFlyer"), dtype=np.int64), np.zeros((n, 3))
    for i in range(arm.base_size, n):
        joint = model.joints[i + 1 - more]
        name = joint.shortname().removeprefix("JointModel")
        if name not in KINDS:
            raise InvalidDescription(
                f"joint {arm.joint_names[i]!r} is a {name} of Pinocchio; the native loop knows "
                f"{', '.join(KINDS)}"
            )
        kinds[i] = KINDS.index(name)
        if name.endswith("Unaligned"):
            axes[i] = joint.extract().axis
    placements = list(model.jointPlacements)[1:]
    placements = [placements[0]] * more + placements
    parents = np.array([0] * more + list(model.parents)[1:], dtype=np.int64)
    arrays = {
        "kinds": kinds,
        "parents": np.where(parents > 0, parents + more, 0),
        "axes": axes,
        "rotations": np.array([place.rotation for place in placements]),
        "positions": np.array([place.translation for place in placements]),
        "armature": np.array(model.armature),
        **split_bodies(arm.bodies),
        "gravity": np.array(model.gravity.linear),
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _described(arm: Arm) -> tuple[_Description, list[NDArray[Any]]]:
    """An arm as the struct of pointers that C has, and the arrays to which they point."""
    arrays = arm_numbers(arm)
    gravity = (ctypes.c_double * 3)(*arrays.pop("gravity"))
    pointers = {name: array.ctypes.data for name, array in arrays.items()}
    return _Description(joints=arm.n, gravity=gravity, **pointers), list(arrays.values())
