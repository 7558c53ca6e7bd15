"""Tuning: what is measured is what is there, and what is proposed keeps its margins."""

from __future__ import annotations

import json
from contextlib import closing

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra apps is not installed")

from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from projected_control.apps.cli import main
from projected_control.apps.sweeps.local_pool import LocalPool
from projected_control.apps.tuning.choice import GAIN_MARGIN, best_force, force_choices
from projected_control.apps.tuning.measure import measure
from projected_control.apps.tuning.trials import (
    FORCE_PUSH,
    FORCE_STEP,
    MOTION_STEP,
    Response,
    Rig,
    Trial,
    Trials,
)
from projected_control.control.force import ForceGains
from projected_control.control.gains import MotionGains
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE


def settings(delay: int, **more: object) -> Layers:
    """The demo's arm with so many samples from effort to force."""
    values = {
        "motor.delay": delay - 1,
        "force.delay": delay,
        "force.proportional": 0.3,
        "force.cutoff": 20.0,
        "reference.approach": True,
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    layers = Layers.read([share_file("config", "three_link_slider.yaml")], "paper")
    return layers.on_top(values, "test")


def rig_of(layers: Layers) -> Rig:
    return Rig(FORCE, layers.controller(FORCE), layers.arm())


ENGINES = ("built_in", "mujoco")


def on(engine: str) -> dict[str, object]:
    """Changes for an arm in this engine; skips where it is not installed."""
    if engine == "mujoco":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    return {"simulation__engine": engine}


@pytest.mark.parametrize(("delay", "engine"), [(1, "built_in"), (4, "built_in"), (4, "mujoco")])
def test_noise_delay_and_friction_are_those_of_the_arm(delay, engine):
    parts = {"sensor__noise": 0.05, "friction__coulomb": [0.06], "friction__viscous": [0.03]}
    layers = settings(delay, **parts, **on(engine))
    run = rig_of(layers).exciting_run(3.0)
    found = measure(run, build.build_model(layers.controller(FORCE)))
    assert found.delay == delay
    assert found.force_noise == pytest.approx(0.05, rel=0.2)
    assert found.coulomb == pytest.approx([0.06] * 3, rel=0.1)
    assert found.viscous == pytest.approx([0.03] * 3, rel=0.3)
    assert found.velocity_noise.max() < 1e-4
    assert found.remarks == []


def test_what_the_run_does_not_show_is_said():
    layers = settings(2, reference__kind="hold")
    rig = rig_of(layers)
    run = rig.exciting_run(1.0)
    rows = run.rows
    at, _ = run.columns["effort"]
    rows[:, at : at + 3] = rows[0, at : at + 3]  # an effort that never changes
    found = measure(run, build.build_model(layers.controller(FORCE)))
    assert found.delay is None
    assert "not seen" in " ".join(found.remarks)


@settings_of_hypothesis(max_examples=10)
@given(st.integers(1, 12), st.floats(0.0, 1.0))
def test_every_filter_gets_gains_with_the_margin_that_is_wanted(delay, noise):
    choices = force_choices(delay, noise, 1e-3)
    for choice in choices:
        loop = choice.gains.loop(1e-3)
        assert loop.stable
        assert choice.margin >= 0.95 * GAIN_MARGIN
        assert choice.margin == pytest.approx(loop.gain_margin)
    gains = [choice.gains.proportional for choice in choices]
    assert gains == sorted(gains)  # a slower filter allows more
    assert best_force(choices) in choices


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_and_pushes_on_the_simulated_arm_are_what_the_loop_says(engine):
    rig = rig_of(settings(1, **on(engine)))
    omega = 20.0
    rig.put(MotionGains(omega**2, 2.0 * omega), ForceGains(0.5, 10.0, None))
    step = rig.motion_step(seconds=0.5)
    expected = 1.0 - (1.0 + omega * step.times) * np.exp(-omega * step.times)
    np.testing.assert_allclose(
        step.values, expected, atol=0.03
    )  # critically damped, one sample late
    assert step.stable
    push = rig.force_push(seconds=0.5)
    late = push.values[20]  # 1/(1 + G_F) is left at once
    assert late == pytest.approx(0.5 / 1.5, abs=0.1)
    assert push.values[-1] > 0.95  # and the integral takes the rest
    assert rig.force_step(0.1).values[-1] == pytest.approx(1.0, abs=0.02)


def test_a_stiffness_beyond_the_bound_is_seen_to_diverge():
    rig = rig_of(settings(3))
    rig.put(MotionGains(4.0e5, 2.0 * np.sqrt(4.0e5)))
    assert not rig.motion_step(seconds=0.5).stable
    rig.put(MotionGains(400.0, 40.0))
    assert rig.motion_step(seconds=0.5).stable


def test_a_trial_is_the_same_whatever_was_made_before_it():
    """So that it does not matter which worker makes it."""
    layers = settings(2, sensor__noise=0.05)
    wanted = [
        Trial(MOTION_STEP, MotionGains(400.0, 40.0)),
        Trial(FORCE_STEP, MotionGains(900.0, 60.0), ForceGains(0.4, 5.0, 30.0, 2)),
        Trial(FORCE_PUSH, MotionGains(900.0, 60.0), ForceGains(0.4, 5.0, 30.0, 2)),
        Trial(MOTION_STEP, MotionGains(400.0, 40.0), coordinate=1),
    ]
    rig = rig_of(layers)
    ones = [rig_of(layers).make(trial) for trial in wanted]
    for trial, one in list(zip(wanted, ones, strict=True))[::-1]:
        np.testing.assert_array_equal(rig.make(trial).values, one.values)
    with closing(LocalPool(2)) as pool:
        for one, two in zip(ones, Trials(rig, pool)(wanted), strict=True):
            np.testing.assert_array_equal(one.values, two.values)


def test_a_response_knows_its_numbers():
    times = 1e-3 * np.arange(1000)
    values = 1.0 - np.exp(-times / 0.05)
    response = Response(times, values, 0.0)
    assert response.rise == pytest.approx(0.05 * np.log(10.0), abs=2e-3)
    assert response.settling == pytest.approx(0.05 * np.log(20.0), abs=8e-3)
    assert response.overshoot == 0.0
    assert response.stable
    swinging = Response(times, 1.0 - np.cos(200.0 * times) * np.exp(2.0 * times), 0.0)
    assert not swinging.stable
    ended = Response(times[:0], values[:0], 0.0, "it flew away")
    assert not ended.stable
    assert np.isnan([ended.rise, ended.settling]).all()


@pytest.mark.long
def test_the_command_measures_proposes_and_sends_nothing(tmp_path, capsys):
    arguments = ["tune", str(share_file("config", "three_link_slider.yaml")), "--preset", "paper"]
    values = ["motor.delay:=2", "force.delay:=3", "force.proportional:=0.5", "force.cutoff:=20.0"]
    arguments += [word for value in values for word in ("--set", value)]
    assert main([*arguments, "--out", str(tmp_path), "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["measured"]["delay"] == 3
    assert numbers["applied"] is False
    assert numbers["proposed"]["bandwidth_margin"] == pytest.approx(2.0, rel=0.01)
    assert numbers["proposed"]["gain_margin"] > 1.9
    assert numbers["proposed"]["motion_step"]["stable"]
    written = Layers.read([share_file("config", "three_link_slider.yaml"), tmp_path / "tuned.yaml"])
    controller = written.controller(FORCE)
    assert controller.gains.stiffness == tuple(numbers["parameters"]["gains.stiffness"])
    build.build_loop(FORCE, controller)  # what is proposed is accepted
