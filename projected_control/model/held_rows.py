"""Which rows of a small problem are held, as a QR decomposition that follows them one by one.

Of n directions, as many are taken as rows aᵢ are held, for now or, where they are settled, for
good. The others are free. With Q orthogonal, its directions as rows,

    aᵢ = Σⱼ L[i, j] Qⱼ,    j ≤ i,    for the held ones;    aᵢᵀ Qⱼ = 0 for the free ones,

so that steps within the free ones change no aᵢᵀx. It is the decomposition of `qr` with all of Q: a
row joins by one reflection of the free directions, and leaves by rotations.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.linalg import axpy, dot, fill, matvec
from projected_control.model.qr import rotate_out, solve_lower_transposed
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

DEPENDENT = 5e-11
"""Share of a row that lies in what is free, below which it depends on what is held."""


class HeldTerms(NamedTuple):
    """Held rows among n directions."""

    taken: Annotated[Array, Part("1", "How many directions are held.")]
    row: Annotated[Array, Part("n", "Number of each held row.")]
    settled: Annotated[Array, Part("n", "1 where it is held for good, else 0.")]
    Q: Annotated[Array, Part("n, n", "Orthonormal directions, one per row, the held ones first.")]
    L: Annotated[Array, Part("n, n", "The held rows in these directions, one per row.")]
    multiplier: Annotated[Array, Part("n", "µ of each held row.")]
    reflection: Annotated[Array, Part("n", "The vector of a reflection.")]
    reflected: Annotated[Array, Part("n", "What it takes away, as a sum of directions.")]


HELD = Layout(HeldTerms, "n")
unpack_held = HELD.unpack


@compiled
def hold_nothing(s: HeldTerms) -> None:
    """Q = I, nothing held."""
    s.taken[0] = 0.0
    for i in range(s.row.size):
        fill(s.Q[i], 0.0)
        s.Q[i, i] = 1.0


@compiled
def reflection_of(w: Array, first: int, last: int) -> float:
    """Turn w[first:last] into the vector of the reflection that leaves β e_first of it; return β.

    Without a reflection where there is nothing behind the first: w[first] becomes zero.
    """
    behind = 0.0
    for j in range(first + 1, last):
        behind += w[j] * w[j]
    head = w[first]
    if behind == 0.0:
        w[first] = 0.0
        return head
    size = np.sqrt(head * head + behind)
    beta = -size if head > 0.0 else size
    w[first] = head - beta
    return beta


@compiled
def reflect_directions(w: Array, first: int, begin: int, s: HeldTerms) -> None:
    """Q ← (I − 2 w wᵀ/wᵀw) Q for the directions from ``begin`` + ``first`` on."""
    n = s.row.size
    last = n - begin
    size = 0.0
    for j in range(first, last):
        size += w[j] * w[j]
    if size == 0.0 or w[first] == 0.0:
        return
    fill(s.reflected, 0.0)
    for j in range(first, last):
        axpy(w[j], s.Q[begin + j], s.reflected)
    for j in range(first, last):
        axpy(-2.0 * w[j] / size, s.reflected, s.Q[begin + j])


@compiled
def hold_row(a: Array, number: int, settled: float, s: HeldTerms) -> bool:
    """A row joins; False where it depends on what is held already."""
    n, at = s.row.size, int(s.taken[0])
    if at == n:
        return False
    w, free = s.reflection, 0.0
    for j in range(n - at):
        w[j] = dot(s.Q[at + j], a)
        free += w[j] * w[j]
    if free <= DEPENDENT * DEPENDENT * dot(a, a):
        return False
    beta = reflection_of(w, 0, n - at)
    reflect_directions(w, 0, at, s)
    fill(s.L[at], 0.0)
    for j in range(at):
        s.L[at, j] = dot(s.Q[j], a)
    s.L[at, at] = beta
    s.row[at], s.settled[at] = number, settled
    s.taken[0] = at + 1.0
    return True


@compiled
def let_go(at: int, s: HeldTerms) -> None:
    """The held row at this place leaves; the direction that becomes free is the first of those."""
    count = int(s.taken[0])
    rotate_out(at, count, s.Q, s.L)
    for i in range(at, count - 1):
        s.row[i], s.settled[i] = s.row[i + 1], s.settled[i + 1]
    s.taken[0] = count - 1.0


@compiled
def find_multipliers(vector: Array, s: HeldTerms) -> None:
    """µ with Σ µᵢ aᵢ = vector, as far as it lies in what is held."""
    count = int(s.taken[0])
    matvec(s.Q[:count], vector, s.multiplier)
    solve_lower_transposed(count, s.L, s.multiplier)
