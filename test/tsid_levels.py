"""TSID's efforts for two levels of tasks: run by the Python of an environment that has TSID.

Reads one JSON object from standard input: the description's folder, q and q̇ by joint, the frame
and its wanted acceleration (first level), wanted accelerations by joint (second level), and, where
the arm is held, the frame that is. Prints one with efforts and accelerations by joint.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np


def load():
    """TSID; some of its wheels have the module one folder too deep."""
    module = import_module("tsid")
    return module if hasattr(module, "RobotWrapper") else import_module("tsid.tsid_pywrap")


def main():
    given = json.load(sys.stdin)
    pinocchio = import_module("pinocchio")
    tsid = load()
    robot = tsid.RobotWrapper(str(Path(given["urdf"]) / "robot.urdf"), [given["urdf"]], False)
    names = list(robot.model().names)[1:]
    q, v = (np.array([given[key][name] for name in names]) for key in ("q", "v"))
    problem = tsid.InverseDynamicsFormulationAccForce("levels", robot, False)
    problem.computeProblemData(0.0, q, v)
    if given["held"]:
        normal = np.array([0.0, 0.0, 1.0])
        contact = tsid.ContactPoint("held", robot, given["held"], normal, 1e6, -1e6, 1e6)
        contact.setKp(np.zeros(3))
        contact.setKd(np.zeros(3))
        contact.useLocalFrame(False)
        problem.addRigidContact(contact, 1e-8)
    if given["frame"]:
        tip = tsid.TaskSE3Equality("tip", robot, given["frame"])
        tip.setKp(np.zeros(6))
        tip.setKd(np.zeros(6))
        tip.setMask(np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        tip.useLocalFrame(False)
        wanted = tsid.TrajectorySample(12, 6)
        place = robot.framePosition(problem.data(), robot.model().getFrameId(given["frame"]))
        wanted.pos(np.concatenate([place.translation, place.rotation.T.reshape(-1)]))
        wanted.vel(np.zeros(6))
        wanted.acc(np.array([*given["acceleration"], 0.0, 0.0, 0.0]))
        tip.setReference(wanted)
        problem.addMotionTask(tip, 1.0, 0, 0.0)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(np.zeros(robot.nv))
    posture.setKd(np.zeros(robot.nv))
    posture.setMask(np.array([float(name in given["joints"]) for name in names]))
    wanted = tsid.TrajectorySample(robot.nv)
    wanted.pos(q)
    wanted.vel(v)
    wanted.acc(np.array([given["joints"].get(name, 0.0) for name in names]))
    posture.setReference(wanted)
    problem.addMotionTask(posture, 1.0, 1, 0.0)
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(problem.nVar, problem.nEq, problem.nIn)
    result = solver.solve(problem.computeProblemData(0.0, q, v))
    found = {"status": int(result.status), "pinocchio": pinocchio.__version__}
    for key, numbers in (
        ("effort", problem.getActuatorForces(result)),
        ("acceleration", problem.getAccelerations(result)),
    ):
        found[key] = dict(zip(names, np.asarray(numbers).tolist(), strict=True))
    print(json.dumps(found))


main()
