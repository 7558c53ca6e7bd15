"""Loops read from MJCF: the same as ours, the same as MuJoCo's, and what is refused."""

import numpy as np
import pytest
from arms import URDF, random_state, random_urdf

from projected_control.errors import InvalidDescription, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.dynamics import Problem, projected
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.model.mjcf import loops_from_mjcf
from projected_control.planning import assemble

START = [2.2, -1.2, 0.94, 1.2]
PASSIVE = ["left_elbow", "right_elbow"]


def rod(name, joint, x, length, mass, inside):
    """A body as urdf/mechanism.xacro has it."""
    across, along = mass * (length**2 + 0.03**2) / 12.0, mass * 0.03**2 / 6.0
    return (
        f'<body name="{name}" pos="{x} 0 0"><joint name="{joint}" axis="0 -1 0"/>'
        f'<inertial pos="{length / 2} 0 0" mass="{mass}" '
        f'diaginertia="{along} {across} {across}"/>{inside}</body>'
    )


def side(name, x, tip):
    lower = rod(f"{name}_lower", f"{name}_elbow", 0.25, 0.35, 0.5, tip)
    return rod(f"{name}_upper", f"{name}_motor", x, 0.25, 0.8, lower)


FIVE_BAR = f"""<mujoco model="five_bar">
<worldbody>
{side("left", -0.1, '<site name="left_tip" pos="0.35 0 0"/>')}
{side("right", 0.1, '<site name="right_tip" pos="0.35 0 0" quat="0 0 1 0"/>')}
</worldbody>
<equality><connect name="closing" site1="left_tip" site2="right_tip"/></equality>
</mujoco>"""


def five_bar(source):
    """The tree of the five_bar task with the loop of an MJCF, in motion."""
    loops = loops_from_mjcf(source)
    arm = Arm.from_urdf(URDF / "five_bar.urdf.xacro", passive=PASSIVE, frames=loops.frames)
    constraint = loops.constraint(arm)
    q = assemble(arm, constraint, START)
    model = ConstrainedArm(arm, constraint).evaluate(q, np.zeros(4))
    v = model.P @ np.array([1.0, 0.3, -0.5, 0.2])
    return model.evaluate(q, v), q, v


def test_the_five_bar_of_an_mjcf_is_the_task_five_bar(tmp_path):
    """In space one row of three is void; motion, forces and torques are those of the plane."""
    path = tmp_path / "five_bar.xml"
    path.write_text(FIVE_BAR, encoding="utf-8")
    read, q, v = five_bar(path)
    task = ConstrainedArm(
        Arm.from_urdf(URDF / "five_bar.urdf.xacro", passive=PASSIVE),
        LoopClosure("tip", "right_tip", plane_normal=[0, -1, 0]),
    ).evaluate(q, v)
    assert read.constraint.row_names == ("closing.tx", "closing.ty", "closing.tz")
    assert (read.m, read.rank, task.m, task.rank) == (3, 2, 2, 2)
    np.testing.assert_allclose(task.residual, 0.0, atol=1e-9)
    np.testing.assert_allclose(read.P, task.P, atol=1e-9)
    effort = np.array([1.0, 0.0, -2.0, 0.0])
    ours, its = (projected(Problem.of(model, effort)) for model in (task, read))
    np.testing.assert_allclose(its.acceleration, ours.acceleration, atol=1e-8)
    np.testing.assert_allclose(its.constraint_force, ours.constraint_force, atol=1e-8)
    torques = [inverse_dynamics(model, q, v, ours.acceleration).effort for model in (task, read)]
    np.testing.assert_allclose(torques[0], effort, atol=1e-8)
    np.testing.assert_allclose(torques[1], effort, atol=1e-8)


def test_the_five_bar_of_an_mjcf_is_mujocos():
    """The whole file in MuJoCo, at rest: its accelerations to the softness of its loop."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    read, q, _ = five_bar(FIVE_BAR)
    model = mujoco.MjModel.from_xml_string(FIVE_BAR)
    model.eq_solimp[:] = [0.9999, 0.9999, 0.001, 0.5, 2.0]
    data = mujoco.MjData(model)
    effort = np.array([1.0, 0.0, -2.0, 0.0])
    data.qpos[:], data.qfrc_applied[:] = q, effort
    mujoco.mj_forward(model, data)
    ours = projected(Problem.of(read.evaluate(q, np.zeros(4)), effort)).acceleration
    np.testing.assert_allclose(data.qacc, ours, rtol=2e-3, atol=1e-2)


BLOCK = """<equality>
<connect name="pin" body1="link_3" body2="link_1" anchor="0.1 -0.2 0.3"/>
<connect body1="link_4" anchor="0 0 0.1"/>
<weld name="seam" body1="link_9" body2="link_2"/>
<weld name="plate" body1="link_2" body2="link_10" relpose="0.2 0.1 0 0.5 0.1 -0.3 0.7"/>
<weld name="foot" body1="link_10" relpose="0.2 0.1 0 0.5 0.1 -0.3 0.7"/>
<weld name="hand" body1="world" body2="link_10" relpose="0.2 0.1 0 0.5 0.1 -0.3 0.7"/>
<joint name="gear" joint1="joint_2" joint2="joint_5" polycoef="0.1 -2.5 0 0 0"/>
<joint name="same" joint1="joint_1" joint2="joint_3"/>
<joint name="brake" joint1="joint_4" polycoef="0.4 0 0 0 0"/>
<weld name="off" active="false" body1="link_1" body2="link_2"/>
</equality>"""


def test_every_way_to_write_an_equality_is_mujocos():
    """MuJoCo's own residuals: of points and joints at any state, of welds where ours hold.

    To six digits: MuJoCo writes no more of them.
    """
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    tree = mujoco.MjSpec.from_string(random_urdf(3, 10))
    tree.compile()
    text = tree.to_xml().replace("</mujoco>", BLOCK + "</mujoco>")
    loops = loops_from_mjcf(text)
    assert [e.name for e in loops.equalities] == [
        *("pin", "connect_2", "seam", "plate", "foot", "hand", "gear", "same", "brake")
    ]
    arm = Arm.from_urdf(random_urdf(3, 10), frames=loops.frames)
    stack = loops.constraint(arm)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for seed in range(5):
        q, v = random_state(arm, seed)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        arm.update(q, v)
        row = 0
        for part, name in zip(stack.constraints, stack.names, strict=True):
            its, ours = data.efc_pos[row : row + part.rows], part.residual(arm)
            row += part.rows
            if part.rows == 1:
                np.testing.assert_allclose(its, ours, atol=1e-9, err_msg=name)
            elif part.rows == 3:
                assert np.linalg.norm(its) == pytest.approx(np.linalg.norm(ours), abs=2e-6), name
    for part, name in zip(stack.constraints, stack.names, strict=True):
        if part.rows != 6:
            continue
        q = assemble(arm, part, 0.5 * random_state(arm, 1)[0])
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        row = sum(p.rows for p in stack.constraints[: stack.constraints.index(part)])
        np.testing.assert_allclose(data.efc_pos[row : row + 6], 0.0, atol=2e-6, err_msg=name)


def test_where_the_model_stands_at_the_beginning_counts():
    """Bodies are joined as they stand there; joints are counted from there."""
    loops = loops_from_mjcf(f"<mujoco>{BLOCK}</mujoco>")
    arm = Arm.from_urdf(random_urdf(3, 10), frames=loops.frames)
    q, _ = random_state(arm, 2)
    stack = loops.constraint(arm, q)
    arm.update(q, np.zeros(10))
    found = dict(zip(stack.names, (c.residual(arm) for c in stack.constraints), strict=True))
    for name in ("pin", "connect_2", "seam", "same"):
        np.testing.assert_allclose(found[name], 0.0, atol=1e-12)
    assert found["gear"] == pytest.approx(-0.1)
    assert found["brake"] == pytest.approx(-0.4)


def test_a_file_that_includes_another(tmp_path):
    (tmp_path / "closing.xml").write_text(
        '<mujocoinclude><joint name="same" joint1="a" joint2="b"/></mujocoinclude>'
    )
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><equality><include file="closing.xml"/></equality></mujoco>')
    (equality,) = loops_from_mjcf(path).equalities
    assert (equality.joint, equality.other, equality.ratio) == ("a", "b", 1.0)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("", "has no active equality"),
        ('<equality><tendon tendon1="a"/></equality>', "is a <tendon>; only connect, weld, joint"),
        ('<equality><connect body1="a"/></equality>', "<connect> needs anchor"),
        ('<equality><connect body1="a" anchor="1 2"/></equality>', "must have shape 3, got 2"),
        ('<equality><connect body1="a" anchor="1 2 x"/></equality>', "anchor '1 2 x'"),
        ('<equality><connect body1="a" body2="a" anchor="0 0 0"/></equality>', "to itself"),
        ('<equality><joint joint1="a" joint2="b" polycoef="0 1 2"/></equality>', "bends"),
        ('<equality><joint joint2="b"/></equality>', "<joint> needs joint1"),
        (
            '<worldbody><site name="s" euler="1 2 3"/><site name="t"/></worldbody>'
            '<equality><weld site1="s" site2="t"/></equality>',
            "site 's' has euler: write its orientation as quat",
        ),
        (
            '<equality><joint name="x" joint1="a"/><joint name="x" joint1="b"/></equality>',
            "need names of their own",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(inside, message):
    with pytest.raises(InvalidDescription, match=message):
        loops_from_mjcf(f"<mujoco>{inside}</mujoco>")


def test_names_that_nobody_has_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="unknown site"):
        loops_from_mjcf('<mujoco><equality><weld site1="s" site2="t"/></equality></mujoco>')
    loops = loops_from_mjcf('<mujoco><equality><weld body1="hand"/></equality></mujoco>')
    with pytest.raises(UnknownName, match="'hand'"):
        Arm.from_urdf(random_urdf(3, 2), frames=loops.frames)
    with pytest.raises(InvalidDescription, match="is no MJCF"):
        loops_from_mjcf(random_urdf(3, 2))
    with pytest.raises(InvalidDescription, match="cannot read the MJCF"):
        loops_from_mjcf(tmp_path / "nothing.xml")
    with pytest.raises(InvalidDescription, match="read from URDF or xacro"):
        Arm.from_urdf("<mujoco><worldbody/></mujoco>")
