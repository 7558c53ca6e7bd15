"""Rigid one-sided contacts of the plant: impacts by complementarity, touch, slide, stick, loss."""

import json

import numpy as np
import pytest
from arms import random_urdf, slider_crank_case
from hypothesis import given
from hypothesis import strategies as st

from projected_control.apps.cli import main
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    Distance,
    JointLocked,
    PointOnLine,
    PointOnPlane,
    PointOnSphere,
    Stack,
)
from projected_control.model.friction import JointFriction
from projected_control.simulation import Plant
from projected_control.simulation.impacts import STRUCK, impact, look_for_touch, press_apart
from projected_control.simulation.surfaces import Surface

SEEDS = st.integers(0, 2**32 - 1)
Q = np.array([np.pi / 3, -2.0 * np.pi / 3.0])
FLOOR = PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.0, -1.0])
REST = np.zeros(2)
HOOK = np.array([0.0, 0.0, 2.0])


def two_links():
    """Aghili's arm of (66) over its floor."""
    return ConstrainedArm(slider_crank_case()[0], FLOOR, tolerance=1e-6)


def on_floor(step=1e-3, friction=0.0, **surface):
    return Plant(
        two_links(), step, surface=Surface(**surface), one_sided=[1], contact_friction=friction
    )


# At one configuration


@pytest.mark.parametrize(
    ("e", "impulse", "velocity", "after"),
    [
        (0.0, 1.3125, (-0.4375, 0.875), 0.3828125),
        (1.0, 2.625, (0.125, 1.25), 0.875),
    ],
)
def test_two_links_meet_their_floor(e, impulse, velocity, after):
    model = two_links().evaluate(Q, [-1.0, 0.5])
    np.testing.assert_allclose(model.A @ np.linalg.solve(model.M, model.A.T), 4.0 / 7.0)
    found = impact(model.M, model.A, [-1.0, 0.5], e)
    np.testing.assert_allclose(found.impulse, [impulse], rtol=1e-12)
    np.testing.assert_allclose(found.velocity, velocity, rtol=1e-12)
    assert (found.energy_before, found.energy_after) == pytest.approx((0.875, after), rel=1e-12)


@pytest.mark.parametrize(
    ("spin", "impulse", "velocity"),
    [
        (0.3, (0.575, 0.425), (0.0, 0.0)),
        (3.0, (4.0 / 3.0, 0.0), (1.0 / 3.0, 1.0 / 3.0)),  # both ways, one corner would pull
    ],
)
def test_a_block_lands_on_two_corners(spin, impulse, velocity):
    """m = 1, I = 0.5, corners at ±1: separations are ẏ ∓ ω."""
    found = impact(np.diag([1.0, 0.5]), [[-1.0, 1.0], [-1.0, -1.0]], [-1.0, spin])
    np.testing.assert_allclose(found.impulse, impulse, atol=1e-13)
    np.testing.assert_allclose(found.velocity, velocity, atol=1e-13)


def random_impact(random, n, m):
    """M, rows (some of which may repeat others), q̇⁻ and e."""
    L = random.normal(size=(n, n))
    M, A = L @ L.T + 0.1 * np.eye(n), random.normal(size=(m, n))
    if m > 1 and random.random() < 0.3:
        A[-1] = A[:-1].T @ random.normal(size=m - 1)
    return M, A, random.normal(size=n), random.choice([0.0, random.random(), 1.0])


def check_impact(random):
    """No approach is left, nothing pulls, momentum stays in P, energy is not gained."""
    n, m = random.integers(2, 8), random.integers(1, 6)
    M, A, v, e = random_impact(random, n, m)
    found = impact(M, A, v, e)
    scale = np.linalg.norm(v) * np.linalg.norm(A, 2)
    assert found.impulse.min() >= 0.0
    assert (-A @ found.velocity).min() >= -1e-8 * (1.0 + scale)
    assert found.energy_after <= found.energy_before * (1.0 + 1e-9)
    pressed = A[found.impulse > 0.0].T
    change = M @ (found.velocity - v)
    across = change - pressed @ np.linalg.lstsq(pressed, change, rcond=1e-9)[0]
    blows = found.impulse @ np.linalg.norm(A, axis=1)
    size = np.linalg.cond(M) * (np.linalg.norm(M @ v) + blows)  # what M M⁻¹ rounds
    assert np.abs(across).max() <= 1e-14 * size + 1e-12 * np.linalg.norm(change)


def test_random_impacts():
    random = np.random.default_rng(1)
    for _ in range(2000):
        check_impact(random)


@pytest.mark.long
def test_a_hundred_thousand_random_impacts():
    random = np.random.default_rng(2)
    for _ in range(100_000):
        check_impact(random)


@given(SEEDS)
def test_complementarity_against_scipy(seed):
    """min ½ pᵀG p + pᵀu over p ≥ 0 is ‖B p + B⁻ᵀu‖ for G = BᵀB: the other Lawson and Hanson."""
    from scipy.optimize import nnls

    random = np.random.default_rng(seed)
    m = int(random.integers(1, 7))
    B, u = random.normal(size=(m, m)) + 2.0 * np.eye(m), random.normal(size=m)
    G = B.T @ B
    p, after, active, trial = np.zeros((4, m))
    press_apart(G, u, np.ones(m), p, after, active, trial, np.zeros((m, m)))
    expected, _ = nnls(B, -np.linalg.solve(B.T, u))
    np.testing.assert_allclose(p, expected, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_restitution_is_between_none_and_all():
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        impact(np.eye(2), [[1.0, 0.0]], [1.0, 0.0], 1.5)


# In time


@pytest.mark.parametrize(
    ("mu", "acceleration", "force"),
    [
        (0.0, (-1.334503175, 2.669006351), 13.380496825),
        (0.5, (2.362990154, -4.725980309), 17.077990154),
    ],
)
def test_sliding_along_the_floor(mu, acceleration, force):
    """Friction is µ λ of the same instant."""
    state = on_floor(friction=mu).reset(Q, [-0.5, 1.0])
    np.testing.assert_allclose(state.acceleration, acceleration, atol=2e-9)
    np.testing.assert_allclose(state.multipliers, [force], atol=2e-9)


def test_the_sliding_law_by_its_block_matrix():
    """[M B; A 0] (q̈, λ) = (f − h, b), B = (A + µ t̂ᵀJ)ᵀ, along the way and under efforts."""
    plant, mu = on_floor(friction=0.3), 0.3
    plant.reset(Q, [-0.5, 1.0])
    effort = np.array([1.0, -0.5])
    for _ in range(50):
        plant.step(effort)
        state = plant.state
        model = two_links().evaluate(state.q, state.v)
        J = model.arm.frame("tip").jacobian[0]
        B = (model.A + mu * np.sign(J @ state.v) * J).T
        whole = np.block([[model.M, B], [model.A, np.zeros((1, 1))]])
        found = np.linalg.solve(whole, [*(effort - model.h), *model.b])
        np.testing.assert_allclose(state.acceleration, found[:2], atol=1e-8)
        np.testing.assert_allclose(state.multipliers, found[2:], atol=1e-8)


def test_a_tip_that_sticks_needs_enough_friction():
    """µ needed at rest is 2.8319/14.715 = 0.19245: held above it, sliding below."""
    for mu, moves in ((0.2, False), (0.18, True)):
        plant = on_floor(friction=mu)
        plant.reset(Q)
        for _ in range(100):
            plant.step(REST)
        assert (np.abs(plant.v).max() > 1e-3) == moves


PENDULUM = """<robot name="rod"><link name="base"/>
<link name="slide_x"><inertial><mass value="1e-9"/><inertia ixx="1e-12" iyy="1e-12" izz="1e-12"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="slide_z"><inertial><mass value="1e-9"/><inertia ixx="1e-12" iyy="1e-12" izz="1e-12"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rod"><inertial><mass value="1"/><inertia ixx="0.0833333333333333"
 iyy="0.0833333333333333" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"/>
<joint name="x" type="prismatic"><parent link="base"/><child link="slide_x"/><axis xyz="1 0 0"/>
 <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="z" type="prismatic"><parent link="slide_x"/><child link="slide_z"/><axis xyz="0 0 1"/>
 <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="turn" type="revolute"><parent link="slide_z"/><child link="rod"/>
 <axis xyz="0 -1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="end" type="fixed"><parent link="rod"/><child link="tip"/>
 <origin xyz="0 0 -0.5"/></joint>
</robot>"""
"""A uniform rod of 1 m that slides on a floor: its lower end is the tip."""


@pytest.mark.parametrize(("mu", "painleve"), [(1.30, False), (1.37, True)])
def test_painleves_case_is_reported(mu, painleve):
    """A uniform rod at tan θ = 2: from µ = 4/3 on A M⁻¹B is not positive."""
    arm = Arm.from_urdf(PENDULUM)
    model = ConstrainedArm(arm, PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]))
    counted = []
    for lean in (1.0, -1.0):
        angle = lean * (np.pi / 2.0 - np.arctan(2.0))
        plant = Plant(model, 1e-4, one_sided=[1], contact_friction=mu)
        plant.reset([0.0, 0.5 * np.cos(angle), angle], [-2.0, 0.0, 0.0])
        counted.append(plant.contacts.counts[2] > 0.0)
    assert any(counted) == painleve


def fallen(step):
    """After half a second, from a little above the floor, with e = 0.5."""
    plant = on_floor(step, restitution=0.5)
    start, deepest = plant.reset(Q + np.array([0.1, 0.0])).energy, 0.0
    for _ in range(round(0.5 / step)):
        plant.step(REST)
        deepest = max(deepest, plant.contacts.gap[0])
    state = plant.state
    assert deepest < 1e-9
    assert abs(state.energy - state.work - start) < 1e-8
    assert plant.contacts.holds[0] == 1.0
    return np.array([*state.q, *state.v, *plant.contacts.impulse, plant.contacts.counts[0]])


def test_a_fall_does_not_depend_on_the_step():
    """Touches are found within the step: the same twelve bounces, to where it slides at last."""
    fine = fallen(2e-4)
    assert fine[-1] == 12.0
    np.testing.assert_allclose(fallen(1e-3), fine, atol=1e-5)
    np.testing.assert_allclose(fallen(1e-3)[:4], fine[:4], atol=1e-8)


def test_without_restitution_it_stays_and_with_all_of_it_energy_does():
    stays = on_floor()
    stays.reset(Q + np.array([0.1, 0.0]))
    bounces = on_floor(restitution=1.0)
    start = bounces.reset(Q + np.array([0.1, 0.0])).energy
    for _ in range(500):
        stays.step(REST)
        bounces.step(REST)
    assert stays.contacts.counts[0] == 1.0
    assert stays.contacts.holds[0] == 1.0
    assert bounces.contacts.counts[0] >= 2.0
    assert abs(bounces.state.energy - start) < 1e-10


def test_an_effort_that_lifts_loses_the_contact_and_it_comes_back():
    plant = on_floor()
    assert plant.reset(Q).multipliers[0] == pytest.approx(13.48875)
    plant.apply([20.0, 0.0])
    assert plant.state.multipliers[0] == 0.0
    for _ in range(50):
        plant.step()
        assert plant.state.multipliers[0] == 0.0
    assert plant.contacts.gap[0] < -1e-3
    assert plant.contacts.counts[1] == 1.0
    for _ in range(600):
        plant.step(REST)
        assert plant.state.multipliers[0] >= 0.0
    assert plant.contacts.holds[0] == 1.0
    assert plant.contacts.counts[0] == 1.0


def test_a_start_may_be_an_impact():
    """The tip begins on the floor with 0.75 m/s into it."""
    plant = on_floor()
    state = plant.reset(Q, [-1.0, 0.5])
    np.testing.assert_allclose(state.v, [-0.4375, 0.875], atol=1e-12)
    np.testing.assert_allclose(plant.contacts.impulse, [1.3125], rtol=1e-12)


def test_a_start_inside_is_refused():
    with pytest.raises(InvalidValue, match="not on the constraint"):
        on_floor().reset(Q - np.array([0.1, 0.0]))


def test_a_row_for_ever_beside_one_that_comes_and_goes():
    """Three joints on a slider whose carriage meets a wall: momentum along the slider goes."""
    arm = Arm.from_urdf(random_urdf(5, 4))
    tip = arm.update(np.full(4, 0.3), np.zeros(4)).frame("end_4").position.copy()
    held = PointOnLine("end_4", tip, [1.0, 0.0, 0.0])
    wall = PointOnPlane("end_4", tip + np.array([0.02, 0.0, 0.0]), [1.0, 0.0, 0.0])
    model = ConstrainedArm(arm, Stack([held, wall]), tolerance=1e-6)
    plant = Plant(model, 1e-3, surface=Surface(restitution=0.4), one_sided=[0, 0, 1])
    model.evaluate(np.full(4, 0.3), np.zeros(4))
    free = np.linalg.svd(model.A[:2])[2][2:]
    along = free.T @ np.linalg.pinv(model.A[2:] @ free.T) @ [0.5]
    plant.reset(np.full(4, 0.3), along)
    while plant.contacts.counts[0] == 0.0:
        before, time = plant.v, plant.time
        plant.step(model.arm.h)
        assert time < 0.5
    model.evaluate(plant.q, before)
    approach = float((model.A @ before)[2])
    assert approach > 0.2
    assert float((model.A @ plant.v)[2]) == pytest.approx(-0.4 * approach, rel=0.05)
    np.testing.assert_allclose(model.A[:2] @ plant.v, 0.0, atol=1e-3)


def in_a_corner(seed):
    """An arm whose joints stick, thrown and pressed into a corner of two rigid planes; its push."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 8))
    arm, q = Arm.from_urdf(random_urdf(seed, n)), random.uniform(-0.5, 0.5, n)
    end = arm.update(q, np.zeros(n)).frame(f"end_{n}")
    normals = random.normal(size=(2, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    places = [end.position + random.uniform(0.0, 1e-3) * normal for normal in normals]
    walls = [
        PointOnPlane(f"end_{n}", place, normal)
        for place, normal in zip(places, normals, strict=True)
    ]
    friction = JointFriction(coulomb=[random.uniform(0.05, 0.5)], viscous=[0.02], sticks=True)
    surface = Surface(restitution=float(random.choice([0.0, 0.3])))
    model = ConstrainedArm(arm, Stack(walls), tolerance=1e-6)
    plant = Plant(model, 1e-3, friction=friction, one_sided=[1, 1], surface=surface)
    push = arm.h + end.jacobian[:3].T @ (normals.T @ random.uniform(2.0, 10.0, 2))
    plant.reset(q, 0.2 * random.normal(size=n))
    return plant, push


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 300), marks=pytest.mark.long)])
def test_two_walls_and_friction_come_to_terms(seeds):
    """No wall pulls, no energy is gained beyond the push's work, and few impacts tell of both.

    Rows that press and joints that stick answer to each other: settled one after the other they
    threw the arm from wall to wall a million times a second.
    """
    held = 0
    for seed in seeds:
        plant, push = in_a_corner(seed)
        gained, before = 0.0, plant.state.energy
        for _ in range(300):
            from_push = plant.q
            plant.step(push)
            state = plant.state
            from_push = push @ (plant.q - from_push)
            gained = max(gained, state.energy - before - from_push)
            before = state.energy
            assert state.multipliers.min() >= -1e-9, seed
        assert gained <= 1e-6, (seed, gained)
        assert plant.contacts.counts[0] <= 60, (seed, plant.contacts.counts[0])
        assert plant.contacts.gap.max() < 2e-9, seed
        held += int(plant.contacts.holds.all())
    assert held >= len(seeds) // 4


def test_a_touch_that_a_shorter_part_does_not_have():
    """Friction of a shorter part may hold what the whole part let go: then it ends, without one."""
    plant = on_floor()
    plant.reset(Q)
    contacts = plant.contacts
    contacts.holds[:], contacts.left[:], contacts.bracket[4] = 1.0, 1e-3, 1.0
    before = plant.v
    terms = plant.model.terms
    assert look_for_touch(plant.terms, terms) == STRUCK
    assert contacts.counts[0] == 0.0
    np.testing.assert_array_equal(plant.v, before)


@pytest.mark.parametrize("kind", ["sphere", "rope", "stop"])
def test_other_surfaces_hold_on_one_side(kind):
    """A tip that falls on a dome, into a rope, and a joint that falls on its stop."""
    arm = slider_crank_case()[0]
    tip = arm.update(Q, REST).frame("tip").position.copy()
    rows, side = {
        "sphere": (PointOnSphere("tip", tip - np.array([0.0, 0.0, 0.3]), 0.3), -1),
        "rope": (Distance("tip", float(np.linalg.norm(tip - HOOK)), None, HOOK), 1),
        "stop": (JointLocked("joint_1", Q[0]), -1),
    }[kind]
    model = ConstrainedArm(arm, rows, tolerance=1e-6)
    plant = Plant(model, 1e-3, one_sided=[side])
    plant.reset(Q + np.array([0.05, 0.0]))
    forces = []
    for _ in range(300):
        plant.step(REST)
        state = plant.state
        forces.append(side * state.multipliers[0])
        assert plant.contacts.gap[0] < 1e-9
    assert plant.contacts.counts[0] >= 1.0
    assert min(forces) >= 0.0
    assert max(forces) > 1.0


def in_mujoco(mujoco, arm, place, normal, q, step):
    """The arm in MuJoCo, a ball of 5 mm at its end over a plane, without friction and bounce."""
    spec = mujoco.MjSpec.from_string(arm.urdf)
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    spec.option.timestep, spec.option.tolerance = step, 1e-14
    hard = {"solref": [5e-4, 2.0], "solimp": [0.9999, 0.9999, 1e-6, 0.5, 2.0], "condim": 1}
    ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.005, 0.0, 0.0], "mass": 0.0}
    tip = arm.attachment("end_4").translation
    spec.body("link_4").add_geom(name="tip", pos=tip, **ball, **hard)
    sides = np.linalg.svd(normal[None, :])[2][1:]
    axes = np.column_stack([sides[0], np.cross(-normal, sides[0]), -normal])
    turn = np.zeros(4)
    mujoco.mju_mat2Quat(turn, axes.ravel())
    wall = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [5.0, 5.0, 0.1]}
    spec.worldbody.add_geom(pos=place + 0.005 * normal, quat=turn, **wall, **hard)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = q
    return model, data


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_touch_beside_mujoco(seed):
    """Until 20 ms after it: the end within 0.5 mm, the impulse within 5 %."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    arm, q, step = Arm.from_urdf(random_urdf(seed, 4)), np.full(4, 0.3), 5e-5
    end = arm.update(q, np.zeros(4)).frame("end_4")
    falls = end.jacobian[:3] @ np.linalg.solve(arm.M, -arm.h)
    normal = falls / np.linalg.norm(falls)
    place = end.position + 0.02 * normal
    model, data = in_mujoco(mujoco, arm, place, normal, q, step)
    plant = Plant(
        ConstrainedArm(arm, PointOnPlane("end_4", place, normal), tolerance=1e-6),
        step,
        one_sided=[1],
    )
    plant.reset(q)
    theirs, pressed, apart, found = 0.0, 0.0, 0.0, np.zeros(6)
    touched = np.inf
    while plant.time < touched + 0.02:
        mujoco.mj_step(model, data)
        for contact in range(data.ncon):
            mujoco.mj_contactForce(model, data, contact, found)
            theirs += step * found[0]
        plant.step(np.zeros(4))
        if plant.contacts.counts[0] == 0.0:
            continue
        touched = min(touched, plant.time)
        pressed += step * plant.state.multipliers[0]
        ours = arm.update(plant.q, plant.v).frame("end_4").position
        apart = max(apart, np.linalg.norm(data.geom("tip").xpos - ours))
    assert plant.contacts.counts[0] == 1.0
    assert apart < 5e-4
    assert theirs == pytest.approx(plant.contacts.impulse[0] + pressed, rel=0.05)


def test_reproduce_gives_the_case_for_any_restitution(capsys):
    assert main(["reproduce", "impact", "--restitution", "0.3", "--json", "--seconds", "0.3"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["impulse"] == pytest.approx(1.3 * 1.3125, rel=1e-12)
    np.testing.assert_allclose(numbers["velocity"], [-0.26875, 0.9875], rtol=1e-12)
    assert numbers["energy_before"] == pytest.approx(0.875, rel=1e-12)
    assert numbers["energy_after"] == pytest.approx(0.3828125 + 0.09 * 0.4921875, rel=1e-12)
    assert numbers["fall"]["impacts"] > 1
    assert numbers["fall"]["energy_error"] < 1e-7
    assert main(["reproduce", "impact", "--restitution", "1.3", "--json"]) == 2
    assert "between 0 and 1" in capsys.readouterr().err
    assert main(["reproduce", "wiping", "--restitution", "0.3", "--json"]) == 2
