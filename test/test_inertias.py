"""Masses and inertias that cannot be those of an arm are named, with link and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from projected_control.apps import cli
from projected_control.errors import UnknownName
from projected_control.model.arm import Arm

ROOT = Path(__file__).parents[1]
SEVEN = (ROOT / "urdf" / "seven_joints.urdf").read_text(encoding="utf-8")


def with_matter(link: str, mass: str = "", tensor: str = "", text: str = SEVEN) -> str:
    """The description with another <inertial> of a link, or with none at all."""
    begin = text.index(f'<link name="{link}">')
    stop = text.index("</inertial>", begin) + len("</inertial>")
    start = text.index("<inertial>", begin)
    if not mass:
        return text[:start] + text[stop:]
    old = re.search(r"<inertia [^>]*/>", text[start:stop])
    assert old is not None
    numbers = dict(zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), tensor.split(), strict=False))
    inertia = "<inertia {}/>".format(" ".join(f'{k}="{v}"' for k, v in numbers.items()))
    made = f'<inertial><mass value="{mass}"/>{inertia if tensor else old[0]}</inertial>'
    return text[:start] + made + text[stop:]


def line_of(link: str, text: str) -> int:
    return text[: text.index(f'<link name="{link}"')].count("\n") + 1


@pytest.mark.parametrize(
    ("link", "mass", "tensor", "words"),
    [
        ("link_3", "", "", "has no mass, and joint 'joint_3' moves it: give it an <inertial>"),
        ("link_3", "0", "", "has no mass, and joint 'joint_3' moves it"),
        ("link_3", "3", "0.01 0.01 -0.01 0 0 0", "not positive: principal moments -0.01, 0.01"),
        ("link_3", "3", "0.01 0.01 0.01 0.1 0 0", "not positive: principal moments -0.09"),
        ("link_3", "4000000", "", "a factor of more than 1000; one of them is in another unit"),
        ("link_3", "0.0001", "", "has 0.0001 kg and link 'link_2'"),
    ],
)
def test_what_cannot_be_is_refused_by_link_and_line(link, mass, tensor, words):
    text = with_matter(link, mass, tensor)
    refusals = Arm.from_urdf(text).implausible
    assert any(words in refusal for refusal in refusals), refusals
    assert f"link {link!r} (line {line_of(link, text)})" in refusals[0]
    assert not Arm.from_urdf(SEVEN).implausible
    assert not Arm.from_urdf(SEVEN).warnings


@pytest.mark.parametrize(
    ("mass", "tensor", "words"),
    [
        ("3", "0.01 0.01 0.05 0 0 0", "the largest is more than the other two together"),
        ("3", "0 0 0 0 0 0", "3 kg and an inertia that is not positive definite: it counts as a p"),
        ("3", "0 0.01 0.01 0 0 0", "counts as a rod without thickness"),
    ],
)
def test_what_is_odd_is_warned_of(mass, tensor, words):
    text = with_matter("link_3", mass, tensor)
    arm = Arm.from_urdf(text)
    (warning,) = arm.warnings
    assert words in warning
    assert f"link 'link_3' (line {line_of('link_3', text)})" in warning
    assert not arm.implausible


def test_a_body_counts_with_what_is_fixed_to_it():
    """The mass may stand on a link fixed to the one that the joint moves, as exporters write it."""
    bare = with_matter("link_3")
    shell = (
        '<link name="shell"><inertial><mass value="3"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/>'
        '</inertial></link><joint name="to_shell" type="fixed"><parent link="link_3"/>'
        '<child link="shell"/></joint></robot>'
    )
    assert not Arm.from_urdf(bare.replace("</robot>", shell)).implausible
    massless_shell = shell.replace('value="3"', 'value="0"').replace('"0.01"', '"0"')
    (refusal,) = Arm.from_urdf(bare.replace("</robot>", massless_shell)).implausible
    assert "has no mass, nor has any link fixed to it" in refusal


def test_a_locked_joint_makes_one_body_of_two():
    moving = [f"joint_{i}" for i in (1, 2, 4, 5, 6, 7)]
    assert not Arm.from_urdf(with_matter("link_3"), joints=moving).implausible


def test_massless_on_purpose_is_asked_for_by_name():
    text = with_matter("link_3")
    assert not Arm.from_urdf(text, massless_links=["link_3"]).implausible
    assert Arm.from_urdf(text, massless_links=["link_4"]).implausible
    light = with_matter("link_3", "0.0001")
    assert not Arm.from_urdf(light, massless_links=["link_3"]).implausible
    with pytest.raises(UnknownName, match="unknown massless link 'link_9'"):
        Arm.from_urdf(text, massless_links=["link_9"])


@pytest.mark.parametrize("named", [False, True])
def test_check_is_not_green_for_an_arm_whose_link_lost_its_mass(named, tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(with_matter("link_2"), encoding="utf-8")
    words = [f"robot_description_file:={path}"] + ["massless_links:=[link_2]"] * named
    settings = [argument for word in words for argument in ("--set", word)]
    config = str(ROOT / "config" / "seven_joints.yaml")
    status = cli.main(["check", config, "--start-only", *settings])
    printed = capsys.readouterr().out
    assert status == (0 if named else 1)
    assert ("TROUBLE: link 'link_2' (line " in printed) is not named
    assert ("This would not run." in printed) is not named


def test_what_xacro_makes_has_the_line_of_its_author_or_says_so():
    head = '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
    made = '<xacro:macro name="one" params="n"><link name="link_${n}"/></xacro:macro>\n'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    joint = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>{3}</joint>\n'
    links = '<link name="base"/>\n<link name="bare"/>\n<xacro:one n="2"/>\n'
    joints = joint.format("a", "base", "bare", limit) + joint.format("b", "bare", "link_2", limit)
    first, second = Arm.from_urdf(head + made + links + joints + "</robot>").implausible
    assert first.startswith("link 'bare' (line 4) has no mass")
    assert second.startswith("link 'link_2' (made by xacro) has no mass")
