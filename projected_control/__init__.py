"""Projected inverse dynamics control of constrained arms.

The names of daily use can be imported from here: ``from projected_control import Arm``. Each is
loaded when it is first asked for, so that importing the package itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_control.control import (
        ComputedTorqueController,
        Controller,
        ForceController,
        ForceGains,
        Impedance,
        ImpedanceController,
        Law,
        MotionController,
        MotionGains,
        OperationalSpaceController,
        PassiveJointController,
        Posture,
        SelectionController,
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
    from projected_control.control.state import RawState
    from projected_control.errors import ProjectedControlError
    from projected_control.model.arm import Arm, OffsetFrame
    from projected_control.model.constrained_arm import ConstrainedArm
    from projected_control.model.constraints import (
        Angle,
        Constraint,
        Distance,
        FrameFixed,
        Hinge,
        JointCoupling,
        JointLocked,
        LoopClosure,
        Moving,
        Parallel,
        PointAtPoint,
        PointOnCircle,
        PointOnCylinder,
        PointOnHeightMap,
        PointOnLine,
        PointOnPlane,
        PointOnSphere,
        Stack,
        with_mimics,
    )
    from projected_control.model.coordinates import Coordinate, Coordinates
    from projected_control.model.inverse_dynamics import InverseDynamics, inverse_dynamics
    from projected_control.model.mjcf import Loops, loops_from_mjcf
    from projected_control.model.projection import Metric
    from projected_control.planning import (
        InverseKinematics,
        KinematicSolution,
        Manipulability,
        Reach,
        Task,
        assemble,
        manipulability,
        map_reach,
        start_of,
    )
    from projected_control.resources import share_file
    from projected_control.runs.port import Port
    from projected_control.runs.recorder import Recorder
    from projected_control.runs.recording import Recording, read_recording
    from projected_control.runs.replay import RecordedArm, replay
    from projected_control.runs.runner import Runner, run
    from projected_control.runs.simulated import SimulatedArm, Simulation, simulate
    from projected_control.runs.stepped import SteppedArm
    from projected_control.simulation import ForceSensor, JointFriction, Plant

__version__ = "0.1.0"

__all__ = [
    "Angle",
    "Arm",
    "ComputedTorqueController",
    "Constant",
    "ConstrainedArm",
    "Constraint",
    "ControlLoop",
    "Controller",
    "Coordinate",
    "Coordinates",
    "Distance",
    "ForceController",
    "ForceGains",
    "ForceSensor",
    "ForceSource",
    "FrameFixed",
    "Guard",
    "Hinge",
    "Impedance",
    "ImpedanceController",
    "InverseDynamics",
    "InverseKinematics",
    "JointCoupling",
    "JointFriction",
    "JointLocked",
    "KinematicSolution",
    "Law",
    "Limits",
    "LoopClosure",
    "Loops",
    "Manipulability",
    "Metric",
    "MotionController",
    "MotionGains",
    "MotionLimits",
    "Moving",
    "OffsetFrame",
    "OperationalSpaceController",
    "Parallel",
    "PassiveJointController",
    "Plant",
    "PointAtPoint",
    "PointOnCircle",
    "PointOnCylinder",
    "PointOnHeightMap",
    "PointOnLine",
    "PointOnPlane",
    "PointOnSphere",
    "Port",
    "Posture",
    "ProjectedControlError",
    "RawState",
    "Reach",
    "RecordedArm",
    "Recorder",
    "Recording",
    "Reference",
    "Runner",
    "SelectionController",
    "SetPoint",
    "SimulatedArm",
    "Simulation",
    "Sine",
    "Sines",
    "Stack",
    "SteppedArm",
    "Task",
    "Tick",
    "Waypoints",
    "__version__",
    "assemble",
    "inverse_dynamics",
    "loops_from_mjcf",
    "manipulability",
    "map_reach",
    "read_recording",
    "replay",
    "run",
    "share_file",
    "simulate",
    "start_of",
    "with_mimics",
]

_HOMES = {
    "model.arm": "Arm OffsetFrame",
    "model.constraints": (
        "Angle Constraint Distance FrameFixed Hinge JointCoupling JointLocked LoopClosure Moving "
        "Parallel PointAtPoint PointOnCircle PointOnCylinder PointOnHeightMap PointOnLine "
        "PointOnPlane PointOnSphere Stack with_mimics"
    ),
    "control": (
        "ComputedTorqueController Controller ForceController ForceGains Impedance "
        "ImpedanceController Law MotionController MotionGains OperationalSpaceController "
        "PassiveJointController Posture SelectionController"
    ),
    "model.coordinates": "Coordinate Coordinates",
    "errors": "ProjectedControlError",
    "control.guard": "Guard",
    "control.limits": "Limits",
    "control.force_source": "ForceSource",
    "control.state": "RawState",
    "runs.port": "Port",
    "runs.runner": "Runner run",
    "runs.simulated": "SimulatedArm Simulation simulate",
    "runs.stepped": "SteppedArm",
    "runs.recorder": "Recorder",
    "runs.recording": "Recording read_recording",
    "runs.replay": "RecordedArm replay",
    "control.loop": "ControlLoop Tick",
    "model.constrained_arm": "ConstrainedArm",
    "model.inverse_dynamics": "InverseDynamics inverse_dynamics",
    "model.mjcf": "Loops loops_from_mjcf",
    "model.projection": "Metric",
    "control.references": "Constant MotionLimits Reference SetPoint Sine Sines Waypoints",
    "planning": (
        "InverseKinematics KinematicSolution Manipulability Reach Task assemble manipulability "
        "map_reach start_of"
    ),
    "resources": "share_file",
    "simulation": "ForceSensor JointFriction Plant",
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
