"""MuJoCo as the engine of a simulated arm, against our own plant.

MuJoCo's constraints are springs that get harder as the step gets shorter (a time constant of two
steps), and it leaves Ȧq̇ to them. At rest accelerations and forces agree to their softness; in
motion the difference vanishes with the step, of which MuJoCo's integration is of first order.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arms import random_urdf
from kinds import KINDS, LEVEL, POINT

import projected_control as pc
from projected_control.apps.demo.demo_settings import in_process, settings_for
from projected_control.errors import InvalidValue, SimulationFailed, Unreachable
from projected_control.extras import MissingExtra
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    CONSTRAINTS,
    JointLocked,
    Moving,
    PointAtPoint,
    PointOnPlane,
    PointOnSphere,
)
from projected_control.model.constraints.moving import Travel
from projected_control.model.dynamics import Problem, projected
from projected_control.native.engine import accept_engine
from projected_control.native.simulation import refuse_hardware
from projected_control.planning import assemble
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.simulation import ENGINES, Plant, make_plant

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

SECONDS = 0.1
TIP, OTHER = "end_9", "end_2"
REFUSED = {
    "loop in a plane": "out of the plane",
    "loop with heading": "one heading alone",
    "joint and heading": "one heading alone",
    "height map": "height fields",
    "tilted height map": "height fields",
    "redundant stack": "TipOnSphere",
    "stack with a moving one": "TipOnSphere",
    "own": "TipOnCircle",
    "own with bias": "TipOnSphere",
    "own made of functions": "ScaledLine",
}
HELD = [name for name in KINDS if name not in REFUSED]


WAVE = np.array([[0.3], [0.05], [2.0], [0.0]])  # rate, amplitude, frequency and phase of what moves


def arm_of():
    return Arm.from_urdf(random_urdf(3, 9))


def held_by(name):
    return KINDS[name](TIP, "end_6" if name == "stack" else OTHER)  # which can be reached


def assembled(arm, constraint, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(50):
        try:
            q = assemble(arm, constraint, random.uniform(-1.5, 1.5, arm.n))
        except Unreachable:
            continue
        P = ConstrainedArm(arm, constraint).evaluate(q, np.zeros(arm.n)).P
        return q, P @ random.normal(size=arm.n), 5.0 * random.normal(size=arm.n)
    raise AssertionError("nowhere assembled")


def off(its, ours):
    return np.linalg.norm(its - ours) / np.linalg.norm(ours)


@pytest.mark.parametrize("name", HELD)
def test_accelerations_and_forces_at_rest_are_mujocos(name):
    """To the softness that is left: 2e-4."""
    arm = arm_of()
    constraint = held_by(name)
    q, _, effort = assembled(arm, constraint)
    model = ConstrainedArm(arm, constraint)
    plant = make_plant("mujoco", model, 1e-3)
    plant.reset(q)
    plant.apply(effort)
    state = plant.state
    ours = projected(Problem.of(model.evaluate(q, state.v), effort))
    assert off(state.acceleration, ours.acceleration) < 2e-4
    assert off(state.constraint_force, ours.constraint_force) < 2e-4
    np.testing.assert_allclose(model.A.T @ state.multipliers, state.constraint_force, atol=1e-6)


def end_of(engine, model, q, v, effort, step):
    plant = make_plant(engine, model, step)
    plant.reset(q, v)
    for _ in range(round(SECONDS / step)):
        plant.step(effort)
    return plant.state


@pytest.mark.parametrize("name", HELD)
def test_motion_is_mujocos_to_the_order_of_integration(name):
    """Half the step, half the difference; without that first order little is left."""
    arm = arm_of()
    constraint = held_by(name)
    q, v, effort = assembled(arm, constraint)
    model = ConstrainedArm(arm, constraint)
    ours = end_of("built_in", model, q, v, effort, 1e-3)
    coarse, fine = (end_of("mujoco", model, q, v, effort, step) for step in (2e-4, 1e-4))
    assert np.linalg.norm(ours.q - q) > 0.1  # it moves
    errors = [np.linalg.norm(end.q - ours.q) for end in (coarse, fine)]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
    assert np.linalg.norm(2.0 * fine.q - coarse.q - ours.q) < 2e-5
    assert fine.residual < 1e-6
    assert fine.work == pytest.approx(ours.work, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("name", REFUSED)
def test_what_mujoco_cannot_hold_is_refused_with_the_reason(name):
    with pytest.raises(InvalidValue, match=REFUSED[name]) as refused:
        make_plant("mujoco", ConstrainedArm(arm_of(), KINDS[name](TIP, OTHER)), 1e-3)
    assert "built_in" in str(refused.value)


def test_every_kind_of_a_parameter_file_is_said():
    """In the table of the page: each kind is held by something, or refused."""
    page = (Path(__file__).parents[1] / "docs/tutorials/mujoco.md").read_text(encoding="utf-8")
    for name in CONSTRAINTS:
        assert f"`{name}`" in page or name == "none"


@pytest.mark.parametrize(
    "constraint",
    [
        Moving(PointAtPoint(TIP, POINT), Travel(*WAVE.repeat(3, 1))),
        Moving(PointOnPlane(TIP, POINT, LEVEL), Travel(*WAVE)),
        Moving(PointOnSphere(TIP, POINT, 0.3), Travel(*WAVE)),
        Moving(JointLocked("joint_2", 0.4), Travel(*WAVE)),
    ],
    ids=["point", "plane", "distance", "joint"],
)
def test_constraints_that_move_take_the_arm_along(constraint):
    """At 0.3 m/s and more: a target without its rate would lag by a millimetre and more."""
    arm = arm_of()
    q, _, effort = assembled(arm, constraint)
    model = ConstrainedArm(arm, constraint)
    ours, its = (end_of(engine, model, q, None, effort, 2e-4) for engine in ("built_in", "mujoco"))
    assert its.residual < 2e-6
    assert np.linalg.norm(its.q - ours.q) < 5e-3 * np.linalg.norm(ours.q - q)


def test_a_moving_circle_is_refused():
    still = KINDS["circle"](TIP, OTHER)
    moving = Moving(still, Travel(*np.zeros((4, 2))))
    with pytest.raises(InvalidValue, match=r"constraint\.motion"):
        make_plant("mujoco", ConstrainedArm(arm_of(), moving), 1e-3)


# What an arm has besides


def seven(engine, **changes):
    """The arm of seven joints on its table."""
    layers = Layers.read([pc.share_file("config", "seven_joints.yaml")], "paper")
    return build.build_plant(layers.on_top({"simulation.engine": engine, **changes}, "test").arm())


def after(arm, seconds=0.3, effort=None):
    """Where an arm comes in a time, from rest, its weight carried."""
    model = arm.plant.model
    arm.reset()
    effort = model.h + model.A.T @ [20.0] + np.full(model.n, 1.0) if effort is None else effort
    for _ in range(round(seconds / arm.period)):
        arm.read()
        arm.write(effort)
    return arm.plant.state


@pytest.mark.parametrize(
    "changes",
    [
        {"payload.link": "flange", "payload.mass": 3.0},
        {"armature": [0.2]},
        {"friction.viscous": [5.0]},
        {"friction.coulomb": [0.4]},
        {"friction.coulomb": [0.4], "friction.sticks": True},
        {"friction.coulomb": [0.4], "friction.static": [0.6], "friction.sticks": True},
        {"friction.contact": 0.3},
        {"motor.delay": 3},
        {"simulation.mass_factor": 1.3},
    ],
    ids=lambda changes: " ".join(f"{key}" for key in changes),
)
def test_what_an_arm_is_made_of_counts_in_mujoco_as_in_our_plant(changes):
    """The same motion within the error of Euler's step, where each part changes it far more."""
    fine = {"simulation.step": 2.5e-4, "simulation.stops": False}
    bare, ours, its = (
        after(seven(engine, **fine, **given))
        for engine, given in (("built_in", {}), ("built_in", changes), ("mujoco", changes))
    )
    difference, effect = np.linalg.norm(its.q - ours.q), np.linalg.norm(bare.q - ours.q)
    assert effect > 2e-3
    assert difference < 0.08 * effect
    assert np.abs(its.multipliers - ours.multipliers).max() < 0.1


def test_friction_at_the_contact_goes_through_the_sensor():
    """As on our own plant: µ N against the motion, and none of it in λ."""
    fine = {"simulation.step": 2.5e-4, "friction.contact": 0.3}
    ours, its = seven("built_in", **fine), seven("mujoco", **fine)
    wrenches = []
    for arm in (ours, its):
        after(arm)
        wrenches.append(arm.sense().wrench)
    np.testing.assert_allclose(wrenches[1][:3], wrenches[0][:3], atol=0.05)
    along = np.linalg.norm(wrenches[1][:2])
    assert along == pytest.approx(0.3 * abs(wrenches[1][2]), rel=0.01)


def test_friction_on_a_sphere_is_refused():
    with pytest.raises(InvalidValue, match="plane, a line and a circle"):
        make_plant(
            "mujoco",
            ConstrainedArm(arm_of(), PointOnSphere(TIP, POINT, 0.3)),
            1e-3,
            contact_friction=0.2,
        )


def test_sticking_joints_stand_still_below_their_friction():
    arm = seven("mujoco", **{"friction.coulomb": [0.4], "friction.sticks": True})
    model = arm.plant.model
    held = model.h + model.A.T @ [5.0]
    state = after(arm, 0.5, held + 0.3 * model.P[:, 0])
    assert np.abs(state.v).max() < 5e-5


def test_stops_hold_joints_inside_of_their_range():
    arm = seven("mujoco")
    limits = arm.plant.model.arm.limits
    state = after(arm, 1.0, np.zeros(7))  # it falls
    assert (np.clip(state.q, limits.lower - 1e-3, limits.upper + 1e-3) == state.q).all()


def test_a_payload_that_changes_counts_from_the_next_step_on():
    arm = seven("mujoco", **{"simulation.stops": False})
    model = arm.plant.model
    arm.reset()
    for mass in (0.0, 4.0):
        model.arm.set_payload("flange", mass)
        arm.plant.take_load()
        arm.plant.apply(np.zeros(7))
        state = arm.plant.state
        ours = projected(Problem.of(model.evaluate(state.q, state.v), np.zeros(7)))
        assert off(state.acceleration, ours.acceleration) < 2e-4


def test_an_arm_that_diverges_ends_with_the_reason():
    arm = seven("mujoco", **{"simulation.stops": False})
    arm.reset()

    def go_on():
        for _ in range(200):
            arm.write(np.full(7, 1e9))
            arm.read()

    with pytest.raises(SimulationFailed, match=r"smaller simulation\.step"):
        go_on()
    assert not Path("MUJOCO_LOG.TXT").exists()


def test_a_link_without_inertia_is_refused():
    urdf = arm_of().urdf.replace("<inertial>", "<!--").replace("</inertial>", "-->")
    names = [f"{what}_{i}" for what in ("link", "end") for i in range(1, 10)]
    arm = Arm.from_urdf(urdf, massless_links=["link_0", *names])
    with pytest.raises(InvalidValue, match="whole inertia matrix"):
        make_plant("mujoco", ConstrainedArm(arm, PointOnPlane(TIP, POINT, LEVEL)), 1e-3)


# As an arm


@pytest.mark.parametrize("task", ["slider", "crank", "five_bar", "hitch", "two_arms"])
def test_tasks_run_in_mujoco_as_on_our_plant(task):
    """Over half a second: the controlled coordinates to 0.2 mm or mrad, F to 0.5 %."""
    runs = []
    for engine in ("built_in", "mujoco"):
        settings = settings_for(task, 0.5, "paper", True, {"simulation.engine": engine})
        runs.append(in_process(settings, lambda what, share: None))
    (ours, _), (its, summary) = runs
    assert summary["residual_max"] < 5e-6
    assert np.abs(ours.samples.theta - its.samples.theta).max() < 2e-4
    F, G = (run.kept.column("true_constraint_force")[5:] for run in (ours, its))
    assert np.abs(F - G).max() < 5e-3 * np.abs(F).max()


def test_the_library_has_it():
    arm = pc.Arm.from_urdf(pc.share_file("urdf", "three_link_slider.urdf.xacro"))
    up = [0, 0, 1]
    slider = pc.PointOnLine("tip", point=[0, -0.27, 0], direction=[1, 0, 0], plane_normal=up)
    tip = pc.Coordinates([pc.Coordinate.position("tip", "x"), pc.Coordinate.heading("tip", up)])
    model = pc.ConstrainedArm(arm, slider, tip)
    controller = pc.MotionController(model, pc.MotionGains(480.0, 45.0))
    swing = pc.Sines([-0.075, 0.0], [[pc.Sine(0.225, frequency=0.5)], []])
    guess = [-3.0, 2.0, 1.0]
    ours, its = (
        pc.simulate(model, controller, swing, 0.5, guess=guess, engine=engine)
        for engine in ("built_in", "mujoco")
    )
    assert np.abs(ours.q - its.q).max() < 1e-3
    assert np.abs(ours.force - its.force).max() < 0.02 * np.abs(ours.force).max()


def test_runs_in_cpp_refuse_it():
    arm = seven("mujoco")
    with pytest.raises(InvalidValue, match=r"simulation\.engine built_in"):
        refuse_hardware(arm)
    assert isinstance(arm.plant, Plant)


def test_names_of_engines_are_told_apart():
    with pytest.raises(InvalidValue, match="what makes a loop's ticks"):
        seven("numba")
    with pytest.raises(InvalidValue, match="there are: built_in, dart, mujoco, pinocchio"):
        seven("bullet")
    with pytest.raises(InvalidValue, match=r"say simulation\.engine"):
        accept_engine("mujoco")
    layers = Layers.read([pc.share_file("config", "seven_joints.yaml")], "paper")
    with pytest.raises(InvalidValue, match=r"say simulation\.engine"):
        layers.on_top({"engine": "mujoco"}, "test").controller("force_controller")
    assert set(ENGINES) == {"built_in", "mujoco", "dart", "pinocchio"}


def test_without_mujoco_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra, match=r"pip install 'projected_control\[mujoco\]'"):
        seven("mujoco")


def test_the_demo_takes_an_engine():
    """In process; a wrong name is a mistake on the command line."""

    def demo(*options):
        command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--in-process"]
        return subprocess.run([*command, *options], capture_output=True, text=True, check=False)

    good = demo("--engine", "mujoco", "--seconds", "0.2")
    assert good.returncode == 0, good.stderr
    assert 0.0 < json.loads(good.stdout)["in_process"]["residual_max"] < 1e-5
    bad = demo("--engine", "native")
    assert bad.returncode == 2
    assert "what makes a loop's ticks" in bad.stderr
