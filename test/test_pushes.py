"""Robots with legs on MuJoCo's own contacts: pushed, left alone, squatting, and where they fall.

The numbers of 60 s are in docs/floating_base.md.
"""

import json

import numpy as np
import pytest

from projected_control.apps.cli import main
from projected_control.apps.experiments import pushes
from projected_control.apps.experiments.pushes import fate, random_pushes, stand_pushed
from projected_control.control.events import Action, Event
from projected_control.resources import arms_folder
from projected_control.runs.runner import Runner
from projected_control.simulation.mujoco_plant import MujocoPlant

pytest.importorskip("mujoco")

NEEDS_ARMS = pytest.mark.skipif(arms_folder() is None, reason="example-robot-data is missing")


def is_kept(run, creep=pushes.SLIPPED):
    """Whether a run is what the page promises."""
    return not run.fell and run.slip < creep and run.kept >= 0.999 * run.ticks


def test_a_robot_stands_under_pushes_on_ground_that_it_could_slip_on():
    run = stand_pushed("quadruped", 3.0, random_pushes(0))
    assert len(run.pushed) == 2
    assert is_kept(run)
    assert 0.2 < run.used < pushes.KEPT
    assert run.ticks == 2500


def test_alone_it_creeps_no_further_and_squatting_it_follows():
    alone = stand_pushed("quadruped", 1.5, iter(()))
    assert is_kept(alone, 1e-6)
    squat = stand_pushed("quadruped", 2.5, iter(()), squats=True, wrong=1.0)
    assert is_kept(squat)
    assert squat.error < 1e-3
    assert squat.sank > 0.02


def test_a_push_that_is_too_large_is_seen():
    """Twice the weight: it leaves the ground or slips; on 20 % of it nothing happens."""
    assert [fate("quadruped", size, 0.5 * np.pi) > 0 for size in (0.2, 2.0)] == [False, True]


def test_the_controllers_cone_is_what_keeps_the_feet(monkeypatch):
    """A push of 30 % of the weight: without it the feet slide, and the robot falls."""
    push = [(0.6, np.array([0.0, 0.3]))]
    assert is_kept(stand_pushed("quadruped", 1.0, iter(push)))
    monkeypatch.setattr(pushes, "KEPT", 10.0)
    free = stand_pushed("quadruped", 1.0, iter(push))
    assert free.used == pytest.approx(pushes.GROUND)
    assert free.fell


def test_a_foot_touches_its_own_plate_and_no_other():
    runner, feet = pushes.on_ground("quadruped")
    assert isinstance(runner, Runner)
    plant = runner.port.plant
    assert isinstance(plant, MujocoPlant)
    runner.open()
    for _ in range(50):
        runner.step()
    assert plant.touching.shape == (len(feet), 3)
    weight = 9.81 * sum(inertia.mass for inertia in plant.model.arm.pinocchio_model.inertias)
    assert plant.touching[:, 0].sum() == pytest.approx(weight, rel=0.05)


@pytest.mark.parametrize("foot", [0, 3])
def test_ground_that_goes_from_under_a_foot_ends_in_a_stop_that_is_said(foot):
    """No force is felt: it is seen where the foot is off by limits.residual, within 50 ms."""
    runner, _ = pushes.on_ground("quadruped", wrong=1.0)
    model = runner.port.plant.mj_model
    runner.open()
    for _ in range(200):
        runner.step()
    assert runner.loop.report.action is Action.FOLLOW
    balls = np.flatnonzero(model.geom_conaffinity)
    model.geom_conaffinity[balls[foot]] = 0
    for _ in range(50):
        runner.step()
        if runner.loop.report.action is not Action.FOLLOW:
            break
    report = runner.loop.report
    assert report.action is Action.ZERO
    assert report.events & Event.LEFT_CONSTRAINT
    assert not report.effort.any()
    assert "left its constraint" in runner.reason_to_end(report.events)


def test_it_is_reproduced_with_its_seed_and_wrong_robots_are_refused(capsys):
    assert main(["reproduce", "pushes", "--seconds", "1", "--seed", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["robot"], found["seed"]) == ("quadruped", 3)
    assert found["pushed"]["seconds"] == pytest.approx(0.5)
    assert main(["reproduce", "pushes", "--robot", "cow", "--json"]) == 2
    assert "solo12" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    "robot",
    [
        "quadruped",
        pytest.param("solo12", marks=[pytest.mark.peers, NEEDS_ARMS]),
        pytest.param("anymal", marks=[pytest.mark.peers, NEEDS_ARMS]),
    ],
)
def test_a_minute_of_pushes_a_minute_alone_and_squats(robot):
    pushed = stand_pushed(robot, pushes.SECONDS, random_pushes(pushes.SEED))
    assert is_kept(pushed)
    assert len(pushed.pushed) > 40
    assert is_kept(stand_pushed(robot, pushes.SECONDS, iter(())), 5e-4)
    squat = stand_pushed(robot, pushes.SQUATS, iter(()), squats=True, wrong=1.0)
    assert is_kept(squat)
    assert squat.error < 5e-3
