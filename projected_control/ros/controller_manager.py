"""An arm behind ros2_control: which of its controllers carry torques, and switching to them.

Which controller to take, and what is wrong if there is none, is decided by `plan` from a list of
controllers alone. `ControllerManager` fetches that list and switches, through the services of the
controller manager; only this class needs ROS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from projected_control.errors import ProjectedControlError
from projected_control.ros.start_and_end import interrupted, to_the_end

if TYPE_CHECKING:
    from rclpy.node import Node

ZEROING = "effort_controllers/JointGroupEffortController"
FORWARDING = "forward_command_controller/ForwardCommandController"
PLUGIN = "projected_control/ProjectedController"  # our own, which makes the ticks itself

EFFORT_CONTROLLERS = (ZEROING, FORWARDING)
"""Types that take efforts as a Float64MultiArray on ~/commands, the better one first.

The first sets its joints to zero when it is deactivated; the second leaves the last effort there.
"""

STATE_BROADCASTER = "joint_state_broadcaster/JointStateBroadcaster"
WRENCH_BROADCASTER = "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster"

STRICT = 2  # SwitchController's strictness: all of the switch or nothing of it


WHILE_SECONDS = 0.02  # how often something else may be done while an answer is awaited [s]


class CannotEngage(ProjectedControlError):
    """The arm's controllers do not allow torques to be sent."""


class LoadedController(NamedTuple):
    """A controller as the controller manager describes it."""

    # name, type: as the controller manager has loaded it.
    name: str
    type: str
    state: str  # unconfigured, inactive, active or finalized
    claimed: tuple[str, ...]  # command interfaces it owns, as joint/interface
    required: tuple[str, ...]  # command interfaces it owns when it is active, in its own order

    @classmethod
    def of(cls, message: Any) -> LoadedController:
        """From a controller_manager_msgs/ControllerState."""
        return cls(
            message.name,
            message.type,
            message.state,
            tuple(message.claimed_interfaces),
            tuple(message.required_command_interfaces),
        )

    @property
    def active(self) -> bool:
        return self.state == "active"

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Command interfaces, in its own order."""
        return self.required or self.claimed


class Plan(NamedTuple):
    """How to reach the arm."""

    effort_controller: str  # that takes the torques
    joints: tuple[str, ...]  # in the order in which it takes them
    zeroes_itself: bool  # whether its deactivation sets the torques to zero
    # activate, deactivate: what has to be switched before, and back afterwards.
    activate: tuple[str, ...]
    deactivate: tuple[str, ...]
    wrench_topic: str  # topic of the force-torque broadcaster; empty where there is none

    @property
    def commands_topic(self) -> str:
        """Where the torques go."""
        return f"{self.effort_controller}/commands"


def plan(
    controllers: Sequence[LoadedController],
    joints: Sequence[str],
    name: str = "",
    types: Sequence[str] = EFFORT_CONTROLLERS,
) -> Plan:
    """Find the controller that carries torques to these joints, and what keeps it from that.

    Args:
        controllers: All there are.
        joints: With a motor.
        name: Name of the effort controller; empty for the one that fits.
        types: Of controllers that will do, the best first.

    Raises:
        CannotEngage: Where there is none, or no broadcaster of joint states.
    """
    chosen = (
        _named(controllers, name, joints, types) if name else _fitting(controllers, joints, types)
    )
    if not any(c.type == STATE_BROADCASTER and c.active for c in controllers):
        raise CannotEngage(
            "no joint_state_broadcaster is active, so that the arm would not be seen; spawn one"
        )
    needed = set(chosen.interfaces)
    arms = {f"{joint}/" for joint in joints}
    in_the_way = tuple(
        c.name
        for c in controllers
        if c.active
        and c.name != chosen.name
        and any(i in needed or i.startswith(tuple(arms)) for i in c.claimed)
    )
    return Plan(
        chosen.name,
        _effort_joints(chosen.interfaces),
        chosen.type != FORWARDING,
        () if chosen.active else (chosen.name,),
        in_the_way,
        next((f"{c.name}/wrench" for c in controllers if c.type == WRENCH_BROADCASTER), ""),
    )


def _named(
    controllers: Sequence[LoadedController],
    name: str,
    joints: Sequence[str],
    types: Sequence[str],
) -> LoadedController:
    found = next((c for c in controllers if c.name == name), None)
    if found is None:
        raise CannotEngage(f"there is no controller {name}; {_those(controllers)}")
    if wrong := _wrong_with(found, joints, types):
        raise CannotEngage(f"{name} cannot carry torques: {wrong}")
    return found


def _fitting(
    controllers: Sequence[LoadedController], joints: Sequence[str], types: Sequence[str]
) -> LoadedController:
    candidates = [c for c in controllers if c.type in types]
    fitting = [c for c in candidates if not _wrong_with(c, joints, types)]
    if not fitting:
        reasons = "; ".join(f"{c.name}: {_wrong_with(c, joints, types)}" for c in candidates)
        raise CannotEngage(
            f"no controller carries torques to {', '.join(joints)} "
            f"({reasons or _those(controllers)}); load a {types[0]} for these joints"
        )
    return min(fitting, key=lambda c: (types.index(c.type), not c.active))


def _wrong_with(controller: LoadedController, joints: Sequence[str], types: Sequence[str]) -> str:
    """Why a controller cannot carry torques to these joints; nothing if it can."""
    if controller.type not in types:
        return f"it is a {controller.type}, not one of {', '.join(types)}"
    if controller.state not in ("inactive", "active"):
        return f"it is {controller.state}"
    other = [i for i in controller.interfaces if not i.endswith("/effort")]
    if other:
        return f"it commands {', '.join(other)}, not efforts"
    mine = _effort_joints(controller.interfaces)
    missing = [joint for joint in joints if joint not in mine]
    if missing:
        return f"it lacks {', '.join(missing)}"
    extra = [joint for joint in mine if joint not in joints]
    if extra:
        return f"it also moves {', '.join(extra)}"
    return ""


def _effort_joints(interfaces: Iterable[str]) -> tuple[str, ...]:
    return tuple(i.rpartition("/")[0] for i in interfaces if i.endswith("/effort"))


def _those(controllers: Sequence[LoadedController]) -> str:
    names = ", ".join(f"{c.name} ({c.state})" for c in controllers)
    return f"there are {names}" if names else "there are none"


class ControllerManager:
    """The controller manager's services, called from a thread that spins nothing else.

    Args:
        node: In no executor.
        name: Name of the controller manager.
        timeout: Timeout of a call [s].

    Attributes:
        meanwhile: Called every few milliseconds while an answer is awaited.
    """

    def __init__(self, node: Node, name: str = "controller_manager", timeout: float = 5.0) -> None:
        from rclpy.executors import SingleThreadedExecutor

        try:
            from controller_manager_msgs.srv import ListControllers, SwitchController
        except ImportError:
            raise ProjectedControlError(
                "hardware: ros2_control needs controller_manager_msgs; install ros2_control "
                "(apt install ros-$ROS_DISTRO-ros2-control) and source its setup file"
            ) from None
        self.name, self.timeout = name, timeout
        self._node = node
        self._switch_request = SwitchController.Request
        self._list_request = ListControllers.Request
        self._list = node.create_client(ListControllers, f"{name}/list_controllers")
        self._switch = node.create_client(SwitchController, f"{name}/switch_controller")
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._asked: tuple[Any, float] | None = None
        self.meanwhile: Callable[[], None] = lambda: None

    def close(self) -> None:
        """Give back what was made."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()
        self._node.destroy_client(self._list)
        self._node.destroy_client(self._switch)

    def controllers(self) -> list[LoadedController]:
        """All there are."""
        answer = self._call(self._list, self._list_request())
        return [LoadedController.of(message) for message in answer.controller]

    def switch(self, activate: Sequence[str], deactivate: Sequence[str]) -> None:
        """Switch all of these or none.

        Told to end meanwhile, a node that starts waits for the answer still: a switch that was
        asked for is made.

        Raises:
            CannotEngage: Where the controller manager refuses, or does not answer.
        """
        if not (activate or deactivate):
            return
        self._await_service(self._switch)
        with to_the_end():
            future = self._switch.call_async(self._switching(activate, deactivate))
            answer = self._answer(self._switch, future)
        if not answer.ok:
            asked = [f"activate {name}" for name in activate]
            asked += [f"deactivate {name}" for name in deactivate]
            reason = getattr(answer, "message", "") or "its log says why"
            raise CannotEngage(f"{self.name} refused to {', '.join(asked)}: {reason}")

    def _switching(self, activate: Sequence[str], deactivate: Sequence[str]) -> Any:
        request = self._switch_request(
            activate_controllers=list(activate),
            deactivate_controllers=list(deactivate),
            strictness=STRICT,
            activate_asap=True,
        )
        request.timeout.sec = max(int(self.timeout), 1)
        return request

    def begin_to_deactivate(self, name: str) -> Any:
        """Ask to switch a controller off, and wait for nothing; from any thread.

        Returns:
            What `await_answer` takes; None where no manager answers.
        """
        if not self._switch.service_is_ready():
            return None
        return self._switch.call_async(self._switching((), (name,)))

    def await_answer(self, future: Any) -> None:
        """Wait for the answer to `begin_to_deactivate`, whatever it is."""
        self._answer(self._switch, future)

    def poll(self) -> list[LoadedController] | str | None:
        """A list asked for earlier, the reason why there is none, or None as long as it is due."""
        if self._asked is None:
            if not self._list.service_is_ready():
                return f"{self.name} is gone"
            self._asked = self._list.call_async(self._list_request()), monotonic()
        future, since = self._asked
        self._executor.spin_once(timeout_sec=0.0)
        if future.done():
            self._asked = None
            return [LoadedController.of(message) for message in future.result().controller]
        if monotonic() - since > self.timeout:
            self._asked = None
            return f"{self.name} has not answered for {self.timeout:g} s"
        return None

    def _call(self, client: Any, request: Any) -> Any:
        self._await_service(client)
        return self._answer(client, client.call_async(request))

    def _await_service(self, client: Any) -> None:
        give_up = monotonic() + self.timeout
        while not client.service_is_ready():
            if monotonic() > give_up or interrupted():
                raise CannotEngage(
                    f"there is no service {client.srv_name}: is the controller manager running, "
                    f"and is ros2_control.manager ({self.name}) its name?"
                )
            sleep(WHILE_SECONDS)

    def _answer(self, client: Any, future: Any) -> Any:
        give_up = monotonic() + self.timeout
        while not (future.done() or monotonic() > give_up or interrupted()):
            self._executor.spin_until_future_complete(future, timeout_sec=WHILE_SECONDS)
            self.meanwhile()
        if not future.done():
            client.remove_pending_request(future)
            raise CannotEngage(f"{client.srv_name} has not answered for {self.timeout:g} s")
        return future.result()
