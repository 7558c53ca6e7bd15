"""A demonstration of nodes: started, watched and ended, and other tasks in their place."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from projected_control.apps.console.progress import terminal_progress
from projected_control.apps.demo.board import Board
from projected_control.apps.demo.demo_settings import DemoSettings, in_process, judge_arm
from projected_control.apps.demo.display import live_display
from projected_control.apps.demo.task_run import Series, TaskRun
from projected_control.apps.demo.verdict import judge
from projected_control.apps.fleet.monitor import Monitor, join, refuse_others
from projected_control.apps.fleet.node_processes import Fleet
from projected_control.apps.reports.output import write_files
from projected_control.apps.view.page_process import PageProcess, way_there
from projected_control.errors import ProjectedControlError
from projected_control.ros.neighbours import of_ours
from projected_control.ros.state_topic import RATE
from projected_control.settings.nodes import ARM, WATCHDOG

START_SECONDS = 120.0  # how long the nodes may take to be heard of on a busy computer [s]
SAY_SECONDS = 10.0  # between two words of who is still waited for [s]

LOOK_SECONDS = 0.1  # between two looks at terminal, page and nodes while the page stays [s]
ARRIVE_SECONDS = 10.0  # how long the last messages of a run in lockstep may take to arrive [s]
GONE_SECONDS = 10.0  # how long the nodes of the task before may be heard of [s]

Say = Callable[[str], None]


class NodesRun(NamedTuple):
    """What was seen of a run of nodes."""

    # choice, settings: what ran.
    choice: str
    settings: DemoSettings
    # state, truth: what the controller and the simulated arm told over the time.
    state: Series
    truth: Series
    summary: dict[str, Any]  # what they counted
    twin: TaskRun  # the same run in process
    expected: dict[str, Any]  # what that one counted
    changed: list[str]  # what was changed meanwhile
    ended: str  # why it ended early, in words; empty where it did not
    interrupted: bool  # whether it was ended by Ctrl-C


class Stage:
    """Where tasks are shown one after the other, with one page for all of them.

    Args:
        folder: For logs and parameters.
        quiet: Whether nothing is shown in the terminal.
        tasks: Those that the page offers, by name, each with what it is called; None without page.
        make: Settings of a task by its name.
        say: Tells the user something.
    """

    def __init__(
        self,
        folder: Path,
        quiet: bool,
        tasks: Mapping[str, str] | None,
        make: Callable[[str], DemoSettings],
        say: Say,
    ) -> None:
        self._folder, self._quiet, self._tasks = folder, quiet, tasks
        self._make, self._say = make, say
        self._board: Board | None = None
        self._page: PageProcess | None = None
        self._told = False

    def show(self, choice: str) -> NodesRun:
        """Show a task, and those that the page asks for after it, until the user ends it.

        Returns:
            The run of the newest task that was shown for its whole time.
        """
        if "HOME" not in os.environ:
            os.environ.setdefault("ROS_LOG_DIR", str(self._folder))
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        self._board = None if self._tasks is None else Board(self._tasks, choice)
        done, before, trouble = None, "", ""
        try:
            while True:
                try:
                    run, wanted = self._show_one(choice, trouble, first=not (before or trouble))
                except ProjectedControlError as error:
                    if not before:
                        raise
                    trouble = f"{choice} was not started: {error}. {before} runs again."
                    self._say(trouble)
                    choice, before = before, ""
                    continue
                except KeyboardInterrupt:
                    if done is None:
                        raise
                    break
                if run is not None and (done is None or not run.interrupted):
                    done = run
                if not wanted:
                    break
                before, choice, trouble = choice, wanted, ""
                self._say(f"The page asks for {choice}: {before} ends.")
        finally:
            if self._page is not None:
                with suppress(KeyboardInterrupt):
                    self._page.close()
            if self._board is not None:
                self._board.close()
        if done is None:
            raise KeyboardInterrupt
        return done

    def _show_one(self, choice: str, trouble: str, first: bool) -> tuple[NodesRun | None, str]:
        """Show one task; its run, None where it was left early, and the task to come, if any.

        With the page it goes on after the time is over, until Enter: the run is of that time.
        """
        settings, board, say = self._make(choice), self._board, self._say
        if board is not None and not first:
            board.switching(choice)
        node = settings.case.node
        monitor = join(node, say) if first else Monitor(node)
        monitor.units = settings.units
        fleet, interrupted, wanted, run = Fleet(self._folder, {}), False, "", None
        try:
            if first:
                refuse_others(monitor)
                self._open_page()
            else:
                _let_go(monitor)
            parameters = settings.parameter_file().encode()
            (path,) = write_files(self._folder, {"parameters.yaml": parameters})
            arguments = ["--params-file", str(path.resolve())]
            for each in (node, WATCHDOG):
                fleet.start(each, arguments)
            say("Working out in process what to expect, while the nodes come up …")
            with terminal_progress(sys.stderr) as progress:
                twin, expected = in_process(settings.unrecorded, progress)
            wait_for_controller(monitor, fleet, say)
            if first:
                refuse_others(monitor, (node, WATCHDOG))
            fleet.start(ARM, arguments)
            self._tell_address()

            def begun() -> None:
                if board is not None:
                    board.shown(choice, trouble)

            def asked() -> str:
                return board.wanted() if board is not None else ""

            with live_display(sys.stderr, settings.case.title, self._quiet) as show:
                ended = ""
                try:
                    forgiving = self._page is not None
                    ended, wanted = _watch(settings, fleet, monitor, show, forgiving, begun, asked)
                except KeyboardInterrupt:
                    interrupted = True
                if not wanted:
                    summary = {**monitor.summary(), **judge_arm(settings, monitor.arm_summary())}
            if not wanted:
                seen = monitor.state(), monitor.truth(), summary, twin, expected
                changed = list(monitor.changed)
                run = NodesRun(choice, settings, *seen, changed, ended, interrupted)
                wrong = judge(settings, summary, expected, changed, ended).warning
                if board is not None and wrong:
                    board.shown(choice, wrong)
            if self._page is not None and not interrupted and not wanted:
                over = f"The {settings.seconds:g} s of the report are over"
                say(f"{over}; the page stays. Enter ends it.")
                with suppress(KeyboardInterrupt):
                    if settings.controller.lockstep:
                        monitor.go_on()
                    wanted = _stay(fleet, asked, say)
        finally:
            if wanted and board is not None:
                board.switching(wanted)
            with suppress(KeyboardInterrupt):
                fleet.stop()
            monitor.close()
        return run, wanted

    def _open_page(self) -> None:
        """The live page, which may send: the arm is simulated."""
        if self._board is not None and self._page is None:
            self._page = PageProcess(
                self._folder, dict(os.environ), control=True, browser=True, demo=self._board.far
            )
            self._board.far.close()  # the page has it now

    def _tell_address(self) -> None:
        """Say where the page is; the demonstration goes on where there is none."""
        if self._page is None or self._told:
            return
        self._told = True
        try:
            address = self._page.address()
        except ProjectedControlError as error:
            self._say(f"Without the live page: {error}")
            return
        self._say(f"The arm in a browser, and its gains to change: {address}")
        if hint := way_there(address):
            self._say(hint)


def _let_go(monitor: Monitor) -> None:
    """Wait until the nodes of the task before are heard of no more."""
    began = monotonic()
    while of_ours(monitor.nodes()) and monotonic() - began < GONE_SECONDS:
        monitor.spin(0.05)


def _stay(fleet: Fleet, asked: Callable[[], str], say: Say) -> str:
    """Until Enter, or until the page asks for another task; that one.

    A node that dies meanwhile is told of once.
    """
    told: set[str] = set()
    while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        if wanted := asked():
            return wanted
        for node, reason in fleet.ended().items():
            if node not in told:
                told.add(node)
                say(f"{reason}. The page stays; Enter ends it.")
    sys.stdin.readline()
    return ""


def wait_for_controller(monitor: Monitor, fleet: Fleet, say: Say) -> None:
    """Until the state of a controller that was started would reach us."""
    began = said = monotonic()
    while not monitor.connected():
        monitor.spin(0.05)
        fleet.check()
        waited = monotonic() - began
        if waited > START_SECONDS:
            heard = ", ".join(sorted(monitor.nodes())) or "no nodes at all"
            raise ProjectedControlError(
                f"{monitor.controller} runs, but was not heard of for {START_SECONDS:g} s; "
                f"heard of were {heard}. Look at its log, and whether ROS may use the loopback "
                "interface (projected-control doctor)"
            )
        if monotonic() - said > SAY_SECONDS:
            said = monotonic()
            say(f"Still waiting for {monitor.controller}, for {waited:.0f} s now …")


def _watch(
    settings: DemoSettings,
    fleet: Fleet,
    monitor: Monitor,
    show: Callable[[Monitor, float], None],
    forgiving: bool,
    begun: Callable[[], None],
    asked: Callable[[], str],
) -> tuple[str, str]:
    """Until the simulated time is over; or until the user has stopped it, where that may be.

    Args:
        settings, fleet, monitor: What runs.
        show: Shows how far it is.
        forgiving: Whether the user may stop it.
        begun: Called with the first state.
        asked: Gives the task that the page asks for.

    Returns:
        Why it ended early, in words, nothing where it did not; and the task that is to come.
    """
    began = monotonic()
    start: float | None = None
    while True:
        monitor.spin(0.1)
        fleet.check()
        level, message, values = monitor.diagnostics.get(settings.case.node, (0, "", {}))
        stopped = values.get("state") == "inactive" and start is not None
        if forgiving and (stopped or (level == 2 and start is not None)):
            return f"{settings.case.node} went inactive: {message or 'it was told to'}", ""
        if level == 2:
            raise ProjectedControlError(f"{settings.case.node}: {message}")
        if start is None:
            if monitor.time > 0.0:
                start = 0.0 if settings.controller.lockstep else monitor.time
                begun()
            elif monotonic() - began > START_SECONDS:
                reason = message or fleet.tail(settings.case.node)
                raise ProjectedControlError(f"the controller did not start: {reason}")
            continue
        if wanted := asked():
            return "", wanted
        done = (monitor.time - start) / settings.seconds
        show(monitor, done)
        if settings.controller.lockstep:
            if done > 0.9 and monitor.summary()["ticks"] >= settings.ticks:
                _let_arrive(settings, monitor)
                return "", ""
        elif done >= 1.0:
            return "", ""


def _let_arrive(settings: DemoSettings, monitor: Monitor) -> None:
    """The last messages of a run in lockstep: what was sent comes, on a busy computer later."""
    last = settings.seconds - 2.0 / min(settings.controller.state_rate, RATE)
    began = monotonic()
    while min(monitor.time, monitor.true_time) < last:
        if monotonic() - began > ARRIVE_SECONDS:
            raise ProjectedControlError(
                f"of {settings.seconds:g} s the controller told {monitor.time:g} s and the "
                f"simulated arm {monitor.true_time:g} s, and nothing more came for "
                f"{ARRIVE_SECONDS:g} s; is the computer very busy? Try once more"
            )
        monitor.spin(0.05)
