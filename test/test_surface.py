"""A plane that is not where it should be, and a force without a sensor on an arm of wrong mass."""

import numpy as np
import pytest

from projected_control import Runner, SimulatedArm
from projected_control.apps.bench.tick_cases import spatial_urdf
from projected_control.control import (
    ForceController,
    ForceGains,
    MotionController,
    MotionGains,
    Posture,
)
from projected_control.control.events import Event
from projected_control.control.force_source import ForceSource
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.references import Constant, Sine, Sines
from projected_control.control.state import RawState
from projected_control.control.surface import EstimatedSurface
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointAtPoint, PointOnPlane
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.runs.tare import EffortTare, measure_effort_tare
from projected_control.simulation import ForceSensor, JointFriction, Plant

T = 1e-3
START = np.array([-0.3, 0.5, -0.1, 0.8, 0.0, 1.3, 0.9])
PRESS = -10.0  # λ_d: 10 N down on a table whose normal points up [N]


def scene(tilt, wanted=PRESS, source="sensor", load=0.0, friction=None, mu=0.0):
    """A tip that swings 0.2 m on a table, which is turned about y from where the loop has it."""
    arm = Arm.from_urdf(spatial_urdf())
    place = arm.update(START, np.zeros(7)).frame("tip").position
    held = PointOnPlane("tip", place, [0.0, 0.0, 1.0])
    true = PointOnPlane("tip", place, [np.sin(tilt), 0.0, np.cos(tilt)])
    along = Coordinates([Coordinate.position("tip", "x"), Coordinate.position("tip", "y")])
    model = ConstrainedArm(arm, held, along)
    controller = ForceController(model, MotionGains(100.0, 20.0), ForceGains(1.0, 20.0, 20.0))
    controller.set_posture(Posture(START, 25.0))
    motion = Sines(place[:2], [[Sine(0.2, 0.25)], []])
    start = np.array([motion.at(0.0).rate[0], 0.0])
    loop = ControlLoop(
        controller,
        motion,
        limits=Limits.of(arm, effort_rate=1e6, residual=0.01),
        force_reference=Constant([wanted]),
        force_source=ForceSource(model, source, bandwidth=30.0),
    )
    real = Arm.from_urdf(spatial_urdf())
    if load:
        real.set_payload("tip", load)
    plant = Plant(
        ConstrainedArm(real, true, along, tolerance=1e-6),
        T,
        friction=friction or JointFriction(),
        contact_friction=mu,
    )
    plant.model.evaluate(START, np.zeros(7))
    v = np.linalg.pinv(plant.model.J_theta @ plant.model.P) @ start
    sensor = ForceSensor(noise=0.1)
    return loop, SimulatedArm(plant, START, v, sensor=sensor, measures_force=source == "sensor")


def wipe(loop, arm, seconds=8.0):
    """Forces, errors, and where it ended."""
    runner, forces, errors = Runner(loop, arm), [], []
    runner.open()
    for _ in range(round(seconds / T)):
        if runner.lost:
            break
        runner.step()
        forces.append(arm.truth.multipliers[0])
        errors.append(loop.controller.error[0].copy())
    return np.array(forces), np.array(errors), runner.lost


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_a_plane_five_degrees_off_is_followed(mu):
    """Force within 10 % after a second, no drift, the plane found to half a degree."""
    loop, arm = scene(np.radians(5.0), mu=mu)
    loop.controller.estimate_surface(EstimatedSurface(), loop.force_source)
    forces, errors, lost = wipe(loop, arm)
    assert lost == ""
    late = forces[1000:]
    assert np.abs(late - PRESS).max() < 1.0 + 20.0 * mu
    assert (late < -5.0).all()
    normal, offset = loop.controller.surface
    true = np.array([np.sin(np.radians(5.0)), 0.0, np.cos(np.radians(5.0))])
    assert np.degrees(np.arccos(normal @ true)) < 0.5
    tip = loop.controller.model.arm.frame("tip").position
    assert abs(normal @ tip - offset) < 1e-3
    if mu == 0.0:
        assert np.abs(errors[1000:]).max() < 1e-3


def test_one_that_is_not_estimated_is_left_with_the_reason():
    loop, arm = scene(np.radians(5.0))
    forces, _, lost = wipe(loop, arm, 4.0)
    assert "the arm has left its constraint: ‖Φ‖ = 0.01" in lost
    assert len(forces) < 2000


def test_beyond_its_bounds_the_arm_has_left_the_plane():
    loop, arm = scene(np.radians(20.0))
    loop.controller.estimate_surface(EstimatedSurface(angle=np.radians(8.0)), loop.force_source)
    *_, lost = wipe(loop, arm, 4.0)
    assert "the arm has left its constraint" in lost


def test_a_reset_puts_the_plane_back():
    loop, arm = scene(np.radians(5.0))
    loop.controller.estimate_surface(EstimatedSurface(), loop.force_source)
    wipe(loop, arm, 1.0)
    assert loop.controller.surface[0][0] > 0.02
    loop.reset()
    np.testing.assert_array_equal(loop.controller.surface[0], [0.0, 0.0, 1.0])
    model = loop.controller.model.evaluate(START, np.zeros(7))
    np.testing.assert_allclose(model.residual, 0.0, atol=1e-12)


def test_only_a_plane_with_a_sensor_is_estimated():
    loop, _ = scene(0.0, source="momentum")
    with pytest.raises(InvalidValue, match="needs a measured force"):
        loop.controller.estimate_surface(EstimatedSurface(), loop.force_source)
    arm = Arm.from_urdf(spatial_urdf())
    place = arm.update(START, np.zeros(7)).frame("tip").position
    model = ConstrainedArm(arm, PointAtPoint("tip", place), Coordinates.of_joints(["joint_1"]))
    controller = ForceController(model, MotionGains(100.0, 20.0), ForceGains())
    with pytest.raises(InvalidValue, match="only a plane that stands still"):
        controller.estimate_surface(EstimatedSurface(), ForceSource(model))


def free_loop():
    """The arm near the table, moved to and fro by all its joints."""
    arm = Arm.from_urdf(spatial_urdf())
    model = ConstrainedArm(arm, None, Coordinates.of_joints(list(arm.joint_names)))
    controller = MotionController(model, MotionGains(100.0, 20.0))
    motion = Sines(START, [[Sine(0.05, 0.5)] for _ in START])
    source = ForceSource(model, "momentum", bandwidth=10.0)
    limits = Limits.of(arm, effort_rate=1e6, reference_jump=1.0)
    return ControlLoop(controller, motion, limits=limits, force_source=source)


def test_without_a_sensor_taring_takes_wrong_masses_away():
    """1 kg that the loop does not know of: 10 N off without taring, within 15 % with it."""
    friction = JointFriction(0.1, 0.1, sticks=True)
    real = Arm.from_urdf(spatial_urdf())
    real.set_payload("tip", 1.0)
    plant = Plant(ConstrainedArm(real, None), T, friction=friction)
    tare = measure_effort_tare(free_loop(), SimulatedArm(plant, START), 4.0)
    assert np.abs(tare).max() > 3.0
    off = {}
    for tared in (False, True):
        loop, arm = scene(0.0, wanted=-20.0, source="momentum", load=1.0, friction=friction)
        if tared:
            loop.force_source.set_effort_tare(tare)
        forces, *_ = wipe(loop, arm, 4.0)
        off[tared] = np.sqrt(np.mean((forces[1000:] + 20.0) ** 2))
    assert off[False] > 5.0
    assert off[True] < 0.15 * 20.0


def test_taring_needs_the_momentum():
    loop, arm = scene(0.0)
    with pytest.raises(ProjectedControlError, match=r"set force\.source to momentum"):
        measure_effort_tare(loop, arm)


def test_an_arm_that_is_held_is_not_tared():
    """The contact force would be tared away with the rest."""
    loop, arm = scene(0.0, source="momentum")
    with pytest.raises(ProjectedControlError, match="has it on a constraint"):
        measure_effort_tare(loop, arm)


def test_taring_says_which_joints_did_not_move_both_ways():
    loop = free_loop()
    tare = EffortTare(loop, 0.1)
    for k in range(100):
        speeds = np.full(7, 0.1 if k % 2 else -0.1)
        speeds[2] = 0.1
        state = RawState(START, speeds, 0.001 * k)
        loop.force_source.estimate[:] = 2.0
        tare.ticked(Tick(state, loop.report, loop.controller, np.empty(0)))
    assert tare.done
    np.testing.assert_allclose(tare.efforts, -2.0)
    assert tare.remark == "joint_3 did not move both ways, so that their friction is in it"


def test_efforts_that_were_limited_are_not_tared():
    """The observer waits while an effort is limited: it does not see what the arm needs."""
    loop = free_loop()
    tare = EffortTare(loop, 0.1)
    limited = loop.report._replace(events=int(Event.EFFORT_LIMITED))
    for k in range(100):
        state = RawState(START, np.zeros(7), 0.001 * k)
        tare.ticked(Tick(state, limited, loop.controller, np.empty(0)))
    with pytest.raises(ProjectedControlError, match=r"in (\d+) of \1 ticks the guard limited"):
        _ = tare.efforts
