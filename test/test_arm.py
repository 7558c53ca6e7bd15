"""The arm against Pinocchio's own functions, and the errors of bad descriptions."""

import gc

import numpy as np
import pinocchio
import pytest
from arms import URDF, random_state, random_urdf, three_link_arm

from projected_control.control import MotionController, MotionGains
from projected_control.control.activation import obstacles
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import InvalidDescription, InvalidValue, UnknownName
from projected_control.model.arm import Arm, JointLimits
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import with_mimics
from projected_control.model.coordinates import Coordinates
from projected_control.simulation import Plant

CASES = {
    "chain": {"n": 7},
    "one joint": {"n": 1},
    "tree": {"n": 9, "branching": True},
    "sliding": {"n": 6, "kinds": ("prismatic", "revolute")},
    "turning without limits": {"n": 5, "kinds": ("continuous", "prismatic", "revolute")},
    "tree of all kinds": {
        "n": 10,
        "branching": True,
        "kinds": ("continuous", "prismatic", "revolute"),
    },
}


def assert_equals_pinocchio(arm, q, v):
    """M, h, energy and every frame's position, rotation, Jacobian and bias."""
    model = arm.pinocchio_model
    data = model.createData()
    M = np.triu(pinocchio.crba(model, data, q).reshape(arm.n, arm.n))
    np.testing.assert_allclose(arm.M, M + np.triu(M, 1).T, atol=1e-12)
    np.testing.assert_allclose(arm.h, pinocchio.nonLinearEffects(model, data, q, v), atol=1e-11)
    energy = pinocchio.computeKineticEnergy(model, data, q, v)
    energy += pinocchio.computePotentialEnergy(model, data, q)
    assert arm.energy == pytest.approx(energy, abs=1e-10)
    pinocchio.forwardKinematics(model, data, q, v, np.zeros(arm.n))
    pinocchio.computeJointJacobians(model, data, q)
    pinocchio.updateFramePlacements(model, data)
    world_aligned = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for name in arm.frame_names:
        ours, number = arm.frame(name), model.getFrameId(name)
        jacobian = pinocchio.getFrameJacobian(model, data, number, world_aligned)
        bias = pinocchio.getFrameClassicalAcceleration(model, data, number, world_aligned)
        np.testing.assert_allclose(ours.position, data.oMf[number].translation, atol=1e-13)
        np.testing.assert_allclose(ours.rotation, data.oMf[number].rotation, atol=1e-13)
        np.testing.assert_allclose(ours.jacobian, jacobian.reshape(6, arm.n), atol=1e-12)
        np.testing.assert_allclose(ours.bias[:3], bias.linear, atol=1e-11)
        np.testing.assert_allclose(ours.bias[3:], bias.angular, atol=1e-11)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("seed", range(3))
def test_one_pass_gives_what_pinocchio_gives(case, seed):
    arm = Arm.from_urdf(random_urdf(seed, **case))
    assert arm.n == case["n"]
    for state in range(3):
        q, v = random_state(arm, state)
        assert_equals_pinocchio(arm.update(q, v), q, v)


@pytest.mark.parametrize("seed", range(3))
def test_locked_joints(seed):
    """Only the joints named move, in the description's order; the rest stands where it is told."""
    text = random_urdf(seed, 6)
    full = Arm.from_urdf(text)
    some = Arm.from_urdf(text, joints=["joint_5", "joint_2", "joint_3"], locked={"joint_1": 0.4})
    assert some.joint_names == ("joint_2", "joint_3", "joint_5")
    q, v = random_state(some, seed)
    assert_equals_pinocchio(some.update(q, v), q, v)
    moving = [1, 2, 4]
    q_full, v_full = np.zeros(6), np.zeros(6)
    q_full[0], q_full[moving], v_full[moving] = 0.4, q, v
    full.update(q_full, v_full)
    np.testing.assert_allclose(some.M, full.M[np.ix_(moving, moving)], atol=1e-12)
    np.testing.assert_allclose(some.h, full.h[moving], atol=1e-12)
    np.testing.assert_allclose(
        some.frame("end_6").position, full.frame("end_6").position, atol=1e-13
    )
    rest = Arm.from_urdf(text, locked={"joint_4": 0.1, "joint_6": -0.2})
    assert rest.joint_names == ("joint_1", "joint_2", "joint_3", "joint_5")


def test_twin_has_a_state_of_its_own(spatial_arm):
    q, v = random_state(spatial_arm, 0)
    spatial_arm.update(q, v)
    M, tip = spatial_arm.M.copy(), spatial_arm.frame("end_7")
    twin = spatial_arm.twin().update(*random_state(spatial_arm, 1))
    np.testing.assert_array_equal(spatial_arm.M, M)
    np.testing.assert_array_equal(spatial_arm.q, q)
    np.testing.assert_array_equal(spatial_arm.frame("end_7").position, tip.position)
    assert np.abs(twin.M - M).max() > 1e-3
    assert_equals_pinocchio(twin, twin.q, twin.v)
    assert (twin.joint_names, twin.limits) == (spatial_arm.joint_names, spatial_arm.limits)


def test_views_stay_alive():
    """Kernels are bound once to arrays that Pinocchio goes on writing into."""
    arm = Arm.from_urdf(random_urdf(2, 6, branching=True))
    place, M, h, J = arm.attachment("end_6"), arm.M, arm.h, arm.spatial_jacobian
    gc.collect()
    others = [arm.twin() for _ in range(20)]
    for state in range(500):
        arm.update(*random_state(arm, state))
        others[state % 20].update(*random_state(arm, state + 1))
    del others
    gc.collect()
    q, v = random_state(arm, 1000)
    arm.update(q, v)
    fresh = arm.twin().update(q, v)
    again = fresh.attachment("end_6")
    for view, expected in [
        (M, fresh.M),
        (h, fresh.h),
        (J, fresh.spatial_jacobian),
        (place.joint_rotation, again.joint_rotation),
        (place.joint_translation, again.joint_translation),
    ]:
        np.testing.assert_array_equal(view, expected)


def test_views_outlive_the_arm():
    views = []
    for seed in range(30):
        arm = Arm.from_urdf(random_urdf(seed, 5)).update(*random_state_of(5, seed))
        place = arm.attachment("end_5")
        copies = [x.copy() for x in (arm.M, arm.h, arm.spatial_jacobian, place.joint_rotation)]
        views.append(((arm.M, arm.h, arm.spatial_jacobian, place.joint_rotation), copies))
    del arm, place
    gc.collect()
    for seen, copies in views:
        for view, copy in zip(seen, copies, strict=True):
            np.testing.assert_array_equal(view, copy)


def random_state_of(n, seed):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, n), random.uniform(-1, 1, n)


def test_frames_are_copies(planar_arm):
    before = planar_arm.update(np.zeros(3), np.zeros(3)).frame("tip")
    planar_arm.update(np.ones(3), np.ones(3))
    np.testing.assert_allclose(before.position, [0.7, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(before.rotation, np.eye(3), atol=1e-15)


def test_what_the_description_says(planar_arm):
    assert planar_arm.name == "three_link_slider"
    assert planar_arm.joint_names == ("joint_1", "joint_2", "joint_3")
    assert {"base_link", "link_3", "tip", "slider"} <= set(planar_arm.frame_names)
    np.testing.assert_array_equal(planar_arm.limits.effort, 10.0)
    np.testing.assert_array_equal(planar_arm.limits.velocity, 20.0)
    np.testing.assert_allclose(planar_arm.limits.upper, 2.0 * np.pi)
    np.testing.assert_array_equal(planar_arm.gravity, [0.0, 0.0, -9.81])
    assert planar_arm.joint_index("joint_2") == 1
    assert "joint_3" in repr(planar_arm)


def test_choice_of_joints_and_gravity():
    source = URDF / "slider_crank.urdf.xacro"
    arm = Arm.from_urdf(source, passive=["joint_2"], gravity=[1.0, 0.0, -2.0])
    assert arm.passive == {"joint_2"}
    np.testing.assert_array_equal(arm.actuated, [1.0, 0.0])
    np.testing.assert_array_equal(arm.gravity, [1.0, 0.0, -2.0])
    np.testing.assert_array_equal(Arm.from_urdf(source, gravity=1.62).gravity, [0.0, 0.0, -1.62])


def test_carriage_is_a_sliding_joint_without_a_motor():
    arm = three_link_arm(carriage="true")
    slides = dict(zip(arm.joint_names, arm.prismatic, strict=True))
    assert [name for name, slide in slides.items() if slide] == ["carriage_joint"]
    assert arm.limits.effort[arm.joint_index("carriage_joint")] == 0.0


def test_continuous_joint_has_no_limits():
    arm = Arm.from_urdf(random_urdf(0, 3, kinds=("continuous",)).replace("<limit", "<nolimit"))
    for limit in (arm.limits.upper, -arm.limits.lower, arm.limits.effort, arm.limits.velocity):
        np.testing.assert_array_equal(limit, np.inf)


def test_link_and_joint_of_one_name():
    """A URDF may call a joint and a link the same; a frame is then the link."""
    text = random_urdf(0, 2).replace('"end_2"', '"joint_1"')
    arm = Arm.from_urdf(text).update(*random_state_of(2, 0))
    same = Arm.from_urdf(random_urdf(0, 2)).update(*random_state_of(2, 0))
    np.testing.assert_array_equal(arm.frame("joint_1").position, same.frame("end_2").position)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda arm: arm.joint_index("elbow"), "unknown joint 'elbow'; there are: joint_1, joint_"),
        (
            lambda arm: arm.frame("hand"),
            "unknown frame 'hand'; there are: base_link, link_1, .*tip",
        ),
        (lambda arm: three_link_arm_with(joints=["joint_9"]), "unknown joint 'joint_9'; there are"),
        (lambda arm: three_link_arm_with(passive=["motor"]), "unknown joint 'motor'; there are"),
        (lambda arm: three_link_arm_with(locked={"j": 0.0}), "unknown joint 'j'; there are"),
    ],
)
def test_unknown_names_list_the_known_ones(planar_arm, make, message):
    with pytest.raises(UnknownName, match=message) as error:
        make(planar_arm)
    assert isinstance(error.value, KeyError)
    assert len(error.value.known) == len(set(error.value.known)) > 2


def three_link_arm_with(**arguments):
    return Arm.from_urdf(URDF / "three_link_slider.urdf.xacro", **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"joints": []}, "at least one joint"),
        ({"joints": ["joint_1", "joint_1"]}, "named twice"),
        ({"joints": ["joint_1"], "locked": {"joint_1": 0.0}}, "said to move and to be locked"),
        ({"locked": {"joint_1": np.nan}}, "locked joint_1 must be finite"),
        ({"gravity": np.inf}, "gravity must be finite"),
        ({"gravity": [1.0, 2.0]}, "gravity must have shape 3, got 2"),
    ],
)
def test_bad_choices_are_refused(arguments, message):
    with pytest.raises(InvalidValue, match=message):
        three_link_arm_with(**arguments)


GOOD = random_urdf(0, 2)
LIMIT = '<limit lower="-3" upper="3" effort="50" velocity="5"/>'


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no/such/file.urdf", "cannot read the robot description .*: No such file"),
        ("a\0b", "cannot read the robot description"),
        ("<robot><link></robot>", "not well-formed XML: mismatched tag"),
        (
            '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link></robot>',
            "not well-formed XML: mismatched tag",
        ),
        ("<sdf><model/></sdf>", "root is <sdf>, not <robot>"),
        ('<robot name="rock"><link name="rock"/></robot>', "has no movable joint"),
        (GOOD.replace("<mass value=", '<mass value="-1" was='), "the negative mass -1 kg"),
        (GOOD.replace("<mass value=", '<mass value="heavy" was='), "finite number, got 'heavy'"),
        (GOOD.replace("<mass value=", '<mass value="nan" was='), "must be a finite number"),
        (changed('upper="3"', 'upper="-4"'), "inconsistent limits: lower -3 is not below upper -4"),
        (changed('effort="50"', 'effort="-1"'), "got effort -1 and velocity 5"),
        (changed('lower="-3"', 'lower="inf"'), "lower limit of joint 'joint_1' .* finite number"),
        (changed('type="revolute"', 'type="floating"'), "of type 'floating'; an arm has revolute"),
        (changed('type="revolute"', 'type="planar"'), "of type 'planar'; an arm has revolute"),
        (changed('<child link="link_1"/>', '<child link="?"/>'), "Pinocchio cannot read"),
    ],
)
def test_bad_descriptions_are_refused(text, message):
    with pytest.raises(InvalidDescription, match=message) as error:
        Arm.from_urdf(text)
    assert isinstance(error.value, ValueError)


def test_binary_file_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InvalidDescription, match="not a text file"):
        Arm.from_urdf(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed('velocity="5"', 'velocity="0"'), "joint 'joint_1' has no velocity limit"),
        (changed(' effort="50"', ""), "joint 'joint_1' has no effort limit"),
        (changed('lower="-3" upper="3" ', ""), "joint 'joint_1' has no lower and upper limit"),
        (changed(LIMIT, ""), "joint 'joint_1' has no <limit>: it counts as unlimited"),
        (changed(LIMIT, LIMIT + '<mimic joint="nobody"/>'), "'nobody', which is no movable joint"),
    ],
)
def test_doubtful_descriptions_are_loaded_with_a_warning(text, message):
    arm = Arm.from_urdf(text)
    assert any(message in warning for warning in arm.warnings), arm.warnings
    assert not Arm.from_urdf(GOOD).warnings


def test_a_description_as_cad_exporters_write_it():
    """Frames as links of 1e-9 kg without inertia, a fixed joint about no axis, no lower, no upper.

    placo's planar closed chain is such a one.
    """
    frame = (
        '<link name="effector"><inertial><mass value="1e-9"/><inertia ixx="0" ixy="0" ixz="0" '
        'iyy="0" iyz="0" izz="0"/></inertial></link><joint name="effector_frame" type="fixed">'
        '<origin xyz="0.1 0 0"/><parent link="link_2"/><child link="effector"/>'
        '<axis xyz="0 0 0"/></joint></robot>'
    )
    arm = Arm.from_urdf(changed('lower="-3" upper="3" ', "").replace("</robot>", frame))
    assert "effector" in arm.frame_names
    assert arm.warnings == ("joint 'joint_1' has no lower and upper limit: it counts as unlimited",)
    assert np.isinf(arm.limits.upper[0])


def test_a_mimic_joint_is_passive_and_coupled():
    mimic = '<mimic joint="joint_2" multiplier="-2" offset="0.1"/>'
    arm = Arm.from_urdf(changed(LIMIT, LIMIT + mimic))
    assert arm.passive == {"joint_1"}
    held = with_mimics(arm, None)
    assert held.row_names == ("joint_1.1",)
    arm.update(np.array([0.7, 0.2]), np.zeros(2))
    np.testing.assert_allclose(held.residual(arm), [0.7 + 2.0 * 0.2 - 0.1], atol=1e-15)
    with pytest.raises(InvalidValue, match="mimics 'joint_2', which is locked"):
        Arm.from_urdf(changed(LIMIT, LIMIT + mimic), joints=["joint_1"])


def test_rotors_and_a_load_change_the_inertia():
    """Armature adds to the diagonal of M; a load counts as a point mass on its link, live."""
    plain, q = Arm.from_urdf(GOOD), np.array([0.3, -0.4])
    geared = Arm.from_urdf(GOOD, armature=[0.2, 0.1])
    for arm in (plain, geared):
        arm.update(q, np.zeros(2))
    np.testing.assert_allclose(geared.M - plain.M, np.diag([0.2, 0.1]), atol=1e-14)
    M, h = plain.M.copy(), plain.h.copy()
    plain.set_payload("link_2", 2.0, [0.1, 0.0, 0.2])
    tip = plain.update(q, np.zeros(2)).frame("link_2")
    spin = np.cross(tip.jacobian[3:].T, tip.rotation @ [0.1, 0.0, 0.2]).T
    J = tip.jacobian[:3] + spin
    np.testing.assert_allclose(plain.M - M, 2.0 * J.T @ J, atol=1e-12)
    np.testing.assert_allclose(plain.h - h, J.T @ [0.0, 0.0, 2.0 * 9.81], atol=1e-12)
    loaded, bodies = plain.M.copy(), plain.bodies
    plain.set_payload("link_2", 0.0)
    np.testing.assert_allclose(plain.update(q, np.zeros(2)).M, M, atol=1e-15)
    plain.set_bodies(bodies)
    np.testing.assert_array_equal(plain.update(q, np.zeros(2)).M, loaded)
    with pytest.raises(InvalidValue, match="armature must be one number or 2"):
        Arm.from_urdf(GOOD, armature=[0.1, 0.2, 0.3])


def test_mimicking_joint_can_be_locked():
    text = changed(LIMIT, LIMIT + '<mimic joint="joint_2"/>')
    assert Arm.from_urdf(text, joints=["joint_2"]).joint_names == ("joint_2",)


def without_mass(name):
    start = GOOD.index(f'<link name="{name}"><inertial>') + len(f'<link name="{name}">')
    stop = GOOD.index("</inertial>", start) + len("</inertial>")
    return GOOD[:start] + GOOD[stop:]


def test_a_link_without_mass_is_loaded_with_a_warning():
    text = without_mass("link_2")
    (warning,) = Arm.from_urdf(text).warnings
    assert "link link_2 moves but has no mass" in warning
    arm = Arm.from_urdf(text, massless_links=["link_2"]).update(*random_state_of(2, 0))
    assert not arm.warnings
    np.testing.assert_allclose(np.linalg.eigvalsh(arm.M)[0], 0.0, atol=1e-15)


def test_a_link_without_mass_is_refused_where_it_would_have_to_move():
    """By the plant and before a controller starts, by name; a rotor's inertia is enough."""
    free = Arm.from_urdf(without_mass("link_2"))
    with pytest.raises(InvalidValue, match=r"how joint joint_2 moves is not determined"):
        Plant(ConstrainedArm(free, None)).reset([0.3, 0.4])
    model = ConstrainedArm(free, None, Coordinates.of_joints(["joint_1"]))
    controller = MotionController(model, MotionGains(10.0, 6.0), period=1e-3)
    loop = ControlLoop(controller, Constant([0.3]))
    found = " ".join(obstacles(loop, np.array([0.3, 0.4]), 1e-3))
    assert "joint joint_2 has no inertia" in found
    heavy = Arm.from_urdf(without_mass("link_2"), armature=0.1)
    assert not heavy.warnings
    Plant(ConstrainedArm(heavy, None)).reset([0.3, 0.4])


def test_xacro_arguments():
    arm = three_link_arm(l1=0.5, l2=0.25, l3=0.125)
    np.testing.assert_allclose(arm.frame("tip").position, [0.875, 0.0, 0.0], atol=1e-15)
    with pytest.raises(
        InvalidDescription, match=r"has no argument length; it takes: carriage, .*l1"
    ):
        three_link_arm(length=1)
    with pytest.raises(InvalidDescription, match=r"xacro could not expand .*'horizontal' or"):
        three_link_arm(plane="oblique")
    with pytest.raises(InvalidDescription, match="xacro could not expand"):
        three_link_arm(l1="long")
    with pytest.raises(InvalidDescription, match="not a xacro file, so it takes no arguments"):
        Arm.from_urdf(GOOD, mappings={"l1": 1})


def test_xacro_as_text():
    text = GOOD.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"', 1)
    text = text.replace('effort="50"', 'effort="${10 * 2}"')
    np.testing.assert_array_equal(Arm.from_urdf(text).limits.effort, 20.0)


def test_inconsistent_limits_are_refused():
    ones = np.ones(2)
    with pytest.raises(InvalidValue, match="effort limits must not be negative"):
        JointLimits(-ones, ones, -ones, ones)
    with pytest.raises(InvalidValue, match="velocity limits must be positive"):
        JointLimits(ones, 0 * ones, -ones, ones)
    with pytest.raises(InvalidValue, match="position limits are inconsistent"):
        JointLimits(ones, ones, ones, ones)


# States as lists, and states that are none


def entry_points() -> dict:
    """Whatever takes q and q̇ from a user, by name."""
    from loops import build

    from projected_control import SteppedArm
    from projected_control.control.state import RawState

    loop, _ = build("hybrid")
    controller, model = loop.controller, loop.controller.model
    stepped = SteppedArm(3)

    def put(q, v):
        stepped.put(q, v, 0.0)
        return stepped.open().q

    return {
        "Arm.update": lambda q, v: model.arm.update(q, v).M.copy(),
        "ConstrainedArm.evaluate": lambda q, v: model.evaluate(q, v).P.copy(),
        "Controller.update": lambda q, v: controller.update(q, v).total.copy(),
        "Controller.stop": lambda q, v: controller.stop(q, v).total.copy(),
        "ControlLoop.update": lambda q, v: loop.update(RawState(q, v, 0.0)).effort.copy(),
        "SteppedArm.put": put,
    }


TAKES_STATES = (
    *("Arm.update", "ConstrainedArm.evaluate", "Controller.update", "Controller.stop"),
    *("ControlLoop.update", "SteppedArm.put"),
)


@pytest.mark.parametrize("name", TAKES_STATES)
def test_a_list_is_a_state(name):
    """As the array is; also whole numbers, tuples, and columns of an array."""
    q, v = [-0.4, 0.3, 0.2], [0, 1, 0]
    expected = entry_points()[name](np.array(q), np.array(v, dtype=float))
    strided = np.array([[x, 7.0] for x in q])[:, 0]
    for each in (q, tuple(q), strided):
        np.testing.assert_array_equal(entry_points()[name](each, v), expected)


@pytest.mark.parametrize("name", TAKES_STATES)
@pytest.mark.parametrize("wrong", [[0.1, 0.2], [[0.1, 0.2, 0.3]], 0.5, "here", None, ["a", 1, 2]])
def test_what_is_no_state_is_refused_with_what_is_expected(name, wrong):
    call, right = entry_points()[name], [0.1, 0.2, 0.3]
    for q, v in ((wrong, right), (right, wrong)):
        with pytest.raises(InvalidValue, match=r"(3 numbers, one per joint|must (have|be)).*, got"):
            call(q, v)
