"""From a raw state to an effort that may be sent: one tick, on every kind of arm.

Control laws (one file each, in `laws`), gains, stability of the sampled loops, sources of the
contact force, references, limits, the guard and the loop that makes one tick of them belong here.
How the state comes and where the effort goes is for `runs`.
"""

from projected_control.control.controllers import Controller
from projected_control.control.force import AntiWindup, ForceGains
from projected_control.control.gains import BLEND_SECONDS, MotionGains, Posture
from projected_control.control.law_kinds import Law
from projected_control.control.laws.computed_torque import ComputedTorqueController
from projected_control.control.laws.hybrid import ForceController
from projected_control.control.laws.impedance import Impedance, ImpedanceController
from projected_control.control.laws.operational_space import OperationalSpaceController
from projected_control.control.laws.passive import PassiveJointController
from projected_control.control.laws.pidc import MotionController
from projected_control.control.laws.resolved_rate import ResolvedRateController
from projected_control.control.laws.selection import SelectionController
from projected_control.control.limits import Limits
from projected_control.control.stability import ForceLoop
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
    "ResolvedRateController",
    "SelectionController",
]
