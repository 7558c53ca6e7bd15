"""Messages and values that make no sense, and some that do."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ODD_NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.0, 1e9)
JOINTS = ("joint_1", "joint_2", "joint_3")
COORDINATES = ("tip.x", "tip.angle")
ODD_NAMES = ("", "elbow", "joint_1", "tip.x", "tip.angle", "j" * 300, "gelenk_ö")


def number(random: np.random.Generator, odd: float = 0.4) -> float:
    """One number, often odd."""
    if random.random() < odd:
        return float(ODD_NUMBERS[random.integers(len(ODD_NUMBERS))])
    return float(random.normal())


def numbers(random: np.random.Generator, usual: int) -> list[float]:
    """Some numbers: of the usual count half of the time, and then rarely odd."""
    if random.random() < 0.5:
        odd = 0.2 if random.random() < 0.5 else 0.0
        return [number(random, odd) for _ in range(usual)]
    return [number(random) for _ in range(random.integers(0, 7))]


def names(random: np.random.Generator, usual: tuple[str, ...]) -> list[str]:
    """Some names: the usual ones in any order half of the time."""
    if random.random() < 0.5:
        return [usual[i] for i in random.permutation(len(usual))]
    return [ODD_NAMES[i] for i in random.integers(0, len(ODD_NAMES), random.integers(0, 5))]


def random_message(kind: Any, random: np.random.Generator) -> Any:
    """A message of a kind; states lack velocities, so that none passes for a real one."""
    if kind is JointState:
        return random_state(random, real=False)
    if kind is WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = ("", "tip", "elbow")[random.integers(3)]
        message.header.stamp = random_time(random)
        for vector in (message.wrench.force, message.wrench.torque):
            vector.x, vector.y, vector.z = (number(random) for _ in range(3))
        return message
    if kind is Float64MultiArray:
        message = Float64MultiArray(data=numbers(random, 1))
        message.layout.data_offset = int(random.integers(0, 1 << 32))
        return message
    message = JointTrajectory(joint_names=names(random, COORDINATES))
    width = len(message.joint_names)
    for _ in range(random.integers(0, 4)):
        point = JointTrajectoryPoint(positions=numbers(random, width))
        if random.random() < 0.4:
            point.velocities = numbers(random, width)
        if random.random() < 0.3:
            point.accelerations = numbers(random, width)
        seconds = int(random.integers(-1, 4))
        point.time_from_start = Duration(sec=seconds, nanosec=int(random.integers(0, 1 << 32)))
        message.points.append(point)
    return message


def random_state(random: np.random.Generator, real: bool = True) -> JointState:
    """A joint state; one that is not real never has as many velocities as names."""
    message = JointState(name=names(random, JOINTS), position=numbers(random, 3))
    message.header.stamp = random_time(random)
    if real:
        message.velocity = numbers(random, 3)
    else:
        message.velocity = [number(random) for _ in range(len(message.name) + 1)]
    return message


def random_time(random: np.random.Generator) -> Time:
    return Time(
        sec=int(random.integers(-(1 << 31), 1 << 31)), nanosec=int(random.integers(0, 1 << 32))
    )


def random_value(random: np.random.Generator, sample: Any) -> Any:
    """A parameter value: often of the type of the sample, often not."""
    dice = random.random()
    if dice < 0.7:
        return usual_value(random, sample)
    kinds = (
        lambda: number(random),
        lambda: int(random.integers(-10, 10)),
        lambda: int(random.integers(-(1 << 62), 1 << 62)),
        lambda: bool(random.integers(2)),
        lambda: ODD_NAMES[random.integers(len(ODD_NAMES))],
        lambda: [number(random) for _ in range(random.integers(0, 6))],
        lambda: [int(x) for x in random.integers(-5, 50, random.integers(1, 5))],
        lambda: [bool(x) for x in random.integers(0, 2, random.integers(1, 4))],
        lambda: [ODD_NAMES[i] for i in random.integers(0, len(ODD_NAMES), 3)],
        lambda: [],
        lambda: [bytes([int(x)]) for x in random.integers(0, 256, 3)],
        lambda: None,
    )
    return kinds[random.integers(len(kinds))]()


def usual_value(random: np.random.Generator, sample: Any) -> Any:
    """A value like the sample, near it or far from it."""
    scale = 10.0 ** random.uniform(-2, 2)
    if isinstance(sample, bool):
        return bool(random.integers(2))
    if isinstance(sample, int):
        return int(sample * scale) + int(random.integers(-1, 3))
    if isinstance(sample, float):
        return float(sample * scale)
    if isinstance(sample, str):
        return sample
    if sample and isinstance(sample[0], str):
        return list(sample)
    size = len(sample) if random.random() < 0.7 else int(random.integers(0, 5))
    return [float(random.normal() * scale) for _ in range(size)]
