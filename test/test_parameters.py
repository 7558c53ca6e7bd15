"""The table of parameters: what a value may be, the files in config/, the page in docs/."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import projected_control as pc
from projected_control import resources
from projected_control.apps.docs.parameter_pages import main, page
from projected_control.apps.launch import choices
from projected_control.control import AntiWindup, MotionController, MotionGains
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.disturbance import Disturbance
from projected_control.control.surface import EstimatedSurface
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.settings.build import build_force_gains
from projected_control.settings.declaration import (
    Group,
    Numbers,
    Parameter,
    Settings,
    group,
    parameter,
)
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import (
    ARM,
    CONTROLLERS,
    FORCE,
    MOTION,
    PASSIVE,
    WATCHDOG,
    ControllerKind,
    DemoCase,
    MotionControllerSettings,
    checked,
    nodes,
    own_values,
    parameters_of,
    settings_class,
)
from projected_control.simulation import Motors

ROOT = Path(__file__).parents[1]
ARMS = sorted(
    path
    for path in (ROOT / "config").glob("*.yaml")
    if path.name not in (choices.CONTROLLERS_FILE, "real.yaml", "rough.yaml")
)
"""Rough arms are said on top of another file."""
PRESETS = sorted((ROOT / "config" / "presets").glob("*.yaml"))
FILES = [*ARMS, *PRESETS]

NODES = nodes()
NUMBER = Parameter("number", float, False, 1.0, "A number", minimum=0.0, maximum=10.0)
COUNT = Parameter("count", int, False, 1, "A count", minimum=0, maximum=10)
SWITCH = Parameter("switch", bool, False, False, "A switch")
WORD = Parameter("word", str, False, "this", "A word", choices=("this", "that"))
ASKED = Parameter("asked", str, False, "", "A word", choices=("this",), required=True)
NUMBERS = Parameter("group.numbers", float, True, (1.0,), "Numbers", minimum=0.0, maximum=10.0)
WORDS = parameters_of(ARM)["passive_joints"]


# The declaration


@dataclass(frozen=True)
class Inner(Group):
    values: Numbers = parameter((), "Numbers", "m", maximum=5.0)
    count: int = parameter(3, "A count", live=True)


@dataclass(frozen=True)
class Outer(Settings):
    inner: Inner = group(Inner)
    word: str = parameter("this", "A word", choices=("this", "that"))


def test_dots_are_nesting_and_types_are_those_of_the_fields():
    table = Outer.parameters()
    assert list(table) == ["inner.values", "inner.count", "word"]
    assert table["inner.values"] == Parameter(
        "inner.values", float, True, (), "Numbers", "m", maximum=5.0
    )
    assert table["inner.count"] == Parameter("inner.count", int, False, 3, "A count", live=True)
    settings = Outer.of({"inner.values": [1, 2], "word": "that"})
    assert settings.inner.values == (1.0, 2.0)
    assert settings.values() == {"inner.values": [1.0, 2.0], "inner.count": 3, "word": "that"}


def test_a_change_makes_new_settings_and_checks_them():
    settings = Outer.of({})
    changed = settings.changed({"inner.count": 5})
    assert (settings.inner.count, changed.inner.count) == (3, 5)
    assert changed == Outer.of({"inner.count": 5})
    with pytest.raises(InvalidValue, match=r"inner\.values must be at most 5, got 6"):
        settings.changed({"inner.values": [6.0]})
    with pytest.raises(AttributeError):
        settings.word = "that"


def test_every_parameter_says_what_it_does():
    for node in NODES:
        for name, p in parameters_of(node).items():
            assert p.name == name
            assert p.description
            assert not p.description.endswith("."), name
            assert "|" not in p.description  # it stands in a table


@pytest.mark.parametrize("node", NODES)
def test_defaults_are_valid_and_in_their_own_type(node):
    settings = checked(node, {})
    assert checked(node, settings.values()) == settings
    for name, p in parameters_of(node).items():
        assert type(p.check(p.default)) is type(p.default), name


def test_what_describes_a_robot_has_no_default():
    for node in (*CONTROLLERS, ARM):
        required = {name for name, p in parameters_of(node).items() if p.required}
        assert required >= {"robot_description", "robot_description_file", "constraint.kind"}
        assert ("coordinates" in required) == (node != ARM)
        for name, p in parameters_of(node).items():
            if name.startswith("constraint.") and p.live is False and p.type is not float:
                assert not p.default, name


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
        (ASKED, "", ""),
        (NUMBERS, (1, 2.0), (1.0, 2.0)),
        (NUMBERS, np.array([3.0]), (3.0,)),
        (NUMBERS, 3.0, (3.0,)),
        (NUMBERS, 3, (3.0,)),
        (NUMBERS, [], ()),
        (NUMBERS, [""], ()),
        (WORDS, ["joint_2"], ("joint_2",)),
        (WORDS, "joint_2", ("joint_2",)),
        (WORDS, [""], ()),
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
        (ASKED, "that", "unknown asked 'that'; there are: this"),
        (NUMBERS, "3.0", r"group\.numbers must be a number, got '3.0'"),
        (NUMBERS, None, r"group\.numbers must be a list, got None"),
        (NUMBERS, {"a": 1.0}, r"group\.numbers must be a list, got"),
        (NUMBERS, [1.0, float("nan")], r"group\.numbers must be finite, got nan"),
        (NUMBERS, [1.0, 20.0], r"group\.numbers must be at most 10, got 20"),
        (NUMBERS, ["x"], r"group\.numbers must be a number, got 'x'"),
        (WORDS, [1.0], "passive_joints must be text, got 1.0"),
        (WORDS, 2, "passive_joints must be text, got 2"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(parameter, given, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        parameter.check(given)


def test_given_values_replace_defaults_and_nothing_else():
    settings = MotionControllerSettings.of({"law": "idc", "rate": 500})
    assert (settings.law, settings.rate) == ("idc", 500.0)
    assert settings.values() == {**checked(MOTION, {}).values(), "law": "idc", "rate": 500.0}


def test_an_unknown_parameter_is_named_with_the_nearest_or_all_there_are():
    with pytest.raises(UnknownName, match=r"'gains\.stifness' of motion_controller; did you mean"):
        checked(MOTION, {"gains.stifness": 1.0})
    with pytest.raises(UnknownName, match=r"parameter of motion_controller 'zzz'.*gains\.damping"):
        checked(MOTION, {"zzz": 1.0})


# The files in config/


def settings_from(node, *paths):
    """As a node reads them: what it does not have is left out."""
    values = {name: v for path in paths for name, v in read_parameter_file(path).items()}
    return checked(node, own_values(node, values))


def test_there_are_arms_and_presets():
    assert {path.stem for path in ARMS} >= {"three_link_slider", "slider_crank"}
    assert {path.stem for path in PRESETS} == set(resources.PRESETS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_name_in_a_file_is_a_parameter_of_some_node(path):
    kinds = [settings_class(node) for node in NODES]
    for name in read_parameter_file(path):
        assert any(kind.parameter(name) is not None for kind in kinds), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("node", NODES)
def test_files_are_valid_for_every_node(path, node):
    given = own_values(node, read_parameter_file(path))
    settings = settings_from(node, path).values()
    assert {name: settings[name] for name in given} == given


@pytest.mark.parametrize("path", ARMS, ids=lambda path: path.stem)
def test_an_arm_says_what_the_watchdog_has_to_know(path):
    assert settings_from(WATCHDOG, path).joints


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
@pytest.mark.parametrize("node", [FORCE, PASSIVE])
def test_the_force_gains_of_presets_are_stable_with_room_to_spare(preset, node):
    settings = settings_from(node, preset)
    loop = build_force_gains(settings).loop(1.0 / settings.rate)
    assert loop.gain_margin > 1.25


# The page in docs/


def test_the_page_is_current():
    written = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert written == page(), (
        "run: python -m projected_control.apps.docs.parameter_pages docs/parameters.md"
    )


def test_the_page_names_every_parameter_of_every_node():
    sections = dict(part.split("\n", 1) for part in page().split("\n## ")[1:])
    *listed, named = sections
    assert listed == list(NODES)
    for own in ("frames.<name>.link", "coordinate.<name>.zero", "coordinate.<name>.constraint"):
        assert f"| `{own}` |" in sections[named]
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
    for name, own in parameters_of(MOTION).items():
        if name == "law":  # each offers its own laws
            continue
        owners = [parameters_of(node).get(name) for node in CONTROLLERS]
        assert all(owner == own for owner in owners if owner is not None)


# Kinds of other packages


@dataclass(frozen=True)
class OtherSettings(MotionControllerSettings):
    """Of a controller of another package, with a parameter of its own."""

    softness: float = parameter(2.0, "How soft it is", minimum=1.0)

    @classmethod
    def title(cls):
        return "other_controller"


def make_other(settings, model, gains):
    return MotionController(model, MotionGains(100.0, 20.0 / settings.softness))


def test_a_controller_of_another_package_is_one_record(monkeypatch):
    """From the record follow its node, executable, settings, choices and its page."""
    from projected_control.ros import executables
    from projected_control.settings import nodes as kinds
    from projected_control.settings.build import build_loop

    case = DemoCase("other", "other_controller", "three_link_slider", "Another one")
    record = ControllerKind(
        "other_controller", "another", OtherSettings, f"{__name__}:make_other", (case,)
    )
    monkeypatch.setitem(kinds.CONTROLLERS._records, record.name, record)
    file = read_parameter_file(resources.share_file("config", "three_link_slider.yaml"))
    settings = checked(record.name, {**own_values(record.name, file), "softness": 4.0})
    assert settings.softness == 4.0
    assert build_loop(record.name, settings).controller.gains.damping == 5.0
    assert "other" in kinds.demo_cases()
    assert "## other_controller" in page()
    assert "| `softness` |" in page()
    with pytest.raises(InvalidValue, match="softness must be at least 1"):
        checked(record.name, {"softness": 0.0})
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    assert callable(executables.other_controller)


def test_a_group_is_what_the_library_takes():
    given = settings_class(FORCE).of({"force.anti_windup": "none", "disturbance.integral": 7.0})
    kinds = {
        "gains": pc.MotionGains,
        "impedance": pc.Impedance,
        "posture": pc.Posture,
        "force": pc.ForceGains,
        "compensation": FrictionCompensation,
        "disturbance": Disturbance,
        "surface": EstimatedSurface,
    }
    for name, kind in kinds.items():
        assert isinstance(getattr(given, name), kind)
    assert isinstance(given.reference.limits, pc.MotionLimits)
    assert given.disturbance.gain == given.values()["disturbance.integral"] == 7.0
    assert given.force.anti_windup is AntiWindup.NONE
    assert given.values()["force.anti_windup"] == "none"
    arm = settings_class(ARM).of({"friction.stribeck_velocity": [0.1], "motor.noise": [0.2]})
    assert isinstance(arm.friction, pc.JointFriction)
    assert (arm.friction.stribeck, arm.friction.static) == ((0.1,), ())
    assert arm.motor == Motors((0.2,))
    assert arm.sensor == pc.ForceSensor()


def test_an_error_carries_the_key_it_is_about():
    given = settings_class(FORCE).of({"reference.max_jerk": [1.0, 2.0]})
    with pytest.raises(InvalidValue, match=r"^reference\.max_jerk must be one number or 3") as own:
        given.reference.limits.array(3)
    assert own.value.key == "reference.max_jerk"
    with pytest.raises(InvalidValue, match=r"^jerk limit must be one number or 3") as bare:
        pc.MotionLimits(jerk=[1.0, 2.0]).array(3)
    assert bare.value.key == ""
