"""What is drawn of a controller at one moment: arm, constraint, reference, forces, torques."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from projected_control.apps.view.geometry import Looks
from projected_control.arrays import Array
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, Curve, Line, Plane, Point, Shape, Stack
from projected_control.model.function_kinds import PositionAlong
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, ForceControllerSettings

REACH = 2.0
"""How far a plane that ends is drawn to each side from the middle of its box [m]."""


class Grip(NamedTuple):
    """A frame that coordinates move along directions, and so can be dragged."""

    frame: str  # its name
    names: list[str]  # of the coordinates
    numbers: list[int]  # theirs, in the order of all coordinates
    directions: Array  # one unit vector per coordinate, in the world


class Touching(NamedTuple):
    """A contact that comes and goes, as it is drawn.

    Attributes:
        frame: What touches.
        body: Its constraint.
        first: Number of that one's first row.
        normal: Into the surface, as a sum of its rows.
    """

    frame: str
    body: Constraint
    first: int
    normal: Array


class Scene:
    """The pictures of one controller.

    Args:
        settings: All its parameters.

    Attributes:
        looks: What its arm looks like.
        arm: A twin for poses.
        joint_names: In the order of positions.
        coordinates: Names, and units.
        rows: Names of the constraint's rows, and units of λ.
        controlled: Numbers of the rows whose force is controlled.
    """

    def __init__(self, settings: ControllerSettings) -> None:
        model: ConstrainedArm = build.build_model(settings)
        self.arm: Arm = model.arm
        self.joint_names = model.arm.joint_names
        self.looks = Looks(model.arm.urdf, tuple(self.joint_names))
        self._constraint: Constraint | None = model.constraint
        members = model.coordinates.members if model.coordinates is not None else ()
        self.coordinates = [(member.name, member.unit) for member in members]
        rows = self._constraint
        self.rows: list[tuple[str, str]] = []
        if rows is not None:
            units = ["N" if unit == "m" else "N·m" for unit in rows.row_units]
            self.rows = list(zip(rows.row_names, units, strict=True))
        self.controlled: list[int] = []
        if isinstance(settings, ForceControllerSettings) and rows is not None:
            held = getattr(settings.force, "enabled", True)  # always, where there is no choice
            self.controlled = build.controlled_rows(settings, rows) if held else []
        self._grips = _grips(members)
        self._bodies = list(_bodies(self._constraint, 0))
        self._touching = _touching(settings, rows, self._bodies)
        self._friction = 0.0
        if isinstance(settings, ForceControllerSettings):
            self._friction = settings.contact.friction
        limits = build.build_limits(settings, model.arm).effort
        self._largest = np.where(np.isfinite(limits) & (limits > 0.0), limits, 1.0)
        self.arm.update(np.zeros(self.arm.n), np.zeros(self.arm.n))

    @property
    def frame(self) -> str:
        """The frame whose trace is drawn."""
        if self._grips:
            return self._grips[0].frame
        if self._constraint is not None and self._constraint.frame is not None:
            return self._constraint.frame
        return str(self.arm.frame_names[-1])

    def description(self) -> dict[str, Any]:
        """What does not change with time."""
        return {
            "joints": list(self.joint_names),
            "coordinates": [{"name": n, "unit": u} for n, u in self.coordinates],
            "rows": [{"name": n, "unit": u} for n, u in self.rows],
            "controlled": self.controlled,
            "note": self.looks.note,
        }

    def geometry(self, identity: str) -> bytes:
        """All triangles in one message: length and text of a header in JSON, then the numbers."""
        blobs: list[bytes] = []
        parts, at = [], 0
        for part in self.looks.parts:
            vertices = part.vertices.astype("<f4").tobytes()
            triangles = part.triangles.astype("<u4").tobytes()
            parts.append({
                "vertices": [at, part.vertices.size],
                "triangles": [at + len(vertices), part.triangles.size],
                "colour": part.colour,
            })  # fmt: skip
            blobs += [vertices, triangles]
            at += len(vertices) + len(triangles)
        header = json.dumps({"is": "geometry", "id": identity, "parts": parts}).encode()
        header += b" " * (-len(header) % 4)
        return len(header).to_bytes(4, "little") + header + b"".join(blobs)

    def frame_at(self, state: Mapping[str, float], time: float) -> dict[str, Any] | None:
        """The moving part of the picture; None where the arm's positions are not known.

        Args:
            state: Quantities by name, as ``~/state`` has them; positions alone will do.
            time: Of the state [s].
        """
        q = np.array([state.get(f"{name}/position", np.nan) for name in self.joint_names])
        if not np.isfinite(q).all():
            return None
        self.arm.update(q, np.zeros(self.arm.n))
        return {
            "poses": _rounded(self.looks.place(q)),
            "shapes": self._shapes(time),
            "trace": _rounded(self.arm.frame(self.frame).position),
            "forces": self._forces(state),
            "contacts": self._contacts(state),
            "grips": self._reference(state),
            "torques": self._torques(state),
        }

    def _shapes(self, time: float) -> list[dict[str, Any]]:
        if self._constraint is None:
            return []
        shapes = []
        for shape in self._constraint.shapes(time):
            if shape.frame is None:
                place = np.zeros(3), np.eye(3)
            else:
                frame = self.arm.frame(shape.frame)
                place = frame.position, frame.rotation
            shapes.append(sketch(shape, *place))
        return shapes

    def _forces(self, state: Mapping[str, float]) -> list[dict[str, Any]]:
        """λ and λ_d as forces on the surroundings, at each constraint that has a frame."""
        forces = []
        for body, first in self._bodies:
            numbers = range(first, first + body.rows)
            measured = np.array([state.get(f"lambda_{i}", 0.0) for i in numbers])
            desired = np.array([state.get(f"lambda_{i}/desired", 0.0) for i in numbers])
            basis = body.wrench_basis(self.arm, body.frame)[:3]
            if not np.isfinite(basis).all():
                continue
            held = [i for i in numbers if i in self.controlled]
            forces.append({
                "at": _rounded(self.arm.frame(body.frame).position),
                "force": _rounded(basis @ np.nan_to_num(measured)),
                "wanted": _rounded(basis @ np.nan_to_num(desired)) if held else None,
                "rows": held,
                "desired": [float(desired[i - first]) for i in held],
                "basis": _rounded(basis[:, [i - first for i in held]].T),
            })  # fmt: skip
        return forces

    def _contacts(self, state: Mapping[str, float]) -> list[dict[str, Any]]:
        """Of every contact that comes and goes: where, its normal, its state and its cone."""
        found = []
        for each in self._touching:
            basis = each.body.wrench_basis(self.arm, each.frame)[:3]
            normal = basis @ each.normal
            size = float(np.linalg.norm(normal))
            if not (np.isfinite(size) and size > 0.0):
                continue
            found.append({
                "at": _rounded(self.arm.frame(each.frame).position),
                "normal": _rounded(normal / size),
                "state": int(np.nan_to_num(state.get(f"lambda_{each.first}/state", 0.0))),
                "friction": self._friction if each.body.rows > 1 else 0.0,
            })  # fmt: skip
        return found

    def _reference(self, state: Mapping[str, float]) -> list[dict[str, Any]]:
        grips = []
        for grip in self._grips:
            at = self.arm.frame(grip.frame).position
            missing = [state.get(f"{n}/desired", np.nan) - state.get(n, np.nan) for n in grip.names]
            if not np.isfinite(missing).all():
                continue
            at = at + np.array(missing) @ grip.directions
            grips.append({
                "frame": grip.frame,
                "at": _rounded(at),
                "names": grip.names,
                "values": [float(state[f"{n}/desired"]) for n in grip.names],
                "directions": _rounded(grip.directions),
            })  # fmt: skip
        return grips

    def _torques(self, state: Mapping[str, float]) -> list[dict[str, Any]]:
        """Per joint: where, about or along which axis, how much of what it may give."""
        torques = []
        model = self.arm.pinocchio_model
        for i, name in enumerate(self.joint_names):
            effort = state.get(f"{name}/effort", 0.0)
            column = self.arm.spatial_jacobian[:, i]
            sliding = bool(self.arm.prismatic[i])
            torques.append({
                "at": _rounded(self.arm.placements[model.getJointId(name), 9:12]),
                "axis": _rounded(column[:3] if sliding else column[3:]),
                "share": float(np.nan_to_num(effort / self._largest[i])),
                "effort": float(np.nan_to_num(effort)),
                "sliding": sliding,
            })  # fmt: skip
        return torques


def _touching(
    settings: ControllerSettings, constraint: Constraint | None, bodies: list[Any]
) -> list[Touching]:
    """The contacts of a controller that come and go, of constraints that have a frame."""
    if constraint is None:
        return []
    return [
        Touching(body.frame, body, first, each.normal)
        for each in build.one_sided_of(settings, constraint)
        for body, first in bodies
        if first == each.rows[0]
    ]


def _grips(members: Any) -> list[Grip]:
    """Frames that positions in the world move."""
    found: dict[str, Grip] = {}
    for number, member in enumerate(members):
        function = member.function
        if isinstance(function, PositionAlong) and function.other is None and function.axes is None:
            grip = found.setdefault(function.frame, Grip(function.frame, [], [], np.zeros((0, 3))))
            directions = np.vstack([grip.directions, function.direction])
            found[function.frame] = Grip(
                grip.frame, [*grip.names, member.name], [*grip.numbers, number], directions
            )
    return list(found.values())


def _bodies(constraint: Constraint | None, first: int) -> Any:
    """The constraints that have a frame, each with the number of its first row."""
    if isinstance(constraint, Stack):
        for part in constraint.constraints:
            yield from _bodies(part, first)
            first += part.rows
    elif constraint is not None and constraint.frame is not None:
        yield constraint, first


@singledispatch
def sketch(shape: Shape, origin: Array, axes: Array) -> dict[str, Any]:
    """A shape as the browser draws it, in the world's axes."""
    raise NotImplementedError(f"the page does not know how to draw a {type(shape).__name__}")


@sketch.register
def _(shape: Point, origin: Array, axes: Array) -> dict[str, Any]:
    return {"is": "point", "at": _rounded(origin + axes @ shape.position)}


@sketch.register
def _(shape: Line, origin: Array, axes: Array) -> dict[str, Any]:
    at, along = origin + axes @ shape.point, axes @ shape.direction
    return {"is": "line", "at": _rounded(at), "along": _rounded(along)}


@sketch.register
def _(shape: Plane, origin: Array, axes: Array) -> dict[str, Any]:
    at, normal = origin + axes @ shape.point, axes @ shape.normal
    plane = {"is": "plane", "at": _rounded(at), "normal": _rounded(normal)}
    if shape.box is None:
        return plane
    middle, *sides = shape.piece(shape.box.mean(axis=0), (REACH, REACH))
    sheet = [origin + axes @ middle, *(axes @ side for side in sides)]
    return {**plane, "sheet": _rounded(sheet)}


@sketch.register
def _(shape: Curve, origin: Array, axes: Array) -> dict[str, Any]:
    return {"is": "curve", "points": _rounded(origin + shape.points @ axes.T)}


def _rounded(numbers: Any) -> Any:
    """To a hundredth of a millimetre, which no screen shows: a third of the bytes."""
    return np.round(np.asarray(numbers, dtype=np.float64), 5).tolist()
