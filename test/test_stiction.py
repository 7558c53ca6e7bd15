"""Dry friction that sticks, encoders with steps, motors that are late: the arm as it is."""

import numpy as np
import pytest
from arms import slider_model, spatial_model, state_on
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_control import SimulatedArm
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.planning import assemble
from projected_control.simulation import Encoders, JointFriction, Motors, Plant

T = 1e-3

SLED = """
<robot name="sled"><link name="world"/>
<joint name="x" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="100" velocity="10"/></joint>
<link name="cart"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="z" type="prismatic"><parent link="cart"/><child link="foot"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="100" velocity="10"/></joint>
<link name="foot"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>
"""
"""A cart of 2 kg that carries a foot of 1 kg: m = 3 kg along x."""


def sled(friction=None, **more):
    """The cart, its foot on the floor: one free direction."""
    model = ConstrainedArm(Arm.from_urdf(SLED), PointOnPlane("foot", [0, 0, 0], [0, 0, 1]))
    return Plant(model, T, friction=friction or JointFriction(), **more)


def test_below_breakaway_nothing_moves_for_ten_seconds():
    """7 joints in gravity on 3 rows, a motor effort within the static friction: not 1e-12 rad."""
    model = spatial_model()
    q, _ = state_on(model, 1, np.full(7, 0.4), spread=0.05)
    plant = Plant(
        ConstrainedArm(model.arm.twin(), model.constraint),
        T,
        friction=JointFriction(0.5, 0.1, static=0.6, sticks=True),
    )
    model.evaluate(q, np.zeros(7))
    weight = model.h.copy()
    start = plant.reset(q).q
    for k in range(10_000):
        plant.step(weight + 0.1 * np.sin(0.01 * k + np.arange(7)))
    assert np.abs(plant.q - start).max() < 1e-12
    assert np.abs(plant.v).max() < 1e-12


def test_a_smooth_curve_creeps_where_set_valued_friction_holds():
    """The same sled under 0.9 of its friction: 45 mm in ten seconds, and none."""
    moved = {}
    for sticks in (False, True):
        plant = sled(JointFriction([2.0, 0.0], sticks=sticks))
        plant.reset(np.zeros(2))
        for _ in range(10_000):
            plant.step([1.8, 9.81])
        moved[sticks] = abs(plant.q[0])
    assert moved[False] > 0.04
    assert moved[True] < 1e-15


def test_it_slides_with_the_right_deceleration_and_stops():
    """v̇ = −F_c/m, way v²/2a, and then rest: to 1e-9 of the closed form but for the last step."""
    plant = sled(JointFriction([2.0, 0.0], sticks=True))
    plant.reset(np.zeros(2), [0.5, 0.0])
    a, rates = 2.0 / 3.0, []
    for _ in range(1000):
        plant.step([0.0, 9.81])
        rates.append(plant.v[0])
    times = T * np.arange(1, 1001)
    np.testing.assert_allclose(rates, np.maximum(0.5 - a * times, 0.0), atol=1e-12)
    assert plant.q[0] == pytest.approx(0.5**2 / (2 * a), abs=1e-6)
    assert abs(plant.v[0]) < 1e-15


def test_breakaway_takes_static_friction_and_motion_less():
    """2.9 N hold against a static 3 N; after 3.1 N it goes on with 2.5 N, F_c being 2 N."""
    plant = sled(JointFriction([2.0, 0.0], static=[3.0, 0.0], stribeck=0.01, sticks=True))
    plant.reset(np.zeros(2))
    for _ in range(500):
        plant.step([2.9, 9.81])
    assert abs(plant.q[0]) < 1e-15
    for _ in range(600):
        plant.step([3.1, 9.81])
    before = plant.v[0]
    for _ in range(500):
        plant.step([2.5, 9.81])
    assert plant.v[0] - before == pytest.approx(0.5 * 0.5 / 3.0, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31))
def test_dry_friction_never_gives_energy(seed):
    """Energy after a step is never more than before it, without motors: random arms and states."""
    model = spatial_model()
    q, v = state_on(model, seed % 50, np.full(7, 0.4), spread=0.1)
    friction = JointFriction(np.random.default_rng(seed).uniform(0.1, 5.0, 7), sticks=True)
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint), T, friction=friction)
    state = plant.reset(q, 0.1 * v)
    for _ in range(100):
        plant.step(np.zeros(7))
        after = plant.state
        assert after.work <= state.work + 1e-9
        assert after.energy - after.work == pytest.approx(state.energy - state.work, abs=1e-6)
        state = after


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31))
def test_friction_and_velocity_fit_each_other(seed):
    """At the end of a step each joint slides under its full friction, or stands within it."""
    model = slider_model()
    q, v = state_on(model, seed % 97, np.array([-3.8, 2.4, 1.4]), spread=0.3)
    random = np.random.default_rng(seed)
    plant = Plant(
        ConstrainedArm(model.arm.twin(), model.constraint),
        T,
        friction=JointFriction(random.uniform(0.05, 1.0, 3), sticks=True),
    )
    plant.reset(q, 0.01 * v)
    for _ in range(20):
        plant.step(random.normal(0.0, 0.3, 3))
        terms = plant.terms
        slides = np.abs(terms.next_rate) > 1e-12
        opposed = -terms.bound * np.sign(terms.next_rate)
        np.testing.assert_allclose(terms.rubbing[slides], opposed[slides], atol=1e-9)
        assert (np.abs(terms.rubbing) <= terms.bound).all()


def test_a_contact_rubs_with_its_share_of_the_normal_force():
    """A foot of 1 kg on the floor, pressed with 11 N more, µ = 0.1: it decelerates by µN/m."""
    plant = sled(contact_friction=0.1)
    plant.reset(np.zeros(2), [0.5, 0.0])
    plant.step([0.0, -11.0])
    before = plant.v[0]
    for _ in range(100):
        plant.step([0.0, -11.0])
    expected = 0.1 * (11.0 + 9.81) / 3.0 * 0.1
    assert before - plant.v[0] == pytest.approx(expected, rel=1e-9)
    for _ in range(2000):
        plant.step([1.0, -11.0])
    place = plant.q[0]
    for _ in range(1000):
        plant.step([1.5, -11.0])
    assert plant.q[0] == pytest.approx(place, abs=1e-12)
    assert plant.state.multipliers[0] == pytest.approx(-(11.0 + 9.81))


def test_encoders_read_in_steps_and_difference_them():
    plant = sled()
    steps = 2.0 * np.pi / 4096
    encoders = Encoders(resolution=steps, velocity="differenced")
    arm = SimulatedArm(plant, np.zeros(2), [0.3, 0.0], encoders=encoders)
    arm.open()
    read = []
    for _ in range(200):
        read.append(arm.read())
        arm.write(np.array([0.0, 9.81]))
    q = np.array([state.q[0] for state in read])
    np.testing.assert_allclose(q / steps, np.rint(q / steps), atol=1e-9)
    np.testing.assert_allclose(q, 0.3 * T * np.arange(200), atol=0.51 * steps)
    v = np.array([state.v[0] for state in read])
    np.testing.assert_allclose(v[1:], np.diff(q) / T, atol=1e-12)
    assert v[1:].std() > 0.1
    arm.encoders = Encoders(resolution=steps, velocity="filtered", cutoff=10.0)
    arm.open()
    smooth = []
    for _ in range(400):
        smooth.append(arm.read().v[0])
        arm.write(np.array([0.0, 9.81]))
    assert np.std(smooth[100:]) < 0.1 * v[1:].std()
    assert np.mean(smooth[100:]) == pytest.approx(0.3, rel=0.05)


def test_motors_are_late_and_noisy():
    """Three samples of delay: the first effort acts in the fourth; noise as drawn."""
    plant = sled()
    arm = SimulatedArm(plant, np.zeros(2), motors=Motors(noise=[0.1, 0.0], delay=3, seed=7))
    arm.open()
    rates = [0.0]
    for _ in range(2000):
        arm.read()
        arm.write(np.array([3.0, 9.81]))
        rates.append(plant.v[0])
    gained = np.diff(rates) / T * 3.0
    np.testing.assert_allclose(gained[:3], 0.0, atol=1e-12)
    assert gained[3:].mean() == pytest.approx(3.0, abs=0.01)
    assert gained[3:].std() == pytest.approx(0.1, rel=0.05)


def test_motors_give_no_more_than_they_can():
    """A limit of 2 N of 3 asked for, to the last bit and noise included; a push acts beside it."""
    plant = sled()
    arm = SimulatedArm(plant, np.zeros(2), motors=Motors(noise=[0.5, 0.0], limit=[2.0, 0.0]))
    arm.open()
    for _ in range(200):
        arm.read()
        arm.write(np.array([3.0, 50.0]))
    given = []
    for push in (0.0, 1.0):
        arm.push[:] = push, 0.0
        for _ in range(100):
            arm.write(np.array([-3.0, 50.0]))
            given.append(arm.sense() and arm.truth.motor_effort)
    given = np.array(given)
    assert given[:100, 0].min() == -2.0
    assert (given[:100, 0] == -2.0).mean() > 0.9  # noise of 0.5 seldom brings 3 below 2
    assert given[100:, 0].min() == -1.0
    assert (given[:, 1] == 50.0).all()
    with pytest.raises(InvalidValue, match="motor limit must be one number or 2"):
        arm.motors = Motors(limit=[1.0, 2.0, 3.0])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidValue, match="motor limit must not be negative"):
            Motors(limit=bad)
    driven = sled()
    driven.drive = 20.0
    with pytest.raises(InvalidValue, match="joints with drives"):
        SimulatedArm(driven, np.zeros(2), motors=Motors(limit=2.0))


def test_bad_friction_is_refused():
    with pytest.raises(InvalidValue, match="must not be less than Coulomb"):
        JointFriction(1.0, static=0.5)
    with pytest.raises(InvalidValue, match="coulomb friction must be one number or 2"):
        sled(JointFriction([1.0, 2.0, 3.0]))
    with pytest.raises(InvalidValue, match="needs a constraint with a frame"):
        Plant(ConstrainedArm(Arm.from_urdf(SLED)), T, contact_friction=0.1)
    model = slider_model()
    q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0])
    plant = Plant(slider_model(), T)
    with pytest.raises(InvalidValue, match="encoder resolution must be one number or 3"):
        SimulatedArm(plant, q, encoders=Encoders([0.1, 0.2]))
