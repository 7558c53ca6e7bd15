"""Where can this arm go, and how? Tasks by priority on a constraint, manipulability, reach."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

arm = pc.Arm.from_urdf(
    pc.share_file("urdf", "seven_joints.urdf"),
    frames={"tool": pc.OffsetFrame("flange", (0.0, 0.0, 0.1))},
)
table = pc.PointOnPlane("tool", point=[0.0, 0.0, 0.2], normal=[0, 0, -1])
place = pc.Coordinates([pc.Coordinate.position("tool", axis) for axis in "xy"])
down = [0.0, 0.0, 1.0]  # the tool's own axis, which is to lean neither way
lean = pc.Coordinates(
    [
        pc.Coordinate.tilt("tool", down, [1, 0, 0], "lean_x"),
        pc.Coordinate.tilt("tool", down, [0, 1, 0], "lean_y"),
    ]
)
guess = [0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0]

# The table holds the tool; on it, the place comes first and the leans second.
ik = pc.InverseKinematics(
    arm, table, [pc.Task(place, [0.5, 0.1], "place"), pc.Task(lean, [0, 0], "square")]
)
found = ik.solve(guess)
print("near:", np.round(found.q, 3), "in", found.iterations, "steps")
print("     ", found.nearest.phrase)

# Too far to be square as well: the place is met all the same, and the leans as far as they can be.
far = ik.solve(guess, values=[[0.85, 0.1], [0, 0]], strict=False)
for outcome in far.outcomes:
    print("far: ", outcome.phrase)

# How well the tool moves over the table from there: of J P, what the table leaves.
over = pc.ConstrainedArm(arm.twin(), table, place)
for name, q in (("near", found.q), ("far", far.q)):
    ellipsoid = pc.manipulability(over, q)
    print(f"{name}: manipulability {ellipsoid.measure:.3f}, axes {np.round(ellipsoid.axes, 3)}")

# All that it reaches of the table while it stays square.
square = pc.Task(lean, [0, 0])
reach = pc.map_reach(arm, table, place, found.q, held=square, spacing=0.1)
low, high = reach.extent
print(f"square to the table it reaches {reach.area:.2f} m², x up to {high[0]:.2f} m")
