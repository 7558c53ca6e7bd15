"""Motions as tables: the same as the curve they are made from, to 1e-12, at any time."""

import numpy as np
import pytest
import ruckig
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from projected_control.control.references import (
    Approach,
    Constant,
    MotionLimits,
    Reference,
    ReferencePoint,
    SetPoint,
    Shifted,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.errors import InvalidValue
from projected_control.model.motion_tables import (
    MotionTable,
    evaluate_motion,
    move_table,
    new_table,
    write_instant,
)

NUMBER = st.floats(-2.0, 2.0)
TIME = st.floats(-1.0, 12.0)
REST = np.zeros(2)


def from_table(table, time, array=None):
    motion = np.full((3, table.size), np.nan)
    evaluate_motion(time, table.array() if array is None else array, motion)
    return motion


@st.composite
def waypoints(draw):
    steps = draw(st.lists(st.floats(0.05, 3.0), min_size=1, max_size=5))
    times = draw(st.floats(-0.5, 2.0)) + np.concatenate([[0.0], np.cumsum(steps)])
    numbers = st.lists(NUMBER, min_size=2 * times.size, max_size=2 * times.size)
    rows = [np.array(draw(numbers)).reshape((-1, 2)) for _ in range(3)]
    return times, rows, draw(st.sampled_from([3, 5]))


@given(waypoints(), TIME)
def test_waypoints_are_the_curve_through_their_points(course, time):
    """Against SciPy's curve in the Bernstein basis; the largest derivative is 1e4 or so."""
    times, rows, order = course
    reference = Waypoints(times, rows[0], rows[1], rows[2] if order == 5 else None, order=order)
    curve = BPoly.from_derivatives(times, np.stack(rows[: 2 if order == 3 else 3], axis=1))
    moment = min(max(time, times[0]), times[-1])
    expected = [curve(moment), curve.derivative()(moment), curve.derivative(2)(moment)]
    if moment != time:
        expected[1:] = REST, REST
    for got, want, size in zip(reference.at(time), expected, (1.0, 1e2, 1e4), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_array_equal(from_table(reference.table, time), reference.at(time))


@given(st.lists(NUMBER, min_size=8, max_size=8), st.floats(0.0, 1.0), TIME)
def test_a_set_point_is_what_ruckig_plans(numbers, begin, time):
    start = ReferencePoint(*np.array(numbers[:6]).reshape((3, 2)) * [[1.0], [0.2], [0.5]])
    goal, limits = np.array(numbers[6:]), MotionLimits(0.5, 2.0, 20.0)
    reference = SetPoint(start, goal, limits, begin)
    problem = ruckig.InputParameter(2)
    problem.current_position, problem.target_position = start.value.tolist(), goal.tolist()
    problem.current_velocity = start.rate.tolist()
    problem.current_acceleration = start.acceleration.tolist()
    problem.max_velocity = np.maximum(0.5, np.abs(start.rate)).tolist()
    problem.max_acceleration = [2.0, 2.0]
    problem.max_jerk = [20.0, 20.0]
    plan = ruckig.Trajectory(2)
    ruckig.Ruckig(2).calculate(problem, plan)
    assert reference.end == pytest.approx(begin + plan.duration, abs=1e-12)
    if time < begin:
        expected = start.value, REST, REST
    elif time > reference.end:
        expected = goal, REST, REST
    else:
        expected = plan.at_time(time - begin)
    for got, want in zip(from_table(reference.table, time), expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


@given(TIME)
def test_sines_are_sines(time):
    reference = Sines([0.1, 0.2], [[Sine(0.3, 0.5, 0.2), Sine(0.1, 2.0)], []])
    a, b = np.pi * time + 0.2, 4.0 * np.pi * time
    expected = [
        [0.1 + 0.3 * np.sin(a) + 0.1 * np.sin(b), 0.2],
        [0.3 * np.pi * np.cos(a) + 0.4 * np.pi * np.cos(b), 0.0],
        [-0.3 * np.pi**2 * np.sin(a) - 1.6 * np.pi**2 * np.sin(b), 0.0],
    ]
    np.testing.assert_allclose(from_table(reference.table, time), expected, atol=1e-12)


START = ReferencePoint(np.array([0.1, 0.3]), np.array([0.4, -0.2]), REST)
WAVE = Sines([0.1, 0.2], [[Sine(0.3, 0.5, 0.2)], [Sine(0.1, 1.0)]])
KINDS = {
    "constant": Constant([0.3, -0.1]),
    "shifted waypoints": Shifted(Waypoints([0.0, 1.0, 3.0], [[0, 1], [1, 0], [2, 2]]), 1.5),
    "shifted sines": Shifted(WAVE, 0.7),
    "approach to sines": Approach(START, WAVE, MotionLimits(), 0.5),
    "approach to waypoints": Approach(
        START, Waypoints([0.0, 2.0], [[0.0, 0.5], [1.0, 0.2]]), MotionLimits(), 0.5
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_its_table(name):
    reference, random = KINDS[name], np.random.default_rng(1)
    array = reference.table.array()
    for time in random.uniform(-2.0, 15.0, 500):
        got = from_table(reference.table, time, array)
        np.testing.assert_allclose(got, reference.at(time), atol=1e-12, err_msg=f"{time}")


@given(TIME)
def test_motions_side_by_side(time):
    tables = [KINDS["shifted waypoints"].table, WAVE.table, KINDS["approach to sines"].table]
    together = MotionTable.stacked(tables)
    expected = np.concatenate([from_table(table, time) for table in tables], axis=1)
    np.testing.assert_array_equal(from_table(together, time), expected)


def test_a_time_that_is_not_a_number_gives_the_beginning():
    np.testing.assert_array_equal(KINDS["shifted waypoints"].at(np.nan).value, [0.0, 1.0])
    np.testing.assert_allclose(WAVE.at(np.nan).value, [0.1 + 0.3 * np.sin(0.2), 0.2])


def test_a_table_with_room_to_spare_says_the_same():
    table = KINDS["approach to sines"].table
    roomy, roomier = new_table(2, 100, 50), new_table(2, 200, 60)
    table.write(roomy)
    move_table(roomy, roomier)
    for time in np.linspace(0.0, 9.0, 50):
        expected = from_table(table, time)
        np.testing.assert_array_equal(from_table(table, time, roomy), expected)
        np.testing.assert_array_equal(from_table(table, time, roomier), expected)
    with pytest.raises(InvalidValue, match="does not fit into a table for 2 numbers, 3 pieces"):
        table.write(new_table(2, 3, 3))


def test_an_instant_is_exactly_what_was_written():
    array, point = new_table(2, 1, 0), np.random.default_rng(0).normal(size=(3, 2))
    write_instant(array, 0.37, point)
    motion = np.empty((3, 2))
    evaluate_motion(0.37, array, motion)
    np.testing.assert_array_equal(motion, point)


def test_a_table_without_pieces_changes_nothing():
    motion = np.full((3, 2), 7.0)
    evaluate_motion(1.0, new_table(2, 0, 0), motion)
    np.testing.assert_array_equal(motion, 7.0)


def test_a_reference_of_ones_own_has_no_table():
    class Ramp(Reference):
        size = 1

        def at(self, time):
            return ReferencePoint(np.array([time]), np.ones(1), np.zeros(1))

    assert Ramp().table is None
    assert Shifted(Ramp(), 1.0).table is None
