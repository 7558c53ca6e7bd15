"""What a plant works on: its state, what acts on it and what is measured, in one array."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.wrench_map import WRENCH
from projected_control.simulation.surfaces import CONTACTS
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class PlantTerms(NamedTuple):
    """A plant.

    It has n joints, m constraint rows, stages of the integration method, and samples of delay of
    the force sensor and of the motors (wait).

    A state y is q, then q̇, then the work done on the arm since the start.
    """

    time: Annotated[Array, Part("1", "Now [s].")]
    step: Annotated[Array, Part("1", "Integration step [s].")]
    span: Annotated[
        Array, Part("2", "Length of the part of it that is being made, and when it ends [s].")
    ]
    contacts: Annotated[Array, Part(CONTACTS.length, "What comes and goes, see `ContactTerms`.")]
    tolerance: Annotated[Array, Part("1", "‖Φ‖ down to which the position is corrected.")]
    corrects: Annotated[Array, Part("2", "1 where position, velocity are put back, else 0.")]
    nodes: Annotated[Array, Part("stages", "Times of the stages, as fractions of the step.")]
    weights: Annotated[
        Array, Part("stages, stages", "Line s weighs the slopes up to s in what follows stage s.")
    ]
    friction: Annotated[
        Array, Part("5, n", "Coulomb, viscous, blend, static, Stribeck: `JointFriction.of_joints`.")
    ]
    drive: Annotated[
        Array, Part("1", "Bandwidth of drives that take velocities [1/s]; 0: efforts are taken.")
    ]
    sticks: Annotated[Array, Part("1", "1 where dry friction is set-valued, 0 where it is smooth.")]
    contact: Annotated[
        Array, Part("5", "µ of the contact, its joint (0 for none) and its place there [m].")
    ]
    contact_support: Annotated[Array, Part("n", "1 for each joint that moves the contact.")]
    contact_rows: Annotated[Array, Part("m", "1 for each row whose λ presses on the contact.")]
    stops: Annotated[
        Array, Part("2, n", "Where joints meet their stops, lower and upper [rad or m].")
    ]
    dry: Annotated[Array, Part("n", "Dry friction during the last step [N·m or N].")]
    pressing: Annotated[Array, Part("1", "Normal force at the contact in the last step [N].")]
    rubbing: Annotated[Array, Part("n", "Dry friction in force [N·m or N].")]
    contact_force: Annotated[Array, Part("3", "Friction at the contact, in world axes [N].")]
    bound: Annotated[Array, Part("n", "Largest dry friction at this velocity [N·m or N].")]
    mobility: Annotated[Array, Part("n, n", "K, with q̇ = K p after an impulse p.")]
    next_rate: Annotated[Array, Part("n", "q̇ at the end of the step.")]
    contact_jacobian: Annotated[Array, Part("6, n", "J of the contact, linear above angular.")]
    contact_mobility: Annotated[Array, Part("3, n", "J K, linear.")]
    effort: Annotated[Array, Part("n", "What the motors are given: efforts, or velocities.")]
    y: Annotated[Array, Part("2 * n + 1", "The state.")]
    at: Annotated[Array, Part("2 * n + 1", "Where the next pass is wanted.")]
    at_time: Annotated[Array, Part("1", "And for when [s].")]
    phase: Annotated[Array, Part("1", "Stage, or the number of stages plus corrections made.")]
    slopes: Annotated[Array, Part("stages, 2 * n + 1", "ẏ at the stages.")]
    slope: Annotated[Array, Part("2 * n + 1", "ẏ as observed: q̇, q̈, power.")]
    force: Annotated[Array, Part("n", "F = Aᵀλ [N·m or N].")]
    multipliers: Annotated[Array, Part("m", "λ [N or N·m].")]
    residual: Annotated[Array, Part("1", "‖Φ − x‖.")]
    seen: Annotated[Array, Part("n + m + 1", "These three in one.", at="force")]
    basis: Annotated[Array, Part("6, m", "W: the wrench of each λ at the sensor.")]
    varies: Annotated[Array, Part("1", "1 where W follows from the configuration, else 0.")]
    directions: Annotated[Array, Part(WRENCH.length, "How, see `WrenchTerms`.")]
    late: Annotated[Array, Part("delay + 1, m", "Readings of λ on their way, the newest first.")]
    readings: Annotated[Array, Part("1", "How many readings there were.")]
    noise: Annotated[Array, Part("m", "What the next reading adds to λ [N or N·m].")]
    shown: Annotated[Array, Part("m", "The last reading: λ, late and noisy [N or N·m].")]
    wrench: Annotated[Array, Part("6", "The same as a wrench [N, N·m].")]
    resolution: Annotated[Array, Part("n", "Of the encoders, 0 if exact, −1 for none [rad or m].")]
    rate_filter: Annotated[
        Array,
        Part("3", "1 where q̇ is differenced, pole of its low-pass, time between readings [s]."),
    ]
    read_before: Annotated[Array, Part("1", "1 once the encoders were read, else 0.")]
    measured_q: Annotated[Array, Part("n", "Positions as the encoders read them [rad or m].")]
    measured_v: Annotated[Array, Part("n", "Velocities as the encoders read them [rad/s or m/s].")]
    commands: Annotated[Array, Part("wait + 1, n", "Efforts on their way, the newest first.")]
    commanded: Annotated[Array, Part("1", "How many efforts were commanded, at most wait + 1.")]
    motor_noise: Annotated[Array, Part("n", "What the motors add to the next effort [N·m or N].")]
    motor_limit: Annotated[Array, Part("n", "Most that they give, 0 for no limit [N·m or N].")]
    push: Annotated[Array, Part("n", "What acts on the joints beside the motors [N·m or N].")]
    load: Annotated[Array, Part("n", "f, the effort of motors and friction [N·m or N].")]
    net: Annotated[Array, Part("n", "f − h, then f − h − M q̈.")]
    tangent: Annotated[Array, Part("n", "P (f − h).")]
    normal_rate: Annotated[Array, Part("n", "A⁺ẋ.")]
    no_rates: Annotated[Array, Part("m", "Zeros.")]
    standing: Annotated[Array, Part("n, n", "T K of the joints that stand.")]


PLANT = Layout(PlantTerms, "n", "m", "stages", "delay", "wait")
_unpack = PLANT.unpack


@compiled
def unpack_plant(plant: Array, plant_sizes: Whole, n: int, m: int) -> PlantTerms:
    """The parts of a plant's workspace; its sizes are stages, delay and wait."""
    return _unpack(plant, n, m, plant_sizes[0], plant_sizes[1], plant_sizes[2])


class TruthTerms(NamedTuple):
    """What a simulated arm does, which no sensor shows: n joints, m constraint rows.

    It is what a `PlantState` says beside the time, in the same order, for the rows of a run.
    """

    q: Annotated[Array, Part("n", "Joint positions [rad or m].")]
    v: Annotated[Array, Part("n", "Joint velocities [rad/s or m/s].")]
    acceleration: Annotated[Array, Part("n", "q̈ under the effort before this tick's.")]
    multipliers: Annotated[Array, Part("m", "λ under that effort [N or N·m].")]
    constraint_force: Annotated[Array, Part("n", "F = Aᵀλ [N·m or N].")]
    residual: Annotated[Array, Part("1", "‖Φ − x‖.")]
    energy: Annotated[Array, Part("1", "Kinetic and potential [J].")]
    work_done: Annotated[Array, Part("1", "On the arm since the start [J].")]
    rank: Annotated[Array, Part("1", "Rank of A.")]
    motor_effort: Annotated[
        Array, Part("n", "What the motors, and a push, gave before this tick's [N·m or N].")
    ]


TRUTH = Layout(TruthTerms, "n", "m")
