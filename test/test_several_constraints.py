"""Several constraints at once, under names: in YAML, in the force loop, where they repeat."""

import numpy as np
import pytest
from arms import random_urdf

from projected_control import SimulatedArm, run
from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import FrameFixed, Parallel, PointOnPlane, Stack
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.planning import assemble
from projected_control.settings import build
from projected_control.settings.files import read_file
from projected_control.settings.inspection import inspect, missing_moments
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import ARM, FORCE, checked
from projected_control.simulation import Plant

TABLE = """\
/**:
  ros__parameters:
    robot_description_file: arm.urdf
    frames:
      names: [pen]
      pen: {link: end_7, position: [0.0, 0.0, 0.1]}
    constraints:
      names: [table, upright]
      table: {kind: point_on_plane, frame: pen, point: [0.1, 0.2, 0.3], direction: [0, 0, 1]}
      upright:
        kind: parallel
        frame: pen
        axis: [0.0, 0.0, 1.0]
        direction: [0.0, 0.0, 1.0]
    coordinates: [pen.x, pen.y]
    force:
      rows: [table]
      reference: [-5.0]
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "arm.urdf").write_text(random_urdf(3, 7))

    def write(old="", new=""):
        assert old in TABLE
        path = tmp_path / "table.yaml"
        path.write_text(TABLE.replace(old, new))
        return path

    return write


def test_a_file_with_two_constraints_and_a_tool(written):
    settings = Layers.read([written()]).controller(FORCE)
    assert list(settings.constraints) == ["table", "upright"]
    assert settings.constraints["table"].direction == (0.0, 0.0, 1.0)
    loop = build.build_loop(FORCE, settings)
    model, force = loop.controller.model, loop.controller.force
    assert model.m == 3
    assert model.constraint.row_names == ("table.normal", "upright.1", "upright.2")
    np.testing.assert_array_equal(force.controlled, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(loop.force_reference.at(0.0).value, [-5.0, 0.0, 0.0])


def test_check_warns_of_a_moment_that_nothing_gives(written):
    """A table gives a pen no moment: square to it is two coordinates, not a constraint."""
    settings = Layers.read([written()]).controller(FORCE)
    (warning,) = missing_moments(settings)
    assert warning.startswith("constraints.upright (parallel) needs something in the world that")
    assert "constraints.table holds a point and gives none" in warning
    assert "two coordinates of kind tilt" in warning
    assert not missing_moments(settings.changed({"constraints.upright.kind": "hinge"}))


@pytest.mark.parametrize(
    ("directions", "warns"), [(["rx", "ry"], True), (["tz", "rx", "ry"], False), (["tz"], False)]
)
def test_check_warns_of_a_frame_that_is_held_by_moments_alone(written, directions, warns):
    """A pad on a table has a force beside its moments; a pose that is wished for has none."""
    change = {
        "constraints.upright.kind": "frame_fixed",
        "constraints.upright.point": [0.0, 0.0, 0.0],
        "constraints.upright.directions": directions,
    }
    found = missing_moments(Layers.read([written()]).controller(FORCE).changed(change))
    assert bool(found) is warns
    assert all("coordinates of kind tilt or orientation" in text for text in found)


def test_check_warns_of_a_constraint_that_no_joint_could_break(written):
    """The base's origin on a plane through it: A is zero, and so is every force."""
    path = written("kind: point_on_plane, frame: pen", "kind: point_on_plane, frame: link_0")
    place = "point: [0.1, 0.2, 0.3]", "point: [0.0, 0.0, 0.0]"
    path.write_text(path.read_text().replace(*place))
    found = inspect(FORCE, Layers.read([path]).controller(FORCE), np.full(7, 0.4).tolist())
    (warning,) = [text for text in found.warnings if "holds nothing" in text]
    assert warning.startswith("constraints.table holds nothing: no joint moves the arm along its")


@pytest.mark.parametrize(
    ("wanted", "said"), [([6.0, 2.0], "6, 2 N or N·m on table.normal, again.normal"), ([4.0], "")]
)
def test_check_warns_of_a_force_that_rows_that_repeat_cannot_carry(written, wanted, said):
    """Of (6, 2) on one table that is declared twice, (4, 4) lies in R(A)."""
    line = next(line for line in TABLE.splitlines() if line.startswith("      table:"))
    upright = TABLE[TABLE.index("      upright:") : TABLE.index("    coordinates:")]
    path = written(upright, line.replace("table:", "again:") + "\n")
    path.write_text(
        path.read_text().replace("upright", "again").replace("[table]", "[table, again]")
    )
    settings = Layers.read([path]).controller(FORCE).changed({"force.reference": wanted})
    found = inspect(FORCE, settings, np.full(7, 0.4).tolist())
    warnings = [text for text in found.warnings if text.startswith("force.reference asks for")]
    assert len(warnings) == bool(said)
    for text in warnings:
        assert said in text
        assert "can carry 4, 4 only" in text


def test_named_groups_survive_as_flat_parameters(written):
    """Full names with dots, as ROS has them: there and back again."""
    settings = Layers.read([written()]).controller(FORCE)
    values = settings.values()
    assert values["constraints.names"] == ["table", "upright"]
    assert values["constraints.table.kind"] == "point_on_plane"
    assert values["frames.pen.position"] == [0.0, 0.0, 0.1]
    assert checked(FORCE, values) == settings
    other = settings.changed({"constraints.table.point": [0.0, 0.0, 0.4]})
    assert other.constraints["table"].point == (0.0, 0.0, 0.4)
    assert not settings.parameter("constraints.table.point").live
    plant = Layers.read([written()]).settings(ARM)
    assert build.build_constraint(plant).rows == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: parallel",
            "kind: paralel",
            r"line 11: unknown constraints\.upright\.kind 'paralel",
        ),
        (
            "frame: pen\n        axis",
            "fram: pen\n        axis",
            r"line 12: .*'constraints\.upright\.f",
        ),
        (
            "names: [table, upright]",
            "names: [table]",
            r"line 11: constraints.upright.kind: unknown c",
        ),
        ("names: [table, upright]", "names: [table, 2nd]", "'2nd' cannot be the name of a constra"),
        (
            "direction: [0, 0, 1]}",
            "direction: up}",
            r"line 9: constraints\.table\.direction must be a",
        ),
        (
            "names: [pen]",
            "names: []",
            r"line 6: frames\.pen\.link: unknown frame 'pen'; there are: none",
        ),
    ],
)
def test_a_wrong_file_names_file_line_and_key(written, old, new, message):
    path = written(old, new)
    with pytest.raises(ProjectedControlError, match=message) as error:
        Layers.read([path]).controller(FORCE)
    assert "table.yaml" in str(error.value) or "2nd" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rows: [table]",
            "rows: [tabel]",
            r"row of the constraint \(force.rows\) 'tabel'; .* table",
        ),
        ("rows: [table]", "rows: [table, table.normal]", "names rows twice"),
        ("reference: [-5.0]", "reference: [1.0, 2.0]", "must have 1 numbers, one per row"),
        ("link: end_7", "link: end_8", "unknown link of frame 'pen': 'end_8'; there are: end_7"),
        (
            "        axis: [0.0, 0.0, 1.0]\n",
            "",
            r"constraints\.upright\.kind 'parallel' .* needs constraints\.upright\.axis",
        ),
        (
            "    constraints:\n",
            "    constraint: {kind: none}\n    constraints:\n",
            r"constraint\.kind \(none\) and constraints\.names \(table, upright\) are both given",
        ),
    ],
)
def test_what_cannot_be_built_says_why(written, old, new, message):
    settings = Layers.read([written(old, new)]).controller(FORCE)
    with pytest.raises(ProjectedControlError, match=rf"table\.yaml, line \d+: .*{message}"):
        build.build_loop(FORCE, settings)


def test_names_that_nobody_has_are_refused_with_the_nearest(written):
    path = written("kind: parallel", "kynd: parallel")
    with pytest.raises(ProjectedControlError, match=r"did you mean 'constraints\.upright\.kind'"):
        read_file(path).require_names()


def hybrid(constraint, arm, desired, rows=None, source="model"):
    """A force loop on a simulated arm held by a constraint, from rest."""
    q = assemble(arm, constraint, np.full(arm.n, 0.4))
    model = ConstrainedArm(arm.twin(), constraint, Coordinates([Coordinate.joint("joint_1")]))
    gains = ForceGains(2.0, 40.0, cutoff=None if source == "none" else 60.0)
    controller = ForceController(model, MotionGains(100.0, 20.0, 10.0), gains, 1e-3)
    if rows is not None:
        controller.force.control_rows(rows)
    start = model.evaluate(q, np.zeros(arm.n)).theta.copy()
    loop = ControlLoop(
        controller,
        Constant(start),
        force_reference=Constant(np.asarray(desired, dtype=float)),
        force_source=source,
    )
    plant = Plant(ConstrainedArm(arm.twin(), constraint, tolerance=1e-6), 1e-3)
    port = SimulatedArm(plant, q, np.zeros(arm.n), period=1e-3)
    return loop, port, plant


def test_redundant_rows_hold_the_force_and_wind_nothing_up():
    """A plane three times: λ_d = (3, 6, −3) asks for 2 N each, all there is in R(A)."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    plane = PointOnPlane("end_7", place, [0.0, 0.0, 1.0])
    loop, port, plant = hybrid(Stack([plane] * 3), arm, [3.0, 6.0, -3.0])
    run(loop, port, 1500)
    assert plant.model.rank == 1
    np.testing.assert_allclose(plant.state.multipliers, [2.0, 2.0, 2.0], atol=0.05)
    force = loop.controller.force
    for part in (force.integral, force.error):
        np.testing.assert_allclose(part, part.mean(), atol=1e-9)
    assert np.abs(force.integral).max() < 1.0


def test_rows_that_are_not_named_cost_no_effort():
    """A pad on a table: its normal force is held, its moments are whatever they are."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    tip = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7")
    pose = tip.rotation
    angles = [
        np.arctan2(pose[2, 1], pose[2, 2]),
        np.arcsin(-pose[2, 0]),
        np.arctan2(pose[1, 0], pose[0, 0]),
    ]
    pad = FrameFixed("end_7", ["tz", "rx", "ry"], tip.position, angles)
    loop, port, plant = hybrid(pad, arm, [-5.0, 0.0, 0.0], rows=[0])
    run(loop, port, 1500)
    assert plant.state.multipliers[0] == pytest.approx(-5.0, abs=0.05)
    model, effort = loop.controller.model, loop.controller.effort
    pressed = np.linalg.pinv(model.A.T) @ effort.normal
    np.testing.assert_allclose(pressed[1:], 0.0, atol=1e-9)
    np.testing.assert_array_equal(loop.controller.force.integral[1:], 0.0)


def test_stacks_name_their_rows():
    plane, axis = PointOnPlane("tip", [0, 0, 0], [0, 0, 1]), Parallel("tip", [1, 0, 0], [0, 0, 1])
    stack = Stack([plane, axis], ["table", "pen"])
    assert stack.row_names == ("table.normal", "pen.1", "pen.2")
    assert stack.row_units == ("m", "rad", "rad")
    with pytest.raises(InvalidValue, match="need as many names"):
        Stack([plane, axis], ["table"])
