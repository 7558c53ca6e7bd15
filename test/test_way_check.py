"""What is looked at before a running controller takes a reference."""

import numpy as np
import pytest
from plane_arms import controller, made, on_plane, start

from projected_control.control.references import (
    Constant,
    MotionLimits,
    ReferencePoint,
    SetPoint,
    Waypoints,
)
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.planning.following import Follower
from projected_control.settings import build
from projected_control.settings.nodes import FORCE, MOTION


def scene(**changes):
    """What looks, where the arm is, and what is to be followed from there on."""
    values = on_plane(6, **changes)
    settings, q = controller(MOTION, values), start(values)
    model = build.build_model(settings).evaluate(q, np.zeros(6))
    here = ReferencePoint(model.theta.copy(), np.zeros(2), np.zeros(2))
    return build.build_way_check(MOTION, settings), q, here


REAL = {"hardware": "plugin"}
LIMITS = MotionLimits(0.1, 1.0, 10.0)


def set_point(here, x, limits=LIMITS):
    return SetPoint(here, here.value + np.array([x, 0.0]), limits, 2.0)


def test_a_real_arm_goes_five_centimetres_at_most_unless_told():
    check, q, here = scene(**REAL)
    check.require(set_point(here, 0.01), q, 2.0, bounded=True)
    check.require(set_point(here, build.REAL_DISTANCE), q, 2.0, bounded=True)
    away = r"leads flange.x 0.4.* allowed are 0.05 .*header.frame_id is relative.*max_distance"
    absolute = SetPoint(here, [0.01, here.value[1]], LIMITS, 2.0)  # taken for relative
    with pytest.raises(InvalidValue, match=away):
        check.require(absolute, q, 2.0, bounded=True)
    there_and_back = Waypoints([2.0, 3.0, 4.0], [here.value, here.value + 0.06, here.value])
    with pytest.raises(InvalidValue, match=r"leads flange.. 0.06"):
        check.require(there_and_back, q, 2.0, bounded=True)
    further, q, here = scene(**REAL, reference__max_distance=[0.2, 0.05])
    further.require(set_point(here, 0.1), q, 2.0, bounded=True)
    simulated, q, here = scene()
    simulated.require(set_point(here, 0.1), q, 2.0, bounded=True)


def test_a_trajectory_keeps_the_stated_rates_on_a_real_arm():
    check, q, here = scene(**REAL)

    def curve(seconds):
        return Waypoints([2.0, 2.0 + seconds], [here.value, here.value + np.array([0.04, 0.0])])

    check.require(curve(1.0), q, 2.0, bounded=True)
    with pytest.raises(
        InvalidValue, match=r"flange.x for a rate of 0.1[45].*, allowed are 0.1 .*more time"
    ):
        check.require(curve(0.5), q, 2.0, bounded=True)
    sooner, q, here = scene(**REAL, reference__max_rate=[1.0])
    with pytest.raises(InvalidValue, match=r"acceleration of 5.7.*, allowed are 1 "):
        sooner.require(curve(0.2), q, 2.0, bounded=True)
    simulated, q, here = scene()
    simulated.require(curve(0.5), q, 2.0, bounded=True)


@pytest.mark.parametrize(
    ("changes", "x", "reason"),
    [
        ({"limits.upper": [2.9, 0.4, 2.9, 2.6, 2.9, 2.0]}, 0.08, "position of joint_2"),
        ({"limits.velocity": [0.01]}, 0.05, "velocity of joint_"),
        ({"limits.effort": [4.5]}, 0.05, "effort of joint_4"),
        ({}, 0.8, "does not reach flange.x, flange.y = "),
    ],
)
def test_the_way_is_looked_at_before_it_is_gone(changes, x, reason):
    check, q, here = scene(**{name.replace(".", "__"): value for name, value in changes.items()})
    with pytest.raises(ProjectedControlError, match=reason):
        check.require(set_point(here, x), q, 2.0, bounded=True)
    as_it_is = {**changes, "reference.check": False}
    check, q, here = scene(**{name.replace(".", "__"): value for name, value in as_it_is.items()})
    check.require(set_point(here, x), q, 2.0, bounded=True)


def test_the_way_is_looked_at_with_the_posture_in_force():
    """Led aside by hand, the arm is drawn back: joint_1 goes to 0, not on from where it is."""
    values = on_plane(6)
    loop, _ = made(MOTION, values)
    q0 = loop.controller.drawn_to
    model = build.build_model(controller(MOTION, values)).evaluate(q0, np.zeros(6))
    here = ReferencePoint(model.theta.copy(), np.zeros(2), np.zeros(2))
    free = np.linalg.svd(model.terms.jacobian)[2][3]
    aside = Follower(model, q0 + 0.3 * free).at(here.value).copy()
    assert abs(aside[1] - q0[1]) > 0.02
    low, high = sorted((aside[1], q0[1]))
    edge = 0.5 * (low + high) + 0.134  # between where joint_2 comes to on either way
    check, *_ = scene(limits__upper=[2.9, edge, 2.9, 2.6, 2.9, 2.0])
    goal = set_point(here, 0.08)
    check.require(goal, aside, 2.0, bounded=True, running=loop)
    loop.controller.set_posture(None)
    with pytest.raises(InvalidValue, match=r"position of joint_2"):
        check.require(goal, aside, 2.0, bounded=True, running=loop)


def test_the_way_is_looked_at_with_the_force_in_force():
    values = on_plane(6, limits__effort=[35.0])
    loop, _ = made(FORCE, values)
    check, q = build.build_way_check(FORCE, controller(FORCE, values)), start(values)
    here = ReferencePoint(loop.controller.model.theta.copy(), np.zeros(2), np.zeros(2))
    goal = set_point(here, 0.01)
    loop.set_force_reference(Constant([0.0]))
    check.require(goal, q, 2.0, bounded=True, running=loop)
    loop.set_force_reference(Waypoints([2.0, 2.05], [[0.0], [150.0]]))
    with pytest.raises(InvalidValue, match=r"effort of joint_"):
        check.require(goal, q, 2.0, bounded=True, running=loop)


def test_the_way_back_into_a_range_is_allowed():
    """A joint beyond its limit: further is refused, back is not, nor to stay."""
    upper = [2.9, 0.3, 2.9, 2.6, 2.9, 2.0]
    check, q, here = scene(limits__upper=upper)
    assert q[1] > 0.3
    with pytest.raises(InvalidValue, match=r"position of joint_2"):
        check.require(set_point(here, 0.05), q, 2.0, bounded=True)
    check.require(set_point(here, -0.02), q, 2.0, bounded=True)
    check.require(Constant(here.value), q, 2.0, bounded=True)


def test_a_curve_with_more_knots_than_instants_is_looked_at_where_it_is_far():
    """Each of 100 points for 10 s is another place; one of them is too far."""
    check, q, here = scene(**REAL)
    times = 2.0 + 10.0 * np.arange(101)
    values = np.tile(here.value, (101, 1))
    values[1::2, 0] += 0.01
    check.require(Waypoints(times, values), q, 2.0, bounded=True)
    values[37, 0] += 0.06
    with pytest.raises(InvalidValue, match=r"leads flange.x 0.07"):
        check.require(Waypoints(times, values), q, 2.0, bounded=True)
