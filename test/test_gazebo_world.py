"""The files for Gazebo, which need no Gazebo: well-formed, assembled, complete."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
import yaml

from projected_control.apps.launch import choices, gazebo_world
from projected_control.apps.launch.gazebo_world import WorldOptions
from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import RELEASES, find_gazebo
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import FORCE, PASSIVE, checked, own_values

CASES = {
    "3R": ("three_link_slider", FORCE, {}),
    "3R elsewhere": ("three_link_slider", FORCE, {"simulation.values": [0.1, 0.3]}),
    "3R vertical": (
        "three_link_slider",
        FORCE,
        {
            "robot_description_arguments": ["plane:=vertical"],
            "constraint.point": [0.0, 0.0, -0.27],
            "constraint.plane_normal": [0.0, -1.0, 0.0],
            "coordinates": ["tip.x", "tip.angle"],
        },
    ),
    "crank": ("slider_crank", PASSIVE, {"robot_description_arguments": ["inertia:=rod"]}),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request, tmp_path):
    arm, node, more = request.param
    settings = {**read_parameter_file(choices.arm_file(arm, arm)), **more}
    controller = checked(node, own_values(node, settings))
    files = gazebo_world.write_files(tmp_path, node, controller, settings, WorldOptions(yaw=0.7))
    return settings, node, files


def place(model, data, frame):
    return data.oMf[model.getFrameId(frame)]


def test_descriptions_stand_assembled(case):
    """At joint positions zero the pin is where the carriage is, and as it is turned."""
    _, _, files = case
    model = pinocchio.buildModelFromXML(files.model.read_text())
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, np.zeros(model.nq))
    pin, carriage = place(model, data, "pin"), place(model, data, "carriage")
    np.testing.assert_allclose(pin.translation, carriage.translation, atol=1e-9)
    np.testing.assert_allclose(pin.rotation, carriage.rotation, atol=1e-9)


def test_positions_count_from_the_start(case):
    """The description in Gazebo at q − start is the controller's at q, but for the yaw."""
    settings, node, files = case
    start = np.array(list(json.loads(files.bridge.read_text())["start"].values()))
    n = start.size
    model = pinocchio.buildModelFromXML(files.model.read_text())
    data, zero = model.createData(), np.zeros(model.nq)
    loop_arm = choices.build.build_arm(checked(node, own_values(node, settings)))
    for q in (start, start + 0.3, start + np.arange(n)):
        places = [model.joints[model.getJointId(f"joint_{i + 1}")].idx_q for i in range(n)]
        zero[places] = q - start
        pinocchio.framesForwardKinematics(model, data, zero)
        tip = loop_arm.update(q, np.zeros(n)).frame("tip").position
        c, s = np.cos(0.7), np.sin(0.7)
        yawed = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ tip
        np.testing.assert_allclose(place(model, data, "tip").translation, yawed, atol=1e-9)


def test_worlds_are_well_formed(case):
    _, _, files = case
    root = ElementTree.parse(files.world).getroot()
    assert root.tag == "sdf"
    assert root.findtext("world/physics/max_step_size") == "0.001"
    assert root.findtext("world/physics/dart/solver/solver_type") == "pgs"
    assert root.findtext("world/gravity").split() == ["0", "0", "-9.81"]
    assert root.findtext("world/include/uri") == str(files.model)
    systems = {plugin.get("name").rpartition("::")[2] for plugin in root.iter("plugin")}
    assert systems == {"Physics", "UserCommands", "SceneBroadcaster", "ForceTorque"}


def test_models_close_their_loop_and_load_the_controller(case):
    settings, node, files = case
    root = ElementTree.parse(files.model).getroot()
    plugins = {p.get("name").rpartition("::")[2]: p for p in root.iter("plugin")}
    assert plugins["DetachableJoint"].findtext("parent_link") == "carriage"
    assert plugins["DetachableJoint"].findtext("child_link") == "pin"
    loader = plugins["PythonSystemLoader"]
    assert loader.findtext("module_name") == "projected_control.ros.gazebo_system"
    bridge = json.loads(Path(loader.findtext("settings")).read_text())
    assert bridge["node"] == node
    assert list(bridge["start"]) == settings["joints"]
    parameters = yaml.safe_load(Path(bridge["parameters"]).read_text())["/**"]["ros__parameters"]
    assert parameters["coordinates"] == settings["coordinates"]


def test_an_arm_without_a_slider_is_refused(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="bare"><link name="base"/><link name="tip"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="joint_1" type="revolute"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    settings = {
        "robot_description_file": str(urdf),
        "constraint.kind": "none",
        "simulation.start": [0.0],
    }
    with pytest.raises(ProjectedControlError, match="tip and slider, and bare has no slider"):
        gazebo_world.start_in(settings)


def test_without_gazebo_it_says_what_to_install(monkeypatch):
    for release in RELEASES:
        for module in release:
            monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ProjectedControlError, match=r"gz\.sim8.*apt install ros-"):
        find_gazebo()


def test_the_step_of_our_own_simulation_does_not_bound_gazebos_rate():
    """simulation.step is 1 ms, and 2000 steps per second are no whole number of them each."""
    settings = read_parameter_file(choices.arm_file("three_link_slider", "three_link_slider"))
    start, _ = gazebo_world.start_in({**settings, "rate": 2000.0})
    expected, _ = gazebo_world.start_in(settings)
    assert start == pytest.approx(expected, abs=1e-12)
