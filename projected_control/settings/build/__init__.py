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
    coordinate_units,
    description_file,
    refuse_moved_centre,
    set_payload,
)
from projected_control.settings.build.contacts import one_sided_of
from projected_control.settings.build.controllers import (
    build_controller,
    build_force_gains,
    build_force_reference,
    build_gains,
    check_contact,
    controlled_rows,
    delay_of,
    force_controller,
    gain_warnings,
    motion_controller,
    passive_joint_controller,
)
from projected_control.settings.build.kinematics import REAL_DISTANCE, build_way_check, fly
from projected_control.settings.build.loops import (
    build_loop,
    build_reference,
    build_sines,
    check_force_step,
    check_observers,
    check_reference,
    check_tare,
    first_reference,
    lead_force,
    motion_limits,
    plan_reference,
    plan_task,
    starting_point,
    tare_source,
)
from projected_control.settings.build.plants import (
    build_plant,
    start_guess,
)

__all__ = [
    "REAL_DISTANCE",
    "build_arm",
    "build_constraint",
    "build_controller",
    "build_coordinates",
    "build_force_gains",
    "build_force_reference",
    "build_gains",
    "build_limits",
    "build_loop",
    "build_model",
    "build_plant",
    "build_reference",
    "build_sines",
    "build_way_check",
    "check_contact",
    "check_force_step",
    "check_observers",
    "check_payload",
    "check_reference",
    "check_tare",
    "controlled_rows",
    "coordinate_units",
    "delay_of",
    "description_file",
    "first_reference",
    "fly",
    "force_controller",
    "gain_warnings",
    "lead_force",
    "motion_controller",
    "motion_limits",
    "one_sided_of",
    "passive_joint_controller",
    "plan_reference",
    "plan_task",
    "refuse_moved_centre",
    "set_payload",
    "start_guess",
    "starting_point",
    "tare_source",
]
