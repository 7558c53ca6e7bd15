"""The URDF descriptions against closed forms of planar arms."""

from math import pi
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import xacro

URDF = Path(__file__).parents[1] / "urdf"
GRAVITY = 9.81  # m/s², Pinocchio's default
PLANES = {"horizontal": [0, 1], "vertical": [0, 2]}  # world axes of X and Y


def load(name: str, **arguments: object) -> pin.Model:
    mappings = {key: str(value) for key, value in arguments.items()}
    text = xacro.process_file(str(URDF / f"{name}.urdf.xacro"), mappings=mappings).toxml()
    return pin.buildModelFromXML(text)


def placement(model: pin.Model, frame: str, q: np.ndarray) -> pin.SE3:
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(frame)]


def mass_matrix(model: pin.Model, q: np.ndarray) -> np.ndarray:
    M = np.triu(pin.crba(model, model.createData(), q))
    return M + np.triu(M, 1).T


def nonlinear_terms(model: pin.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return pin.nonLinearEffects(model, model.createData(), q, v)


def centres(q, lengths, com):
    """Centres of mass in the plane, n×2."""
    angle = np.cumsum(q)
    along = np.column_stack([np.cos(angle), np.sin(angle)]) * np.asarray(lengths)[:, None]
    return np.vstack([np.zeros(2), np.cumsum(along, axis=0)[:-1]]) + com * along


def closed_form_mass(q, lengths, masses, inertias, com):
    """M = Σ m JᵀJ + I 1ᵀ1, with J the Jacobian of each centre of mass."""
    n = len(q)
    joints = centres(q, lengths, 0.0)
    M = np.zeros((n, n))
    for i, centre in enumerate(centres(q, lengths, com)):
        arm = centre - joints[: i + 1]
        J = np.zeros((2, n))
        J[:, : i + 1] = np.column_stack([-arm[:, 1], arm[:, 0]]).T
        turning = (np.arange(n) <= i).astype(float)
        M += masses[i] * J.T @ J + inertias[i] * np.outer(turning, turning)
    return M


def closed_form_nonlinear(q, v, lengths, masses, inertias, com, gravity):
    """h = Ṁ v − ½ ∂(vᵀ M v)/∂q + ∂V/∂q, derivatives by central differences."""

    def gradient(function):
        step = 1e-5
        return np.array(
            [(function(q + d) - function(q - d)) / (2 * step) for d in step * np.eye(len(q))]
        )

    dM = gradient(lambda x: closed_form_mass(x, lengths, masses, inertias, com))
    dV = gradient(lambda x: gravity * masses @ centres(x, lengths, com)[:, 1])
    return np.einsum("kij,k,j->i", dM, v, v) - 0.5 * np.einsum("kij,i,j->k", dM, v, v) + dV


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ([0.2, 0.4, 0.1], [2.746] * 3, 2.746 / 12 * np.array([0.2, 0.4, 0.1]) ** 2, 0.5)),
        (
            {f"{key}{i}": value for i in (1, 2, 3) for key, value in [("l", 1), ("m", 1)]}
            | {"inertia1": 0.1, "inertia2": 0.2, "inertia3": 0.3, "com": 0.7},
            ([1.0] * 3, [1.0] * 3, [0.1, 0.2, 0.3], 0.7),
        ),
    ],
    ids=["default", "other"],
)
@pytest.mark.parametrize("plane", PLANES)
def test_three_link_dynamics(plane, parameters, expected, rng):
    model = load("three_link_slider", plane=plane, **parameters)
    lengths, masses, inertias, com = (np.asarray(value) for value in expected)
    gravity = GRAVITY if plane == "vertical" else 0.0
    for _ in range(10):
        q, v = rng.uniform(-pi, pi, 3), rng.uniform(-3, 3, 3)
        np.testing.assert_allclose(
            mass_matrix(model, q),
            closed_form_mass(q, lengths, masses, inertias, com),
            atol=1e-12,
        )
        np.testing.assert_allclose(
            nonlinear_terms(model, q, v),
            closed_form_nonlinear(q, v, lengths, masses, inertias, com, gravity),
            atol=1e-7,
        )


@pytest.mark.parametrize(("l", "m"), [(1.0, 1.0), (0.6, 2.5)])
@pytest.mark.parametrize("plane", PLANES)
def test_slider_crank_dynamics(plane, l, m, rng):  # noqa: E741
    """Aghili VIII: point masses at the distal ends."""
    model = load("slider_crank", plane=plane, l=l, m=m)
    g = GRAVITY if plane == "vertical" else 0.0
    for _ in range(10):
        q, v = rng.uniform(-pi, pi, 2), rng.uniform(-3, 3, 2)
        c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q.sum())
        M = m * l**2 * np.array([[3 + 2 * c2, 1 + c2], [1 + c2, 1]])
        h = m * l**2 * s2 * np.array([-(v[1] ** 2) - 2 * v[0] * v[1], v[0] ** 2])
        h += m * l * g * np.array([c12 + 2 * c1, c12])
        np.testing.assert_allclose(mass_matrix(model, q), M, atol=1e-12)
        np.testing.assert_allclose(nonlinear_terms(model, q, v), h, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "lengths"), [("three_link_slider", [0.2, 0.4, 0.1]), ("slider_crank", [1, 1])]
)
@pytest.mark.parametrize("carriage", [False, True])
@pytest.mark.parametrize("plane", PLANES)
def test_frames(plane, carriage, name, lengths):
    x, y, angle, along = 0.3, -0.2, 0.7, 0.05
    model = load(
        name,
        plane=plane,
        carriage=str(carriage).lower(),
        slider_x=x,
        slider_y=y,
        slider_angle=angle,
    )
    q = pin.neutral(model)
    angles = np.array([0.4, -1.1, 0.9])[: len(lengths)]
    for i, value in enumerate(angles, 1):
        q[model.joints[model.getJointId(f"joint_{i}")].idx_q] = value
    axes = PLANES[plane]
    tip = placement(model, "tip", q)
    np.testing.assert_allclose(tip.translation[axes], centres([*angles, 0], [*lengths, 0], 0)[-1])
    np.testing.assert_allclose(np.delete(tip.translation, axes), 0, atol=1e-15)

    slider = placement(model, "slider", q)
    direction = np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(slider.translation[axes], [x, y])
    np.testing.assert_allclose(slider.rotation[axes, 0], direction)

    assert model.nq == model.nv == len(lengths) + 2 * carriage
    if carriage:
        q[model.joints[model.getJointId("carriage_joint")].idx_q] = along
        q[model.joints[model.getJointId("pin_joint")].idx_q] = 0.3
        moved = placement(model, "carriage", q).translation
        np.testing.assert_allclose(moved[axes], np.array([x, y]) + along * direction)
        np.testing.assert_allclose(placement(model, "pin", q).translation, tip.translation)


def test_carriage_masses():
    model = load("three_link_slider", carriage="true", carriage_mass=0.02, pin_mass=0.03)
    masses = [
        model.inertias[model.getJointId(f"{name}_joint")].mass for name in ("carriage", "pin")
    ]
    assert masses == [0.02, 0.03]


def test_limits_and_friction():
    model = load(
        "three_link_slider",
        effort1=5,
        effort2=6,
        effort3=7,
        velocity=3,
        lower=-1,
        upper=2,
        damping=0.05,
        friction=0.3,
    )
    assert list(model.names)[1:] == ["joint_1", "joint_2", "joint_3"]
    np.testing.assert_array_equal(model.effortLimit, [5, 6, 7])
    np.testing.assert_array_equal(model.velocityLimit, 3)
    np.testing.assert_array_equal(model.lowerPositionLimit, -1)
    np.testing.assert_array_equal(model.upperPositionLimit, 2)
    np.testing.assert_array_equal(model.damping, 0.05)
    np.testing.assert_array_equal(model.friction, 0.3)


@pytest.mark.parametrize("name", ["three_link_slider", "slider_crank"])
def test_inertias_are_physical(name):
    for inertia in list(load(name, carriage="true").inertias)[1:]:
        a, b, c = np.sort(np.linalg.eigvalsh(inertia.inertia))
        assert inertia.mass > 0
        assert a >= 0
        assert c <= a + b


def test_unknown_plane_is_refused():
    with pytest.raises(xacro.XacroException, match="'horizontal' or 'vertical', not 'oblique'"):
        load("three_link_slider", plane="oblique")
