"""From settings to arms, controllers, guards, references and plants."""

import numpy as np
import pytest
from arms import random_urdf

from projected_control.control import AntiWindup, Law
from projected_control.control.activation import obstacles
from projected_control.control.references import ReferencePoint
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constraints import (
    Angle,
    Distance,
    FrameFixed,
    Hinge,
    JointCoupling,
    JointLocked,
    LoopClosure,
    Parallel,
    PointAtPoint,
    PointOnCircle,
    PointOnLine,
    PointOnPlane,
    PointOnSphere,
)
from projected_control.resources import share_file
from projected_control.settings import build as build
from projected_control.settings.inspection import inspect
from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE, checked, parameters_of

START = [-2.8, 2.0, 0.8]
SLIDER = {
    "robot_description_file": "three_link_slider.urdf.xacro",
    "constraint.kind": "point_on_line",
    "constraint.frame": "tip",
    "constraint.point": [0.0, -0.27, 0.0],
    "constraint.direction": [1.0, 0.0, 0.0],
    "constraint.plane_normal": [0.0, 0.0, 1.0],
    "coordinates": ["tip.x", "tip.angle"],
    "simulation.start": [-3.0, 2.0, 1.0],
}
CRANK = {
    "robot_description_file": "slider_crank.urdf.xacro",
    "passive_joints": ["joint_2"],
    "constraint.point": [0.0, 0.0, 0.0],
    "constraint.plane_normal": [0.0, -1.0, 0.0],
    "coordinates": ["joint_1"],
}
SPATIAL = {
    "robot_description": random_urdf(3, 7),
    "constraint.frame": "end_7",
    "constraint.plane_normal": [],
    "coordinates": ["joint_1"],
}


LEVELS = {"operational_space.priority": [1.0, 2.0]}
ACROSS = {"coordinates": ["tip.x", "tip.y", "tip.angle"]}
FREE = {"constraint.kind": "none"}
JOINTS = {**FREE, "coordinates": ["joint_1", "joint_2", "joint_3"]}


def made(node, changes):
    """Settings of the 3R arm on its slider, with changes."""
    slider = {name: value for name, value in SLIDER.items() if name in parameters_of(node)}
    return checked(node, {**slider, **changes})


def controller(node=MOTION, **changes):
    """The same; dots are written as two underscores."""
    return made(node, {name.replace("__", "."): value for name, value in changes.items()})


def arm_settings(**changes):
    return controller(ARM, **changes)


def rest(*place):
    return ReferencePoint(np.array(place), *np.zeros((2, len(place))))


def choices(name):
    """All words the table allows."""
    return parameters_of(FORCE)[name].choices


# Arms


def test_arm_from_the_package_from_a_path_and_from_text():
    named = build.build_arm(controller())
    path = build.build_arm(
        controller(
            robot_description_file=str(share_file("urdf", "three_link_slider.urdf.xacro")),
        )
    )
    text = build.build_arm(controller(robot_description=named.urdf))
    for arm in (path, text):
        assert arm.joint_names == named.joint_names
        q, v = np.array(START), np.ones(3)
        np.testing.assert_allclose(arm.update(q, v).M, named.update(q, v).M, rtol=1e-9)


def test_arm_with_arguments_locked_joints_and_other_gravity():
    upright = {"robot_description_arguments": ["plane:=vertical", "l1:=0.5"]}
    arm = build.build_arm(controller(**upright, joints=["joint_1", "joint_2"], gravity=1.62))
    assert arm.joint_names == ("joint_1", "joint_2")
    np.testing.assert_allclose(arm.gravity, [0.0, 0.0, -1.62])
    assert arm.update(np.array([0.1, 0.2]), np.zeros(2)).h.any()
    assert arm.frame("link_2").position[0] == pytest.approx(0.5 * np.cos(0.1))


def test_a_firmware_that_carries_the_weight_leaves_nothing_to_carry():
    settings = {
        "robot_description_arguments": ["plane:=vertical"],
        "effort_includes_gravity": False,
    }
    arm = build.build_arm(controller(**settings))
    assert not arm.update(np.array(START), np.zeros(3)).h.any()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"robot_description_arguments": ["l1=0.5"]}, "must be name:=value, got 'l1=0.5'"),
        ({"robot_description_file": "missing.urdf"}, "cannot find urdf/missing.urdf"),
        ({"robot_description": "<robot"}, "not well-formed XML"),
        ({"robot_description_file": ""}, "no arm is described: give robot_description_file"),
        ({"joints": ["joint_1", "elbow"]}, "unknown joint 'elbow'; there are: joint_1, joint_2"),
    ],
)
def test_bad_arms_are_refused_with_the_reason(changes, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_arm(controller(**changes))


def test_nothing_of_the_demo_arm_is_assumed():
    """An arm that is not described is refused, whatever else is said."""
    with pytest.raises(InvalidValue, match="no arm is described"):
        build.build_loop(MOTION, checked(MOTION, {}))
    with pytest.raises(InvalidValue, match="no arm is described"):
        build.build_plant(checked(ARM, {}))
    described = {"robot_description": random_urdf(3, 7), "coordinates": ["joint_1"]}
    with pytest.raises(InvalidValue, match=r"constraint\.kind must be given"):
        build.build_model(checked(MOTION, described))


# Constraints

LEVEL = [0, 0, 1]


def kind(name, **settings):
    """Parameters of a constraint of this kind."""
    return {"constraint.kind": name, **{f"constraint.{k}": v for k, v in settings.items()}}


KINDS = {
    "point_on_line": ({}, PointOnLine, 1),
    "point_on_line in space": ({**SPATIAL, **kind("point_on_line")}, PointOnLine, 2),
    "point_on_plane": (kind("point_on_plane", direction=[0, 1, 0]), PointOnPlane, 1),
    "point_at_point": (kind("point_at_point"), PointAtPoint, 2),
    "point_at_point in space": ({**SPATIAL, **kind("point_at_point")}, PointAtPoint, 3),
    "point_on_circle": (kind("point_on_circle", radius=0.2, direction=LEVEL), PointOnCircle, 1),
    "point_on_surface": (kind("point_on_surface", surface="sphere", radius=0.2), PointOnSphere, 1),
    "distance": (kind("distance", length=0.2), Distance, 1),
    "parallel": (kind("parallel", axis=[1, 0, 0]), Parallel, 2),
    "angle": (kind("angle", axis=[1, 0, 0], angle=1.2), Angle, 1),
    "frame_fixed": (kind("frame_fixed", directions=["tx", "rz"]), FrameFixed, 2),
    "hinge": (kind("hinge", axis=LEVEL, direction=LEVEL), Hinge, 5),
    "loop": (kind("loop", other_frame="base_link"), LoopClosure, 2),
    "joint_coupling": (
        kind("joint_coupling", joint="joint_1", other_joint="joint_2", ratio=2.0),
        JointCoupling,
        1,
    ),
    "joint_locked": (kind("joint_locked", joint="joint_1", position=0.4), JointLocked, 1),
    "none": ({"constraint.kind": "none"}, None, 0),
}


def test_every_kind_of_constraint_is_tried_here():
    assert {name.split()[0] for name in KINDS} == set(choices("constraint.kind"))


@pytest.mark.parametrize("node", [MOTION, ARM])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_constraint_builds_and_evaluates(name, node):
    changes, made_kind, rows = KINDS[name]
    if node == ARM:
        changes = {name: value for name, value in changes.items() if name != "coordinates"}
    settings = made(node, changes)
    constraint = build.build_constraint(settings)
    if made_kind is None:
        assert constraint is None
        return
    assert type(constraint) is made_kind
    assert constraint.rows == rows
    arm = build.build_arm(settings)
    arm.update(np.full(arm.n, 0.3), np.full(arm.n, 0.1))
    assert constraint.jacobian(arm).shape == (rows, arm.n)
    assert np.isfinite(constraint.residual(arm)).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"constraint.frame": "hand"}, "unknown frame 'hand'; there are: .*tip"),
        ({"constraint.direction": [0.0, 0.0, 0.0]}, "constraint.direction must have a direction"),
        ({"constraint.direction": [0.0, 0.0, 1.0]}, "is not in the plane"),
        ({"constraint.point": [0.0, 1.0]}, "constraint.point must have 3 numbers, got 2"),
        (
            {"constraint.kind": "loop"},
            r"'loop' .* needs constraint\.other_frame",
        ),
        ({"constraint.kind": ""}, r"constraint\.kind must be given.* one of "),
        ({"constraint.point": []}, r"'point_on_line' .* needs constraint\.point"),
        ({"constraint.direction": []}, r"'point_on_line' .* needs constraint\.direction"),
        ({"constraint.frame": ""}, r"'point_on_line' .* needs constraint\.frame"),
    ],
)
def test_bad_constraints_are_refused_with_the_reason(changes, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_model(made(MOTION, changes))


# Coordinates


def test_every_kind_of_coordinate_builds():
    settings = controller()
    names = ["tip.x", "link_3.y", "tip.z", "tip.angle", "joint_2"]
    arm = build.build_arm(settings)
    coordinates = build.build_coordinates(names, arm, settings)
    assert coordinates.names == tuple(names)
    assert [member.unit for member in coordinates.members] == ["m", "m", "m", "rad", "rad"]
    arm.update(np.array(START), np.zeros(3))
    tip = arm.frame("tip").position
    expected = [tip[0], arm.frame("link_3").position[1], tip[2], sum(START), START[1]]
    np.testing.assert_allclose(coordinates.value(arm), expected, atol=1e-12)


def test_a_joint_that_slides_is_a_length():
    arm = build.build_arm(controller(robot_description=random_urdf(4, 3, kinds=("prismatic",))))
    (member,) = build.build_coordinates(["joint_2"], arm, controller()).members
    assert member.unit == "m"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"coordinates": ["tip.roll"]}, "link.x, link.y, link.z, link.angle or a joint"),
        ({"coordinates": ["hand.x"]}, "unknown frame 'hand'"),
        ({"coordinates": ["hand.angle"]}, "unknown frame 'hand'"),
        ({"coordinates": ["elbow"]}, "unknown joint 'elbow'"),
        ({"coordinates": ["tip.x", "tip.x"]}, "named twice"),
        ({"coordinates": []}, "coordinates must be given.*joint_1, joint_2, joint_3"),
        (
            {**SPATIAL, "coordinates": ["end_7.angle"]},
            "needs the plane it is measured in: constraint.plane_normal",
        ),
    ],
)
def test_bad_coordinates_are_refused_with_the_reason(changes, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_model(made(MOTION, changes))


# Metrics

METRICS = {
    "none": ({}, [1.0, 1.0, 1.0]),
    "length": ({"metric.length": 0.5}, [1.0, 1.0, 1.0]),
    "limits": ({"limits.effort": [2.0, 4.0, 8.0]}, [0.5, 1.0, 2.0]),
}


def test_every_metric_is_tried_here():
    assert set(METRICS) == set(choices("metric.kind"))


@pytest.mark.parametrize("kind", METRICS)
def test_every_metric_builds(kind):
    changes, root = METRICS[kind]
    model = build.build_model(made(MOTION, {"metric.kind": kind, **changes}))
    np.testing.assert_allclose(model.sqrt_metric, root, rtol=1e-15)


def test_a_length_turns_forces_of_sliding_joints_into_torques():
    kinds = ("prismatic", "revolute")
    sliding = random_urdf(4, 3, kinds=kinds)
    settings = {**SPATIAL, "robot_description": sliding, "constraint.kind": "none"}
    model = build.build_model(
        made(MOTION, {**settings, "metric.kind": "length", "metric.length": 0.5})
    )
    root = np.where(model.arm.prismatic, 2.0, 1.0)
    assert 0 < np.sum(model.arm.prismatic) < 3
    np.testing.assert_allclose(model.sqrt_metric, root / np.prod(root) ** (1 / 3), rtol=1e-15)


# Controllers


@pytest.mark.parametrize(
    ("node", "changes", "law"),
    [
        (MOTION, {}, Law.PIDC),
        (MOTION, {"law": "idc"}, Law.IDC),
        (FORCE, {}, Law.HYBRID),
        (PASSIVE, CRANK, Law.PASSIVE),
        (PASSIVE, {**CRANK, "force.enabled": True}, Law.PASSIVE_FORCE),
        (MOTION, {"law": "operational_space", **LEVELS}, Law.OPERATIONAL_SPACE),
        (FORCE, {"law": "operational_space", **LEVELS}, Law.OPERATIONAL_SPACE),
        (PASSIVE, {**CRANK, "law": "operational_space"}, Law.OPERATIONAL_SPACE),
        (MOTION, {"law": "impedance"}, Law.IMPEDANCE),
        (FORCE, {"law": "impedance", "impedance.projected": False}, Law.IMPEDANCE),
        (PASSIVE, {**CRANK, "law": "impedance"}, Law.IMPEDANCE),
        (PASSIVE, {**CRANK, "law": "least_contact_force"}, Law.LEAST_CONTACT_FORCE),
        (FORCE, {"law": "selection", **ACROSS, "selection.force": ["tip.y"]}, Law.SELECTION),
        (FORCE, {"law": "admittance", **ACROSS, "selection.force": ["tip.y"]}, Law.ADMITTANCE),
        (MOTION, {"law": "computed_torque", **JOINTS}, Law.COMPUTED_TORQUE),
        (MOTION, {"law": "gravity", **FREE}, Law.GRAVITY),
    ],
    ids=lambda value: value.name if isinstance(value, Law) else None,
)
def test_every_law_builds_and_answers(node, changes, law):
    loop = build.build_loop(node, made(node, changes))
    assert loop.controller.law is law
    n = loop.controller.model.n
    q = np.array([0.8, 2.0 * np.pi - 1.6]) if n == 2 else np.array(START)
    report = loop.update(RawState(q, np.zeros(n), 0.0))
    assert np.isfinite(report.effort).all()


@pytest.mark.parametrize(
    ("node", "changes", "words"),
    [
        (MOTION, {"law": "hybrid"}, "unknown law 'hybrid'.*computed_torque, gravity, idc"),
        (FORCE, {"law": "gravity"}, "unknown law"),
        (FORCE, {"law": "selection"}, r"selection\.force"),
        (FORCE, {"law": "admittance", **ACROSS}, r"selection\.force"),
        (
            FORCE,
            {"force.derivative": 0.01, "force.cutoff": 0.0},
            r"force\.derivative.*force\.cutoff",
        ),
        (MOTION, {"law": "computed_torque"}, "follows every joint"),
        (MOTION, {"law": "operational_space", "operational_space.priority": [1.5, 1]}, "whole"),
        (MOTION, {"law": "operational_space", "operational_space.priority": [1]}, "2 numbers"),
        (MOTION, {"law": "impedance", "impedance.stiffness": [1.0, -1.0]}, "positive definite"),
        (MOTION, {"law": "impedance", "impedance.stiffness": [1.0] * 3}, "2 × 2 = 4 numbers"),
        (MOTION, {"law": "impedance", "impedance.inertia": [1.0]}, "disturbance.kind to observer"),
        (MOTION, {"law": "impedance", "disturbance.kind": "integral"}, "take back"),
    ],
)
def test_what_makes_no_law_is_refused(node, changes, words):
    with pytest.raises(ProjectedControlError, match=words):
        build.build_loop(node, made(node, changes))


def test_an_impedance_is_refused_where_it_would_diverge_at_the_start():
    """20 MN/m, on any pose of this arm: said by whatever keeps a controller from starting."""
    changes = {"law": "impedance", "impedance.stiffness": [1e6, 1e6]}
    loop = build.build_loop(MOTION, made(MOTION, changes))
    found = obstacles(loop, np.array(START), 1.0)
    assert any("the impedance would diverge here" in text for text in found)


def test_gains_arrive_where_they_belong():
    settings = controller(
        FORCE,
        gains__stiffness=[10.0, 20.0],
        gains__damping=[3.0],
        gains__null_damping=4.0,
        force__proportional=0.5,
        force__integral=2.5,
        force__cutoff=0.0,
        force__delay=1,
        force__anti_windup="back_calculation",
        rate=500.0,
    )
    built = build.build_controller(FORCE, settings)
    assert built.period == 1.0 / 500.0
    np.testing.assert_array_equal(built.gains.array(2), [[10, 20], [3, 3], [4, 4]])
    assert built.force.gains.cutoff is None
    assert (built.force.gains.proportional, built.force.gains.integral) == (0.5, 2.5)
    assert built.force.gains.anti_windup is AntiWindup.BACK_CALCULATION


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limits.effort": [1000.0]}, "limits.effort of joint_1 is 1000, the description's 10"),
        ({"limits.velocity": [100.0]}, "limits.velocity of joint_1 is 100, the description's 20"),
        ({"limits.lower": [-7.0, -1.0, -1.0]}, "limits.lower of joint_1 is -7, the description's"),
        ({"limits.upper": [1.0, 1.0, 7.0]}, "limits.upper of joint_3 is 7, the description's"),
    ],
)
def test_limits_wider_than_the_descriptions_need_a_word(changes, words):
    with pytest.raises(InvalidValue, match="wider than the description allows: ") as refused:
        build.build_loop(MOTION, made(MOTION, changes))
    assert words in str(refused.value)
    assert "limits.above_description: true" in str(refused.value)
    build.build_loop(MOTION, made(MOTION, {**changes, "limits.above_description": True}))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, ["add effort_includes_gravity: true (the efforts do)", "add watchdog: effort_w"]),
        ({"watchdog": "effort_watchdog"}, ["add effort_includes_gravity: true (the efforts do)"]),
        ({"effort_includes_gravity": True}, ["add watchdog: effort_watchdog"]),
        ({"effort_includes_gravity": True, "watchdog": "none"}, []),
        ({"effort_includes_gravity": False, "hardware": "plugin"}, []),
        ({"hardware": "plugin"}, ["add effort_includes_gravity: true (the efforts do)"]),
        ({"hardware": "topics"}, []),
    ],
)
def test_of_a_real_arm_weight_and_watchdog_are_said(said, words):
    """In `check`, and so in the launch files."""
    found = inspect(MOTION, made(MOTION, {"hardware": "ros2_control", **said}), START)
    troubles = [text for text in found.troubles if "is a real arm" in text]
    assert len(troubles) == len(words)
    assert all(word in text for word, text in zip(words, troubles, strict=True)), troubles


@pytest.mark.parametrize("strategy", choices("force.anti_windup"))
def test_every_anti_windup_strategy_builds(strategy):
    gains = build.build_force_gains(controller(FORCE, force__anti_windup=strategy))
    assert gains.anti_windup.value == strategy


@pytest.mark.parametrize("source", choices("force.source"))
def test_every_source_of_the_force_builds(source):
    loop = build.build_loop(FORCE, controller(FORCE, force__source=source))
    assert loop.force_source.name == source
    assert loop.needs_wrench is (source == "sensor")


def test_limits_come_from_the_description_unless_given():
    settings = controller(limits__effort=[5.0], limits__lower=[-3.5, -3.0, -3.0])
    limits = build.build_limits(settings, build.build_arm(settings))
    np.testing.assert_array_equal(limits.effort, [5.0, 5.0, 5.0])
    np.testing.assert_array_equal(limits.velocity, [20.0, 20.0, 20.0])
    np.testing.assert_array_equal(limits.lower, [-3.5, -3.0, -3.0])
    np.testing.assert_allclose(limits.upper, [2.0 * np.pi] * 3)


@pytest.mark.parametrize(
    ("node", "changes", "reason"),
    [
        (MOTION, {"gains.stiffness": [1.0, 2.0, 3.0]}, r"gains\.stiffness must be one number or 2"),
        (MOTION, {"gains.stiffness": [1e5]}, r"the motion loop of tip\.x would diverge"),
        (MOTION, {"rate": 50.0, "gains.damping": [100.0]}, r"at 50 Hz.*between 1 and 100 1/s"),
        (FORCE, {"force.cutoff": 0.0}, "the force loop would diverge.*G_F must stay below"),
        (FORCE, {"force.delay": 6}, "the force loop would diverge"),
        (FORCE, {"force.reference": [1.0, 2.0]}, "force.reference must have 1 numbers"),
        (FORCE, {"constraint.kind": "none"}, "force control needs a constraint"),
        (PASSIVE, {}, "no joint is passive"),
        (MOTION, {"limits.effort": [1.0, 2.0]}, r"limits\.effort must be one number or 3"),
        (
            MOTION,
            {"limits.lower": [1.0], "limits.upper": [0.0]},
            "position limits are inconsistent",
        ),
    ],
)
def test_bad_controllers_are_refused_with_the_reason(node, changes, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_loop(node, made(node, changes))


def test_only_controllers_are_controllers():
    with pytest.raises(InvalidValue, match="simulated_arm is no controller"):
        build.build_controller(ARM, controller())


# References


def test_hold_stays_where_the_arm_is():
    reference = build.build_reference(controller(), rest(0.1, 0.2), 3.0)
    for time in (0.0, 3.0, 100.0):
        point = reference.at(time)
        np.testing.assert_array_equal(point.value, [0.1, 0.2])
        assert not point.rate.any()


def test_hold_while_moving_comes_to_rest_without_a_jump():
    moving = ReferencePoint(np.array([0.1, 0.0]), np.array([0.3, 0.0]), np.zeros(2))
    reference = build.build_reference(controller(), moving, 2.0)
    np.testing.assert_allclose(reference.at(2.0).rate, moving.rate, atol=1e-9)
    end = reference.at(10.0)
    np.testing.assert_allclose(end.value, moving.value, atol=1e-9)
    assert not end.rate.any()


def test_sine_is_approached_and_then_followed():
    settings = controller(
        reference__kind="sine",
        reference__offset=[-0.1, 0.0],
        reference__amplitude=[0.2, 0.0],
        reference__frequency=[0.5],
        reference__phase=[0.3],
    )
    sines = build.build_sines(settings, 2)
    reference = build.build_reference(settings, rest(0.0, 0.2), 1.0)
    np.testing.assert_allclose(reference.at(1.0).value, [0.0, 0.2], atol=1e-9)
    times = np.arange(1.0, 6.0, 1e-3)
    values = np.array([reference.at(time).value for time in times])
    assert np.abs(np.diff(values, axis=0)).max() < 2e-3
    late = [reference.at(t).value[0] for t in np.arange(10.0, 12.0, 0.01)]
    assert max(late) == pytest.approx(0.1, abs=1e-3)
    assert min(late) == pytest.approx(-0.3, abs=1e-3)
    np.testing.assert_allclose(sines.at(0.0).value, [-0.1 + 0.2 * np.sin(0.3), 0.0])


def test_sine_without_approach_begins_at_once():
    settings = controller(
        reference__kind="sine", reference__amplitude=[0.2], reference__approach=False
    )
    reference = build.build_reference(settings, rest(0.0, 0.0), 1.0)
    np.testing.assert_allclose(reference.at(1.0).rate, [0.2 * np.pi] * 2)


def test_every_kind_of_reference_is_tried_here():
    """Paths are tried in test_paths.py."""
    paths = {"line", "circle", "spiral", "raster", "waypoints"}
    assert set(choices("reference.kind")) == {"hold", "sine"} | paths


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reference.max_rate": [1.0, 1.0, 1.0]}, "reference.max_rate must be one number or 2"),
        (
            {"reference.kind": "sine", "reference.phase": [0.0] * 3},
            "reference.phase must be one number or 2",
        ),
    ],
)
def test_bad_references_are_refused_with_the_reason(changes, reason):
    with pytest.raises(InvalidValue, match=reason):
        build.build_reference(made(MOTION, changes), rest(0.0, 0.0), 0.0)


# Plants


def test_plant_starts_where_it_is_told_and_as_fast():
    settings = arm_settings(
        simulation__coordinates=["tip.x", "tip.angle"],
        simulation__values=[-0.05, 0.1],
        simulation__rates=[0.2, -0.3],
    )
    hardware = build.build_plant(settings)
    constraint = hardware.plant.model.constraint
    state = hardware.read()
    arm = build.build_arm(settings).update(state.q, state.v)
    np.testing.assert_allclose(arm.frame("tip").position[:2], [-0.05, -0.27], atol=1e-9)
    assert np.sum(state.q) == pytest.approx(0.1)
    assert np.sum(state.v) == pytest.approx(-0.3)
    np.testing.assert_allclose(constraint.jacobian(arm) @ state.v, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["point_on_line", "point_on_plane", "point_at_point", "none"])
def test_plants_with_every_kind_of_constraint_step(name):
    changes = {k: v for k, v in KINDS[name][0].items() if k != "coordinates"}
    hardware = build.build_plant(made(ARM, changes))
    for _ in range(10):
        hardware.write(np.zeros(3))
    assert np.isfinite(hardware.read().q).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"simulation.coordinates": ["tip.x"], "simulation.values": [3.0]},
            "no configuration of .* satisfies",
        ),
        (
            {"simulation.coordinates": ["tip.x"], "simulation.values": [0.0, 0.0]},
            r"simulation\.values must have 1 numbers, .*, got 2",
        ),
        ({"simulation.rates": [0.1]}, "simulation.rates must have one number per name"),
        (
            {"simulation.start": [0.0, 0.0]},
            r"simulation\.start must have 3 numbers, one per joint \(joint_1, joint_2, joint_3\)",
        ),
        ({"simulation.step": 0.0007}, "a whole number of integration steps"),
        ({"passive_joints": ["elbow"]}, "unknown joint 'elbow'"),
        ({"friction.coulomb": [0.1, 0.2]}, "friction.coulomb must be one number or 3"),
    ],
)
def test_bad_plants_are_refused_with_the_reason(changes, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        build.build_plant(made(ARM, changes))


@pytest.mark.parametrize("number", [3, 7])
def test_a_plant_without_a_start_finds_one_within_the_ranges(number):
    urdf = random_urdf(number, 6)
    held = {
        "robot_description": urdf,
        "constraint.frame": "end_6",
        "constraint.kind": "none",
        "simulation.start": [],
    }
    hardware = build.build_plant(made(ARM, held))
    limits = hardware.plant.model.arm.limits
    q = hardware.read().q
    assert ((limits.lower <= q) & (q <= limits.upper)).all()


def test_errors_are_of_this_package_and_of_the_usual_kinds():
    with pytest.raises(KeyError):
        build.build_arm(controller(joints=["elbow"]))
    with pytest.raises(ValueError, match="named twice"):
        build.build_model(controller(coordinates=["tip.x", "tip.x"]))
    with pytest.raises(UnknownName) as caught:
        build.build_arm(controller(joints=["elbow"]))
    assert caught.value.known == ["joint_1", "joint_2", "joint_3"]


def test_a_start_is_guessed_for_continuous_joints_without_a_warning():
    """They have no middle: −∞ and ∞ are not added."""
    urdf = random_urdf(3, 7, kinds=("continuous",)).replace('lower="-3" upper="3" ', "")
    urdf = urdf.replace('type="continuous"', 'type="revolute"', 1)
    urdf = urdf.replace("<limit ", '<limit lower="0.5" upper="2.5" ', 1)
    arm = Arm.from_urdf(urdf)
    assert np.isinf(arm.limits.lower).sum() == 6
    with np.errstate(all="raise"):
        guess = build.start_guess(arm, [])
    assert guess.tolist() == [1.5] + [0.0] * 6
    assert ((guess >= arm.limits.lower) & (guess <= arm.limits.upper)).all()
