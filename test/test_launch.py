"""launch/simulation.launch.py: its arguments, and what it refuses. `launch/` has its runs."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    RegisterEventHandler,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.launch_service import LaunchService
from launch_ros.actions import LifecycleNode
from ros_domain import free_domain

from projected_control.apps.launch import parts
from projected_control.errors import ProjectedControlError
from projected_control.resources import arms_folder
from projected_control.settings.nodes import TASKS

FILE = Path(__file__).parents[1] / "launch" / "simulation.launch.py"
CONTROLLERS = {
    "motion": "motion_controller",
    "force": "force_controller",
    "passive": "passive_joint_controller",
    "idc": "motion_controller",
}
HELPERS = {"simulated_arm", "effort_watchdog"}
PATIENCE = 240.0  # how long a run may take, the first compilation of the kernels included [s]


@pytest.fixture(scope="module")
def file() -> ModuleType:
    """The launch file as a module."""
    spec = importlib.util.spec_from_file_location("simulation_launch", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def executables(monkeypatch, tmp_path) -> Iterator[None]:
    """Skip where `ros2 run` would not find the nodes; else a ROS domain of one's own."""
    try:
        folder = Path(get_package_prefix("projected_control"), "lib", "projected_control")
    except PackageNotFoundError:
        folder = Path()
    if not (folder / "simulated_arm").is_file():
        pytest.skip("the package is not installed where ros2 run looks (pip install ., colcon)")
    domain, lock = free_domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    yield
    lock.close()


def context_of(file: ModuleType, **given: str) -> LaunchContext:
    """With every argument at its default, but for those given."""
    context = LaunchContext()
    context.launch_configurations.update(given)
    for argument in file.ARGUMENTS:
        argument.execute(context)
    return context


def launch(file: ModuleType, *extra: Any, **given: str) -> tuple[int, dict[str, int]]:
    """Run to the end; the exit status of the launch, and of each node."""
    ended: dict[str, int] = {}

    def on_exit(event: Any, _: Any) -> None:
        ended[name_of(event)] = event.returncode

    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        LaunchDescription(
            [
                *(SetLaunchConfiguration(name, value) for name, value in given.items()),
                RegisterEventHandler(OnProcessExit(on_exit=on_exit)),
                TimerAction(period=PATIENCE, actions=[Shutdown(reason="it took too long")]),
                *extra,
                file.generate_launch_description(),
            ]
        )
    )
    begin = monotonic()
    status = service.run()
    assert monotonic() - begin < PATIENCE
    return status, ended


def name_of(event: Any) -> str:
    """Of the node whose process the event is about."""
    return event.action.node_name.strip("/")


def test_every_argument_is_described_and_has_a_default(file):
    declared = {
        entity.name: entity
        for entity in file.generate_launch_description().entities
        if isinstance(entity, DeclareLaunchArgument)
    }
    names = {"controller", "arm", "preset", "lockstep", "rate", "seconds", "friction", "show"}
    names |= {"namespace", "joint_states", "wrench", "task", "priority", "real_time"}
    assert set(declared) == names
    for argument in declared.values():
        assert argument.default_value is not None
        assert len(argument.description) > 10


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("arm", ["auto", "slider_crank"])
def test_each_choice_starts_an_arm_a_watchdog_and_its_controller(file, controller, arm):
    actions = file.start(context_of(file, controller=controller, arm=arm, rate="800"))
    started = {action.node_executable for action in actions if hasattr(action, "node_executable")}
    assert started == {CONTROLLERS[controller], *HELPERS}


@pytest.mark.parametrize("task", TASKS)
def test_each_task_starts_the_controller_that_fits_it(file, task):
    if TASKS[task].needs_arms and arms_folder() is None:
        pytest.skip("example-robot-data is missing: pip install 'projected_control[arms]'")
    actions = file.start(context_of(file, task=task))
    started = {action.node_executable for action in actions if hasattr(action, "node_executable")}
    assert started == {TASKS[task].node, *HELPERS}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"task": "six_bar"}, "unknown task 'six_bar'; there are: .*five_bar"),
        ({"controller": "magic"}, "controller.*magic.*Valid options are.*motion"),
        ({"preset": "soft"}, "preset 'soft' is neither a path .* nor one of gentle"),
        ({"preset": "/nowhere/mine.yaml"}, "cannot read /nowhere/mine.yaml"),
        ({"lockstep": "maybe"}, "lockstep.*maybe.*true"),
        ({"real_time": "sometimes"}, "real_time.*sometimes.*true"),
        ({"lockstep": "true", "real_time": "true"}, "as fast as it can.*give one of them"),
        ({"friction": "0.3"}, "friction.*0.3.*true"),
        (
            {"arm": "octopus"},
            "arm:=octopus is neither .* one of .*slider_crank, .*three_link_passive",
        ),
        ({"arm": "/nowhere/arm.yaml"}, "cannot read /nowhere/arm.yaml: No such file"),
        ({"controller": "passive", "arm": "three_link_slider"}, "needs an arm with passive_joints"),
        ({"rate": "fast"}, "rate:= must be a number from zero on, got 'fast'"),
        ({"rate": "nan"}, "rate:= must be a number from zero on, got 'nan'"),
        ({"rate": "0"}, "rate must be at least 1, got 0"),
        ({"rate": "20000"}, "rate must be at most 10000, got 20000"),
        ({"seconds": "-1"}, "seconds:= must be a number from zero on, got '-1'"),
    ],
)
def test_bad_arguments_are_refused_before_anything_starts(file, given, reason):
    with pytest.raises((ProjectedControlError, RuntimeError), match=reason):
        file.start(context_of(file, **given))


def test_an_arm_of_ones_own_by_path(file, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("/**: {ros__parameters: {constraint: {kind: magic}}}")
    with pytest.raises(ProjectedControlError, match=r"unknown constraint\.kind 'magic'"):
        file.start(context_of(file, arm=str(path)))


@pytest.mark.parametrize("rate", [100.0, 300.0, 1000.0, 1024.0, 4000.0])
def test_the_integration_step_divides_the_period(file, rate):
    step = file.integration_step(rate)
    assert step <= 1e-3
    assert (1.0 / rate / step) == pytest.approx(round(1.0 / rate / step), abs=1e-9)


def test_where_one_dies_all_end(file, executables):
    def kill(event: Any, _: Any) -> None:
        if name_of(event) == "motion_controller":
            os.kill(event.pid, signal.SIGKILL)

    killer = RegisterEventHandler(OnProcessStart(on_start=kill))
    status, ended = launch(file, killer, controller="motion")
    assert status != 0
    assert set(ended) - {"motion_controller"} == HELPERS  # the launch may fail before it tells us


@pytest.mark.parametrize("may_fail", [True, False])
def test_nothing_begins_once_the_launch_ends(may_fail: bool, monkeypatch, tmp_path) -> None:
    """Ctrl+C while a spawner waits: a lifecycle node that is added then would never end it."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    spawner = ExecuteProcess(cmd=["sleep", "600"])
    node = LifecycleNode(
        package="projected_control", executable="simulated_arm", name="late", namespace=""
    )
    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        LaunchDescription(
            [
                spawner,
                parts.after(spawner, [node], "it", may_fail),
                TimerAction(period=0.5, actions=[Shutdown(reason="Ctrl+C")]),
            ]
        )
    )
    service.run()
    assert spawner.return_code == -signal.SIGINT
