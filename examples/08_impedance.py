"""A push at the tip: what a Cartesian impedance gives way by, in free space and on a table."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

PUSH = np.array([5.0, 0.0, 5.0])  # N, in the world
STIFFNESS = [500.0, 500.0, 2000.0, 20.0, 20.0, 20.0]  # N/m and N·m/rad, in the tool's axes

arm = pc.Arm.from_urdf(
    pc.share_file("urdf", "seven_joints.urdf"),
    frames={"tool": pc.OffsetFrame("flange", [0.0, 0.0, 0.1])},
)
q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
tool = arm.update(q, np.zeros(7)).frame("tool")
place = tool.position.copy()
pose = pc.Coordinates(
    [
        *(pc.Coordinate.position("tool", axis) for axis in "xyz"),
        *pc.Coordinate.orientation("tool", tool.rotation.copy()),
    ]
)


def pushed(constraint, seconds=2.0):
    """Where the tool comes to rest under the push, and what the table then feels [m, N]."""
    model = pc.ConstrainedArm(arm.twin(), constraint, pose)
    impedance = pc.Impedance(STIFFNESS, damping_ratio=0.7, frame="tool")
    force = pc.ForceGains(integral=20.0) if constraint else None
    controller = pc.ImpedanceController(model, impedance, force)
    plant = pc.Plant(pc.ConstrainedArm(arm.twin(), constraint))
    port = pc.SimulatedArm(plant, q)
    port.carry([10.0] if constraint else None)  # its weight from the start on, and the force
    stay = pc.Constant(np.append(place, np.zeros(3)))
    wanted = pc.Constant([10.0]) if constraint else None
    loop = pc.ControlLoop(controller, stay, force_reference=wanted)

    def push(_, tick):
        port.push = model.arm.frame("tool").jacobian[:3].T @ PUSH

    pc.run(loop, port, ticks=round(1000 * seconds), observe=push)
    force = port.truth.multipliers[0] if constraint else 0.0
    return model.arm.update(port.truth.q, np.zeros(7)).frame("tool").position - place, force


moved, _ = pushed(None)
print(f"free: 5 N along x and z move the tool by {np.round(1e3 * moved, 2)} mm")
table = pc.PointOnPlane("tool", point=place, normal=[0, 0, -1])
moved, force = pushed(table)
print(f"on the table: by {np.round(1e3 * moved, 2)} mm, and {force:.2f} N on it, 10 N asked for")
