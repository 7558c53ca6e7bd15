"""The control laws, each beside its equation, with no ROS in them."""

from projected_control.control.controllers import (
    Controller,
    ForceController,
    MotionController,
    PassiveJointController,
)
from projected_control.control.force import AntiWindup, ForceGains
from projected_control.control.gains import BLEND_SECONDS, MotionGains
from projected_control.control.law import Law
from projected_control.control.stability import ForceLoop
from projected_control.control.terms import Effort

__all__ = [
    "BLEND_SECONDS",
    "AntiWindup",
    "Controller",
    "Effort",
    "ForceController",
    "ForceGains",
    "ForceLoop",
    "Law",
    "MotionController",
    "MotionGains",
    "PassiveJointController",
]
