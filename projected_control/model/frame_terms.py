"""How frames move: what the kernels of scalar functions read (see `scalar_functions`)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class FrameTerms(NamedTuple):
    """Scratch of `evaluate_functions`: how the frames move, in world axes (see `frame_motion`)."""

    position: Annotated[Array, Part("frames, 3", "Position of the origin [m].")]
    omega: Annotated[Array, Part("frames, 3", "Angular velocity [rad/s].")]
    linear_bias: Annotated[Array, Part("frames, 3", "Acceleration of the origin at q̈ = 0 [m/s²].")]
    angular_bias: Annotated[Array, Part("frames, 3", "Angular acceleration at q̈ = 0 [rad/s²].")]
    jacobian: Annotated[Array, Part("frames, 6, n", "Jacobian, linear above angular.")]


FRAMES = Layout(FrameTerms, "frames", "n")
unpack_frames = FRAMES.unpack
