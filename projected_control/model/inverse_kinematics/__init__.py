"""Inverse kinematics: joint positions for tasks in order of priority, under what holds the arm.

The constraint is the first of all tasks, with as many redundant rows as it likes. Below it stand
tasks, each of several coordinates; what they leave free goes towards a posture. Joint limits hold
throughout. `tasks` says what is asked, `steps` how far to go at once, `solver` how to get there,
`outcome` what was found, `ellipsoid` and `reach` how well and how far an arm can move.
"""

from projected_control.model.inverse_kinematics.ellipsoid import (
    Manipulability,
    manipulability,
)
from projected_control.model.inverse_kinematics.outcome import (
    KinematicSolution,
    NearestLimit,
    Stop,
    TaskOutcome,
)
from projected_control.model.inverse_kinematics.reach import Reach, map_reach
from projected_control.model.inverse_kinematics.solver import InverseKinematics
from projected_control.model.inverse_kinematics.tasks import Task

__all__ = [
    "InverseKinematics",
    "KinematicSolution",
    "Manipulability",
    "NearestLimit",
    "Reach",
    "Stop",
    "Task",
    "TaskOutcome",
    "manipulability",
    "map_reach",
]
