"""What a controller does when its arm misbehaves, and what the arm gets when its controller dies.

In real time, at a rate a busy computer keeps up with; nothing here depends on how fast it is.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Iterator, Sequence

import numpy as np
from fleet import STEADY, THREE_LINK, Fleet
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.settings.nodes import ARM, FORCE, WATCHDOG

SETTINGS = {
    **THREE_LINK,
    **STEADY,
    "limits.effort": [30.0],
    "limits.above_description": True,
    "friction.viscous": [1.0],  # an arm without torque comes to rest, not to its joint limits
    "watchdog": WATCHDOG,
    "limits.watchdog_time": 10.0,
    "push.effort": [0.02, 0.0, 0.0],  # nor does it ever stand so still as to look frozen
}
WATCHED = {
    "joints": SETTINGS["joints"],
    "controller": FORCE,
    "diagnostics_rate": 20.0,
    "timeout": 1.0,
}
COMMANDS = "effort_controller/commands"


class Team:
    """An arm and a controller that follow a sine, and everything that passes between them."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.commands = fleet.record(Float64MultiArray, COMMANDS)
        self.states = fleet.record(JointState, "joint_states")
        self.arm = fleet.start(ARM, SETTINGS)
        self.controller = fleet.start(FORCE, SETTINGS)
        self.watchdog = fleet.start(WATCHDOG, WATCHED)

    def ready(self) -> None:
        """Where each test begins, whatever happened before: both alive, and the arm followed."""
        if not self.arm.alive:
            self.arm = self.fleet.start(ARM, SETTINGS)
        if not self.controller.alive:
            self.controller = self.fleet.start(FORCE, SETTINGS)
        self.fleet.until_state(ARM, "active")
        self.fault("none")
        self.fleet.activate(FORCE)
        times = ("limits.lost_time", "limits.latch_time")
        self.fleet.put(FORCE, {name: SETTINGS[name] for name in times})
        self.follows()
        self.commands.clear()

    def follows(self) -> None:
        """Wait until all is well."""
        self.fleet.until_said(FORCE, "following", level=0)

    def fault(self, name: str) -> None:
        self.fleet.put(ARM, {"fault": name})

    def counted(self, key: str) -> float:
        """A count of the controller now."""
        self.fleet.until_said(FORCE)
        return self.fleet.diagnosis(FORCE).number(key)

    def more(self, key: str) -> None:
        """Wait until the controller counts more of something than now."""
        self.fleet.until_counted(FORCE, key, self.counted(key) + 3)

    def newest_efforts(self, count: int = 5) -> np.ndarray:
        """Commands from now on."""
        return efforts(self.fleet.more(self.commands, count))

    def until_zeros(self, count: int) -> None:
        """Wait until so many zeros were sent after the last torque, of which there was one."""

        def zeros() -> bool:
            torques = [any(message.data) for message in self.commands.messages]
            return any(torques) and not any(torques[-count:])

        self.fleet.until(zeros, f"{count} zeros at the end")


def efforts(messages: Sequence[Float64MultiArray]) -> np.ndarray:
    return np.array([list(message.data) for message in messages])


@pytest.fixture(scope="module")
def shared_team(shared_fleet: Fleet) -> Team:
    return Team(shared_fleet)


@pytest.fixture
def team(shared_team: Team) -> Iterator[Team]:
    """Ready; in no test may anything beyond limits pass."""
    shared_team.ready()
    yield shared_team
    sent = efforts(shared_team.commands.drain())
    assert np.isfinite(sent).all()
    assert (np.abs(sent) <= SETTINGS["limits.effort"][0]).all()


@pytest.mark.parametrize(
    ("fault", "event", "answer"),
    [
        ("frozen", "state frozen", "zero"),
        ("nan", "state not finite", "zero"),
        ("back", "time went back", "hold"),
        ("no_wrench", "force stale", "stop"),
        ("silent", "state stale", "zero"),
    ],
)
def test_faults(team: Team, fault: str, event: str, answer: str) -> None:
    """Each is noticed, answered and said; when it is over, the controller goes on."""
    before = team.counted(f"answers: {answer}")
    team.fault(fault)
    if fault in ("back", "silent"):  # the first comes and goes, the second is not a tick's event
        team.fleet.until_counted(FORCE, f"answers: {answer}", before + 3)
    else:
        team.fleet.until_said(FORCE, event, level=1)
    team.more(f"answers: {answer}")
    sent = team.newest_efforts()
    assert np.isfinite(sent).all()
    if answer == "zero":
        assert (sent == 0.0).all()
    if answer == "stop":
        assert (np.abs(sent) > 0.0).any()
        newest = team.states.messages
        team.fleet.until(lambda: max(map(abs, newest[-1].velocity)) < 0.01, "a braked arm")
    team.fleet.until(lambda: f"]: {event}: " in team.controller.log, "a line on the console")
    team.fault("none")
    team.follows()
    if fault not in ("back", "silent"):  # these come and go
        team.fleet.until(lambda: f"]: {event}: over after " in team.controller.log, "its end")
    if fault == "silent":
        assert team.counted("answers: zero") > before
    elif fault == "back":
        assert team.counted(event) > 0


def test_what_was_without_a_state_for_long_starts_when_it_is_told_to(team: Team) -> None:
    """NaN for longer than the latch time: inactive, also when the arm is back; then as ever."""
    team.fleet.put(FORCE, {"limits.latch_time": 0.2})
    team.fault("nan")
    said = "nothing could be sent to the arm for 0.2 s (limits.latch_time): state not finite"
    team.fleet.until_said(FORCE, said, level=2)
    team.fleet.until_state(FORCE, "inactive")
    team.fault("none")
    team.fleet.more(team.states, 50)
    assert team.fleet.state(FORCE) == "inactive"
    assert (efforts(team.commands.messages[-1:]) == 0.0).all()
    team.fleet.activate(FORCE)
    team.follows()


def test_a_long_stop_lasts_until_a_reference_comes(team: Team) -> None:
    """No wrench for longer than the latch time; with it back the arm stays braked."""
    team.fleet.put(FORCE, {"limits.latch_time": 0.2, "reference.kind": "hold"})
    team.fault("no_wrench")
    team.fleet.until_said(FORCE, "latched", level=1)
    team.fault("none")
    # A busy computer may be late once more, so what counts is that it stays when all is well.
    team.fleet.until(
        lambda: team.fleet.diagnosis(FORCE).message == "latched", "a wrench, and a braked arm"
    )
    team.more("answers: stop")
    # a late message of a busy computer must not stop it for good once more
    team.fleet.put(FORCE, {"limits.latch_time": SETTINGS["limits.latch_time"]})
    team.fleet.until_said(FORCE, "latched", level=1)
    reference = team.fleet.publisher(JointTrajectory, f"{FORCE}/reference")
    place = team.fleet.record(JointState, f"{FORCE}/state")
    state = team.fleet.more(place, 1)[-1]
    theta = dict(zip(state.name, state.position, strict=False))
    names = list(SETTINGS["coordinates"])
    point = JointTrajectoryPoint(positions=[theta[name] for name in names])
    reference.publish(JointTrajectory(joint_names=names, points=[point]))
    team.follows()
    team.fleet.node.destroy_publisher(reference)


def test_partial_states_do_not_count(team: Team) -> None:
    """Another node's joint states on the same topic are no sign of life of the arm."""
    foreign = team.fleet.publisher(JointState, "joint_states")
    message = JointState(name=["gripper"], position=[0.1], velocity=[0.0])
    timer = team.fleet.node.create_timer(0.02, lambda: foreign.publish(message))
    team.more("messages malformed")
    team.follows()
    team.fault("silent")
    team.more("answers: zero")
    team.more("messages malformed")
    assert (team.newest_efforts() == 0.0).all()
    team.fault("none")
    team.follows()
    team.fleet.node.destroy_timer(timer)
    team.fleet.node.destroy_publisher(foreign)


def test_lost(team: Team) -> None:
    """The arm is killed: zeros, then the controller goes inactive and says why.

    A new arm does not wake a controller that went inactive for a reason.
    """
    team.fleet.put(FORCE, {"limits.lost_time": 0.5})
    team.follows()
    team.arm.kill()
    team.fleet.until_said(FORCE, "no joint state for", "has stopped", level=2)
    team.fleet.until_state(FORCE, "inactive")
    team.until_zeros(2)  # while it waited, and one for farewell
    assert "going inactive: no joint state" in team.controller.log
    team.arm = team.fleet.start(ARM, SETTINGS)
    team.fleet.until_state(ARM, "active")
    team.fleet.more(team.states, 50)
    assert team.fleet.state(FORCE) == "inactive"
    team.fleet.activate(FORCE)
    team.follows()


def trips(team: Team) -> float:
    """How often the watchdog, which watches now, has tripped."""
    return team.fleet.until_said(WATCHDOG, "watching", level=0).number("trips")


def test_controller_killed(team: Team) -> None:
    """Silence, then zeros from the watchdog, and the arm has no torque.

    The dead one's name does not keep the next one from starting, and the watchdog lets go.
    """
    team.fleet.until(lambda: np.abs(team.newest_efforts(1)).max() > 0.0, "a torque on the wire")
    before = trips(team)
    team.controller.kill()
    team.fleet.until_said(WATCHDOG, "no heartbeat for", "sending zeros", level=2)
    team.until_zeros(10)
    team.fleet.until(lambda: not any(team.states.messages[-1].effort), "an arm without torque")
    assert not any(any(state.effort) for state in team.fleet.more(team.states, 20))
    assert team.fleet.diagnosis(WATCHDOG).number("trips") == before + 1
    team.controller = team.fleet.start(FORCE, SETTINGS)
    team.follows()
    team.fleet.until_said(WATCHDOG, "watching", level=0)


def test_watchdog_hears_a_farewell(team: Team) -> None:
    """A controller that stops in an orderly way does not trip it."""
    team.fleet.until(lambda: np.abs(team.newest_efforts(1)).max() > 0.0, "a torque on the wire")
    before = trips(team)
    assert team.fleet.change(FORCE, "deactivate")
    team.fleet.until_said(WATCHDOG, "waiting for a controller", level=0)
    assert team.fleet.diagnosis(WATCHDOG).number("trips") == before
    team.until_zeros(1)
