"""Nodes begin, end and begin again, and leave nothing behind."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import rclpy
from fleet import THREE_LINK, Fleet
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray

from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.effort_watchdog import EffortWatchdogNode
from projected_control.ros.simulated_arm import SimulatedArmNode
from projected_control.settings.nodes import ARM, FORCE, WATCHDOG, parameters_of

pytestmark = pytest.mark.whole_starts

SETTINGS = {**THREE_LINK, "lockstep": True, "reference.kind": "hold", "friction.viscous": [0.5]}
MANUAL_START = {**SETTINGS, "autostart": False}
CYCLES = 20


@pytest.fixture(scope="module")
def shared_pair(shared_fleet: Fleet) -> Fleet:
    """An arm and a controller that do nothing by themselves."""
    shared_fleet.start(ARM, MANUAL_START)
    shared_fleet.start(FORCE, MANUAL_START)
    return shared_fleet


@pytest.fixture
def pair(shared_pair: Fleet) -> Fleet:
    """Both unconfigured, whatever they were before."""
    for node in (FORCE, ARM):
        if shared_pair.state(node) == "active":
            assert shared_pair.change(node, "deactivate")
        if shared_pair.state(node) == "inactive":
            assert shared_pair.change(node, "cleanup")
        assert shared_pair.state(node) == "unconfigured"
    return shared_pair


@pytest.fixture
def configured(pair: Fleet) -> Fleet:
    """Both inactive."""
    for node in (ARM, FORCE):
        assert pair.change(node, "configure")
    return pair


def test_transitions(pair: Fleet) -> None:
    """Each in its turn; each out of turn is refused, and the node lives."""
    for node in (ARM, FORCE):
        assert not pair.change(node, "activate")
        assert not pair.change(node, "dance")
        assert pair.state(node) == "unconfigured"
        assert pair.change(node, "configure")
        assert not pair.change(node, "configure")
        assert not pair.change(node, "deactivate")
        assert pair.state(node) == "inactive"
        assert pair.change(node, "activate")
        assert not pair.change(node, "cleanup")
        assert pair.state(node) == "active"
    for node in (FORCE, ARM):
        assert pair.change(node, "deactivate")
        assert pair.change(node, "cleanup")
        assert pair.state(node) == "unconfigured"


def test_an_unknown_transition_by_number(configured: Fleet) -> None:
    """Jazzy raises out of the executor for these, and does not answer: the node must live on."""
    from lifecycle_msgs.srv import ChangeState

    request = ChangeState.Request()
    request.transition.id = 3  # activate's, while the node is active
    for node in (ARM, FORCE):
        client = configured.node.create_client(ChangeState, f"/{node}/change_state")
        configured.until(client.service_is_ready, "the service")
        assert configured.change(node, "activate")
        client.call_async(request)
        assert configured.state(node) == "active"
    for node in (FORCE, ARM):
        assert configured.change(node, "deactivate")
    assert any("refused" in process.log for process in configured.processes)


def test_starts_and_stops(configured: Fleet) -> None:
    """Twenty times; each run is a new one, and ends with a zero on the wire."""
    commands = configured.record(Float64MultiArray, "effort_controller/commands")
    threads = []
    for _ in range(CYCLES):
        assert configured.change(ARM, "activate")
        assert configured.change(FORCE, "activate"), configured.diagnosis(FORCE)
        configured.until(lambda: configured.summary(FORCE)["ticks"] >= 20, "some ticks")
        assert configured.change(FORCE, "deactivate")
        configured.until(
            lambda: len(commands.messages) > 20 and not any(commands.messages[-1].data),
            "a zero to end with",
        )
        assert configured.change(ARM, "deactivate")
        commands.clear()
        threads.append([len(os.listdir(f"/proc/{p.pid}/task")) for p in configured.processes])
    assert threads[-1] == threads[2]
    configured.forget(commands)


def test_deactivated_it_stays_so(fleet: Fleet) -> None:
    """A node that started by itself does not undo what a user did."""
    fleet.start(ARM, SETTINGS)
    fleet.until_state(ARM, "active")
    assert fleet.change(ARM, "deactivate")
    for _ in range(20):  # a second, in which it looks four times whether there is something to do
        fleet.until_said(ARM, "inactive")
    assert fleet.state(ARM) == "inactive"
    assert fleet.change(ARM, "activate")


@pytest.mark.long
def test_processes_restart(fleet: Fleet) -> None:
    """Three times; no process of theirs is left, and all end well."""
    watchdog = {"joints": SETTINGS["joints"], "timeout": 10.0, "diagnostics_rate": 20.0}
    for i in range(3):
        arm, force, dog = f"{ARM}_{i}", f"{FORCE}_{i}", f"{WATCHDOG}_{i}"  # no word from before
        watched = {**SETTINGS, "watchdog": dog, "limits.watchdog_time": 10.0}
        processes = [fleet.start(ARM, SETTINGS, arm), fleet.start(FORCE, watched, force)]
        processes.append(fleet.start(WATCHDOG, {**watchdog, "controller": force}, dog))
        fleet.until_said(force, "following", level=0)
        fleet.until_said(dog, "watching", level=0)
        for process in processes:
            process.signal(signal.SIGTERM if process.kind == FORCE else signal.SIGINT)
        for process in processes:
            assert process.wait() == 0, process.log
            assert "Traceback" not in process.log
            assert not Path("/proc", str(process.pid)).exists()


@pytest.mark.parametrize("kind", [ARM, FORCE])
def test_doubled_interrupt(fleet: Fleet, kind: str) -> None:
    """Ctrl-C in a terminal often comes twice, once from the shell and once from a launcher."""
    if kind == FORCE:
        fleet.start(ARM, SETTINGS)
    process = fleet.start(kind, SETTINGS)
    fleet.until_state(kind, "active")
    process.signal(signal.SIGINT)
    process.signal(signal.SIGINT)
    assert process.wait() == 0
    assert "Traceback" not in process.log


STUCK = """
import ctypes, sys
from projected_control.ros import lifecycle, start_and_end

start_and_end.END_SECONDS = 0.5

class Stuck(lifecycle.ManagedNode):
    def destroy_node(self):
        library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        for _ in range(2):  # as Fast DDS does, with the interpreter's lock
            library.pthread_mutex_lock(mutex)

sys.exit(lifecycle.run(lambda: Stuck("effort_watchdog"), "effort_watchdog"))
"""


def test_an_end_that_hangs_in_the_middleware(fleet: Fleet) -> None:
    """The process ends all the same, and says where it hung."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK], env=fleet.environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        fleet.until(lambda: WATCHDOG in fleet.node.get_node_names(), "the node")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60.0)
    assert process.returncode == 1
    assert "in destroy_node" in said


def test_threads_in_this_process(fleet: Fleet) -> None:
    """Activation starts threads, deactivation ends them."""
    rclpy.init(domain_id=fleet.domain, signal_handler_options=SignalHandlerOptions.NO)
    nodes = [SimulatedArmNode(), EffortWatchdogNode(), ControllerNode(FORCE)]
    try:
        for node in nodes:
            values = {**SETTINGS, "watchdog": WATCHDOG, "limits.watchdog_time": 10.0}
            own = {k: v for k, v in values.items() if k in parameters_of(node.kind)}
            result = node.set_parameters_atomically(
                [rclpy.Parameter(name, value=value) for name, value in own.items()]
            )
            assert result.successful, result.reason
        before = set(threading.enumerate())
        for node in nodes:
            node.trigger_configure()
        for _ in range(CYCLES):
            for node in nodes:
                node.trigger_activate()
                assert node.active, node._reason
            assert len(set(threading.enumerate()) - before) == 3
            for node in reversed(nodes):
                node.trigger_deactivate()
            assert set(threading.enumerate()) == before
    finally:
        for node in reversed(nodes):
            node._leave_active()
            node.destroy_node()
        rclpy.shutdown()
