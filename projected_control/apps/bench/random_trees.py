"""Random arms, made by a seed: for measurements that shall not know their robot, and for tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def random_urdf(
    seed: int,
    n: int,
    *,
    branching: float = False,
    kinds: tuple[str, ...] = ("revolute",),
    effort: float = 50.0,
) -> str:
    """A random tree of n moving links, each with a fixed frame ``end_i`` at some place on it.

    Args:
        seed: Of everything.
        n: Number of joints.
        branching: Share of links that hang on a random one before them, instead of on the last.
        kinds: Of joint, drawn from at random.
        effort: Limit of every joint [N·m or N].
    """
    random = np.random.default_rng(seed)

    def numbers(low: float, high: float) -> str:
        return " ".join(f"{x:.6f}" for x in random.uniform(low, high, 3))

    parts = ['<robot name="random"><link name="link_0"/>']
    for i in range(1, n + 1):
        anywhere = branching >= 1.0 or (branching > 0.0 and random.random() < branching)
        parent = random.integers(0, i) if anywhere else i - 1
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        parts.append(
            f'<joint name="joint_{i}" type="{random.choice(kinds)}">'
            f'<parent link="link_{parent}"/><child link="link_{i}"/>'
            f'<origin xyz="{numbers(-0.4, 0.4)}" rpy="{numbers(-3, 3)}"/>'
            f'<axis xyz="{axis[0]:.12f} {axis[1]:.12f} {axis[2]:.12f}"/>'
            f'<limit lower="-3" upper="3" effort="{effort:g}" velocity="5"/></joint>'
            + _link(f"link_{i}", random.uniform(0.5, 3.0), random.uniform(0.02, 0.04, 3), random)
            + f'<joint name="end_joint_{i}" type="fixed">'
            f'<parent link="link_{i}"/><child link="end_{i}"/>'
            f'<origin xyz="{numbers(-0.3, 0.3)}" rpy="{numbers(-3, 3)}"/></joint>'
            f'<link name="end_{i}"/>'
        )
    return "".join([*parts, "</robot>"])


def _link(name: str, mass: float, inertia: Array, random: np.random.Generator) -> str:
    """A link with a random centre of mass; near-equal principal moments are always physical."""
    place = " ".join(f"{x:.6f}" for x in random.uniform(-0.2, 0.2, 3))
    turn = " ".join(f"{x:.6f}" for x in random.uniform(-3, 3, 3))
    xx, yy, zz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{place}" rpy="{turn}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0.001" ixz="-0.002" iyz="0.001"/>'
        "</inertial></link>"
    )
