"""`projected-control example`: our files, copied to where they can be changed."""

import pytest

from projected_control.apps import cli
from projected_control.apps.commands.example import example_files, examples
from projected_control.settings import build
from projected_control.settings.layers import Layers


def run(capsys, *arguments):
    status = cli.main(["example", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_they_are_listed_with_what_they_are(capsys):
    status, out, _ = run(capsys)
    assert status == 0
    assert "seven_joints" in out
    assert all(title and title[0].isupper() for title in examples().values())


def test_one_is_copied_with_its_arm_and_never_over_anything(capsys, tmp_path):
    status, out, _ = run(capsys, "seven_joints", "--out", tmp_path / "mine")
    assert status == 0
    assert out.endswith("seven_joints.yaml, seven_joints.urdf\n")
    status, _, err = run(capsys, "seven_joints", "--out", tmp_path / "mine")
    assert status == 2
    assert "seven_joints.yaml, " in err
    assert "not written over" in err


@pytest.mark.parametrize("name", [name for name in examples() if len(example_files(name)) > 1])
def test_a_copy_stands_alone(name, tmp_path):
    """The arm of each copy is built from the files beside it."""
    for file in example_files(name):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    layers = Layers.read([tmp_path / f"{name}.yaml"])
    copied = layers.arm().robot_description_file
    assert str(tmp_path) in copied
    assert build.build_arm(layers.arm()).n > 0


def test_wrong_names_and_folders_are_refused(capsys, tmp_path):
    status, _, err = run(capsys, "seven_joint")
    assert status == 2
    assert "unknown example 'seven_joint'; there are: seven_joints" in err
    (tmp_path / "file").write_text("")
    status, _, err = run(capsys, "rough", "--out", tmp_path / "file" / "below")
    assert status == 2
    assert "cannot write into" in err
