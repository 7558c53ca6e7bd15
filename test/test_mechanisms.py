"""The closed mechanisms: residuals, passive joints, tracking, internal force, rows that repeat."""

import numpy as np
import pytest

from projected_control.apps.demo.case import settings_for
from projected_control.apps.launch import choices
from projected_control.control.references import ReferencePoint
from projected_control.errors import UnknownName
from projected_control.ports import run
from projected_control.settings import build
from projected_control.settings.nodes import TASKS

NEW = ("five_bar", "four_bar_3d", "hitch", "two_arms")
ROWS = {"five_bar": (2, 2), "four_bar_3d": (5, 2), "hitch": (4, 4), "two_arms": (6, 6)}


def started(task, seconds=2.0):
    settings = settings_for(task, seconds, "paper", True, {})
    arm = build.build_plant(settings.arm)
    loop = build.build_loop(settings.case.node, settings.controller)
    state = arm.read()
    loop.controller.hold(state.q, state.v)
    model = loop.controller.model
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    loop.set_reference(build.build_reference(settings.controller, here, 0.0))
    return settings, loop, arm


@pytest.mark.parametrize("task", NEW)
def test_a_mechanism_follows_its_reference_on_its_constraint(task):
    """Residual below 1e-9, no torque at all on passive joints, the reference to 0.2 mm or mrad."""
    settings, loop, arm = started(task)
    passive = np.flatnonzero(loop.controller.model.arm.actuated == 0.0)
    worst, sent = [], []

    def look(number, tick):
        worst.append(np.abs(tick.controller.error[0]).max())
        sent.append(np.abs(tick.report.effort[passive]).max(initial=0.0))

    run(loop, arm, settings.ticks, look)
    assert loop.report.events == 0
    assert (loop.controller.model.m, loop.controller.model.rank) == ROWS[task]
    assert arm.plant.state.residual < 1e-9
    assert max(sent) == 0.0
    assert max(worst) < 2e-4


def test_two_arms_hold_the_internal_force():
    settings, loop, arm = started("two_arms", 3.0)
    run(loop, arm, settings.ticks)
    names = loop.controller.model.constraint.row_names
    assert arm.plant.state.multipliers[names.index("grip.ty")] == pytest.approx(-10.0, abs=0.2)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_in_launch_arguments_stands_for_arm_and_controller(task):
    """Whatever controller:= says, and every node's settings are complete and sound."""
    given = {"task": task, "controller": "force", "arm": "auto", "preset": "paper"}
    chosen = choices.choose({**given, "friction": "false"})
    assert chosen.case is TASKS[task]
    assert set(chosen.joints) == set(build.build_arm(chosen.layers.arm()).joint_names)
    assert choices.require_sound(chosen, chosen.settings(chosen.case.node, {})) is not None


def test_an_unknown_task_in_launch_arguments_is_refused_with_the_known():
    given = {"task": "six_bar", "controller": "force", "arm": "auto", "preset": "paper"}
    with pytest.raises(UnknownName, match=r"unknown task 'six_bar'; there are: .*five_bar"):
        choices.choose({**given, "friction": "false"})


def test_tasks_are_the_mechanisms_with_a_description_and_a_file():
    assert set(TASKS) == {"slider", "crank", *NEW}
