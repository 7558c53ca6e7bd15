"""Selection matrix, admittance, computed torque and gravity compensation."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from arms import planar_chain_model, spatial_model, state_on
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest

from projected_control.apps.bench.tick_cases import spatial_urdf
from projected_control.control import (
    ComputedTorqueController,
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    Law,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    SelectionController,
)
from projected_control.control.disturbance import Disturbance
from projected_control.control.events import Action
from projected_control.control.laws.admittance import Admittance, AdmittanceController
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue, UnknownName, UnstableForceLoop
from projected_control.model.arm import Arm, OffsetFrame
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric

HOME = np.array([0.3, 0.8, -0.5, 0.9, -0.7, -0.4, -0.2])
GAINS, FORCE = MotionGains(100.0, 20.0), ForceGains(integral=0.0)
TILTED = [0.0, np.sin(0.2), np.cos(0.2)]


def model(normal=(0.0, 0.0, 1.0), across=True, frames=None):
    """Seven joints, the tip on a plane; place and orientation, without tip.z if not across."""
    arm = Arm.from_urdf(spatial_urdf(), frames=frames)
    tip = arm.update(HOME, np.zeros(7)).frame("tip")
    along = [Coordinate.position("tip", axis) for axis in ("xyz" if across else "xy")]
    members = [*along, *Coordinate.orientation("tip", tip.rotation.copy())]
    plane = PointOnPlane("tip", tip.position, normal)
    return ConstrainedArm(arm, plane, Coordinates(members))


BOTH = PerTest(
    {
        "selection": lambda: SelectionController(model(), GAINS, FORCE, ["tip.z"]),
        "hybrid": lambda: ForceController(model(across=False), GAINS, FORCE),
    }
)


@given(seed=st.integers(0, 2**32 - 1))
def test_where_the_frame_is_right_it_does_what_hybrid_control_does(seed):
    """On a plane whose normal is the selected z: the same motion and the same λ, to 1e-8."""
    random, found = np.random.default_rng(seed), []
    away, force = 0.05 * random.normal(size=6), 10.0 * random.uniform()
    q, v = state_on(BOTH["hybrid"].model, seed, HOME, 0.2)
    for name in BOTH:
        controller = BOTH[name]
        at = controller.model.evaluate(q, v)
        rows = [i for i, n in enumerate(at.coordinates.names) if n != "tip.z"]
        controller.motion[0] = at.theta
        controller.motion[0, rows] += np.delete(away, 2)
        controller.motion[1:] = 0.0
        controller.force.set_reference([force])
        controller.force.measured[:] = 0.5 * force
        answer = projected(Problem.of(at, controller.update(q, v).total))
        theta = at.J_theta @ answer.acceleration + at.theta_bias
        found.append(np.append(theta[rows], answer.multipliers))
    scale = max(1.0, np.abs(found[1]).max())
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-8 * scale)


def test_where_it_is_wrong_it_is_off_unless_told_the_frame():
    """On a plane tilted by 11°, z of the world is off by newtons; z of the plane's frame is not."""
    table = {"table": OffsetFrame("link_0", orientation=(-0.2, 0.0, 0.0))}
    off = []
    for frame in ("", "table"):
        controller = SelectionController(
            model(TILTED, frames=table), GAINS, FORCE, ["tip.z"], frame=frame
        )
        at = controller.model.evaluate(HOME, np.zeros(7))
        controller.motion[0] = at.theta
        controller.motion[0, :3] += np.array([0.05, 0.05, -0.05 * np.tan(0.2)])
        controller.force.set_reference([10.0])
        controller.force.measured[:] = 10.0
        effort = controller.update(HOME, np.zeros(7)).total
        off.append(abs(projected(Problem.of(at, effort)).multipliers[0] - 10.0))
    assert off[0] > 0.5
    assert off[1] < 1e-8


def test_what_is_no_selection_is_refused():
    with pytest.raises(InvalidValue, match=r"needs the coordinates.*tip\.z"):
        SelectionController(model(), GAINS, FORCE, [])
    with pytest.raises(UnknownName, match=r"tip\.w.*tip\.z"):
        SelectionController(model(), GAINS, FORCE, ["tip.w"])
    with pytest.raises(InvalidValue, match="passive"):
        SelectionController(planar_chain_model(("joint_4",)), GAINS, FORCE, ["joint_1"])


def test_an_admittance_moves_as_a_mass_in_a_viscous_fluid():
    """M_a ẍ + D_a ẋ = F: x = F/D (t − τ (1 − e^(−t/τ))), τ = M/D; to the sampling, along z alone.

    What is sent is the position loop's answer to a reference that is there.
    """
    ways = Admittance(4.0, 80.0)  # τ = 50 ms
    controller = AdmittanceController(model(), GAINS, FORCE, ["tip.z"], ways)
    plain = AdmittanceController(model(), GAINS, FORCE, ["tip.z"], ways)
    at = controller.model.evaluate(HOME, np.zeros(7))
    controller.motion[0] = plain.motion[0] = at.theta
    controller.force.set_reference([10.0])
    controller.force.measured[:] = 2.0
    plain.force.measured[:] = 0.0
    time = 0.2
    for _ in range(round(time / 1e-3)):
        effort = controller.update(HOME, np.zeros(7)).total.copy()
    place, rate = controller.terms.yielded
    z = at.coordinates.names.index("tip.z")
    decay = np.exp(-time / 0.05)
    np.testing.assert_allclose(abs(rate[z]), 0.1 * (1.0 - decay), rtol=2e-2)
    np.testing.assert_allclose(abs(place[z]), 0.1 * (time - 0.05 * (1.0 - decay)), rtol=2e-2)
    np.testing.assert_allclose(np.delete(place, z), 0.0, atol=1e-12)
    plain.motion[0] += place
    plain.motion[1] += rate
    expected = plain.update(HOME, np.zeros(7)).total
    slope = (8.0 - 80.0 * abs(rate[z])) / 4.0 * np.sign(rate[z])  # ẍ_c, which the other lacks
    answer = at.J_theta @ np.linalg.solve(at.M, effort - expected)
    np.testing.assert_allclose(answer[z], slope, rtol=3e-2)
    controller.stop(HOME, np.zeros(7))
    assert not controller.terms.yielded.any()


def test_the_rate_of_the_error_is_that_of_the_filtered_force():
    """u_λ with G_V less that without is −G_V times what the filter changed, over the period."""
    gains = ForceGains(0.3, 0.0, 20.0, derivative=0.004)
    pair = [
        SelectionController(model(), GAINS, force, ["tip.z"])
        for force in (gains, replace(gains, derivative=0.0))
    ]
    before = np.nan
    for measured in (1.0, 1.5, 3.0, 2.0):
        for each in pair:
            each.model.evaluate(HOME, np.zeros(7))
            each.motion[0] = each.model.theta
            each.force.measured[:] = measured
            each.update(HOME, np.zeros(7))
        filtered = pair[0].force.filtered[0]
        less = pair[0].terms.u_lambda[0] - pair[1].terms.u_lambda[0]
        if np.isfinite(before):
            assert less == pytest.approx(-0.004 * (filtered - before) / 1e-3, rel=1e-9)
            assert abs(less) > 1e-3
        before = filtered


def test_a_rate_that_would_diverge_is_refused_with_one_that_would_not():
    """While it runs, too: the old one stays; what is taken blends in."""
    controller = SelectionController(model(), GAINS, ForceGains(0.3, 0.0, 20.0), ["tip.z"])
    controller.model.evaluate(HOME, np.zeros(7))
    wanted = replace(controller.force.gains, derivative=1.0)
    with pytest.raises(UnstableForceLoop, match=r"G_V must stay below (\S+) s") as refused:
        controller.force.set_gains(wanted, 0.0)
    bound = float(re.search(r"below (\S+) s", str(refused.value)).group(1))
    assert controller.force.gains.derivative == 0.0
    assert replace(wanted, derivative=0.99 * bound).loop(1e-3).stable
    assert not replace(wanted, derivative=1.01 * bound).loop(1e-3).stable
    controller.force.set_gains(replace(wanted, derivative=0.5 * bound), 0.01)
    loop = ControlLoop(controller, Constant(controller.model.theta))
    loop.begin(RawState(HOME, np.zeros(7), 0.0, np.zeros(6)))
    seen = []
    for tick in range(1, 15):
        loop.update(RawState(HOME, np.zeros(7), 1e-3 * tick, np.zeros(6)))
        seen.append(float(controller.terms.force_derivative[0]))
    assert seen[-1] == pytest.approx(0.5 * bound)
    assert all(a <= b for a, b in itertools.pairwise(seen))
    assert 0.0 < seen[3] < seen[-1]


# Computed torque and gravity compensation


def joint_model(order=1, metric=None):
    arm = Arm.from_urdf(spatial_urdf())
    return ConstrainedArm(arm, None, Coordinates.of_joints(arm.joint_names[::order]), metric=metric)


@pytest.mark.parametrize("metric", [None, Metric.from_limits(np.linspace(0.5, 2.0, 7))])
@pytest.mark.parametrize("order", [1, -1])
@given(seed=st.integers(0, 2**32 - 1))
def test_computed_torque_is_pidc_of_a_free_arm(order, metric, seed):
    at, random = joint_model(order, metric), np.random.default_rng(seed)
    q, v = random.normal(size=(2, 7))
    motion, efforts = random.normal(size=(3, 7)), []
    for controller in (ComputedTorqueController(at, GAINS), MotionController(at, GAINS)):
        controller.motion[:] = motion
        efforts.append(controller.update(q, v).total.copy())
    np.testing.assert_allclose(*efforts, rtol=0.0, atol=1e-9 * np.abs(efforts[1]).max())


def test_gravity_compensation_carries_the_arm_and_damps_it():
    """f = h − d M q̇: at rest the weight, to 1e-12, whatever the reference; in motion q̈ = −d q̇."""
    at = joint_model()
    controller = ComputedTorqueController(at, MotionGains(1.0, 1.0, 5.0), gravity=True)
    controller.motion[:] = 3.0
    effort = controller.update(HOME, np.zeros(7)).total.copy()
    np.testing.assert_allclose(effort, at.arm.twin().update(HOME, np.zeros(7)).h, atol=1e-12)
    v = np.linspace(-1.0, 1.0, 7)
    answer = projected(Problem.of(at, controller.update(HOME, v).total))
    np.testing.assert_allclose(answer.acceleration, -5.0 * v, atol=1e-9)
    assert controller.motion_loops(5) == []
    with pytest.raises(InvalidValue, match="led by hand"):
        controller.set_disturbance(Disturbance("integral"))


def test_computed_torque_needs_all_joints():
    at = ConstrainedArm(joint_model().arm, None, Coordinates.of_joints(["joint_1"]))
    with pytest.raises(InvalidValue, match="follows every joint"):
        ComputedTorqueController(at, GAINS)


# The guard holds for every law


def controllers():
    spatial = spatial_model()
    return {
        Law.OPERATIONAL_SPACE: OperationalSpaceController(spatial, GAINS, (1, 1, 2, 2), FORCE),
        Law.IMPEDANCE: ImpedanceController(spatial, Impedance(50.0), FORCE),
        Law.SELECTION: SelectionController(model(), GAINS, FORCE, ["tip.z"]),
        Law.ADMITTANCE: AdmittanceController(model(), GAINS, FORCE, ["tip.z"], Admittance()),
        Law.COMPUTED_TORQUE: ComputedTorqueController(joint_model(), GAINS),
        Law.GRAVITY: ComputedTorqueController(joint_model(), GAINS, gravity=True),
    }


@pytest.mark.parametrize("law", list(controllers()), ids=lambda law: law.name)
def test_guard_bumpless_start_stop_and_bad_states(law):
    controller = controllers()[law]
    at = controller.model
    loop = ControlLoop(controller, Constant(at.evaluate(HOME, np.zeros(7)).theta))
    start = RawState(HOME, np.zeros(7), 0.0, np.zeros(6))
    if law in (Law.OPERATIONAL_SPACE, Law.IMPEDANCE):
        q = state_on(at, 1, 0.4, 0.2)[0]
        loop.set_reference(Constant(at.evaluate(q, np.zeros(7)).theta))
        start = RawState(q, np.zeros(7), 0.0, np.zeros(6))
    loop.begin(start)
    needed = loop.guard.sent.copy()
    assert np.abs(needed).max() > 1.0
    first = loop.update(start._replace(stamp=1e-3))
    assert first.action is Action.FOLLOW
    assert np.abs(first.effort - needed).max() <= 1.0 + 1e-9  # 1000 N·m/s, one tick
    bad = loop.update(start._replace(stamp=2e-3, q=np.full(7, np.nan)))
    assert bad.action is Action.HOLD
    np.testing.assert_array_equal(bad.effort, first.effort)
    if controller.force is not None:  # no wrench: the arm is braked and carries itself
        late = loop.update(start._replace(stamp=3e-3, wrench=None))
        assert late.action is Action.STOP
        np.testing.assert_allclose(at.P @ (controller.effort.total - at.h), 0.0, atol=1e-9)
