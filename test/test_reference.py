"""References: consistent derivatives, smooth starts and ends, limits kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_control.control.references import (
    Constant,
    MotionLimits,
    ReferencePoint,
    SetPoint,
    Shifted,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.errors import InvalidValue

TIMES = [0.0, 0.7, 1.5, 2.0]
PLACES = [[0.0, 1.0], [0.3, 0.5], [-0.2, 0.6], [0.1, 0.0]]
MOVING = ReferencePoint(np.array([0.1, 0.3]), np.array([0.4, -0.2]), np.array([0.5, 1.0]))
AT_REST = ReferencePoint(np.zeros(2), np.zeros(2), np.zeros(2))

KINDS = {
    "constant": lambda: Constant([0.3, -0.1]),
    "sines": lambda: Sines([0.1, 0.2], [[Sine(0.3, 0.5, 0.2), Sine(0.1, 2.0)], []]),
    "cubic": lambda: Waypoints(TIMES, PLACES, order=3),
    "quintic": lambda: Waypoints(TIMES, PLACES),
    "set-point": lambda: SetPoint(MOVING, [1.0, -2.0], begin=0.25),
    "shifted": lambda: Shifted(Waypoints(TIMES, PLACES), 1.5),
}


@pytest.mark.parametrize("name", KINDS)
def test_rates_are_the_derivatives(name):
    """By central differences, away from the instants where a derivative jumps."""
    reference, step = KINDS[name](), 1e-5
    seams = {0.0, 0.7, 1.5, 2.0, 0.25}
    for time in np.linspace(0.003, 4.0, 301):
        if min(abs(time - seam) for seam in seams) < 1e-2:
            continue
        ahead, behind = reference.at(time + step), reference.at(time - step)
        point = reference.at(time)
        slope = (ahead.value - behind.value) / (2.0 * step)
        np.testing.assert_allclose(slope, point.rate, atol=2e-8, err_msg=f"{name} at {time}")
        slope = (ahead.rate - behind.rate) / (2.0 * step)
        # A set-point's jerk jumps: there its difference is off by at most jerk · step.
        np.testing.assert_allclose(slope, point.acceleration, atol=3e-4)


def test_a_set_point_whose_phases_have_no_length_is_reached():
    """The limits of the preset gentle and two centimetres: Ruckig alone finds no motion."""
    way = SetPoint(AT_REST, [-0.02, 0.0], MotionLimits(0.1, 1.0, 10.0))
    assert way.at(way.end).value == pytest.approx([-0.02, 0.0], abs=1e-12)
    assert way.end == pytest.approx(0.4, rel=1e-4)


@pytest.mark.parametrize("name", ["constant", "cubic", "quintic", "set-point"])
def test_at_rest_before_the_start_and_after_the_end(name):
    reference = KINDS[name]()
    for time in (-5.0, -1e-9, reference.end + 1e-9, reference.end + 100.0):
        point = reference.at(time)
        np.testing.assert_array_equal(point.rate, 0.0)
        np.testing.assert_array_equal(point.acceleration, 0.0)
    np.testing.assert_allclose(
        reference.at(-5.0).value, reference.at(getattr(reference, "begin", 0.0)).value, atol=1e-15
    )
    np.testing.assert_allclose(
        reference.at(reference.end + 9.0).value, reference.at(reference.end).value, atol=1e-12
    )


def test_sines_are_what_they_say():
    point = KINDS["sines"]().at(0.3)
    first, second = np.pi * 0.3 + 0.2, 4.0 * np.pi * 0.3
    assert point.value[0] == pytest.approx(0.1 + 0.3 * np.sin(first) + 0.1 * np.sin(second))
    assert point.value[1] == 0.2
    assert KINDS["sines"]().end == np.inf


@pytest.mark.parametrize("name", ["cubic", "quintic"])
def test_waypoints_are_passed_continuously(name):
    """Cubic pieces meet in velocity, quintic ones in acceleration too; ends are at rest."""
    reference, gap = KINDS[name](), 1e-9
    for time, place in zip(TIMES, PLACES, strict=True):
        np.testing.assert_allclose(reference.at(time).value, place, atol=1e-12)
    for time in TIMES[1:-1]:
        before, after = reference.at(time - gap), reference.at(time + gap)
        np.testing.assert_allclose(before.rate, after.rate, atol=1e-6)
        if name == "quintic":
            np.testing.assert_allclose(before.acceleration, after.acceleration, atol=1e-5)
            np.testing.assert_allclose(after.acceleration, 0.0, atol=1e-5)
    for time in (TIMES[0], TIMES[-1]):
        np.testing.assert_allclose(reference.at(time).rate, 0.0, atol=1e-12)
    slope = (np.array(PLACES[2]) - PLACES[0]) / 1.5
    np.testing.assert_allclose(reference.at(0.7).rate, slope, atol=1e-12)


def test_waypoints_with_given_rates_and_accelerations():
    rates = [[0.0], [0.5], [-0.2]]
    accelerations = [[0.1], [0.2], [0.3]]
    reference = Waypoints([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]], rates, accelerations)
    for k in range(3):
        point = reference.at(float(k))
        assert point.rate[0] == pytest.approx(rates[k][0])
        assert point.acceleration[0] == pytest.approx(accelerations[k][0])


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2),
    st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=2),
    st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=2),
    st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2),
)
def test_set_point_keeps_its_limits_and_arrives(start, goal, rate, acceleration):
    """From any motion within the limits; sampled 400 times on the way."""
    limits = MotionLimits(rate=0.5, acceleration=2.0, jerk=20.0)
    moving = ReferencePoint(np.array(start), np.array(rate), np.array(acceleration))
    reference = SetPoint(moving, goal, limits, begin=1.0)
    first = reference.at(1.0)
    for found, given_one in zip(first, moving, strict=True):
        np.testing.assert_allclose(found, given_one, atol=1e-12)
    times = np.linspace(1.0, reference.end, 400)
    points = [reference.at(time) for time in times]
    # A start that brakes too late for the limit on the rate must pass it, by at most a²/2j.
    excess = max(a * a / 40.0 for a in acceleration)
    assert max(np.abs(p.rate).max() for p in points) <= 0.5 + excess + 1e-9
    assert max(np.abs(p.acceleration).max() for p in points) <= 2.0 + 1e-9
    step = times[1] - times[0]
    if step > 1e-6:
        jerk = np.diff([p.acceleration for p in points], axis=0) / step
        assert np.abs(jerk).max() <= 20.0 * (1.0 + 1e-6) + 1e-6
    np.testing.assert_allclose(points[-1].value, goal, atol=1e-9)
    np.testing.assert_array_equal(reference.at(reference.end + 1e-9).value, goal)


def test_set_point_takes_up_a_motion_that_is_too_fast():
    fast = ReferencePoint(np.array([0.0]), np.array([3.0]), np.array([0.0]))
    reference = SetPoint(fast, [5.0], MotionLimits(0.5, 2.0, 20.0))
    assert reference.at(0.0).rate[0] == pytest.approx(3.0)
    assert max(reference.at(t).rate[0] for t in np.linspace(0, reference.end, 200)) <= 3.0 + 1e-9
    assert reference.at(reference.end).value[0] == pytest.approx(5.0, abs=1e-9)


def test_set_point_where_one_is_already():
    reference = SetPoint(AT_REST, [0.0, 0.0], begin=2.0)
    assert reference.end == pytest.approx(2.0)
    np.testing.assert_array_equal(reference.at(3.0).value, 0.0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("time", [np.nan, np.inf, -np.inf])
def test_a_time_that_is_none_does_no_harm(name, time):
    """The guard answers such a stamp; the reference must only survive it."""
    with np.errstate(invalid="ignore"):
        assert KINDS[name]().at(time).value.shape == (2,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant([0.0, np.nan]), "reference must be finite"),
        (lambda: Sines([0.0, 0.0], [[Sine(1.0, 1.0)]]), "for 2 coordinates, got 1"),
        (lambda: Sines([0.0], [[Sine(np.inf, 1.0)]]), "amplitude must be finite"),
        (lambda: Sines([0.0], [[Sine(1.0, -1.0)]]), "frequency must not be negative"),
        (lambda: Waypoints([0.0], [[0.0]]), "two or more and increase"),
        (lambda: Waypoints([0.0, 0.0], [[0.0], [1.0]]), "two or more and increase"),
        (lambda: Waypoints([0.0, 1.0], [[0.0], [1.0]], order=4), "order must be 3 .* or 5"),
        (lambda: Waypoints([0.0, 1.0], [[0.0]]), "waypoints must have shape 2 × any"),
        (lambda: Waypoints([0.0, 1.0], [[0.0], [np.nan]]), "waypoints must be finite"),
        (lambda: Waypoints([0.0, 1.0], [[0.0], [1.0]], [[1.0]]), "rates must have shape 2 × 1"),
        (
            lambda: Waypoints([0.0, 1.0], [[0.0], [1.0]], None, [[1.0]]),
            "accelerations must have shape 2 × 1",
        ),
        (lambda: SetPoint(AT_REST, [1.0]), "set-point must have shape 2"),
        (lambda: SetPoint(AT_REST, [1.0, np.nan]), "set-point must be finite"),
        (lambda: SetPoint(AT_REST, [1.0, 1.0], MotionLimits(rate=0.0)), "rate limit must be one"),
        (
            lambda: SetPoint(AT_REST, [1.0, 1.0], MotionLimits(jerk=[1.0, 2.0, 3.0])),
            "jerk limit must be one number or 2",
        ),
        (lambda: SetPoint(AT_REST._replace(rate=np.full(2, np.nan)), [1, 1]), "rate at the start"),
        (lambda: SetPoint(AT_REST, [1e300, 1.0]), "no smooth motion to the set-point"),
        (lambda: SetPoint(AT_REST, [1.0, 1.0], begin=np.nan), "begin must be finite"),
        (lambda: Shifted(Constant([0.0]), np.inf), "begin must be finite"),
    ],
)
def test_bad_references_are_refused(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()
