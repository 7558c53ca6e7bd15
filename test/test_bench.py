"""The measurements: what they report, and that they measure what they say. No clock is judged."""

import json
import math

import numpy as np
import pytest

from projected_control.apps import cli
from projected_control.apps.bench import MEASUREMENTS, tick
from projected_control.apps.bench.tick_cases import CASES, spatial_arm
from projected_control.apps.bench.timing import TICKS, Timing, record
from projected_control.compiled import COMPILED
from projected_control.control.guard import Action
from projected_control.ports import run


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.joints}-{case.law}")
def test_cases_are_as_named_and_run_undisturbed(case):
    loop, hardware = case.build()
    statistics = run(loop, hardware, TICKS)
    model = loop.controller.model
    assert (model.n, model.m, model.rank) == (case.joints, case.rows, case.rows)
    assert model.k == model.free_directions
    assert (loop.controller.margins > 0.1).all()
    assert set(statistics.actions) == {Action.FOLLOW}
    assert statistics.events == {}
    assert len(model.arm.passive) == (case.rows if case.law == "passive" else 0)
    assert np.abs(loop.controller.error[0]).max() < 0.02  # on its way: it began at 0.05


def test_a_replay_gives_the_same_efforts():
    loop, hardware = CASES[0].build()
    efforts = []
    run(loop, hardware, 20, lambda _, step: efforts.append(step.report.effort.copy()))
    states = record(loop, hardware)[:20]
    loop.begin(states[0])
    for state, effort in zip(states, efforts, strict=True):
        np.testing.assert_array_equal(loop.update(state).effort, effort)


def test_the_spatial_arm_is_spatial():
    arm = spatial_arm(())
    assert arm.n == 7
    tip = arm.update(np.full(7, 0.3), np.zeros(7)).frame("tip")
    assert np.linalg.matrix_rank(tip.jacobian) == 6


def test_json(capsys):
    assert cli.main(["bench", "tick", "--json", "--seconds", "0.05"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["compiled"] is COMPILED
    found = [(case["joints"], case["rows"], case["law"]) for case in numbers["cases"]]
    assert found == [(3, 1, "hybrid"), (3, 1, "passive"), (7, 3, "hybrid"), (7, 3, "passive")]
    for case in numbers["cases"]:
        assert 0.0 < case["pinocchio_us"] < case["p50_us"] <= case["p99_us"]
        assert math.isfinite(case["ratio"])
        assert case["ratio"] == pytest.approx(case["p50_us"] / case["pinocchio_us"], rel=0.01)


def test_table_says_whether_the_bound_is_met(capsys):
    assert cli.main(["bench", "tick", "--seconds", "0.01"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1 + len(CASES) + 1
    assert "At most 5 times Pinocchio alone" in out
    quick, slow = (Timing(CASES[0], us, us, 2.0, 1) for us in (9.0, 11.0))
    assert ": met;" in tick._verdict([quick], True)
    assert "not met (is the computer busy?" in tick._verdict([quick, slow], True)
    assert "install numba" in tick._verdict([slow], False)


def test_measurements_are_subcommands():
    assert "tick" in MEASUREMENTS
