"""Independent coordinates: derivatives, names, angles by the short way."""

import numpy as np
import pinocchio
import pytest
from arms import UPRIGHT, random_state, random_urdf, slider_crank_case, three_link_arm

from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates

LEVEL = [0.0, 0.0, 1.0]
ARMS = {
    "3R": (three_link_arm, "tip"),
    "spatial": (lambda: Arm.from_urdf(random_urdf(3, 7)), "end_7"),
    "sliding": (lambda: Arm.from_urdf(random_urdf(4, 5, kinds=("prismatic", "revolute"))), "end_5"),
}


def all_kinds(tip):
    return Coordinates(
        [
            Coordinate.position(tip, "x"),
            Coordinate.position(tip, "z"),
            Coordinate.position(tip, [1.0, 2.0, -1.0]),
            Coordinate.heading(tip, LEVEL),
            Coordinate.heading(tip, [0.3, -0.2, 1.0], name="tilted"),
            Coordinate.joint("joint_2"),
            Coordinate.along(tip, [1.0, 2.0, -1.0], "link_1", name="from a link"),
            Coordinate.about(tip, [0.3, -0.2, 1.0], [0.0, 0.6, 0.8]),
            Coordinate.tilt(tip, [0.0, 0.6, 0.8], [1.0, 2.0, -1.0]),
            Coordinate.round(tip, [0.01, -0.02, 0.0], [0.1, -0.2, 1.0]),
            Coordinate.centre_of_mass("x"),
            Coordinate.centre_of_mass([1.0, 2.0, -1.0]),
        ]
    )


def test_the_centre_of_mass_is_pinocchios():
    arm = Arm.from_urdf(random_urdf(3, 7))
    q, v = random_state(arm, 2)
    arm.update(q, v)
    model = arm.pinocchio_model
    expected = pinocchio.centerOfMass(model, model.createData(), q)
    theta = Coordinates([Coordinate.centre_of_mass(axis) for axis in "xyz"])
    np.testing.assert_allclose(theta.value(arm), expected, atol=1e-14)
    jacobian = pinocchio.jacobianCenterOfMass(model, model.createData(), q)
    np.testing.assert_allclose(theta.jacobian(arm), jacobian, atol=1e-14)


def test_turns_are_counted():
    """Two and a half turns of the first joint: the tip has gone round by 5π, not by π."""
    arm = three_link_arm()
    theta = Coordinates([Coordinate.round("tip", [0.0, 0.0, 0.0], LEVEL)])
    for angle in np.linspace(0.0, 5.0 * np.pi, 60):
        found = theta.value(arm.update(np.array([angle, 0.0, 0.0]), np.zeros(3)))
    assert found[0] == pytest.approx(5.0 * np.pi, abs=1e-12)


@pytest.mark.parametrize("case", ARMS.values(), ids=ARMS.keys())
@pytest.mark.parametrize("seed", range(4))
def test_jacobian_and_bias_match_finite_differences(case, seed):
    """Headings too, and with rotations out of their plane."""
    make, tip = case
    arm, theta = make(), all_kinds(tip)
    probe = arm.twin()
    q, v = random_state(arm, seed)

    def value(x):
        return theta.value(probe.update(x, np.zeros(arm.n)))

    def rate(x):
        return theta.jacobian(probe.update(x, np.zeros(arm.n))) @ v

    arm.update(q, v)
    J, bias = theta.jacobian(arm), theta.bias(arm)
    step = 1e-6
    columns = [
        theta.difference(value(q + step * e), value(q - step * e)) / (2 * step)
        for e in np.eye(arm.n)
    ]
    np.testing.assert_allclose(J, np.transpose(columns), rtol=1e-7, atol=1e-7)
    step = 1e-4
    near = (rate(q + step * v) - rate(q - step * v)) / (2 * step)
    far = (rate(q + 2 * step * v) - rate(q - 2 * step * v)) / (4 * step)
    np.testing.assert_allclose(bias, (4 * near - far) / 3, rtol=1e-6, atol=1e-6)


def test_values_of_a_planar_arm():
    arm = three_link_arm(l1=1, l2=1, l3=1).update(np.array([0.3, 0.5, -0.2]), np.zeros(3))
    angles = np.cumsum([0.3, 0.5, -0.2])
    theta = Coordinates(
        [
            Coordinate.position("tip", "x"),
            Coordinate.position("tip", [0.0, -3.0, 0.0]),
            Coordinate.heading("tip", LEVEL),
            Coordinate.joint("joint_3"),
        ]
    )
    expected = [np.cos(angles).sum(), -np.sin(angles).sum(), 0.6, -0.2]
    np.testing.assert_allclose(theta.value(arm), expected, atol=1e-14)


def test_heading_turns_with_the_joints_in_the_vertical_plane_too():
    arm, _ = slider_crank_case()
    heading = Coordinates([Coordinate.heading("tip", UPRIGHT)])
    for q in ([0.2, 0.4], [2.0, 2.0], [-3.0, -3.0]):
        value = heading.value(arm.update(np.array(q), np.zeros(2)))
        np.testing.assert_allclose(heading.difference(value, [sum(q)]), 0.0, atol=1e-14)
        assert abs(value[0]) <= np.pi
    np.testing.assert_allclose(heading.jacobian(arm), [[1.0, 1.0]], atol=1e-14)


def test_difference_goes_the_short_way_round_for_headings_only():
    theta = Coordinates([Coordinate.heading("tip", LEVEL), Coordinate.joint("joint_1")])
    np.testing.assert_allclose(
        theta.difference([3.0, 3.0], [-3.0, -3.0]), [6.0 - 2 * np.pi, 6.0], atol=1e-15
    )
    np.testing.assert_allclose(
        theta.difference([0.1 + 8 * np.pi, 9.0], [0.0, 1.0]), [0.1, 8.0], atol=1e-14
    )


def test_names_and_units():
    theta = all_kinds("tip")
    assert theta.names[:6] == ("tip.x", "tip.z", "tip.along", "tip.angle", "tilted", "joint_2")
    units = ["m", "m", "m", "rad", "rad", "rad", "m", "rad", "rad", "rad", "m", "m"]
    assert [c.unit for c in theta.members] == units
    assert theta.size == 12
    assert Coordinates.of_joints(["joint_3", "joint_1"]).names == ("joint_3", "joint_1")
    assert np.flatnonzero(theta.periodic).tolist() == [3, 4, 7]


def test_model_evaluates_coordinates(planar_arm):
    theta = all_kinds("tip")
    q, v = random_state(planar_arm, 0)
    model = ConstrainedArm(planar_arm, None, theta).evaluate(q, v)
    planar_arm.update(q, v)
    np.testing.assert_allclose(model.theta, theta.value(planar_arm), atol=1e-15)
    np.testing.assert_allclose(model.J_theta, theta.jacobian(planar_arm), atol=1e-15)
    np.testing.assert_allclose(model.theta_bias, theta.bias(planar_arm), atol=1e-15)
    np.testing.assert_allclose(model.theta_rate, theta.jacobian(planar_arm) @ v, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Coordinates([]), InvalidValue, "at least one coordinate"),
        (
            lambda: Coordinates.of_joints(["joint_1", "joint_1"]),
            InvalidValue,
            r"named twice in \['joint_1', 'joint_1'\]",
        ),
        (lambda: Coordinate.position("tip", "w"), UnknownName, "axis 'w'; there are: x, y, z"),
        (lambda: Coordinate.position("tip", [0, 0, 0]), InvalidValue, "must have a direction"),
        (lambda: Coordinate.position("tip", [1, np.nan, 0]), InvalidValue, "must be finite"),
        (lambda: Coordinate.heading("tip", [0, 0, 0]), InvalidValue, "must have a direction"),
    ],
)
def test_bad_coordinates_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_unknown_names(planar_arm):
    with pytest.raises(UnknownName, match="unknown joint 'elbow'; there are: joint_1"):
        Coordinates.of_joints(["elbow"]).value(planar_arm)
    with pytest.raises(UnknownName, match="unknown frame 'hand'; there are"):
        Coordinates([Coordinate.position("hand", "x")]).value(planar_arm)
