"""From a raw state to an effort that may be sent: one tick, on every kind of arm.

Control laws (each beside its equation), gains, stability of the sampled loops, sources of the
contact force, references, limits, the guard and the loop that makes one tick of them belong here.
How the state comes and where the effort goes is for `runs`.
"""

from projected_control.control.controllers import (
    Controller,
    ForceController,
    MotionController,
    PassiveJointController,
)
from projected_control.control.force import AntiWindup, ForceGains
from projected_control.control.gains import BLEND_SECONDS, MotionGains, Posture
from projected_control.control.impedance import Impedance
from projected_control.control.law import Law
from projected_control.control.limits import Limits
from projected_control.control.stability import ForceLoop
from projected_control.control.task_controllers import (
    ComputedTorqueController,
    ImpedanceController,
    OperationalSpaceController,
    SelectionController,
)
from projected_control.control.terms import Effort

__all__ = [
    "BLEND_SECONDS",
    "AntiWindup",
    "ComputedTorqueController",
    "Controller",
    "Effort",
    "ForceController",
    "ForceGains",
    "ForceLoop",
    "Impedance",
    "ImpedanceController",
    "Law",
    "Limits",
    "MotionController",
    "MotionGains",
    "OperationalSpaceController",
    "PassiveJointController",
    "Posture",
    "SelectionController",
]
