"""The model of an arm for Gazebo, as SDF, standing where the arm starts.

It is written from Pinocchio's model, so that it moves the very masses that the controller knows:
one link per joint that moves, with what is fixed to it lumped. Gazebo welds the loop as it stands
when it is loaded, and joint positions that are set later come too late. So every joint is at zero
where the arm starts; what reads its positions adds the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio

from projected_control.apps.gazebo.chains import ChainJoint, HoldingChains, TouchedFace
from projected_control.apps.gazebo.visuals import Visual, add_pose, add_visual, in_text
from projected_control.arrays import Array
from projected_control.errors import InvalidDescription, InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.friction import FRICTIONLESS, JointFriction

SDF_VERSION = "1.10"

UNLIMITED = 1e16
"""Position limit from which on SDF takes it for none [rad or m]."""

LIGHT_MASS, LIGHT_RADIUS = 1e-3, 0.01
"""Of each link that carriage and pin add: a ball [kg, m]. It has no weight, and moves the arm's
inertia by less than a thousandth; what is still lighter gains nothing."""

BALL, THICK = 0.005, 0.05
"""Radius of the ball that touches what can be left, and how thick that is [m]."""

BASE = "base"
SENSOR_JOINT = "tip_sensor_joint"
SENSOR_TOPIC = "/tip_sensor"
"""Gazebo topic on which the force-torque sensor publishes."""

WELD_TOPIC = "/slider"
"""Gazebo topics of the DetachableJoint system, which welds the tip, begin so."""


class GazeboModel(NamedTuple):
    """An arm as Gazebo gets it."""

    sdf: str  # the text
    joints: tuple[str, ...]  # names of the arm's joints, in its order
    # Joints along which the held point slides, and how far it does for each unit [m].
    slides: dict[str, float]


def build_model(
    arm: Arm,
    q: Array,
    holder: HoldingChains | None,
    *,
    friction: JointFriction = FRICTIONLESS,
    contact_friction: float = 0.0,
    wrench_frame: str = "",
    yaw: float = 0.0,
    visuals: Iterable[Visual] = (),
    plugins: Iterable[Element] = (),
) -> GazeboModel:
    """The model of an arm that starts at q.

    Args:
        arm: As it is simulated.
        q: Joint positions at the start, on the constraint [rad or m].
        holder: What holds it.
        friction: Of its joints.
        contact_friction: µ of a surface that can be left.
        wrench_frame: In whose axes the sensor measures; the held frame's if empty.
        yaw: By which the arm is turned in its world [rad].
        visuals: What is drawn.
        plugins: Systems of Gazebo that the model loads.
    """
    writer = _Writer(arm, q, yaw)
    writer.add_arm(friction)
    slides: dict[str, float] = {}
    if holder is not None:
        slides = writer.add_holder(holder, wrench_frame or holder.frame, contact_friction)
    for visual in visuals:
        add_visual(writer.links[visual.joint], visual)
    writer.model.extend(plugins)
    ElementTree.indent(writer.root)
    text = ElementTree.tostring(writer.root, encoding="unicode", xml_declaration=True)
    return GazeboModel(text, tuple(arm.joint_names), slides)


class _Writer:
    """Adds links and joints to a model; places are those at the start, in the model's axes."""

    def __init__(self, arm: Arm, q: Array, yaw: float) -> None:
        self._arm, self._model = arm, arm.pinocchio_model
        self._data = self._model.createData()
        arm.require_fixed("an arm in Gazebo", "its model is welded to the world")
        self._q = np.asarray(q, dtype=np.float64)
        pinocchio.framesForwardKinematics(self._model, self._data, self._q)
        self._names: set[str] = set()
        self.root = Element("sdf", version=SDF_VERSION)
        self.model = SubElement(self.root, "model", name=arm.name or "arm")
        add_pose(self.model, pinocchio.SE3(pinocchio.rpy.rpyToMatrix(0.0, 0.0, yaw), np.zeros(3)))
        SubElement(self.model, "self_collide").text = "false"
        self.links: list[Element] = []

    def add_arm(self, friction: JointFriction) -> None:
        model, limits = self._model, self._arm.limits
        coulomb, viscous = (
            np.broadcast_to(np.asarray(number, dtype=np.float64), model.nv)
            for number in (friction.coulomb, friction.viscous)
        )
        base = self._link(self._unique(BASE), pinocchio.SE3.Identity())
        _inertia(base, 1.0, np.zeros(3), 0.01 * np.eye(3))  # it never moves, but Gazebo wants one
        self.links.append(base)
        self._joint("world_joint", "fixed", "world", base)
        for index in range(1, model.njoints):
            link = self._link(self._unique(self._body_name(index)), self._data.oMi[index])
            _body_inertia(link, model.names[index], model.inertias[index])
            self.links.append(link)
            kind, axis = _kind_and_axis(model, index, self._q)
            joint = self._joint(
                model.names[index], kind, self.links[model.parents[index]].get("name", ""), link
            )
            i = model.joints[index].idx_v
            bounds = {
                "lower": limits.lower[i] - self._q[i],
                "upper": limits.upper[i] - self._q[i],
                "effort": limits.effort[i],
                "velocity": limits.velocity[i],
            }
            _axis(joint, axis, bounds, float(viscous[i]), float(coulomb[i]))

    def add_holder(self, holder: HoldingChains, wrench_frame: str, mu: float) -> dict[str, float]:
        """Sensor, pin and carriage, and the weld; how the held point slides with the carriage.

        What can be left is a box instead, and a ball at the held point that touches it.
        """
        tip = self._arm.attachment(holder.frame)
        axes = self._arm.attachment(wrench_frame)
        if axes.joint != tip.joint:
            raise InvalidValue(
                f"in Gazebo the force is measured at {holder.frame}, in axes that move with it; "
                f"those of constraint.wrench_frame ({wrench_frame}) do not: leave it empty"
            )
        body = self._data.oMi[tip.joint]
        position = np.array((body * pinocchio.SE3(np.eye(3), tip.translation)).translation)
        turned = body.rotation @ axes.rotation
        sensor = self._light_link("tip_sensor", pinocchio.SE3(turned, position))
        joint = self._joint(SENSOR_JOINT, "fixed", self.links[tip.joint].get("name", ""), sensor)
        _force_sensor(joint)
        if holder.surface is not None:
            self._touch(sensor, holder.surface, mu)
            return {}
        pin, _ = self._chain("pin", sensor, holder.pin, position)
        carried = self._arm.attachment(holder.carrier).joint if holder.carrier else 0
        ground = self.links[carried]
        carriage, slides = self._chain("carriage", ground, holder.carriage, position)
        if carriage is ground:
            carriage = self._light_link("carriage", pinocchio.SE3(np.eye(3), position))
            self._joint("carriage_joint", "fixed", ground.get("name", ""), carriage)
        self.model.append(_weld(carriage.get("name", ""), pin.get("name", "")))
        return slides

    def _touch(self, ball: Element, surface: TouchedFace, mu: float) -> None:
        """A ball and a box that collide, and nothing else of the model does.

        The ball is about the held point, the box as far below its face as the ball is thick.
        """
        self.model.find("self_collide").text = "true"  # type: ignore[union-attr]
        sphere = _collision(ball, "ball", mu)
        SubElement(SubElement(sphere, "sphere"), "radius").text = repr(BALL)
        long, wide = (float(np.linalg.norm(side)) for side in surface.sides)
        axes = np.column_stack([surface.sides[0] / long, surface.sides[1] / wide, surface.normal])
        axes[:, 1] = np.cross(axes[:, 2], axes[:, 0])
        middle = surface.centre + (BALL + 0.5 * THICK) * surface.normal
        table = self._link(self._unique("table"), pinocchio.SE3(axes, middle))
        _inertia(table, 1.0, np.zeros(3), 0.01 * np.eye(3))
        self._joint("table_joint", "fixed", "world", table)
        visual = SubElement(SubElement(table, "visual", name="table_visual"), "geometry")
        for geometry in (_collision(table, "table", mu), visual):
            size = in_text([2.0 * long, 2.0 * wide, THICK])
            SubElement(SubElement(geometry, "box"), "size").text = size

    def _chain(
        self, name: str, start: Element, joints: Iterable[ChainJoint], position: Array
    ) -> tuple[Element, dict[str, float]]:
        """The last link of a chain, and how far the held point goes with each of its joints."""
        link, levers = start, {}
        joints = tuple(joints)
        for number, joint in enumerate(joints, 1):
            last = number == len(joints)
            own = name if last else f"{name}_{number}"
            child = self._light_link(own, pinocchio.SE3(np.eye(3), position))
            offset = joint.point - position
            joined = f"{own}_joint"
            element = self._joint(joined, joint.kind, link.get("name", ""), child, offset)
            _axis(element, joint.axis, {}, 0.0, 0.0)
            across = np.linalg.norm(np.cross(joint.axis, offset))
            levers[joined] = 1.0 if joint.kind == "prismatic" else float(across)
            link = child
        return link, levers

    def _light_link(self, name: str, place: pinocchio.SE3) -> Element:
        link = self._link(self._unique(name), place)
        SubElement(link, "gravity").text = "false"
        moment = 0.4 * LIGHT_MASS * LIGHT_RADIUS**2
        _inertia(link, LIGHT_MASS, np.zeros(3), moment * np.eye(3))
        return link

    def _link(self, name: str, place: pinocchio.SE3) -> Element:
        link = SubElement(self.model, "link", name=name)
        add_pose(link, place)
        return link

    def _joint(
        self, name: str, kind: str, parent: str, child: Element, offset: Array | None = None
    ) -> Element:
        joint = SubElement(self.model, "joint", name=name, type=kind)
        if offset is not None and offset.any():
            add_pose(joint, pinocchio.SE3(np.eye(3), offset))
        SubElement(joint, "parent").text = parent
        SubElement(joint, "child").text = child.get("name")
        return joint

    def _body_name(self, joint: int) -> str:
        """The link that a joint moves, as the description names it."""
        frames = (f for f in self._model.frames if f.type == pinocchio.FrameType.BODY)
        own = [f.name for f in frames if f.parentJoint == joint and f.placement.isIdentity()]
        return str(own[0]) if own else f"{self._model.names[joint]}_link"

    def _unique(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name


def _kind_and_axis(model: pinocchio.Model, index: int, q: Array) -> tuple[str, Array]:
    """Kind and axis of a joint, in the axes of the link that it moves."""
    joint = model.joints[index]
    data = joint.createData()
    joint.calc(data, q)
    subspace = np.asarray(data.S).reshape(6)
    if np.any(subspace[:3]):
        return "prismatic", subspace[:3]
    return "revolute", subspace[3:]


def _axis(
    joint: Element, axis: Array, bounds: dict[str, float], damping: float, friction: float
) -> None:
    element = SubElement(joint, "axis")
    SubElement(element, "xyz").text = in_text(axis)
    limit = SubElement(element, "limit")
    for name, value in {"lower": -np.inf, "upper": np.inf, **bounds}.items():
        if np.isfinite(value) or name in ("lower", "upper"):
            SubElement(limit, name).text = repr(float(np.clip(value, -UNLIMITED, UNLIMITED)))
    if damping or friction:
        dynamics = SubElement(element, "dynamics")
        SubElement(dynamics, "damping").text = repr(damping)
        SubElement(dynamics, "friction").text = repr(friction)


def _body_inertia(link: Element, joint: str, inertia: pinocchio.Inertia) -> None:
    """Of a link that moves; what no body can have is refused, as Gazebo does, but with words."""
    name, moments = link.get("name", ""), np.linalg.eigvalsh(inertia.inertia)
    if inertia.mass <= 0.0 or moments[0] <= 0.0:
        raise InvalidDescription(
            f"link {name!r}, which {joint!r} moves, has mass {inertia.mass:g} kg and the principal "
            f"moments {', '.join(f'{m:.3g}' for m in moments)} kg·m²; in Gazebo what moves needs "
            "mass and inertia: give it an <inertial>, or fix it to its neighbour"
        )
    if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6):
        raise InvalidDescription(
            f"link {name!r}, which {joint!r} moves, has the principal moments "
            f"{', '.join(f'{m:.3g}' for m in moments)} kg·m²; no body has one that is larger than "
            "the sum of the others, and Gazebo refuses it: correct the <inertial>"
        )
    _inertia(link, inertia.mass, inertia.lever, inertia.inertia)


def _inertia(link: Element, mass: float, centre: Array, tensor: Array) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "pose").text = in_text([*centre, 0.0, 0.0, 0.0])
    SubElement(inertial, "mass").text = repr(float(mass))
    element = SubElement(inertial, "inertia")
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        SubElement(element, f"i{'xyz'[i]}{'xyz'[j]}").text = repr(float(tensor[i, j]))


def _force_sensor(joint: Element) -> None:
    """Measures what the held frame exerts on what holds it, in its own axes, in every step.

    It has no update rate, so that it answers every step. With one above 1000 Hz, Gazebo 8 hangs: it
    takes the sensor's period for a whole number of milliseconds.
    """
    sensor = SubElement(joint, "sensor", name="tip_sensor", type="force_torque")
    SubElement(sensor, "always_on").text = "true"
    SubElement(sensor, "update_rate").text = "0"
    SubElement(sensor, "topic").text = SENSOR_TOPIC
    kind = SubElement(sensor, "force_torque")
    SubElement(kind, "frame").text = "child"
    SubElement(kind, "measure_direction").text = "parent_to_child"


def _collision(link: Element, name: str, mu: float) -> Element:
    """Its geometry; a collision shape of a link with Coulomb's friction."""
    collision = SubElement(link, "collision", name=f"{name}_collision")
    geometry = SubElement(collision, "geometry")
    friction = SubElement(SubElement(SubElement(collision, "surface"), "friction"), "ode")
    for direction in ("mu", "mu2"):
        SubElement(friction, direction).text = repr(mu)
    return geometry


def _weld(carriage: str, pin: str) -> Element:
    return plugin(
        "gz-sim-detachable-joint-system",
        "gz::sim::systems::DetachableJoint",
        parent_link=carriage,
        child_model="__model__",
        child_link=pin,
        attach_topic=f"{WELD_TOPIC}/attach",
        detach_topic=f"{WELD_TOPIC}/detach",
        output_topic=f"{WELD_TOPIC}/state",
    )


def plugin(filename: str, name: str, **settings: str) -> Element:
    """A system of Gazebo, with its settings."""
    element = Element("plugin", filename=filename, name=name)
    for key, value in settings.items():
        SubElement(element, key).text = value
    return element
