"""The exported library: the same bits as numba, what it refuses, and no memory that grows."""

import ctypes
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic, sleep

import numpy as np
import pytest
from arms import planar_chain_model, random_state, slider_model, spatial_model, state_on
from golden_runs import RUNS
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import ARMS, KINDS

from projected_control import Runner, SimulatedArm
from projected_control.apps.bench.tick_cases import CASES
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
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.disturbance import Disturbance
from projected_control.control.events import Action
from projected_control.control.force_kernels import SOURCES
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    Reference,
    ReferencePoint,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.control.state import RawState
from projected_control.control.surface import EstimatedSurface
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.native import build, exports, library
from projected_control.native.cpp_arm import NativeArm
from projected_control.native.engine import NATIVE, NUMBA, NativeTick, use_engine
from projected_control.native.header import header, library_sizes
from projected_control.native.kernel_calls import Call, frame_of
from projected_control.native.simulation import NativeLoop, NativeSimulation
from projected_control.planning import assemble
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


def states(arm, seed, count):
    """Random states; some not finite, some late, some without a wrench, one from the past."""
    random, stamp, result = np.random.default_rng(seed), 0.0, []
    for i in range(count):
        q, v = random.uniform(-2.0, 2.0, arm.n), random.uniform(-1.0, 1.0, arm.n)
        stamp += T
        wrench, age = random.normal(0.0, 5.0, 6), 0.0
        match i % 23:
            case 7:
                q[random.integers(arm.n)] = np.nan
            case 11:
                v[random.integers(arm.n)] = np.inf
            case 13:
                stamp -= 5.0 * T
            case 17:
                wrench = None
            case 19:
                age = 1.0
        result.append(RawState(q, v, stamp, wrench, age))
    return result


def everything(loop):
    """All that a tick writes, bit for bit."""
    written = [a for a in loop.arguments if a.dtype == np.float64]
    return [a.copy().view(np.int64) for a in map(np.ascontiguousarray, written)]


def assert_same_bits(make, seed=0, count=69):
    """Two loops, one by numba and one by the library, answer the same states the same way."""
    first, second = make(), make()
    use_engine(second, NATIVE, python_too=True)
    assert isinstance(second.tick, NativeTick)
    for loop in (first, second):
        loop.guard.set_limits(loop.guard.limits)
    for state in states(first.controller.model.arm, seed, count):
        one, other = first.update(state), second.update(state)
        assert second.tick.status == 0
        assert (one.action, one.events) == (other.action, other.events)
        np.testing.assert_array_equal(one.effort.view(np.int64), other.effort.view(np.int64))
    for a, b in zip(everything(first), everything(second), strict=True):
        np.testing.assert_array_equal(a, b)


@native
@pytest.mark.parametrize("law", Law, ids=lambda law: law.name)
@pytest.mark.parametrize("source", SOURCES)
def test_every_law_and_source_gives_the_same_bits(law, source):
    assert_same_bits(lambda: loop_of(law, model_of(law), source))


def rough_loop(law, source="sensor", kind="observer"):
    """With friction compensated, at the contact too, and disturbances answered."""
    loop = loop_of(law, model_of(law), source)
    n = loop.controller.model.n
    friction = FrictionCompensation(
        np.linspace(0.1, 0.5, n), 0.1, np.linspace(0.2, 0.7, n), 0.03, 0.01, contact=0.2
    )
    loop.controller.set_compensation(friction, 0.02)
    if law not in (Law.IMPEDANCE, Law.GRAVITY):  # which refuse it
        loop.controller.set_disturbance(Disturbance(kind, band=1e-9), 0.01)
    if loop.controller.force is not None:
        loop.set_force_reference(Constant(np.full(loop.controller.model.m, 5.0)))
    return loop


@native
@pytest.mark.parametrize("law", Law, ids=lambda law: law.name)
@pytest.mark.parametrize(
    ("source", "kind"), [("sensor", "integral"), ("model", "observer"), ("momentum", "observer")]
)
def test_friction_and_disturbances_give_the_same_bits(law, source, kind):
    assert_same_bits(lambda: rough_loop(law, source, kind))


def pose_loop(frame="", **kind):
    """An impedance on place and orientation, in the axes of a frame, that changes while it runs."""
    arm = spatial_model().arm
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7")
    pose = [Coordinate.position("end_7", axis) for axis in "xyz"]
    members = [*pose, *Coordinate.orientation("end_7", place.rotation.copy())]
    plane = PointOnPlane("end_7", place.position, [0.1, 0.2, 1.0])
    model = ConstrainedArm(arm, plane, Coordinates(members))
    first = Impedance([100.0, 200.0, 300.0, 10.0, 20.0, 30.0], 0.8, frame=frame, **kind)
    made = ImpedanceController(model, first, ForceGains(), T, projected=not kind.get("damping"))
    loop = ControlLoop(made, Constant(np.zeros(6)))
    if first.shaped:
        made.set_disturbance(Disturbance("observer"), 0.01)
    made.set_impedance(Impedance(50.0, 0.5, frame=frame, **kind), 0.02)
    return loop


@native
@pytest.mark.parametrize(
    "kind",
    [{"frame": "end_7"}, {"frame": "link_3", "inertia": 2.0}, {"damping": 10.0}],
    ids=["by ratio", "shaped", "open-loop"],
)
def test_every_kind_of_impedance_gives_the_same_bits(kind):
    assert_same_bits(lambda: pose_loop(**kind))


@native
def test_an_estimated_plane_gives_the_same_bits():
    """The library turns the plane in the table of functions as numba does."""

    def make():
        arm = spatial_model().arm
        place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
        plane = PointOnPlane("end_7", place, [0.1, 0.2, 1.0])
        model = ConstrainedArm(arm, plane, Coordinates.of_joints(["joint_1", "joint_2"]))
        loop = loop_of(Law.HYBRID, model)
        bounds = EstimatedSurface(1.4, 10.0, 20.0, 1e-3, 1e-3)
        loop.controller.estimate_surface(bounds, loop.force_source)
        return loop

    loop = make()
    for state in states(loop.controller.model.arm, 0, 40):
        loop.update(state)
    normal, _ = loop.controller.surface
    assert np.degrees(np.arccos(normal @ [0.1, 0.2, 1.0] / np.sqrt(1.05))) > 1.0
    assert_same_bits(make)


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
            motors=Motors([0.01, 0.0, 0.02], 2, seed=3),
        )
        return loop_of(Law.HYBRID, model), hardware

    loop, hardware = build()
    runner = Runner(loop, hardware)
    runner.open()
    rows = []
    for _ in range(500):
        tick = runner.step()
        rows.append(np.concatenate([tick.report.effort, hardware.truth.q, tick.state.q]))
    loop, hardware = build()
    Runner(loop, hardware).open()
    done = NativeSimulation(loop, hardware).run(500).rows
    found = [done.column(name) for name in ("effort", "true_q", "q")]
    np.testing.assert_array_equal(np.hstack(found), rows)


@native
@pytest.mark.parametrize(
    ("kind", "frame"),
    [("circle in a plane", None), ("line in a plane", "link_2"), ("distance from a point", None)],
)
def test_a_wrench_that_changes_with_the_configuration_is_the_same_in_a_native_run(kind, frame):
    """A circle, a sensor on another link, a rod: wrenches and efforts bit for bit."""
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
    for _ in range(200):
        tick = runner.step()
        rows.append(np.concatenate([tick.report.effort, tick.state.wrench]))
    hardware.read()
    model = hardware.plant.model
    expected = model.constraint.wrench_basis(model.arm, hardware.frame)
    np.testing.assert_allclose(hardware.plant.terms.basis, expected, atol=1e-12)
    loop, hardware = build()
    Runner(loop, hardware).open()
    done = NativeSimulation(loop, hardware).run(200).rows
    np.testing.assert_array_equal(np.hstack([done.column("effort"), done.column("wrench")]), rows)


@native
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(list(Law)))
def test_random_states_give_the_same_bits(seed, law):
    assert_same_bits(lambda: loop_of(law, model_of(law)), seed)


@native
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_constraint_gives_the_same_bits(arm, kind):
    """Those computed in Python too: the library completes them."""
    load, tip, other = ARMS[arm]

    def make():
        robot = load()
        constraint = KINDS[kind](tip, other)
        model = ConstrainedArm(robot, constraint, Coordinates.of_joints(robot.joint_names[:1]))
        return loop_of(Law.PIDC, model)

    assert_same_bits(make, count=46)


@native
def test_an_orientation_gives_the_same_bits():
    def loop():
        held = spatial_model()
        theta = Coordinates([Coordinate.position("end_6", "z"), *Coordinate.orientation("end_7")])
        return loop_of(Law.HYBRID, ConstrainedArm(held.arm, held.constraint, theta))

    assert_same_bits(loop)


@native
def test_a_constraint_that_loses_rank_gives_the_same_bits():
    """The stretched arm on its slider, and on the way through."""
    one, other = slider_model(), slider_model()
    loops = [loop_of(Law.HYBRID, one), loop_of(Law.HYBRID, other)]
    use_engine(loops[1], NATIVE)
    ranks = set()
    for i in range(200):
        q = np.array([-np.pi / 2 + 1e-5 * (i - 100), 0.0, 0.0])
        state = RawState(q, np.full(3, 0.01), i * T, np.zeros(6))
        efforts = [loop.update(state).effort.copy() for loop in loops]
        np.testing.assert_array_equal(*efforts)
        ranks.add(one.rank)
    assert ranks == {0, 1}


@native
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_native_run_is_the_python_run(case):
    """2,000 ticks of plant and loop in C++: every number of every tick, bit for bit."""
    ticks = 2000
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
    use_engine(loop, engine)
    efforts = []
    for i in range(400):
        if i == 200:
            model.arm.set_payload("link_3", mass, [0.05, 0.0, 0.0])
        efforts.append(runner.step().report.effort.copy())
    return np.array(efforts)


@native
@pytest.mark.parametrize("engine", [NATIVE, "C++"])
def test_a_live_load_reaches_the_native_loop(engine):
    """The library in a Python loop, and plant and loop in C++: as numba, to the last bit."""
    expected = run_with_a_load(NUMBA, 2.0)
    np.testing.assert_array_equal(run_with_a_load(engine, 2.0), expected)
    without = run_with_a_load(engine, 0.0)
    np.testing.assert_array_equal(without[:200], expected[:200])
    assert np.abs(without[200:] - expected[200:]).max() > 0.1


@native
@pytest.mark.parametrize("name", RUNS)
def test_golden_runs_by_the_library(name, monkeypatch):
    """What a robot runs gives what the golden runs give with numba, to the last bit."""
    expected = RUNS[name]()
    plain = ControlLoop.__init__

    def by_library(self, *arguments, **more):
        plain(self, *arguments, **more)
        use_engine(self, NATIVE, python_too=True)

    monkeypatch.setattr(ControlLoop, "__init__", by_library)
    found = RUNS[name]()
    assert found.keys() == expected.keys()
    for column, numbers in found.items():
        np.testing.assert_array_equal(numbers, expected[column], err_msg=column)


# Pinocchio's pass


@native
@pytest.mark.parametrize("arm", ARMS)
def test_the_pass_in_cpp_is_pythons(arm):
    robot = ARMS[arm][0]()
    other = NativeArm(robot)
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
def test_another_version_other_sources_other_sizes_are_refused(monkeypatch):
    folder = build.kernels_folder()
    monkeypatch.setattr(exports, "VERSION", "9.9")
    with pytest.raises(library.LibraryMismatch, match=r"is of version .*, this package of 9.9"):
        library.Kernels(folder)
    monkeypatch.undo()
    monkeypatch.setattr(exports, "digest", lambda: "0" * 64)
    with pytest.raises(library.LibraryMismatch, match=r"from other sources.*export it again"):
        library.Kernels(folder)
    monkeypatch.undo()
    monkeypatch.setattr(library, "library_sizes", lambda *_: [1, 2, 3])
    with pytest.raises(library.LibraryMismatch, match="other sizes"):
        library.Kernels(folder)


def test_a_folder_without_a_library_is_refused(tmp_path):
    with pytest.raises(library.LibraryMismatch, match="cannot be loaded"):
        library.Kernels(tmp_path)


@native
def test_a_status_other_than_zero_means_zero_effort():
    loop = loop_of(Law.PIDC, spatial_model())
    use_engine(loop, NATIVE)
    loop.guard.sent[:] = 3.0
    loop.tick._run = lambda address: 1
    arm = loop.controller.model.arm
    report = loop.update(RawState(np.zeros(arm.n), np.zeros(arm.n), 0.0))
    assert report.action is Action.ZERO
    assert report.effort.tolist() == [0.0] * arm.n


@native
def test_a_constraint_in_python_is_refused_with_a_message():
    robot = ARMS["3R"][0]()
    model = ConstrainedArm(robot, KINDS["own"]("tip", "link_2"), Coordinates.of_joints(["joint_1"]))
    with pytest.raises(InvalidValue, match=r"cannot run without Python: the constraint is comp"):
        NativeLoop(loop_of(Law.PIDC, model))
    with pytest.raises(InvalidValue, match=r"cannot run without Python: the constraint is comp"):
        use_engine(loop_of(Law.PIDC, model), NATIVE)


@native
def test_a_constraint_in_python_runs_on_numba_where_the_engine_is_chosen_by_itself(capsys):
    robot = ARMS["3R"][0]()
    model = ConstrainedArm(robot, KINDS["own"]("tip", "link_2"), Coordinates.of_joints(["joint_1"]))
    loop = loop_of(Law.PIDC, model)
    assert use_engine(loop, "auto") == NUMBA
    assert "the constraint is computed in Python" in capsys.readouterr().err
    loop.update(RawState(np.zeros(3), np.zeros(3), 0.0))


@native
def test_a_native_loop_takes_no_reference_that_python_computes():
    class Ramp(Reference):
        size = 2

        def at(self, time):
            return ReferencePoint(np.full(2, time), np.ones(2), np.zeros(2))

    loop = loop_of(Law.PIDC, slider_model())
    use_engine(loop, NATIVE)
    old = loop.reference
    with pytest.raises(InvalidValue, match="runs without Python, and a Ramp has no table"):
        loop.set_reference(Ramp())
    assert loop.reference is old
    use_engine(loop, NUMBA)
    loop.set_reference(Ramp())


def test_without_a_compiler_everything_runs_on_numba(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    library.kernels.cache_clear()
    loop = loop_of(Law.PIDC, spatial_model())
    try:
        assert use_engine(loop, "auto") == NUMBA
        assert "no C++ compiler was found" in capsys.readouterr().err
        with pytest.raises(build.NoCompiler, match="everything runs on numba as before"):
            use_engine(loop, NATIVE)
    finally:
        library.kernels.cache_clear()


def test_of_two_that_need_it_one_builds_it(tmp_path):
    """The other waits, and takes what the first has made."""
    built = []

    def make(folder):
        built.append(folder)
        asked.wait()
        folder.mkdir()

    asked, target = Event(), tmp_path / "made"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(build.made, target, make, "it is built", print)
        wait_until(lambda: built)
        second = pool.submit(build.made, target, make, "it is built", print)
        asked.set()
        assert first.result(60.0) == second.result(60.0) == target
    assert len(built) == 1
    assert target.is_dir()


def wait_until(condition):
    give_up = monotonic() + 60.0
    while not condition():
        assert monotonic() < give_up
        sleep(0.01)


def test_an_engine_that_nobody_has():
    with pytest.raises(UnknownName, match="unknown engine 'fortran'; there are: auto, native"):
        use_engine(loop_of(Law.PIDC, spatial_model()), "fortran")


# Frames and header


def kernel(x, count, flag):
    """Add up."""
    return x.sum() + count if flag else 0.0


def test_a_frame_follows_from_signature_and_example():
    strided = np.zeros((4, 3))[::2]
    frame = frame_of("kernel", kernel, (strided, 3, True), results={"total": "double"})
    assert frame.places == {
        "x": 0, "x_shape": 1, "x_strides": 3, "count": 5, "flag": 6, "total": 7,
    }  # fmt: skip
    call = Call(frame, (strided, 3, True))
    assert call.fields[1:7].tolist() == [2, 3, 48, 8, 3, 1]
    assert call.fields[0] == strided.ctypes.data


def test_a_call_refuses_what_does_not_fit():
    frame = frame_of("kernel", kernel, (np.zeros((2, 2)), 3, True))
    with pytest.raises(InvalidValue, match="x of kernel must be an array of 2 dimensions"):
        Call(frame, (np.zeros(3), 3, True))
    with pytest.raises(InvalidValue, match="not dense by rows"):
        Call(frame, (np.zeros((4, 4))[:, ::2], 3, True))
    with pytest.raises(InvalidValue, match="float32"):
        Call(frame, (np.zeros((2, 2), dtype=np.float32), 3, True))


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
    path = build.kernels_folder() / "libprojected_control_kernels.so"
    needed = subprocess.run(
        ["readelf", "-d", str(path)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    libraries = set(re.findall(r"NEEDED.*\[(.*)\]", needed))
    assert libraries <= {"libm.so.6", "libc.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
    assert path.stat().st_size < 500_000


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
def test_the_address_of_a_call_stays():
    """C keeps it: the frame must not move when arguments change."""
    loop = loop_of(Law.PIDC, spatial_model())
    use_engine(loop, NATIVE)
    address = loop.tick._call.address
    arm = loop.controller.model.arm
    for i in range(3):
        loop.update(RawState(np.zeros(arm.n), np.zeros(arm.n), i * T))
    assert loop.tick._call.address == address
    assert ctypes.c_double.from_address(address).value == 2 * T


@native
def test_a_long_reference_is_taken_without_a_new_frame_in_the_ticking_thread():
    """Arrays and frame are those that the deciding thread made ready."""
    loops = [loop_of(Law.PIDC, slider_model()) for _ in range(2)]
    use_engine(loops[1], NATIVE)
    q, v = state_on(loops[0].controller.model, 0)
    long = Waypoints(np.arange(300.0), np.zeros((300, 2)), np.zeros((300, 2)))
    loops[1].get_ready_for(long)
    ready = loops[1].tick._prepared[0]
    efforts = []
    for i in range(20):
        for loop in loops:
            if i == 10:
                loop.set_reference(long)
            efforts.append(loop.update(RawState(q, v, i * T)).effort.copy())
    assert loops[1].tick._call is ready
    np.testing.assert_array_equal(efforts[::2], efforts[1::2])


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
