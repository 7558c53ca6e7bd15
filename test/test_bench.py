"""The measurements: what they report, that they measure what they say, and when they fail."""

import json
import math
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from quiet import TooLate

from projected_control.apps import bench, cli
from projected_control.apps.bench import faults, simulation, tick
from projected_control.apps.bench.tick_cases import CASES, spatial_arm
from projected_control.apps.bench.timing import TICKS, Timing, record
from projected_control.compiled import COMPILED
from projected_control.control.guard import Action
from projected_control.ports import run

ANY = ("--bound", "1e9")
"""No clock is judged."""


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
    assert cli.main(["bench", "tick", "--json", "--seconds", "0.05", *ANY]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["compiled"] is COMPILED
    assert numbers["within_bound"] is True
    found = [(case["joints"], case["rows"], case["law"]) for case in numbers["cases"]]
    assert found == [(3, 1, "hybrid"), (3, 1, "passive"), (7, 3, "hybrid"), (7, 3, "passive")]
    for case in numbers["cases"]:
        assert 0.0 < case["pinocchio_us"] < case["p50_us"] <= case["p99_us"]
        assert math.isfinite(case["ratio"])
        assert case["ratio"] == pytest.approx(case["p50_us"] / case["pinocchio_us"], rel=0.01)


def test_table_says_whether_the_bound_is_met(capsys):
    assert cli.main(["bench", "tick", "--seconds", "0.01", *ANY]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1 + len(CASES) + 1
    assert "At most 1e+09 times Pinocchio alone: met;" in out
    quick, slow = (Timing(CASES[0], us, us, 2.0, 1) for us in (9.0, 11.0))
    assert ": met;" in tick._verdict([quick], 5.0, True)
    assert "not met (is the computer busy?" in tick._verdict([quick, slow], 5.0, True)
    assert "install numba" in tick._verdict([slow], 5.0, False)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_bound_that_nothing_meets_is_missed(capsys, arguments):
    """Exit status 1, and a sentence for each case on standard error."""
    impossible = ["--bound", "0.001"]
    assert cli.main(["bench", "tick", "--seconds", "0.01", *impossible, *arguments]) == 1
    out, err = capsys.readouterr()
    assert err.count("bound missed: a tick of the ") == len(CASES)
    assert "7 joints took" in err
    assert "it may take 0.001 times that" in err
    if arguments:
        assert json.loads(out)["within_bound"] is False
    else:
        assert "not met" in out


@pytest.mark.quiet
@pytest.mark.skipif(not COMPILED, reason="the bound is one of compiled kernels")
def test_the_documented_bound_of_a_tick(capsys):
    if cli.main(["bench", "tick", "--seconds", "0.5"]) != 0:
        raise TooLate(capsys.readouterr().err)


def test_faults_are_missed_in_words():
    killed = faults.FAULTS["controller_killed"]
    times = [(0.011, ""), (0.019, ""), (0.012, "")]
    good = faults.summary(killed, times)
    assert (good["p50_ms"], good["max_ms"]) == pytest.approx((12.0, 19.0))
    assert faults.missed({"controller_killed": good}) == []
    (late,) = faults.missed({"controller_killed": faults.summary(killed, times, 0.018)})
    assert late == "controller killed with -9: zeros on the wire after 19.0 ms; it may be 18 ms"
    never = faults.summary(killed, [*times, (math.nan, "")])
    (none,) = faults.missed({"controller_killed": never})
    assert none == "controller killed with -9: zeros on the wire only 3 of 4 times"
    arm = faults.FAULTS["arm_killed"]
    assert faults.summary(arm, [(0.7, "no joint state")], 0.018)["within_bound"]
    assert not faults.summary(arm, [(0.9, "no joint state")], 0.018)["within_bound"]


def test_every_fault_is_provoked_and_shown():
    """With a scene that says what was asked of it: each fault does something of its own."""

    class Scene:
        controller, watchdog, arm = "controller", "watchdog", "arm"

        def kill(self, node):
            return f"kill {node}"

        def hang(self, node):
            return f"hang {node}"

        def silence(self, act):
            return 0.0, act(self.controller)

        def inactive(self, act, node):
            return 0.0, act(node)

        def interfere(self, torque):
            return 0.0, f"send {torque}"

        def without_anybody(self):
            return 0.0, "kill both"

    done = {name: faults.provoke(Scene(), name)[1] for name in faults.FAULTS}
    assert len(set(done.values())) == len(done)
    assert done["watchdog_hung"] == "hang watchdog"
    rows = {name: faults.summary(fault, [(0.01, "why")]) for name, fault in faults.FAULTS.items()}
    shown = faults.table(rows)
    for fault in faults.FAULTS.values():
        assert fault.title in shown


def test_measurements_are_subcommands():
    """Every module with the two functions of a measurement is one, and no other."""
    found = {
        module.name
        for module in iter_modules(bench.__path__)
        if "def add_parser" in (Path(bench.__path__[0]) / f"{module.name}.py").read_text()
    }
    assert found == set(bench.MEASUREMENTS)
    for name in bench.MEASUREMENTS:
        arguments = cli.parser().parse_args(["bench", name])
        assert arguments.measure is import_module(f"{bench.__name__}.{name}").run


def test_simulation_reports_as_json(capsys):
    status = cli.main(["bench", "simulation", "--seconds", "0.01", "--bound", "1e-9", "--json"])
    numbers = json.loads(capsys.readouterr().out)
    assert status == 0
    assert numbers["within_bound"]
    assert [case["joints"] for case in numbers["cases"]] == [3, 7]
    for case in numbers["cases"]:
        assert set(case) >= {"arm", "joints", "engine", "times_real_time"}
        assert case["engine"] == ("numba" if COMPILED else "numpy")
        assert case["ticks"] >= simulation.CHUNK
        assert case["times_real_time"] > 0.0


def test_a_simulation_that_is_too_slow_fails(capsys):
    status = cli.main(["bench", "simulation", "--seconds", "0.01", "--bound", "1e9"])
    captured = capsys.readouterr()
    assert status == bench.EXIT_MISSED
    assert "bound missed: a closed loop with 3 joints went" in captured.err
    assert "7 joints" not in captured.err
    assert "times real time" in captured.out
