"""Two hundred wrong files: each is refused with file, line, key, and what was expected or meant."""

import pytest
import yaml
from arms import random_urdf

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE, settings_class

GOOD = {
    "robot_description_file": "arm.urdf",
    "frames.names": ["pen"],
    "frames.pen.link": "end_7",
    "frames.pen.position": [0.0, 0.0, 0.1],
    "constraints.names": ["table", "pin"],
    "constraints.table.kind": "point_on_plane",
    "constraints.table.frame": "pen",
    "constraints.table.point": [0.1, 0.2, 0.3],
    "constraints.table.direction": [0.0, 0.0, 1.0],
    "constraints.pin.kind": "joint_locked",
    "constraints.pin.joint": "joint_2",
    "constraints.pin.position": [0.1],
    "coordinate.names": ["lean"],
    "coordinate.lean.kind": "tilt",
    "coordinate.lean.frame": "pen",
    "coordinate.lean.axis": [0.0, 0.0, 1.0],
    "coordinate.lean.direction": [1.0, 0.0, 0.0],
    "coordinates": ["pen.x", "lean"],
}
TABLE = settings_class(FORCE).parameters_with(GOOD)


def mutations():
    """(name, value, part of the message): one wrong line each."""
    for name, parameter in TABLE.items():
        if "." in name and len(name.rpartition(".")[2]) > 3:
            group, _, own = name.rpartition(".")
            wrong = f"{group}.{own[:2]}{own[3:]}"  # a letter is missing
            if settings_class(FORCE).parameter(wrong) is None:
                yield wrong, parameter.default, "did you mean"
        if parameter.type is float and not parameter.is_list:
            yield name, "much", f"{name} must be a number"
            if parameter.maximum is not None:
                yield name, 2.0 * parameter.maximum + 1.0, f"{name} must be at most"
        elif parameter.type is float:
            yield name, {"x": 1.0}, "did you mean|unknown parameter|holds no"
            yield name, ["a"], f"{name} must be a number"
            yield name, [float("nan")], f"{name} must be finite"
        elif parameter.type is bool:
            yield name, "perhaps", f"{name} must be true or false"
        elif parameter.choices and not parameter.is_list:
            yield name, "nothing_like_it", f"unknown {name} 'nothing_like_it'; there are: "
        elif parameter.type is str and not parameter.is_list:
            yield name, 3.5, f"{name} must be text"


CASES = [case for case in mutations() if not case[0].endswith("names")]


def test_there_are_two_hundred_and_the_good_one_is_good(tmp_path):
    assert len(CASES) >= 200
    assert written(tmp_path, GOOD).constraints["pin"].joint == "joint_2"


def written(folder, values):
    (folder / "arm.urdf").write_text(random_urdf(3, 7))
    text = yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False)
    (folder / "wrong.yaml").write_text(text)
    return Layers.read([folder / "wrong.yaml"]).controller(FORCE)


@pytest.mark.parametrize(("name", "value", "message"), CASES)
def test_a_wrong_file_says_where_and_what(tmp_path, name, value, message):
    values = {**GOOD, name: value if not isinstance(value, tuple) else list(value)}
    with pytest.raises(ProjectedControlError, match=message) as error:
        written(tmp_path, values)
    line = 1 + next(
        i
        for i, text in enumerate((tmp_path / "wrong.yaml").read_text().splitlines())
        if text.strip().startswith(f"{name}:")
    )
    said = str(error.value)
    assert "wrong.yaml" in said
    assert f"line {line}" in said or f"line {line + 1}" in said  # a mapping's key is one below
    assert name.rpartition(".")[2] in said


BUILT = [
    ("frames.pen.link", "end_77", "unknown link of frame 'pen': 'end_77'; there are: end_7, "),
    ("constraints.table.frame", "pem", "unknown frame 'pem'; there are: pen, "),
    ("constraints.table.direction", [0.0, 0.0, 0.0], "table.direction must have a direction, got"),
    ("constraints.table.direction", [0.0, 1.0], "table.direction must have 3 numbers, got 2"),
    (
        "constraints.table.motion.rate",
        [0.1, 0.2],
        "rate must be one number or 1, one per row",
    ),
    ("constraints.pin.joint", "joint_22", "unknown joint 'joint_22'; there are: joint_2, "),
    ("constraints.pin.position", [0.1, 0.2], "pin.position must be one number"),
    ("coordinate.lean.frame", "pan", "unknown frame 'pan'; there are: pen, "),
    ("coordinate.lean.axis", [0.0, 1.0], "lean.axis must have 3 numbers, got 2"),
    ("coordinate.lean.direction", [0.0, 0.0, 0.0], "lean.direction must have a direction"),
    ("coordinates", ["pen.x", "leen"], "unknown joint 'leen'"),
    ("coordinates", ["pan.x", "lean"], "unknown frame 'pan'; there are: pen, "),
    ("coordinates", ["pen.q", "lean"], "coordinate 'pen.q' must be"),
    ("joints", ["joint_1", "joint_2", "jiont_3"], "unknown joint 'jiont_3'; there are: joint_3, "),
    ("payload.link", "hand", "unknown frame 'hand'"),
    ("force.rows", ["tabel"], "'tabel'; there are: "),
    ("force.reference", [1.0, 2.0, 3.0], "force.reference must have"),
    ("posture.target", [0.1, 0.2], "posture.target must have 7 numbers, one per joint, got 2"),
    ("limits.effort", [1.0, 2.0], "limits.effort"),
]
"""What the arm's description or the constraint refuse, not the declaration of the parameter."""


@pytest.mark.parametrize(("name", "value", "message"), BUILT)
def test_what_the_arm_refuses_says_where_and_what(tmp_path, name, value, message):
    with pytest.raises(ProjectedControlError) as error:
        build.build_loop(FORCE, written(tmp_path, {**GOOD, name: value}))
    said = str(error.value)
    line = 1 + next(
        i
        for i, text in enumerate((tmp_path / "wrong.yaml").read_text().splitlines())
        if text.strip().startswith(f"{name}:")
    )
    assert message in said
    assert name.rpartition(".")[0] in said
    assert f"wrong.yaml, line {line}: " in said, said


def test_a_demonstration_of_a_wrong_file_says_where_and_what_too(tmp_path):
    wrong = {**GOOD, "constraints.table.frame": "pem", "reference.kind": "hold"}
    written(tmp_path, wrong)
    settings = settings_for("force", 1.0, "paper", True, {}, arm_file=tmp_path / "wrong.yaml")
    with pytest.raises(UnknownName, match=r"wrong\.yaml, line \d+: constraints\.table\.frame: unk"):
        build.build_loop(FORCE, settings.controller)
