"""The native loop: the same bits as from Python, what it refuses, and no memory that grows."""

import re
import subprocess

import numpy as np
import pytest
from arms import planar_chain_model, random_state, slider_model, spatial_model, state_on
from kinds import ARMS, KINDS

from projected_control import Runner, SimulatedArm, kernel_library
from projected_control.apps.bench.tick_cases import CASES, LEGGED
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task, simulated_arm
from projected_control.apps.experiments import table1
from projected_control.apps.experiments.case_run import attempt
from projected_control.apps.experiments.catalogue import Options
from projected_control.compiled import COMPILED
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
    PassiveJointController,
    SelectionController,
)
from projected_control.control.events import Action
from projected_control.control.laws.admittance import Admittance, AdmittanceController
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Sine,
    Sines,
)
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.native import exports, library
from projected_control.native.cpp_arm import NativeArm
from projected_control.native.header import header, library_sizes
from projected_control.native.simulation import NativeLoop, NativeSimulation
from projected_control.planning import assemble
from projected_control.resources import share_file
from projected_control.simulation import Encoders, ForceSensor, JointFriction, Motors, Plant

REASON = library.reason_against() if COMPILED else "the kernels are not compiled"
native = pytest.mark.skipif(bool(REASON), reason=f"no native loop: {REASON}")

T = 1e-3


def controller(law, model):
    gains = MotionGains.from_bandwidth(2.0)
    if law is Law.HYBRID:
        return ForceController(model, gains, ForceGains(), T)
    if law is Law.PASSIVE:
        return PassiveJointController(model, gains, None, T)
    if law is Law.PASSIVE_FORCE:
        return PassiveJointController(model, gains, ForceGains(), T)
    if law is Law.OPERATIONAL_SPACE:
        return OperationalSpaceController(model, gains, (1, 2, 2, 3)[: model.k], ForceGains(), T)
    if law is Law.IMPEDANCE:
        return ImpedanceController(model, IMPEDANCE, ForceGains(), T)
    if law is Law.SELECTION:
        force = model.coordinates.names[:1]
        return SelectionController(model, gains, ForceGains(), force, T)
    if law is Law.ADMITTANCE:
        force = model.coordinates.names[:1]
        return AdmittanceController(model, gains, ForceGains(), force, Admittance(), T)
    if law in (Law.COMPUTED_TORQUE, Law.GRAVITY):
        return ComputedTorqueController(model, gains, T, gravity=law is Law.GRAVITY)
    return MotionController(model, gains, law, T)


IMPEDANCE = Impedance(
    [
        [80.0, 10.0, 0.0, 0.0],
        [10.0, 50.0, 0.0, 5.0],
        *([[0.0, 0.0, 40.0, 0.0], [0.0, 5.0, 0.0, 30.0]]),
    ],
    0.7,
)


def loop_of(law, model, source="sensor"):
    waves = [[Sine(0.1, 0.5 + i, 0.3 * i)] for i in range(model.k)]
    reference = Sines(np.zeros(model.k), waves)
    return ControlLoop(controller(law, model), reference, force_source=source)


def model_of(law):
    if law in (Law.PASSIVE, Law.PASSIVE_FORCE):
        return planar_chain_model(passive=("joint_4",))
    model = spatial_model()
    if law is Law.COMPUTED_TORQUE:
        joints = Coordinates.of_joints(model.arm.joint_names)
        return ConstrainedArm(model.arm, model.constraint, joints)
    return model


@native
def test_an_arm_that_sticks_is_the_same_in_a_native_run():
    """Set-valued friction at joints and contact, encoder steps, late and noisy motors and force."""

    def build():
        model = slider_model()
        q, v = state_on(model, 0)
        plant = Plant(
            ConstrainedArm(model.arm.twin(), model.constraint),
            T / 2,
            friction=JointFriction(0.2, 0.1, static=[0.3, 0.25, 0.2], sticks=True),
            contact_friction=0.1,
        )
        hardware = SimulatedArm(
            plant,
            q,
            0.05 * v,
            period=T,
            sensor=ForceSensor(noise=0.3, delay=2, seed=5),
            encoders=Encoders([1e-4, 2e-4, 0.0], "filtered", 100.0),
            motors=Motors([0.01, 0.0, 0.02], 2, [0.0, 0.6, 0.5], seed=3),
        )
        return loop_of(Law.HYBRID, model), hardware

    loop, hardware = build()
    runner = Runner(loop, hardware)
    runner.open()
    rows = []
    for _ in range(500):
        tick = runner.step()
        truth = hardware.truth
        parts = tick.report.effort, truth.q, tick.state.q, truth.motor_effort
        rows.append(np.concatenate(parts))
    loop, hardware = build()
    Runner(loop, hardware).open()
    done = NativeSimulation(loop, hardware).run(500).rows
    found = [done.column(name) for name in ("effort", "true_q", "q", "true_motor_effort")]
    np.testing.assert_array_equal(np.hstack(found), rows)
    given = np.abs(found[-1])
    assert given[:, 1].max() == 0.6  # the motor gives no more, and the controller asks for more
    assert np.abs(found[0][:, 1]).max() > 0.6
    assert given[:, 0].max() > 0.6  # its limit is 0: none


@native
@pytest.mark.parametrize(
    ("kind", "frame"),
    [("circle in a plane", None), ("line in a plane", "link_2"), ("distance from a point", None)],
)
def test_a_wrench_that_changes_with_the_configuration_is_the_same_in_a_native_run(kind, frame):
    """A circle, a sensor on another link, a rod: wrenches and efforts bit for bit.

    The motors cannot carry the arm: it is not followed until it turns too fast for its steps.
    """
    load, tip, other = ARMS["3R"]

    def build():
        arm, constraint = load(), KINDS[kind](tip, other)
        q = assemble(arm, constraint, [0.4, 0.9, 0.7])
        model = ConstrainedArm(arm, constraint, Coordinates.of_joints(arm.joint_names[:1]))
        plant = Plant(ConstrainedArm(arm.twin(), constraint), T)
        sensor = ForceSensor(noise=0.1, delay=2, seed=3)
        hardware = SimulatedArm(plant, q, period=T, sensor=sensor, frame=frame)
        assert plant.terms.varies[0] == 1.0
        return loop_of(Law.PIDC, model), hardware

    loop, hardware = build()
    runner = Runner(loop, hardware)
    runner.open()
    rows = []
    for _ in range(100):
        tick = runner.step()
        rows.append(np.concatenate([tick.report.effort, tick.state.wrench]))
    hardware.read()
    model = hardware.plant.model
    expected = model.constraint.wrench_basis(model.arm, hardware.frame)
    np.testing.assert_allclose(hardware.plant.terms.basis, expected, atol=1e-12)
    loop, hardware = build()
    Runner(loop, hardware).open()
    done = NativeSimulation(loop, hardware).run(100).rows
    np.testing.assert_array_equal(np.hstack([done.column("effort"), done.column("wrench")]), rows)


@native
@pytest.mark.parametrize("case", [*CASES, LEGGED[0]], ids=str)
def test_a_native_run_is_the_python_run(case):
    """2,000 ticks of plant and loop in C++: every number of every tick, bit for bit."""
    ticks = 500 if case in LEGGED else 2000
    loop, hardware = case.build()
    runner = Runner(loop, hardware)
    runner.open()
    python = runner.keep(ticks)
    for _ in range(ticks):
        runner.step()
    loop, hardware = case.build()
    Runner(loop, hardware).open()
    native, failure = NativeSimulation(loop, hardware).run(ticks)
    assert failure == ""
    assert python.places == native.places
    for name in set(python.places) - {"took"}:
        np.testing.assert_array_equal(native.column(name), python.column(name), err_msg=name)
    assert loop.counters.ticks[0] == ticks
    assert loop.report.action is Action.FOLLOW


@native
def test_forces_of_feet_by_the_momentum_are_the_same_in_a_native_run():
    """C of a floating base, in C++ as in Python; the estimate is what the feet carry."""
    asked = settings_for("quadruped", 1.0, "paper", True, {"force.source": "momentum"})
    ready, _ = ready_task(asked.case.node, asked.controller, asked.arm)
    hardware = simulated_arm(ready)
    Runner(ready.loop, hardware).open()
    rows = NativeSimulation(ready.loop, hardware).run(300).rows
    again, _ = ready_task(asked.case.node, asked.controller, asked.arm)
    runner = Runner(again.loop, simulated_arm(again))
    runner.open()
    kept = runner.keep(300)
    for _ in range(300):
        runner.step()
    estimate = rows.column("lambda_measured")
    np.testing.assert_array_equal(estimate, kept.column("lambda_measured"))
    true = rows.column("true_multipliers")
    np.testing.assert_allclose(np.abs(estimate[100:]), np.abs(true[100:]), atol=0.05)


@native
def test_noise_delay_friction_and_substeps_are_the_same_in_a_native_run():
    def build():
        model = slider_model()
        q, v = state_on(model, 0)
        plant = Plant(
            ConstrainedArm(model.arm.twin(), model.constraint),
            T / 4,
            friction=JointFriction(0.1, 0.2),
        )
        sensor = ForceSensor(noise=0.3, delay=3, seed=5)
        hardware = SimulatedArm(plant, q, v, period=T, sensor=sensor)
        return loop_of(Law.HYBRID, model), hardware

    loop, hardware = build()
    runner = Runner(loop, hardware)
    runner.open()
    efforts = [runner.step().report.effort.copy() for _ in range(500)]
    loop, hardware = build()
    Runner(loop, hardware).open()
    simulation = NativeSimulation(loop, hardware)
    halves = [simulation.run(250).rows.column("effort") for _ in range(2)]
    np.testing.assert_array_equal(np.concatenate(halves), efforts)


def run_with_a_load(engine, mass):
    """Efforts of 400 ticks; the arm takes up a load after half of them, while it moves."""
    model = slider_model()
    q, v = state_on(model, 0)
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint), T)
    loop, hardware = loop_of(Law.HYBRID, model), SimulatedArm(plant, q, v, period=T)
    runner = Runner(loop, hardware)
    runner.open()
    if engine == "C++":
        simulation = NativeSimulation(loop, hardware)
        halves = [simulation.run(200).rows.column("effort")]
        model.arm.set_payload("link_3", mass, [0.05, 0.0, 0.0])
        return np.concatenate([*halves, simulation.run(200).rows.column("effort")])
    efforts = []
    for i in range(400):
        if i == 200:
            model.arm.set_payload("link_3", mass, [0.05, 0.0, 0.0])
        efforts.append(runner.step().report.effort.copy())
    return np.array(efforts)


@native
def test_a_live_load_reaches_the_native_loop():
    """Plant and loop in C++: as from Python, to the last bit."""
    expected = run_with_a_load("Python", 2.0)
    np.testing.assert_array_equal(run_with_a_load("C++", 2.0), expected)
    without = run_with_a_load("C++", 0.0)
    np.testing.assert_array_equal(without[:200], expected[:200])
    assert np.abs(without[200:] - expected[200:]).max() > 0.1


# Pinocchio's pass


def floating():
    return Arm.from_urdf(share_file("urdf", "quadruped.urdf.xacro"), base="floating")


@native
@pytest.mark.parametrize("load", [*(arm[0] for arm in ARMS.values()), floating])
def test_the_pass_in_cpp_is_pythons(load):
    robot = load()
    other = NativeArm(robot)
    robot.set_payload(robot.frame_names[-1], 0.3, [0.1, 0.0, 0.2])
    if robot.floats:
        robot.scale_masses(1.1)  # the trunk's too
    other.take_load()
    for seed in range(50):
        q, v = random_state(robot, seed)
        robot.update(q, v)
        other.compute(q, v)
        for name in ("M", "h", "spatial_jacobian", "placements"):
            np.testing.assert_array_equal(getattr(other, name), getattr(robot, name))
        assert other.energy == robot.energy
        np.testing.assert_array_equal(other.M, other.M.T)


# What is refused


@native
def test_a_constraint_in_python_is_refused_with_a_message():
    robot = ARMS["3R"][0]()
    model = ConstrainedArm(robot, KINDS["own"]("tip", "link_2"), Coordinates.of_joints(["joint_1"]))
    with pytest.raises(InvalidValue, match=r"cannot run without Python: the constraint is comp"):
        NativeLoop(loop_of(Law.PIDC, model))


# Frames and header


@native
def test_the_header_has_the_offsets_of_the_layouts(tmp_path):
    """A C program prints where parts begin; Python says the same."""
    frames, layouts = exports.exported_frames(), exports.exported_layouts()
    text = header(frames, layouts, exports.ENUMERATIONS, version="1", digest="d", processor="any")
    (tmp_path / "kernels.h").write_text(text)
    layout = next(x for x in layouts if x.parts.__name__ == "Terms")
    sizes = {"n": 7, "m": 3, "k": 4, "frames": 2}
    prints = "".join(
        f'printf("%ld\\n", (long)(v.{part} - (double *)0));' for part in layout.declared
    )
    numbers = ", ".join(str(size) for size in sizes.values())
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "kernels.h"\nint main(void) {'
        f"struct projected_control_terms v = projected_control_terms_view(0, {numbers}); {prints}"
        f'printf("%ld\\n", (long)projected_control_terms_size({numbers})); return 0; }}'
    )
    program = tmp_path / "main"
    command = ["cc", "-std=c99", "-Wall", "-Werror", "-o", str(program), str(tmp_path / "main.c")]
    subprocess.run(command, check=True, timeout=60)
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60)
    expected = [*layout.offsets(**sizes).values(), layout.size(**sizes)]
    assert [int(line) for line in out.stdout.split()] == expected
    assert len(library_sizes(frames, layouts)) == len(frames) + len(layouts)


@native
def test_the_library_needs_nothing_but_the_c_library():
    path = kernel_library.folder() / "libprojected_control_kernels.so"
    needed = subprocess.run(
        ["readelf", "-d", str(path)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    libraries = set(re.findall(r"NEEDED.*\[(.*)\]", needed))
    assert libraries <= {"libm.so.6", "libc.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
    assert path.stat().st_size < 800_000


# Memory


def resident():
    """Pages of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1])


def make_ticks(count):
    loop, hardware = CASES[0].build()
    Runner(loop, hardware).open()
    simulation = NativeSimulation(loop, hardware)
    simulation.run(10_000, record=False)
    before = resident()
    simulation.run(count, record=False)
    return resident() - before


@native
def test_memory_does_not_grow():
    assert make_ticks(100_000) <= 2


@native
@pytest.mark.long
def test_memory_does_not_grow_over_ten_million_ticks():
    assert make_ticks(10_000_000) <= 2


@native
@pytest.mark.parametrize("name", ["two_active", "one_active", "hybrid"])
def test_reproduce_at_native_speed_gives_the_same_recording(name, monkeypatch):
    case = table1.describe(Options(seconds=0.5))[name]
    slow = attempt(case)
    monkeypatch.setenv("PROJECTED_CONTROL_ENGINE", "native")
    fast = attempt(case)
    for name in ("time", "q", "v", "acceleration", "effort", "multipliers", "energy", "events"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    assert fast.failure is slow.failure is None
