"""The model of a constrained arm: what it is, not what is done with it.

Descriptions, Pinocchio, kinematics of frames, constraints, coordinates, the projection on what a
constraint leaves free, and the dynamics belong here. Nothing here knows of control, time steps or
ROS.
"""
