"""A simulated arm as a file, for the hardware plugin ``projected_control/SimulatedSystem``."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from projected_control.native.cpp_arm import arm_numbers
from projected_control.native.simulation import refuse_hardware
from projected_control.native.updates import ARM, Content, Section, Update, encode
from projected_control.runs.simulated import SimulatedArm, require_efforts


def plant_sections(hardware: SimulatedArm) -> dict[Section, Content]:
    """All that a simulated arm is, at its start.

    Raises:
        InvalidValue: Where something of it has to be computed in Python.
    """
    refuse_hardware(hardware)
    require_efforts(hardware, "what a controller manager commands")
    plant, sensor = hardware.plant, hardware.sensor
    hardware.reset()
    hardware.tell_sensor()
    model, numbers = plant.model, arm_numbers(plant.model.arm)
    arguments = model.arguments
    return {
        Section.JOINTS: "\0".join(model.arm.joint_names).encode(),
        **{section: numbers[section.name.lower()].reshape(-1) for section in ARM},
        Section.PLANT_SIZES: plant.sizes,
        Section.PLANT: plant.work,
        Section.STATE: arguments.state.reshape(-1),
        Section.SIZES: arguments.sizes,
        Section.FUNCTIONS: arguments.functions,
        Section.TARGET: arguments.target,
        Section.MODEL_WORK: arguments.work,
        Section.SUBSTEPS: np.array([hardware.substeps]),
        Section.MEASURES: np.array([int(hardware.measures)]),
        Section.NOISE: np.array(
            [
                *((0.0, 0.0) if sensor is None else (sensor.noise, sensor.seed)),
                hardware.motors.seed,
                *np.broadcast_to(hardware.motors.noise, (model.n,)),
            ]
        ),
    }


def write_plant(path: Path | str, hardware: SimulatedArm) -> Path:
    """Write a simulated arm into a file; a reader finds the old one or the new one, whole."""
    target = Path(path)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    unfinished.write_bytes(encode(Update.PLANT, 0, 0, plant_sections(hardware)))
    unfinished.replace(target)
    return target
