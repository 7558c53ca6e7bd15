"""Kinds that a parameter file can name: constraints and coordinates, ours and other packages'."""

from importlib import metadata
from importlib.metadata import EntryPoint
from textwrap import dedent
from types import SimpleNamespace

import numpy as np
import pytest
from arms import random_urdf, three_link_arm

from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constraints import (
    CONSTRAINTS,
    Angle,
    ConstraintKind,
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
from projected_control.model.coordinates import COORDINATES, coordinate_named
from projected_control.planning import assemble
from projected_control.settings import groups
from projected_control.settings.build import build_model
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import MOTION, checked_controller

NOTHING = groups.Constraint()
GIVEN = {
    "frame": "tip",
    "other_frame": "base_link",
    "point": [0.0, -0.27, 0.0],
    "direction": [1.0, 0.0, 0.0],
    "axis": [0.0, 1.0, 0.0],
    "angle": [0.5],
    "length": [0.3],
    "radius": [0.4],
    "surface": "sphere",
    "joint": "joint_1",
    "other_joint": "joint_2",
    "ratio": [2.0],
    "position": [0.1],
}
MADE = {
    "point_on_line": PointOnLine,
    "point_on_plane": PointOnPlane,
    "point_at_point": PointAtPoint,
    "point_on_circle": PointOnCircle,
    "point_on_surface": PointOnSphere,
    "distance": Distance,
    "parallel": Parallel,
    "angle": Angle,
    "frame_fixed": FrameFixed,
    "hinge": Hinge,
    "loop": LoopClosure,
    "joint_coupling": JointCoupling,
    "joint_locked": JointLocked,
    "none": type(None),
}


def settings(**values):
    return SimpleNamespace(**{**vars(NOTHING), **values})


@pytest.fixture
def other_package(monkeypatch, tmp_path):
    """Install a kind as another package would: a module, and entry points that name it."""

    def install(module, content, **entry_points):
        (tmp_path / f"{module}.py").write_text(dedent(content))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda group: [
                EntryPoint(name, value, group)
                for name, (where, value) in entry_points.items()
                if where == group
            ],
        )
        for kinds in (CONSTRAINTS, COORDINATES):  # as in a process that has just begun
            monkeypatch.setattr(kinds, "_records", dict(kinds._records))
            monkeypatch.setattr(kinds, "_loaded", False)
            monkeypatch.setattr(kinds, "broken", {})

    return install


CIRCLE = """
import numpy as np
from kinds import TipOnCircle

from projected_control.model.constraints import ConstraintKind, Curve, Setting


class DrawnCircle(TipOnCircle):
    def shapes_at(self, x):
        angles = np.linspace(0.0, 2.0 * np.pi, 65)
        circle = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        return [Curve((self.radius + x[0]) * circle)]


RECORD = ConstraintKind(
    "circle",
    "a point on a circle about the base",
    lambda settings: DrawnCircle(settings.frame, settings.radius),
    needs=(
        Setting("frame", "link whose origin is held"),
        Setting("radius", "radius of the circle", "m"),
    ),
)
"""


# Constraints


def test_the_kinds_of_constraint_that_can_be_named():
    assert set(CONSTRAINTS) >= set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_every_record_builds_its_kind_and_says_what_it_is(name):
    record = CONSTRAINTS[name]
    given = {k: v for k, v in GIVEN.items() if (name, k) != ("distance", "point")}
    constraint = record.build(settings(**given))
    assert type(constraint) is MADE[name]
    assert record.name == name
    assert record.title
    if constraint is not None:
        arm = three_link_arm()
        assert constraint.residual(arm).shape == (constraint.rows,)


@pytest.mark.parametrize("name", MADE)
def test_every_setting_that_a_kind_needs_is_missed_by_name(name):
    for need in CONSTRAINTS[name].needs:
        without = {**GIVEN, need.name: type(GIVEN[need.name])()}
        with pytest.raises(InvalidValue, match=rf"'{name}' .* needs constraint\.{need.name}\b"):
            CONSTRAINTS[name].build(settings(**without))


def test_a_missing_setting_says_which_and_why():
    with pytest.raises(InvalidValue) as error:
        CONSTRAINTS["point_on_line"].build(settings(frame="tip", direction=[1.0, 0.0, 0.0]))
    assert str(error.value) == (
        "constraint.kind 'point_on_line' (a point on a line) needs constraint.point [m] (a point "
        "of the line, in the world), which the settings do not give"
    )


def test_an_unknown_kind_lists_what_there_is_nearest_first():
    with pytest.raises(
        UnknownName,
        match="unknown kind of constraint 'point_on_plain'; there are: point_on_plane, ",
    ):
        CONSTRAINTS["point_on_plain"]


def test_a_plane_makes_the_planar_case_of_a_kind():
    planar = settings(**GIVEN, plane_normal=[0.0, 0.0, 1.0])
    rows = {
        name: CONSTRAINTS[name].build(planar).rows
        for name in ("point_on_line", "point_at_point", "loop")
    }
    assert rows == {"point_on_line": 1, "point_at_point": 2, "loop": 2}
    rows = {name: CONSTRAINTS[name].build(settings(**GIVEN)).rows for name in rows}
    assert rows == {"point_on_line": 2, "point_at_point": 3, "loop": 3}


def test_two_kinds_with_one_name_are_refused():
    with pytest.raises(InvalidValue, match="two kinds of constraint called 'point_on_line'"):
        CONSTRAINTS.add(ConstraintKind("point_on_line", "another", lambda settings: None))


def test_a_kind_of_another_package_is_named_like_ours(other_package):
    other_package(
        "some_circle", CIRCLE, circle=("projected_control.constraints", "some_circle:RECORD")
    )
    assert list(CONSTRAINTS)[-1] == "circle"
    constraint = CONSTRAINTS["circle"].build(settings(frame="tip", arguments=["radius:=0.45"]))
    assert constraint.radius == 0.45
    arm = three_link_arm().update(np.array([0.3, 0.5, -0.2]), np.zeros(3))
    assert constraint.jacobian(arm).shape == (1, 3)
    np.testing.assert_allclose(np.linalg.norm(constraint.shapes()[0].points, axis=1), 0.45)


PARAMETERS = """
/**:
  ros__parameters:
    robot_description_file: three_link_slider.urdf.xacro
    constraint:
      kind: circle
      frame: tip
      plane_normal: [0.0, 0.0, 1.0]
      arguments: ["radius:=0.45"]
    coordinates: [tip.y, tip.angle]
"""


def test_a_parameter_file_names_a_kind_of_another_package(other_package, tmp_path):
    """From YAML to a model on the constraint, whose force is found from a wrench."""
    other_package(
        "some_circle", CIRCLE, circle=("projected_control.constraints", "some_circle:RECORD")
    )
    file = tmp_path / "arm.yaml"
    file.write_text(PARAMETERS)
    model = build_model(checked_controller(MOTION, read_parameter_file(file)))
    q = assemble(model.arm, model.constraint, [-1.0, 1.0, 0.5])
    model.evaluate(q, np.zeros(3))
    assert (model.m, model.rank) == (1, 1)
    tip = model.arm.frame("tip").position
    assert np.linalg.norm(tip) == pytest.approx(0.45, abs=1e-9)
    wrench = np.array([*(5.0 * tip / 0.45), 0.0, 0.0, 0.0])
    found = model.constraint.multipliers(model.arm, "tip", wrench)
    np.testing.assert_allclose(found, [5.0], atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "nearest"), [("cirle", "circle"), ("point_on_plain", "point_on_plane")]
)
def test_a_parameter_file_with_an_unknown_kind_lists_all(other_package, tmp_path, kind, nearest):
    other_package(
        "some_circle", CIRCLE, circle=("projected_control.constraints", "some_circle:RECORD")
    )
    file = tmp_path / "arm.yaml"
    file.write_text(PARAMETERS.replace("kind: circle", f"kind: {kind}"))
    with pytest.raises(
        UnknownName, match=f"constraint.kind '{kind}'; there are: {nearest}, .*loop"
    ):
        checked_controller(MOTION, read_parameter_file(file))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], r"'circle' .* needs constraint.radius \[m\] \(radius of the circle\)"),
        (["radius=0.45"], "constraint.arguments must be name:=value, got 'radius=0.45'"),
        (["radios:=0.45"], "unknown argument of constraint.kind 'circle' 'radios'; there are: rad"),
    ],
)
def test_arguments_of_other_kinds_are_refused_with_the_reason(other_package, arguments, reason):
    other_package(
        "some_circle", CIRCLE, circle=("projected_control.constraints", "some_circle:RECORD")
    )
    with pytest.raises((InvalidValue, UnknownName), match=reason):
        CONSTRAINTS["circle"].build(settings(frame="tip", arguments=arguments))


def test_a_kind_that_takes_no_arguments_refuses_them():
    with pytest.raises(
        UnknownName, match=r"unknown argument of constraint\.kind 'point_on_line' 'radius'"
    ):
        CONSTRAINTS["point_on_line"].build(settings(**GIVEN, arguments=["radius:=1"]))


def test_arguments_are_numbers_lists_of_numbers_or_texts():
    seen = []
    names = ("radius", "centre", "side")
    needs = tuple(SimpleNamespace(name=name) for name in names)
    kind = ConstraintKind("any", "anything", lambda given: seen.append(given), needs)
    kind.build(settings(arguments=["radius:=1e-1", "centre:=1,2, -3", "side:=left"]))
    assert [getattr(seen[0], name) for name in names] == [0.1, (1.0, 2.0, -3.0), "left"]


def test_a_package_that_cannot_be_loaded_is_named_and_hides_no_other(other_package):
    """It is warned of once, refused with the reason whenever it is asked for; the rest works."""
    group = "projected_control.constraints"
    other_package(
        "some_circle",
        CIRCLE,
        broken=(group, "not_there_at_all:RECORD"),
        circle=(group, "some_circle:RECORD"),
        point_on_plane=(group, "some_circle:RECORD"),
        empty=(group, "some_circle:np"),
    )
    with pytest.warns(UserWarning, match="cannot be loaded") as warned:
        assert CONSTRAINTS["point_on_line"].name == "point_on_line"
    assert [str(each.message).split("'")[1] for each in warned] == [
        "broken",
        "point_on_plane",  # its record is called circle, of which there is one already
        "empty",
    ]
    reason = (
        r"the constraint 'broken' of the package \? cannot be loaded \(ModuleNotFoundError: No "
        r"module named 'not_there_at_all'\): mend or uninstall that package"
    )
    for _ in range(2):
        with pytest.raises(InvalidValue, match=reason):
            CONSTRAINTS["broken"]
        with pytest.raises(InvalidValue, match=reason):
            checked_controller(MOTION, {"constraint.kind": "broken"})
        assert CONSTRAINTS["circle"].name == "circle"
        assert "broken" not in list(CONSTRAINTS)
    assert "two kinds of constraint called 'circle'" in CONSTRAINTS.broken["point_on_plane"]
    assert CONSTRAINTS["point_on_plane"].name == "point_on_plane"  # ours


# Coordinates


@pytest.mark.parametrize(
    ("name", "unit", "kind"),
    [
        ("tip.x", "m", "position"),
        ("link_3.z", "m", "position"),
        ("tip.angle", "rad", "angle"),
        ("joint_2", "rad", "joint"),
    ],
)
def test_a_name_is_read_by_one_kind_of_coordinate(name, unit, kind):
    arm, planar = three_link_arm(), settings(plane_normal=[0.0, 0.0, 1.0])
    coordinate = coordinate_named(name, arm, planar)
    assert (coordinate.name, coordinate.unit) == (name, unit)
    assert [k for k, record in COORDINATES.items() if record.read(name, arm, planar)] == [kind]


def test_a_joint_that_slides_is_a_length():
    arm = Arm.from_urdf(random_urdf(4, 3, kinds=("prismatic",)))
    assert coordinate_named("joint_2", arm, NOTHING).unit == "m"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tip.roll", "'tip.roll' must be .*link.x, link.y, link.z, link.angle or a joint's name"),
        ("hand.x", "unknown frame 'hand'"),
        ("elbow", "unknown joint 'elbow'; there are: joint_1, joint_2, joint_3"),
        ("tip.angle", "needs the plane it is measured in: constraint.plane_normal"),
    ],
)
def test_names_that_mean_nothing_are_refused_with_the_reason(name, reason):
    with pytest.raises((InvalidValue, UnknownName), match=reason):
        coordinate_named(name, three_link_arm(), NOTHING)


def test_a_coordinate_of_another_package_is_named_like_ours(other_package):
    other_package(
        "some_coordinate",
        """
        from projected_control import Coordinate
        from projected_control.model.coordinates import CoordinateKind


        def read(name, arm, settings):
            frame, dot, what = name.rpartition(".")
            if what != "diagonal":
                return None
            return Coordinate.position(frame, [1.0, 1.0, 0.0], name)


        RECORD = CoordinateKind("diagonal", "link.diagonal", "along x = y", "m", read)
        """,
        diagonal=("projected_control.coordinates", "some_coordinate:RECORD"),
    )
    coordinate = coordinate_named("tip.diagonal", three_link_arm(), NOTHING)
    np.testing.assert_allclose(coordinate.function.direction, [0.5**0.5, 0.5**0.5, 0.0])
    with pytest.raises(InvalidValue, match=r"link\.angle, a joint's name or link\.diagonal"):
        coordinate_named("tip.roll", three_link_arm(), NOTHING)
