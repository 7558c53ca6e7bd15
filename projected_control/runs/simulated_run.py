"""The usual case in one call: a controller follows a reference on a simulated arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.controllers import Controller
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.references import Reference
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning import start_of
from projected_control.runs.runner import run
from projected_control.runs.simulated import SimulatedArm
from projected_control.runs.statistics import Statistics
from projected_control.simulation import ForceSensor, JointFriction, Plant
from projected_control.simulation.friction import FRICTIONLESS
from projected_control.simulation.joint_stops import stops_within

Array = NDArray[np.float64]


class Simulation(NamedTuple):
    """A simulated run, one line per tick.

    Attributes:
        time: [s].
        q: Joint positions [rad or m].
        effort: What was sent [N·m or N].
        error: e = θ_d − θ per coordinate [m or rad].
        force: λ of the simulated arm itself per constraint row [N or N·m].
        statistics: What was counted; `summary()` has the numbers.
    """

    time: Array
    q: Array
    effort: Array
    error: Array
    force: Array
    statistics: Statistics


def simulate(
    model: ConstrainedArm,
    controller: Controller,
    reference: Reference,
    seconds: float = 4.0,
    *,
    force_reference: Reference | None = None,
    guess: ArrayLike | None = None,
    friction: JointFriction = FRICTIONLESS,
    sensor: ForceSensor | None = None,
    observe: Callable[[int, Tick], None] | None = None,
) -> Simulation:
    """Let a controller follow a reference on a simulated arm, and keep what happens.

    The arm begins on its constraint and on the reference, with its weight carried where the
    controller holds a force (see `SimulatedArm.carry`); it has stops at its joints' limits.

    Args:
        model: Arm, constraint and coordinates, as the controller has them.
        controller: What answers.
        reference: θ_d.
        seconds: How long, in simulated time [s].
        force_reference: λ_d, for a controller that holds a force; zero unless given.
        guess: Joint positions near which to begin [rad or m]; unless given, zero, or the middle of
            a range without zero.
        friction: Of the simulated joints, of which the controller does not know.
        sensor: What measures the force; an ideal one unless given.
        observe: Called after each tick with its number and what happened.

    Raises:
        Unreachable: Where no start near the guess is on the constraint and on the reference.
    """
    arm, limits = model.arm, model.arm.limits
    ticks = round(validate.positive("seconds", seconds) / controller.period)
    if guess is None:
        lower, upper = limits.lower, limits.upper
        within = (lower <= 0.0) & (upper >= 0.0)
        guess = np.where(within, 0.0, 0.5 * (np.where(within, 0.0, lower + upper)))
    plant = Plant(
        ConstrainedArm(arm.twin(), model.constraint),
        controller.period,
        friction=friction,
        stops=stops_within(limits.lower, limits.upper),
    )
    port = SimulatedArm(plant, *start_of(model, reference, guess), sensor=sensor)
    if controller.force is not None:
        port.carry(None if force_reference is None else force_reference.at(0.0).value)
    loop = ControlLoop(controller, reference, force_reference=force_reference)
    kept: list[tuple[float, Array, Array, Array, Array]] = []

    def keep(number: int, tick: Tick) -> None:
        state, truth = tick.state, port.truth
        error, effort = controller.error[0].copy(), tick.report.effort.copy()
        kept.append((state.stamp, truth.q, effort, error, truth.multipliers))
        if observe is not None:
            observe(number, tick)

    statistics = run(loop, port, ticks, keep)
    time, q, effort, error, force = (np.array(column) for column in zip(*kept, strict=True))
    return Simulation(time, q, effort, error, force, statistics)
