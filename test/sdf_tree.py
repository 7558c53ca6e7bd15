"""A model for Gazebo read back as Gazebo reads it, into Pinocchio: links, joints, and the weld."""

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
import pinocchio


def pose(element):
    """The pose of an element; the identity where it has none."""
    given = None if element is None else element.find("pose")
    if given is None:
        return pinocchio.SE3.Identity()
    numbers = np.array([float(x) for x in given.text.split()])
    if given.get("rotation_format") == "quat_xyzw":
        return pinocchio.SE3(pinocchio.Quaternion(numbers[3:]).matrix(), numbers[:3])
    return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*numbers[3:]), numbers[:3])


def number(element, path):
    return float(element.findtext(path))


def inertia(link):
    inertial = link.find("inertial")
    place = pose(inertial)
    xx, xy, xz, yy, yz, zz = (
        number(inertial, f"inertia/{name}") for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    body = pinocchio.Inertia(number(inertial, "mass"), np.zeros(3), tensor)
    return body.se3Action(place)


@dataclass
class Tree:
    """The tree of a model, and the two links that are welded together."""

    model: pinocchio.Model
    weightless: pinocchio.Model
    weld: tuple[str, str]
    joints: dict

    @classmethod
    def read(cls, path):
        root = ElementTree.parse(path).getroot().find("model")
        world = pose(root)
        links = {link.get("name"): link for link in root.findall("link")}
        places = {name: world * pose(link) for name, link in links.items()}
        model = pinocchio.Model()
        own = {"world": (0, pinocchio.SE3.Identity())}  # joint, and link in that joint's axes
        weightless = []
        for joint in root.findall("joint"):
            parent, child = joint.findtext("parent"), joint.findtext("child")
            above, inside = own[parent]
            here = places.get(parent, pinocchio.SE3.Identity())
            # A joint's frame is its own pose in its child's, as SDF has it.
            frame = places[child] * pose(joint)
            placement = inside * here.inverse() * frame
            if joint.get("type") == "fixed":
                own[child] = above, placement * pose(joint).inverse()
            else:
                axis = np.array([float(x) for x in joint.findtext("axis/xyz").split()])
                kind = {
                    "revolute": pinocchio.JointModelRevoluteUnaligned,
                    "prismatic": pinocchio.JointModelPrismaticUnaligned,
                }[joint.get("type")](axis)
                index = model.addJoint(above, kind, placement, joint.get("name"))
                own[child] = index, pose(joint).inverse()
            where, offset = own[child]
            if where:
                model.appendBodyToJoint(where, inertia(links[child]), offset)
                if links[child].findtext("gravity") == "false":
                    weightless.append((where, inertia(links[child]), offset))
            model.addFrame(
                pinocchio.Frame(child, where, 0, offset, pinocchio.FrameType.BODY), False
            )
        light = model.copy()
        for i in range(light.njoints):
            light.inertias[i] = pinocchio.Inertia.Zero()
        for body in weightless:
            light.appendBodyToJoint(*body)
        weld = root.find("plugin[@name='gz::sim::systems::DetachableJoint']")
        pair = () if weld is None else (weld.findtext("parent_link"), weld.findtext("child_link"))
        return cls(model, light, pair, {j.get("name"): j for j in root.findall("joint")})

    def weld_rows(self, data):
        """J of the weld: the twist of the pin less that of the carriage, at the pin, 6 × n."""
        carriage, pin = (self.model.getFrameId(name) for name in self.weld)
        axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pinocchio.getFrameJacobian(self.model, data, pin, axes).copy()
        other = pinocchio.getFrameJacobian(self.model, data, carriage, axes).copy()
        gap = data.oMf[pin].translation - data.oMf[carriage].translation
        other[:3] -= pinocchio.skew(gap) @ other[3:]
        return J - other

    def relative(self, data):
        """Pin in the carriage's axes."""
        carriage, pin = (data.oMf[self.model.getFrameId(name)] for name in self.weld)
        return carriage.inverse() * pin

    def close(self, q, free):
        """The chain's joints so that the loop is closed as at the start; `free` are theirs."""
        data = self.model.createData()
        pinocchio.framesForwardKinematics(self.model, data, np.zeros(self.model.nq))
        goal = self.relative(data)
        for _ in range(50):
            pinocchio.computeJointJacobians(self.model, data, q)
            pinocchio.framesForwardKinematics(self.model, data, q)
            carriage = data.oMf[self.model.getFrameId(self.weld[0])]
            error = pinocchio.log6(goal.inverse() * self.relative(data)).vector
            if np.abs(error).max() < 1e-12:
                break
            turn = carriage.rotation @ goal.rotation
            world = np.concatenate([turn @ error[:3], turn @ error[3:]])
            J = self.weld_rows(data)[:, free]
            q[free] -= np.linalg.lstsq(J, world, rcond=1e-9)[0]
        assert np.abs(error).max() < 1e-9, error
        return q

    def dynamics(self, q, v):
        """M, h, J of the weld and J̇v, with links that have no weight."""
        model, data = self.model, self.model.createData()
        M = pinocchio.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pinocchio.nonLinearEffects(model, data, q, v)
        h -= pinocchio.computeGeneralizedGravity(self.weightless, self.weightless.createData(), q)
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.framesForwardKinematics(model, data, q)
        J, step = self.weld_rows(data), 1e-6
        ahead = []
        for sign in (1.0, -1.0):
            there = q + sign * step * v
            pinocchio.computeJointJacobians(model, data, there)
            pinocchio.framesForwardKinematics(model, data, there)
            ahead.append(self.weld_rows(data))
        return M, h, J, (ahead[0] - ahead[1]) / (2 * step) @ v
