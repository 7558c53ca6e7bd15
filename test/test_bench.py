"""The measurements: what they report, that they measure what they say, and when they fail."""

import json
import math
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from quiet import TooLate, within

from projected_control import run
from projected_control.apps import bench, cli
from projected_control.apps.bench import faults, peers, realtime, simulation, tick, tick_cases
from projected_control.apps.bench.five_bar import five_bar_loop
from projected_control.apps.bench.limit_timing import ContactTiming, LimitTiming
from projected_control.apps.bench.tick_cases import (
    CASES,
    GROWTH,
    HUMANOID,
    LARGE,
    LEGGED,
    MECHANISMS,
    TASK_LAWS,
    ContactCase,
    LimitCase,
    spatial_arm,
)
from projected_control.apps.bench.tick_timing import TICKS, ColdTiming, TickTiming, record
from projected_control.compiled import COMPILED
from projected_control.control.contact import FRICTION
from projected_control.control.events import Action, Event
from projected_control.errors import SimulationFailed
from projected_control.model.friction_cone import cone_rows
from projected_control.native.library import reason_against
from projected_control.resources import arms_folder

ANY = ("--bound", "1e9", "--native-bound", "1e9", "--call-bound", "1e9")
"""No clock is judged."""

NATIVE = not reason_against()
TRIES = 5  # of a clock that is judged
HUMANOIDS = () if arms_folder() is None else (HUMANOID,)
WALKERS = LEGGED[:1] if arms_folder() is None else LEGGED
ENGINES = ("python" if COMPILED else "numpy", *(["native"] if NATIVE else []))


def timed_ticks():
    """Cases in their order, once per engine; those with thirty joints and more in C++ alone."""
    cases = (*CASES, *TASK_LAWS, *MECHANISMS, LARGE, *GROWTH, *HUMANOIDS, *WALKERS)
    return [
        (case.joints, case.rows, case.law)
        for case in cases
        for engine in ENGINES
        if engine == "native" or case.joints < 30 or not NATIVE
    ]


@pytest.mark.parametrize(
    "case", [*CASES, *TASK_LAWS, *GROWTH, *HUMANOIDS], ids=lambda case: f"{case.robot}-{case.law}"
)
def test_cases_are_as_named_and_run_undisturbed(case):
    loop, hardware = case.build()
    statistics = run(loop, hardware, TICKS)
    model = loop.controller.model
    assert (model.n, model.m, model.rank) == (case.joints, case.rows, case.rows)
    if case.law != "selection":  # which does not know of the constraint
        assert model.k == model.free_directions
        assert (loop.controller.margins > 0.1).all()
    assert set(statistics.actions) == {Action.FOLLOW}
    assert statistics.events == {}
    assert len(model.arm.passive) == (case.rows if case.law == "passive" else 0)
    assert np.abs(loop.controller.error[0]).max() < 0.02  # on its way: it began at 0.05


@pytest.mark.parametrize("case", [*MECHANISMS, *WALKERS], ids=lambda case: case.robot)
def test_mechanisms_are_as_named_and_run_undisturbed(case):
    loop, hardware = case.build()
    statistics = run(loop, hardware, TICKS)
    model = loop.controller.model
    assert (model.n, model.m) == (case.joints, case.rows)
    assert bool(model.arm.passive) == (case.law == "passive")
    assert set(statistics.actions) == {Action.FOLLOW}
    events = dict(statistics.events)
    if case in WALKERS:  # one wrench cannot tell the forces of several feet, and is doubted
        events.pop(Event.FORCE_DISAGREES, None)
    assert sum(events.values()) < 10  # while two arms take up their internal force
    assert np.abs(loop.controller.error[0]).max() < 2e-4  # on its reference


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
    assert found == timed_ticks()
    if NATIVE:
        own, alone = numbers["growth"]["native"]
        assert 0.5 < alone < 1.5
        assert own < 2.0  # cubes of matrices would be three
        assert numbers["cold"]["faults"] == 0
        limits = numbers["limits"]
        assert limits["binding"] == 4
        assert 0.0 < limits["look_us"] < limits["free_us"] < limits["bound_us"] < limits["cap_us"]
        assert 0 < limits["steps"] <= limits["most_steps"] <= 60
        contacts = numbers["contacts"]
        assert 0.0 < contacts["point_us"] < contacts["free_us"] < contacts["bound_us"]
        assert contacts["steps"] > 0
    robots = [case["robot"] for case in numbers["cases"]]
    for case in MECHANISMS:
        assert robots.count(case.robot) == len(ENGINES)
    engines = [case["engine"] for case in numbers["cases"] if case["robot"] == "3 joints"]
    assert engines == [*ENGINES] * 6
    for case in numbers["cases"]:
        assert case["pinocchio"].endswith("C++" if case["engine"] == "native" else "Python")
    for case in numbers["cases"]:
        assert 0.0 < case["p50_us"] <= case["p99_us"]
        assert case["pinocchio_us"] > 0.0
        assert math.isfinite(case["ratio"])
        assert case["ratio"] == pytest.approx(case["p50_us"] / case["pinocchio_us"], rel=0.01)


def test_in_a_case_with_limits_they_bind_in_every_tick():
    loop, hardware = LimitCase(CASES[2]).build()
    binding, model = [], loop.controller.model
    stamps = []

    def note(_, tick):
        binding.append(np.count_nonzero(loop.controller.terms.binds))
        stamps.append(tick.state.stamp)

    statistics = run(loop, hardware, 100, note)
    assert min(binding) >= 4
    np.testing.assert_allclose(np.diff(stamps), loop.controller.period)
    assert set(statistics.actions) == {Action.FOLLOW}
    assert not model.arm.v.any()


@pytest.mark.parametrize("binds", [False, True])
def test_in_a_case_with_cones_one_facet_binds_or_none(binds):
    loop, hardware = ContactCase(binds).build()
    controller, seen = loop.controller, []
    statistics = run(loop, hardware, 20, lambda _, tick: seen.append(tick.report.events))
    assert set(statistics.actions) == {Action.FOLLOW}
    assert {bool(events & Event.CONTACT_BOUNDED) for events in seen} == {binds}
    force, one = controller.terms.u_lambda.reshape(4, 3), controller.contacts.members[0]
    parts = np.column_stack([force @ one.normal, force @ one.tangents.T])
    rows = cone_rows(controller.terms.contact_rules[FRICTION], 2)
    assert np.count_nonzero(parts @ rows.T > 1e-6) == binds


def test_a_facet_that_costs_too_much_is_missed_in_words():
    assert ContactTiming(2.0, 8.0, 20.0, 5).missed(tick.CONTACT_BOUND) == []
    assert (
        "took 8.00 times a free one; it may take 7 times"
        in ContactTiming(2.0, 8.0, 64.0, 5).missed(tick.CONTACT_BOUND)[0]
    )


def test_limits_that_cost_too_much_are_missed_in_words():
    case = LimitCase(CASES[2])
    good = LimitTiming(case, 0.1, 3.1, 9.0, 11, 100, 0, 40, 30.0)
    assert good.missed(tick.LOOK_BOUND, tick.LIMIT_BOUND) == []
    assert good.cap_us == pytest.approx(3.1 + 45.0)
    slow = LimitTiming(case, 0.5, 3.1, 15.0, 11, 100, 1, 60, 30.0)
    look, bound = slow.missed(tick.LOOK_BOUND, tick.LIMIT_BOUND)
    assert "19 % longer where nothing binds; it may be 10 %" in look
    assert "took 4.84 times a free one; it may take 4 times" in bound


def test_cold_ticks_are_judged_by_the_best_round():
    """A round that others disturbed does not count; a tail that is in every one does."""
    good = ColdTiming(CASES[0], 20.0, 50.0, 0, 1000, 3, (50.0, 900.0))
    assert good.missed(3.0) == []
    assert "(the worst: 900.0 µs)" in str(good)
    slow = ColdTiming(CASES[0], 20.0, 80.0, 1, 1000, 3, (80.0, 90.0))
    tail, faults = slow.missed(3.0)
    assert "4.00 times their median, in the best of 2 rounds; it may be 3 times" in tail
    assert faults.startswith("1 page faults")


def test_rounds_in_which_others_were_busy_do_not_count():
    """Two rounds of five were twice as slow; their tail does."""
    tick_us = np.array([4.0, 8.0, 4.2, 4.1, 8.4])[:, None] * np.ones(10)
    timing = TickTiming.of(CASES[0], "native", tick_us, 0.5 * tick_us)
    assert (timing.p50_us, timing.pinocchio_us) == (4.1, 2.05)
    assert timing.p99_us == pytest.approx(8.4)
    assert timing.samples == 50


def test_table_says_whether_the_bound_is_met(capsys):
    assert cli.main(["bench", "tick", "--seconds", "0.01", *ANY]) == 0
    out = capsys.readouterr().out
    assert "Against Pinocchio alone: met;" in out
    assert "at most 1e+09 times with 3 joints, here " in out
    quick, slow = (TickTiming(CASES[0], "python", us, us, 2.0, 1) for us in (9.0, 11.0))
    bounds = {quick: 5.0, slow: 5.0}
    assert ": met;" in tick._verdict([quick], bounds, True)
    assert "not met (is the computer busy?" in tick._verdict([quick, slow], bounds, True)
    assert "the kernels run as NumPy" in tick._verdict([slow], bounds, False)


def test_ticks_from_python_have_bounds_by_joints():
    """Unless another is given; task and joint space and mechanisms have the common one."""
    three, seven, task = (
        TickTiming(case, "python", 5.0, 5.5, 2.0, 1) for case in (CASES[0], CASES[2], TASK_LAWS[0])
    )
    assert [tick._bound(t, tick.BOUND, None) for t in (three, seven, task)] == [3.0, 2.6, 5.0]
    assert [tick._bound(t, 4.0, None) for t in (three, seven, task)] == [4.0] * 3


def test_ticks_in_cpp_have_bounds_of_their_own():
    """2.1 times Pinocchio's pass with 3 joints, 2 times with 7, 3 times with 30."""
    three, seven = (
        TickTiming(CASES[i], "native", 4.0, 5.5, us, 1) for i, us in ((0, 1.6), (2, 2.1))
    )
    large = TickTiming(LARGE, "native", 20.0, 30.0, 8.0, 1)
    bounds = {t: tick._bound(t, 5.0, None) for t in (three, seven, large)}
    assert list(bounds.values()) == [2.1, 2.0, 3.0]
    for case in MECHANISMS:
        for engine, bound in (("python", 6.0), ("native", 5.0)):
            assert tick._bound(TickTiming(case, engine, 1.0, 1.0, 1.0, 1), 5.0, None) == bound
    (sentence,) = tick.missed([three, seven, large], bounds)
    assert "with 3 joints (native) took 2.50 times" in sentence


needs_library = pytest.mark.skipif(not COMPILED, reason="the kernels run as NumPy")


@needs_library
def test_calls_from_python_are_timed_beside_their_kernels(capsys):
    """In small: 1.5 µs on a quiet computer; here 15, so that only what is wrong shows."""
    from projected_control.apps.bench.call_timing import time_calls

    timings = time_calls(0.05, 15.0, 0.2)
    assert not [t.missed for t in timings if t.missed and "was not measured" not in t.missed]
    names = ["tick", "plant step", "model evaluation", "axpy", "matmul", "svd_by_jacobi"]
    assert [t.what for t in timings] == names
    assert [t.bound_us for t in timings] == pytest.approx([15.0] * 3 + [15.4, 15.6, 15.8])
    assert all(min(t.kernel_us, t.python_us) > 0.0 for t in timings)


@needs_library
def test_a_call_that_was_not_measured_meets_no_bound():
    """Python cannot be faster than the kernel it calls."""
    from projected_control.apps.bench.call_timing import CallTiming

    assert "this was not measured" in CallTiming("tick", 23, 1.0, 1.1, 1.5).missed
    assert "costs 1.60 µs on top of" in CallTiming("tick", 23, 2.6, 1.0, 1.5).missed
    assert CallTiming("tick", 23, 2.4, 1.0, 1.5).missed == ""


@needs_library
def test_calls_that_do_not_compute_the_same_are_not_compared():
    from projected_control.apps.bench.call_timing import KernelCall, time_call

    x, y = np.ones(3), np.ones(3)
    idle = KernelCall("model.linalg.copy", (x, y))
    with pytest.raises(SimulationFailed, match="the calls of copy changed nothing"):
        time_call("copy", [idle], 1.5, 0.0, 0.01)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_bound_that_nothing_meets_is_missed(capsys, arguments):
    """Exit status 1, and a sentence for each case on standard error."""
    impossible = ["--bound", "0.001", "--native-bound", "0.001", "--call-bound", "0.0001"]
    assert cli.main(["bench", "tick", "--seconds", "0.01", *impossible, *arguments]) == 1
    out, err = capsys.readouterr()
    assert err.count("bound missed: a tick of the ") == len(timed_ticks())
    assert err.count("bound missed: a call of tick from Python ") == int(COMPILED)
    for case in MECHANISMS:
        assert err.count(f"with {case.robot} (") == len(ENGINES)
    assert "7 joints (python) took" in err or not COMPILED
    assert "it may take 0.001 times that" in err
    if arguments:
        assert json.loads(out)["within_bound"] is False
    else:
        assert "not met" in out


@pytest.mark.quiet(late=0.002)  # microseconds are compared: a computer that is late is slow, too
@pytest.mark.skipif(not COMPILED, reason="the bound is one of compiled kernels")
def test_the_documented_bound_of_a_tick(capsys):
    for _ in range(3):  # from run to run a tick's median differs by some per cent
        if cli.main(["bench", "tick", "--seconds", "0.5"]) == 0:
            return
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

    class FakeFaults:
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

    done = {name: faults.provoke(FakeFaults(), name)[1] for name in faults.FAULTS}
    assert len(set(done.values())) == len(done)
    assert done["watchdog_hung"] == "hang watchdog"
    rows = {name: faults.summary(fault, [(0.01, "why")]) for name, fault in faults.FAULTS.items()}
    shown = faults.table(rows)
    for fault in faults.FAULTS.values():
        assert fault.title in shown


def test_measurements_are_subcommands():
    """Every module with the arguments of a measurement is one, and no other."""
    found = {
        module.name
        for module in iter_modules(bench.__path__)
        if "class Arguments(" in (Path(bench.__path__[0]) / f"{module.name}.py").read_text()
    }
    assert found == set(bench.MEASUREMENTS)
    for name in bench.MEASUREMENTS:
        arguments = cli.parser().parse_args(["bench", name])
        assert arguments.measure is import_module(f"{bench.__name__}.{name}").run


SLOW = (
    "--bound",
    "1e-9",
    "--native-bound",
    "1e-9",
    "--mujoco-bound",
    "1e-9",
    "--mujoco-share",
    "1e9",
    "--stage-bound",
    "1e9",
)


def test_simulation_reports_as_json(capsys):
    status = cli.main(["bench", "simulation", "--seconds", "0.01", *SLOW, "--json"])
    numbers = json.loads(capsys.readouterr().out)
    assert status == 0
    assert numbers["within_bound"]
    found = [(case["joints"], case["engine"]) for case in numbers["cases"]]
    engines = [*ENGINES, *(["mujoco"] if find_spec("mujoco") else [])]
    assert found == [(joints, engine) for joints in (3, 7) for engine in engines]
    for case in numbers["cases"]:
        assert set(case) >= {"arm", "joints", "engine", "times_real_time"}
        assert case["ticks"] >= (100 if case["engine"] == "mujoco" else simulation.CHUNK)
        assert case["times_real_time"] > 0.0
        if case["engine"] == "native":
            stage, model = case["stage_us"]
            assert 0.0 < model < stage < 5.0 * model  # a stage evaluates the model, too


@pytest.mark.skipif(not NATIVE, reason="no native library")
def test_in_cpp_simulation_is_a_hundred_times_faster_than_real_time():
    """Fifty with seven joints; a stage costs at most 1.5 model evaluations. The best of tries."""
    from projected_control.apps.bench.tick_cases import HYBRID

    cases = [case for case in CASES if case.law == HYBRID and case.joints in (3, 7)]
    for _ in range(TRIES):
        speeds = [simulation.time_native_simulation(case, 0.3) for case in cases]
        if not (late := simulation.missed(speeds, 0.0)):
            break
    assert late == []


def test_a_simulation_that_is_too_slow_is_missed_in_words():
    slow = [
        simulation.Speed("arm", n, "native", 60.0, 250, stage_us=(stage, 1.0))
        for n, stage in ((3, 1.4), (7, 1.6))
    ]
    speed, share = simulation.missed(slow, 25.0)
    assert speed == (
        "a closed loop with 3 joints went 60.0 times real time (native); it has to go 100 times"
    )
    assert "7 joints took 1.60 times a model evaluation; it may take 1.5" in share


def test_a_simulation_that_is_too_slow_fails(capsys):
    bounds = ["--bound", "1e9", "--mujoco-bound", "1e-3", "--mujoco-share", "1e9"]
    status = cli.main(["bench", "simulation", "--seconds", "0.01", *bounds])
    captured = capsys.readouterr()
    assert status == bench.EXIT_MISSED
    assert "bound missed: a closed loop with 3 joints went" in captured.err
    assert "7 joints" not in captured.err
    assert "times real time" in captured.out


def test_an_arm_in_mujoco_that_is_too_slow_fails():
    """The one with seven joints; both say what a bare step and a bare tick take."""
    slow = [simulation.Speed("arm", n, "mujoco", 10.0, 250, (20.0, 5.0)) for n in (3, 7)]
    (sentence,) = simulation.missed(slow, 25.0)
    assert "7 joints went 10.0 times real time (mujoco); it has to go 20 times" in sentence
    assert slow[0].numbers["share"] == pytest.approx(4.0)
    fast = [simulation.Speed("arm", n, "mujoco", 25.0, 250, (4.0, 4.0)) for n in (3, 7)]
    (sentence,) = simulation.missed(fast, 25.0)
    assert "7 joints in MuJoCo took 5.00 times mj_step and tick; it may take 4 times" in sentence


@pytest.mark.quiet
@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo is not installed")
def test_a_period_in_mujoco_takes_four_times_its_parts_at_most():
    (case,) = [each for each in tick_cases.CASES if (each.law, each.joints) == ("hybrid", 7)]
    speed = simulation.time_mujoco(case, 1.0)
    within(1e-3 * simulation.MUJOCO_SHARE, 1e-3 * speed.share, "a period, in its parts,")


def test_a_native_loop_that_wakes_up_late_is_missed_in_words():
    def row(loop, p99):
        return {
            "condition": "busy interpreter thread",
            "loop": loop,
            "fifo": True,
            "late_us": {"p99": p99},
        }

    assert realtime.missed([row("bare", 50.0), row("native", 59.0)], 1.2) == []
    (sentence,) = realtime.missed([row("bare", 50.0), row("native", 61.0)], 1.2)
    assert "the native loop woke up 61.0 µs late (p99), a bare thread 50.0 µs" in sentence


def test_peers_are_judged_where_there_is_a_bound():
    peer = {"name": "placo 1", "robot": "five-bar", "ratio": 0.7, "bound": 0.6}
    assert "took 0.70 times placo 1's" in peers.missed([peer])[0]
    assert peers.missed([{**peer, "bound": None}]) == []  # ticks from Python, limits that bind
    assert peers.missed([peer], 0.8) == []


def test_the_five_bar_is_closed_and_its_motors_move_it():
    loop, hardware = five_bar_loop()
    statistics = run(loop, hardware, 300)
    model = loop.controller.model
    assert (model.n, model.m, model.k, model.rank) == (4, 2, 2, 2)
    assert np.linalg.norm(model.residual) < 1e-9
    assert set(statistics.actions) == {Action.FOLLOW}
    assert np.abs(loop.controller.error[0]).max() < 0.04  # it began at 0.05
