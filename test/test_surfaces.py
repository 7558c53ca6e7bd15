"""Surfaces of the plant that give: their law, the force loop on them, and their settings."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE, ActingRun
from arms import slider_crank_case

from projected_control import Runner
from projected_control.control.activation import CannotStart, require_start
from projected_control.control.contact_stability import normal_masses
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.native.simulation import NativeSimulation
from projected_control.settings import build
from projected_control.settings.files import from_command_line
from projected_control.settings.layers import Layers
from projected_control.simulation import Plant
from projected_control.simulation.surfaces import Row, Surface

CONFIG = Path(__file__).parents[1] / "config"
SEVEN = [CONFIG / "seven_joints.yaml", CONFIG / "real.yaml"]
PLAIN = {"friction.coulomb": [0.0], "compensation.coulomb": [0.0], "friction.sticks": False}
Q = np.array([np.pi / 3, -2.0 * np.pi / 3.0])
FLOOR = PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.0, -1.0])


def on_floor(step, one_sided=1, friction=0.0, **surface):
    model = ConstrainedArm(slider_crank_case()[0], FLOOR, tolerance=1e-6)
    return Plant(
        model,
        step,
        surface=Surface(**surface),
        one_sided=[one_sided],
        contact_friction=friction,
    )


def test_the_law_of_a_surface():
    """λ = K x (1 + α ẋ) + D ẋ while it presses, nothing else, and what it takes is work."""
    plant = on_floor(1e-4, stiffness=(4e4,), damping=30.0, dissipation=2.0)
    start = plant.reset(Q + np.array([0.02, 0.0])).energy
    assert plant.laws == (Row.GIVES_ONE_SIDED,)
    pressed = []
    for _ in range(3000):
        plant.step(np.zeros(2))
        state, contacts = plant.state, plant.contacts
        depth, rate = float(contacts.gap[0]), float((plant.model.A @ state.v)[0])
        law = 4e4 * depth * (1.0 + 2.0 * rate) + 30.0 * rate
        expected = max(law, 0.0) if depth > 0.0 else 0.0
        assert state.multipliers[0] == pytest.approx(expected, abs=1e-9)
        pressed.append(expected)
    assert min(pressed) == 0.0
    assert max(pressed) > 50.0
    assert abs(state.energy - state.work - start) < 1e-6
    assert pressed[-1] == pytest.approx(4e4 * depth, rel=0.1)


def test_a_touch_swings_with_the_mass_along_the_normal():
    """Half a swing without damping takes π √(m_n/K), and leaves with the speed of the touch."""
    plant = on_floor(1e-5, stiffness=(1e6,))
    plant.reset(Q, [-1.0, 0.5])
    model = plant.model
    model.evaluate(Q, [-1.0, 0.5])
    m = float(normal_masses(model, [1.0])[0])
    assert m == pytest.approx(7.0 / 4.0)
    peak, contact = 0.0, 0
    while plant.contacts.gap[0] >= 0.0 or contact == 0:
        plant.step(np.zeros(2))
        force = plant.state.multipliers[0]
        peak, contact = max(peak, force), contact + 1
    assert contact * 1e-5 == pytest.approx(np.pi * np.sqrt(m / 1e6), rel=0.02)
    assert peak == pytest.approx(0.75 * np.sqrt(1e6 * m), rel=0.03)
    assert float((model.A @ plant.v)[0]) == pytest.approx(-0.75, rel=0.02)


def test_friction_on_a_surface_that_gives_lies_in_it():
    """µ of the force there, against the sliding, and nothing along the normal."""
    plant = on_floor(1e-4, friction=0.5, stiffness=(4e4,), damping=200.0)
    plant.reset(Q, [-0.5, 1.0])
    for _ in range(300):
        before = plant.state.multipliers[0]
        plant.step(np.zeros(2))
        x, y, z = plant.terms.contact_force
        assert x == pytest.approx(-0.5 * before, abs=1e-9)
        assert abs(y) + abs(z) < 1e-6 * (1.0 + before)


def test_a_rail_that_gives_holds_on_both_sides():
    plant = on_floor(1e-4, one_sided=0, stiffness=(4e4,), damping=200.0)
    plant.reset(Q)
    assert plant.laws == (Row.GIVES,)
    lowest = 0.0
    for _ in range(3000):
        plant.step([20.0, 0.0])  # lifts
        lowest = min(lowest, plant.state.multipliers[0])
    assert lowest < -3.0
    assert plant.contacts.gap[0] < -5e-5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"damping": 3.0}, "are of a surface that gives"),
        ({"stiffness": (1e4,), "restitution": 0.5}, "is of a rigid surface"),
        ({"stiffness": (1.0, 2.0, 3.0)}, "one number or two"),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong, message):
    with pytest.raises(InvalidValue, match=message):
        Surface(**wrong)


def test_a_step_that_is_too_long_is_refused():
    with pytest.raises(InvalidValue, match=r"at most 0\.000187 s \(simulation\.step\)"):
        on_floor(1e-3, stiffness=(5e7,)).reset(Q)
    with pytest.raises(InvalidValue, match=r"too long for a surface"):
        on_floor(1e-3, stiffness=(1e4,), damping=1e4).reset(Q)


# By YAML, under a controller


def read(files, values):
    given = [f"{name}:={json.dumps(value)}" for name, value in values.items()]
    return Layers.read(files, "", from_command_line(given, "--set"))


def pressing(*, known=False, **changes):
    """A loop on an arm of seven joints that presses on its table, made of real parts.

    The arm may leave it; the controller takes it as held unless it is known.
    """
    values = {**PLAIN, "constraint.one_sided": True, **changes}
    layers = read(SEVEN, values)
    taken = read(SEVEN, {**values, "constraint.one_sided": known, "constraint.free_side": ""})
    loop = build.build_loop("force_controller", taken.controller("force_controller"))
    hardware, model = build.build_plant(layers.arm()), loop.controller.model
    loop.controller.hold(hardware.truth.q)
    loop.set_reference(Constant(model.theta.copy()))
    return loop, hardware


def damping_for(stiffness, zeta=0.7):
    loop, _ = pressing()
    m = float(loop.controller.force.masses[0])
    return 2.0 * zeta * np.sqrt(stiffness * m)


def forces(loop, hardware, ticks):
    runner = Runner(loop, hardware)
    runner.open()
    found = []
    for _ in range(ticks):
        runner.step()
        found.append(float(hardware.truth.multipliers[0]))
    return np.array(found)


@pytest.mark.parametrize("stiffness", [5e3, 5e4])
def test_the_force_loop_needs_damping_on_a_surface_that_gives(stiffness):
    """With the gains of config/real.yaml it swings more and more until the guard stops it."""
    hard = {"contact.stiffness": [stiffness]}
    wild = forces(pressing()[0], pressing(**hard)[1], 1000)
    assert wild.max() > 60.0
    d_n = damping_for(stiffness)
    calm = forces(*pressing(**hard, **{"force.normal_damping": d_n}), 1500)
    np.testing.assert_allclose(calm[-300:], 10.0, atol=0.5)


def test_a_wrong_damping_is_refused_at_the_start():
    loop, hardware = pressing(**{"contact.stiffness": [5e3, 5e4]})
    with pytest.raises(CannotStart, match="would diverge on a surface of"):
        require_start(loop, hardware.truth.q, 0.005)


def test_only_what_can_be_left_is_one_sided():
    slider = read([CONFIG / "three_link_slider.yaml"], {"constraint.one_sided": True}).arm()
    with pytest.raises(InvalidValue, match="point_on_line holds on both sides"):
        build.build_plant(slider)


def test_a_side_by_yaml():
    """Outside of a dome is the positive side."""
    assert pressing()[1].plant.laws == (Row.ONE_SIDED,)
    assert pressing()[1].plant.contacts.side[0] == 1.0
    other = pressing(**{"constraint.free_side": "positive"})[1]
    assert other.plant.contacts.side[0] == -1.0


SURFACES = {
    "gives": {"contact.stiffness": [5e4]},
    "rigid": {},
}


@NEEDS_NATIVE
@pytest.mark.parametrize("kind", SURFACES)
def test_it_is_the_same_in_a_native_run(kind):
    """A contact that is found and held, in C++ and in Python, to the last bit."""

    def made():
        d_n = damping_for(5e4) if kind == "gives" else 0.0
        settings = {**SURFACES[kind], "force.normal_damping": d_n}
        loop, hardware = pressing(known=True, **settings)
        return loop, hardware

    loop, hardware = made()
    runner = Runner(loop, hardware)
    runner.open()
    rows = []
    for _ in range(400):
        tick = runner.step()
        rows.append(np.concatenate([tick.report.effort, hardware.truth.q]))
    loop, hardware = made()
    Runner(loop, hardware).open()
    done = NativeSimulation(loop, hardware).run(400).rows
    np.testing.assert_array_equal(np.hstack([done.column("effort"), done.column("true_q")]), rows)


@NEEDS_NATIVE
def test_it_is_the_same_in_the_plugin():
    """Its simulated arm presses on a surface that gives, and d_n changes while it runs."""
    d_n = damping_for(5e4)

    def made():
        values = {"contact.stiffness": [5e4], "force.normal_damping": d_n}
        loop, hardware = pressing(known=True, **values)
        Runner(loop, hardware).open()
        return loop, hardware

    run, own = ActingRun(made()), made()[0]
    run.go(100)
    efforts = [own.update(row).effort.copy() for row in run.rows]
    for loop in (run.loop, own):
        force = loop.controller.force
        force.set_gains(replace(force.gains, normal_damping=0.8 * d_n), 0.02)
    run.change()
    run.go(100)
    efforts += [own.update(row).effort.copy() for row in run.rows[100:]]
    assert own.controller.terms.normal_damping[0] == 0.8 * d_n
    assert np.array_equal(np.array(run.efforts), np.array(efforts))
