"""Limits that are kept: the closed form where nothing binds, else the best that is left."""

import itertools

import numpy as np
import pytest
from acting_runs import Twins
from arms import UPRIGHT, URDF, random_urdf, slider_model, spatial_model, state_on
from level_problems import shortcomings
from loops import EVERY_LAW, opened

from projected_control.compiled import KERNELS
from projected_control.control import (
    ComputedTorqueController,
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    Law,
    Limits,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
    SelectionController,
    keep_limits,
    kept_state,
)
from projected_control.control.disturbance import Disturbance
from projected_control.control.events import Action, Event
from projected_control.control.joint_ranges import largest_acceleration
from projected_control.control.kept_state import keep_state, limits_text
from projected_control.control.limit_terms import Binding
from projected_control.control.references import MotionLimits, SetPoint, Sine, Sines
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.active_set import solve_levels
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointAtPoint, PointOnLine, PointOnPlane, Stack
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.lexicographic import Level, solve
from projected_control.model.projection import Metric
from projected_control.planning import assemble

GAINS, FORCE = MotionGains(100.0, 20.0), ForceGains(cutoff=20.0)
CASE_A = np.array([-3.592865276, 2.488774284, 1.104090993])


def asked_for_5(law=MotionController):
    """Case A: the 3R arm at rest, asked for ẍ = 5 m/s² and no turn."""
    controller = law(slider_model(), GAINS)
    controller.model.evaluate(CASE_A, np.zeros(3))
    controller.motion[0] = controller.model.theta
    controller.motion[1:] = [0.0, 0.0], [5.0, 0.0]
    controller.update(CASE_A, np.zeros(3))
    return controller


def wide(arm, **given):
    """Limits that bind where they are given."""
    n = arm.n
    free = {"effort": 1e5, "effort_rate": 1e9, "velocity": 1e4, "lower": -1e3, "upper": 1e3}
    return Limits.of(arm, **{name: np.full(n, value) for name, value in free.items()} | given)


@pytest.mark.parametrize(
    ("limit", "effort", "reached", "force", "share"),
    [
        (100.0, (3.592367234, -0.458989466, -2.307295112), (5.0, 0.0), -23.072951, 1.0),
        (3.2, (3.2, -1.557533618, -2.699662346), (5.0, 0.0), -26.996623, 1.0),
        (2.949831173, (2.949831173, None, None), (5.0, 0.0), None, 1.0),
        (1.6, (1.6, -1.213260547, -1.6), (2.716827142, -0.104768395), -16.004795, 0.543),
    ],
)
def test_the_3r_arm_gives_way_as_little_as_it_must(limit, effort, reached, force, share):
    controller = asked_for_5()
    kept = keep_state(controller, wide(controller.model.arm, effort=limit))
    for found, expected in zip(kept.effort, effort, strict=True):
        assert expected is None or found == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(controller.model.J_theta @ kept.acceleration, reached, atol=1e-8)
    assert force is None or kept.multipliers[0] == pytest.approx(force, abs=1e-6)
    assert kept.motion_share == pytest.approx(share, abs=1e-3)
    assert (np.abs(kept.effort) <= limit).all()


def test_the_smallest_limit_with_the_full_motion():
    controller = asked_for_5()
    for limit, whole in ((2.94983118, True), (2.94983116, False)):
        kept = keep_state(controller, wide(controller.model.arm, effort=limit))
        assert (Event.MOTION_GIVEN_UP & kept.events == 0) == whole


def test_what_binds_in_words():
    controller = asked_for_5()
    kept = keep_state(controller, wide(controller.model.arm, effort=1.6))
    joints = controller.model.arm.joint_names
    said = limits_text(joints, ["tip"], kept.binds, kept.ceiling_binds, kept.motion_share)
    assert said == "torque of joint_1 and joint_3, motion at 54 %"
    assert limits_text(joints, ["tip"], [0, 6, 8], [1], 1.0) == (
        "torque rate of joint_2, range of joint_2, velocity of joint_3, force ceiling of tip"
    )
    assert limits_text(joints, [], [0, 0, 0], [], 1.0) == ""


@pytest.mark.parametrize(("rate", "most"), [(1.0, 984.99), (1.9, 80.477), (1.99, -9.975)])
def test_room_to_stop_of_one_joint(rate, most):
    found = largest_acceleration(1.0 - 2.5e-6 - 0.9, rate, 20.0, 1e-3)
    assert found == pytest.approx(most, abs=6e-3)


def test_room_to_stop_is_exact_in_discrete_time():
    """A joint that always takes the most it may comes to rest at its bound, and not beyond."""
    q, rate, T = 0.0, 0.0, 1e-3
    for _ in range(3000):
        most = largest_acceleration(1.0 - q, rate, 20.0, T)
        a = min(most, 30.0)
        assert a >= -20.0 - 1e-6
        q, rate = q + T * rate + 0.5 * T * T * a, rate + T * a
        assert q <= 1.0 + 1e-12
    assert q == pytest.approx(1.0, abs=2e-6)


# --- Where nothing binds the solver gives what the closed form gives.


def chain(n, metric):
    """n joints under gravity, the end held at a point, each row twice; coordinates of all kinds."""
    if n == 3:
        model = slider_model()
        rows, coordinates = Stack([model.constraint, model.constraint]), model.coordinates
        return ConstrainedArm(model.arm, rows, coordinates, metric=metric)
    arm = Arm.from_urdf(random_urdf(3, n))
    place = arm.update(np.full(n, 0.4), np.zeros(n)).frame(f"end_{n}").position
    held = PointAtPoint(f"end_{n}", place)
    moved = [Coordinate.position(f"end_{n - 1}", "z"), Coordinate.joint("joint_2")]
    return ConstrainedArm(arm, Stack([held, held]), Coordinates(moved), metric=metric)


def with_coordinates(model, coordinates, passive=()):
    """The same arm, moved by others."""
    arm = model.arm if not passive else Arm.from_urdf(model.arm.urdf, passive=passive)
    return ConstrainedArm(arm, model.constraint, coordinates, metric=model.metric)


def impedances(model):
    k = model.k
    yield ImpedanceController(model, Impedance(300.0), FORCE)
    yield ImpedanceController(model, Impedance(300.0, damping=30.0))
    yield ImpedanceController(model, Impedance(300.0), projected=False)
    shaped = ImpedanceController(model, Impedance(300.0, inertia=np.full(k, 2.0)), FORCE)
    shaped.set_disturbance(Disturbance("observer"), 0.0)
    yield shaped


def every_controller(model):
    """Each law on this model, or on one of the same arm with what it needs."""
    yield MotionController(model, GAINS)
    yield MotionController(model, GAINS, Law.IDC)
    yield ForceController(model, GAINS, FORCE)
    yield OperationalSpaceController(model, GAINS, range(1, model.k + 1))
    yield OperationalSpaceController(model, GAINS, (), FORCE)
    yield from impedances(model)
    yield SelectionController(model, GAINS, FORCE, model.coordinates.names[:1])
    joints = with_coordinates(model, Coordinates.of_joints(model.arm.joint_names))
    yield ComputedTorqueController(joints, GAINS)
    yield ComputedTorqueController(model, GAINS, gravity=True)
    last = model.arm.joint_names[-1] if model.n == 3 else "joint_5"
    passive = with_coordinates(model, model.coordinates, (last,))
    yield PassiveJointController(passive, GAINS)
    yield PassiveJointController(passive, GAINS, FORCE)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("n", [3, 7, 14])
def test_where_nothing_binds_the_solver_gives_the_closed_form(n, weighed):
    metric = Metric(np.linspace(0.6, 2.0, n)) if weighed else None
    for number, controller in enumerate(every_controller(chain(n, metric))):
        model = controller.model
        near = 0.4 if n > 3 else np.array([-3.0, 2.0, 1.0])
        q, v = state_on(model, number, near, spread=0.1)
        controller.motion[0] = model.evaluate(q, v).theta + 0.05
        controller.motion[2] = 0.5
        if controller.force is not None:
            controller.force.set_reference(np.full(model.m, 3.0))
        effort = controller.update(q, v).total.copy()
        kept = keep_state(controller, wide(model.arm), forced=True)
        size = max(1.0, np.abs(effort).max())
        np.testing.assert_allclose(
            kept.effort, effort, atol=1e-8 * size, err_msg=f"{number} {controller.law.name}"
        )
        assert kept.steps > 0
        assert kept.motion_share == 1.0
        assert kept.events == 0
        assert not kept.effort[controller.passive].any()


# --- Where something binds.


def test_library_and_numpy_agree(monkeypatch):
    controller = next(every_controller(chain(7, None)))
    for seed in range(5):
        q, v = state_on(controller.model, seed, 0.4, spread=0.1)
        controller.motion[0] = controller.model.evaluate(q, v).theta + 0.3
        effort = controller.update(q, v).total
        limits = wide(controller.model.arm, effort=0.7 * np.abs(effort).max(), force=20.0)
        compiled = keep_state(controller, limits)
        with monkeypatch.context() as patched:
            plain = KERNELS["projected_control.control.kept_state.keep_at"]
            patched.setattr(kept_state, "keep_at", plain)
            interpreted = keep_state(controller, limits)
        np.testing.assert_allclose(interpreted.effort, compiled.effort, atol=1e-11)
        assert interpreted.steps == compiled.steps > 0


@pytest.fixture
def problems(monkeypatch):
    """What the solver is given, level by level, and where it ends; kernels run as NumPy."""
    found = []

    def noted(most_steps, s):
        C, lower, upper, first = s.C.copy(), s.lower.copy(), s.upper.copy(), s.first.astype(int)
        places = [slice(a, b) for a, b in itertools.pairwise(first) if a < b]
        levels = [Level(C[place], lower[place], upper[place]) for place in places]
        box = s.least.copy(), s.most.copy()
        whole = solve_levels(most_steps, s)
        found.append((levels, *box, s.x.copy(), whole))
        return whole

    monkeypatch.setattr(keep_limits, "solve_levels", noted)
    plain = KERNELS["projected_control.control.kept_state.keep_at"]
    monkeypatch.setattr(kept_state, "keep_at", plain)
    return found


@pytest.mark.parametrize("n", [3, 7])
def test_no_level_of_a_law_can_do_better(n, problems):
    """Every law, limits of all kinds at once: gradient and what is broken, as scipy sees them."""
    random = np.random.default_rng(n)
    for number, controller in enumerate(every_controller(chain(n, None))):
        model = controller.model
        near = 0.4 if n > 3 else np.array([-3.0, 2.0, 1.0])
        q, v = state_on(model, number, near, spread=0.1)
        controller.motion[0] = model.evaluate(q, v).theta + 0.3
        asked = np.abs(controller.update(q, v).total)
        room = 10.0 ** random.uniform(-2.0, 0.0, (2, n))
        more = {"force": 10.0} if model.m else {}
        limits = wide(
            model.arm,
            effort=0.3 + 0.7 * asked,
            velocity=np.abs(v) + 0.02,
            lower=q - room[0],
            upper=q + room[1],
            **more,
        )
        keep_state(controller, limits, forced=True)
        levels, least, most, x, whole = problems.pop()
        assert whole
        gradient, broken = shortcomings(levels, least, most, x).T
        assert gradient.max() < 1e-6, (controller.law.name, gradient)
        assert broken.max() < 1e-8, (controller.law.name, broken)


@pytest.mark.parametrize("law", ["hybrid", "operational_space", "passive"])
def test_where_the_tick_before_has_ended_is_a_beginning_not_an_answer(law):
    """A loop whose solver goes on from the last tick sends what one sends that begins anew."""
    loop, hardware = opened(law)
    arm = loop.controller.model.arm
    needed = np.abs(loop.guard.sent).max()
    limits = Limits.of(arm, effort=max(0.6 * needed, 0.3), effort_rate=200.0)
    loop.guard.set_limits(limits)
    theta = loop.controller.model.theta.copy()
    loop.set_reference(Sines(theta, [[Sine(0.05, 3.0)] for _ in theta]))
    again, steps = 0, np.zeros(2)
    for _ in range(200):
        before = loop.guard.sent.copy()
        report = loop.update(hardware.read())
        hardware.write(report.effort)
        solved = int(loop.controller.terms.solver_steps[0])
        if report.action is Action.FOLLOW and solved:
            effort = report.effort.copy()
            kept = keep_state(loop.controller, limits, before)
            np.testing.assert_allclose(effort, kept.effort, atol=1e-8 * max(1.0, needed))
            again += 1
            steps += solved, kept.steps
    assert again > 20
    assert steps[0] < steps[1]


def fuzz(cases, seed):
    """How many of so many random states, limits and efforts that were sent reached the cap.

    Every law on 3, 7 and 14 joints, also where a limit was lowered below what was sent; what comes
    out is finite, and within torque and rate to the last bit.
    """
    controllers = [c for n in (3, 7, 14) for c in every_controller(chain(n, None))]
    capped, solved = 0, 0
    for number in range(cases):
        random = np.random.default_rng([seed, number])
        controller = controllers[number % len(controllers)]
        model, n, m = controller.model, controller.model.n, controller.model.m
        q = (0.4 if n > 3 else np.array([-3.0, 2.0, 1.0])) + 0.3 * random.normal(size=n)
        v = model.evaluate(q, np.zeros(n)).P @ random.normal(size=n)
        controller.motion[0] = model.theta + random.normal(size=model.k)
        controller.update(q, v)
        limit, step = random.uniform(1.0, 60.0, n), random.uniform(0.1, 20.0, n)
        sent = random.normal(size=n) * limit
        sent[controller.passive] = 0.0
        more = {}
        if random.random() < 0.5:
            room, kinds = 10.0 ** random.uniform(-3.0, 0.5, (3, n)), random.integers(2, size=3)
            more = {"velocity": room[0], "lower": q - room[1], "upper": q + room[2]}
            more = {
                name: value for (name, value), on in zip(more.items(), kinds, strict=True) if on
            }
            if m:
                more["force"] = 10.0 ** random.uniform(-1.0, 2.0, m)
        limits = wide(model.arm, effort=limit, effort_rate=step / controller.period, **more)
        kept = keep_state(controller, limits, sent)
        steps = limits.effort_rate * controller.period
        lower = np.clip(sent - steps, -limit, limit)
        upper = np.clip(sent + steps, -limit, limit)
        assert np.isfinite(kept.effort).all(), (seed, number)
        assert ((kept.effort >= lower) & (kept.effort <= upper)).all(), (seed, number)
        assert not kept.effort[controller.passive].any()
        capped += bool(kept.events & Event.SOLVER_CAPPED)
        solved += kept.steps > 0
    print(f"\n{solved} of {cases} needed the solver, {capped} reached its cap")
    return capped, solved


@pytest.mark.parametrize(
    ("cases", "seed"),
    [(600, 1), pytest.param(100_000, 2, marks=[pytest.mark.long, pytest.mark.timeout(3600)])],
)
def test_efforts_and_their_rates_are_never_exceeded(cases, seed):
    """How many reach the cap is stated in docs/limits.md."""
    capped, solved = fuzz(cases, seed)
    assert solved > 0.8 * cases
    assert capped < 0.01 * cases


@pytest.mark.parametrize("law", EVERY_LAW)
def test_a_tick_keeps_rate_and_limit_to_the_last_bit(law):
    """Limits at half of what the law asks for, the reference ten times as fast."""
    loop, hardware = opened(law)
    arm = loop.controller.model.arm
    needed = np.abs(loop.guard.sent).max()
    limits = Limits.of(arm, effort=max(0.8 * needed, 0.3), effort_rate=50.0)
    loop.guard.set_limits(limits)
    theta = loop.controller.model.theta.copy()
    loop.set_reference(Sines(theta, [[Sine(0.05, 3.0)] for _ in theta]))
    before, bound = None, 0
    step = limits.effort_rate * loop.controller.period
    for _ in range(200):
        report = loop.update(hardware.read())
        effort = report.effort.copy()
        assert (np.abs(effort) <= limits.effort).all()
        if before is not None and (np.abs(before) <= limits.effort).all():
            assert (effort <= before + step).all()
            assert (effort >= before - step).all()
        assert not effort[loop.controller.passive].any()
        bound += loop.controller.terms.solver_steps[0] > 0
        before = effort
        hardware.write(effort)
    assert bound > 0


def test_levels_are_kept_in_their_order():
    """A velocity is held by giving up motion, a range before a velocity."""
    controller = asked_for_5()
    model = controller.model
    free = keep_state(controller, wide(model.arm), forced=True).acceleration
    slow = wide(model.arm, velocity=1e-3)
    held = keep_state(controller, slow)
    assert (np.abs(held.acceleration) * controller.period <= 1e-3).all()
    assert held.motion_share < 1.0
    assert held.events & Event.VELOCITY_HELD
    joint = int(np.argmax(free))
    upper = np.full(3, 1e3)
    upper[joint] = CASE_A[joint] + 1.001e-3
    near = keep_state(controller, wide(model.arm, upper=upper))
    assert near.acceleration[joint] < free[joint]
    assert near.binds[joint] == Binding.RANGE
    assert near.events & Event.RANGE_HELD


def test_a_joint_that_can_keep_neither_edge_keeps_the_nearer_middle():
    """A range so narrow at this rate that its two bounds have crossed: no level is left empty."""
    controller = asked_for_5()
    model = controller.model
    v = model.P @ np.array([1.0, -0.5, 0.3])
    controller.update(CASE_A, v)
    lower, upper = np.full((2, 3), 1e3) * [[-1.0], [1.0]]
    lower[0], upper[0] = CASE_A[0] - 2e-5, CASE_A[0] + 2e-5
    kept = keep_state(controller, wide(model.arm, effort=20.0, lower=lower, upper=upper))
    free = keep_state(controller, wide(model.arm, effort=20.0))
    assert np.isfinite(kept.effort).all()
    assert (np.abs(kept.effort) <= 20.0).all()
    assert kept.events & Event.LIMIT_GIVEN_UP
    assert v[0] * kept.acceleration[0] < min(0.0, v[0] * free.acceleration[0])


def test_joints_of_a_closed_chain_stop_together():
    """The slider-crank: its first joint brakes as the crank as a whole can, not as its link alone.

    The bound begins where 80 % of the effort would bring it to rest with the inertia of this place.
    """
    every = Arm.from_urdf(URDF / "slider_crank.urdf.xacro").joint_names
    arm = Arm.from_urdf(URDF / "slider_crank.urdf.xacro", passive=every[1:], gravity=0.0)
    slider = PointOnLine("tip", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], plane_normal=UPRIGHT)
    model = ConstrainedArm(arm, slider, Coordinates.of_joints(every[:1]))
    q, v, limit = np.array([1.0, 2.0 * np.pi - 2.0]), np.array([2.0, -4.0]), 10.0
    assert np.abs(model.evaluate(q, v).A @ v).max() < 1e-12
    held = PassiveJointController(model, GAINS)
    held.motion[:] = [q[0]], [v[0]], [0.0]
    stop = projected(Problem.of(model, np.array([-0.8 * limit, 0.0]))).acceleration
    way = -(v[0] ** 2) / (2.0 * stop[0])
    alone = v[0] ** 2 * model.evaluate(q, v).M[0, 0] / (2.0 * 0.8 * limit)
    assert abs(alone / way - 1.0) > 0.06
    for share, binds in ((1.12, False), (0.95, True)):
        held.update(q, v)
        upper = np.array([q[0] + share * way, 1e3])
        kept = keep_state(held, wide(arm, effort=limit, upper=upper))
        assert bool(int(kept.binds[0]) & Binding.RANGE) == binds, share


def test_motion_that_no_coordinate_describes_is_not_left_to_the_least_torque():
    """Seven joints on a plane, asked for 1 cm: without its level, free joints are thrown about."""
    model = spatial_model()
    place = model.arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    moved = Coordinates([Coordinate.position("end_7", axis) for axis in "xy"])
    plane = ConstrainedArm(model.arm, PointOnPlane("end_7", place, [0.0, 0.0, 1.0]), moved)
    controller = MotionController(plane, GAINS)
    q = np.full(7, 0.4)
    controller.motion[0] = plane.evaluate(q, np.zeros(7)).theta + np.array([0.01, 0.0])
    controller.update(q, np.zeros(7))
    kept = keep_state(controller, wide(plane.arm), forced=True)
    least = plane.J_theta, plane.J_theta @ kept.acceleration
    Phi = np.linalg.solve(plane.M + plane.P @ plane.M - plane.M @ plane.P, plane.P)
    bias = kept.acceleration - Phi @ kept.effort
    levels = [
        Level.target(least[0] @ Phi, least[1] - least[0] @ bias),
        Level.target(np.eye(7), np.zeros(7)),
    ]
    x = solve(levels, [-np.inf] * 7, [np.inf] * 7).x
    thrown = bias + Phi @ x
    np.testing.assert_allclose(plane.J_theta @ thrown, least[1], atol=1e-9)
    assert np.abs(thrown).max() > 5.0 * np.abs(kept.acceleration).max()


def test_the_force_ceiling_comes_before_motion():
    controller = asked_for_5()
    arm = controller.model.arm
    kept = keep_state(controller, wide(arm, force=10.0))
    assert np.abs(kept.multipliers[0]) == pytest.approx(10.0, abs=1e-9)
    assert kept.ceiling_binds[0] == 1.0
    assert kept.events & Event.CEILING_HELD
    assert kept.motion_share == pytest.approx(1.0)  # three motors for two coordinates and λ
    tight = keep_state(controller, wide(arm, force=10.0, effort=1.6))
    assert np.abs(tight.multipliers[0]) <= 10.0 + 1e-9
    assert tight.motion_share < 0.9


@pytest.mark.parametrize("prefer", ["motion", "force"])
def test_what_is_preferred_is_kept(prefer):
    controller = asked_for_5(lambda model, gains: ForceController(model, gains, FORCE))
    controller.force.set_reference([-32.0])
    controller.update(CASE_A, np.zeros(3))
    kept = keep_state(controller, wide(controller.model.arm, effort=3.0, prefer=prefer))
    if prefer == "motion":
        assert kept.motion_share == pytest.approx(1.0)
        assert np.abs(kept.force_given_up[0]) > 1.0
    else:
        assert kept.motion_share < 0.9
        assert np.abs(kept.force_given_up[0]) < 1e-9


def test_limits_of_force_that_make_no_sense_are_refused():
    arm = slider_model().arm
    with pytest.raises(InvalidValue, match=r"force must be one number or 1, one per row"):
        Limits.of(arm, force=[1.0, 2.0]).force_numbers(1)
    with pytest.raises(InvalidValue, match="there is no constraint"):
        Limits.of(arm, force=[1.0]).force_numbers(0)
    with pytest.raises(InvalidValue, match="force must be positive"):
        Limits.of(arm, force=[-1.0]).force_numbers(1)
    with pytest.raises(UnknownName, match="preference"):
        Limits.of(arm, prefer="speed")
    with pytest.raises(UnknownName, match="answer"):
        Limits.of(arm, force_answer="ignore")


def test_the_acting_side_keeps_the_same_limits():
    """In C++ and in process, tick by tick, where limits are lowered in the middle of a run."""
    twins = Twins("hybrid")
    twins.go(20)
    arm = twins.own.controller.model.arm
    tight = Limits.of(arm, effort=1.0, effort_rate=100.0, force=1.5, prefer="force")
    twins.change(lambda loop: loop.guard.set_limits(tight))
    twins.go(50)
    twins.compare()
    assert twins.own.controller.terms.solver_steps[0] > 0


def drive(loop, hardware, ticks):
    """So many ticks; the last report and the last state."""
    for _ in range(ticks):
        state = hardware.read()
        report = loop.update(state)
        hardware.write(report.effort)
    return report, state


def test_a_joint_that_rests_beyond_its_range_is_let_back_in():
    """By a reference that begins at the arm; it goes no further out, and stays in once it is."""
    loop, hardware = opened("pidc")
    model = loop.controller.model
    q = hardware.read().q.copy()
    upper = q + 1.0
    upper[0] = q[0] - 0.01
    loop.guard.set_limits(Limits.of(model.arm, lower=q - 1.0, upper=upper, latch_time=0.02))
    report, _ = drive(loop, hardware, 400)
    assert report.action is Action.STOP
    assert report.events & Event.POSITION_LIMIT
    assert loop.guard.latched is Action.STOP
    inside = assemble(model.arm, model.constraint, q - np.array([0.05, 0.0, 0.0]))
    goal = model.evaluate(inside, np.zeros(3)).theta.copy()
    here = loop.beginning(0.4)
    goal[1] = here.value[1]
    loop.set_reference(SetPoint(here, goal, MotionLimits(0.5, 4.0, 60.0), 0.4))
    report, _ = drive(loop, hardware, 1)
    assert report.action is Action.FOLLOW
    report, state = drive(loop, hardware, 1500)
    assert report.action is Action.FOLLOW
    assert state.q[0] < upper[0]
