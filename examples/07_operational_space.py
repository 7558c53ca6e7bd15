"""An arm of seven joints wipes, keeps its tool upright below that, and its elbow below both."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

arm = pc.Arm.from_urdf(
    pc.share_file("urdf", "seven_joints.urdf"),
    frames={"tool": pc.OffsetFrame("flange", [0.0, 0.0, 0.1])},
)
q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
tool = arm.update(q, np.zeros(7)).frame("tool").position
table = pc.PointOnPlane("tool", point=tool, normal=[0, 0, -1])

# One level per line, the highest first. Leaning one way is asked for twice, on purpose: rows that
# repeat each other, within a level or between two, change nothing.
tilt, x = pc.Coordinate.tilt, tool[0]
coordinates = pc.Coordinates(
    [
        *(pc.Coordinate.position("tool", axis) for axis in "xy"),
        tilt("tool", [0, 0, 1], [1, 0, 0], "lean_x"),
        tilt("tool", [0, 0, 1], [0, 1, 0], "lean_y"),
        tilt("tool", [0, 0, 1], [0, 1, 0], "lean_y_again"),
        pc.Coordinate.position("link_4", "y", "elbow"),
    ]
)
priority = [1, 1, 2, 2, 2, 3]
circle = pc.Sines(
    [x, 0.0, 0.0, 0.0, 0.0, 0.0],
    [[pc.Sine(0.05, 0.5)], [pc.Sine(0.05, 0.25)], [], [], [], [pc.Sine(0.01, 0.25)]],
)
model = pc.ConstrainedArm(arm, table, coordinates)
gains, force_gains = pc.MotionGains.from_bandwidth(4.0), pc.ForceGains(integral=20.0)
controller = pc.OperationalSpaceController(model, gains, priority, force_gains)
controller.set_posture(pc.Posture(q, stiffness=25.0, damping=10.0))

start = pc.assemble(arm, table, q)
plant = pc.Plant(pc.ConstrainedArm(arm.twin(), table))
port = pc.SimulatedArm(plant, start)
port.carry([10.0])  # its weight from the start on, and the force
loop = pc.ControlLoop(controller, circle, force_reference=pc.Constant([10.0]))
errors, force = [], []


def watch(_, tick):
    errors.append(np.abs(controller.error[0]))
    force.append(port.truth.multipliers[0])


pc.run(loop, port, ticks=4000, observe=watch)
late = np.array(errors)[2000:]
for level, names, unit in ((1, "place", "mm"), (2, "lean", "mrad"), (3, "elbow", "mm")):
    rows = [i for i, one in enumerate(priority) if one == level]
    print(f"level {level}, {names}: largest error {1e3 * late[:, rows].max():.3f} {unit}")
print(f"force {np.mean(force[2000:]):.2f} N, 10 N were asked for")
