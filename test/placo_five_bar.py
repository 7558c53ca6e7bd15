"""placo's inverse dynamics of a five-bar: run by the Python of an environment that has placo.

Reads one JSON object from standard input (description, state, names, wanted accelerations) and
prints one with the torques and accelerations that placo finds, by joint.
"""

import json
import sys

import numpy as np
import placo


def main() -> None:
    given = json.load(sys.stdin)
    robot = placo.RobotWrapper(given["urdf"], placo.Flags.ignore_collisions)
    for name in given["q"]:
        robot.set_joint(name, given["q"][name])
        robot.set_joint_velocity(name, given["v"][name])
    robot.update_kinematics()
    solver = placo.DynamicsSolver(robot)
    solver.mask_fbase(True)
    solver.dt = 1e-3
    closing = solver.add_relative_position_task(*given["ends"], np.zeros(3))
    closing.mask.set_axises(given["axes"])
    closing.kp, closing.kd = 0.0, 0.0
    closing.ddtarget = np.array(given["closing"])  # placo leaves out J̇q̇ of this task
    closing.configure("closing", "hard", 1.0)
    solver.add_task_contact(closing)
    motorless = solver.add_torque_task()
    for name in given["passive"]:
        motorless.set_torque(name, 0.0)
    motorless.configure("motorless", "hard", 1.0)
    joints = solver.add_joints_task()
    for name in given["q"]:
        joints.set_joint(name, *(given[key][name] for key in ("q", "v", "acceleration")))
    joints.kp, joints.kd = 0.0, 0.0
    joints.configure("joints", "soft", 1.0)
    result = solver.solve(False)
    at = {name: robot.get_joint_v_offset(name) for name in given["q"]}
    found = {
        "success": bool(result.success),
        "tau": {name: float(result.tau[i]) for name, i in at.items()},
        "qdd": {name: float(result.qdd[i]) for name, i in at.items()},
    }
    print(json.dumps(found))


main()
