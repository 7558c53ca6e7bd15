"""Gazebo's physics without Gazebo: DART's Python module (``pip install dartpy``) steps our worlds.

``python stand_in.py world.sdf --iterations 8000`` reads the world that ``gz sim`` would read, makes
of it what gz-physics makes of it (the same joints, the weld as a constraint, the PGS solver), and
calls our system as Gazebo does: before the step, then the physics, then the sensor. Its Python
modules are small classes here. What it cannot show is Gazebo itself: its loader, its transport, its
entity-component manager.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import dartpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sdf_tree import inertia, pose

from projected_control.ros import gazebo_modules, gazebo_system, transport

MODEL = 7  # any number will do for an entity


class Skeleton:
    """The model of an SDF file in DART, its weld included."""

    def __init__(self, path):
        root = ElementTree.parse(path).getroot().find("model")
        self.skeleton = dartpy.dynamics.Skeleton(root.get("name"))
        self.joints, bodies = {}, {}
        base = pose(root)
        links = {link.get("name"): link for link in root.findall("link")}
        places = {name: base * pose(link) for name, link in links.items()}
        for joint in root.findall("joint"):
            parent, child = joint.findtext("parent"), joint.findtext("child")
            kind = joint.get("type")
            make = {
                "fixed": self.skeleton.createWeldJointAndBodyNodePair,
                "revolute": self.skeleton.createRevoluteJointAndBodyNodePair,
                "prismatic": self.skeleton.createPrismaticJointAndBodyNodePair,
            }[kind]
            made, body = make(bodies.get(parent))
            made.setName(joint.get("name"))
            body.setName(child)
            frame = places[child] * pose(joint)
            above = frame if parent == "world" else places[parent].inverse() * frame
            made.setTransformFromParentBodyNode(isometry(above))
            made.setTransformFromChildBodyNode(isometry(pose(joint)))
            if kind != "fixed":
                self._set_axis(made, joint.find("axis"))
            self._set_mass(body, links[child])
            bodies[child] = body
            self.joints[joint.get("name")] = made
        self.plugins = root.findall("plugin")
        weld = root.find("plugin[@name='gz::sim::systems::DetachableJoint']")
        self.weld = None
        if weld is not None:
            self.weld = dartpy.constraint.WeldJointConstraint(
                bodies[weld.findtext("parent_link")], bodies[weld.findtext("child_link")]
            )

    @staticmethod
    def _set_axis(joint, axis):
        joint.setAxis(np.array([float(x) for x in axis.findtext("xyz").split()]))
        limit = axis.find("limit")
        joint.setPositionLowerLimit(0, float(limit.findtext("lower")))
        joint.setPositionUpperLimit(0, float(limit.findtext("upper")))
        joint.setLimitEnforcement(True)
        effort = limit.findtext("effort")
        if effort is not None:
            joint.setForceLowerLimit(0, -float(effort))
            joint.setForceUpperLimit(0, float(effort))
        joint.setDampingCoefficient(0, float(axis.findtext("dynamics/damping") or 0.0))
        joint.setCoulombFriction(0, float(axis.findtext("dynamics/friction") or 0.0))

    @staticmethod
    def _set_mass(body, link):
        about = inertia(link)
        body.setInertia(dartpy.dynamics.Inertia(about.mass, about.lever, about.inertia))
        body.setGravityMode(link.findtext("gravity") != "false")


def isometry(place):
    result = dartpy.math.Isometry3()
    result.set_rotation(np.array(place.rotation))
    result.set_translation(np.array(place.translation))
    return result


class Physics:
    """What Gazebo's server does in a step."""

    def __init__(self, path):
        world = ElementTree.parse(path).getroot().find("world")
        self.step_size = float(world.findtext("physics/max_step_size"))
        self.model = Skeleton(world.findtext("include/uri"))
        self.world = dartpy.simulation.World()
        self.world.setTimeStep(self.step_size)
        self.world.setGravity(np.array([float(x) for x in world.findtext("gravity").split()]))
        self.world.addSkeleton(self.model.skeleton)
        solver = self.world.getConstraintSolver()
        if world.findtext("physics/dart/solver/solver_type") == "pgs":
            # DART's second choice becomes the first, as gz-physics does it.
            self._other = dartpy.simulation.World()
            pgs = self._other.getConstraintSolver().getSecondaryBoxedLcpSolver()
            solver.setBoxedLcpSolver(pgs)
            assert type(solver.getBoxedLcpSolver()).__name__ == "PgsBoxedLcpSolver"
        if self.model.weld is not None:
            solver.addConstraint(self.model.weld)
        self._solver = solver
        self.steps, self.listeners = 0, {}
        self._sensor = self.model.joints.get("tip_sensor_joint")

    @property
    def info(self):
        return SimpleNamespace(
            paused=False,
            sim_time=timedelta(seconds=(self.steps + 1) * self.step_size),
            dt=timedelta(seconds=self.step_size),
        )

    def step(self):
        self.world.step(False)
        self.steps += 1
        self.model.skeleton.resetCommands()
        self.tell("/tip_sensor", self.wrench)
        if self.steps == 1:
            self.tell("/slider/state", lambda: SimpleNamespace(data="attached"))

    def tell(self, topic, message):
        """What Gazebo publishes."""
        for callback in self.listeners.get(topic, []):
            callback(message())

    def detach(self):
        """The slider lets go."""
        self._solver.removeConstraint(self.model.weld)
        self.tell("/slider/state", lambda: SimpleNamespace(data="detached"))

    def wrench(self):
        """What the sensor's joint passes on to its child, in that one's axes."""
        moment_force = np.array(self._sensor.getChildBodyNode().getBodyForce())
        names = ("x", "y", "z")
        force, torque = moment_force[3:], moment_force[:3]
        return SimpleNamespace(
            force=SimpleNamespace(**dict(zip(names, force.tolist(), strict=True))),
            torque=SimpleNamespace(**dict(zip(names, torque.tolist(), strict=True))),
        )


def modules(physics):
    """The part of Gazebo's Python modules that we use."""

    class Joint:
        def __init__(self, joint):
            self._joint = joint

        def enable_position_check(self, ecm, enable):
            pass

        enable_velocity_check = enable_position_check

        def position(self, ecm):
            return [self._joint.getPosition(0)] if physics.steps else []

        def velocity(self, ecm):
            return [self._joint.getVelocity(0)] if physics.steps else []

        def set_force(self, ecm, force):
            self._joint.setCommand(0, force[0])

    class Model:
        def __init__(self, entity):
            assert entity == MODEL

        def joint_by_name(self, ecm, name):
            return physics.model.joints[name]

    class Node:
        def subscribe(self, kind, topic, callback):
            physics.listeners.setdefault(topic, []).append(callback)
            return True

        def advertise(self, topic, kind):
            return SimpleNamespace(publish=lambda message: None)

    plain = SimpleNamespace
    return gazebo_modules.Gazebo(
        plain(Joint=Joint, Model=Model), plain(Node=Node), object, lambda: None, object
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("world", type=Path)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--detach-at", type=int, help="step at which the slider lets go")
    parser.add_argument("--remove", type=Path, help="folder that is gone when the world ends")
    parser.add_argument("--listen", action="store_true", help="who else is there, as in Gazebo")
    given = parser.parse_args(arguments)
    if not given.listen:
        transport.DISCOVERY_SECONDS = 0.0
    physics = Physics(given.world)
    gazebo_system.find_gazebo = lambda: modules(physics)
    systems = []
    for plugin in physics.model.plugins:
        if plugin.findtext("module_name"):
            system = importlib.import_module(plugin.findtext("module_name")).get_system()
            system.configure(MODEL, SimpleNamespace(get_string=plugin.findtext), None, None)
            systems.append(system)
    for step in range(given.iterations):
        if step == given.detach_at:
            physics.detach()
        info = physics.info
        for system in systems:
            system.pre_update(info, None)
        physics.step()
    if given.remove is not None:
        shutil.rmtree(given.remove)
    for system in systems:
        system.shutdown()


if __name__ == "__main__":
    main()
