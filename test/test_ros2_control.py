"""Which of an arm's controllers carry torques, decided from what the controller manager lists.

The messages are those of controller_manager_msgs where it is installed, else objects with the
fields that it documents.
"""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from arms import random_urdf
from hypothesis import given
from hypothesis import strategies as st

from projected_control import resources
from projected_control.apps.launch import choices, hardware_block, loop_choice
from projected_control.control.activation import weight_to_carry
from projected_control.errors import ProjectedControlError
from projected_control.model.description import read_description
from projected_control.ros.controller_manager import (
    FORWARDING,
    STATE_BROADCASTER,
    WRENCH_BROADCASTER,
    ZEROING,
    CannotEngage,
    LoadedController,
    plan,
)
from projected_control.runs.delay import MEMORY, EchoDelay, delay_from_ages
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.real_arms import unsaid

try:
    from controller_manager_msgs.msg import ControllerState as Message
except ImportError:
    Message = SimpleNamespace

JOINTS = ["joint_1", "joint_2", "joint_3"]


def controller(name, kind, state="active", interfaces=(), **more):
    message = Message(
        name=name,
        type=kind,
        state=state,
        claimed_interfaces=list(interfaces if state == "active" else ()),
        required_command_interfaces=list(interfaces),
        **more,
    )
    return LoadedController.of(message)


def efforts(*joints):
    return [f"{joint}/effort" for joint in joints]


STATES = controller("joint_state_broadcaster", STATE_BROADCASTER)
WRENCH = controller("force_torque_sensor_broadcaster", WRENCH_BROADCASTER)
EFFORT = controller("effort_controller", ZEROING, "inactive", efforts(*JOINTS))
FORWARD = controller("forward", FORWARDING, "inactive", efforts(*JOINTS))
TRAJECTORY = controller(
    "arm_controller",
    "joint_trajectory_controller/JointTrajectoryController",
    "active",
    [f"{joint}/position" for joint in JOINTS],
)
GRIPPER = controller("gripper", FORWARDING, "active", ["finger/position"])


def test_the_one_that_zeroes_itself_is_preferred_and_those_in_its_way_step_aside():
    found = plan([STATES, FORWARD, TRAJECTORY, GRIPPER, EFFORT, WRENCH], JOINTS)
    assert found.effort_controller == "effort_controller"
    assert found.zeroes_itself
    assert found.activate == ("effort_controller",)
    assert found.deactivate == ("arm_controller",)
    assert found.commands_topic == "effort_controller/commands"
    assert found.wrench_topic == "force_torque_sensor_broadcaster/wrench"


def test_what_is_active_already_is_left_so():
    active = EFFORT._replace(state="active", claimed=EFFORT.required)
    found = plan([STATES, active], JOINTS)
    assert (found.activate, found.deactivate, found.wrench_topic) == ((), (), "")


def test_where_it_does_not_exist_a_forwarding_one_serves():
    found = plan([STATES, FORWARD, GRIPPER], JOINTS)
    assert (found.effort_controller, found.zeroes_itself) == ("forward", False)


def test_one_can_be_named():
    assert plan([STATES, EFFORT, FORWARD], JOINTS, "forward").effort_controller == "forward"


@given(st.permutations(JOINTS))
def test_joints_come_in_the_order_of_the_controller(order):
    found = plan([STATES, EFFORT._replace(required=tuple(efforts(*order)))], JOINTS)
    assert found.joints == tuple(order)


@pytest.mark.parametrize(
    ("controllers", "name", "reason"),
    [
        ([], "", "no controller carries torques to joint_1, joint_2, joint_3.*there are none"),
        ([STATES, TRAJECTORY], "", r"there are joint_state_broadcaster \(active\), arm_controller"),
        ([STATES, EFFORT], "mine", "there is no controller mine; there are joint_state_br"),
        ([STATES, TRAJECTORY], "arm_controller", "it is a joint_trajectory_controller/.*, not one"),
        (
            [STATES, controller("few", ZEROING, "inactive", efforts("joint_1", "joint_2"))],
            "",
            "few: it lacks joint_3",
        ),
        (
            [STATES, controller("many", ZEROING, "inactive", efforts(*JOINTS, "joint_4"))],
            "",
            "many: it also moves joint_4",
        ),
        (
            [STATES, controller("fast", FORWARDING, "inactive", [f"{j}/velocity" for j in JOINTS])],
            "fast",
            "it commands joint_1/velocity, .*not efforts",
        ),
        ([STATES, EFFORT._replace(state="unconfigured")], "", "it is unconfigured"),
        ([EFFORT], "", "no joint_state_broadcaster is active"),
        ([STATES._replace(state="inactive"), EFFORT], "", "no joint_state_broadcaster is active"),
    ],
)
def test_refusals_say_what_is_there_and_what_to_do(controllers, name, reason):
    with pytest.raises(CannotEngage, match=reason):
        plan(controllers, JOINTS, name)


# The delay


def test_delay_from_the_age_of_states():
    assert delay_from_ages([0.0004] * 50, 1000.0) == 3  # there, back, and two updates
    assert delay_from_ages([0.0021] * 50, 1000.0) == 7
    assert delay_from_ages([0.002] * 94 + [0.02] * 6, 1000.0) == 42  # the slow ones count
    assert delay_from_ages([1.7e9] * 50, 1000.0) is None  # a simulated clock
    assert delay_from_ages([], 1000.0) is None


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_an_echo_tells_the_delay(delay, seed):
    """Sent at the end of tick k, reported at the beginning of tick k + delay."""
    sent = np.random.default_rng(seed).normal(size=200)
    echo = EchoDelay()
    for tick, effort in enumerate(sent):
        echo.seen(sent[tick - delay] if tick >= delay else 0.0)
        echo.sent(effort)
    assert echo.count == 200 - delay
    assert echo.quantile(0.5) == echo.quantile(0.99) == delay


def test_arms_that_report_something_else_tell_nothing():
    echo = EchoDelay()
    for k in range(100):
        echo.seen(0.5 + k)
        echo.sent(float(k))
    echo.seen(float("nan"))
    assert (echo.count, echo.quantile(0.9)) == (0, None)


class Counted(float):
    """An effort that counts how often it is compared."""

    compared = 0
    __hash__ = float.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return float(self) == float(other)


def test_an_echo_is_not_sought_effort_by_effort():
    """Also on arms that report something else, or nothing; what is too old is forgotten."""
    echo = EchoDelay()
    for k in range(3 * MEMORY):
        echo.sent(Counted(k + 0.25))
    Counted.compared = 0
    for k in range(1000):
        echo.seen(Counted(0.1 * k + 0.01))
    assert Counted.compared < 3000  # each is compared with zero, not with a hundred others
    echo.seen(2.0 * MEMORY - 1.0 + 0.25)
    assert echo.count == 0
    echo.seen(2.0 * MEMORY + 0.25)
    assert echo.quantile(1.0) == MEMORY
    assert len(echo._when) == len(echo._sent) == MEMORY


# Descriptions and the controllers' file


@pytest.mark.parametrize(
    ("arm", "joints"), [("three_link_slider", 3), ("slider_crank", 2)], ids=["3R", "crank"]
)
def test_descriptions_name_hardware_motors_and_sensor(arm, joints):
    file = resources.share_file("urdf", f"{arm}.urdf.xacro")
    assert "<ros2_control" not in read_description(file).urdf
    urdf = read_description(
        file,
        {
            "hardware": "mock_components/GenericSystem",
            "passive": f"joint_{joints}",
            "force_sensor": "tip_sensor",
            "start1": "0.25",
        },
    ).urdf
    block = ElementTree.fromstring(urdf).find("ros2_control")
    assert block.find("hardware/plugin").text == "mock_components/GenericSystem"
    motors = [
        j.get("name") for j in block.findall("joint") if j.find("command_interface") is not None
    ]
    assert motors == [f"joint_{i}" for i in range(1, joints)]
    assert len(block.findall("joint")) == joints
    assert block.find("joint/state_interface/param").text == "0.25"
    assert [i.get("name") for i in block.findall("sensor/state_interface")] == [
        f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"
    ]


def test_the_simulated_arm_gets_every_command():
    file = resources.share_file("urdf", "three_link_slider.urdf.xacro")
    plugin = "joint_state_topic_hardware_interface/JointStateTopicSystem"
    urdf = read_description(file, {"hardware": plugin}).urdf
    assert '<param name="trigger_joint_command_threshold">-1</param>' in urdf


def test_controllers_are_configured_for_the_arm_at_hand():
    text = resources.share_file("config", choices.CONTROLLERS_FILE).read_text()
    manager = yaml.safe_load(text)["controller_manager"]["ros__parameters"]
    assert manager["update_rate"] == 1000
    assert manager["effort_controller"]["type"] == ZEROING
    assert manager["forward_effort_controller"]["type"] == FORWARDING
    content = yaml.safe_load(choices.controllers_file(["a", "b"], "sensor", "hand", text))
    for name in ("effort_controller", "forward_effort_controller"):
        assert content[name]["ros__parameters"]["joints"] == ["a", "b"]
    assert content["force_torque_sensor_broadcaster"]["ros__parameters"] == {
        "sensor_name": "sensor",
        "frame_id": "hand",
    }


def test_an_arm_that_is_not_there_is_refused_with_those_there_are():
    there = "slider_crank, .*three_link_passive, three_link_slider"
    with pytest.raises(ProjectedControlError, match=there):
        choices.arm_file("ros2_control", "three_link_slider")


def test_starts_are_assembled():
    file = choices.arm_file("auto", "three_link_slider")
    start = choices.starting_positions(Layers.read([file]).arm())
    assert list(start) == JOINTS
    q = np.cumsum(list(start.values()))
    assert 0.2 * np.sin(q[0]) + 0.4 * np.sin(q[1]) + 0.1 * np.sin(q[2]) == pytest.approx(
        -0.27, abs=1e-9
    )


# Any description goes


PLAIN = random_urdf(3, 6)
JOINT_NAMES = [f"joint_{i}" for i in range(1, 7)]


def test_a_plain_description_gets_what_a_dry_run_needs():
    starts = dict.fromkeys(JOINT_NAMES, 0.25)
    urdf = hardware_block.with_hardware(PLAIN, "a/B", starts, JOINT_NAMES[:5], "ft", "end_6")
    root = ElementTree.fromstring(urdf)
    (block,) = root.iter("ros2_control")
    assert block.findtext("hardware/plugin") == "a/B"
    joints = {joint.get("name"): joint for joint in block.iter("joint")}
    assert list(joints) == JOINT_NAMES
    for name, joint in joints.items():
        commands = [c.get("name") for c in joint.iter("command_interface")]
        assert commands == ([] if name == "joint_6" else ["effort"])
        assert joint.findtext("state_interface[@name='position']/param") == "0.25"
    assert hardware_block.sensors(urdf) == ["ft"]
    assert hardware_block.own_plugins(PLAIN) == []


def test_an_arm_behind_topics_stands_nowhere_before_it_says_so():
    """Its first states are then not finite, and no controller is activated on an arm of fiction."""
    starts, plugin = dict.fromkeys(JOINT_NAMES, 0.25), "package/JointStateTopicSystem"
    urdf = hardware_block.with_hardware(PLAIN, plugin, starts, JOINT_NAMES)
    assert "initial_value" not in urdf
    assert "/arm/joint_states" in urdf


def test_another_block_takes_the_place_of_the_arms_own_in_a_dry_run():
    """A dry run must not reach the arm."""
    own = hardware_block.with_hardware(PLAIN, "vendor/Driver", {"joint_1": 0.0}, ["joint_1"])
    assert hardware_block.own_plugins(own) == ["vendor/Driver"]
    dry = hardware_block.with_hardware(own, "mock/System", {"joint_1": 0.0}, ["joint_1"])
    assert hardware_block.own_plugins(dry) == ["mock/System"]
    assert hardware_block.sensors(dry) == []


def test_an_own_block_without_efforts_is_refused():
    own = hardware_block.with_hardware(PLAIN, "vendor/Driver", {"joint_1": 0.0}, ["joint_1"])
    hardware_block.require_effort(own, ["joint_1"])
    with pytest.raises(ProjectedControlError, match=r"no effort command interface for joint_2; it"):
        hardware_block.require_effort(own, ["joint_1", "joint_2"])


def test_the_manager_gets_the_rate_of_the_loop():
    text = resources.share_file("config", choices.CONTROLLERS_FILE).read_text()
    content = yaml.safe_load(choices.controllers_file(["a"], "", "", text, 500.0))
    assert content["controller_manager"]["ros__parameters"]["update_rate"] == 500
    with pytest.raises(ProjectedControlError, match=r"whole number of Hz, got 333\.3"):
        choices.controllers_file(["a"], "", "", text, 333.3)


def test_a_folder_that_is_not_there_is_refused_before_the_run(tmp_path):
    assert choices.summary_file("") is None
    assert choices.summary_file(str(tmp_path / "run.json")) == tmp_path / "run.json"
    with pytest.raises(ProjectedControlError, match=r"there is no folder .*missing; make it first"):
        choices.summary_file(str(tmp_path / "missing" / "run.json"))


COMMON = {"controller": "motion", "arm": "auto", "preset": "gentle", "friction": "false"}


def test_an_arm_that_knows_nothing_of_us(tmp_path):
    """A 6-joint arm by hand: joints left out are all joints, no start is needed."""
    (tmp_path / "arm.urdf").write_text(PLAIN)
    file = tmp_path / "arm.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    robot_description_file: arm.urdf\n"
        "    constraint: {kind: none}\n    coordinates: [joint_1, joint_3]\n"
        "    limits: {effort: [1000.0], above_description: true}\n"
    )
    chosen = choices.choose({**COMMON, "arm": str(file)})
    assert chosen.motors == JOINT_NAMES
    settings = chosen.settings(chosen.case.node, {"rate": 500.0})
    assert settings.rate == 500.0
    choices.require_sound(chosen, settings)
    assert list(choices.starting_positions(chosen.settings("simulated_arm", {}))) == JOINT_NAMES


@pytest.mark.parametrize("weight", ["true", "false", ""])
def test_what_the_file_says_of_the_weight_reaches_the_node(weight, tmp_path):
    """Though it be the default: a node on a real arm asks whether it was said."""
    text = resources.share_file("config", "three_link_slider.yaml").read_text()
    line = f"\n    effort_includes_gravity: {weight}" if weight else ""
    file = tmp_path / "arm.yaml"
    file.write_text(f"{text}\n/**:\n  ros__parameters:{line}\n    rate: 500.0\n")
    chosen = choices.choose({**COMMON, "arm": str(file)})
    own = {"hardware": "plugin", "watchdog": "", "rate": 1000.0}
    settings = chosen.settings(chosen.case.node, own)
    node = type(settings).of(choices.given_values(settings))
    assert node == settings
    assert ["nothing says who carries its weight" in line for line in unsaid(node)] == (
        [] if weight else [True]
    )


def test_the_sensor_of_an_arm_whose_driver_runs():
    """As it is named, else that of the description; refused where there is neither."""
    assert hardware_block.sensor_of_running("wrist", ["flange"], "force") == ["wrist"]
    assert hardware_block.sensor_of_running("", ["flange"], "force") == ["flange"]
    with pytest.raises(ProjectedControlError, match=r"controller:=force .* add sensor:=NAME"):
        hardware_block.sensor_of_running("", [], "force")


def test_what_check_refuses_no_launch_starts(tmp_path):
    text = resources.share_file("config", "three_link_slider.yaml").read_text()
    file = tmp_path / "arm.yaml"
    file.write_text(text.replace("[tip.x, tip.angle]", "[tip.x, tip.y]", 1))
    chosen = choices.choose({**COMMON, "arm": str(file)})
    with pytest.raises(ProjectedControlError, match="motion_controller would not start: the coord"):
        choices.require_sound(chosen, chosen.settings(chosen.case.node, {}))


@pytest.mark.parametrize("arguments", [[], ["plane:=vertical"]], ids=["table", "wall"])
@pytest.mark.parametrize(
    "more", [{}, {"ros2_control.may_fall": True}, {"effort_includes_gravity": False}]
)
def test_weight_is_not_carried_over_topics_unless_asked_for(arguments, more):
    """On a table gravity takes no torque; on a wall 3R carries up to (l₁m₁/2 + …) g."""
    layers = Layers.read([resources.share_file("config", "three_link_slider.yaml")]).on_top(
        {"robot_description_arguments": arguments, **more}, "test"
    )
    settings = layers.controller("motion_controller")
    arm = build.build_arm(settings)
    carried = weight_to_carry(arm, build.build_limits(settings, arm))
    assert bool(carried) is (bool(arguments) and "effort_includes_gravity" not in more)
    topics = loop_choice.LoopChoice(False, "the plugin is not installed")
    if carried and not more:
        straight = np.abs(arm.twin().update(np.zeros(3), np.zeros(3)).h).max()
        assert float(carried[0].rpartition(" ")[2]) > 0.5 * straight
        with pytest.raises(ProjectedControlError, match=r"not installed; this arm's weight.*fall"):
            loop_choice.refuse_falling(settings, topics)
    else:
        loop_choice.refuse_falling(settings, topics)
    loop_choice.refuse_falling(settings, loop_choice.LoopChoice(True))


@pytest.mark.parametrize("refused", [False, True])
def test_a_watchdog_says_in_its_heartbeat_that_it_deactivated(refused):
    """Before the controller can notice; and not where the manager refused."""
    pytest.importorskip("rclpy", reason="projected_control.ros imports it")
    from projected_control.ros.effort_watchdog import ZEROS_FIRST, EffortWatchdogNode

    watch = SimpleNamespace(
        trouble="no heartbeat for 0.6 s", tripped=-1e9, zeros=ZEROS_FIRST, deed=""
    )
    deeds = []

    class Manager:
        def controllers(self):
            return [LoadedController("efforts", ZEROING, "active", (), ())]

        def switch(self, activate, deactivate):
            deeds.append((deactivate, watch.deed))
            if refused:
                raise CannotEngage("no")

    node = SimpleNamespace(
        _manager=Manager(),
        _plan=SimpleNamespace(effort_controller="efforts"),
        _deactivated="",
        settings=SimpleNamespace(deactivate_time=0.5),
        get_logger=lambda: SimpleNamespace(error=lambda text: None),
        publish_diagnostics=lambda: None,
    )
    EffortWatchdogNode._deactivate_after_zeros(node, watch)
    assert deeds == [(("efforts",), "deactivated it: no heartbeat for 0.6 s")]
    assert watch.deed == ("" if refused else deeds[0][1])
