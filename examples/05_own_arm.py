"""An arm of one's own, from a URDF file, wipes: python 05_own_arm.py [file.urdf [frame]]."""

import argparse
import sys

import numpy as np

import projected_control as pc

JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0 0 {at}"/><axis xyz="{axis}"/>
  <limit lower="-3" upper="3" effort="80" velocity="4"/></joint>
  <link name="{child}"><inertial><origin xyz="0 0 0.15"/><mass value="3"/>
  <inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
PARTS = [("turn", "base", "column", "0 0 1", 0.0), ("shoulder", "column", "upper", "0 1 0", 0.3)]
PARTS += [("elbow", "upper", "lower", "0 1 0", 0.4), ("wrist", "lower", "hand", "0 1 0", 0.4)]
URDF = '<robot name="own"><link name="base"/>{}</robot>'.format(
    "".join(JOINT.format(name=n, parent=p, child=c, axis=a, at=z) for n, p, c, a, z in PARTS)
)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", nargs="?", help="a URDF file; an arm of four joints without it")
parser.add_argument("frame", nargs="?", help="what wipes; the last frame without it")
args = parser.parse_args()
try:
    arm = pc.Arm.from_urdf(args.file or URDF)  # a path, or the text itself
    frame = args.frame or arm.frame_names[-1]
    arm.update(np.zeros(arm.n), np.zeros(arm.n)).frame(frame)
except pc.ProjectedControlError as error:
    parser.error(str(error))
print(arm)

# The frame wipes a horizontal table that is where the frame happens to be.
lower, upper = np.clip([arm.limits.lower, arm.limits.upper], -2.0, 2.0)
q = lower + np.linspace(0.55, 0.75, arm.n) * (upper - lower)  # bent, and within its ranges
place = arm.update(q, np.zeros(arm.n)).frame(frame).position
table = pc.PointOnPlane(frame, point=place, normal=[0, 0, 1])
hand = pc.Coordinates([pc.Coordinate.position(frame, "x"), pc.Coordinate.position(frame, "y")])
wipe = pc.Sines(place[:2], [[pc.Sine(0.05, 0.5)], [pc.Sine(0.05, 0.25)]])  # m, Hz

model = pc.ConstrainedArm(arm, table, hand)
controller = pc.MotionController(model, pc.MotionGains.from_bandwidth(4.0))  # Hz
height = []


def watch(_, tick):
    height.append(arm.frame(frame).position[2] - place[2])


statistics = pc.simulate(model, controller, wipe, guess=q, observe=watch).statistics
print(f"{frame} stays within {np.abs(height).max():.1e} m of the table")
print(f"largest error {1e6 * statistics.summary()['tracking_peak']:.0f} µm")
noticed = ", ".join(f"{event.phrase} × {n}" for event, n in statistics.events.items())
print(f"the guard noticed: {noticed or 'nothing'}")
sys.exit(f"{arm.name} did not follow freely" if noticed else 0)
