"""The posture of a redundant arm: a task below all others."""

import numpy as np
import pytest
from arms import random_urdf, state_on
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest
from scipy.integrate import solve_ivp

from projected_control.control import (
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    Posture,
)
from projected_control.errors import ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric
from projected_control.settings import build
from projected_control.settings.nodes import MOTION, MotionControllerSettings

HOME = np.full(7, 0.4)
GAINS = MotionGains([100.0, 80.0], [20.0, 15.0], null_damping=6.0)
WEIGHTS = np.linspace(0.5, 2.0, 7)


def model(metric=None):
    """Seven joints, the end on a plane, two coordinates: four motions are left free."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    place = arm.update(HOME, np.zeros(7)).frame("end_7").position
    theta = Coordinates([Coordinate.position("end_7", axis) for axis in "xy"])
    return ConstrainedArm(arm, PointOnPlane("end_7", place, [0.0, 0.0, 1.0]), theta, metric=metric)


def controller(law, metric=None):
    if law is Law.HYBRID:
        return ForceController(model(metric), GAINS, ForceGains())
    return MotionController(model(metric), GAINS, law)


CONTROLLERS = PerTest(
    {
        "PIDC": lambda: controller(Law.PIDC),
        "IDC": lambda: controller(Law.IDC),
        "hybrid": lambda: controller(Law.HYBRID),
        "with a metric": lambda: controller(Law.PIDC, Metric.from_limits(WEIGHTS)),
    }
)


def acceleration(controller, q, v):
    """q̈ that the law makes, in joint units."""
    effort = controller.update(q, v).total
    answer = projected(Problem.of(controller.model, effort))
    return answer.acceleration / controller.model.sqrt_metric


@pytest.mark.parametrize("name", CONTROLLERS)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_posture_disturbs_neither_coordinates_nor_constraint(name, seed):
    """θ̈ and A q̈ are the same with and without, to 1e-9, at any state; q̈ is not."""
    controller = CONTROLLERS[name]
    at = controller.model
    q, v = state_on(at, seed, HOME, 0.3)
    random = np.random.default_rng(seed)
    controller.motion[:] = random.normal(size=(3, 2))
    controller.motion[0] = at.theta + 0.1 * controller.motion[0]
    target = q + random.uniform(-1.0, 1.0, 7)
    found = []
    for posture in (None, Posture(target, 50.0, 3.0)):
        controller.reset()
        controller.set_posture(posture)
        found.append(acceleration(controller, q, v))
    change = found[1] - found[0]
    size = np.linalg.norm(change)
    assert size > 1e-3
    J, A = at.J_theta * at.sqrt_metric, at.A * at.sqrt_metric
    assert np.abs(J @ change).max() < 1e-9 * max(size, 1.0)
    assert np.abs(A @ change).max() < 1e-9 * max(size, 1.0)


def run(controller, q, seconds):
    """The closed loop from rest, held at its coordinates; the states at a hundred times."""
    controller.reset()
    controller.hold(q)
    controller.motion[0] += [0.03, -0.02]

    def slope(time, y):
        return np.concatenate([y[7:], acceleration(controller, y[:7], y[7:])])

    times = np.linspace(0.0, seconds, 100)
    start = np.concatenate([q, np.zeros(7)])
    done = solve_ivp(slope, (0.0, seconds), start, rtol=1e-10, atol=1e-12, t_eval=times)
    assert done.success
    return done.y


def test_the_posture_converges_and_the_coordinates_do_not_notice():
    """After 4 s nothing pulls any more that is free to move; θ(t) is the same to 1e-9 m."""
    controller = CONTROLLERS["PIDC"]
    at = controller.model
    q, _ = state_on(at, 1, HOME, 0.1)
    target = q + 0.2 * np.random.default_rng(2).uniform(-1.0, 1.0, 7)
    motions, pulls = [], []
    for posture in (None, Posture(target, 25.0, 4.0)):
        controller.set_posture(posture)
        states = run(controller, q, 4.0)
        motions.append([at.evaluate(y[:7], y[7:]).theta.copy() for y in states.T])
        pull = []
        for y in states.T[[0, -1]]:
            at.evaluate(y[:7], y[7:])
            rows = np.vstack([at.A, at.J_theta])
            free = np.eye(7) - np.linalg.pinv(rows) @ rows
            pull.append(np.linalg.norm(free @ (target - y[:7])))
        pulls.append(pull)
    np.testing.assert_allclose(motions[0], motions[1], atol=1e-9)
    assert pulls[0][1] > 0.5 * pulls[0][0]  # damping alone leaves the arm where it is
    assert pulls[1][1] < 1e-3 * pulls[1][0]


def test_a_stop_leaves_the_posture_aside():
    controller = CONTROLLERS["PIDC"]
    q, v = state_on(controller.model, 3, HOME, 0.1)
    efforts = []
    for posture in (None, Posture(q + 0.3)):
        controller.set_posture(posture)
        efforts.append(controller.stop(q, v).total.copy())
    np.testing.assert_array_equal(*efforts)


SETTINGS = {
    "robot_description": random_urdf(3, 7),
    "constraint.kind": "none",
    "coordinates": ["end_7.x", "end_7.y"],
}


def made(**posture):
    values = {f"posture.{name}": value for name, value in posture.items()}
    return build.build_controller(MOTION, MotionControllerSettings.of({**SETTINGS, **values}))


def test_posture_by_parameters():
    assert made().posture.target is None
    assert made(hold=0.0).posture is None
    posture = made(target=[0.1] * 7, stiffness=9.0, damping=1.0).posture
    assert (list(posture.target), posture.stiffness, posture.damping) == ([0.1] * 7, 9.0, 1.0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"posture.target": [0.1, 0.2]},
            "posture.target must have 7 numbers, one per joint, got 2",
        ),
        ({"posture.target": [0.1] * 7, "gains.null_damping": 0.0}, "nothing damps the motion"),
        ({"posture.target": [0.1] * 7, "posture.stiffness": 9e5}, "loop of posture would diverge"),
        ({"posture.target": [0.1] * 7, "posture.damping": -1.0}, "at least 0"),
    ],
)
def test_postures_that_are_refused(values, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_controller(MOTION, MotionControllerSettings.of({**SETTINGS, **values}))
