"""What is timed: arms and laws, each on its simulated arm; with limits that bind; a humanoid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from projected_control.apps.bench.random_trees import random_urdf
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task, simulated_arm
from projected_control.control import (
    ComputedTorqueController,
    Controller,
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
    SelectionController,
)
from projected_control.control.contact import Contact
from projected_control.control.kept_state import keep_state
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.one_sided import OneSided
from projected_control.control.references import Constant
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    Constraint,
    PointAtPoint,
    PointOnLine,
    PointOnPlane,
    Stack,
)
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.friction_cone import cone_rows
from projected_control.resources import arm_description, arms_folder, share_file
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import BUILT_IN, make_plant

PERIOD = 1e-3

DISTANCE = 0.05
"""From the start to the set-point, in every coordinate [rad]."""

HYBRID, PASSIVE = "hybrid", "passive"
OPERATIONAL_SPACE, IMPEDANCE = "operational_space", "impedance"
SELECTION, COMPUTED_TORQUE = "selection", "computed_torque"


@dataclass(frozen=True)
class Setup:
    """An arm in its place."""

    load: Callable[[tuple[str, ...]], Arm]  # reads the arm, given the names of its passive joints
    constraint: Callable[[Arm], Constraint]  # built where the arm is at its start
    start: tuple[float, ...]  # joint positions [rad]
    # Joints that are coordinates: as many as there are free directions; those that are the
    # most independent at the start where none are named.
    followed: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()  # joints without a motor, as many as the constraint carries
    across: str = ""  # axes of the tip that the constraint takes away

    def coordinates(self, arm: Arm, constraint: Constraint | None, law: str) -> Coordinates:
        """What is followed: what the constraint leaves; where the law does not know of it, all."""
        if constraint is None:
            return Coordinates.of_joints(arm.joint_names)
        if self.followed:
            joints = [Coordinate.joint(name) for name in self.followed]
            held = [Coordinate.position("tip", axis) for axis in self.across]
            return Coordinates([*joints, *(held if law == SELECTION else [])])
        model = ConstrainedArm(arm, constraint).evaluate(np.array(self.start), np.zeros(arm.n))
        order = qr(model.P, mode="r", pivoting=True)[-1][: model.free_directions]
        return Coordinates.of_joints([arm.joint_names[i] for i in sorted(order)])


def planar_arm(passive: tuple[str, ...]) -> Arm:
    """Three joints in a plane."""
    return Arm.from_urdf(share_file("urdf", "three_link_slider.urdf.xacro"), passive=passive)


def spatial_arm(passive: tuple[str, ...]) -> Arm:
    """Seven joints, their axes by turns along and across the arm."""
    return Arm.from_urdf(spatial_urdf(), passive=passive)


def spatial_urdf(joints: int = 7, length: float = 0.25, mass: float = 2.0) -> str:
    """A chain of equal links, stacked along z [m, kg]."""
    across = mass * length**2 / 12.0
    parts = ['<robot name="spatial_arm"><link name="link_0"/>']
    for i in range(1, joints + 1):
        axis = "0 0 1" if i % 2 else "0 1 0"
        parts.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="link_{i - 1}"/>'
            f'<child link="link_{i}"/><origin xyz="0 0 {length if i > 1 else 0.0}"/>'
            f'<axis xyz="{axis}"/>'
            '<limit lower="-6" upper="6" effort="300" velocity="20"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="0.02 0.01 {0.5 * length}"/>'
            f'<mass value="{mass}"/><inertia ixx="{across}" iyy="{across}" izz="{0.2 * across}" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
    parts.append(
        f'<joint name="tip_joint" type="fixed"><parent link="link_{joints}"/><child link="tip"/>'
        f'<origin xyz="0.05 0 {length}"/></joint><link name="tip"/></robot>'
    )
    return "".join(parts)


FAR_FRAMES = ("link_8", "link_16", "link_24", "tip")
"""What the arm of thirty joints is held at: three rows each."""


def bent(joints: int) -> tuple[float, ...]:
    """A pose away from every singular one [rad]."""
    return tuple(0.8 * np.sin(1.7 * i + 0.4) for i in range(joints))


SETUPS = {
    3: Setup(
        planar_arm,
        lambda arm: PointOnLine(
            "tip", arm.frame("tip").position, [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0]
        ),
        (-3.0, 2.0, 1.0),
        ("joint_1", "joint_2"),
        ("joint_3",),
        "y",
    ),
    7: Setup(
        spatial_arm,
        lambda arm: PointAtPoint("tip", arm.frame("tip").position),
        (0.8, 0.8, -0.5, 0.8, -0.7, -0.4, -0.2),
        ("joint_3", "joint_5", "joint_6", "joint_7"),
        ("joint_1", "joint_2", "joint_4"),
        "xyz",
    ),
    30: Setup(
        lambda passive: Arm.from_urdf(spatial_urdf(30, 0.1, 0.2), passive=passive),
        lambda arm: Stack([PointAtPoint(name, arm.frame(name).position) for name in FAR_FRAMES]),
        bent(30),
    ),
}


LIMBS, REGULAR = 0.15, 0.05
"""Share of a tree's links that begin a new limb; smallest singular value of what holds it."""


def tree_setup(joints: int, rows: int) -> Setup:
    """A random tree whose ends are held, from the last link on, as long as that stays regular."""
    text = random_urdf(joints, joints, branching=LIMBS, effort=1e5)
    start = np.random.default_rng(joints).uniform(-0.8, 0.8, joints)

    def held(arm: Arm) -> Constraint:
        arm.update(start, np.zeros(joints))
        found: list[Constraint] = []
        for i in range(joints, 0, -1):
            frame = f"end_{i}"
            place = arm.frame(frame).position
            more = PointAtPoint(frame, place) if rows > 1 else PointOnPlane(frame, place, [0, 0, 1])
            A = Stack([*found, more]).jacobian(arm)
            if np.linalg.svd(A, compute_uv=False)[-1] > REGULAR and len(A) <= rows:
                found.append(more)
        assert sum(each.rows for each in found) == rows, f"no tree of {joints} joints, {rows} rows"
        return found[0] if len(found) == 1 else Stack(found)

    return Setup(lambda passive: Arm.from_urdf(text, passive=passive), held, tuple(start))


@dataclass(frozen=True)
class TickCase:
    """An arm and a law."""

    joints: int  # which arm, by its number of joints
    rows: int  # rows of the constraint; 0 for none
    law: str  # ``hybrid``, ``passive``, or the name of a law in task or joint space

    @property
    def robot(self) -> str:
        """An arm is called by its joints."""
        return f"{self.joints} joints"

    @property
    def setup(self) -> Setup:
        """The arm in its place."""
        return SETUPS[self.joints]

    def build(self, engine: str = BUILT_IN) -> tuple[ControlLoop, SimulatedArm]:
        """The loop and an arm for it, on the way to a set-point near its start."""
        setup = self.setup
        arm = setup.load(setup.passive if self.law == PASSIVE else ())
        q0 = np.array(setup.start)
        constraint = setup.constraint(arm.update(q0, np.zeros(arm.n))) if self.rows else None
        followed = setup.coordinates(arm.twin(), constraint, self.law)
        model = ConstrainedArm(arm, constraint, followed)
        held = [name for name in followed.names if name.startswith("tip.")]
        away = [0.0 if name in held else DISTANCE for name in followed.names]
        reference = Constant(model.evaluate(q0, np.zeros(arm.n)).theta + np.array(away))
        controller = self._controller(model, held)
        limits = Limits.of(arm, effort_rate=1e6)
        held_arm = ConstrainedArm(arm.twin(), constraint, tolerance=1e-6)
        plant = make_plant(engine, held_arm, PERIOD)
        return ControlLoop(controller, reference, limits=limits), SimulatedArm(plant, q0)

    def _controller(self, model: ConstrainedArm, held: list[str]) -> Controller:
        gains = MotionGains.from_bandwidth(2.0)
        if self.law == PASSIVE:
            return PassiveJointController(model, gains, period=PERIOD)
        if self.law == OPERATIONAL_SPACE:
            levels = [1 + (2 * i) // model.k for i in range(model.k)]
            return OperationalSpaceController(model, gains, levels, ForceGains(), PERIOD)
        if self.law == IMPEDANCE:
            mobility = ImpedanceController(model, Impedance(1.0)).mobility
            stiffness = (4.0 * np.pi) ** 2 * np.linalg.inv(mobility)  # 2 Hz in every mode
            return ImpedanceController(model, Impedance(stiffness), ForceGains(), PERIOD)
        if self.law == SELECTION:
            return SelectionController(model, gains, ForceGains(), held, PERIOD)
        if self.law == COMPUTED_TORQUE:
            return ComputedTorqueController(model, gains, PERIOD)
        return ForceController(model, gains, ForceGains(), period=PERIOD)


CASES = tuple(
    TickCase(joints, rows, law) for joints, rows in ((3, 1), (7, 3)) for law in (HYBRID, PASSIVE)
)
TASK_LAWS = tuple(
    TickCase(joints, 0 if law == COMPUTED_TORQUE else rows, law)
    for joints, rows in ((3, 1), (7, 3))
    for law in (OPERATIONAL_SPACE, IMPEDANCE, SELECTION, COMPUTED_TORQUE)
)
"""The laws beyond projected inverse dynamics."""

LARGE = TickCase(30, 12, HYBRID)
"""A chain, measured beside the others."""


@dataclass(frozen=True)
class TreeCase(TickCase):
    """A random tree, points of which are held; its seed is its number of joints."""

    @property
    def robot(self) -> str:
        """As a tree of so many joints."""
        return f"tree of {self.joints}"

    @property
    def setup(self) -> Setup:
        """Held by as many points as there are rows, or on a plane, where it is not singular."""
        return tree_setup(self.joints, self.rows)


GROWTH = tuple(
    TreeCase(joints, rows, HYBRID) for joints, rows in ((3, 1), (7, 3), (14, 6), (30, 12), (50, 24))
)
"""How the time of a tick grows with its joints and rows."""


SOLES = tuple(f"{side}_sole_link" for side in ("left", "right"))
WRISTS = tuple(f"wrist_{side}_ft_tool_link" for side in ("left", "right"))
HUMANOID_FILE = "arms/talos_data/robots/talos_reduced.urdf"


class HumanoidCase(TickCase):
    """Talos of example-robot-data, its pelvis fixed to the world, feet and hands held at points."""

    robot = "talos"

    @property
    def setup(self) -> Setup:
        """In the middle of its joints' ranges."""
        path = arm_description(HUMANOID_FILE)
        arm = Arm.from_urdf(path)
        start = 0.5 * (arm.limits.lower + arm.limits.upper)
        return Setup(
            lambda passive: Arm.from_urdf(path, passive=passive),
            lambda arm: Stack(
                [PointAtPoint(name, arm.frame(name).position) for name in (*SOLES, *WRISTS)]
            ),
            tuple(start),
        )


HUMANOID = HumanoidCase(32, 12, HYBRID)


@dataclass(frozen=True)
class MechanismCase:
    """A mechanism as the demonstration runs it: its files, its law, its reference."""

    robot: str  # the task's name
    # joints, rows: of it; rows that repeat others count.
    joints: int
    rows: int
    law: str  # ``hybrid`` or ``passive``

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        """The loop and an arm for it, on the reference from the start."""
        settings = settings_for(self.robot, 1.0, "paper", True, {})
        runner, _ = ready_task(settings.case.node, settings.controller, settings.arm)
        return runner.loop, simulated_arm(runner)


class StillArm(SimulatedArm):
    """An arm that stands where it is while time passes: in every tick it is asked for the same."""

    def reset(self) -> None:
        super().reset()
        self.braked, self._readings = True, -1

    def read(self) -> RawState | None:
        self._readings += 1
        return self.sense()._replace(stamp=self._readings * self.period)


@dataclass(frozen=True)
class LimitCase:
    """An arm at rest that cannot have what its law asks for: efforts are at their limits.

    All limits are the same share of what is asked for, the largest with which so many bind.
    """

    free: TickCase  # the case without that
    binding: int = 4  # how many

    @property
    def robot(self) -> str:
        return f"{self.binding} limits bind"

    @property
    def joints(self) -> int:
        return self.free.joints

    @property
    def rows(self) -> int:
        return self.free.rows

    @property
    def law(self) -> str:
        return self.free.law

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        loop, moving = self.free.build()
        state = moving.open()
        loop.begin(state)
        loop.update(state)
        asked = np.abs(loop.controller.effort.total)
        for share in np.arange(0.995, 0.0, -0.005):
            limits = replace(loop.guard.limits, effort=share * asked, frozen_time=10.0)
            if np.count_nonzero(keep_state(loop.controller, limits).binds) >= self.binding:
                loop.guard.set_limits(limits)
                return loop, StillArm(moving.plant, self.free.setup.start)
        raise InvalidValue(f"no share of what is asked for makes {self.binding} limits bind")


FEET, SOLE, LOAD = 4, 0.04, 10.0
"""Contacts of a sole, half the length of its sides [m], what each of them is pressed with [N]."""


@dataclass(frozen=True)
class ContactCase:
    """Seven joints on a sole of four contacts that stick, each in a cone of eight facets.

    The force asked for is beyond one facet of one cone by `OUTSIDE` where that binds, and within
    all of them by as much where it does not.
    """

    binds: bool  # whether it does

    robot, joints, rows, law = "7 joints on a sole", 7, 3 * FEET, HYBRID

    OUTSIDE = 0.002

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        feet = [f"foot_{i}" for i in range(FEET)]
        parts = "".join(
            f'<link name="{foot}"/><joint name="{foot}_joint" type="fixed"><parent link="tip"/>'
            f'<child link="{foot}"/><origin xyz="0 {SOLE * x} {SOLE * y}"/></joint>'
            for foot, (x, y) in zip(feet, ((1, 1), (1, -1), (-1, -1), (-1, 1)), strict=True)
        )
        arm = Arm.from_urdf(spatial_urdf().replace("</robot>", parts + "</robot>"))
        q = np.array(SETUPS[7].start)
        arm.update(q, np.zeros(7))
        held = Stack([PointAtPoint(foot, arm.frame(foot).position) for foot in feet], feet)
        into, along, across = np.array(arm.frame("tip").rotation).T
        model = ConstrainedArm(arm, held, Coordinates.of_joints(["joint_1"]))
        gains = MotionGains.from_bandwidth(2.0)
        controller = ForceController(model, gains, ForceGains(0.0, 0.0), period=PERIOD)
        rows = np.arange(self.rows).reshape(FEET, 3)
        controller.contacts.lay(
            [OneSided.of_point(foot, list(its), into) for foot, its in zip(feet, rows, strict=True)]
        )
        place = np.array([arm.frame(foot).position - arm.frame("tip").position for foot in feet])
        pressed = LOAD * (1.0 - 2.0 * place @ along - place @ across)
        force = pressed[:, None] * into + 0.2 * LOAD * along
        theta = model.evaluate(q, np.zeros(7)).theta.copy()
        force = (model.A @ model.A_pinv @ force.ravel()).reshape(FEET, 3)  # what is independent
        one, cone = controller.contacts.members[0], cone_rows(1.0, 2)
        needed = (force @ one.tangents.T @ cone[:, 1:].T) / np.outer(force @ into, -cone[:, 0])
        share = 1.0 - self.OUTSIDE if self.binds else 1.0 + self.OUTSIDE
        controller.set_contact(Contact(friction=share * needed.max()))
        limits = Limits.of(arm, effort_rate=1e6, frozen_time=10.0)
        desired = Constant(force.ravel())
        loop = ControlLoop(
            controller,
            Constant(theta),
            limits=limits,
            force_reference=desired,
            force_source="model",
        )
        twin = ConstrainedArm(arm.twin(), held, tolerance=1e-6)
        return loop, StillArm(make_plant(BUILT_IN, twin, PERIOD), q)


MECHANISMS = (
    MechanismCase("five_bar", 4, 2, PASSIVE),
    MechanismCase("four_bar_3d", 3, 5, PASSIVE),
    MechanismCase("hitch", 6, 4, PASSIVE),
    MechanismCase("two_arms", 14, 6, HYBRID),
)

LEGGED = (
    MechanismCase("quadruped", 18, 12, PASSIVE),
    MechanismCase("anymal_squat", 18, 12, PASSIVE),
    MechanismCase("lean", 38, 12, PASSIVE),
)
"""Robots with legs, their bases float: ours, ANYmal on four points, talos on two soles."""

TimedCase = TickCase | MechanismCase | LimitCase | ContactCase

ALL_CASES: tuple[TimedCase, ...] = (*CASES, *TASK_LAWS, *MECHANISMS, LARGE, *GROWTH)
ALL_CASES += LEGGED[:1] if arms_folder() is None else (HUMANOID, *LEGGED)
"""In the order in which they are measured."""
