"""Parameter files: what they may look like, what counts, and what is wrong with them."""

import json
import re

import pytest

from projected_control import resources
from projected_control.apps import cli
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.settings.files import from_command_line, read_file, read_parameter_file
from projected_control.settings.layers import DEFAULT, Layers, preset_file
from projected_control.settings.nodes import ARM, FORCE, MOTION, WATCHDOG

SLIDER = resources.share_file("config", "three_link_slider.yaml")


def write(path, text):
    path.write_text(text)
    return path


def for_all(path, text):
    indented = "\n".join(f"    {line}" for line in text.splitlines())
    return write(path, f"/**:\n  ros__parameters:\n{indented}\n")


@pytest.fixture
def slider(tmp_path):
    """The parameters of the 3R arm under another name."""
    return write(tmp_path / "my_arm.yaml", SLIDER.read_text())


# What a file may look like


def test_sections_count_in_their_order_and_groups_may_be_written_either_way(tmp_path):
    file = write(
        tmp_path / "a.yaml",
        "/**: {ros__parameters: {gains.damping: [1.0], constraint: {kind: point_on_line}}}\n"
        "motion_controller: {ros__parameters: {gains: {damping: [2.0]}, law: idc}}\n"
        "/ns/force_controller: {ros__parameters: {gains: {damping: [3.0]}}}\n"
        "controller_manager: {ros__parameters: {update_rate: 500}}\n",
    )
    assert read_parameter_file(file) == {"gains.damping": [1.0], "constraint.kind": "point_on_line"}
    assert read_parameter_file(file, MOTION)["gains.damping"] == [2.0]
    assert read_parameter_file(file, FORCE)["gains.damping"] == [3.0]
    assert "law" not in read_parameter_file(file, FORCE)


def test_numbers_are_read_as_ros_reads_them(tmp_path):
    file = for_all(tmp_path / "a.yaml", "limits: {residual: 1e-3}\nsensor: {noise: 2E+1}")
    assert read_parameter_file(file) == {"limits.residual": 1e-3, "sensor.noise": 20.0}


def test_a_dump_of_a_node_is_read_back(tmp_path):
    """As `ros2 param dump` writes it, with what every node of ROS has."""
    file = write(
        tmp_path / "dump.yaml",
        "/force_controller:\n  ros__parameters:\n    coordinates:\n    - tip.x\n"
        "    qos_overrides:\n      /parameter_events:\n        publisher:\n          depth: 1000\n"
        "    start_type_description_service: true\n    use_sim_time: false\n"
        "    constraint:\n      plane_normal: []\n",
    )
    expected = {"coordinates": ["tip.x"], "constraint.plane_normal": []}
    assert read_parameter_file(file, FORCE) == expected
    assert read_parameter_file(file, MOTION) == {}


def test_a_description_beside_the_file_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    write(tmp_path / "arm.urdf", "<robot name='x'/>")
    file = for_all(tmp_path / "a.yaml", "robot_description_file: arm.urdf")
    assert read_parameter_file(file)["robot_description_file"] == str(tmp_path / "arm.urdf")
    other = for_all(tmp_path / "b.yaml", "robot_description_file: slider_crank.urdf.xacro")
    assert read_parameter_file(other)["robot_description_file"] == "slider_crank.urdf.xacro"


# What is wrong with it


@pytest.mark.parametrize(
    ("text", "line", "wrong", "near"),
    [
        ("constrant:\n  kind: point_on_line", 4, "constrant.kind", "constraint.kind"),
        ("gains: {damping: [1.0]}\ngains.stifness: 3.0", 4, "gains.stifness", "gains.stiffness"),
        ("joint: [joint_1]", 3, "joint", "joints"),
        ("simulation:\n  strat: [0.0]", 4, "simulation.strat", "simulation.start"),
    ],
)
def test_a_name_that_nobody_has_is_an_error_with_its_place(tmp_path, text, line, wrong, near):
    file = for_all(tmp_path / "a.yaml", text)
    reason = rf"a\.yaml, line {line}: unknown parameter '{wrong}' .*; did you mean '{near}'\?"
    with pytest.raises(UnknownName, match=reason):
        read_parameter_file(file)


def test_in_a_section_of_a_node_only_its_own_parameters_may_stand(tmp_path):
    file = write(tmp_path / "a.yaml", "motion_controller: {ros__parameters: {force.delay: 2}}")
    with pytest.raises(UnknownName, match=r"parameter of motion_controller 'force\.delay'"):
        read_parameter_file(file, MOTION)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a parameter file: nothing stands under ros__parameters"),
        ("force_controller: {}", "nothing stands under ros__parameters"),
        ("/**: {ros__parameters: 3}", "line 1: ros__parameters holds no parameters"),
        ("gains: {stiffness: [1.0]}", r"line 1: 'stiffness' stands outside of ros__parameters"),
        ("a: [1", "is not a parameter file"),
        ("robot: {ros__parameters: {a: 1}}", "no section for a node of this package, only for rob"),
        ("motion_controler: {ros__parameters: {a: 1}}", "did you mean motion_controller"),
        (
            "/**: {ros__parameters: {rate: 1.0}}\nforce_controler: {ros__parameters: {law: idc}}",
            "line 2: there is no node 'force_controler'; did you mean force_controller",
        ),
    ],
)
def test_files_that_are_no_parameter_files_are_refused_by_name(tmp_path, text, reason):
    file = write(tmp_path / "bad.yaml", text)
    with pytest.raises(InvalidValue, match=rf"bad\.yaml.*{reason}"):
        read_parameter_file(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidValue, match=r"cannot read .*none\.yaml: No such file"):
        read_file(tmp_path / "none.yaml")


# What counts


def test_defaults_preset_own_file_command_line(tmp_path, slider):
    own = for_all(tmp_path / "own.yaml", "gains: {stiffness: [77.0], damping: [20.0]}")
    more = from_command_line(["gains.damping:=30.0"], "--set")
    layers = Layers.read([slider, own], "gentle", more)
    settings, origins = layers.controller(FORCE), layers.origins(FORCE)
    assert settings.gains.stiffness == (77.0,)  # the file counts before the preset
    assert settings.gains.damping == (30.0,)  # the command line before the file
    assert settings.gains.null_damping == 5.0  # the preset before the default
    assert settings.metric.length == 1.0
    assert origins["gains.stiffness"].endswith("own.yaml, line 3")
    assert origins["gains.damping"] == "command line (--set)"
    assert "gentle.yaml, line" in origins["gains.null_damping"]
    assert origins["metric.length"] == DEFAULT


def test_a_preset_may_be_a_path(tmp_path, slider):
    mine = for_all(tmp_path / "mine.yaml", "gains: {stiffness: [11.0]}")
    assert Layers.read([slider], str(mine)).controller(FORCE).gains.stiffness == (11.0,)
    with pytest.raises(InvalidValue, match=r"'soft' is neither a path .* nor one of gentle, paper"):
        preset_file("soft")


def test_a_wrong_value_is_refused_with_its_place(tmp_path):
    file = for_all(tmp_path / "a.yaml", "gains:\n  damping: [-1.0]")
    with pytest.raises(InvalidValue, match=r"a\.yaml, line 4: gains\.damping must be at least"):
        Layers.read([file]).settings(FORCE)


def test_values_for_other_nodes_are_left_to_them(slider):
    layers = Layers.read([slider])
    assert "simulation.start" not in layers.given(FORCE)
    assert layers.arm().simulation.start == (-3.0, 2.0, 1.0)
    assert set(layers.given(WATCHDOG)) == {"joints"}
    assert "coordinates" not in layers.given(ARM)


@pytest.mark.parametrize("item", ["gains.stifness:=3", "rate=3"])
def test_a_wrong_word_on_the_command_line(item):
    with pytest.raises(InvalidValue, match=re.escape(item)):
        from_command_line([item], "--set")


# The command


def check(capsys, *arguments):
    status = cli.main(["check", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_check_refuses_what_it_would_have_ignored(tmp_path, capsys):
    file = write(tmp_path / "a.yaml", SLIDER.read_text().replace("constraint:", "constrant:"))
    status, _, error = check(capsys, file)
    assert status != 0
    assert "line 7: unknown parameter 'constrant.kind'" in error


def test_check_shows_where_values_came_from(capsys, slider):
    status, out, _ = check(capsys, slider, "--preset", "gentle", "--show")
    assert status == 0
    assert re.search(r"gains\.stiffness +\[25\] +.*gentle\.yaml, line 4", out)
    assert re.search(r"coordinates +\[tip\.x, tip\.angle\] +.*my_arm\.yaml, line \d+", out)
    assert re.search(r"gravity +9\.81 +default", out)


def test_check_takes_the_node_a_file_is_for(tmp_path, capsys, slider):
    dump = write(tmp_path / "dump.yaml", slider.read_text().replace("/**", "/motion_controller"))
    parameters = dump.read_text().replace("    simulation:", "    limits: {effort: [9.0]}\n    x:")
    dump.write_text(parameters.split("    x:")[0])
    status, out, error = check(capsys, dump, "--json")
    assert status == 0, error
    assert "force_loop_gain_margin" not in json.loads(out)


def test_check_warns_of_weak_damping_and_refuses_what_would_diverge(capsys, slider):
    status, out, _ = check(capsys, slider, "--set", "gains.damping:=0.8")
    assert (status, "WARNING: the motion of tip.x is hardly damped" in out) == (0, True)
    status, _, error = check(capsys, slider, "--set", "gains.stiffness:=1e5")
    assert status != 0
    assert "the motion loop of tip.x would diverge" in error


def test_check_warns_of_a_force_loop_that_rings(capsys, slider):
    """The paper's gains at 500 Hz: stable with a margin of 1.10; what is advised leaves two."""
    rate = ("--node", "force_controller", "--preset", "paper", "--set", "rate:=500.0")
    status, out, error = check(capsys, slider, *rate)
    assert status == 0, error
    assert "WARNING: the force loop rings: it would diverge with 1.1 times its gains" in out
    advised = re.search(r"force\.proportional (\S+) or force\.cutoff (\S+) Hz", out)
    for name, value in zip(("proportional", "cutoff"), advised.groups(), strict=True):
        _, out, _ = check(capsys, slider, *rate, "--set", f"force.{name}:={value}", "--json")
        assert json.loads(out)["force_loop_gain_margin"] == pytest.approx(2.0, rel=0.02)


def test_check_says_which_joints_are_locked(capsys, slider):
    left = ["joints:=[joint_1, joint_2]", "coordinates:=[joint_1]", "simulation.start:=[-3.0, 2.0]"]
    left.append("reference.kind:=hold")
    changes = [word for item in left for word in ("--set", item)]
    _, out, error = check(capsys, slider, *changes)
    assert "joint_3 of" in out, error
    assert "locked at 0" in out


def test_check_needs_what_an_arm_in_space_needs(tmp_path, capsys):
    """`kind: point_on_line` took one row of two, as the planar arm's normal was the default."""
    from arms import random_urdf

    (tmp_path / "arm.urdf").write_text(random_urdf(3, 6))
    text = (
        "robot_description_file: arm.urdf\n"
        "constraint: {kind: point_on_line, frame: end_6, point: [0.4, 0.1, 0.2], "
        "direction: [1, 0, 0]}\n"
        "coordinates: [end_6.x]"
    )
    file = for_all(tmp_path / "a.yaml", text)
    _, out, error = check(capsys, file, "--node", MOTION, "--json")
    assert out, error
    assert json.loads(out)["constraint_rows"] == 2


def test_check_and_a_start_that_does_not_fit(capsys, slider):
    status, _, error = check(capsys, slider, "--set", "simulation.start:=[0.0]")
    assert status != 0
    assert "simulation.start must have 3 numbers, one per joint" in error


def test_unknown_nodes_are_refused(capsys, slider):
    status, _, error = check(capsys, slider, "--node", "robot")
    assert status != 0
    assert "unknown node 'robot'" in error


def test_errors_are_of_this_package(tmp_path):
    with pytest.raises(ProjectedControlError):
        Layers.read([tmp_path / "none.yaml"])


TWO = """
/**: {ros__parameters: {gains.damping: [1.0]}}
/left/force_controller: {ros__parameters: {gains.stiffness: [111.0]}}
/right/force_controller: {ros__parameters: {gains.stiffness: [222.0], force.integral: 0.2}}
/*/motion_controller: {ros__parameters: {gains.stiffness: [5.0]}}
"""


def test_two_arms_in_one_file_are_not_mixed(tmp_path, slider):
    """Each by its full name; without one it is refused, with the names there are."""
    file = write(tmp_path / "two.yaml", TWO)
    layers = Layers.read([slider, file])
    with pytest.raises(InvalidValue, match="/left/force_controller and /right/force_controller"):
        layers.controller(FORCE)
    for name, stiffness, integral in (("/left", 111.0, 0.1), ("/right", 222.0, 0.2)):
        own, kind = layers.of_node(f"{name}/{FORCE}")
        settings = own.controller(kind)
        assert settings.gains.stiffness == (stiffness,)
        assert settings.force.integral == integral
        assert settings.gains.damping == (1.0,)
        assert own.controller(MOTION).gains.stiffness == (5.0,)
    assert layers.of_node("/third/force_controller")[0].controller(FORCE).gains.damping == (1.0,)


def test_two_arms_in_two_files_are_not_mixed_either(tmp_path, slider):
    files = [
        write(tmp_path / f"{name}.yaml", f"/{name}/{FORCE}: {{ros__parameters: {{rate: {rate}}}}}")
        for name, rate in (("left", 500.0), ("right", 250.0))
    ]
    with pytest.raises(InvalidValue, match="which are different nodes"):
        Layers.read([slider, *files]).controller(FORCE)
    assert Layers.read([slider, files[0]]).controller(FORCE).rate == 500.0
    root = write(tmp_path / "root.yaml", f"{FORCE}: {{ros__parameters: {{rate: 125.0}}}}")
    assert Layers.read([slider, *files, root]).controller(FORCE).rate == 125.0


def test_check_says_which_of_two_arms(tmp_path, capsys, slider):
    file = write(tmp_path / "two.yaml", TWO)
    status, _, error = check(capsys, slider, str(file))
    assert (status, "say which with --node" in error) == (2, True)
    status, out, _ = check(capsys, slider, str(file), "--node", "/right/force_controller", "--show")
    assert re.search(r"gains.stiffness +\[222\]", out)
