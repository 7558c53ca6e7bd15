"""``tune --lqr``: gains by LQR on the constraint, and the sampled loops they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_control.apps.reports.contents import Table
from projected_control.arrays import Array
from projected_control.control.stability import MotionLoop
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning.lqr import LqrGains, linearise, lqr
from projected_control.settings import build
from projected_control.settings.files import parameter_text
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

SLOWNESS = 0.2
"""A rate of one costs as much as an error of this, by default [s]."""


@dataclass(frozen=True)
class Proposal:
    """What is printed.

    Attributes:
        names: Of the coordinates.
        gains: Of the Riccati equation.
        loops: The sampled loop of each coordinate with its own gains.
        error: Which error costs as much as all effort limits together [m or rad].
    """

    names: tuple[str, ...]
    gains: LqrGains
    loops: tuple[MotionLoop, ...]
    error: float

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "gains.stiffness": [float(f"{loop.stiffness:.4g}") for loop in self.loops],
            "gains.damping": [float(f"{loop.damping:.4g}") for loop in self.loops],
        }

    @property
    def numbers(self) -> dict[str, Any]:
        return self.parameters | {
            "coordinates": list(self.names),
            "lqr_gain": self.gains.gain,
            "cost_ratio": self.gains.cost_ratio,
            "spectral_radius": [loop.spectral_radius for loop in self.loops],
            "error": self.error,
        }

    def parameter_file(self, node: str) -> str:
        head = f"# Proposed by projected-control tune --lqr --error {self.error:g}.\n"
        return head + parameter_text({node: self.parameters})

    def table(self) -> Table:
        """What a terminal shows."""
        rows = [
            (name, f"{loop.stiffness:.4g}", f"{loop.damping:.4g}", f"{loop.spectral_radius:.5f}")
            for name, loop in zip(self.names, self.loops, strict=True)
        ]
        return Table("Gains by LQR", ("", "G_P [1/s²]", "G_D [1/s]", "sampled loop, |z|"), rows)


def propose(
    node: str, controller: ControllerSettings, arm: SimulatedArmSettings, error: float
) -> Proposal:
    """Linearise where the simulated arm starts, and weigh errors against the effort limits.

    Args:
        node: Kind of the controller node.
        controller, arm: Settings.
        error: Which error costs as much as all effort limits together [m or rad].

    Raises:
        UnstableMotionLoop: If a sampled loop with these gains would diverge.
    """
    loop = build.build_loop(node, controller)
    at = build.build_plant(arm).sense()
    model, limits = loop.controller.model, loop.guard.limits
    assert model.coordinates is not None
    motors = limits.effort[model.arm.actuated != 0.0]
    if not np.isfinite(motors).all():
        raise InvalidValue(
            "LQR weighs errors against the motors' efforts, and a motor has no limit: give "
            "limits.effort",
            key="limits.effort",
        )
    plain = ConstrainedArm(model.arm.twin(), model.constraint, model.coordinates)
    gains = lqr(linearise(plain, at.q), costs(model.k, error), motors**-2.0)
    delay, period = loop.controller.arm_delay, loop.controller.period
    pairs = zip(np.diag(gains.stiffness), np.diag(gains.damping), strict=True)
    loops = tuple(MotionLoop(float(p), float(d), period, delay) for p, d in pairs)
    for name, each in zip(model.coordinates.names, loops, strict=True):
        if not each.spectral_radius < 1.0:
            raise InvalidValue(
                f"with --error {error:g} the sampled loop of {name} would diverge: G_P = "
                f"{each.stiffness:.4g}, G_D = {each.damping:.4g} at {delay} samples of delay; a "
                "larger error makes it softer"
            )
    return Proposal(model.coordinates.names, gains, loops, error)


def costs(k: int, error: float) -> Array:
    """Q of x = (e, ė): errors, and rates by `SLOWNESS`."""
    return np.repeat([error**-2.0, (SLOWNESS / error) ** 2.0], k)
