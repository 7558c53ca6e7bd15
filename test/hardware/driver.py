"""What an arm's own driver brings up: a controller manager with the arm and its broadcasters.

The arm is our simulated one, 10 % heavier than its description and with 0.5 N·m of stiction, so
that it is not the one that the controller knows. Nothing of ours runs but the hardware plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rclpy.qos import DurabilityPolicy, QoSProfile
from rig import Rig
from std_msgs.msg import String
from typed_pages import NOT_AS_DESCRIBED

from projected_control.apps.launch import choices, hardware_block
from projected_control.native.plant_file import write_plant
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.layers import Layers

SENSOR = "my_sensor"  # as the pages call it


@contextmanager
def driven(file: Path, log: Path) -> Iterator[Rig]:
    """The driver of the arm of a parameter file; commands are typed in the file's folder."""
    folder = file.parent
    arm = Layers.read([file]).arm().changed(NOT_AS_DESCRIBED)
    plant, model = folder / "plant.bin", build.build_arm(arm)
    write_plant(plant, build.build_plant(arm))
    names = list(model.joint_names)
    starts = dict(zip(names, build.build_plant(arm).truth.q.tolist(), strict=True))
    own = {"plant_file": str(plant), "brakes": "true"}
    description = hardware_block.with_hardware(
        model.urdf, "projected_control/SimulatedSystem", starts, names, SENSOR, "world", own
    )
    text = share_file("config", choices.CONTROLLERS_FILE).read_text(encoding="utf-8")
    parameters = folder / "driver.yaml"
    parameters.write_text(
        choices.controllers_file(names, SENSOR, model.root_link, text, 1000.0, names, True, ""),
        encoding="utf-8",
    )
    rig = Rig(log, "/joint_states", folder)
    try:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        publisher = rig.node.create_publisher(String, "/robot_description", latched)
        publisher.publish(String(data=description))
        control = ["ros2", "run", "controller_manager"]
        rig.start([*control, "ros2_control_node", "--ros-args", "--params-file", str(parameters)])
        broadcasters = ["joint_state_broadcaster", "force_torque_sensor_broadcaster"]
        spawner = [*control, "spawner", "--param-file", str(parameters)]
        rig.start([*spawner, *broadcasters])
        rig.start([*spawner, "--inactive", "effort_controller"])
        rig.until(lambda: rig.positions, "the arm's states", 60.0)
        yield rig
    finally:
        rig.close()
