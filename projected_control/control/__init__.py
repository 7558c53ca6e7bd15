"""The control laws, each beside its equation, with no ROS in them."""

from projected_control.control.base import Controller, Effort
from projected_control.control.force import AntiWindup, ForceController, ForceGains
from projected_control.control.gains import BLEND_SECONDS, MotionGains
from projected_control.control.motion import MotionController, MotionLaw
from projected_control.control.passive import PassiveJointController
from projected_control.control.stability import ForceLoop

__all__ = [
    "BLEND_SECONDS",
    "AntiWindup",
    "Controller",
    "Effort",
    "ForceController",
    "ForceGains",
    "ForceLoop",
    "MotionController",
    "MotionGains",
    "MotionLaw",
    "PassiveJointController",
]
