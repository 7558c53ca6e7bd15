"""Paths: their geometry, their timing within limits, and how parameter files name them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from projected_control.control.references import ReferencePoint
from projected_control.errors import InvalidValue, UnknownName, Unreachable
from projected_control.planning import paths
from projected_control.planning.timing import PathBounds, fastest_squares, time_path
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

CONFIG = Path(__file__).parents[1] / "config" / "seven_joints.yaml"


def settings(others=None, **changes):
    names = {f"reference.{name}": value for name, value in changes.items()} | (others or {})
    return Layers.read([CONFIG], "paper").on_top(names, "test").controller(FORCE)


def start():
    """Settings, model and joint positions at the simulated arm's start."""
    q = build.build_plant(Layers.read([CONFIG], "paper").arm()).truth.q
    model = build.build_model(settings())
    model.evaluate(q, np.zeros(model.n))
    return model, q, ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))


MODEL, Q, HERE = start()


def planned(others=None, **changes):
    return build.build_reference(settings(others, approach=False, **changes), HERE, 0.0, Q)


# Geometry


def test_a_raster_covers_its_rectangle_with_evenly_spread_lines():
    (stroke,) = paths.raster([1.0, 2.0], [0.3, 0.2], 0.06, 0.02)
    s = np.linspace(0.0, stroke.length, 20001)
    y = stroke.at(s)
    assert np.abs(y - [1.0, 2.0]).max(axis=0) == pytest.approx([0.15, 0.1], abs=1e-6)
    middle = y[np.abs(y[:, 0] - 1.0) < 1e-3, 1]
    assert np.unique(np.round(middle, 6)) == pytest.approx(2.0 + np.linspace(-0.1, 0.1, 5))


@examples(max_examples=15)
@given(
    turn=st.floats(0.1, 2.5), blend=st.floats(0.005, 0.05), legs=st.tuples(*[st.floats(0.2, 1)] * 2)
)
def test_a_corner_is_cut_by_less_than_three_tenths_of_the_blend(turn, blend, legs):
    corner = np.array([legs[0], 0.0])
    end = corner + legs[1] * np.array([np.cos(turn), np.sin(turn)])
    (stroke,) = paths.through([[0.0, 0.0], corner, end], blend)
    s = np.linspace(0.0, stroke.length, 4001)
    y = stroke.at(s)
    assert y[0] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert y[-1] == pytest.approx(end, abs=1e-9)
    assert np.linalg.norm(y - corner, axis=1).min() <= 0.3 * blend
    speed = np.linalg.norm(stroke.at(s, 1), axis=1)
    assert speed == pytest.approx(np.ones(s.size), abs=0.02)  # s is the length along the curve
    assert np.isfinite(stroke.at(s, 3)).all()


def test_a_path_stops_where_it_turns_back_and_without_a_blend_at_every_corner():
    points = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.5]]
    assert len(paths.through(points, 0.05)) == 2
    assert len(paths.through(points, 0.0)) == 3


def test_windings_of_a_spiral_are_a_spacing_apart():
    (stroke,) = paths.spiral([0.0, 0.0], 0.1, 0.02)
    y = stroke.at(np.linspace(0.0, stroke.length, 20001))
    radius = np.linalg.norm(y, axis=1)
    crossings = radius[:-1][(y[:-1, 1] < 0.0) & (y[1:, 1] >= 0.0)]
    assert np.diff(crossings) == pytest.approx(np.full(crossings.size - 1, 0.02), abs=1e-4)
    assert radius.max() == pytest.approx(0.1)


# Timing


def line_bounds(length=1.0, fastest=10.0, acceleration=2.0, jerk=np.inf, count=401):
    s = np.linspace(0.0, length, count)
    one, zero = np.ones((count, 1)), np.zeros((count, 1))
    scale = 0.0 if np.isinf(jerk) else 1.0 / jerk
    return PathBounds(
        s,
        np.full(count, fastest),
        one,
        zero,
        zero,
        acceleration * one,
        ("x",),
        np.stack([scale * one, zero, zero]),
    )


def test_the_fastest_motion_along_a_line_accelerates_and_brakes_with_all_it_may():
    """x = 2 a s to the middle, and back: 2 √(L/a) s in all."""
    bounds = line_bounds()
    x = fastest_squares(bounds)
    assert x == pytest.approx(4.0 * np.minimum(bounds.s, 1.0 - bounds.s), abs=1e-9)


def test_a_jerk_limited_motion_takes_little_longer_and_keeps_to_its_jerk():
    timing = time_path(line_bounds(jerk=20.0))
    assert timing.s[[0, -1]] == pytest.approx([0.0, 1.0])
    assert np.abs(timing.acceleration).max() <= 2.0 * (1.0 + 1e-6)
    jerk = np.gradient(timing.acceleration, timing.times)
    assert np.abs(jerk).max() <= 20.0 * (1.0 + 1e-6)
    assert 2.0 * np.sqrt(0.5) < timing.times[-1] < 2.0 * np.sqrt(0.5) + 0.35


@examples(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_no_limit_is_exceeded_whatever_the_path(seed):
    """Random, smooth a, b, c along a path of one metre."""
    random = np.random.default_rng(seed)
    s = np.linspace(0.0, 1.0, 301)

    def wave(rows, size=1.0):
        terms = random.normal(size=(rows, 4)) * size
        return np.stack([np.cos(2 * np.pi * (i + 1) * s) for i in range(4)], axis=1) @ terms.T

    rest = 0.2 * np.tanh(wave(3))
    jerk = np.stack([0.05 * np.ones((301, 1)), np.zeros((301, 1)), np.zeros((301, 1))])
    bounds = PathBounds(
        s, 1.0 + 0.5 * np.tanh(wave(1)[:, 0]), wave(3), wave(3), rest, np.ones((301, 3)), (), jerk
    )
    timing = time_path(bounds)
    v, a = timing.rate, timing.acceleration
    assert (np.diff(timing.s) >= -1e-12).all()

    def at(values):
        return np.stack([np.interp(timing.s, s, column) for column in values.T], axis=1)

    asked = at(bounds.slope) * a[:, None] + at(bounds.bend) * (v**2)[:, None] + at(rest)
    assert np.abs(asked).max() <= 1.0 + 1e-6
    assert (v <= np.interp(timing.s, s, bounds.fastest) * (1.0 + 1e-6)).all()


def test_a_path_on_which_the_arm_cannot_stand_is_refused_with_place_and_joint():
    bounds = line_bounds()
    heavy = PathBounds(
        **{**vars(bounds), "rest": 3.0 * bounds.slope, "names": ("the effort of x",)}
    )
    with pytest.raises(InvalidValue, match=r"standing still at .* the effort of x is 3 and may"):
        time_path(heavy)


# On an arm


def asked_of(reference, seconds, coulomb=0.0, viscous=0.0):
    """Joint rates and efforts along a reference, by Pinocchio, with friction."""
    from projected_control.planning.following import Follower

    follower = Follower(build.build_model(settings()), Q, np.array(settings().posture.target))
    times = np.linspace(0.0, seconds, int(seconds / 0.01) + 1)
    follower.approach(reference.at(0.0).value)
    q = np.array([follower.at(reference.at(t).value).copy() for t in times])
    v = np.gradient(q, times, axis=0)
    a = np.gradient(v, times, axis=0)
    effort = []
    for each, rate, change in zip(q, v, a, strict=True):
        MODEL.evaluate(each, rate)
        friction = coulomb * np.sign(rate) + viscous * rate
        effort.append(
            MODEL.arm.M @ change + MODEL.arm.h + MODEL.terms.jacobian[0] * 10.0 + friction
        )
    return times, v[2:-2], np.array(effort)[2:-2]


@pytest.mark.parametrize(
    ("changes", "tight"),
    [
        ({"speed": 10.0, "rate_share": 0.1}, "velocity"),
        ({"speed": 10.0, "effort_share": 0.32, "max_jerk": [1e4]}, "effort"),
    ],
)
def test_joint_rates_and_torques_stay_within_their_share_and_use_it(changes, tight):
    wide = {"max_rate": [5.0], "max_acceleration": [50.0], "max_jerk": [500.0], "repeats": 1}
    reference = planned(**{**wide, **changes})
    _, v, effort = asked_of(reference, reference.end)
    limits = MODEL.arm.limits
    rates = np.abs(v) / limits.velocity / changes.get("rate_share", 0.8)
    efforts = np.abs(effort) / limits.effort / changes.get("effort_share", 0.8)
    assert rates.max() <= 1.01
    assert efforts.max() <= 1.01
    worst = (rates if tight == "velocity" else efforts).max(axis=1)
    assert worst.max() > 0.95
    if tight == "velocity":  # along the path, not by one factor: most of the way is at a limit
        assert np.median(worst) > 0.8


def test_the_torques_of_friction_are_within_their_share_too():
    """There and back, with friction of which a path that knew nothing takes too much."""
    share, coulomb, viscous = 0.42, np.array([15.0, 15.0, 10.0, 5.0, 1.0, 1.0, 1.0]), 2.0
    wide = {"max_rate": [5.0], "max_acceleration": [50.0], "max_jerk": [1e4], "speed": 10.0}
    wide |= {"repeats": 1, "back": True, "effort_share": share}
    known = {"compensation.coulomb": coulomb.tolist(), "compensation.viscous": [viscous]}
    taken = {}
    for others in ({}, known):
        reference = planned(others, **wide)
        _, _, effort = asked_of(reference, reference.end, coulomb, viscous)
        taken[bool(others)] = (np.abs(effort) / MODEL.arm.limits.effort / share).max()
    assert taken[False] > 1.05
    assert 0.85 < taken[True] <= 1.01


def test_rates_accelerations_and_jerks_of_the_coordinates_are_kept_everywhere():
    reference = planned(repeats=1, speed=0.2)
    times = np.arange(0.0, reference.end, 1e-3)
    points = [reference.at(t) for t in times]
    rate = np.array([p.rate for p in points])
    acceleration = np.array([p.acceleration for p in points])
    assert np.linalg.norm(rate[:, :2], axis=1).max() == pytest.approx(0.2, rel=2e-3)
    assert np.abs(acceleration).max() <= 2.0 * 1.01
    assert np.abs(np.diff(acceleration, axis=0) / 1e-3).max() <= 20.0 * 1.05
    ends = [reference.at(t).rate for t in (0.0, reference.end)]
    assert (np.abs(ends) < 1e-9).all()


def test_a_raster_and_back_ends_where_it_began_and_takes_twice_as_long():
    there, both = planned(repeats=1), planned(repeats=1, back=True)
    assert both.end == pytest.approx(2.0 * there.end)
    assert both.at(both.end).value == pytest.approx(there.at(0.0).value, abs=1e-9)


def test_a_loop_follows_a_path_without_python():
    loop = build.build_loop(FORCE, settings())
    loop.set_reference(planned(repeats=1))
    assert loop.python_parts == []


def test_a_path_out_of_reach_is_refused():
    with pytest.raises(
        Unreachable, match=r"the arm cannot follow the path to tool\.x.* is out of reach"
    ):
        planned(centre=[0.0, 1.2])


# In files


def test_waypoints_of_a_file_are_passed_and_others_stay(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("tool.x,tool.y\n0.4,-0.1\n0.5,-0.1\n0.5,0.05\n")
    reference = planned(kind="waypoints", file=str(file), along=[], repeats=1, blend=0.0)
    assert reference.at(reference.end).value[:2] == pytest.approx([0.5, 0.05])
    assert reference.at(0.5 * reference.end).value[4] == pytest.approx(HERE.value[4])
    corner = min(
        np.linalg.norm(reference.at(t).value[:2] - [0.5, -0.1])
        for t in np.arange(0.0, reference.end, 0.005)
    )
    assert corner < 1e-5


def test_waypoints_with_times_are_passed_at_these_times(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("time,tool.x\n0,0.4\n1.5,0.45\n4,0.5\n")
    reference = planned(kind="waypoints", file=str(file), along=[])
    assert [reference.at(t).value[0] for t in (0.0, 1.5, 4.0)] == pytest.approx([0.4, 0.45, 0.5])
    assert reference.end == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"along": ["tool.w", "tool.x"]}, UnknownName, r"coordinate of the path .*'tool\.w'"),
        ({"along": ["tool.x"]}, InvalidValue, "a raster moves two coordinates"),
        ({"size": [0.1]}, InvalidValue, "needs reference.size with two numbers"),
        ({"kind": "waypoints", "points": [1.0, 2.0, 3.0]}, InvalidValue, "points of 2 numbers"),
        ({"kind": "waypoints", "file": "nowhere.csv"}, InvalidValue, "cannot read the points"),
        ({"kind": "line", "along": ["tool.x"], "size": []}, InvalidValue, "needs reference.size"),
    ],
)
def test_a_path_that_makes_no_sense_is_refused_before_anything_moves(changes, error, message):
    with pytest.raises(error, match=message):
        build.check_reference(settings(**changes), MODEL.k)
