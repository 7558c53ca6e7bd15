"""The recording of a controller node: begun and ended with it, or by a parameter at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from projected_control.ros.realtime import ordinary_priority
from projected_control.runs import row_messages
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording_head import About
from projected_control.runs.runner import Change, Runner
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.recorded import files_of


class NodeRecording:
    """At most one recording at a time.

    Args:
        node: Name of the node, with its namespace.
        kind: Its kind.
        log: Takes a sentence for the console.
    """

    def __init__(self, node: str, kind: str, log: Callable[[str], None]) -> None:
        self._node, self._kind, self._log = node, kind, log
        self._recorder: Recorder | None = None

    def start(self, runner: Runner, settings: ControllerSettings) -> None:
        """Record from the next state on, where the settings say so; an old recording ends.

        Raises:
            ProjectedControlError: Where that cannot be.
        """
        if not settings.recording.file:
            self.stop()
            return
        values = settings.values()
        about = About(self._node, self._kind, values, files=files_of(values))
        recorder = Recorder(
            settings.recording.file,
            about,
            state_rate=settings.state_rate or 100.0,
            megabytes=settings.recording.megabytes,
            patient=True if settings.lockstep else None,
        )
        self.stop()
        try:
            with ordinary_priority():  # the process that writes inherits it
                runner.record(recorder)
        except BaseException:
            recorder.close()
            raise
        self._recorder = recorder
        reported = ", as it is reported: the ticks are made in the controller manager"
        how = reported if runner.port.remote else ", tick by tick"
        self._log(f"recording to {recorder.file}{how}")

    def stop(self) -> None:
        """End the recording, if there is one."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        trouble = recorder.trouble
        recorder.close()
        status = recorder.status()
        sentence = f"recorded {status['rows']} ticks in {recorder.file}"
        lost = f", {status['lost']} more were lost" if status["lost"] else ""
        self._log(f"{sentence}{lost}{f'; {trouble}' if trouble else ''}")

    def noting(self, change: Change, values: Mapping[str, Any]) -> Change:
        """The same change, of which the recording is told at the tick with which it comes."""

        def noted(loop: Any, time: float) -> None:
            change(loop, time)
            if self._recorder is not None:
                self._recorder.changed(values)

        return noted

    def diagnosed(self, status: Mapping[str, Any]) -> None:
        """The node has published its diagnostics: level, name, message, hardware_id, values."""
        if self._recorder is not None:
            self._recorder.note(row_messages.DIAGNOSTICS, dict(status))

    @property
    def trouble(self) -> str:
        """What is wrong with the recording; empty for nothing."""
        return self._recorder.trouble if self._recorder is not None else ""

    def status(self) -> dict[str, Any]:
        """For the summary; empty where nothing is recorded."""
        return {} if self._recorder is None else {"recording": self._recorder.status()}
