"""Motors that are too weak, in closed loop: force and path are kept, and the path waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from projected_control.apps.demo.task_run import run_task
from projected_control.apps.experiments import Options, run_experiment
from projected_control.control.kept_state import limits_text
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import PASSIVE

CONFIG = Path(__file__).parents[1] / "config"


@pytest.mark.parametrize("seconds", [2.0, pytest.param(10.0, marks=pytest.mark.long)])
def test_a_wipe_keeps_its_force_and_its_path_waits_where_clipping_loses_both(seconds):
    """10 N within 1 %, the tool within 5 mm; motors that clip lose 5 N and 5 cm."""
    numbers = run_experiment("weak-motors", Options(seconds=seconds)).numbers
    solved, clipped = numbers["solved"], numbers["clipped"]
    assert solved["force_error_max"] < 0.1
    assert solved["path_error_max"] < 5e-3
    assert 0.05 < solved["path_lag"] < 0.5 * seconds
    assert clipped["force_error_max"] > 1.0
    assert clipped["path_error_max"] > 0.05


def test_a_five_bar_with_two_motors_waits_and_says_why():
    """Its torque is unique: 15 % less than its peak (1.5 Hz) leaves it nothing but to be slower."""
    fast = {"reference.frequency": [1.5, 1.5]}
    layers = Layers.read([CONFIG / "five_bar.yaml"], "paper").on_top(fast, "test")
    settings = layers.controller(PASSIVE), layers.arm()
    free = run_task(PASSIVE, *settings, 1500)
    peak = np.abs(free.kept.column("effort"))[20:].max(axis=0)
    weak = np.where(peak > 1e-9, 0.85 * peak, 10.0)

    def weaken(loop, arm):
        loop.guard.set_limits(replace(loop.guard.limits, effort=weak))

    run = run_task(PASSIVE, *settings, 6000, weaken)
    part = run.kept.column
    assert (np.abs(part("effort")) <= weak).all()
    assert not part("effort")[:, [1, 3]].any()  # the elbows have no motor
    late = part("stamp") > 4.0
    assert np.abs(part("error")[late]).max() < 2e-4
    assert 0.5 < part("path_rate")[late].mean() < 0.95
    assert part("path_lag")[-1] > 0.5
    first = int(np.flatnonzero(part("motion_share") < 1.0)[0])
    model = run.loop.controller.model
    bound = part("binds")[first], part("ceiling_binds")[first], part("motion_share")[first]
    words = limits_text(model.arm.joint_names, model.constraint.row_names, *bound)
    assert words.startswith("torque of ")
    assert "motor, motion at " in words
