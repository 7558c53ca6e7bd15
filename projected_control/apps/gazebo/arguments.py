"""What a run in Gazebo can be told: by ``gazebo.launch.py`` and by ``projected-control gazebo``."""

from __future__ import annotations

from projected_control.apps.gazebo.world_files import SOLVERS
from projected_control.apps.launch import declared, loop_choice
from projected_control.apps.launch.choices import BOOLEANS
from projected_control.apps.launch.declared import LaunchArgument

AUTO, COMPILED, PYTHON = "auto", "compiled", "python"  # what ``access:=`` takes
LOCKSTEP, ROS2_CONTROL = "lockstep", "ros2_control"  # what ``bridge:=`` takes

ARGUMENTS = (
    *declared.common("force", "paper"),
    declared.task(),
    LaunchArgument(
        "bridge",
        LOCKSTEP,
        "lockstep: the controller inside the physics step. ros2_control: through gz_ros2_control "
        "and ros_gz_bridge, exactly as on a real arm.",
        (LOCKSTEP, ROS2_CONTROL),
    ),
    LaunchArgument(
        "loop",
        loop_choice.AUTO,
        "With bridge:=ros2_control, where the ticks are made. plugin: in the physics step, by "
        "projected_control/ProjectedController. topics: in our node. auto: plugin where it is "
        "installed and can do it, else topics.",
        loop_choice.LOOPS,
    ),
    LaunchArgument(
        "access",
        AUTO,
        "With bridge:=lockstep, who reads the physics' numbers. compiled: a small library, built "
        "once where Gazebo's development files are, with the force of the same step. python: "
        "Gazebo's Python modules, and the sensor's message. auto: compiled where it can be built, "
        "else python.",
        (AUTO, COMPILED, PYTHON),
    ),
    LaunchArgument(
        "measure",
        AUTO,
        "Whether the constraint force is measured where no law needs it, too. auto: where that "
        "costs little, with access:=compiled.",
        (AUTO, *BOOLEANS),
    ),
    LaunchArgument(
        "solver",
        AUTO,
        "DART's solver for the closed loop. auto: dantzig, which is exact, or pgs for planar arms, "
        "where dantzig fails.",
        (AUTO, *SOLVERS),
    ),
    LaunchArgument(
        "contact",
        "",
        "Coefficient of friction where the tip slides along line, plane or circle; empty for what "
        "the arm's file says (friction.contact).",
    ),
    LaunchArgument(
        "sensor_noise",
        "",
        "Standard deviation of the measured force and moment, in N and N·m; empty for what the "
        "arm's file says (sensor.noise).",
    ),
    LaunchArgument(
        "sensor_delay",
        "",
        "Steps by which the measured force is late, on top of the one that sampling brings; empty "
        "for what the arm's file says (sensor.delay).",
    ),
    LaunchArgument("gui", "false", "Show Gazebo's window.", tuple(BOOLEANS)),
    LaunchArgument(
        "rviz",
        "false",
        "RViz with the arm, the slider, the constraint force and the reference.",
        tuple(BOOLEANS),
    ),
    LaunchArgument(
        "world",
        "",
        "Another world: a xacro file with the arguments of worlds/constrained_arm.sdf.xacro.",
    ),
    LaunchArgument("factor", "0", "Speed of time against the clock; 0 for as fast as it goes."),
    LaunchArgument("yaw", "0", "By which the arm is turned in its world, in rad."),
    LaunchArgument("seconds", "0", "End after this much simulated time; 0 for never."),
    LaunchArgument(
        "summary", "", "File for the numbers of the run, as JSON, written when Gazebo ends."
    ),
)
