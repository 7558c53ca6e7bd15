"""What a browser may ask for: whether it may, the asking, and undoing it.

Nothing is sent unless the page was started with ``--control``, and nothing to an arm that is not
certainly a simulated one before the user has agreed to just that. Stopping is the exception: it is
never asked about.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from math import isfinite
from time import monotonic
from typing import Any

from lifecycle_msgs.srv import ChangeState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.apps.demo.board import DemoLink
from projected_control.apps.view import presets
from projected_control.apps.view.mirror import Member, Mirror
from projected_control.apps.view.requests import (
    Change,
    Malformed,
    MustConfirm,
    UnknownAsk,
    listed,
    shown,
    text_in,
)
from projected_control.apps.view.shown_parameters import blend_seconds
from projected_control.apps.view.watch import MirrorWatch
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName

TRANSITIONS = ("configure", "activate", "deactivate", "cleanup")
TRANSITION_SECONDS = 120.0  # how long a transition may take, a path that is planned included [s]

STOP_SECONDS = 3.0
"""How long a controller may take to stop before the user is told that it did not [s]."""

REASON_SECONDS = 3.0  # how long the reason of a refusal is waited for [s]

REFUSALS = ("refused: ", "waiting: ")
"""What a node's diagnosis says before the reason, told to start or starting by itself."""

ARM_ACTIONS = ("reset", "pause", "go", "step")
MOST_CHANGES = 50  # changes that can be undone

READ_ONLY = "the page only shows: start it with projected-control view --control to send"

logger = logging.getLogger(__name__)


class Commands:
    """Does what browsers ask for.

    Args:
        watch: What is known of the controllers.
        control: Whether anything may be sent.
        demo: The demonstration whose page it is; None where it is of none.

    Attributes:
        changes: Those that can be undone, the oldest first.
    """

    def __init__(self, watch: MirrorWatch, control: bool, demo: DemoLink | None = None) -> None:
        self._watch, self.control, self.demo = watch, control, demo
        self.changes: deque[Change] = deque(maxlen=MOST_CHANGES)
        self._given: set[str] = set()  # controllers that follow a set-point of ours
        self._doing = {
            "set": self._set,
            "preset": self._preset,
            "save": self._save,
            "transition": self._transition,
            "setpoint": self._setpoint,
            "resume": self._resume,
            "undo": self._undo,
            "stop": self._stop,
            "arm": self._arm,
            "tare": self._tare,
            "demo": self._demo,
        }

    async def do(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a browser asks for; the answer: whether it was done, and why not.

        Raises:
            Malformed: Where it is nothing that a page of ours sends.
        """
        doing = self._doing.get(text_in(message, "ask"))
        if doing is None:
            raise UnknownAsk(text_in(message, "ask"), self._doing)
        if not self.control:
            return {"ok": False, "reason": READ_ONLY}
        try:
            return {"ok": True, **await doing(message)}
        except MustConfirm as question:
            return {"ok": False, "confirm": str(question)}
        except Malformed:
            raise
        except (ProjectedControlError, OSError) as error:
            return {"ok": False, "reason": str(error)}

    # One method per thing that can be asked for

    async def _set(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, member = self._member(message)
        values = message.get("values")
        if not isinstance(values, dict) or not values:
            raise Malformed("values must be parameters by name")
        for name in values:
            if name not in member.controls:
                raise UnknownName(f"parameter of {member.node}", str(name), member.controls)
        wanted = {name: member.controls[name].convert(v) for name, v in values.items()}
        text = ", ".join(f"{name} = {shown(value)}" for name, value in wanted.items())
        self._agree(mirror, message, f"set {text}")
        return await self._put(mirror, member, wanted, text)

    async def _put(
        self, mirror: Mirror, member: Member, wanted: dict[str, Any], text: str
    ) -> dict[str, Any]:
        """Set parameters and remember how to undo it; raises where they are refused."""
        before = {name: member.values.get(name) for name in wanted}
        if reason := await self._watch.link.set_parameters(member.node, wanted):
            raise InvalidValue(reason)
        member.change(wanted)
        if any(name.startswith("reference.") for name in wanted):
            self._given.discard(mirror.name)
        self._remember(mirror, text, member.node, before)
        names = list(wanted)
        active = member is mirror.controller
        return {"blend": blend_seconds(names, member.values) if active else 0.0, "names": names}

    async def _preset(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, name = self._mirror(message), text_in(message, "name")
        member = mirror.controller
        given = presets.load(name, member.controls)
        wanted = {
            key: member.controls[key].convert(listed(member, key, v)) for key, v in given.items()
        }
        self._agree(mirror, message, f"load the preset {name}")
        return await self._put(mirror, member, wanted, f"preset {name}")

    async def _save(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, name = self._mirror(message), text_in(message, "name")
        live = {
            key: value
            for key, value in mirror.controller.values.items()
            if key in mirror.controller.controls and mirror.controller.controls[key].live
        }
        return {"path": str(presets.save(name, live))}

    async def _transition(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, label = self._mirror(message), text_in(message, "label")
        if label not in TRANSITIONS:
            raise Malformed(f"there is no transition {label!r}")
        if label != "deactivate":
            self._agree(mirror, message, label)
        await self._change_state(mirror, label, TRANSITION_SECONDS)
        return {}

    async def _change_state(self, mirror: Mirror, label: str, seconds: float) -> None:
        request = ChangeState.Request()
        request.transition.label = label
        service = f"{mirror.name}/change_state"
        answer = await self._watch.link.call(ChangeState, service, request, seconds)
        logger.info("%s: %s %s", mirror.name, label, "done" if answer.success else "refused")
        if not answer.success:
            why = await self._reason_of(mirror)
            raise ProjectedControlError(f"{mirror.name} refused to {label}: {why}")

    async def _reason_of(self, mirror: Mirror) -> str:
        """Why a controller refused: it says so with its next diagnostics."""
        asked, name = monotonic(), mirror.name.lstrip("/")
        while monotonic() - asked < REASON_SECONDS:
            await asyncio.sleep(0.05)
            light = self._watch.lights.by_name.get(name)
            if light is not None and light.heard > asked:
                for word in REFUSALS:
                    if word in light.message:
                        return light.message.partition(word)[2]
        return "it does not say why; its console may"

    async def _setpoint(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, values = self._mirror(message), message.get("values")
        known = [name for name, _ in mirror.scene.coordinates] if mirror.scene else []
        if not isinstance(values, dict) or not values:
            raise Malformed("values must be coordinates by name")
        for name, value in values.items():
            if name not in known:
                raise UnknownName("coordinate", str(name), known)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise Malformed(f"{name} must be a number")
            if not isfinite(value):
                raise Malformed(f"{name} must be finite")
        text = ", ".join(f"{name} → {shown(float(value))}" for name, value in values.items())
        self._agree(mirror, message, f"go to {text}")
        newest = mirror.history.newest
        before = {name: newest[f"{name}/desired"] for name in values if f"{name}/desired" in newest}
        await self._go(mirror, values)
        self._remember(mirror, text, "", before, resume=mirror.name not in self._given)
        self._given.add(mirror.name)
        return {}

    async def _go(self, mirror: Mirror, values: Mapping[str, Any]) -> None:
        trajectory = JointTrajectory(joint_names=list(values))
        point = JointTrajectoryPoint(positions=[float(v) for v in values.values()])
        trajectory.points = [point]
        topic = f"{mirror.name}/reference"
        await self._watch.link.publish(JointTrajectory, topic, trajectory)

    async def _resume(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror = self._mirror(message)
        self._agree(mirror, message, "follow the reference of its parameters again")
        await self._follow_parameters(mirror)
        return {}

    async def _follow_parameters(self, mirror: Mirror) -> None:
        """Change the reference and change it back: a value that stays the same changes nothing."""
        kind = mirror.controller.values.get("reference.kind", "hold")
        other = "hold" if kind != "hold" else "sine"
        for each in (other, kind):
            if reason := await self._watch.link.set_parameters(
                mirror.name, {"reference.kind": each}
            ):
                raise InvalidValue(reason)
        self._given.discard(mirror.name)

    async def _undo(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if not self.changes:
            raise InvalidValue("there is nothing to undo")
        change = self.changes[-1]
        mirror = self._watch.mirrors.get(change.controller)
        if mirror is None:
            self.changes.pop()
            raise InvalidValue(f"{change.controller} is gone")
        self._agree(mirror, message, f"undo {change.text}")
        if not change.node:
            await (
                self._follow_parameters(mirror)
                if change.resume
                else self._go(mirror, change.before)
            )
            blend = 0.0
        else:
            values = dict(change.before)
            if reason := await self._watch.link.set_parameters(change.node, values):
                raise InvalidValue(reason)
            member = mirror.member(change.node)
            if member is not None:
                member.change(values)
            blend = blend_seconds(list(values), mirror.controller.values)
        self.changes.pop()
        logger.info("undone: %s", change.text)
        return {"text": change.text, "blend": blend, "names": list(change.before)}

    async def _stop(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Deactivate every controller that is active, all at once."""
        now = monotonic()
        active = [
            mirror
            for mirror in self._watch.mirrors.values()
            if self._state(mirror) in ("active", "activating") or mirror.running(now)
        ]
        logger.warning("stop: %s", ", ".join(m.name for m in active) or "nothing is active")
        outcomes = await asyncio.gather(
            *(self._change_state(m, "deactivate", STOP_SECONDS) for m in active),
            return_exceptions=True,
        )
        failed = [str(o) for o in outcomes if isinstance(o, BaseException)]
        if failed:
            raise ProjectedControlError("; ".join(failed))
        return {"stopped": [m.name for m in active]}

    def _state(self, mirror: Mirror) -> str:
        light = self._watch.lights.by_name.get(mirror.name.lstrip("/"))
        return light.values.get("state", "") if light is not None else ""

    async def _arm(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror, action = self._mirror(message), text_in(message, "action")
        if action not in ARM_ACTIONS:
            raise Malformed(f"a simulated arm does not {action!r}")
        if mirror.plant is None:
            raise InvalidValue(f"the arm of {mirror.name} is not a simulated one")
        node, call = mirror.plant.node, self._watch.link.call
        if action in ("pause", "go"):
            request = SetBool.Request(data=action == "pause")
            answer = await call(SetBool, f"{node}/pause", request)
        else:
            answer = await call(Trigger, f"{node}/{action}", Trigger.Request())
        if not answer.success:
            raise InvalidValue(answer.message)
        return {"text": answer.message}

    async def _tare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        mirror = self._mirror(message)
        self._agree(mirror, message, "measure what its force sensor shows, and subtract it")
        answer = await self._watch.link.call(
            Trigger, f"{mirror.name}/tare", Trigger.Request(), 30.0
        )
        if not answer.success:
            raise InvalidValue(answer.message)
        return {"text": answer.message}

    async def _demo(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Have the demonstration show another task."""
        if self.demo is None:
            raise InvalidValue("this page is not one of a demonstration (projected-control demo)")
        title = self.demo.ask(text_in(message, "task"))
        self.changes.clear()  # what could be undone belongs to nodes that end
        self._given.clear()
        return {"text": title}

    # Checks

    def _mirror(self, message: Mapping[str, Any]) -> Mirror:
        name = text_in(message, "controller")
        mirror = self._watch.mirrors.get(name)
        if mirror is None:
            raise UnknownName("controller", name, self._watch.mirrors)
        return mirror

    def _member(self, message: Mapping[str, Any]) -> tuple[Mirror, Member]:
        mirror, node = self._mirror(message), text_in(message, "node")
        member = mirror.member(node)
        if member is None:
            raise UnknownName("node", node, [m.node for m in mirror.members])
        return mirror, member

    def _agree(self, mirror: Mirror, message: Mapping[str, Any], what: str) -> None:
        """Raise unless the arm is simulated, this very moment, or the user has agreed."""
        if message.get("confirmed") is True or self._watch.arm_now(mirror).simulated:
            return
        raise MustConfirm(
            f"{mirror.name} may move a real arm: nothing says that it is simulated. "
            f"Shall it {what}?"
        )

    def _remember(
        self,
        mirror: Mirror,
        text: str,
        node: str,
        before: Mapping[str, Any],
        resume: bool = False,
    ) -> None:
        self.changes.append(Change(mirror.name, text, node, dict(before), resume))
        logger.info("%s: %s", node or mirror.name, text)
