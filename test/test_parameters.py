"""The table of parameters: what a value may be, the files in config/, the page in docs/."""

from pathlib import Path

import numpy as np
import pytest

from projected_control import resources
from projected_control.apps.launch import choices
from projected_control.apps.parameter_docs import NODES, main, page
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.settings.build import build_force_gains
from projected_control.settings.files import read_parameter_file
from projected_control.settings.parameters import (
    ARM,
    CONTROLLERS,
    FORCE,
    MOTION,
    PASSIVE,
    TABLE,
    WATCHDOG,
    Parameter,
    checked,
    defaults_of,
    parameters_of,
)

ROOT = Path(__file__).parents[1]
ARMS = sorted(
    path for path in (ROOT / "config").glob("*.yaml") if path.name != choices.CONTROLLERS_FILE
)
PRESETS = sorted((ROOT / "config" / "presets").glob("*.yaml"))
FILES = [*ARMS, *PRESETS]

NUMBER = Parameter("number", 1.0, "A number", minimum=0.0, maximum=10.0)
COUNT = Parameter("count", 1, "A count", minimum=0, maximum=10)
SWITCH = Parameter("switch", False, "A switch")
WORD = Parameter("word", "this", "A word", choices=("this", "that"))
NUMBERS = Parameter("numbers", [1.0], "Numbers", minimum=0.0, maximum=10.0)
WORDS = parameters_of(ARM)["passive_joints"]


# The table


def test_every_node_has_each_name_once():
    for node in NODES:
        names = [p.name for p in TABLE if node in p.nodes]
        assert len(names) == len(set(names)), node


def test_every_parameter_belongs_to_nodes_that_exist_and_says_what_it_does():
    for parameter in TABLE:
        assert parameter.nodes
        assert set(parameter.nodes) <= set(NODES)
        assert parameter.description
        assert not parameter.description.endswith(".")
        assert "|" not in parameter.description  # it stands in a table


@pytest.mark.parametrize("node", NODES)
def test_defaults_are_valid_and_in_their_own_type(node):
    settings = checked(node, {})
    assert settings == defaults_of(node)
    for name, value in defaults_of(node).items():
        assert type(settings[name]) is type(value), name


# What a value may be


@pytest.mark.parametrize(
    ("parameter", "given", "becomes"),
    [
        (NUMBER, 2, 2.0),
        (NUMBER, np.float32(2.5), 2.5),
        (COUNT, 3, 3),
        (COUNT, 3.0, 3),
        (SWITCH, np.bool_(True), True),
        (WORD, "that", "that"),
        (NUMBERS, (1, 2.0), [1.0, 2.0]),
        (NUMBERS, np.array([3.0]), [3.0]),
        (NUMBERS, [], []),
        (NUMBERS, [""], []),
        (WORDS, ["joint_2"], ["joint_2"]),
        (WORDS, [""], []),
    ],
)
def test_a_good_value_comes_back_in_the_type_of_the_default(parameter, given, becomes):
    result = parameter.check(given)
    assert result == becomes
    assert type(result) is type(becomes)


@pytest.mark.parametrize(
    ("parameter", "given", "reason"),
    [
        (NUMBER, -1.0, "number must be at least 0, got -1"),
        (NUMBER, 11, "number must be at most 10, got 11"),
        (NUMBER, float("nan"), "number must be finite, got nan"),
        (NUMBER, float("inf"), "number must be finite, got inf"),
        (NUMBER, True, "number must be a number, got True"),
        (NUMBER, "2", "number must be a number, got '2'"),
        (NUMBER, None, "number must be a number, got None"),
        (NUMBER, [2.0], r"number must be a number, got \[2.0\]"),
        (COUNT, 1.5, "count must be a whole number, got 1.5"),
        (COUNT, float("inf"), "count must be"),
        (SWITCH, 1, "switch must be true or false, got 1"),
        (SWITCH, "true", "switch must be true or false, got 'true'"),
        (WORD, "other", "unknown word 'other'; there are: that, this"),
        (WORD, 3, "word must be text, got 3"),
        (NUMBERS, 3.0, "numbers must be a list, got 3.0"),
        (NUMBERS, "3.0", "numbers must be a list, got '3.0'"),
        (NUMBERS, [1.0, float("nan")], "numbers must be finite, got nan"),
        (NUMBERS, [1.0, 20.0], "numbers must be at most 10, got 20"),
        (NUMBERS, ["x"], "numbers must be a number, got 'x'"),
        (WORDS, [1.0], "passive_joints must be text, got 1.0"),
        (WORDS, "joint_2", "passive_joints must be a list, got 'joint_2'"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(parameter, given, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        parameter.check(given)


def test_given_values_replace_defaults_and_nothing_else():
    settings = checked(MOTION, {"law": "idc", "rate": 500})
    assert settings == {**defaults_of(MOTION), "law": "idc", "rate": 500.0}


def test_an_unknown_parameter_is_named_and_so_are_those_there_are():
    with pytest.raises(UnknownName, match=r"parameter of motion_controller 'gain'.*gains\.damping"):
        checked(MOTION, {"gain": 1.0})


# The files in config/


def settings_from(node, *paths):
    """As a node reads them: what it does not have is left out."""
    values = {name: v for path in paths for name, v in read_parameter_file(path).items()}
    return checked(node, {name: v for name, v in values.items() if name in parameters_of(node)})


def test_there_are_arms_and_presets():
    assert {path.stem for path in ARMS} >= {"three_link_slider", "slider_crank"}
    assert {path.stem for path in PRESETS} == set(resources.PRESETS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_name_in_a_file_is_a_parameter_of_some_node(path):
    known = {parameter.name for parameter in TABLE}
    assert set(read_parameter_file(path)) <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("node", NODES)
def test_files_are_valid_for_every_node(path, node):
    given = {k: v for k, v in read_parameter_file(path).items() if k in parameters_of(node)}
    settings = settings_from(node, path)
    assert {name: settings[name] for name in given} == given


@pytest.mark.parametrize("path", ARMS, ids=lambda path: path.stem)
def test_an_arm_says_what_the_watchdog_has_to_know(path):
    assert settings_from(WATCHDOG, path)["joints"]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
@pytest.mark.parametrize("node", [FORCE, PASSIVE])
def test_the_force_gains_of_presets_are_stable_with_room_to_spare(preset, node):
    settings = settings_from(node, preset)
    loop = build_force_gains(settings).loop(1.0 / settings["rate"])
    assert loop.gain_margin > 1.25


def test_files_that_are_no_parameter_files_are_refused_by_name(tmp_path):
    for content in ("", "force_controller: {}", "/**: {ros__parameters: 3}", "a: [1"):
        path = tmp_path / "bad.yaml"
        path.write_text(content)
        with pytest.raises(InvalidValue, match=r"bad\.yaml is not a parameter file"):
            read_parameter_file(path)


# The page in docs/


def test_the_page_is_current():
    written = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert written == page(), (
        "run: python -m projected_control.apps.parameter_docs docs/parameters.md"
    )


def test_the_page_names_every_parameter_of_every_node():
    sections = dict(part.split("\n", 1) for part in page().split("\n## ")[1:])
    assert list(sections) == list(NODES)
    for node in NODES:
        rows = [line for line in sections[node].splitlines() if line.startswith("| `")]
        assert [row.split("`")[1] for row in rows] == list(parameters_of(node))
        assert all(row.count("|") == 7 for row in rows)


def test_the_page_is_printed_or_written(tmp_path, capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == page()
    assert main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page()
    assert main(["--help"]) == 2
    assert "usage" in capsys.readouterr().err


def test_controllers_share_what_is_common():
    """A parameter has the same meaning, default and range wherever it has the same name."""
    for name in parameters_of(MOTION):
        owners = [parameters_of(node).get(name) for node in CONTROLLERS]
        assert len({id(owner) for owner in owners if owner is not None}) == 1
