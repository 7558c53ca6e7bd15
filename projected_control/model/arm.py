"""An arm: a robot description, turned into M, h and the kinematics of frames by Pinocchio.

One call of `Arm.update` makes one Pinocchio pass; everything else is read from what that pass
left behind, through arrays that stay where they are. Nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pinocchio
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.description import Description, read_description
from projected_control.model.floating_base import (
    BASE,
    SIZE,
    add_to_base,
    base_between,
    from_pinocchio,
    shorten_rotation,
    to_pinocchio,
)
from projected_control.model.frames import (
    Attachment,
    FrameKinematics,
    OffsetFrame,
    add_frame,
    placements_of,
)
from projected_control.model.inertias import doubts
from projected_control.model.kinematics import TOGETHER, frame_motion
from projected_control.model.pinocchio_model import (
    FIXED,
    FLOATING,
    JointLimits,
    build_model,
    gravity_vector,
    limits_of,
    mimics_of,
)

Array = NDArray[np.float64]

__all__ = ["Arm", "Attachment", "FrameKinematics", "JointLimits", "OffsetFrame"]

UNIT = 1e-6
"""By how much the length of a quaternion may differ from one."""

SINGULAR = 1e-12
"""Ratio of the smallest to the largest eigenvalue of M up to which a motion counts as massless."""


class Arm:
    """An arm of n joints, each one number, for which Pinocchio computes ``M q̈ + h = f``.

    A floating base counts as six joints without motors, the first of every vector (see
    `floating_base`); where a method takes q, Pinocchio's own, one number longer, is taken as well.

    Attributes:
        n: Number of joints.
        nq: Numbers of Pinocchio's q: n, or n + 1 with a floating base.
        floats: Whether the base floats.
        base_size: How many of the joints are the floating base: 6, or 0.
        joint_names: In the order of every vector here.
        passive: Names of the joints without a motor; those that mimic others are among them.
        mimics: Joints that follow others, by name; each makes one more row of the constraint (see
            `constraints.with_mimics`).
        warnings: What is doubtful in the description, in words.
        implausible: What cannot be so in it, in words: a body without mass, a negative inertia. No
            controller starts with such an arm (see `control.activation`).
        actuated: 1 for each joint with a motor, else 0.
        prismatic: True for each joint that slides.
        limits: The joint limits that the description gives.
        q, v: Positions and velocities of the last `update` [rad or m, and per second].
        state: Both, 2 × n; the caller of `compute` writes them.
        M: Inertia matrix, n × n; view of what Pinocchio keeps.
        h: Coriolis, centrifugal and gravity terms, n; a view as well.
        spatial_jacobian: All joints' twists at the world's origin, 6 × n; a view as well.
        placements: Where the joints are in the world, one line each, the first for the world
            itself: nine numbers of a rotation, column by column, and three of a position [m];
            a view as well.
    """

    def __init__(
        self,
        description: Description,
        *,
        joints: Iterable[str] | None = None,
        passive: Iterable[str] = (),
        gravity: float | ArrayLike | None = None,
        locked: Mapping[str, float] | None = None,
        frames: Mapping[str, OffsetFrame] | None = None,
        armature: ArrayLike = 0.0,
        massless_links: Iterable[str] = (),
        base: str = FIXED,
    ) -> None:
        self._description = description
        model = build_model(description, joints, locked or {}, base)
        for name, frame in (frames or {}).items():
            add_frame(model, name, frame)
        if gravity is not None:
            model.gravity.linear = gravity_vector(gravity)
        self.n: int = model.nv
        self.nq: int = model.nq
        self.floats: bool = base == FLOATING
        self.base_size: int = SIZE if self.floats else 0
        if self.floats and not model.inertias[1].mass > 0.0:
            raise InvalidValue(
                "a floating base needs a mass: the first link of the description, "
                f"{model.frames[1].name!r}, has none, nor has any that is fixed to it"
            )
        rotors = np.atleast_1d(np.asarray(armature, dtype=np.float64))
        if rotors.shape not in ((1,), (self.n,)) or not (np.isfinite(rotors) & (rotors >= 0)).all():
            raise InvalidValue(
                f"armature must be one number or {self.n}, one per joint, not negative, got "
                f"{rotors.tolist()}"
            )
        model.armature = np.broadcast_to(rotors, (self.n,)).copy()
        if self.floats:
            model.armature[:SIZE] = 0.0
        self._inertias = [inertia.copy() for inertia in model.inertias]
        own = tuple(model.names)[1 + self.floats :]
        floating = BASE if self.floats else ()
        self.joint_names: tuple[str, ...] = (*floating, *own)
        self.warnings = description.warnings
        self.mimics = mimics_of(description, own)
        for name in passive:
            validate.one_of("joint", name, self.joint_names)
        self.passive = frozenset((*passive, *self.mimics, *floating))
        self.actuated: Array = np.array(
            [float(name not in self.passive) for name in self.joint_names]
        )
        self.prismatic = np.array(
            [name in BASE[:3] for name in floating]
            + [description.joints[name].kind == "prismatic" for name in own]
        )
        self.limits = limits_of(model)
        self._attach(model)
        massless = tuple(massless_links)
        doubted = doubts(description.links, own, massless)
        self.implausible = doubted.refusals
        singular = () if massless else self._singular_inertia()
        self.warnings = (*self.warnings, *doubted.warnings, *singular)

    @classmethod
    def from_urdf(
        cls,
        source: str | Path,
        *,
        mappings: Mapping[str, object] | None = None,
        joints: Iterable[str] | None = None,
        passive: Iterable[str] = (),
        gravity: float | ArrayLike | None = None,
        locked: Mapping[str, float] | None = None,
        frames: Mapping[str, OffsetFrame] | None = None,
        armature: ArrayLike = 0.0,
        massless_links: Iterable[str] = (),
        base: str = FIXED,
    ) -> Arm:
        """Read an arm from URDF or xacro, a file or the text itself.

        Args:
            source: Path, or XML.
            mappings: xacro arguments.
            joints: Names of the joints that move, all of them unless given; the rest is locked.
            passive: Names of the joints without a motor.
            gravity: Along −z [m/s²], or a vector; the standard 9.81 unless given.
            locked: Positions of locked joints, zero unless given [rad or m].
            frames: Frames at an offset from a link, by name, beside those of the description.
            armature: Inertia of the rotors as the joints feel it, one number or one per joint
                [kg·m² or kg].
            massless_links: Names of links that have no mass on purpose. Where they leave M
                singular, the constraint has to carry them (see `dynamics`).
            base: ``fixed``, the first link stands in the world, or ``floating``.
        """
        return cls(
            read_description(source, mappings),
            joints=joints,
            passive=passive,
            gravity=gravity,
            locked=locked,
            frames=frames,
            armature=armature,
            massless_links=massless_links,
            base=base,
        )

    def twin(self) -> Arm:
        """The same arm with a state of its own."""
        other = object.__new__(Arm)
        other.__dict__.update(self.__dict__)
        other._attach(self._model)
        return other

    def _attach(self, model: pinocchio.Model) -> None:
        self._model = model
        self._data = model.createData()
        self.state: Array = np.zeros((2, self.n))
        self.q: Array = self.state[0]
        self.v: Array = self.state[1]
        # A view still: with a single joint eigenpy gives its matrices one dimension only.
        self.M: Array = self._data.M.reshape(self.n, self.n)
        self.h: Array = self._data.nle
        self.spatial_jacobian: Array = self._data.J.reshape(6, self.n)
        self.placements: Array = placements_of(self._data)
        self._attachments: dict[str, Attachment] = {}
        self._longer: Array = np.zeros(self.nq)
        self.update(self.q, self.v)

    def _singular_inertia(self) -> list[str]:
        """In words where a motion has no inertia; it matters unless the constraint carries it."""
        random = np.random.default_rng(0)
        self.update(random.uniform(-1.0, 1.0, self.n), np.zeros(self.n))
        eigenvalues = np.linalg.eigvalsh(self.M)
        self.update(np.zeros(self.n), np.zeros(self.n))
        if eigenvalues[0] > SINGULAR * eigenvalues[-1]:
            return []
        joints = self._description.joints
        moved = {joints[name].child for name in self.joint_names if name in joints}
        links = self._description.links
        bare = sorted(name for name in moved if links[name].mass == 0.0)
        reason = f"link {', '.join(bare)} moves but has no mass" if bare else "a joint moves none"
        return [
            f"the inertia matrix is singular: {reason}; give it an <inertial> or the joint an "
            "armature, unless the constraint carries it: else it cannot be moved"
        ]

    @property
    def name(self) -> str:
        """The robot's name in its description."""
        return str(self._model.name)

    @property
    def urdf(self) -> str:
        """The expanded description."""
        return self._description.urdf

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity [m/s²]."""
        return np.array(self._model.gravity.linear)

    @property
    def root_frame(self) -> str:
        """The frame that never moves."""
        return str(self._model.frames[0].name)

    @property
    def root_link(self) -> str:
        """The link on which the arm stands."""
        return self.frame_names[0]

    @property
    def frame_names(self) -> list[str]:
        """Links of the description, all of which can be constrained or followed."""
        return [f.name for f in self._model.frames if f.type == pinocchio.FrameType.BODY]

    @property
    def energy(self) -> float:
        """Kinetic and potential energy at the present state [J]."""
        return float(self._data.kinetic_energy + self._data.potential_energy)

    @property
    def pinocchio_model(self) -> pinocchio.Model:
        """The underlying model, for what this class does not offer."""
        return self._model

    def require_fixed(self, what: str, why: str) -> None:
        """Refuse a floating base where it is not served."""
        if self.floats:
            raise InvalidValue(
                f"{what} cannot have a floating base: {why}; docs/floating_base.md says what can",
                key="base",
            )

    def joint_index(self, name: str) -> int:
        """Position of a joint in every vector."""
        return self.joint_names.index(validate.one_of("joint", name, self.joint_names))

    def update(self, q: ArrayLike, v: ArrayLike) -> Arm:
        """Compute M, h and all frames for this state. The one Pinocchio pass of a tick."""
        self.q[:] = self.configuration(q)
        self.v[:] = validate.vector("v", v, self.n)
        self.compute(self.q, self.v)
        return self

    def compute(self, q: Array, v: Array) -> None:
        """`update` for kernels that copy the state to `q` and `v` themselves."""
        pinocchio.computeAllTerms(self._model, self._data, self.lengthened(q), v)

    def compute_coriolis(self, data: pinocchio.Data, q: Array, v: Array) -> None:
        """C, with C q̇ the Coriolis and centrifugal part of h, into data of the caller's own."""
        pinocchio.computeCoriolisMatrix(self._model, data, self.lengthened(q), v)

    def lengthened(self, q: Array) -> Array:
        """Pinocchio's q of ours, unchecked; of a floating base it holds until the next call."""
        if not self.floats:
            return q
        to_pinocchio(q, self._longer)
        return self._longer

    def configuration(self, q: ArrayLike, name: str = "") -> Array:
        """q in n numbers; with a floating base it may be Pinocchio's, with n + 1.

        Args:
            q: Where, checked here.
            name: By which an error calls it, where that is not q.
        """
        if self.floats and np.shape(q) == (self.nq,):
            longer = validate.finite_array("q", q, (self.nq,))
            if abs(float(np.linalg.norm(longer[3:7])) - 1.0) > UNIT:
                raise InvalidValue(
                    "the quaternion x, y, z, w of the base, q[3:7], must have length one, got "
                    f"{longer[3:7].tolist()}"
                )
            return from_pinocchio(longer)
        return (
            validate.finite_array(name, q, (self.n,)) if name else validate.vector("q", q, self.n)
        )

    def pinocchio_q(self, q: ArrayLike) -> Array:
        """Pinocchio's q, nq numbers; the same as ours where the base is fixed."""
        return np.array(self.lengthened(self.configuration(q)))

    def moved(self, q: ArrayLike, step: ArrayLike) -> Array:
        """q ⊕ step, as if the arm moved with q̇ = step for one second; a new array."""
        end = np.array(self.configuration(q))
        step = validate.vector("step", step, self.n)
        if self.floats:
            add_to_base(step, 1.0, end)
            end[SIZE:] += step[SIZE:]
            shorten_rotation(end)
        else:
            end += step
        return end

    def difference(self, a: ArrayLike, b: ArrayLike) -> Array:
        """b ⊖ a, the q̇ that leads from a to b in one second."""
        begin, end = self.configuration(a), self.configuration(b)
        step = end - begin
        if self.floats:
            base_between(begin, end, step)
        return step

    def attachment(self, frame: str) -> Attachment:
        """Where a frame sits, for kernels that follow it."""
        if frame not in self._attachments:
            model, link = self._model, pinocchio.FrameType.BODY
            if model.existFrame(frame, link):  # of a joint and a link with one name, the link
                placed = model.frames[model.getFrameId(frame, link)]
            elif model.existFrame(frame):
                placed = model.frames[model.getFrameId(frame)]
            else:
                raise UnknownName("frame", frame, self.frame_names)
            joint = placed.parentJoint
            placement = self._data.oMi[joint]
            self._attachments[frame] = Attachment(
                int(joint),
                placement.rotation,
                placement.translation,
                np.array(placed.placement.rotation),
                np.array(placed.placement.translation),
                self._support(joint),
            )
        return self._attachments[frame]

    def set_payload(self, link: str, mass: float, centre: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Let a link carry a load from now on, in place of what it carried before.

        Twins share it, as they share the model.

        Args:
            link: Name of the link.
            mass: Mass of the load [kg]; zero for none.
            centre: Its centre of mass in the link's axes [m].
        """
        load = validate.not_negative("payload mass", mass)
        place = self.attachment(link)
        lever = place.rotation @ validate.finite_array("centre of the payload", centre, (3,))
        for joint, inertia in enumerate(self._inertias):
            self._model.inertias[joint] = inertia
        if load > 0.0 and place.joint > 0:
            point = pinocchio.Inertia(load, place.translation + lever, np.zeros((3, 3)))
            self._model.inertias[place.joint] = self._inertias[place.joint] + point

    @property
    def bodies(self) -> Array:
        """Masses [kg], centres [m] and inertias [kg·m²] of all bodies, as they are carried now.

        One vector of 13 numbers per body, all masses first; the first body is fixed to the world.
        Of a floating base the last of its six joints carries the body, the others nothing.
        """
        none = [pinocchio.Inertia.Zero()] * max(self.base_size - 1, 0)
        bodies = [*list(self._model.inertias)[:1], *none, *list(self._model.inertias)[1:]]
        masses = np.array([body.mass for body in bodies])
        centres, inertias = (
            np.array([getattr(body, name) for body in bodies]).reshape(-1)
            for name in ("lever", "inertia")
        )
        return np.concatenate([masses, centres, inertias])

    def set_bodies(self, numbers: Array) -> None:
        """Carry what `bodies` was when it was kept, in place of any load."""
        none = max(self.base_size - 1, 0)
        count = len(self._model.inertias) + none
        masses, centres, inertias = np.split(numbers, [count, 4 * count])
        places, tensors = centres.reshape(count, 3), inertias.reshape(count, 3, 3)
        carried = list(zip(masses, places, tensors, strict=True))
        for joint, parts in enumerate([carried[0], *carried[1 + none :]]):
            self._model.inertias[joint] = pinocchio.Inertia(*parts)

    def scale_masses(self, factor: float) -> None:
        """Make every link heavier by a factor, its inertia with it; a payload stays as it is.

        For a simulated arm that is not what its description says. Twins share it.
        """
        scale = validate.positive("factor of the masses", factor)
        for joint, inertia in enumerate(self._inertias):
            if joint > 0:
                old, load = inertia.copy(), self._model.inertias[joint] - inertia
                new = pinocchio.Inertia(scale * old.mass, old.lever, scale * old.inertia)
                self._inertias[joint] = new
                self._model.inertias[joint] = new + load if load.mass > 0.0 else new

    def mass_centres(self) -> tuple[list[Attachment], Array]:
        """The centres of mass of the moving bodies, as frames, and their shares of the mass."""
        model = self._model
        masses = np.array([inertia.mass for inertia in list(model.inertias)[1:]])
        places = []
        for joint in range(1, model.njoints):
            placement = self._data.oMi[joint]
            places.append(
                Attachment(
                    joint,
                    placement.rotation,
                    placement.translation,
                    np.eye(3),
                    np.array(model.inertias[joint].lever),
                    self._support(joint),
                )
            )
        return places, masses / masses.sum()

    def body_inertias(self, direction: Array) -> Array:
        """Mass and inertia about the centre of mass, in the joint's axes, of each moving body.

        Ten numbers per body, over the whole arm's inertia about a direction where all joints are
        zero.
        """
        model, data = self._model, self._model.createData()
        pinocchio.ccrba(model, data, pinocchio.neutral(model), np.zeros(self.n))
        whole = float(direction @ np.array(data.Ig.inertia) @ direction)
        moving = list(model.inertias)[1:]
        lines = [np.concatenate([[body.mass], np.ravel(body.inertia)]) for body in moving]
        return np.concatenate(lines) / whole

    def _support(self, joint: int) -> Array:
        """1 for each joint that moves what hangs on a joint (see `frame_motion`), else 0."""
        support = np.zeros(self.n)
        for ancestor in list(self._model.supports[joint])[1:]:
            moving = self._model.joints[ancestor]
            support[moving.idx_v : moving.idx_v + moving.nv] = 1.0 if moving.nv == 1 else TOGETHER
        return support

    def frame(self, name: str) -> FrameKinematics:
        """Position, rotation, Jacobian and bias of a frame at the present state, as new arrays."""
        place = self.attachment(name)
        jacobian = np.empty((6, self.n))
        position, _, linear_bias, angular_bias = frame_motion(
            self.spatial_jacobian,
            self.v,
            self.placements[place.joint],
            place.translation,
            place.support,
            jacobian,
        )
        return FrameKinematics(
            np.array(position),
            place.joint_rotation @ place.rotation,
            jacobian,
            np.array([*linear_bias, *angular_bias]),
        )

    def __repr__(self) -> str:
        passive = f", passive {sorted(self.passive)}" if self.passive else ""
        return f"Arm({self.name!r}, joints {list(self.joint_names)}{passive})"
