"""From settings (see `nodes`) to arms, controllers, loops and plants.

The nodes, the demo and the tests all build through here, so that the same settings give the same
numbers everywhere. Nothing here needs ROS.
"""

from projected_control.settings.build.arms import (
    build_arm,
    build_constraint,
    build_coordinates,
    build_limits,
    build_model,
    check_payload,
    description_file,
    refuse_moved_centre,
    set_payload,
)
from projected_control.settings.build.controllers import (
    build_compensation,
    build_controller,
    build_disturbance,
    build_force_gains,
    build_gains,
    build_impedance,
    check_posture,
    delay_of,
    force_controller,
    gain_warnings,
    motion_controller,
    passive_joint_controller,
)
from projected_control.settings.build.loops import (
    build_force_reference,
    build_loop,
    build_reference,
    build_sines,
    check_observers,
    check_reference,
    check_tare,
    controlled_rows,
    motion_limits,
    plan_reference,
    tare_source,
)
from projected_control.settings.build.plants import (
    build_encoders,
    build_friction,
    build_motors,
    build_plant,
    start_guess,
)
from projected_control.settings.build.takeover import first_reference, starting_point

__all__ = [
    "build_arm",
    "build_compensation",
    "build_constraint",
    "build_controller",
    "build_coordinates",
    "build_disturbance",
    "build_encoders",
    "build_force_gains",
    "build_force_reference",
    "build_friction",
    "build_gains",
    "build_impedance",
    "build_limits",
    "build_loop",
    "build_model",
    "build_motors",
    "build_plant",
    "build_reference",
    "build_sines",
    "check_observers",
    "check_payload",
    "check_posture",
    "check_reference",
    "check_tare",
    "controlled_rows",
    "delay_of",
    "description_file",
    "first_reference",
    "force_controller",
    "gain_warnings",
    "motion_controller",
    "motion_limits",
    "passive_joint_controller",
    "plan_reference",
    "refuse_moved_centre",
    "set_payload",
    "start_guess",
    "starting_point",
    "tare_source",
]
