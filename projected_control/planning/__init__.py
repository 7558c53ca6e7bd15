"""What is worked out before an arm moves: where it can go, along which way, how fast.

Paths and when to be where on them, inverse kinematics, the efforts that a law will send, where a
run may start and what is within reach belong here. Nothing here knows of parameter files: what is
planned with is made from these by `settings.build`.

Inverse kinematics finds joint positions for tasks in order of priority. The constraint is the first
of all tasks, with as many redundant rows as it likes. Below it come tasks, each of several
coordinates; what they leave free goes towards a posture. Joint limits hold throughout. `tasks` says
what is asked, `steps` how far to go at once, `inverse_kinematics` how to get there, `outcome` what
was found.
"""

from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.outcome import KinematicSolution, NearestLimit, Stop, TaskOutcome
from projected_control.planning.reach import Manipulability, Reach, manipulability, map_reach
from projected_control.planning.start import Start, assemble, start_of
from projected_control.planning.tasks import Task

__all__ = [
    "InverseKinematics",
    "KinematicSolution",
    "Manipulability",
    "NearestLimit",
    "Reach",
    "Start",
    "Stop",
    "Task",
    "TaskOutcome",
    "assemble",
    "manipulability",
    "map_reach",
    "start_of",
]
