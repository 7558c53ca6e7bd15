"""The table "Wrong inputs" of docs/howto/refused.md: each is provoked, and says its sentence.

A row is one line: what is wrong, refused or stopped, the sentence with … for what is filled in. A
function here with the same words provokes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_urdf, slider_model

from projected_control import Runner, SimulatedArm
from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.activation import require_start
from projected_control.control.events import Action
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import ProjectedControlError
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning import assemble
from projected_control.ros.console import GuardConsole
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import FORCE, MOTION, checked_controller, own_values
from projected_control.settings.real_arms import require_said
from projected_control.simulation import Plant

ROOT = Path(__file__).parents[1]
PAGE, HEADING = ROOT / "docs" / "howto" / "refused.md", "## Wrong inputs"
START = [-3.0, 2.0, 1.0]
TOLERANCE = 0.005
REFUSED, STOPPED = "refused", "stopped"


def rows() -> list[tuple[str, str, str]]:
    section = PAGE.read_text(encoding="utf-8").partition(HEADING + "\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(what, answer, sentence.strip("`")) for what, answer, sentence in cells]


def settings(node: str = MOTION, arm: str = "three_link_slider", **changes: Any) -> Any:
    """Of an arm's file; names of changes with __ for dots."""
    values = read_parameter_file(ROOT / "config" / f"{arm}.yaml")
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return checked_controller(node, own_values(node, values))


def starts(q: np.ndarray, **changes: Any) -> None:
    """A controller is told to start where the arm says it is."""
    require_start(build.build_loop(MOTION, settings(**changes)), np.asarray(q), TOLERANCE)


def on_the_slider() -> np.ndarray:
    model = slider_model()
    return assemble(model.arm, model.constraint, START)


PROVOKED: dict[str, Callable[[], Any]] = {}


def wrong(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def keep(function: Callable[[], Any]) -> Callable[[], Any]:
        PROVOKED[name] = function
        return function

    return keep


@wrong("sign: a gain is negative")
def _() -> None:
    settings(gains__stiffness=[-480.0])


@wrong("sign: the arm counts a joint the other way")
def _() -> None:
    starts(on_the_slider() * [1.0, -1.0, 1.0])


@wrong("unit: the arm reports degrees")
def _() -> None:
    starts(np.rad2deg(on_the_slider()))


@wrong("unit: a point of the constraint in millimetres")
def _() -> None:
    starts(on_the_slider(), constraint__point=[0.0, -270.0, 0.0])


@wrong("frame: a link that the arm does not have")
def _() -> None:
    build.build_loop(MOTION, settings(constraint__frame="tool0"))


@wrong("frame: a wrench in axes that the arm does not have")
def _() -> None:
    loop, arm = pressing(1.0)
    arm.wrench_frame = "ft_sensor"
    Runner(loop, arm).open()


@wrong("relative taken for absolute")
def _() -> None:
    """A centimetre, sent as a position, on a real arm."""
    real = settings(hardware="ros2_control", limits__velocity=[5.0], limits__effort=[10.0])
    q = on_the_slider()
    model = build.build_model(real)
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    place[0] = 0.01
    build.build_way_check(MOTION, real).require(Constant(place), q, 0.0, bounded=True)


@wrong("missing mass")
def _() -> None:
    urdf = re.sub(
        r'(<link name="link_4">)<inertial>.*?</inertial>', r"\1", random_urdf(3, 7), count=1
    )
    free = {"constraint.kind": "none", "coordinates": ["joint_1"], "robot_description": urdf}
    loop = build.build_loop(MOTION, checked_controller(MOTION, free))
    require_start(loop, np.full(7, 0.4), TOLERANCE)


@wrong("doubled gravity: of a real arm it is not said who carries the weight")
def _() -> None:
    require_said(settings(hardware="plugin"))


@wrong("raised limits")
def _() -> None:
    build.build_loop(MOTION, settings(limits__effort=[1000.0]))


@wrong("unit: limits of the joints in degrees")
def _() -> None:
    build.build_loop(MOTION, settings(arm="seven_joints", limits__upper=[170.0]))


@wrong("reversed wrench")
def _() -> str:
    """What a node would write on its console."""
    loop, arm = pressing(-1.0)
    console = GuardConsole()
    runner = Runner(loop, arm)
    runner.run(200, lambda _, tick: console.noticed(tick.report, tick.state.stamp))
    assert runner.report.action is Action.STOP
    return "\n".join(console.lines(0.0))


@wrong("renamed joints")
def _() -> None:
    build.build_loop(MOTION, settings(joints=["shoulder", "joint_2", "joint_3"]))


class Reversed(SimulatedArm):
    """An arm whose sensor has a sign of its own."""

    sign = 1.0

    def read(self) -> Any:
        state = super().read()
        return state._replace(wrench=self.sign * state.wrench)


def pressing(sign: float) -> tuple[ControlLoop, Reversed]:
    """A slider that is pressed on with 10 N."""
    model = slider_model()
    q = on_the_slider()
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains())
    loop = ControlLoop(controller, Constant(place), force_reference=Constant([10.0]))
    arm = Reversed(Plant(ConstrainedArm(model.arm.twin(), model.constraint)), q)
    arm.sign = sign
    return loop, arm


@pytest.mark.parametrize(("what", "answer", "sentence"), rows(), ids=[row[0] for row in rows()])
def test_a_wrong_input_is_refused_or_stopped_with_its_sentence(what, answer, sentence) -> None:
    pattern = ".*".join(re.escape(part.strip()) for part in sentence.split("…"))
    if answer == REFUSED:
        with pytest.raises(ProjectedControlError) as refused:
            PROVOKED[what]()
        said = str(refused.value)
    else:
        assert answer == STOPPED
        said = PROVOKED[what]()
    assert re.search(pattern, said, re.DOTALL), said


def test_every_wrong_input_has_a_row() -> None:
    assert {row[0] for row in rows()} == set(PROVOKED)


def test_the_right_inputs_are_taken() -> None:
    """What the wrong ones are made of is well by itself."""
    starts(on_the_slider())
    loop, arm = pressing(1.0)
    runner = Runner(loop, arm)
    runner.open()
    assert {runner.step().report.action for _ in range(60)} == {Action.FOLLOW}
    build.build_loop(FORCE, settings(FORCE, arm="seven_joints"))
