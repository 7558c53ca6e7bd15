"""What RViz draws of a controller: the constraint, its force, the reference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from geometry_msgs.msg import Point as PointMessage
from geometry_msgs.msg import Vector3
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.model.arm import Arm
from projected_control.model.constraints import Curve, Line, Plane, Point, Shape
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kinds import PositionAlong

REACH = 2.0  # half the length of a line that is drawn, half the side of a plane [m]
METRES_PER_NEWTON = 0.02  # length of the arrow for the constraint force [m/N]

GREY, VERMILION, GREEN = (0.55, 0.58, 0.62), (0.84, 0.37, 0.0), (0.0, 0.62, 0.45)


class Markers:
    """Markers of a loop on the topic ~/markers."""

    def __init__(self, node: Node, loop: ControlLoop) -> None:
        self._loop, self._node = loop, node
        self._arm = loop.controller.model.arm.twin()
        self._topic = node.create_publisher(MarkerArray, "~/markers", 10)

    def publish(self, q: Array) -> None:
        """Draw the loop at these joint positions."""
        if not np.isfinite(q).all():
            return
        self._arm.update(q, np.zeros(self._arm.n))
        markers = [*self._constraint(), *self._force(), *self._references()]
        stamp = self._node.get_clock().now().to_msg()
        for marker in markers:
            marker.header.frame_id, marker.header.stamp = self._arm.root_link, stamp
        self._topic.publish(MarkerArray(markers=markers))

    def destroy(self) -> None:
        """Draw no more, and leave nothing behind."""
        self._topic.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
        self._node.destroy_publisher(self._topic)

    def _constraint(self) -> list[Marker]:
        model = self._loop.controller.model
        shapes = [] if model.constraint is None else model.constraint.shapes(model.time)
        markers = [draw(shape, _places(self._arm, shape)) for shape in shapes]
        for number, marker in enumerate(markers):
            marker.ns, marker.id = "constraint", number
        return markers

    def _force(self) -> list[Marker]:
        """An arrow at the constraint's frame along the force on the surroundings."""
        constraint = self._loop.controller.model.constraint
        if constraint is None or constraint.frame is None:
            return []
        multipliers = np.nan_to_num(self._loop.multipliers, posinf=0.0, neginf=0.0)
        force = constraint.wrench(self._arm, constraint.frame, multipliers)[:3]
        start = self._arm.frame(constraint.frame).position
        arrow = _marker(Marker.ARROW, VERMILION, (0.01, 0.02, 0.03), "constraint force")
        arrow.points = _points([start, start + METRES_PER_NEWTON * force])
        return [arrow]

    def _references(self) -> list[Marker]:
        """A sphere per frame that coordinates move, where they want its origin to be."""
        controller, model = self._loop.controller, self._loop.controller.model
        if model.coordinates is None:
            return []
        missing = controller.motion[0] - model.theta
        markers = []
        for number, place in enumerate(wanted(self._arm, model.coordinates, missing).values()):
            sphere = _marker(Marker.SPHERE, GREEN, (0.03, 0.03, 0.03), "reference", number)
            sphere.pose.position = _point(place)
            markers.append(sphere)
        return markers


def wanted(arm: Arm, coordinates: Coordinates, missing: Array) -> dict[str, Array]:
    """Where frames are to be that coordinates move, by what is still missing per coordinate."""
    places: dict[str, Array] = {}
    for function, distance in zip(coordinates.functions, missing, strict=True):
        if isinstance(function, PositionAlong):
            turn = np.eye(3) if function.axes is None else arm.frame(function.axes).rotation
            at = places.setdefault(function.frame, arm.frame(function.frame).position)
            places[function.frame] = at + distance * (turn @ function.direction)
    return places


def _places(arm: Arm, shape: Shape) -> tuple[Array, Array]:
    """Origin and axes of what the shape moves with."""
    if shape.frame is None:
        return np.zeros(3), np.eye(3)
    frame = arm.frame(shape.frame)
    return frame.position, frame.rotation


@singledispatch
def draw(shape: Shape, placement: tuple[Array, Array]) -> Marker:
    """The marker of a shape, given the origin and axes of the frame it moves with."""
    raise NotImplementedError(f"markers do not know how to draw a {type(shape).__name__}")


@draw.register
def _(shape: Point, placement: tuple[Array, Array]) -> Marker:
    origin, axes = placement
    sphere = _marker(Marker.SPHERE, GREY, (0.02, 0.02, 0.02))
    sphere.pose.position = _point(origin + axes @ shape.position)
    return sphere


@draw.register
def _(shape: Line, placement: tuple[Array, Array]) -> Marker:
    origin, axes = placement
    middle, along = origin + axes @ shape.point, REACH * axes @ shape.direction
    line = _marker(Marker.LINE_STRIP, GREY, (0.008, 0.0, 0.0))
    line.points = _points([middle - along, middle + along])
    return line


@draw.register
def _(shape: Plane, placement: tuple[Array, Array]) -> Marker:
    """Two triangles, each from both sides."""
    origin, axes = placement
    middle, first, second = shape.piece(shape.point, (REACH, REACH))
    middle, first, second = origin + axes @ middle, axes @ first, axes @ second
    a, b, c, d = (middle + i * first + j * second for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    plane = _marker(Marker.TRIANGLE_LIST, GREY, (1.0, 1.0, 1.0), alpha=0.4)
    plane.points = _points([a, b, c, a, c, d, a, c, b, a, d, c])
    return plane


@draw.register
def _(shape: Curve, placement: tuple[Array, Array]) -> Marker:
    origin, axes = placement
    curve = _marker(Marker.LINE_STRIP, GREY, (0.008, 0.0, 0.0))
    curve.points = _points([origin + axes @ point for point in shape.points])
    return curve


def _marker(
    kind: int,
    colour: tuple[float, float, float],
    size: tuple[float, float, float],
    name: str = "",
    number: int = 0,
    alpha: float = 1.0,
) -> Marker:
    red, green, blue = colour
    marker = Marker(ns=name, id=number, type=kind, action=Marker.ADD)
    marker.scale = Vector3(x=size[0], y=size[1], z=size[2])
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=alpha)
    marker.pose.orientation.w = 1.0
    return marker


def _point(p: Array) -> PointMessage:
    return PointMessage(x=float(p[0]), y=float(p[1]), z=float(p[2]))


def _points(places: Sequence[Array]) -> list[PointMessage]:
    return [_point(place) for place in places]
