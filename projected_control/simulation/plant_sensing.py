"""What stands between a plant and whoever controls it: motors, encoders and the force sensor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.linalg import copy, fill
from projected_control.simulation.plant_terms import unpack_plant

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@compiled
def take_effort(effort: Array, target: Array) -> bool:
    """target ← effort where it is finite, which is said; otherwise nothing changes."""
    for i in range(effort.size):
        if not np.isfinite(effort[i]):
            return False
    copy(effort, target)
    return True


@compiled
def drive_motors(plant_sizes: Whole, plant: Array, effort: Array, sizes: Whole) -> None:
    """The motors are given an effort [N·m or N]; what they do now came late, and is noisy.

    Before the first command arrives they do nothing.
    """
    wait = plant_sizes[2]
    p = unpack_plant(plant, plant_sizes, effort.size, sizes[1])
    for sample in range(wait, 0, -1):
        copy(p.commands[sample - 1], p.commands[sample])
    copy(effort, p.commands[0])
    p.commanded[0] = min(p.commanded[0] + 1.0, wait + 1.0)
    arrived = p.commanded[0] > wait
    for i in range(effort.size):
        p.effort[i] = p.commands[wait, i] + p.motor_noise[i] if arrived else 0.0


@compiled
def sense_joints(plant_sizes: Whole, plant: Array, state: Array, sizes: Whole) -> None:
    """A reading of the encoders: positions in steps, and the velocity made of them.

    The velocity is exact, or the difference of two readings through a low-pass of first order.
    """
    n = state.shape[1]
    p = unpack_plant(plant, plant_sizes, n, sizes[1])
    differenced, pole, period = p.rate_filter[0], p.rate_filter[1], p.rate_filter[2]
    for i in range(n):
        q, before = p.y[i], p.measured_q[i]
        if p.resolution[i] > 0.0:
            q = np.rint(q / p.resolution[i]) * p.resolution[i]
        p.measured_q[i] = q
        if differenced == 0.0 or p.read_before[0] == 0.0:
            p.measured_v[i] = p.y[n + i]
        else:
            rate = (q - before) / period
            p.measured_v[i] = pole * p.measured_v[i] + (1.0 - pole) * rate
    p.read_before[0] = 1.0


@compiled
def sense_force(plant_sizes: Whole, plant: Array, state: Array, sizes: Whole) -> None:
    """A reading of the force sensor: λ as observed, late and with the noise that is given.

    Friction at the contact passes through the sensor too, at once.
    """
    delay = plant_sizes[1]
    p = unpack_plant(plant, plant_sizes, state.shape[1], sizes[1])
    for sample in range(delay, 0, -1):
        copy(p.late[sample - 1], p.late[sample])
    copy(p.multipliers, p.late[0])
    p.readings[0] = min(p.readings[0] + 1.0, delay + 1.0)
    reading = p.late[int(p.readings[0]) - 1]
    fill(p.wrench, 0.0)
    for r in range(p.noise.size):
        for i in range(6):
            p.wrench[i] += p.basis[i, r] * (reading[r] + p.noise[r])
    for i in range(3):
        p.wrench[i] -= p.contact_force[i]
