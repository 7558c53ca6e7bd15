"""An arm whose loop runs in the controller manager: this side decides, the plugin there acts.

Opened, the port listens to the arm as any other. Engaged, the loop as it was prepared goes to the
plugin as one message, the plugin is switched on, and from then on the port sends changes and signs
of life and reads what the plugin reports. If they end, the plugin does what the session's beginning
told it to do (`control.silence`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, perf_counter_ns

import numpy as np
from rclpy.node import Node

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.native.session import ChangeMessages, RemoteTick, begin_sections
from projected_control.native.updates import (
    Message,
    Phase,
    Report,
    Section,
    Sections,
    Status,
    Update,
)
from projected_control.ros.controller_manager import PLUGIN, CannotEngage
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.listening_port import ListeningPort, Wiring
from projected_control.ros.loop_thread import BEAT_SECONDS
from projected_control.ros.plugin_link import PluginLink
from projected_control.ros.ros2_control_port import Engagement
from projected_control.ros.start_and_end import interrupted
from projected_control.ros.transport import let_arrive
from projected_control.runs.port import Port
from projected_control.settings.nodes import ControllerSettings

REPORTS = 20.0  # how often the plugin reports at least [Hz]
READ_SECONDS = 0.02  # how long a reading waits for a report [s]

AGAIN = 0.4
"""After which share of plugin.silence_time a beginning is sent again where it is not answered."""

FAREWELL_SECONDS = 0.1  # how long the end of a session may take to arrive [s]

ANSWERS = {
    "stop": "it has brought the arm to rest, λ_d to zero, and damps all motion",
    "hold": "it has brought the arm to rest and holds it",
    "finish": "it has followed its reference to the end and damps all motion",
}
"""What the plugin does in silence, in words."""


class PluginPort(ListeningPort):
    """The plugin ``projected_control/ProjectedController``.

    Args:
        node: In no executor; gets the topics.
        loop: What will run in the plugin.
        settings: Settings of the controller node.
        engagement: The plugin in its controller manager.
    """

    remote = True
    delay = 1

    def __init__(
        self, node: Node, loop: ControlLoop, settings: ControllerSettings, engagement: Engagement
    ) -> None:
        self._engagement, self.plan, self._loop = engagement, engagement.plan, loop
        wiring = Wiring(
            order=self.plan.joints,
            wrench=settings.ros2_control.wrench or self.plan.wrench_topic or "wrench",
            commands="",
        )
        super().__init__(node, loop, settings, wiring)
        self._listening = True
        self._link = PluginLink(node, self.plan.effort_controller)
        self._remote: RemoteTick | None = None
        self._changes: ChangeMessages | None = None
        self._phase, self._begun = Phase.IDLE, False
        self._report = np.zeros(len(Report), dtype=np.int64)
        self.report_rate: float = min(max(settings.state_rate, REPORTS), settings.rate)

    # Taking over and giving back

    def engage(self) -> None:
        """Hand the loop over, then switch to the plugin."""
        loop, settings = self._loop, self.settings
        self._stop_listening()
        self._until(lambda: self._link.connected, f"{self._name} does not listen to updates")
        model, plugin = loop.controller.model, settings.plugin
        answer = SilenceAnswer[plugin.on_silence.upper()]
        silence = silence_array(model.m, model.k, answer, plugin.silence_time, plugin.stop_time)
        loop.guard.set_limits(loop.guard.limits)  # so that every change holds them
        sections = begin_sections(loop, silence, 1.0 / self.report_rate, settings.joint_offsets)
        changes = ChangeMessages(loop)
        self._begin(sections)
        self._begun = True
        self._engagement.engage(self.beat)
        self._remote, self._changes = RemoteTick(loop), changes
        loop.mailbox.sender = self._send_change
        self._until(self._runs, f"{self._name} is active and reports nothing")
        self.heard = monotonic()

    def _runs(self) -> bool:
        """Whether the plugin runs our session."""
        return any(
            state.session == self._link.session and _phase(state) is Phase.RUNNING
            for state in self._link.states()
        )

    def _begin(self, sections: Sections) -> None:
        """Open a session; raise where it is refused or not answered."""
        link, patience = self._link, AGAIN * self.settings.plugin.silence_time
        first = link.begin(sections)

        def accepted() -> bool:
            for answer in link.acknowledgements():
                if answer.sequence != first:
                    continue
                if answer.status is Status.ACCEPTED:
                    return True
                if answer.status is not Status.SESSION:
                    raise CannotEngage(f"{self._name} refuses the loop: {answer.reason}")
                link.begin(sections)  # it has ended, because our signs of life came too late
            if monotonic() - link.sent > patience:
                link.begin_again()
            return False

        self._until(accepted, f"{self._name} does not answer")

    def _until(self, done: Callable[[], bool], problem: str) -> None:
        """Wait, sending signs of life; raise where it takes too long."""
        give_up = monotonic() + self.settings.ros2_control.timeout
        while not done():
            if monotonic() > give_up or interrupted():
                raise CannotEngage(
                    f"{problem}; is it {PLUGIN} of this very version, and has it its own topics?"
                )
            self.beat()
            self._link.wait(BEAT_SECONDS)

    def check(self) -> None:
        self._engagement.check()

    def close(self) -> None:
        """End the session, and give the arm back.

        A plugin that was left alone and brought the arm to rest goes on carrying it: zero torque
        would help no one now.
        """
        self._stop_listening()
        begun, self._begun = self._begun, False
        if begun and self._phase is not Phase.SILENT:
            self._link.send(Update.END)
            let_arrive(self._link.publisher, FAREWELL_SECONDS)
            self._engagement.give_back((self.plan.effort_controller,))
        self._detach()
        self._link.close()
        self._engagement.leave()

    def _detach(self) -> None:
        if self._remote is not None:
            self._remote.detach()
            self._loop.mailbox.sender = None
            self._remote = self._changes = None

    def _stop_listening(self) -> None:
        if self._listening:
            self._listening = False
            self.stop_listening()

    # Deciding

    def beat(self) -> None:
        if self._begun and monotonic() - self._link.sent >= 0.5 * BEAT_SECONDS:
            self._link.send(Update.BEAT)

    def _send_change(self, box: Array) -> None:
        changes = self._changes
        if changes is not None:
            self.refusal = ""
            changes.sent(self._link.send(Update.CHANGE, changes.sections()))

    def wake(self) -> None:
        self._link.wake()

    def interrupt(self) -> None:
        if self._listening:
            super().interrupt()
        self._link.wake()

    # What comes back

    def read(self) -> RawState | None:
        remote = self._remote
        if remote is None:
            return super().read()
        self._link.wait(READ_SECONDS)
        self._look_at_answers()
        ours = [s for s in self._link.states() if s.session == self._link.session]
        for state in ours:
            self._note(state)
            remote.put(state)
        if not ours:
            return None
        self.heard = monotonic()
        return self._raw_state(ours[-1])

    def _look_at_answers(self) -> None:
        for answer in self._link.acknowledgements():
            accepted = answer.status is Status.ACCEPTED
            if self._changes is not None:
                self._changes.acknowledged(answer.sequence, accepted=accepted)
            if not accepted:
                self.refusal = f"{self._name}: {answer.reason}"

    def _note(self, state: Message) -> None:
        """Raise where the session is over."""
        self._phase, self._report = _phase(state), state.sections[Section.REPORT]
        if self._phase is Phase.SILENT:
            plugin = self.settings.plugin
            raise ProjectedControlError(
                f"{self._name} heard nothing from here for {plugin.silence_time:g} s "
                f"(plugin.silence_time): {ANSWERS[plugin.on_silence]}; activate this node to take "
                "the arm over again"
            )
        if self._phase is not Phase.RUNNING:
            raise ProjectedControlError(
                f"{self._name} has ended the session: it was deactivated, or failed"
            )

    def _raw_state(self, state: Message) -> RawState:
        sections = state.sections
        stamp, age = sections[Section.NOW].tolist()
        self.stamp_ns = int(sections[Section.STAMP_NS][0])
        self.q[:] = sections[Section.Q]
        wrench = sections[Section.WRENCH] if np.isfinite(age) else None
        received = perf_counter_ns()
        return RawState(self.q, sections[Section.V], stamp, wrench, age, received)

    def write(self, effort: Array) -> None:
        """The plugin has sent it."""

    def cycles(self) -> Sequence[tuple[float, int]]:
        return () if self._remote is None else self._remote.cycles

    def measured_delay(self) -> int | None:
        return self.delay

    def missing(self, silent: float) -> str:
        return (
            f"{self._name} has reported nothing for {silent:.2f} s: its controller manager has "
            "stopped, or this computer was too busy to deliver it"
        )

    def counters(self) -> dict[str, int]:
        counted = {
            "overruns": int(self._report[Report.OVERRUNS]),
            "updates_accepted": int(self._report[Report.ACCEPTED]),
            "updates_refused": int(self._report[Report.REFUSED]),
            "malformed": self._link.malformed,
        }
        return counted if self._remote is not None else super().counters()

    @property
    def _name(self) -> str:
        return f"the plugin {self._link.controller}"


def _phase(state: Message) -> Phase:
    return Phase(int(state.sections[Section.REPORT][Report.PHASE]))


def make_port(node: ManagedNode[ControllerSettings], side: Node, loop: ControlLoop) -> Port:
    """For `projected_control.runs.port`."""
    settings = node.settings
    return PluginPort(side, loop, settings, Engagement(node, loop, settings, (PLUGIN,)))
