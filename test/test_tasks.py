"""Tasks: a wiped table and dome, a drawer, a valve, on arms people own; and what is judged."""

from pathlib import Path

import numpy as np
import pytest

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import node_samples, run_task
from projected_control.control.references import ReferencePoint
from projected_control.errors import ProjectedControlError
from projected_control.resources import MissingResource, arms_folder
from projected_control.runs.tare import measure_effort_tare
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE, MOTION

CONFIG = Path(__file__).parents[1] / "config"
REAL, ROUGH = CONFIG / "real.yaml", CONFIG / "rough.yaml"

MISSING = pytest.mark.skipif(
    arms_folder() is None,
    reason="example-robot-data is missing: pip install 'projected_control[arms]', or name its "
    "folder robots in PROJECTED_CONTROL_ARMS",
)

KEYS = {
    "task",
    "arm",
    "joints",
    "force_wanted",
    "force_error_rms",
    "lateral_drift",
    "tilt_error",
    "tracking_rms",
    "residual_max",
    "torque_peak_ratio",
}


def numbers_of(task, seconds=4.0, files=(), **overrides):
    """Numbers of a task; names of overrides with __ for dots."""
    values = {name.replace("__", "."): value for name, value in overrides.items()}
    settings = settings_for(task, seconds, "paper", True, values, files)
    return run_task(settings.case.node, settings.controller, settings.arm, settings.ticks).numbers(
        task
    )


def ideal_run(arm="seven_joints", files=(), seconds=4.0, **changes):
    """A run of an arm's file as it stands: the bare arm of seven joints, or that of a task."""
    names = {name.replace("__", "."): value for name, value in changes.items()}
    layers = Layers.read([CONFIG / f"{arm}.yaml", *files], "paper").on_top(names, "test")
    return run_task(FORCE, layers.controller(FORCE), layers.arm(), round(1000 * seconds))


def bare_arm(files=(), seconds=4.0, **changes):
    """The bare arm of seven joints, with the same numbers as the tasks."""
    return ideal_run("seven_joints", files, seconds, **changes).numbers("wipe")


def test_a_bare_arm_wipes_within_half_a_percent_and_a_tenth_of_a_millimetre():
    numbers = bare_arm()
    assert set(numbers) == KEYS
    assert numbers["force_wanted"] == 10.0
    assert numbers["force_error_rms"] < 0.005 * 10.0
    assert numbers["lateral_drift"] < 1e-4
    assert numbers["tilt_error"] < 1e-3
    assert numbers["residual_max"] < 1e-9
    assert 0.0 < numbers["torque_peak_ratio"] < 0.8


def test_a_bare_arm_that_sticks_and_is_10_percent_heavier_still_wipes():
    numbers = bare_arm([ROUGH])
    assert numbers["force_error_rms"] < 0.05 * 10.0
    assert numbers["tracking_rms"] < 1e-3
    assert numbers["tilt_error"] < np.radians(0.5)


def test_a_bare_arm_of_real_parts_wipes_where_its_friction_is_known():
    """It sticks, its encoders count, its efforts and forces are late and noisy: 1 %, 0.15 mm."""
    numbers = bare_arm([REAL])
    assert numbers["force_error_rms"] < 0.01 * 10.0
    assert numbers["lateral_drift"] < 1.5e-4
    assert numbers["tilt_error"] < np.radians(0.1)


def test_a_bare_arm_wipes_without_a_force_sensor_where_its_masses_are_right():
    numbers = bare_arm([ROUGH], force__source="momentum", simulation__mass_factor=1.0)
    assert numbers["force_error_rms"] < 0.15 * 10.0


def told_by_nodes(run, every=10, begin=0.0):
    """What the topics ~/state and ~/truth would have told of a run, the former from some time on.

    The controller's states are those of other ticks where it begins at another pose.
    """
    controller, names = run.loop.controller, run.coordinates.names
    joints = controller.model.arm.joint_names
    times = np.arange(begin, run.samples.times[-1], 1e-3 * every)
    state = {f"{name}/desired": [] for name in names}
    for t in times:
        for name, value in zip(names, run.reference.at(t).value, strict=True):
            state[f"{name}/desired"].append(value)
    state = {name: np.array(column) for name, column in state.items()}
    state |= {"lambda_0/desired": np.full(times.size, 10.0)}
    limit = run.loop.guard.limits.effort
    ratio = np.interp(times, run.samples.times, run.samples.effort_ratio)
    state |= {f"{joint}/effort": ratio * limit[j] for j, joint in enumerate(joints)}
    truth = {joint: run.q[:, j] for j, joint in enumerate(joints)}
    truth |= {"lambda_0": run.samples.multipliers[:, 0], "residual": run.samples.residual}
    return (times, state), (run.samples.times, truth)


@pytest.mark.parametrize("begin", [0.009, 0.0034])
def test_nodes_are_judged_by_what_they_told(begin):
    """As the run that they did, on the same ticks or on others; not as another one."""
    run = ideal_run(seconds=2.5)
    expected = run.numbers("wipe")
    state, truth = told_by_nodes(run, begin=begin)
    numbers = node_samples(state, truth, run).numbers("wipe", run.loop.controller)
    for name in ("force_error_rms", "residual_max"):
        assert numbers[name] == pytest.approx(expected[name], rel=0.02)
    for name in ("lateral_drift", "tracking_rms", "tilt_error"):
        assert numbers[name] == pytest.approx(expected[name], abs=5e-7)
    truth[1]["lambda_0"] = truth[1]["lambda_0"] + 1.0
    truth[1]["joint_1"] = truth[1]["joint_1"] + 0.01
    off = node_samples(state, truth, run).numbers("wipe", run.loop.controller)
    assert off["force_error_rms"] == pytest.approx(1.0, rel=0.01)
    assert off["lateral_drift"] == pytest.approx(0.01 * 0.55, rel=0.2)  # as far as the tool is


def test_nodes_that_told_nothing_cannot_be_judged():
    run = ideal_run(seconds=1.1)
    nothing = (np.zeros(0), {})
    with pytest.raises(ProjectedControlError, match="cannot be judged by 0 states"):
        node_samples(nothing, nothing, run)


@pytest.mark.peers
@MISSING
@pytest.mark.parametrize(
    ("task", "force", "drift"),
    [
        ("wipe", 0.005 * 10.0, 1e-4),
        ("wipe_sphere", 0.01 * 10.0, 1.5e-4),
        ("drawer", 0.4, 1.5e-4),
        ("valve", 0.05 * 5.0, 1.5e-4),
    ],
)
def test_a_task_as_the_demo_shows_it_is_done_by_an_arm_of_real_parts(task, force, drift):
    """It sticks with 0.3 N·m, which is known; encoders, efforts and forces are real ones."""
    settings = settings_for(task, 10.0, "paper", True, {})
    assert settings.arm.friction.sticks
    assert settings.arm.encoder.resolution[0] > 0.0
    assert settings.arm.motor.delay == settings.arm.sensor.delay == 1
    assert settings.arm.motor.noise[0] * settings.arm.sensor.noise > 0.0
    numbers = numbers_of(task, 10.0)
    assert set(numbers) == KEYS
    assert numbers["force_error_rms"] < force
    assert numbers["lateral_drift"] < drift
    assert numbers["tilt_error"] < np.radians(0.1)


@pytest.mark.peers
@MISSING
@pytest.mark.parametrize(
    ("task", "arm", "joints", "wanted"),
    [
        ("wipe", "panda", 7, 10.0),
        ("wipe_sphere", "ur5", 6, 10.0),
        ("drawer", "UF_ROBOT", 7, 0.0),
        ("valve", "panda", 7, 5.0),
    ],
)
def test_a_task_on_an_ideal_arm_keeps_force_and_path(task, arm, joints, wanted):
    """0.5 % of the force (0.05 N where none is wanted), 0.1 mm, 1 mrad."""
    numbers = ideal_run(task).numbers(task)
    assert (numbers["arm"], numbers["joints"], numbers["task"]) == (arm, joints, task)
    assert numbers["force_wanted"] == pytest.approx(wanted)
    assert numbers["force_error_rms"] < 0.005 * (wanted or 10.0)
    assert numbers["lateral_drift"] < 1e-4
    assert numbers["tilt_error"] < 1e-3
    assert numbers["tracking_rms"] < 1e-4
    assert numbers["torque_peak_ratio"] < 0.8


@pytest.mark.peers
@MISSING
def test_a_panda_that_sticks_wipes_with_a_model_that_is_wrong():
    """Stiction 0.5 N·m, masses 10 % off, friction known to 20 %: 5 %, 1 mm, 0.5°."""
    numbers = numbers_of("wipe", 6.0, [ROUGH])
    assert numbers["force_error_rms"] < 0.05 * 10.0
    assert numbers["tracking_rms"] < 1e-3
    assert numbers["lateral_drift"] < 1e-3
    assert numbers["tilt_error"] < np.radians(0.5)


@pytest.mark.peers
@MISSING
def test_a_panda_wipes_without_a_force_sensor_where_its_masses_are_right():
    numbers = numbers_of(
        "wipe", 6.0, [ROUGH], force__source="momentum", simulation__mass_factor=1.0
    )
    assert numbers["force_error_rms"] < 0.15 * 10.0


def tared_above_the_table(seconds=10.0):
    """F₀ of a rough Panda that goes over the raster 2 cm above the table, touching nothing."""
    layers = Layers.read([CONFIG / "wipe.yaml", REAL, ROUGH], "paper")
    own = layers.values(FORCE)
    free = {
        "constraint.kind": "none",
        "coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y", "turn"],
        "simulation.coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"],
        "simulation.values": [0.4, -0.1, own["constraint.point"][2] + 0.02, 0.0, 0.0],
        "reference.square": False,
        **{name: own[name] for name in own if name.startswith(("compensation.", "disturbance."))},
    }
    layers = layers.on_top(free, "test")
    settings = layers.controller(MOTION)
    arm, loop = build.build_plant(layers.arm()), build.build_loop(MOTION, settings)
    state = arm.read()
    loop.controller.hold(state.q, state.v)
    model = loop.controller.model
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    loop.set_reference(build.build_reference(settings, here, 0.0, state.q.copy()))
    return measure_effort_tare(loop, arm, seconds).tolist()


@pytest.mark.peers
@MISSING
@pytest.mark.long
def test_a_panda_wipes_without_a_force_sensor_after_taring_where_its_masses_are_wrong():
    """Untared it is off by half; F₀ from above the table leaves less than 15 %."""
    tare = tared_above_the_table()
    source = {"force__source": "momentum"}
    assert numbers_of("wipe", 2.0, [ROUGH], **source)["force_error_rms"] > 0.3 * 10.0
    tared = numbers_of("wipe", 10.0, [ROUGH], **source, force__effort_tare=tare)
    assert tared["force_error_rms"] < 0.15 * 10.0


def test_where_the_arms_are_missing_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PROJECTED_CONTROL_ARMS", str(tmp_path))
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(MissingResource, match=r"pip install 'projected_control\[arms\]'"):
        build.build_arm(Layers.read([CONFIG / "wipe.yaml"], "paper").arm())


def test_a_task_that_is_too_short_to_be_judged_is_refused():
    with pytest.raises(ProjectedControlError, match="judged after 1 s"):
        bare_arm(seconds=0.5)
