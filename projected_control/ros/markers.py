"""What RViz draws of a controller: the slider, the constraint force, the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from projected_control.control.loop import ControlLoop
from projected_control.model.constraints import RowConstraint
from projected_control.model.scalar_functions import PositionAlong

Array = NDArray[np.float64]

REACH = 2.0
"""Half the length of a line that is drawn, half the side of a plane [m]."""

METRES_PER_NEWTON = 0.02
"""Of the arrow for the constraint force."""

GREY, VERMILION, GREEN = (0.55, 0.58, 0.62), (0.84, 0.37, 0.0), (0.0, 0.62, 0.45)


class Markers:
    """Markers of a loop on the topic ~/markers.

    Args:
        node: Of the controller.
        loop: What is drawn.
        settings: Of the node.
    """

    def __init__(self, node: Node, loop: ControlLoop, settings: dict[str, Any]) -> None:
        self._loop, self._node = loop, node
        model = loop.controller.model
        self._arm = model.arm.twin()
        self._frame = settings["constraint.frame"]
        self._topic = node.create_publisher(MarkerArray, "~/markers", 10)
        self._held = [_constraint(settings)] if settings["constraint.kind"] != "none" else []
        self._force = _marker("constraint force", Marker.ARROW, VERMILION, (0.01, 0.02, 0.03))
        self._wanted = _marker("reference", Marker.SPHERE, GREEN, (0.03, 0.03, 0.03))
        self._all = [m for m in (*self._held, self._force, self._wanted) if m is not None]
        for marker in self._all:
            marker.header.frame_id = model.arm.root_link

    def publish(self, q: Array) -> None:
        """Draw the loop at these joint positions."""
        controller, model = self._loop.controller, self._loop.controller.model
        if not np.isfinite(q).all():
            return
        tip = self._arm.update(q, np.zeros(model.n)).frame(self._frame).position
        force, wanted = np.zeros(3), tip.copy()
        if isinstance(model.constraint, RowConstraint):
            for row, value in zip(
                model.constraint.equations, self._loop.multipliers.copy(), strict=True
            ):
                if isinstance(row, PositionAlong) and np.isfinite(value):
                    force += value * row.direction
        desired, actual = controller.motion[0].copy(), model.theta.copy()
        for k, coordinate in enumerate(model.coordinates.members if model.coordinates else ()):
            row = coordinate.row
            if isinstance(row, PositionAlong) and row.frame == self._frame:
                wanted += (desired[k] - actual[k]) * row.direction
        self._force.points = [_point(tip), _point(tip + METRES_PER_NEWTON * force)]
        self._wanted.pose.position = _point(wanted)
        stamp = self._node.get_clock().now().to_msg()
        for marker in self._all:
            marker.header.stamp = stamp
        self._topic.publish(MarkerArray(markers=self._all))

    def destroy(self) -> None:
        """Draw no more."""
        self._node.destroy_publisher(self._topic)


def _constraint(settings: dict[str, Any]) -> Marker | None:
    """What holds the arm: a line or a plane; nothing for the others."""
    point = np.array(settings["constraint.point"])
    direction = np.array(settings["constraint.direction"])
    direction /= np.linalg.norm(direction)
    if settings["constraint.kind"] == "line":
        line = _marker("constraint", Marker.LINE_STRIP, GREY, (0.008, 0.0, 0.0))
        line.points = [_point(point - REACH * direction), _point(point + REACH * direction)]
        return line
    if settings["constraint.kind"] == "plane":
        plane = _marker("constraint", Marker.TRIANGLE_LIST, GREY, (1.0, 1.0, 1.0), alpha=0.4)
        first = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
        first *= REACH / np.linalg.norm(first)
        second = np.cross(direction, first)
        a, b, c, d = (
            point + i * first + j * second for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        )
        plane.points = [_point(p) for p in (a, b, c, a, c, d, a, c, b, a, d, c)]
        return plane
    return None


def _marker(
    name: str,
    kind: int,
    colour: tuple[float, float, float],
    size: tuple[float, float, float],
    alpha: float = 1.0,
) -> Marker:
    red, green, blue = colour
    marker = Marker(ns=name, id=0, type=kind, action=Marker.ADD)
    marker.scale = Vector3(x=size[0], y=size[1], z=size[2])
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=alpha)
    marker.pose.orientation.w = 1.0
    return marker


def _point(p: Array) -> Point:
    return Point(x=float(p[0]), y=float(p[1]), z=float(p[2]))
