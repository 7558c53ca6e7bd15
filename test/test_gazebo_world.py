"""The files for Gazebo, which need no Gazebo: assembled, and with the arm's own dynamics."""

import importlib
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
import yaml
from pretended_gazebo import pretended_modules
from sdf_tree import Tree

from projected_control.apps.gazebo import ros2_control as behind
from projected_control.apps.gazebo import world_files as gazebo_files
from projected_control.apps.gazebo.chains import CHAINS, REASONS
from projected_control.apps.gazebo.ros2_control import fold_start
from projected_control.apps.gazebo.world_files import WorldOptions, start_in
from projected_control.apps.launch import choices
from projected_control.control.force_source import ForceSource
from projected_control.errors import InvalidDescription, InvalidValue, ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import CONSTRAINTS
from projected_control.planning import assemble
from projected_control.ros.gazebo_modules import RELEASES, find_gazebo
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import ARM, FORCE, PASSIVE, checked, own_values

YAW = 0.7

PLANAR = {"constraint.plane_normal": [0.0, 0.0, 1.0]}
SPATIAL = {"simulation.coordinates": [], "simulation.values": []}
TURNED = {"frames.tool.orientation": [0.4, -0.7, 1.1]}

CASES = {
    "3R line": ("three_link_slider", FORCE, {}),
    "3R from another start": ("three_link_slider", FORCE, {"simulation.values": [0.1, 0.3]}),
    "3R vertical": (
        "three_link_slider",
        FORCE,
        {
            "robot_description_arguments": ["plane:=vertical"],
            "constraint.point": [0.0, 0.0, -0.27],
            "constraint.plane_normal": [0.0, -1.0, 0.0],
        },
    ),
    "3R plane": (
        "three_link_slider",
        FORCE,
        {"constraint.kind": "point_on_plane", "constraint.direction": [0.0, 1.0, 0.0], **PLANAR},
    ),
    "3R point": (
        "three_link_slider",
        FORCE,
        {"constraint.kind": "point_at_point", "constraint.point": [-0.1, -0.3, 0.0], **SPATIAL},
    ),
    "3R circle": (
        "three_link_slider",
        FORCE,
        {
            "constraint.kind": "point_on_circle",
            "constraint.point": [-0.2, -0.2, 0.0],
            "constraint.direction": [0.0, 0.0, 1.0],
            "constraint.radius": [0.15],
            **SPATIAL,
        },
    ),
    "crank": ("slider_crank", PASSIVE, {"robot_description_arguments": ["inertia:=rod"]}),
    "7 plane": ("seven_joints", FORCE, {}),
    "7 plane, tool turned": ("seven_joints", FORCE, TURNED),
    "7 plane, oblique": (
        "seven_joints",
        FORCE,
        {"constraint.direction": [0.3, -0.2, -1.0], **SPATIAL},
    ),
    "7 line": (
        "seven_joints",
        FORCE,
        {
            "constraint.kind": "point_on_line",
            "constraint.point": [0.4, 0.0, 0.3],
            "constraint.direction": [0.0, 1.0, 0.2],
            **SPATIAL,
        },
    ),
    "7 point": (
        "seven_joints",
        FORCE,
        {"constraint.kind": "point_at_point", "constraint.point": [0.4, 0.1, 0.3], **SPATIAL},
    ),
    "7 circle": (
        "seven_joints",
        FORCE,
        {
            "constraint.kind": "point_on_circle",
            "constraint.point": [0.4, 0.0, 0.3],
            "constraint.direction": [0.0, 0.3, 1.0],
            "constraint.radius": [0.1],
            **TURNED,
            **SPATIAL,
        },
    ),
    "7 hinge": (
        "seven_joints",
        FORCE,
        {
            "constraint.kind": "hinge",
            "constraint.axis": [0.0, 0.0, 1.0],
            "constraint.point": [0.4, 0.1, 0.3],
            "constraint.direction": [0.0, 0.1, -1.0],
            **SPATIAL,
        },
    ),
    "7 drawer": (
        "seven_joints",
        FORCE,
        {
            "constraint.kind": "frame_fixed",
            "constraint.directions": ["ty", "tz", "rx", "ry", "rz"],
            "constraint.point": [0.4, 0.1, 0.3],
            "constraint.orientation": [np.pi, 0.0, 0.0],
            **SPATIAL,
        },
    ),
    "7 pad": (
        "seven_joints",
        FORCE,
        {
            "constraint.kind": "frame_fixed",
            "constraint.directions": ["tz", "rx", "ry"],
            "constraint.point": [0.4, 0.1, 0.3],
            "constraint.orientation": [np.pi, 0.0, 0.0],
            **SPATIAL,
        },
    ),
}


def settings_of(name):
    arm, node, more = CASES[name]
    settings = {**read_parameter_file(choices.arm_file(arm, arm)), **more}
    return settings, node


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    settings, node = settings_of(request.param)
    controller = checked(node, own_values(node, settings))
    options = WorldOptions(yaw=YAW, access=Path("/somewhere/libaccess.so"))
    files = gazebo_files.write_files(tmp_path, node, controller, settings, options)
    return settings, node, files


def state_on_both(settings, files, seed):
    """An arm off its start, on its constraint and moving along it; the same in Gazebo's tree."""
    random = np.random.default_rng(seed)
    own = checked(ARM, own_values(ARM, settings))
    arm, constraint = build.build_arm(own), build.build_constraint(own)
    start = np.array(list(json.loads(files.bridge.read_text())["start"].values()))
    q = assemble(arm, constraint, start + random.uniform(-0.2, 0.2, arm.n))
    model = ConstrainedArm(arm, constraint)
    model.evaluate(q, np.zeros(arm.n))
    v = model.P @ random.uniform(-1.0, 1.0, arm.n)
    model.evaluate(q, v)
    tree = Tree.read(files.model)
    places = [tree.model.joints[tree.model.getJointId(name)].idx_q for name in arm.joint_names]
    chain = np.setdiff1d(np.arange(tree.model.nq), places)
    tree_q = np.zeros(tree.model.nq)
    tree_q[places] = q - start
    tree.close(tree_q, chain)
    _, _, J, _ = tree.dynamics(tree_q, np.zeros(tree.model.nq))
    tree_v = np.zeros(tree.model.nq)
    tree_v[places] = v
    tree_v[chain] = -np.linalg.lstsq(J[:, chain], J[:, places] @ v, rcond=1e-9)[0]
    np.testing.assert_allclose(J @ tree_v, 0.0, atol=1e-9)
    return model, tree, tree_q, tree_v, places, chain, random


def test_descriptions_stand_assembled(case):
    """At joint positions zero the pin is where the carriage is."""
    _, _, files = case
    tree = Tree.read(files.model)
    data = tree.model.createData()
    pinocchio.framesForwardKinematics(tree.model, data, np.zeros(tree.model.nq))
    np.testing.assert_allclose(tree.relative(data).translation, 0.0, atol=1e-9)


def test_positions_count_from_the_start(case):
    """The model in Gazebo at q − start is the controller's at q, but for the yaw."""
    settings, node, files = case
    arm = build.build_arm(checked(node, own_values(node, settings)))
    start = np.array(list(json.loads(files.bridge.read_text())["start"].values()))
    tree = Tree.read(files.model)
    data, zero = tree.model.createData(), np.zeros(tree.model.nq)
    places = [tree.model.joints[tree.model.getJointId(name)].idx_q for name in arm.joint_names]
    held, yaw = settings["constraint.frame"], pinocchio.rpy.rpyToMatrix(0.0, 0.0, YAW)
    for q in (start, start + 0.3, start + np.arange(arm.n)):
        zero[places] = q - start
        pinocchio.framesForwardKinematics(tree.model, data, zero)
        frame = arm.update(q, np.zeros(arm.n)).frame(held)
        sensor = data.oMf[tree.model.getFrameId("tip_sensor")]
        np.testing.assert_allclose(sensor.translation, yaw @ frame.position, atol=1e-9)
        np.testing.assert_allclose(sensor.rotation, yaw @ frame.rotation, atol=1e-9)


def test_masses_and_bias_are_the_arms_own(case):
    """M and h of the tree's arm: what carriage and pin add is a thousandth of it."""
    settings, _, files = case
    model, tree, q, v, places, _, _ = state_on_both(settings, files, 0)
    M, _, _, _ = tree.dynamics(q, v)
    scale = np.linalg.norm(model.arm.M)
    assert np.linalg.norm(M[np.ix_(places, places)] - model.arm.M) < 2e-3 * scale
    still = np.zeros_like(v)
    _, h, _, _ = tree.dynamics(q, still)
    model.evaluate(model.arm.q.copy(), np.zeros(model.n))
    np.testing.assert_allclose(h[places], model.arm.h, atol=1e-9)


def test_the_weld_takes_away_what_the_constraint_does(case):
    """The velocities that the welded tree leaves the arm's joints are the null space of A."""
    settings, _, files = case
    model, tree, q, v, places, _, _ = state_on_both(settings, files, 1)
    _, _, J, _ = tree.dynamics(q, v)
    _, s, rows = np.linalg.svd(J)
    rank = int((s > 1e-8 * s[0]).sum())
    free = rows[rank:][:, places].T
    np.testing.assert_allclose(model.A @ free, 0.0, atol=1e-9)
    assert np.linalg.matrix_rank(free, tol=1e-8) == model.n - model.rank


def test_it_moves_as_the_constrained_arm(case):
    """q̈ and λ of the welded tree under an effort are those of the description, to a thousandth."""
    settings, _, files = case
    model, tree, q, v, places, _, random = state_on_both(settings, files, 2)
    arm = model.arm
    effort = random.uniform(-5.0, 5.0, arm.n)
    M, h, J, bias = tree.dynamics(q, v)
    n, m = J.shape[1], model.m
    load = np.zeros(n)
    load[places] = effort
    block = np.block([[M, J.T], [J, np.zeros((6, 6))]])
    found = np.linalg.lstsq(block, np.concatenate([load - h, -bias]), rcond=1e-13)[0]
    block = np.block([[arm.M, model.A.T], [model.A, np.zeros((m, m))]])
    known = np.linalg.lstsq(block, np.concatenate([effort - arm.h, model.b]), rcond=1e-12)[0]
    acceleration, expected = found[places], known[: arm.n]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(acceleration, expected, atol=3e-3 * scale)
    # The wrench at the weld, in the arm's own axes, through the map that a force loop uses.
    turn = pinocchio.rpy.rpyToMatrix(0.0, 0.0, YAW).T
    wrench = np.concatenate([turn @ found[n : n + 3], turn @ found[n + 3 :]])
    source = ForceSource(model, "sensor")
    lambdas = source.terms.to_lambda @ wrench
    if source.terms.varies[0]:
        lambdas = model.constraint.multiplier_map(arm, model.constraint.frame) @ wrench
    np.testing.assert_allclose(lambdas, known[arm.n :], atol=5e-3 * np.abs(known[arm.n :]).max())


def test_worlds_are_well_formed(case):
    """Planar arms have redundant loops, for which only PGS will do."""
    settings, _, files = case
    root = ElementTree.parse(files.world).getroot()
    assert root.tag == "sdf"
    assert root.findtext("world/physics/max_step_size") == "0.001"
    solver = "pgs" if len(settings["joints"]) < 6 else "dantzig"
    assert root.findtext("world/physics/dart/solver/solver_type") == solver
    assert root.findtext("world/gravity").split() == ["0", "0", "-9.81"]
    assert root.findtext("world/include/uri") == str(files.model)
    policy = "world/{http://gazebosim.org/schema}policies/parallel_postupdates"
    assert root.findtext(policy) == "false"
    systems = {plugin.get("name").rpartition("::")[2] for plugin in root.iter("plugin")}
    assert systems == {"Physics", "UserCommands", "SceneBroadcaster", "ForceTorque"}


def test_models_close_their_loop_and_load_the_controller(case):
    settings, node, files = case
    root = ElementTree.parse(files.model).getroot()
    plugins = {p.get("name").rpartition("::")[2]: p for p in root.iter("plugin")}
    assert list(plugins) == ["DetachableJoint", "ArmAccess", "PythonSystemLoader"]
    loader = plugins["PythonSystemLoader"]
    assert loader.findtext("module_name") == "projected_control.ros.gazebo_system"
    bridge = json.loads(Path(loader.findtext("settings")).read_text())
    assert bridge["node"] == node
    assert list(bridge["start"]) == settings["joints"]
    assert bridge["wrench_frame"] == settings["constraint.frame"]
    parameters = yaml.safe_load(Path(bridge["parameters"]).read_text())["/**"]["ros__parameters"]
    assert parameters["coordinates"] == settings["coordinates"]


def test_limits_and_friction_are_the_descriptions(tmp_path):
    settings, node = settings_of("7 plane")
    settings |= {"friction.coulomb": [0.3], "friction.viscous": [0.05], "payload.link": "flange"}
    settings |= {"payload.mass": 1.5}
    controller = checked(node, own_values(node, settings))
    files = gazebo_files.write_files(tmp_path, node, controller, settings)
    start, tree = start_in(settings), Tree.read(files.model)
    for i, name in enumerate(settings["joints"]):
        limit, dynamics = (tree.joints[name].find(f"axis/{part}") for part in ("limit", "dynamics"))
        lower, upper = float(limit.findtext("lower")), float(limit.findtext("upper"))
        assert lower + start.q[i] == pytest.approx(start.arm.limits.lower[i], abs=1e-12)
        assert upper + start.q[i] == pytest.approx(start.arm.limits.upper[i], abs=1e-12)
        assert float(limit.findtext("effort")) == start.arm.limits.effort[i]
        assert dynamics.findtext("friction") == "0.3"
        assert dynamics.findtext("damping") == "0.05"
    masses = sum(inertia.mass for inertia in start.arm.pinocchio_model.inertias)
    links = ElementTree.parse(files.model).iter("link")
    light = sum(link.findtext("gravity") == "false" for link in links)
    assert sum(i.mass for i in tree.model.inertias) == pytest.approx(masses + 1e-3 * light)


def test_one_mechanism_of_its_own_is_welded_to_itself(tmp_path):
    """A loop: the carriage sits on the arm's other link."""
    settings = read_parameter_file(choices.arm_file("five_bar", "five_bar"))
    controller = checked(PASSIVE, own_values(PASSIVE, settings))
    files = gazebo_files.write_files(tmp_path, PASSIVE, controller, settings)
    model, tree, q, v, places, _, _ = state_on_both(settings, files, 3)
    _, _, J, _ = tree.dynamics(q, v)
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-8) :][:, places].T
    np.testing.assert_allclose(model.A @ free, 0.0, atol=1e-9)


def test_a_folded_description_counts_from_the_start():
    """For robot_state_publisher: frames at q − start are those of the description at q."""
    arm = Arm.from_urdf(choices.share_file("urdf", "seven_joints.urdf"))
    random = np.random.default_rng(4)
    start, q = random.uniform(-1.0, 1.0, (2, arm.n))
    positions = dict(zip(arm.joint_names, start.tolist(), strict=True))
    folded = Arm.from_urdf(fold_start(arm.urdf, positions))
    there = folded.update(q - start, np.zeros(arm.n)).frame("flange")
    here = arm.update(q, np.zeros(arm.n)).frame("flange")
    np.testing.assert_allclose(there.position, here.position, atol=1e-12)
    np.testing.assert_allclose(there.rotation, here.rotation, atol=1e-12)
    np.testing.assert_allclose(folded.limits.lower + start, arm.limits.lower, atol=1e-12)


def test_behind_ros2_control_joints_count_from_the_start_and_the_sensor_is_named(tmp_path):
    """The same model; the description for ros2_control stands where the model does."""
    settings, node = settings_of("7 plane, tool turned")
    controller = checked(node, own_values(node, settings))
    text = choices.share_file("config", choices.CONTROLLERS_FILE).read_text()
    motors = settings["joints"]
    controllers = choices.controllers_file(motors, behind.SENSOR, "tool", text, sensed=True)
    files = behind.write_ros2_control_files(
        tmp_path, controller, settings, controllers, motors, sensed=True
    )
    start = start_in(settings)
    more = read_parameter_file(files.parameters)
    assert more["joint_offsets"] == start.q.tolist()
    assert more["constraint.wrench_frame"] == "tool"
    assert more["effort_includes_gravity"] is True  # said, as of a real arm it must be
    folded = Arm.from_urdf(files.description.read_text(), joints=motors)
    here, there = start.arm.frame("flange"), folded.frame("flange")
    np.testing.assert_allclose(there.position, here.position, atol=1e-9)
    block = ElementTree.parse(files.description).getroot().find("ros2_control")
    assert block.findtext("hardware/plugin") == behind.HARDWARE
    assert block.find("sensor").get("name") == behind.SENSOR == "tip_sensor"
    plugins = [p.get("filename") for p in ElementTree.parse(files.model).iter("plugin")]
    assert plugins == ["gz-sim-detachable-joint-system", "gz_ros2_control-system"]
    with pytest.raises(InvalidValue, match="or use bridge:=lockstep"):
        behind.write_ros2_control_files(
            tmp_path, controller, {**settings, "sensor.noise": 0.1}, controllers, motors
        )


def test_a_gz_ros2_control_that_hands_no_force_on_is_noticed(tmp_path):
    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / behind.LIBRARIES[0]
    library.write_bytes(b"gz_sim_components.Imu")
    assert not behind.hands_force_on([tmp_path, tmp_path / "nowhere"])
    library.write_bytes(b"gz_sim_components.ForceTorque")
    assert behind.hands_force_on([tmp_path])


# Refusals


def test_every_kind_of_constraint_is_made_or_refused_with_a_reason():
    assert {*CHAINS, *REASONS, "none"} >= set(CONSTRAINTS)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"constraint.kind": "point_on_surface", "constraint.surface": "sphere"},
            r"cannot hold an arm by a constraint of kind point_on_surface: .* it can by point_on_l",
        ),
        ({"constraint.motion.rate": [0.1]}, "a constraint stands still"),
        ({"armature": [0.1]}, r"have no rotors \(armature\): set armature"),
        (
            {"constraint.kind": "point_at_point", "friction.contact": 0.3, **SPATIAL},
            "needs a point that slides",
        ),
        ({"simulation.rates": [0.1, 0.0, 0.0, 0.0]}, "starts at rest"),
        (
            {
                "constraint.kind": "frame_fixed",
                "constraint.directions": ["tz", "rx"],
                "constraint.orientation": [np.pi, 0.0, 0.0],
                **SPATIAL,
            },
            "leaves ry and rz free",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(more, words):
    settings, _ = settings_of("7 plane")
    settings |= {"constraint.point": [0.4, 0.1, 0.3], "constraint.radius": [0.5], **more}
    with pytest.raises(InvalidValue, match=words):
        start_in(settings)


def test_several_constraints_are_refused():
    settings = read_parameter_file(choices.arm_file("hitch", "hitch"))
    with pytest.raises(InvalidValue, match="one constraint holds the arm, and there are 2"):
        start_in(settings)


def test_point_masses_are_refused_with_what_to_do(tmp_path):
    settings = read_parameter_file(choices.arm_file("slider_crank", "slider_crank"))
    controller = checked(PASSIVE, own_values(PASSIVE, settings))
    with pytest.raises(InvalidDescription, match="what moves needs mass and inertia"):
        gazebo_files.write_files(tmp_path, PASSIVE, controller, settings)


def test_a_sensor_in_axes_that_do_not_move_with_it_is_refused(tmp_path):
    settings, node = settings_of("7 plane")
    settings |= {"constraint.wrench_frame": "link_3"}
    controller = checked(node, own_values(node, settings))
    with pytest.raises(InvalidValue, match="leave it empty"):
        gazebo_files.write_files(tmp_path, node, controller, settings)


def test_a_table_that_can_be_left_is_a_box_with_a_collision_shape(tmp_path):
    """A ball at the tip, a box as far as the table goes, and nothing is welded."""
    settings = read_parameter_file(choices.arm_file("seven_joints", "seven_joints"))
    settings |= {"constraint.one_sided": True, "friction.contact": 0.3}
    settings |= {"constraint.extent": [0.2, -0.3, 0.0, 0.7, 0.0, 0.5]}
    controller = checked(FORCE, own_values(FORCE, settings))
    files = gazebo_files.write_files(tmp_path, FORCE, controller, settings)
    model = ElementTree.parse(files.model).getroot().find("model")
    assert model.findtext("self_collide") == "true"
    shapes = {c.get("name"): c for c in model.iter("collision")}
    assert set(shapes) == {"ball_collision", "table_collision"}
    radius = float(shapes["ball_collision"].findtext("geometry/sphere/radius"))
    long, wide, thick = map(float, shapes["table_collision"].findtext("geometry/box/size").split())
    assert all(float(c.findtext("surface/friction/ode/mu")) == 0.3 for c in shapes.values())
    table = next(link for link in model.iter("link") if link.get("name") == "table")
    x, y, z, *_ = map(float, table.findtext("pose").split())
    assert z + 0.5 * thick == pytest.approx(0.3 - radius)  # where the ball's middle is the tip
    assert sorted([long, wide]) == pytest.approx([0.3, 0.5])
    assert (x, y) == pytest.approx((0.45, -0.15))
    joints = {joint.get("name"): joint for joint in model.iter("joint")}
    assert joints["table_joint"].findtext("parent") == "world"
    assert all("DetachableJoint" not in p.get("name") for p in model.iter("plugin"))
    bridge = json.loads(files.bridge.read_text())
    assert (bridge["weld"], bridge["contact"]["coefficient"]) == ("", 0.0)
    assert bridge["sensor_joint"] == "tip_sensor_joint"
    held, _ = settings_of("7 plane")
    with pytest.raises(InvalidValue, match="only a box can be left"):
        start_in({**held, "constraint.one_sided": True, "constraint.free_side": "positive"})


def test_an_arm_that_moves_freely_needs_no_weld(tmp_path):
    settings, _ = settings_of("7 plane")
    settings = {k: v for k, v in settings.items() if not k.startswith("constraint.")}
    settings |= {"constraint.kind": "none", "coordinates": settings["joints"]}
    settings |= {**SPATIAL, "posture.target": []}
    controller = checked("motion_controller", own_values("motion_controller", settings))
    files = gazebo_files.write_files(tmp_path, "motion_controller", controller, settings)
    tree = Tree.read(files.model)
    assert tree.weld == ()
    assert tree.model.nq == 7
    assert json.loads(files.bridge.read_text())["sensor"] == ""


def test_without_gazebo_it_says_what_to_install(monkeypatch):
    for release in RELEASES:
        for module in release:
            monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ProjectedControlError, match=r"gz\.sim8.*apt install ros-"):
        find_gazebo()


def test_protobuf_that_is_missing_or_does_not_fit_is_named(monkeypatch, tmp_path):
    """Gazebo's Python modules are there then, and to install them again would not help."""
    files = pretended_modules(tmp_path)
    for release in RELEASES:
        for module in (*release, "gz"):
            monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    wrench = files / "gz" / "msgs10" / "wrench_pb2.py"
    for text, words in (
        ("raise ModuleNotFoundError('No module named google', name='google')", "is missing"),
        ("raise TypeError('Descriptors cannot be created directly')", "does not fit"),
    ):
        wrench.write_text(text)
        importlib.invalidate_caches()
        with pytest.raises(ProjectedControlError, match=f"protobuf {words}.*python3-protobuf"):
            find_gazebo()
    wrench.unlink()
    importlib.invalidate_caches()
    with pytest.raises(ProjectedControlError, match=r"its messages are not .*wrench_pb2"):
        find_gazebo()
    wrench.write_text("class Wrench: pass")
    importlib.invalidate_caches()
    assert find_gazebo().wrench.__name__ == "Wrench"
    for name in [name for name in sys.modules if name.split(".")[0] in ("gz", "sdformat14")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_step_of_our_own_simulation_does_not_bound_gazebos_rate():
    """simulation.step is 1 ms, and 2000 steps per second are no whole number of them each."""
    settings = read_parameter_file(choices.arm_file("three_link_slider", "three_link_slider"))
    start = start_in({**settings, "rate": 2000.0}).positions
    assert start == pytest.approx(start_in(settings).positions, abs=1e-12)
