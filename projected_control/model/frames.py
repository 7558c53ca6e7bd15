"""Frames of an arm: their state, where they sit, and those that a description does not name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control import validate
from projected_control.declaration import LARGE, Group, OneOrMore, parameter
from projected_control.errors import InvalidDescription, InvalidValue, UnknownName
from projected_control.workspace import BYTES_PER_NUMBER

Array = NDArray[np.float64]


class FrameKinematics(NamedTuple):
    """A frame's state in world axes."""

    position: Array  # position of its origin [m]
    rotation: Array  # world from frame, 3 × 3
    jacobian: Array  # J with (ṗ, ω) = J q̇, linear above angular, 6 × n
    bias: Array  # J̇ q̇, linear and angular [m/s², rad/s²]


@dataclass(frozen=True)
class OffsetFrame(Group):
    """A frame that the description does not name: a tool, a place on a link."""

    link: str = parameter("", "Link on which it sits", required=True)
    position: OneOrMore = parameter(
        (0.0, 0.0, 0.0), "Its origin in the link's axes", "m", minimum=-LARGE, maximum=LARGE
    )
    orientation: OneOrMore = parameter(
        (0.0, 0.0, 0.0),
        "Roll, pitch and yaw of its axes in the link's",
        "rad",
        minimum=-LARGE,
        maximum=LARGE,
    )


class Attachment(NamedTuple):
    """Where a frame sits: its joint, live views of that one's placement, its own place there."""

    joint: int  # line of `Arm.placements` that its joint has; zero for what never moves
    joint_rotation: Array  # world from joint, 3 × 3
    joint_translation: Array  # position of the joint in the world [m]
    rotation: Array  # joint from frame, 3 × 3
    translation: Array  # the frame's origin in its joint's axes [m]
    support: Array  # 1 for each joint that moves the frame, else 0


def add_frame(model: pinocchio.Model, name: str, frame: OffsetFrame) -> None:
    """Add a frame at an offset from a link to a model."""
    link = pinocchio.FrameType.BODY
    if model.existFrame(name):
        raise InvalidValue(f"frame {name!r} is in the description already; choose another name")
    if not model.existFrame(frame.link, link):
        links = [f.name for f in model.frames if f.type == link]
        raise UnknownName(f"link of frame {name!r}:", frame.link, links)
    number = model.getFrameId(frame.link, link)
    position = validate.finite_array(f"position of frame {name!r}", frame.position, (3,))
    angles = validate.finite_array(f"orientation of frame {name!r}", frame.orientation, (3,))
    offset = pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*angles), position)
    carrier = model.frames[number]
    placement = carrier.placement * offset
    model.addFrame(pinocchio.Frame(name, carrier.parentJoint, number, placement, link))


def placements_of(data: pinocchio.Data) -> Array:
    """Pinocchio's vector of joint placements as one array, without a copy.

    Each is a rotation of nine numbers and a translation of three, dense and in this order; where
    this Pinocchio aligns them more widely, a line has some numbers more, which are not read.
    """
    addresses = [placement.rotation.__array_interface__["data"][0] for placement in data.oMi]
    steps = set(np.diff(addresses).tolist())
    first = data.oMi[0]
    gap = first.translation.__array_interface__["data"][0] - addresses[0]
    width = steps.pop() // BYTES_PER_NUMBER
    if steps or gap != 9 * BYTES_PER_NUMBER or width < 12:
        raise InvalidDescription(
            f"Pinocchio {pinocchio.__version__} lays joint placements out in a way that is not "
            "known here: expected are nine numbers of rotation and three of translation in a row; "
            "install one of the versions that the package names"
        )
    dense = (BYTES_PER_NUMBER * width, BYTES_PER_NUMBER)
    return np.lib.stride_tricks.as_strided(first.rotation, (len(addresses), width), dense)
