"""Surfaces of the plant that end, and where a simulated arm starts that touches nothing yet."""

import json
from pathlib import Path

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE
from arms import slider_crank_case

from projected_control import Runner
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnCylinder, PointOnPlane, PointOnSphere
from projected_control.native.simulation import NativeSimulation
from projected_control.settings import build
from projected_control.settings.files import from_command_line
from projected_control.settings.layers import Layers
from projected_control.simulation import Plant
from projected_control.simulation.surfaces import Extent, Row, Surface

CONFIG = Path(__file__).parents[1] / "config"
FLOOR = PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.0, -1.0])
BEFORE_EDGE = Extent.of("tip", [-3.0, -1.0, -1.0, 0.5, 1.0, 1.0])

BALL = """<robot name="ball"><link name="base"/>
<link name="slide_x"><inertial><mass value="1e-9"/><inertia ixx="1e-12" iyy="1e-12" izz="1e-12"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><mass value="2"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="slide_x"/><axis xyz="1 0 0"/>
 <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="z" type="prismatic"><parent link="slide_x"/><child link="tip"/><axis xyz="0 0 1"/>
 <limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""
"""2 kg on two joints, x and z."""

G = 9.81


def ball(constraint=FLOOR, extent=BEFORE_EDGE, side=1, step=1e-3, **surface):
    model = ConstrainedArm(Arm.from_urdf(BALL), constraint, tolerance=1e-6)
    return Plant(model, step, surface=Surface(**surface), one_sided=[side], extents=[extent])


def rolled(plant, q, v, seconds, effort=(0.0, 0.0)):
    """Times, places, speeds and forces of a run."""
    plant.reset(q, v)
    rows = []
    for _ in range(round(seconds / plant.step_size)):
        plant.step(np.array(effort))
        state = plant.state
        rows.append([state.time, *state.q, *state.v, state.multipliers[0]])
    return np.array(rows).T


def test_what_rolls_over_the_edge_falls_from_there():
    """At 1 m/s from 0.1 m before it: held for 0.1 s, then in free fall, to within a step."""
    plant = ball()
    t, x, z, _, vz, force = rolled(plant, [0.4, 0.0], [1.0, 0.0], 0.3)
    on = t < 0.0995
    np.testing.assert_allclose(force[on], 2.0 * G, rtol=1e-12)
    np.testing.assert_allclose(force[t > 0.1015], 0.0)
    np.testing.assert_allclose(x, 0.4 + t, atol=1e-12)
    assert abs(z[on]).max() < 1e-12
    assert vz[-1] == pytest.approx(-G * 0.2, abs=1.01e-3 * G)
    assert plant.contacts.counts[1] == 1.0
    assert plant.contacts.counts[0] == 0.0


def test_what_lies_beyond_the_edge_is_never_touched():
    """It falls past the floor's height as if there were none."""
    t, _, z, _, _, force = rolled(ball(), [0.6, 0.1], [0.0, 0.0], 0.4)
    np.testing.assert_allclose(z, 0.1 - 0.5 * G * t**2, atol=1e-12)
    assert not force.any()


def test_what_comes_in_below_the_surface_is_under_it():
    """Back in below the table it goes on; it touches it again from above only."""
    plant = ball()
    _, x, z, *_, force = rolled(plant, [0.6, -0.05], [-1.0, 0.0], 0.15, effort=(0.0, 2.0 * G))
    assert x[-1] == pytest.approx(0.45)
    np.testing.assert_allclose(z, -0.05, atol=1e-12)
    assert not force.any()
    while plant.q[1] < 0.01:  # pushed up through the table, which is touched from above then
        plant.step(np.array([0.0, 2.0 * G + 8.0]))
    for _ in range(400):
        plant.step(np.zeros(2))
    assert plant.contacts.holds[0] == 1.0
    assert plant.q[1] == pytest.approx(0.0, abs=1e-9)


def test_it_is_found_again_when_it_comes_back_above_the_surface():
    """Lifted at the edge, and set down 5 cm before it."""
    plant = ball()
    plant.reset([0.49, 0.0], [0.2, 0.0])
    while plant.q[0] < 0.51:
        plant.step(np.zeros(2))
    for _ in range(3000):
        x, z, vx, vz = *plant.q, *plant.v
        above = 0.03 if abs(x - 0.45) > 1e-3 else -0.01
        plant.step(
            np.array([80.0 * (0.45 - x) - 20.0 * vx, 2.0 * G + 90.0 * (above - z) - 25.0 * vz])
        )
    assert plant.contacts.holds[0] == 1.0


def test_energy_is_that_of_a_free_fall_behind_the_edge():
    plant = ball(restitution=0.5)
    start = plant.reset([0.2, 0.05], [1.0, 0.0]).energy
    for _ in range(600):
        plant.step(np.zeros(2))
    state = plant.state
    assert plant.contacts.counts[0] >= 2.0
    assert state.q[1] < -0.1
    assert abs(state.energy - state.work - start) < 1e-9


def test_a_surface_that_gives_lets_go_at_its_edge():
    """What was pressed in there is lost, not gained."""
    plant = ball(stiffness=(2e4,), damping=100.0, step=1e-4)
    start = plant.reset([0.4, -2.0 * G / 2e4], [1.0, 0.0]).energy
    forces = []
    for _ in range(2000):
        plant.step(np.zeros(2))
        forces.append(plant.state.multipliers[0])
    np.testing.assert_allclose(forces[:990], 2.0 * G, rtol=1e-6)
    assert not np.any(forces[1010:])
    state = plant.state
    assert state.energy - state.work == pytest.approx(start, abs=1e-6)


ROUND = {
    "sphere": (PointOnSphere("tip", [0.0, 0.0, -1.0], 1.0), -1),
    "cylinder": (PointOnCylinder("tip", [0.0, 0.0, -1.0], [0.0, 1.0, 0.0], 1.0), -1),
}


@pytest.mark.parametrize("surface", ROUND)
def test_domes_end_too(surface):
    """It slides down the dome, and leaves it where that ends: before it would fly off by itself."""
    constraint, side = ROUND[surface]
    extent = Extent.of("tip", [-0.3, -1.0, -2.0, 0.3, 1.0, 1.0])
    plant = ball(constraint, extent, side)
    _, x, _, _, _, force = rolled(plant, [0.0, 0.0], [0.5, 0.0], 0.8)
    pressed = side * force
    assert pressed[x < 0.299].min() > 1.0
    assert not pressed[x > 0.302].any()
    endless = rolled(ball(constraint, None, side), [0.0, 0.0], [0.5, 0.0], 0.8)
    last = endless[1][np.abs(endless[-1]) > 0.0].max()
    assert last == pytest.approx(np.sin(np.arccos(2.0 / 3.0 + 0.25 / (3.0 * G))), abs=2e-3)


def test_a_start_beyond_the_edge_may_be_below_the_surface():
    plant = Plant(
        ConstrainedArm(slider_crank_case()[0], FLOOR, tolerance=1e-6),
        one_sided=[1],
        extents=[Extent.of("tip", [-9.0, -9.0, -9.0, -2.0, 9.0, 9.0])],
    )
    low = np.array([np.pi / 3 - 0.3, -2.0 * np.pi / 3.0])
    assert plant.reset(low).multipliers[0] == 0.0
    assert plant.contacts.gap[0] > 0.1


def test_only_what_can_be_left_ends():
    model = ConstrainedArm(Arm.from_urdf(BALL), FLOOR)
    with pytest.raises(InvalidValue, match="say one_sided"):
        Plant(model, extents=[BEFORE_EDGE])
    with pytest.raises(InvalidValue, match="must have 1 entries, got 2"):
        Plant(model, one_sided=[1], extents=[BEFORE_EDGE, None])
    with pytest.raises(InvalidValue, match="extent"):
        Extent.of("tip", [0.0, 1.0, 2.0])


# By YAML


def read(values, file="seven_joints"):
    given = [f"{name}:={json.dumps(value)}" for name, value in values.items()]
    return Layers.read([CONFIG / f"{file}.yaml"], "", from_command_line(given, "--set"))


TABLE = [-1.0, -1.0, -1.0, 1.0, -0.05, 1.0]  # it ends at y = −0.05

HALF = {"constraint.one_sided": True, "constraint.extent": TABLE}


def test_an_extent_by_yaml():
    contacts = build.build_plant(read(HALF).arm()).plant.contacts
    np.testing.assert_array_equal(contacts.extent[0, 4:], TABLE)
    assert contacts.outside[0] == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"constraint.one_sided": False}, "can be left end somewhere"),
        ({"constraint.extent": [1.0, 2.0]}, "extent must"),
        (
            {"simulation.engine": "mujoco", "constraint.direction": [0.1, 0.0, -1.0]},
            "constraint.extent.*along x, y or z",
        ),
    ],
)
def test_a_wrong_extent_is_refused(changes, message):
    if "simulation.engine" in changes:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    with pytest.raises(InvalidValue, match=message):
        build.build_plant(read({**HALF, **changes}).arm())


ABOVE = {
    **HALF,
    "simulation.touches": False,
    "simulation.coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"],
    "simulation.values": [0.4, -0.1, 0.33, 0.0, 0.0],
    "simulation.rates": [0.0, 0.0, -0.1, 0.0, 0.0],
}


def test_an_arm_starts_above_its_table():
    """3 cm above it, on its way down."""
    hardware = build.build_plant(read(ABOVE).arm())
    arm = hardware.plant.model.arm
    frame = arm.update(hardware.truth.q, hardware.truth.v).frame("tool")
    np.testing.assert_allclose(frame.position, [0.4, -0.1, 0.33], atol=1e-9)
    np.testing.assert_allclose((frame.jacobian @ arm.v)[:3], [0.0, 0.0, -0.1], atol=1e-9)
    assert hardware.truth.multipliers[0] == 0.0


def test_a_face_of_a_link_can_be_left_and_a_weld_cannot():
    """A loop with one of tx, ty, tz is a face; with more it holds on both sides."""
    layers = read({}, "two_arms").on_top(
        {"constraints.grip.one_sided": True, "constraints.grip.directions": ["tx"]}, "test"
    )
    assert build.build_plant(layers.arm()).plant.laws == (Row.ONE_SIDED,)
    both = layers.on_top({"constraints.grip.directions": ["tx", "rx"]}, "test")
    with pytest.raises(InvalidValue, match="a loop holds on both sides"):
        build.build_plant(both.arm())


@NEEDS_NATIVE
def test_it_is_the_same_in_a_native_run():
    """Over the edge in C++ and in Python, to the last bit."""

    def made():
        layers = read({**HALF, "constraint.extent": [-1.0, -1.0, -1.0, 1.0, -0.098, 1.0]})
        loop = build.build_loop("force_controller", layers.controller("force_controller"))
        hardware, model = build.build_plant(layers.arm()), loop.controller.model
        loop.controller.hold(hardware.truth.q)
        wanted = model.theta.copy()
        wanted[1] += 0.01
        loop.set_reference(Constant(wanted))
        Runner(loop, hardware).open()
        return loop, hardware

    loop, hardware = made()
    runner, rows = Runner(loop, hardware), []
    for _ in range(200):
        tick = runner.step()
        rows.append(np.concatenate([tick.report.effort, hardware.truth.q]))
    assert hardware.plant.contacts.beyond[0] == 1.0
    done = NativeSimulation(*made()).run(200).rows
    np.testing.assert_array_equal(np.hstack([done.column("effort"), done.column("true_q")]), rows)
