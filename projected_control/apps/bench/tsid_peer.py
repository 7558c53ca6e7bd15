"""TSID's inverse dynamics: run by the Python of an environment that has TSID.

Imports nothing of this package. Reads one JSON object from standard input (`Problem`, the folder of
the description, seconds) and prints one with the median [µs].
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

STATUS_OPTIMAL = 0
DISTANCE = 0.05
FORCE_LIMIT, EFFORT_LIMIT = 1e4, 1e3
UP, FRICTION = np.array([0.0, 0.0, 1.0]), 1.0
"""Its points are held within a cone of friction."""

LOOP_WEIGHT = 1e5
"""Against 1 for the motors: as a hard constraint its three rows are refused, as one of them is
redundant in the plane."""


def load() -> Any:
    """TSID; some of its wheels have the module one folder too deep."""
    module = import_module("tsid")
    return module if hasattr(module, "RobotWrapper") else import_module("tsid.tsid_pywrap")


def main() -> None:
    """Build the problem, solve it for so many seconds, print the median."""
    given = json.load(sys.stdin)
    import_module("pinocchio")
    tsid = load()
    path = Path(given["urdf"]) / "robot.urdf"
    robot = tsid.RobotWrapper(str(path), [given["urdf"]], False)
    names = list(robot.model().names)[1:]
    q = np.array([given["positions"][name] for name in names])
    v = np.zeros(robot.nv)
    motors = np.array([float(name not in given["passive"]) for name in names])
    followed = np.array([float(name in given["followed"]) for name in names])
    formulation = tsid.InverseDynamicsFormulationAccForce("problem", robot, False)
    formulation.computeProblemData(0.0, q, v)
    if given["ends"]:
        loop = tsid.ContactTwoFramePositions(
            "loop", robot, *given["ends"], -FORCE_LIMIT, FORCE_LIMIT
        )
        loop.setKp(np.zeros(3))
        loop.setKd(np.zeros(3))
        formulation.addRigidContact(loop, 1e-5, LOOP_WEIGHT, 1)
    kept = []
    for name in given["held"]:
        point = tsid.ContactPoint(name, robot, name, UP, FRICTION, 0.0, FORCE_LIMIT)
        point.setKp(np.zeros(3))
        point.setKd(np.zeros(3))
        at = robot.framePosition(formulation.data(), robot.model().getFrameId(name))
        point.setReference(at)
        formulation.addRigidContact(point, 1e-5)
        kept.append(point)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(10.0 * np.ones(robot.nv))
    posture.setKd(6.0 * np.ones(robot.nv))
    posture.setMask(followed)
    formulation.addMotionTask(posture, 1.0, 1, 0.0)
    goal = q + DISTANCE * followed
    posture.setReference(tsid.TrajectoryEuclidianConstant("rest", goal).computeNext())
    most = EFFORT_LIMIT * motors
    if given["effort"] is not None:
        most = np.array([given["effort"][name] for name in names]) * motors
        speeds = tsid.TaskJointBounds("speeds", robot, 1e-3)
        speeds.setVelocityBounds(-robot.model().velocityLimit, robot.model().velocityLimit)
        formulation.addMotionTask(speeds, 1.0, 0, 0.0)
    if given["effort"] is not None or given["passive"]:
        bounds = tsid.TaskActuationBounds("bounds", robot)
        bounds.setBounds(-most, most)
        formulation.addActuationTask(bounds, 1.0, 0, 0.0)
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(formulation.nVar, formulation.nEq, formulation.nIn)
    times: list[int] = []
    failed = 0
    end = perf_counter() + given["seconds"]
    while not times or perf_counter() < end:
        begin = perf_counter_ns()
        result = solver.solve(formulation.computeProblemData(0.0, q, v))
        times.append(perf_counter_ns() - begin)
        failed += int(result.status) != STATUS_OPTIMAL
    effort = dict(zip(names, formulation.getActuatorForces(result).tolist(), strict=True))
    acceleration = dict(zip(names, formulation.getAccelerations(result).tolist(), strict=True))
    print(
        json.dumps(
            {
                "p50_us": median(times) / 1e3,
                "solves": len(times),
                "failed": failed,
                "effort": effort,
                "acceleration": acceleration,
            }
        )
    )


main()
