"""The closed mechanisms: residuals, passive joints, tracking, internal force, rows that repeat."""

import numpy as np
import pytest

from projected_control import Runner, run
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.launch import choices
from projected_control.control.events import Event
from projected_control.control.references import ReferencePoint
from projected_control.errors import UnknownName
from projected_control.native.library import reason_against
from projected_control.native.simulation import NativeSimulation
from projected_control.resources import arms_folder
from projected_control.settings import build
from projected_control.settings.nodes import TASKS

REAL = ("wipe", "wipe_sphere", "drawer", "valve")
"""Tasks on arms of the extra ``arms``; see test_tasks.py."""

CONTACTS = ("wipe_edge", "drawer_stop", "peg", "push")
"""Tasks with contacts that come and go; see test_contact_tasks.py."""

NEW = ("five_bar", "four_bar_3d", "hitch", "two_arms")
ROWS = {"five_bar": (2, 2), "four_bar_3d": (5, 2), "hitch": (4, 4), "two_arms": (6, 6)}


def started(task, seconds=2.0, **overrides):
    settings = settings_for(task, seconds, "paper", True, overrides)
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


@pytest.mark.peers
@pytest.mark.parametrize("task", TASKS)
def test_a_task_in_launch_arguments_stands_for_arm_and_controller(task):
    """Whatever controller:= says, and every node's settings are complete and sound."""
    if TASKS[task].needs_arms and arms_folder() is None:
        pytest.skip("example-robot-data is missing: pip install 'projected_control[arms]'")
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
    assert set(TASKS) == {"slider", "crank", "seven_joints", *NEW, *CONTACTS, *REAL}


def goes_on(loop, arm, events):
    """A run that goes on with each call, so many ticks, in C++ if it can: the largest ‖Φ‖."""
    runner = Runner(loop, arm)
    runner.open()

    def step_by_step(ticks):
        largest = 0.0
        for _ in range(ticks):
            runner.step()
            events.add(int(loop.report.events))
            largest = max(largest, arm.truth.residual)
        assert runner.lost == ""
        return largest

    if reason_against():
        return step_by_step
    simulation = NativeSimulation(loop, arm)

    def at_once(ticks):
        record = simulation.run(ticks)
        assert (record.failure, len(record.rows.kept)) == ("", ticks)
        events.update(record.rows.column("events").astype(int).ravel().tolist())
        return record.rows.column("true_residual").max()

    return at_once


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("task", NEW)
def test_the_residual_stays_bounded_over_a_million_ticks(task):
    """‖Φ‖ grows by rounding to 1e-12, where the plant corrects it, and so on: never above 2e-12.

    Two arms have five directions more than coordinates. Their posture holds them there: damped only
    they drift, and after some 300 s a joint is at its limit.
    """
    overrides = {"force.source": "model"} if task == "two_arms" else {}
    _, loop, arm = started(task, 1000.0, **overrides)
    arm.sensor = None  # its wrench would be computed in Python, in every tick
    events = set()
    go_on = goes_on(loop, arm, events)
    largest = [go_on(50_000) for _ in range(20)]
    assert arm.plant.time == pytest.approx(1000.0)
    assert max(largest) < 2e-12
    start = Event.RATE_LIMITED if task == "two_arms" else Event.NONE
    assert [event for event in events if event & ~int(start)] == []
