"""Constraints of ours as parts of a MuJoCo model.

MuJoCo holds a point at a point (``connect``), a frame at a frame (``weld``), a joint at another
(``joint``) and a distance (``tendon``). What leaves a frame more freedom is one of the first two
between the frame and a *carriage*: a body that weighs next to nothing and has a joint per direction
that the constraint leaves free.

============================  ==========================  ==========================================
rows of a constraint          equality                    joints of the carriage
============================  ==========================  ==========================================
3 positions                   connect                     none: a point of the world, or of a link
2, 1 positions                connect                     1, 2 slides
… and 3, 2, 1 angles          weld                        … and no, 1, 2 hinges
a distance                    tendon                      none
distance from an axis         connect                     a hinge and a slide; a hinge for a circle
a joint, a gear               joint                       none
============================  ==========================  ==========================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint, FunctionConstraint, Moving, Stack
from projected_control.model.constraints.axes import perpendiculars
from projected_control.model.function_kinds import (
    AxisCosine,
    DistanceTo,
    HeadingInPlane,
    HeightAbove,
    JointPosition,
    PositionAlong,
    ScalarFunction,
)
from projected_control.simulation.mujoco_carriages import (
    Carriage,
    Holds,
    Mover,
    Settle,
    relative_pose,
    set_length,
    turns_of,
)
from projected_control.simulation.mujoco_model import ArmSpec, import_mujoco, quaternion
from projected_control.simulation.mujoco_plates import (
    BALL,
    BITS,
    PLATE_MASS,
    Box,
    body_of_plate,
    plate_of,
    refuse,
    require_plate,
)
from projected_control.simulation.surfaces import RIGID, Extent, Row, Surface

Array = NDArray[np.float64]

CARRIAGE_SHARE = 1e-9
"""Mass of a carriage as a share of the arm's."""

VOID = 1e-9
"""Rate of a row along all joints below which it says nothing, as across the plane of an arm."""


class Holder:
    """Adds constraints to the specification of an arm.

    Args:
        spec: The arm.
        laws, sides: What each row of the constraint is, where one gives or can be left.
        surface: What such rows touch.
        extents: Where each of them ends; none unless given.
    """

    def __init__(
        self,
        spec: ArmSpec,
        laws: Sequence[Row] = (),
        sides: Sequence[int] = (),
        surface: Surface = RIGID,
        extents: Sequence[Extent | None] = (),
    ) -> None:
        self.spec, self.holds, self._mujoco = spec, Holds(), import_mujoco()
        self._laws, self._sides, self._surface = laws, sides, surface
        self._extents = [*extents] or [None] * len(laws)
        masses = [inertia.mass for inertia in spec.arm.pinocchio_model.inertias]
        self._mass = CARRIAGE_SHARE * float(sum(masses[1:]))

    def add(self, constraint: Constraint | None) -> Holds:
        """Hold the arm by a constraint; refused with the reason where MuJoCo has none like it."""
        if constraint is not None:
            self._add(constraint, 0, False)
        return self.holds

    def _add(self, constraint: Constraint, row: int, moves: bool) -> None:
        if isinstance(constraint, Stack):
            for part in constraint.constraints:
                self._add(part, row, moves)
                row += part.rows
        elif isinstance(constraint, Moving):
            self._add(constraint.constraint, row, True)
        elif isinstance(constraint, FunctionConstraint) and constraint.is_its_functions:
            self._add_functions(constraint.functions, slice(row, row + constraint.rows), moves)
        else:
            raise InvalidValue(
                f"MuJoCo cannot hold an arm by {type(constraint).__name__}: it has equalities for "
                "points, frames, joints and distances, and this constraint says in Python what it "
                "is; make it of scalar functions, or take simulation.engine built_in"
            )

    def _add_functions(self, functions: Sequence[ScalarFunction], rows: slice, moves: bool) -> None:
        if any(law is not Row.HELD for law in self._laws[rows]):
            self._lay_plate(functions, rows.start, moves)
            return
        joints = [f for f in functions if isinstance(f, JointPosition)]
        positions = [f for f in functions if isinstance(f, PositionAlong)]
        angles = [f for f in functions if isinstance(f, AxisCosine)]
        distances = [f for f in functions if isinstance(f, DistanceTo)]
        known = len(joints) + len(positions) + len(angles) + len(distances)
        if known < len(functions):
            _refuse(functions)
        if joints and len(joints) == len(functions):
            for place, each in enumerate(joints, rows.start):
                self._couple(each, slice(place, place + 1), moves)
        elif len(distances) == 1 and not angles and len(positions) <= 1:
            if moves and (positions or distances[0].axis is not None):
                _refuse_motion("a circle or a cylinder")
            if distances[0].axis is None and not positions:
                self._tie(distances[0], rows, moves)
            else:
                self._go_round(distances[0], positions)
        elif positions and not angles and not distances:
            self._hold_point(positions, rows, moves)
        elif angles and not distances:
            if moves:
                _refuse_motion("a frame whose angles are held")
            self._hold_frame(positions, angles)
        else:
            _refuse(functions)

    def _equality(self, kind: Any, objects: Any, first: str, second: str) -> Any:
        name = self.spec.new_name("held")
        equality = self.spec.spec.add_equality(
            name=name, type=kind, objtype=objects, name1=first, name2=second
        )
        return equality

    def _join(self, welded: bool, first: str, second: str) -> None:
        kinds = self._mujoco.mjtEq
        kind = kinds.mjEQ_WELD if welded else kinds.mjEQ_CONNECT
        self._equality(kind, self._mujoco.mjtObj.mjOBJ_SITE, first, second)

    def _couple(self, row: JointPosition, rows: slice, moves: bool) -> None:
        """q = offset + ratio q_other."""
        kind, objects = self._mujoco.mjtEq.mjEQ_JOINT, self._mujoco.mjtObj.mjOBJ_JOINT
        equality = self._equality(kind, objects, row.joint, row.other or "")
        ratio = row.ratio if row.other else 0.0
        equality.data[:5] = [row.offset, ratio, 0.0, 0.0, 0.0]
        name, offset = equality.name, row.offset
        if moves:

            def follow(model: Any, data: Any, x: Array) -> None:
                model.eq_data[model.equality(name).id, 0] = offset + x[0]

            self.holds.movers.append(Mover(rows, follow))

    def _tie(self, row: DistanceTo, rows: slice, moves: bool) -> None:
        """‖p − p_other‖ = length: a tendon that keeps its length."""
        far = np.zeros(3) if row.point is None else row.point
        tendon = self.spec.spec.add_tendon(name=self.spec.new_name("rod"))
        tendon.wrap_site(self.spec.site(row.frame, np.zeros(3), np.eye(3)))
        tendon.wrap_site(self.spec.site(row.other, far, np.eye(3)))
        kind, objects = self._mujoco.mjtEq.mjEQ_TENDON, self._mujoco.mjtObj.mjOBJ_TENDON
        name, length = self._equality(kind, objects, tendon.name, "").name, row.offset
        self.holds.lengths[name] = length
        if moves:

            def follow(model: Any, data: Any, x: Array) -> None:
                set_length(model, name, length + float(x[0]))

            self.holds.movers.append(Mover(rows, follow))

    def _carriage(
        self,
        frame: str,
        parent: str | None,
        place: Array,
        joints: Sequence[tuple[str, Array]],
        settle: Settle,
        base: Any = None,
    ) -> Any:
        """A body at a place of another frame, in whose axes it stands, with these joints."""
        body, position, rotation = self.spec.body_of(parent)
        name = self.spec.new_name("carriage")
        where = {"pos": position + rotation @ place, "quat": quaternion(rotation)}
        made = body.add_body(name=name, **where) if base is None else base.add_body(name=name)
        made.mass, made.inertia = self._mass, [self._mass] * 3
        made.explicitinertial, made.gravcomp = True, 1.0
        types = self._mujoco.mjtJoint
        kinds = {"slide": types.mjJNT_SLIDE, "hinge": types.mjJNT_HINGE}
        names = [self.spec.new_name(kind) for kind, _ in joints]
        for joint, (kind, axis) in zip(names, joints, strict=True):
            made.add_joint(name=joint, type=kinds[kind], axis=axis)
        stands = parent is None or self.spec.arm.attachment(parent).joint == 0
        self.holds.carriages.append(Carriage(frame, name, tuple(names), settle, stands))
        return made

    def _hold_point(
        self, rows: Sequence[PositionAlong], places: slice, moves: bool, base: Any = None
    ) -> None:
        """A frame's origin on a plane, on a line or at a point, of the world or of a link."""
        frame, other = rows[0].frame, rows[0].other
        directions, offsets, free = self._directions(rows)
        place = np.linalg.pinv(directions) @ offsets
        held = self.spec.site(frame, np.zeros(3), np.eye(3))
        if other is not None and rows[0].axes is None and len(free):
            place, free = self._across(rows, free, place), np.zeros((0, 3))
        if moves:
            if other is not None:
                _refuse_motion("a point that is held at another link")
            base = self._mocap(place, np.asarray(np.linalg.pinv(directions)), places)
        if not len(free):
            if base is not None:
                self._join(False, held, self.spec.site_on(base, np.zeros(3), np.eye(3)))
            else:
                self._join(False, held, self.spec.site(other, place, np.eye(3)))
            return

        def settle(arm: Arm) -> list[float]:
            position, _ = relative_pose(arm, frame, other)
            return list(free @ (position - place))

        joints = [("slide", axis) for axis in free]
        carriage = self._carriage(frame, other, place, joints, settle, base)
        self._join(False, held, self.spec.site_on(carriage, np.zeros(3), np.eye(3)))

    def _lay_plate(self, functions: Sequence[ScalarFunction], row: int, moves: bool) -> None:
        """A plane that gives, or that can be left (see `mujoco_plates`)."""
        held = functions[0]
        law, surface = self._laws[row], self._surface
        if len(functions) != 1 or not isinstance(held, PositionAlong) or held.other:
            key = "contact.stiffness" if law >= Row.GIVES else "constraint.one_sided"
            refuse(key, "a surface that gives, or that can be left, is a plate: a point_on_plane")
        require_plate(surface)
        size = float(np.linalg.norm(held.direction))
        axis, side = held.direction / size, float(self._sides[row] or 1)
        place = held.offset / size * axis
        name = self.spec.new_name("plate")
        plate = self.spec.spec.worldbody.add_body(name=name, pos=place)
        plate.mass, plate.inertia = PLATE_MASS, [PLATE_MASS] * 3
        plate.explicitinertial, plate.gravcomp = True, 1.0
        joint = ""
        if law >= Row.GIVES:
            joint = self.spec.new_name("spring")
            plate.add_joint(name=joint, type=self._mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)

            def settle(arm: Arm) -> list[float]:
                depth = float(axis @ (arm.frame(held.frame).position - place))
                return [side * max(side * depth, 0.0) if law is not Row.GIVES else depth]

            self.holds.carriages.append(Carriage(held.frame, name, (joint,), settle, False))
        made = plate_of(row, joint, law, surface)
        self.holds.plates.append(made)
        if moves:
            if not joint:
                _refuse_motion("a rigid surface that can be left")

            def follow(model: Any, data: Any, x: Array) -> None:
                model.qpos_spring[model.joint(joint).qposadr[0]] = x[0]

            lead = made.damping / surface.K
            self.holds.movers.append(Mover(slice(row, row + 1), follow, lead))
        if law is Row.GIVES:
            self._hold_point([held], slice(row, row + 1), False, plate)
        else:
            box = body_of_plate(self._extents[row], place, axis, -side * axis)
            self._touch(plate, box, held.frame)

    def _touch(self, plate: Any, box: Box, frame: str) -> None:
        """A box on the plate, and a ball at the frame, which touch each other and nothing else."""
        kinds = self._mujoco.mjtGeom
        own = 1 << (sum(plate.touched for plate in self.holds.plates) % BITS)
        plate.add_geom(
            type=kinds.mjGEOM_BOX,
            size=box.half,
            pos=box.place,
            quat=quaternion(box.turn),
            contype=own,
            conaffinity=0,
        )
        body, position, _ = self.spec.body_of(frame)
        ball = {"type": kinds.mjGEOM_SPHERE, "size": [BALL, 0.0, 0.0], "pos": position}
        body.add_geom(**ball, contype=0, conaffinity=own)

    def _mocap(self, place: Array, into: Array, rows: slice) -> Any:
        """A body that is put where x says."""
        name = self.spec.new_name("mover")
        base = self.spec.spec.worldbody.add_body(name=name, pos=place, mocap=True)

        def follow(model: Any, data: Any, x: Array) -> None:
            data.mocap_pos[model.body(name).mocapid[0]] = place + into @ x

        self.holds.movers.append(Mover(rows, follow))
        return base

    def _directions(self, rows: Sequence[PositionAlong]) -> tuple[Array, Array, Array]:
        """Directions that are held, where along them, and the directions that are left."""
        same = {(row.frame, row.other, row.axes) for row in rows}
        axes, other = rows[0].axes, rows[0].other
        if len(same) > 1 or axes not in (None, other):
            raise InvalidValue(
                f"MuJoCo cannot hold {rows[0].frame!r} along directions that turn with another "
                "frame than the one it is held at; take simulation.engine built_in"
            )
        directions = np.array([row.direction for row in rows])
        offsets = np.array([row.offset for row in rows])
        _, sizes, V = np.linalg.svd(directions)
        return directions, offsets, V[int((sizes > 1e-9).sum()) :]

    def _across(self, rows: Sequence[PositionAlong], free: Array, place: Array) -> Array:
        """Where a loop in a plane closes across that plane, in the other frame's axes."""
        frame, other, arm = rows[0].frame, rows[0].other, self.spec.arm.twin()
        assert other is not None
        random = np.random.default_rng(0)
        for _ in range(3):
            arm.update(random.uniform(-1.0, 1.0, arm.n), np.zeros(arm.n))
            rate = free @ (arm.frame(frame).jacobian - arm.frame(other).jacobian)[:3]
            if np.abs(rate).max(initial=0.0) > VOID:
                raise InvalidValue(
                    f"MuJoCo cannot hold {frame!r} at {other!r} along directions of the world "
                    "alone, as both move out of the plane that these span: give directions, which "
                    "turn with the frame, or take simulation.engine built_in"
                )
        first, second = arm.frame(frame), arm.frame(other)
        gap = free.T @ free @ (first.position - second.position)
        return place + second.rotation.T @ gap

    def _hold_frame(self, positions: Sequence[PositionAlong], angles: Sequence[AxisCosine]) -> None:
        """A frame held in some directions, at angles that are held, of the world or of a link."""
        frame, other = angles[0].frame, angles[0].other
        rows: list[PositionAlong | AxisCosine] = [*positions, *angles]
        if {(row.frame, row.other) for row in rows} != {(frame, other)}:
            _refuse([*positions, *angles])
        place, free = np.zeros(3), np.eye(3)
        if positions:
            if other is not None and positions[0].axes is None:
                _refuse([*positions, *angles])
            directions, offsets, free = self._directions(positions)
            place = np.linalg.pinv(directions) @ offsets
        turns = turns_of(angles)
        if turns is None:
            _refuse([*positions, *angles])
        turn, hinges, turned = turns

        def settle(arm: Arm) -> list[float]:
            position, rotation = relative_pose(arm, frame, other)
            return [*(free @ (position - place)), *turned(rotation)]

        held = self.spec.site(frame, np.zeros(3), np.eye(3))
        joints = [*(("slide", axis) for axis in free), *(("hinge", axis) for axis in hinges)]
        if not joints:
            self._join(True, held, self.spec.site(other, place, turn))
            return
        carriage = self._carriage(frame, other, place, joints, settle)
        self._join(True, held, self.spec.site_on(carriage, np.zeros(3), turn))

    def _go_round(self, row: DistanceTo, along: Sequence[PositionAlong]) -> None:
        """A frame's origin on a circle, or on a cylinder, of the world."""
        axis, centre, frame = row.axis, row.point, row.frame
        if axis is None or centre is None or any(a.frame != frame or a.other for a in along):
            _refuse([row, *along])
        if along and abs(abs(float(along[0].direction @ axis)) - 1.0) > 1e-9:
            _refuse([row, *along])
        if along:
            height = along[0].offset * float(along[0].direction @ axis)
            centre = centre + (height - float(axis @ centre)) * axis
        e1, e2 = perpendiculars(axis)
        if float(np.cross(e1, e2) @ axis) < 0.0:
            e1, e2 = e2, e1

        def settle(arm: Arm) -> list[float]:
            r = arm.frame(frame).position - centre
            angle = float(np.arctan2(e2 @ r, e1 @ r))
            return [angle] if along else [float(axis @ r), angle]

        joints = [("hinge", axis)] if along else [("slide", axis), ("hinge", axis)]
        carriage = self._carriage(frame, None, centre, joints, settle)
        rim = self.spec.site_on(carriage, row.offset * e1, np.eye(3))
        self._join(False, self.spec.site(frame, np.zeros(3), np.eye(3)), rim)


REASONS: dict[type, str] = {
    HeightAbove: "its height fields are bodies to touch, one-sided, and no equality follows one",
    HeadingInPlane: "no equality of it holds one heading alone: give directions instead",
}
"""Why some functions cannot be held there."""


def _refuse(functions: Sequence[ScalarFunction]) -> NoReturn:
    kinds = list(dict.fromkeys(type(f) for f in functions))
    reason = next((REASONS[kind] for kind in kinds if kind in REASONS), "")
    raise InvalidValue(
        f"MuJoCo cannot hold an arm by rows of {' and '.join(kind.__name__ for kind in kinds)}: "
        f"{reason or 'it has equalities for points, frames, joints and distances alone'}; take "
        "simulation.engine built_in"
    )


def _refuse_motion(what: str) -> NoReturn:
    raise InvalidValue(
        f"in MuJoCo points of the world, joints and distances may be moved by constraint.motion, "
        f"and not {what}; leave rate and amplitude empty, or take simulation.engine built_in"
    )
