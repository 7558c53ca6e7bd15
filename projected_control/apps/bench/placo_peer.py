"""placo's DynamicsSolver: run by the Python of an environment that has placo.

Imports nothing of this package. Reads one JSON object from standard input (`Problem`, the folder of
the description, seconds) and prints one with the median [µs].
"""

import json
import sys
from statistics import median
from time import perf_counter, perf_counter_ns

import numpy as np
import placo

DISTANCE = 0.05


def main() -> None:
    """Build the problem, solve it for so many seconds, print the median."""
    given = json.load(sys.stdin)
    robot = placo.RobotWrapper(given["urdf"], placo.Flags.ignore_collisions)
    for name, position in given["positions"].items():
        robot.set_joint(name, position)
    robot.update_kinematics()
    solver = placo.DynamicsSolver(robot)
    solver.mask_fbase(True)
    if given["ends"]:
        closing = solver.add_relative_position_task(*given["ends"], np.zeros(3))
        closing.mask.set_axises("xy")
        closing.configure("closing", "hard", 1.0)
        solver.add_task_contact(closing)  # the force that holds the loop together
    for name in given["held"]:
        point = solver.add_position_task(name, robot.get_T_world_frame(name)[:3, 3])
        point.configure(name, "hard", 1.0)
        solver.add_task_contact(point)
    if given["passive"]:
        motorless = solver.add_torque_task()
        for name in given["passive"]:
            motorless.set_torque(name, 0.0)
        motorless.configure("motorless", "hard", 1.0)
    joints = solver.add_joints_task()
    joints.set_joints({name: given["positions"][name] + DISTANCE for name in given["followed"]})
    joints.configure("joints", "soft", 1.0)
    solver.dt = 1e-3
    if given["effort"] is not None:
        solver.enable_torque_limits(True)
        solver.enable_velocity_limits(True)
        solver.enable_joint_limits(True)
    times: list[int] = []
    failed = 0
    end = perf_counter() + given["seconds"]
    while not times or perf_counter() < end:
        begin = perf_counter_ns()
        robot.update_kinematics()
        result = solver.solve(False)
        times.append(perf_counter_ns() - begin)
        failed += not result.success
    print(json.dumps({"p50_us": median(times) / 1e3, "solves": len(times), "failed": failed}))


main()
