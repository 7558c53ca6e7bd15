"""Angular momentum as a coordinate whose rate alone means anything, beside Pinocchio's."""

import numpy as np
import pinocchio
import pytest
from arms import spatial_model

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import run_task
from projected_control.control import (
    Impedance,
    ImpedanceController,
    MotionController,
    MotionGains,
    ResolvedRateController,
)
from projected_control.control.disturbance import Disturbance
from projected_control.control.law_kinds import Law
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.resources import share_file

AXES = Coordinates([Coordinate.angular_momentum(axis) for axis in "xyz"])


def quadruped():
    return Arm.from_urdf(share_file("urdf", "quadruped.urdf.xacro"), base="floating")


ROBOTS = {"floating": quadruped, "fixed": lambda: spatial_model().arm}


def inertia(arm, axis):
    """I₀ of a coordinate, from Pinocchio."""
    model, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    pinocchio.ccrba(model, data, pinocchio.neutral(model), np.zeros(model.nv))
    return data.Ig.inertia[axis, axis]


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("seed", range(5))
def test_rate_and_bias_are_pinocchios_centroidal_momentum(robot, seed):
    """J q̇ I₀ = L and bias I₀ = L̇ at q̈ = 0, relative 1e-12; the value is zero."""
    arm, random = ROBOTS[robot](), np.random.default_rng(seed)
    q, v = random.uniform(-1.0, 1.0, arm.n), random.normal(size=arm.n)
    model = ConstrainedArm(arm, None, AXES).evaluate(q, v)
    inner, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    place, rest = arm.pinocchio_q(q), np.zeros(arm.n)
    pinocchio.computeCentroidalMomentumTimeVariation(inner, data, place, v, rest)
    expected, drift = data.hg.angular.copy(), data.dhg.angular.copy()
    whole = np.array([inertia(arm, i) for i in range(3)])
    assert model.J_theta @ v * whole == pytest.approx(expected, rel=1e-11, abs=1e-12)
    assert model.theta_bias * whole == pytest.approx(drift, rel=1e-10, abs=1e-11)
    assert not model.theta.any()


def test_a_robot_follows_its_angular_momentum_and_that_of_none():
    """While it squats: L about x and z stays zero, about y it follows a rate."""
    names = [f"centre_of_mass.{axis}" for axis in "xyz"]
    own = {
        "coordinates": [*names, *(f"angular_momentum.{axis}" for axis in "xyz")],
        "reference.offset": [-0.019129, 0.0, 0.247718, 0.0, 0.0, 0.0],
        "reference.amplitude": [0.0, 0.0, 0.03, 0.0, 0.05, 0.0],
        "reference.frequency": [0.5, 0.5, 0.5, 0.5, 1.0, 0.5],
        "gains.stiffness": [400.0],
    }
    asked = settings_for("quadruped", 1.6, "paper", True, own)
    run = run_task(asked.case.node, asked.controller, asked.arm, asked.ticks)
    late = run.samples.times > 1.0
    kept, arm = run.kept, quadruped()
    inner, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    found = []
    for q, v in zip(kept.column("true_q")[late], kept.column("true_v")[late], strict=True):
        pinocchio.computeCentroidalMomentum(inner, data, arm.pinocchio_q(q), v)
        found.append(data.hg.angular.copy())
    rates = np.array(found) / [inertia(arm, i) for i in range(3)]
    desired = kept.column("motion").reshape(len(kept.column("motion")), 3, 6)[late, 1, 3:]
    assert np.ptp(desired[:, 1]) > 0.2
    assert np.abs(rates - desired).max() < 5e-3
    assert np.abs(kept.column("error")[late][:, :3]).max() < 1e-3


def test_resolved_rates_of_no_momentum_have_none():
    """Whatever θ_d and the gains say: there is no error to go by."""
    arm = spatial_model().arm
    model = ConstrainedArm(arm, None, AXES)
    q = np.linspace(-0.5, 0.7, arm.n)
    model.evaluate(q, np.zeros(arm.n))
    law = ResolvedRateController(model, MotionGains(40.0, 8.0))
    law.motion[0] = 0.3
    assert np.abs(law.update(q, np.zeros(arm.n)).total).max() < 1e-12
    law.motion[1] = [0.1, -0.2, 0.05]
    assert model.J_theta @ law.update(q, np.zeros(arm.n)).total == pytest.approx(law.motion[1])


def test_what_has_no_error_to_go_by_is_refused():
    arm = spatial_model().arm
    model = ConstrainedArm(arm, None, AXES)
    with pytest.raises(InvalidValue, match="no error but that of its rate"):
        ImpedanceController(model, Impedance([1.0, 1.0, 1.0]))
    law = MotionController(model, MotionGains(40.0, 8.0), Law.PIDC)
    with pytest.raises(InvalidValue, match="no error to integrate"):
        law.set_disturbance(Disturbance("integral", 10.0))
    with pytest.raises(UnknownName, match="axis"):
        Coordinate.angular_momentum("w")
