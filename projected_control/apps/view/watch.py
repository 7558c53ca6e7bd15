"""Keeps what is known of all controllers up to date, as long as the page is served."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from math import hypot
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Log, ParameterEvent
from sensor_msgs.msg import JointState

from projected_control.apps.view import found_controllers
from projected_control.apps.view.found_controllers import FoundArm
from projected_control.apps.view.lights import SILENT, Lights
from projected_control.apps.view.mirror import Member, Mirror
from projected_control.apps.view.ros_link import Ear, NoAnswer, RosLink, plain
from projected_control.apps.view.scene import Scene
from projected_control.apps.view.shown_parameters import control_of
from projected_control.errors import ProjectedControlError
from projected_control.settings.files import is_ros_own
from projected_control.settings.nodes import ARM, checked_controller, settings_class

LISTEN_SECONDS = 0.03  # how often messages are read [s]
DISCOVER_SECONDS = 0.5  # how often the graph is looked at [s]

STATES = 200
"""States that may wait to be read: two seconds, as the page steps back behind busy loops."""

FORGET_SECONDS = 600.0
"""How long a controller that vanished while it was active is still offered [s]."""

FAREWELL_SECONDS = 20.0  # the same for one that was not active: it was ended on purpose [s]
RETRY_SECONDS = 1.0  # how long to wait before a node that did not answer is asked again [s]
MESSAGES = 100  # warnings and errors of nodes that are kept
WARNING = 30  # severity in rcl_interfaces/Log from which on a message is shown

logger = logging.getLogger(__name__)


MOTION = "torque_norm/motion"
"""Norm of f∥, what the motion takes, which no controller tells by itself."""


def with_motion(names: Sequence[str], values: Sequence[float]) -> tuple[list[str], list[float]]:
    """A controller's state, and the norm of its f∥ beside it."""
    tangent = [v for name, v in zip(names, values, strict=True) if name.endswith("/tangent")]
    return [*names, MOTION], [*values, hypot(*tangent)]


class MirrorWatch:
    """All controllers that can be seen.

    Attributes:
        mirrors: By full name.
        lights: What nodes say of themselves.
        said: Warnings and errors of the nodes, numbered, the oldest first.
    """

    def __init__(self, link: RosLink) -> None:
        self.link = link
        self.mirrors: dict[str, Mirror] = {}
        self.lights = Lights()
        self.said: deque[tuple[int, dict[str, Any]]] = deque(maxlen=MESSAGES)
        self._spoken = 0
        self._states: dict[str, Ear] = {}
        self._joints: dict[str, Ear] = {}
        self._seen: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._diagnostics = link.listen(DiagnosticArray, "/diagnostics", 100)
        self._events = link.listen(ParameterEvent, "/parameter_events", 200, reliable=True)
        self._log = link.listen(Log, "/rosout", 200)

    async def run(self) -> None:
        discovered = 0.0
        try:
            while True:
                now = monotonic()
                if now - discovered >= DISCOVER_SECONDS:
                    discovered = now
                    self._discover(now)
                self._hear(now)
                await asyncio.sleep(LISTEN_SECONDS)
        finally:
            for task in self._asking.values():
                task.cancel()

    # Who is there

    def _discover(self, now: float) -> None:
        found = found_controllers.controllers(self.link.topics())
        for name in found:
            if name not in self.mirrors:
                logger.info("found %s", name)
                self.mirrors[name] = Mirror(name)
                topic = name + found_controllers.STATE
                self._states[name] = self.link.listen(JointState, topic, STATES)
            self._seen[name] = now
        for name, mirror in list(self.mirrors.items()):
            mirror.present = name in found
            light = self.lights.by_name.get(name.lstrip("/"))
            active = light is not None and light.values.get("state") == "active"
            if now - self._seen[name] > (FORGET_SECONDS if active else FAREWELL_SECONDS):
                self._forget(name)
            elif mirror.present:
                self._look_after(mirror)

    def _look_after(self, mirror: Mirror) -> None:
        """Notice a restart, and ask what is not known."""
        gids = frozenset(e.gid for e in self.link.publishers(mirror.name + found_controllers.STATE))
        if gids - mirror.gids:
            if mirror.gids:
                logger.info("%s was started anew", mirror.name)
            mirror.generation += 1
            mirror.known = False
        mirror.gids = gids or mirror.gids
        arm = self.arm_now(mirror)
        if arm != mirror.arm:
            mirror.arm = arm
            if arm.node != (mirror.plant.node if mirror.plant else ""):
                mirror.plant = Member(arm.node) if arm.node else None
                mirror.generation += 1  # browsers get a new description
        if mirror.name in self._asking:
            return
        if not mirror.known:
            asking = self._ask(mirror)
        elif mirror.plant is not None and not mirror.plant.known:
            asking = self._ask_plant(mirror, mirror.plant)
        else:
            return
        task = asyncio.create_task(asking)
        self._asking[mirror.name] = task
        task.add_done_callback(lambda _: self._asking.pop(mirror.name, None))

    def arm_now(self, mirror: Mirror) -> FoundArm:
        """On what a controller works, as the graph shows it this moment."""
        return found_controllers.arm_of(
            mirror.name,
            self.link.subscribed,
            lambda topic: [endpoint.node for endpoint in self.link.publishers(topic)],
        )

    def _forget(self, name: str) -> None:
        for ears in (self._states, self._joints):
            if (ear := ears.pop(name, None)) is not None:
                ear.close()
        del self.mirrors[name], self._seen[name]
        self.lights.by_name.pop(name.lstrip("/"), None)

    # What they are

    async def _ask(self, mirror: Mirror) -> None:
        """Parameters of a controller, and from them how to draw it."""
        gids = mirror.gids
        try:
            await self._learn(mirror, mirror.controller)
            if mirror.kind:
                values = {
                    name: value
                    for name, value in mirror.controller.values.items()
                    if value is not None and not is_ros_own(name)
                }
                settings = checked_controller(mirror.kind, values)
                mirror.scene = await asyncio.to_thread(Scene, settings)
            mirror.trouble = "" if mirror.kind else "it is of a kind that is not installed here"
        except NoAnswer as error:
            mirror.trouble = f"{error}; it is asked again"
            await asyncio.sleep(RETRY_SECONDS)
            return
        except (ProjectedControlError, OSError, ValueError) as error:
            mirror.trouble = f"it cannot be drawn: {error}"
        mirror.known = gids == mirror.gids  # else it was started anew meanwhile
        mirror.generation += 1

    async def _ask_plant(self, mirror: Mirror, plant: Member) -> None:
        """Parameters of the simulated arm."""
        try:
            await self._learn(mirror, plant)
        except NoAnswer:
            await asyncio.sleep(RETRY_SECONDS)  # it is asked again
        else:
            mirror.generation += 1

    async def _learn(self, mirror: Mirror, member: Member) -> None:
        member.ask()
        described = await self.link.parameters(member.node)
        if member is mirror.controller:
            mirror.kind = found_controllers.kind_of(list(described))
        kind = mirror.kind if member is mirror.controller else ARM
        table = settings_class(kind) if kind else None
        controls = {}
        for name, each in described.items():
            if is_ros_own(name):
                continue
            declared = table.parameter(name) if table is not None else None
            controls[name] = control_of(
                name,
                each.value,
                each.description,
                each.constraints,
                each.bounds,
                declared.type if declared is not None else None,
            )
        member.learn(controls, {name: each.value for name, each in described.items()})

    # What they say

    def _hear(self, now: float) -> None:
        for name, ear in self._states.items():
            mirror = self.mirrors[name]
            for message in ear.take():
                stamp = message.header.stamp
                time = stamp.sec + 1e-9 * stamp.nanosec
                names, numbers = with_motion(message.name, message.position)
                mirror.history.add(names, time, numbers)
                mirror.heard = now
            self._hear_joints(mirror, now)
        for array in self._diagnostics.take():
            for status in array.status:
                values = {pair.key: pair.value for pair in status.values}
                self.lights.hear(status.name, status.level[0], status.message, values, now)
        for event in self._events.take():
            self._hear_event(event)
        for message in self._log.take():
            self._hear_log(message)

    def _hear_joints(self, mirror: Mirror, now: float) -> None:
        """Joint states count only while the controller does not run: they are many."""
        ear = self._joints.get(mirror.name)
        if mirror.running(now) or mirror.scene is None or not mirror.arm.topic:
            if ear is not None:
                self._joints.pop(mirror.name).close()
                mirror.posed = {}
            return
        if ear is None:
            ear = self._joints[mirror.name] = self.link.listen(JointState, mirror.arm.topic, 1)
        for message in ear.take()[-1:]:
            offsets = dict(
                zip(
                    mirror.scene.joint_names,
                    mirror.controller.values.get("joint_offsets") or [],
                    strict=False,
                )
            )
            mirror.posed = {
                f"{name}/position": float(q) + offsets.get(name, 0.0)
                for name, q in zip(message.name, message.position, strict=False)
            }

    def _hear_event(self, event: ParameterEvent) -> None:
        changed = [*event.new_parameters, *event.changed_parameters]
        for mirror in self.mirrors.values():
            if (member := mirror.member(event.node)) is not None:
                member.change({p.name: plain(p.value) for p in changed})

    def _hear_log(self, message: Log) -> None:
        node = "/" + message.name.replace(".", "/")
        if message.level >= WARNING and any(m.member(node) for m in self.mirrors.values()):
            self._spoken += 1
            entry = {"node": node, "level": int(message.level), "text": message.msg}
            self.said.append((self._spoken, entry))

    # What is shown

    def _factor(self, mirror: Mirror, now: float) -> float | None:
        """Simulated time over that of the clock, as the simulated arm says; None for no word."""
        plant = mirror.plant.node.lstrip("/") if mirror.plant else ""
        light = self.lights.by_name.get(plant)
        if light is None or light.shown_level(now) == SILENT:
            return None
        try:
            return float(light.values.get("real-time factor", "")) or None
        except ValueError:
            return None

    def overview(self, now: float) -> dict[str, Any]:
        """Controllers and lights, for the browser."""
        controllers = []
        for mirror in self.mirrors.values():
            light = self.lights.by_name.get(mirror.name.lstrip("/"))
            level = light.shown_level(now) if light is not None else SILENT
            state = light.values.get("state", "") if light is not None else ""
            if not mirror.present:
                state = "gone"
            elif level == SILENT and not mirror.running(now):
                state = "silent" if light is not None else "starting"
            controllers.append({
                "id": mirror.name,
                "kind": mirror.kind,
                "state": state,
                "level": level,
                "simulated": mirror.arm.simulated,
                "arm": mirror.plant.node if mirror.plant else "",
                "factor": self._factor(mirror, now),
                "trouble": mirror.trouble,
                "running": mirror.running(now),
            })  # fmt: skip
        missed = frozenset(name.lstrip("/") for name in self.mirrors)
        return {
            "is": "overview",
            "controllers": controllers,
            "lights": self.lights.shown(now, missed),
        }
