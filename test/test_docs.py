"""What the documentation lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from projected_control.resources import PRESETS
from projected_control.settings.files import read_parameter_file

ROOT = Path(__file__).parents[1]
ROS = ROOT / "projected_control" / "ros"
CONTROLLERS = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """The cells of all table rows of docs/controllers.md whose first cell fits this pattern."""
    lines = [line for line in CONTROLLERS.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if re.fullmatch(first, row[0])]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_every_preset_is_in_the_table():
    assert {path.stem for path in (ROOT / "config" / "presets").glob("*.yaml")} == set(PRESETS)
    listed = [row[0].strip("`") for row in rows("`(gentle|paper|stiff|delayed)`")]
    assert sorted(listed) == sorted(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_table_of_presets_has_their_numbers(preset):
    values = read_parameter_file(ROOT / "config" / "presets" / f"{preset}.yaml")
    ((_, gains, force, rate),) = rows(f"`{preset}`")
    expected = [*values["gains.stiffness"], *values["gains.damping"]]
    assert numbers(gains)[:2] == expected
    expected = [values[f"force.{key}"] for key in ("proportional", "integral", "cutoff")]
    assert numbers(force) == expected
    assert numbers(rate) == values["limits.effort_rate"]


def test_every_topic_of_a_controller_is_in_the_table():
    listed = {row[1].strip("`") for row in rows("in|out")}
    source = "".join(path.read_text(encoding="utf-8") for path in ROS.glob("*.py"))
    used = set(re.findall(r'"(~/[a-z_]+)"', source))
    services = set(re.findall(r'create_service\([^"]*"(~/[a-z_]+)"', source))
    assert used - services
    assert used - services <= listed
    assert {"joint_states", "wrench", "effort_controller/commands", "/diagnostics"} <= listed


def test_every_helper_node_is_explained():
    source = "".join(path.read_text(encoding="utf-8") for path in ROS.glob("*.py"))
    suffixes = set(re.findall(r'side_node\([a-z_.]+, "([a-z]+)"\)', source))
    assert suffixes >= {"loop", "watch", "manager", "physics"}
    explained = " ".join(row[0] for row in rows(r"`[a-z_]+_[a-z]+`.*") if len(row) == 3)
    for suffix in suffixes:
        assert f"_{suffix}`" in explained
