"""The loop in the controller manager: hardware.launch.py loop:=plugin, and everything that breaks.

With the real ros2_control, our plugin in it and the simulated arm as hardware there; skipped where
they are not. The times are in docs/hardware.md; ``pytest -s`` prints those of this computer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from time import monotonic

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
pytest.importorskip(
    "controller_manager_msgs", reason="ros2_control is not installed (it is not on PyPI)"
)

from builtin_interfaces.msg import Duration
from quiet import within
from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rig import running, sent_at, weight_said
from std_msgs.msg import UInt8MultiArray
from test_hardware_launch import CONTROLLER, own_domain  # noqa: F401  the fixture
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.control.live import NUMBER
from projected_control.native.plugin_build import plugin_there
from projected_control.native.updates import (
    Phase,
    Report,
    Section,
    Status,
    Update,
    decode,
    encode,
)

if missing := plugin_there():
    pytest.skip(missing, allow_module_level=True)

PLUGIN, SAYS = "projected_controller", "projected_controller: plugin"
FORCE, PASSIVE = "force_controller", "passive_joint_controller"
NEWEST = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)

LARGEST = 12.0  # no joint of the arm may be asked for more: its limits in the description [N·m]

BROKEN, BATCH = 10_000, 16
"""Broken updates, and how many are sent before the plugin is seen to have refused them."""

PERIOD = 1e-3  # of the controller manager [s]

STEP, PAPER_STEP = 0.1, 2.0
"""Largest change of a torque in a period, by limits.effort_rate of gentle and paper [N·m]."""


class Watch:
    """What the plugin reports, as bytes on its topic, and who may send it some.

    Attributes:
        states: When they were sent, and the states.
        answers: Acknowledgements.
        answered: When they were sent.
    """

    def __init__(self, rig) -> None:
        self.rig, self.states, self.answers, self.answered = rig, [], [], []
        node = rig.node
        node.create_subscription(UInt8MultiArray, f"/{PLUGIN}/states", self._on_state, NEWEST)
        node.create_subscription(
            UInt8MultiArray, f"/{PLUGIN}/acknowledgements", self._on_answer, 1000
        )
        self._updates = node.create_publisher(UInt8MultiArray, f"/{PLUGIN}/updates", 1000)
        rig.until(self._updates.get_subscription_count, "the plugin to listen")

    def _on_state(self, message, info) -> None:
        self.states.append((sent_at(info), decode(bytes(message.data))))

    def _on_answer(self, message, info) -> None:
        self.answers.append(decode(bytes(message.data)))
        self.answered.append(sent_at(info))

    def send(self, data: bytes) -> None:
        """As a sender that has no session."""
        self._updates.publish(UInt8MultiArray(data=data))

    @property
    def report(self):
        """Of the newest state."""
        return self.states[-1][1].sections[Section.REPORT]

    @property
    def phase(self) -> Phase:
        return Phase(int(self.report[Report.PHASE]))

    def applied(self, slot: str) -> float:
        """Version of a slot that is in force."""
        return float(self.states[-1][1].sections[Section.APPLIED][1 + NUMBER[slot]])

    def until_applied(self, slot: str, before: float) -> float:
        """Wait for a newer version; when the state that says so was sent."""

        def newer() -> list[float]:
            return [
                when
                for when, state in self.states
                if state.sections[Section.APPLIED][1 + NUMBER[slot]] > before
            ]

        self.rig.until(newer, f"{slot} to be taken")
        return newer()[0]

    def until_phase(self, phase: Phase, seconds: float = 20.0) -> float:
        """Wait for a phase; when the state that says so was sent."""
        begin = monotonic()

        def so() -> list[float]:
            return [
                when
                for when, state in self.states
                if when > begin - 2.0 and state.sections[Section.REPORT][Report.PHASE] == phase
            ]

        self.rig.until(so, f"the plugin to be {phase.name}", seconds)
        return so()[0]


@pytest.fixture
def moving(own_domain):  # noqa: F811
    """The simulated arm in the controller manager, under the plugin's control and moving."""
    with running(
        own_domain,
        "hardware:=simulated",
        "controller:=motion",
        "preset:=gentle",
        "loop:=plugin",
        states="/joint_states",
    ) as rig:
        rig.until_active(CONTROLLER)
        rig.moving()
        yield rig


def require_limits(rig, since: float = 0.0, largest: float = STEP) -> float:
    """No torque beyond its limit, none that steps but to zero; the largest step per cycle [N·m]."""

    def efforts() -> list[tuple[float, np.ndarray]]:
        return [(stamp, np.array(effort)) for when, stamp, effort in rig.efforts if when >= since]

    rig.until(lambda: len(efforts()) > 100, "efforts")
    seen = efforts()
    assert max(np.abs(effort).max() for _, effort in seen) <= LARGEST
    steps = [
        # Not every cycle is published, and one that was late is followed by another soon.
        (np.abs(b - a).max(), round((t - s) / PERIOD) + 1)
        for (s, a), (t, b) in pairwise(seen)
        if b.any()
    ]
    assert max(step / cycles for step, cycles in steps) <= largest * (1.0 + 1e-6)
    return float(max(step / max(cycles - 1, 1) for step, cycles in steps))


def report(what: str, detail: str) -> None:
    """For docs/hardware.md."""
    print(f"\n{what}: {detail}")


def test_every_cycle_is_answered_and_no_watchdog_is_there(moving):
    moving.until(lambda: int(moving.values[CONTROLLER].get("ticks", 0)) > 5000, "some ticks")
    values = moving.values[CONTROLLER]
    assert values["engine"] == "plugin"
    assert moving.controllers()[PLUGIN] == "active"
    assert "/effort_watchdog" not in [f"/{name}" for name in moving.node.get_node_names()]
    watch = Watch(moving)
    moving.until(lambda: len(watch.states) > 50, "states")
    ticks, cycles = (
        int(watch.states[-1][1].sections[Section.COUNTERS][0]),
        int(watch.report[Report.CYCLES]),
    )
    assert abs(ticks - cycles) <= 20  # counted a state earlier or later
    require_limits(moving)
    report("latency p50, p99 (µs)", f"{values['latency p50 (us)']}, {values['latency p99 (us)']}")


@pytest.mark.parametrize(
    ("controller", "node"), [("force", FORCE), ("passive", PASSIVE), ("idc", CONTROLLER)]
)
def test_every_law_runs_there(own_domain, controller, node):  # noqa: F811
    preset = "paper" if controller == "force" else "gentle"
    with running(
        own_domain,
        "hardware:=simulated",
        f"controller:={controller}",
        f"preset:={preset}",
        "loop:=plugin",
        states="/joint_states",
    ) as rig:
        rig.until_active(node)
        rig.until(lambda: int(rig.values[node].get("ticks", 0)) > 6000, "some ticks", 60.0)
        rig.until_said(node, "following")
        assert int(rig.values[node].get("effort limited", 0)) < 1000
        assert float(rig.values[node]["residual (m)"]) < 1e-9


@pytest.mark.quiet
def test_a_gain_is_in_force_within_20_ms(moving):
    """``ros2 param set``, from the check that it passes in the node to the cycle that has it."""
    watch, checked = Watch(moving), []
    moving.node.create_subscription(
        ParameterEvent,
        "/parameter_events",
        lambda m, info: checked.append(sent_at(info)) if m.node == f"/{CONTROLLER}" else None,
        100,
    )
    moving.until(lambda: watch.states, "states")
    param_set, since, delays = ("ros2", "param", "set", f"/{CONTROLLER}"), monotonic(), []
    for i in range(5):
        before, passed, answers = (
            watch.applied("gains"),
            len(checked),
            len(watch.answers),
        )
        said = moving.command(*param_set, "gains.stiffness", f"[{90.0 + i}, {95.0 + i}]")
        assert "successful" in said, said
        moving.until(lambda n=passed: len(checked) > n, "the check to be passed")
        seen = watch.until_applied("gains", before)
        moving.until(lambda n=answers: len(watch.answers) > n, "the acknowledgement")
        assert watch.answers[answers].status is Status.ACCEPTED
        # The first cycle after the acknowledgement has it; states come every ten cycles.
        taken = min(seen, watch.answered[answers] + PERIOD)
        delays.append(taken - checked[passed])
    before = watch.applied("gains")
    said = moving.command(*param_set, "gains.damping", "[5000.0]")
    assert "would diverge" in said, said
    assert watch.applied("gains") == before
    require_limits(moving, since)
    times = [round(1e3 * d, 1) for d in delays]
    report("gains in force after their check (ms)", f"{times}")
    within(0.020, max(delays), "gains in force")


def test_node_killed_and_restarted(moving, tmp_path):
    watch = Watch(moving)
    when = moving.kill(CONTROLLER)
    noticed = watch.until_phase(Phase.SILENT) - when
    moving.until_said(SAYS, "silent", since=when)
    still = moving.until(lambda: moving.speeds[-1][1] < 1e-3, "the arm to rest") - when
    assert moving.controllers()[PLUGIN] == "active"
    assert moving.torques[-1][1] < LARGEST
    again = monotonic()
    arm = f"arm:={weight_said('three_link_slider', tmp_path)}"
    moving.launch("hardware:=running", arm, "controller:=motion", "preset:=gentle", "loop:=plugin")
    watch.until_phase(Phase.RUNNING, 60.0)
    moving.values.pop(CONTROLLER, None)
    moving.until_active(CONTROLLER)
    moving.until(lambda: moving.speeds[-1][1] > 1e-2, "motion")
    step = require_limits(moving)
    report("node killed", f"noticed after {1e3 * noticed:.0f} ms, at rest after {still:.2f} s")
    report("taken over", f"after {monotonic() - again:.1f} s, largest step {step:.2f} N·m per ms")


STARVED = """
import os
from time import monotonic
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
end = monotonic() + 0.5
while monotonic() < end:
    pass
"""
"""Takes one CPU from all ordinary threads for half a second, the manager's included."""


def test_a_node_that_lives_is_heard_while_ordinary_threads_starve(moving):
    """Its signs of life come and are taken with real-time priority, whatever else waits."""
    watch = Watch(moving)
    moving.until(lambda: watch.states, "states")
    before = watch.states[-1][1].session
    hogs = [subprocess.Popen([sys.executable, "-S", "-c", STARVED]) for _ in range(os.cpu_count())]
    moving.until(lambda: all(hog.poll() is not None for hog in hogs), "their end")
    if any(hog.returncode for hog in hogs):
        pytest.skip("real-time priority is not permitted here")
    cycles = int(watch.report[Report.CYCLES])
    moving.until(lambda: int(watch.report[Report.CYCLES]) > cycles + 500, "cycles")
    assert watch.phase is Phase.RUNNING, moving.story()
    assert watch.states[-1][1].session == before
    assert moving.values[CONTROLLER]["state"] == "active"


def test_node_hung(moving):
    watch = Watch(moving)
    with moving.hung(CONTROLLER) as when:
        noticed = watch.until_phase(Phase.SILENT) - when
        moving.until(lambda: moving.speeds[-1][1] < 1e-3, "the arm to rest")
    said = moving.until_said(CONTROLLER, "heard nothing from here", "activate", since=when)
    moving.until(lambda: moving.values[CONTROLLER]["state"] == "inactive", "the end")
    assert moving.controllers()[PLUGIN] == "active"  # it goes on carrying the arm
    assert moving.transition(CONTROLLER, "activate"), moving.story()
    watch.until_phase(Phase.RUNNING)
    moving.until(lambda: moving.speeds[-1][1] > 1e-2, "motion")
    require_limits(moving)
    report("node hung", f"noticed after {1e3 * noticed:.0f} ms, reason {said - when:.2f} s")


@pytest.fixture
def spoiled(own_domain, tmp_path):  # noqa: F811
    """The force controller on an arm whose reports can be spoiled, and the function that does."""
    file = tmp_path / "fault"
    file.write_text("none")

    def spoil(what: str) -> float:
        file.write_text(what)
        return monotonic()

    with running(
        own_domain,
        "hardware:=simulated",
        "controller:=force",
        "preset:=paper",
        "loop:=plugin",
        f"fault_file:={file}",
        states="/joint_states",
    ) as rig:
        rig.until_active(FORCE)
        rig.moving()
        yield rig, spoil


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("wrench_nan", "force stale"),
        ("wrench_frozen", "force stale"),
        ("state_nan", "state not finite"),
        ("state_frozen", "state frozen"),
        ("time_nan", "state not finite"),
        ("time_frozen", "state stale"),
    ],
)
def test_sensor_and_states_that_are_spoiled(spoiled, fault, words):
    """Braked or without torque, the reason on /diagnostics, and all is well when it is over."""
    rig, spoil = spoiled
    watch = Watch(rig)
    when = spoil(fault)
    said = rig.until_said(FORCE, words, since=when)
    seen = next(
        at
        for at, state in watch.states
        if at > when and state.sections[Section.REPORT][Report.ACTION] != 0
    )
    report(words, f"answered after {1e3 * (seen - when):.0f} ms, reason after {said - when:.2f} s")
    if fault == "time_frozen":
        rig.until_said(FORCE, "stood still or went back", since=when)
        rig.until(lambda: rig.values[FORCE]["state"] == "inactive", "the controller to go inactive")
        return
    spoil("none")
    if fault == "state_frozen":
        rig.until(lambda: rig.values[FORCE]["state"] in ("active", "inactive"), "an end or none")
    else:
        rig.until_said(FORCE, "following", since=monotonic() - 0.2)
    require_limits(rig, largest=PAPER_STEP)


def test_switched_away(moving):
    when = moving.switch([], [PLUGIN])
    zero = moving.silence_after(when)
    said = moving.until_said(CONTROLLER, "the session", since=when - 1.0)
    moving.until(lambda: moving.values[CONTROLLER]["state"] == "inactive", "the end")
    report("switched away", f"no torque after {1e3 * zero:.1f} ms, reason {said - when:.2f} s")


@pytest.mark.quiet
def test_manager_killed(moving):
    when = moving.kill("ros2_control_node")
    said = moving.until_said(CONTROLLER, "has reported nothing", since=when)
    report("controller manager killed", f"reason after {said - when:.2f} s")
    within(1.2, said - when, "the reason")


def test_manager_restarted(moving):
    """The same node, activated again, takes the arm of the new manager over."""
    watch = Watch(moving)
    when = moving.restart_manager(PLUGIN)
    moving.until(lambda: moving.values[CONTROLLER]["state"] == "inactive", "the node's end")
    moving.until(lambda: moving.controllers().get(PLUGIN) == "inactive", "the plugin", 60.0)
    since = monotonic()
    assert moving.transition(CONTROLLER, "activate"), moving.story()
    watch.until_phase(Phase.RUNNING)
    moving.until_said(CONTROLLER, "following", since=since)
    moving.until(lambda: moving.speeds[-1][1] > 1e-2, "motion")
    require_limits(moving, since)
    report("manager restarted", f"the arm moves again after {monotonic() - when:.1f} s")


@pytest.mark.parametrize("name", ["joints", "command_joints", "sensor", "time_interface"])
def test_the_plugins_own_parameters_do_not_change_while_it_is_configured(moving, name):
    value = "other" if name in ("sensor", "time_interface") else ["joint_1"]
    done, reason, *_ = moving.set_parameter(PLUGIN, name, value)
    assert not done
    assert reason == f"{name} counts when the controller is configured; clean it up first"


def test_a_payload_and_a_long_reference(moving):
    """Both come into force while the plugin runs, and no torque jumps."""
    assert moving.transition(CONTROLLER, "deactivate"), moving.story()
    for name, value in (("payload.link", "link_3"), ("reference.kind", "hold")):
        done, reason, *_ = moving.set_parameter(CONTROLLER, name, value)
        assert done, reason
    assert moving.transition(CONTROLLER, "activate"), moving.story()
    watch, since = Watch(moving), monotonic()
    moving.until(lambda: watch.states, "states")
    accepted, before = int(watch.report[Report.ACCEPTED]), watch.applied("reference")
    refused = int(watch.report[Report.REFUSED])  # by the session before, and while this one began
    done, reason, *_ = moving.set_parameter(CONTROLLER, "payload.mass", 0.5)
    assert done, reason
    message = JointTrajectory(joint_names=["tip.x"])
    message.header.frame_id = "relative"
    for i in range(1, 1001):  # to and fro twice, from rest to rest
        seconds, nanoseconds = divmod(10_000_000 * i, 10**9)
        point = JointTrajectoryPoint(positions=[0.02 * (1.0 - np.cos(4e-3 * np.pi * i))])
        point.time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
        message.points.append(point)
    publisher = moving.node.create_publisher(JointTrajectory, f"/{CONTROLLER}/reference", 10)
    moving.until(publisher.get_subscription_count, "the node to listen")
    publisher.publish(message)
    watch.until_applied("reference", before)
    moving.until(lambda: moving.speeds[-1][1] > 1e-2, "motion")
    assert int(watch.report[Report.ACCEPTED]) >= accepted + 2
    assert int(watch.report[Report.REFUSED]) == refused
    assert watch.phase is Phase.RUNNING, moving.story()
    require_limits(moving, since)


def test_deactivated_in_order_and_activated_again(moving):
    assert moving.transition(CONTROLLER, "deactivate"), moving.story()
    assert moving.controllers()[PLUGIN] == "inactive"
    moving.until(lambda: moving.torques[-1][1] == 0.0, "the end of the torque")
    assert moving.transition(CONTROLLER, "activate"), moving.story()
    moving.until(lambda: moving.speeds[-1][1] > 1e-2, "motion")
    require_limits(moving)


def test_messages_of_others(moving):
    """Updates of other sessions, a second beginning and ten thousand broken ones change nothing."""
    watch = Watch(moving)
    moving.until(lambda: watch.states, "states")
    session = watch.states[-1][1].session
    refused = int(watch.report[Report.REFUSED])
    watch.send(encode(Update.END, session ^ 2, 1))
    watch.send(encode(Update.CHANGE, 77, 1, {Section.MAILBOX: np.full(100, np.nan)}))
    watch.send(encode(Update.BEGIN, 78, 1, {Section.PERIOD: np.array([1e-3])}))
    moving.until(lambda: int(watch.report[Report.REFUSED]) >= refused + 3, "refusals")
    statuses = {answer.status for answer in watch.answers if answer.session in (session ^ 2, 77)}
    assert statuses == {Status.SESSION}
    began = {answer.status for answer in watch.answers if answer.session == 78}
    assert began <= {Status.BUSY, Status.SIZE}
    moving.until_said(SAYS, "running")
    since, random = monotonic(), np.random.default_rng(0)
    refused = int(watch.report[Report.REFUSED])
    good = encode(Update.CHANGE, session, 10**9, {Section.MAILBOX: np.zeros(400)})
    for i in range(BROKEN):
        broken = bytearray(good)
        for at in random.integers(0, len(broken), 1 + i % 3):
            broken[at] ^= int(random.integers(1, 256))
        watch.send(bytes(broken[: random.integers(0, len(broken))] if i % 4 == 0 else broken))
        if i % BATCH == BATCH - 1:  # the plugin's queue is no longer than twice that
            sent = refused + i + 1
            moving.until(lambda sent=sent: watch.report[Report.REFUSED] >= sent, "refusals")
    assert int(watch.report[Report.REFUSED]) >= refused + BROKEN
    assert watch.phase is Phase.RUNNING, moving.story()
    assert moving.values[CONTROLLER]["state"] == "active"
    assert moving.values[SAYS]["last refusal"]
    require_limits(moving, since)
    report("broken updates", f"{BROKEN} sent, {BROKEN} refused, in {monotonic() - since:.0f} s")
