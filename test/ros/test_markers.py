"""What RViz is given to draw: where the slider, the constraint force and the reference are."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
import yaml
from fleet import THREE_LINK, Fleet
from visualization_msgs.msg import Marker, MarkerArray

from projected_control.model.arm import Arm
from projected_control.model.constraints import Curve, Line, Plane, Point, Shape
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.function_kinds import PositionAlong
from projected_control.resources import share_file
from projected_control.ros.markers import METRES_PER_NEWTON, REACH, draw, wanted
from projected_control.settings.nodes import ARM, FORCE

SETTINGS = {**THREE_LINK, "lockstep": True, "markers_rate": 20.0, "force.reference": [5.0]}


def test_markers_show_slider_force_and_reference(fleet: Fleet) -> None:
    drawn = fleet.record(MarkerArray, f"{FORCE}/markers")
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, SETTINGS)

    def settled() -> dict[str, Marker]:
        if not drawn.messages:
            return {}
        markers = {marker.ns: marker for marker in drawn.messages[-1].markers}
        tip, end = markers["constraint force"].points
        length = abs(end.y - tip.y)
        return markers if length == pytest.approx(5.0 * METRES_PER_NEWTON, rel=0.2) else {}

    markers = fleet.until(settled, "an arrow of 5 N")
    assert {marker.header.frame_id for marker in markers.values()} == {"base_link"}
    line, (tip, end) = markers["constraint"], markers["constraint force"].points
    assert [(p.x, p.y) for p in line.points] == [(-REACH, -0.27), (REACH, -0.27)]
    assert tip.y == pytest.approx(-0.27, abs=1e-6)
    assert end.x == pytest.approx(tip.x, abs=1e-9)
    assert abs(end.y - tip.y) == pytest.approx(5.0 * METRES_PER_NEWTON, rel=0.2)
    wanted = markers["reference"].pose.position
    assert (wanted.x, wanted.y) == pytest.approx((tip.x, tip.y), abs=0.05)


ORIGIN = np.array([1.0, 2.0, 3.0])
QUARTER_TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
ALONG_X, ALONG_Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def corners(marker: Marker) -> np.ndarray:
    return np.array([(p.x, p.y, p.z) for p in marker.points])


def test_a_direction_that_turns_with_a_frame_is_drawn_there() -> None:
    """2 cm along the flange's own x axis, which points elsewhere than the world's."""
    arm = Arm.from_urdf(share_file("urdf", "seven_joints.urdf"))
    arm.update(np.linspace(0.3, 1.2, 7), np.zeros(7))
    flange = arm.frame("flange")
    along = Coordinate("flange.along", "m", PositionAlong("flange", ALONG_X, axes="flange"))
    place = wanted(arm, Coordinates([along]), np.array([0.02]))["flange"]
    np.testing.assert_allclose(place, flange.position + 0.02 * flange.rotation[:, 0], atol=1e-15)
    assert flange.rotation[0, 0] < 0.9


@pytest.mark.parametrize("shape", Shape.__args__)
def test_every_shape_can_be_drawn(shape: type[Shape]) -> None:
    assert shape in draw.registry


def test_shapes_are_drawn_in_the_axes_of_what_they_move_with() -> None:
    """A frame at (1, 2, 3) m, turned by 90° about z: its x axis is the world's y axis."""
    place = ORIGIN, QUARTER_TURN
    sphere = draw(Point(ALONG_X), place).pose.position
    assert (sphere.x, sphere.y, sphere.z) == pytest.approx((1.0, 3.0, 3.0))
    line = corners(draw(Line(ALONG_X, ALONG_X), place))
    np.testing.assert_allclose(line, [(1.0, 3.0 - REACH, 3.0), (1.0, 3.0 + REACH, 3.0)])
    curve = corners(draw(Curve(np.array([ALONG_X, ALONG_Z])), place))
    np.testing.assert_allclose(curve, [(1.0, 3.0, 3.0), (1.0, 2.0, 4.0)])


def test_a_plane_is_drawn_flat_and_from_both_sides() -> None:
    triangles = corners(draw(Plane(ALONG_Z, ALONG_Z), (ORIGIN, QUARTER_TURN))).reshape(4, 3, 3)
    np.testing.assert_allclose(triangles[..., 2], 4.0)
    normals = [np.cross(b - a, c - a)[2] for a, b, c in triangles]
    np.testing.assert_allclose(np.abs(normals), (2.0 * REACH) ** 2)
    assert sorted(np.sign(normals)) == [-1.0, -1.0, 1.0, 1.0]


def test_the_configuration_of_rviz_shows_them() -> None:
    content = yaml.safe_load(share_file("config", "constrained_arm.rviz").read_text())
    displays = content["Visualization Manager"]["Displays"]
    kinds = {display["Class"].rpartition("/")[2]: display for display in displays}
    assert kinds["MarkerArray"]["Topic"]["Value"] == "/markers"
    assert kinds["RobotModel"]["Description Topic"]["Value"] == "/robot_description"
    assert content["Visualization Manager"]["Global Options"]["Fixed Frame"] == "base_link"
