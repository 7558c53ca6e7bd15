"""Taking an arm over from its other controllers, and what Ctrl+C in the middle of it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from projected_control.ros import ros2_control_port, start_and_end
from projected_control.ros.controller_manager import STATE_BROADCASTER, ZEROING, CannotEngage

OURS, THEIRS = "effort_controller", "arm_controller"


class Answer:
    """Of a service, which is given at the third look."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self.looks, self._result = make, 0, None

    def done(self) -> bool:
        return self._result is not None

    def look(self) -> None:
        self.looks += 1
        if self.looks == 3:
            self._result = self._make()

    def result(self) -> Any:
        return self._result


class Manager:
    """A controller manager, and the node, client and executor that lead to it.

    Attributes:
        active: Names of the controllers that are.
        on_switch: Called when a request to switch has been sent.
        late: Whether it carries out a switch when it is asked for the next thing, and answers none.
    """

    def __init__(self) -> None:
        self.active = {THEIRS}
        self.on_switch: Callable[[], None] = lambda: None
        self.late, self._waiting = False, []

    context = None
    srv_name = "switch_controller"

    def get_logger(self) -> Any:
        return SimpleNamespace(info=print, warning=print, error=print)

    def create_client(self, kind: Any, name: str) -> Any:
        return SimpleNamespace(
            srv_name=name,
            service_is_ready=lambda: True,
            call_async=getattr(self, name.rpartition("/")[2]),
            remove_pending_request=lambda future: None,
        )

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **more: None  # destroy_client, add_node, shutdown, ...

    def spin_until_future_complete(self, future: Answer, timeout_sec: float) -> None:
        future.look()

    def catch_up(self) -> None:
        """Do what it was asked for."""
        while self._waiting:
            self._waiting.pop(0)()

    def list_controllers(self, _: Any) -> Answer:
        def controllers() -> Any:
            self.catch_up()
            kinds = {OURS: (ZEROING, "joint_1/effort"), THEIRS: ("other", "joint_1/position")}
            found = [
                SimpleNamespace(
                    name=name,
                    type=kind,
                    state="active" if name in self.active else "inactive",
                    claimed_interfaces=[interface] if name in self.active else [],
                    required_command_interfaces=[interface],
                )
                for name, (kind, interface) in kinds.items()
            ]
            states = SimpleNamespace(
                name="states",
                type=STATE_BROADCASTER,
                state="active",
                claimed_interfaces=[],
                required_command_interfaces=[],
            )
            return SimpleNamespace(controller=[*found, states])

        return Answer(controllers)

    def switch_controller(self, request: Any) -> Answer:
        def switch() -> Any:
            self.active -= set(request.deactivate_controllers)
            self.active |= set(request.activate_controllers)
            return SimpleNamespace(ok=True)

        self.on_switch()
        if self.late:
            self.late = False
            self._waiting.append(switch)
            return Answer(lambda: None)
        return Answer(switch)


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Manager:
    """One that has an arm in position control, asked by a process that starts."""
    made = Manager()

    def request(**fields: Any) -> Any:
        return SimpleNamespace(timeout=SimpleNamespace(sec=0), **fields)

    services = SimpleNamespace(
        ListControllers=SimpleNamespace(Request=request),
        SwitchController=SimpleNamespace(Request=request),
    )
    monkeypatch.setitem(sys.modules, "controller_manager_msgs", SimpleNamespace(srv=services))
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", services)
    monkeypatch.setattr("rclpy.executors.SingleThreadedExecutor", lambda context: made)
    monkeypatch.setattr(ros2_control_port, "side_node", lambda parent, name: made)
    for name in ("told", "starts", "computes"):
        monkeypatch.setattr(start_and_end._Process, name, False)
    return made


def engaging(manager: Manager, timeout: float = 60.0) -> ros2_control_port.Engagement:
    arm = SimpleNamespace(joint_names=["joint_1"], actuated=[1.0])
    loop = SimpleNamespace(controller=SimpleNamespace(model=SimpleNamespace(arm=arm)))
    reached = SimpleNamespace(manager="controller_manager", timeout=timeout, effort_controller="")
    return ros2_control_port.Engagement(manager, loop, SimpleNamespace(ros2_control=reached))


def test_ctrl_c_during_the_switch_gives_the_arm_back(manager: Manager) -> None:
    """A switch that was sent is waited for: else ours is activated when its commander is gone."""
    manager.on_switch = start_and_end.tell_to_end
    with start_and_end.starting():
        ours = engaging(manager)
        ours.engage()
        assert manager.active == {OURS}
        ours.give_back(ours.plan.activate)  # as a port that is closed while the node starts
    assert manager.active == {THEIRS}


def test_a_switch_that_was_not_answered_is_taken_back(manager: Manager) -> None:
    """It may have been made, or be made later: the manager answers one after the other."""
    manager.on_switch, manager.late = start_and_end.tell_to_end, True
    with start_and_end.starting():
        ours = engaging(manager, timeout=0.05)
        with pytest.raises(CannotEngage, match="has not answered"):
            ours.engage()
        ours.give_back(ours.plan.activate)
    manager.catch_up()
    assert manager.active == {THEIRS}


def test_ctrl_c_before_the_switch_asks_for_none(manager: Manager) -> None:
    with start_and_end.starting():
        start_and_end.tell_to_end()
        with pytest.raises(CannotEngage):
            engaging(manager)
    assert manager.active == {THEIRS}
