"""Projected inverse dynamics control of constrained arms.

The names of daily use can be imported from here: ``from projected_control import Arm``. Each is
loaded when it is first asked for, so that importing the package itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_control.control import (
        Controller,
        ForceController,
        ForceGains,
        Law,
        MotionController,
        MotionGains,
        PassiveJointController,
    )
    from projected_control.control.force_source import ForceSource
    from projected_control.control.guard import Guard
    from projected_control.control.limits import Limits
    from projected_control.control.loop import ControlLoop, Tick
    from projected_control.control.references import (
        Constant,
        MotionLimits,
        Reference,
        SetPoint,
        Sine,
        Sines,
        Waypoints,
    )
    from projected_control.errors import ProjectedControlError
    from projected_control.model.arm import Arm
    from projected_control.model.constrained_arm import ConstrainedArm
    from projected_control.model.constraints import (
        Constraint,
        LoopClosure,
        Moving,
        PointAtPoint,
        PointOnLine,
        PointOnPlane,
        Stack,
    )
    from projected_control.model.coordinates import Coordinate, Coordinates
    from projected_control.model.projection import Metric
    from projected_control.ports import Port, RawState, Runner, SimulatedArm, SteppedArm, run
    from projected_control.resources import share_file
    from projected_control.simulation import (
        ForceSensor,
        JointFriction,
        Plant,
        assemble,
        start_of,
    )

__version__ = "0.1.0"

__all__ = [
    "Arm",
    "Constant",
    "ConstrainedArm",
    "Constraint",
    "ControlLoop",
    "Controller",
    "Coordinate",
    "Coordinates",
    "ForceController",
    "ForceGains",
    "ForceSensor",
    "ForceSource",
    "Guard",
    "JointFriction",
    "Law",
    "Limits",
    "LoopClosure",
    "Metric",
    "MotionController",
    "MotionGains",
    "MotionLimits",
    "Moving",
    "PassiveJointController",
    "Plant",
    "PointAtPoint",
    "PointOnLine",
    "PointOnPlane",
    "Port",
    "ProjectedControlError",
    "RawState",
    "Reference",
    "Runner",
    "SetPoint",
    "SimulatedArm",
    "Sine",
    "Sines",
    "Stack",
    "SteppedArm",
    "Tick",
    "Waypoints",
    "__version__",
    "assemble",
    "run",
    "share_file",
    "start_of",
]

_HOMES = {
    "model.arm": "Arm",
    "model.constraints": (
        "Constraint LoopClosure Moving PointAtPoint PointOnLine PointOnPlane Stack"
    ),
    "control": (
        "Controller ForceController ForceGains Law MotionController MotionGains "
        "PassiveJointController"
    ),
    "model.coordinates": "Coordinate Coordinates",
    "errors": "ProjectedControlError",
    "control.guard": "Guard",
    "control.limits": "Limits",
    "control.force_source": "ForceSource",
    "ports": "Port RawState Runner SimulatedArm SteppedArm run",
    "control.loop": "ControlLoop Tick",
    "model.constrained_arm": "ConstrainedArm",
    "model.projection": "Metric",
    "control.references": "Constant MotionLimits Reference SetPoint Sine Sines Waypoints",
    "resources": "share_file",
    "simulation": "ForceSensor JointFriction Plant assemble start_of",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a name from its module the first time it is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
