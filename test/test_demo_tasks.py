"""The live page of a demonstration asks it for another task."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from projected_control.apps.commands.demo import OFFERED, _offered
from projected_control.apps.demo.board import Board, DemoLink
from projected_control.apps.demo.nodes_run import Stage
from projected_control.apps.view.browser_commands import Commands
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.settings.nodes import TASKS

TASKS_HERE = {"slider": "A tip on a slider", "seven_joints": "Seven joints wipe"}


def asked(talk: Any) -> Any:
    """What is said between a board and the page's commands."""

    async def run() -> Any:
        board = Board(TASKS_HERE, "slider")
        link = DemoLink(board.far.detach())
        commands = Commands(SimpleNamespace(), True, link)

        async def heard() -> None:
            for _ in range(3):
                await asyncio.sleep(0)

        await heard()
        try:
            return await talk(board, link, commands, heard)
        finally:
            board.close()

    return asyncio.run(run())


def test_the_page_offers_what_needs_no_download():
    args = SimpleNamespace(arm=None)
    assert list(_offered(args, "slider")) == list(OFFERED)
    assert list(_offered(args, "crank")) == ["crank", *OFFERED]
    assert all(not TASKS[name].parts for name in OFFERED)
    assert list(_offered(SimpleNamespace(arm=Path("own.yaml")), "force")) == ["force"]


def test_a_click_asks_for_another_task_once():
    """While it is being started a second click is refused, and so is what runs or is unknown."""

    async def talk(board, link, commands, heard):
        answers = [await commands.do({"ask": "demo", "task": "slider"})]
        answers.append(await commands.do({"ask": "demo", "task": "seven_joints"}))
        answers.append(await commands.do({"ask": "demo", "task": "slider"}))
        wanted = board.wanted(1.0)
        board.switching(wanted)
        await heard()
        answers.append(await commands.do({"ask": "demo", "task": "seven_joints"}))
        board.shown(wanted)
        await heard()
        answers.append(await commands.do({"ask": "demo", "task": "valve"}))
        return wanted, board.wanted(), answers, link.state

    wanted, more, answers, state = asked(talk)
    assert (wanted, more) == ("seven_joints", "")
    assert [answer["ok"] for answer in answers] == [False, True, False, False, False]
    runs, asked_for, early, twice, unknown = answers
    assert runs["reason"] == "slider runs already"
    assert asked_for["text"] == "Seven joints wipe"
    assert early["reason"] == twice["reason"] == "seven_joints is being started: wait until it runs"
    assert (
        "unknown task of the demonstration 'valve'; there are: seven_joints, slider"
        in unknown["reason"]
    )
    assert state == {"tasks": TASKS_HERE, "task": "seven_joints", "switching": "", "trouble": ""}


def test_a_page_that_may_not_send_or_shows_no_demonstration_says_so():
    async def talk(board, link, commands, heard):
        read_only = await Commands(SimpleNamespace(), False, link).do({"ask": "demo", "task": "x"})
        other = await Commands(SimpleNamespace(), True).do({"ask": "demo", "task": "x"})
        return read_only, other, board.wanted()

    read_only, other, wanted = asked(talk)
    assert "--control" in read_only["reason"]
    assert "not one of a demonstration" in other["reason"]
    assert wanted == ""


def test_an_option_that_names_no_socket_is_refused():
    with pytest.raises(InvalidValue, match="--demo 9999 is no socket of a demonstration"):
        DemoLink(9999)


def test_a_page_that_has_ended_asks_for_nothing():
    board = Board(TASKS_HERE, "slider")
    board.far.close()
    assert [board.wanted(0.1) for _ in range(3)] == ["", "", ""]
    board.shown("slider")  # nor is that an error
    board.close()


def run_of(choice: str, interrupted: bool = False) -> Any:
    return SimpleNamespace(choice=choice, interrupted=interrupted)


class Scripted(Stage):
    """Tasks that are shown as a script says: what each is followed by, or why it fails."""

    def __init__(self, tmp_path: Path, script: list[Any]) -> None:
        self.said: list[str] = []
        self.shown: list[tuple[str, str, bool]] = []
        self._script = script
        super().__init__(tmp_path, True, TASKS_HERE, lambda name: None, self.said.append)

    def _show_one(self, choice: str, trouble: str, first: bool) -> Any:
        self.shown.append((choice, trouble, first))
        step = self._script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step


def test_the_report_is_of_the_newest_task_that_was_shown_to_its_end(tmp_path):
    script = [(run_of("slider"), "seven_joints"), (run_of("seven_joints"), "slider"), (None, "")]
    stage = Scripted(tmp_path, script)
    assert stage.show("slider").choice == "seven_joints"
    assert [each[0] for each in stage.shown] == ["slider", "seven_joints", "slider"]
    assert [each[2] for each in stage.shown] == [True, False, False]
    assert stage.said[0] == "The page asks for seven_joints: slider ends."


def test_a_task_that_does_not_start_is_told_of_and_the_one_before_runs_again(tmp_path):
    failed = ProjectedControlError("there is no such arm")
    stage = Scripted(tmp_path, [(run_of("slider"), "seven_joints"), failed, (None, "")])
    assert stage.show("slider").choice == "slider"
    (task, trouble, first) = stage.shown[-1]
    assert (task, first) == ("slider", False)
    assert trouble == "seven_joints was not started: there is no such arm. slider runs again."
    assert trouble in stage.said


def test_where_neither_starts_the_demonstration_ends_with_the_reason(tmp_path):
    steps = [(run_of("slider"), "seven_joints"), InvalidValue("no"), InvalidValue("no again")]
    with pytest.raises(InvalidValue, match="no again"):
        Scripted(tmp_path, steps).show("slider")


def test_an_interrupt_while_it_switches_keeps_the_report_of_what_was_shown(tmp_path):
    steps = [(run_of("slider"), "seven_joints"), KeyboardInterrupt()]
    assert Scripted(tmp_path, steps).show("slider").choice == "slider"
    with pytest.raises(KeyboardInterrupt):
        Scripted(tmp_path, [KeyboardInterrupt()]).show("slider")
