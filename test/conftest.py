"""What several test files need."""

from __future__ import annotations

import numpy as np
import pytest
from arms import URDF, random_urdf, three_link_arm
from hypothesis import settings

from projected_control.model.arm import Arm

# The first call of a kernel compiles it, so no example has a deadline. Derandomised: a suite that
# passes today passes tomorrow.
settings.register_profile("projected_control", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("projected_control")


@pytest.fixture
def urdf_directory():
    """Where the descriptions stand."""
    return URDF


@pytest.fixture
def random():
    return np.random.default_rng(7)


@pytest.fixture
def planar_arm() -> Arm:
    """Three revolute joints in the horizontal plane."""
    return three_link_arm()


@pytest.fixture
def spatial_arm() -> Arm:
    """Seven revolute joints in any direction."""
    return Arm.from_urdf(random_urdf(3, 7))
