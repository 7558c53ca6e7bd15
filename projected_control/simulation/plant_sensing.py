"""What lies between a plant and its controller: motors, encoders and the force sensor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Integers, Matrix, Numbers, compiled, kernel
from projected_control.control.wrench_map import bend_directions, fill_basis, unpack_wrench
from projected_control.model.linalg import copy, fill
from projected_control.simulation.plant_terms import PlantTerms, unpack_plant

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@kernel
def take_effort(effort: Numbers, target: Numbers) -> bool:
    """target ← effort where it is finite, which is said; otherwise nothing changes."""
    for i in range(effort.size):
        if not np.isfinite(effort[i]):
            return False
    copy(effort, target)
    return True


@kernel
def drive_motors(plant_sizes: Integers, plant: Numbers, effort: Numbers, sizes: Integers) -> None:
    """The motors are given an effort [N·m or N]; what they do now came late, is noisy and limited.

    Before the first command arrives they do nothing. A push acts beside them.
    """
    wait = plant_sizes[2]
    p = unpack_plant(plant, plant_sizes, effort.size, sizes[1])
    for sample in range(wait, 0, -1):
        copy(p.commands[sample - 1], p.commands[sample])
    copy(effort, p.commands[0])
    p.commanded[0] = min(p.commanded[0] + 1.0, wait + 1.0)
    arrived = p.commanded[0] > wait
    for i in range(effort.size):
        given = p.commands[wait, i] + p.motor_noise[i] if arrived else 0.0
        most = p.motor_limit[i]
        if most > 0.0 and given > most:
            given = most
        elif most > 0.0 and given < -most:
            given = -most
        p.effort[i] = given + p.push[i]


@kernel
def sense_joints(plant_sizes: Integers, plant: Numbers, state: Matrix, sizes: Integers) -> None:
    """A reading of the encoders: positions in steps, and the velocity made of them.

    The velocity is exact, or the difference of two readings through a low-pass of first order. Of a
    floating base, which no encoder reads, both are exact.
    """
    n = state.shape[1]
    p = unpack_plant(plant, plant_sizes, n, sizes[1])
    differenced, pole, period = p.rate_filter[0], p.rate_filter[1], p.rate_filter[2]
    for i in range(n):
        q, before = p.y[i], p.measured_q[i]
        if p.resolution[i] > 0.0:
            q = np.rint(q / p.resolution[i]) * p.resolution[i]
        p.measured_q[i] = q
        unread = p.resolution[i] < 0.0
        if differenced == 0.0 or p.read_before[0] == 0.0 or unread:
            p.measured_v[i] = p.y[n + i]
        else:
            rate = (q - before) / period
            p.measured_v[i] = pole * p.measured_v[i] + (1.0 - pole) * rate
    p.read_before[0] = 1.0


@compiled
def turn_basis(placements: Array, functions: Array, p: PlantTerms) -> None:
    """W as it is here, where it follows from the configuration."""
    if p.varies[0] != 0.0:
        w = unpack_wrench(p.directions, p.noise.size)
        bend_directions(placements, functions, w)
        fill_basis(placements, w, p.basis)


@compiled
def show_wrench(reading: Array, p: PlantTerms) -> None:
    """A reading of λ as a wrench; friction at the contact passes through the sensor too."""
    fill(p.wrench, 0.0)
    for r in range(reading.size):
        for i in range(6):
            p.wrench[i] += p.basis[i, r] * reading[r]
    for i in range(3):
        p.wrench[i] -= p.contact_force[i]


@kernel
def sense_force(
    plant_sizes: Integers,
    plant: Numbers,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    functions: Numbers,
) -> None:
    """A reading of the force sensor: λ as observed, late and with the noise that is given.

    Args:
        plant_sizes, plant: Of the plant.
        placements: Where the joints are (see `Arm.placements`).
        state: Where the arm keeps its own q and q̇, 2 × n.
        sizes: Of the model.
        functions: The model's table of functions, which holds height maps.
    """
    delay = plant_sizes[1]
    p = unpack_plant(plant, plant_sizes, state.shape[1], sizes[1])
    for sample in range(delay, 0, -1):
        copy(p.late[sample - 1], p.late[sample])
    copy(p.multipliers, p.late[0])
    p.readings[0] = min(p.readings[0] + 1.0, delay + 1.0)
    reading = p.late[int(p.readings[0]) - 1]
    for r in range(p.noise.size):
        p.shown[r] = reading[r] + p.noise[r]
    turn_basis(placements, functions, p)
    show_wrench(p.shown, p)
