"""Whole runs within limits that bind: the same motion where motors are left, and never too much."""

import numpy as np
import pytest
from arms import slider_model

from projected_control import SimulatedArm, run
from projected_control.apps.bench.five_bar import ACTUATED, ENDS, assembled, five_bar_urdf
from projected_control.control import (
    ForceController,
    ForceGains,
    Limits,
    MotionController,
    MotionGains,
)
from projected_control.control.events import Event
from projected_control.control.limit_terms import LIMITS
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.coordinates import Coordinates
from projected_control.planning import start_of
from projected_control.simulation import Plant

PEAK = 1.950
"""Largest effort of the 3R arm of Aghili IX under PIDC on its way, without limits [N·m]."""


def moved_by(limit, seconds=2.0):
    """The 3R arm on its way: largest errors, largest effort, least share of the motion."""
    model = slider_model()
    motion = Sines([-0.075, 0.0], [[Sine(0.225, 0.5, np.pi / 9)], []])
    q, v = start_of(model, motion, [-3.0, 2.0, 1.0])
    controller = MotionController(model, MotionGains(480.0, 45.0))
    limits = Limits.of(model.arm, effort=limit, effort_rate=1e5)
    loop = ControlLoop(controller, motion, limits=limits)
    hardware = SimulatedArm(Plant(ConstrainedArm(model.arm.twin(), model.constraint)), q, v)
    found = np.zeros(3)
    found[2] = 1.0

    def note(_, tick):
        found[0] = max(found[0], np.abs(controller.error[0]).max())
        found[1] = max(found[1], np.abs(tick.report.effort).max())
        found[2] = min(found[2], controller.terms.motion_share[0])

    run(loop, hardware, round(1000 * seconds), note)
    return found


def test_the_3r_arm_follows_the_same_motion_with_15_percent_less():
    error, peak, _ = moved_by(100.0)
    assert peak == pytest.approx(PEAK, abs=2e-3)
    limited, most, share = moved_by(0.85 * PEAK)
    assert most == pytest.approx(0.85 * PEAK)
    assert share == 1.0
    assert limited == pytest.approx(error, abs=1e-6)


def asked_force(loop):
    """|λ| of what is sent, by the model, after a tick of a loop with a force ceiling."""
    model = loop.controller.model
    w = LIMITS.view(loop.arguments.limits_work, n=model.n, m=model.m, k=model.k)
    return np.abs(w.multipliers + loop.controller.terms.force_given_up)


def five_bar_moved_by(limit):
    """The five-bar with motors in all four joints on its way: errors and efforts, by tick."""
    arm = Arm.from_urdf(five_bar_urdf())
    closed = LoopClosure(*ENDS, plane_normal=[0.0, 0.0, 1.0])
    model = ConstrainedArm(arm, closed, Coordinates.of_joints(ACTUATED))
    q = np.array([assembled()[name] for name in arm.joint_names])
    theta = model.evaluate(q, np.zeros(4)).theta.copy()
    motion = Sines(theta, [[Sine(0.3, 1.0)], [Sine(0.2, 1.5, 1.0)]])
    q, v = start_of(model, motion, q)
    controller = MotionController(model, MotionGains(480.0, 45.0))
    loop = ControlLoop(controller, motion, limits=Limits.of(arm, effort=limit, effort_rate=1e5))
    hardware = SimulatedArm(Plant(ConstrainedArm(arm.twin(), closed)), q, v)
    errors, efforts, shares = [], [], []

    def note(_, tick):
        errors.append(controller.error[0].copy())
        efforts.append(tick.report.effort.copy())
        shares.append(controller.terms.motion_share[0])

    run(loop, hardware, 2000, note)
    return np.abs(errors).max(), np.abs(efforts).max(axis=0), min(shares)


def test_a_five_bar_with_four_motors_follows_the_same_motion_with_15_percent_less():
    error, peaks, _ = five_bar_moved_by(100.0)
    limit = 0.85 * peaks.max()
    limited, most, share = five_bar_moved_by(limit)
    assert most.max() == limit
    assert share == 1.0
    assert limited == pytest.approx(error, abs=1e-6)


@pytest.mark.parametrize("trouble", ["ten times λ_d", "integral at its limit", "masses 30 % wrong"])
def test_no_more_force_is_asked_for_than_the_ceiling(trouble):
    model, ceiling = slider_model(), 20.0 if trouble != "masses 30 % wrong" else 8.0
    gains = ForceGains(cutoff=20.0, integral=50.0, integral_limit=100.0)
    controller = ForceController(model, MotionGains(480.0, 45.0), gains)
    motion = Sines([-0.075, 0.0], [[Sine(0.1, 0.5)], []])
    q, v = start_of(model, motion, [-3.0, 2.0, 1.0])
    limits = Limits.of(model.arm, force=ceiling)
    desired = 100.0 if trouble == "ten times λ_d" else 10.0
    loop = ControlLoop(controller, motion, limits=limits, force_reference=Constant([desired]))
    arm = model.arm.twin()
    if trouble == "masses 30 % wrong":
        arm = heavier(model.arm)
    hardware = SimulatedArm(Plant(ConstrainedArm(arm, model.constraint)), q, v)
    largest, held = 0.0, 0

    def note(number, tick):
        nonlocal largest, held
        if trouble == "integral at its limit":
            controller.force.integral[:] = 100.0
        largest = max(largest, asked_force(loop).max())
        held += bool(tick.report.events & Event.CEILING_HELD)

    run(loop, hardware, 500, note)
    assert largest <= ceiling + 1e-6
    assert held > 400
    if trouble != "masses 30 % wrong":
        assert np.abs(hardware.truth.multipliers[0]) == pytest.approx(ceiling, rel=0.01)


def test_the_integral_waits_where_a_ceiling_takes_its_force():
    """In half a second at 50/s it would have become 75 N."""
    model = slider_model()
    gains = ForceGains(cutoff=20.0, integral=50.0, integral_limit=100.0)
    controller = ForceController(model, MotionGains(480.0, 45.0), gains)
    motion = Sines([-0.075, 0.0], [[Sine(0.1, 0.5)], []])
    q, v = start_of(model, motion, [-3.0, 2.0, 1.0])
    limits = Limits.of(model.arm, effort_rate=1e5, force=5.0)
    loop = ControlLoop(controller, motion, limits=limits, force_reference=Constant([8.0]))
    hardware = SimulatedArm(Plant(ConstrainedArm(model.arm.twin(), model.constraint)), q, v)
    integrals, short = [], []

    def note(_, tick):
        integrals.append(float(controller.force.integral[0]))
        given_up = abs(controller.terms.force_given_up[0]) > 1e-6
        short.append(given_up and bool(tick.report.events & Event.CEILING_HELD))

    run(loop, hardware, 500, note)
    waits = np.array(short[:-1])
    assert waits.sum() > 400
    assert not np.diff(integrals)[waits].any()
    assert abs(integrals[-1]) < 1.0


def heavier(arm: Arm) -> Arm:
    """The same arm with 30 % more mass in every link."""
    twin = arm.twin()
    bodies = arm.bodies.copy()
    n = arm.n + 1
    bodies[:n] *= 1.3
    bodies[4 * n :] *= 1.3
    twin.set_bodies(bodies)
    return twin


def test_a_force_that_is_measured_above_the_ceiling_is_answered():
    """A surface that presses more than the model knows: held back, or stopped."""
    for answer, event in (("hold_back", Event.FORCE_HELD_BACK), ("stop", Event.FORCE_TOO_LARGE)):
        model = slider_model()
        controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains(cutoff=20.0))
        motion = Sines([-0.075, 0.0], [[], []])
        q, _ = start_of(model, motion, [-3.0, 2.0, 1.0])
        limits = Limits.of(model.arm, force=5.0, force_answer=answer)
        loop = ControlLoop(controller, motion, limits=limits, force_reference=Constant([4.9]))
        plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint))
        hardware = SimulatedArm(plant, q)
        seen = set()

        def more(state):
            return state._replace(wrench=1.2 * state.wrench)

        for _number in range(300):
            state = more(hardware.read())
            report = loop.update(state)
            seen |= {int(bit) for bit in (event,) if report.events & event}
            hardware.write(report.effort)
        assert seen == {int(event)}
        if answer == "hold_back":
            assert np.abs(loop.multipliers[0]) == pytest.approx(5.0, rel=0.02)
            assert np.abs(hardware.truth.multipliers[0]) < 4.3
        else:
            assert loop.guard.latched
