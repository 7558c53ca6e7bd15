"""What the test of force control is made of: cases, and the laws that stand it.

After the proposal of Gadringer, Gattringer and Müller (Mech. Sci. 13:361, 2022) as far as its
public text gives it: the force is measured below the workpiece, along the surface's normal, and
each case is run five times with the same parameters, of which the average counts. Which cases there
are in detail, and all numbers, are ours.

The surface is a plane that gives. Where a case has a step, a slope or a wave in it, the plane rises
and falls in time as it would under a tool at the case's speed: what that leaves out is the turn of
its normal. No controller knows of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from projected_control.control.references import (
    Constant,
    Reference,
    Sine,
    Sines,
    TabulatedReference,
    Waypoints,
)

PRESS = 10.0
"""Force that is held unless a case says otherwise [N]."""

STIFFNESS = 5e4
"""Of the surface unless a case says otherwise [N/m]."""

JUDGED = 1.0
"""From when on errors count [s]."""

MASS = 3.0
"""m_n in the formula of the damping along the normal, d_n = 2 ζ √(K m_n) [kg]."""

ZETA = 0.5

ROUNDED = 0.01
"""Time before and after a corner within which it is rounded [s]."""


@dataclass(frozen=True, kw_only=True)
class ForceCase:
    """One case."""

    name: str
    title: str
    stiffness: float = STIFFNESS  # K [N/m]
    shape: str = ""  # of the path: line, circle, or empty for none
    speed: float = 0.0  # along it [m/s]
    force: tuple[tuple[float, float], ...] = ((0.0, PRESS),)  # λ_d: corners, time and force [s, N]
    sine: tuple[float, float] = (0.0, 0.0)  # on top of it: amplitude and frequency [N, Hz]
    rises: tuple[tuple[float, float], ...] = ()  # of the surface: corners, time and height [s, m]
    wave: tuple[float, float] = (0.0, 0.0)  # of the surface: amplitude and frequency [m, Hz]
    above: float = 0.0  # where the tool begins [m]
    seconds: float = 4.0
    changes: float = JUDGED  # when what is judged begins [s]
    short: bool = False  # whether it is part of the short form

    @property
    def wanted(self) -> TabulatedReference:
        """λ_d over time."""
        if self.sine[0]:
            amplitude, frequency = self.sine
            return Sines([PRESS], [[Sine(amplitude, frequency=frequency)]])
        return _corners(self.force)

    @property
    def motion(self) -> Reference | None:
        """x of the plane, against its normal; None where it stands."""
        if self.wave[0]:
            return Sines([0.0], [[Sine(-self.wave[0], frequency=self.wave[1])]])
        if self.rises:
            return _corners([(time, -height) for time, height in self.rises])
        return None


def _corners(corners: Sequence[tuple[float, float]]) -> TabulatedReference:
    """Straight from corner to corner, which are rounded."""
    if len(corners) == 1:
        return Constant([corners[0][1]])
    times, values = np.array(corners).T
    rounded = min(ROUNDED, 0.25 * float(np.diff(times).min()))
    slopes = np.diff(values) / np.diff(times)
    knots = [(times[0], values[0], 0.0)]
    for i, slope in enumerate(slopes):
        knots.append((times[i] + rounded, values[i] + rounded * slope, slope))
        knots.append((times[i + 1] - rounded, values[i + 1] - rounded * slope, slope))
    knots.append((times[-1], values[-1], 0.0))
    at, value, rate = np.array(knots).T
    return Waypoints(at, value[:, None], rate[:, None], order=3)


def _along(shape: str, speed: float) -> ForceCase:
    title = {"line": "straight", "circle": "curved"}[shape]
    return ForceCase(
        name=f"{shape}_{1e3 * speed:g}",
        title=f"{title} path at {1e3 * speed:g} mm/s",
        shape=shape,
        speed=speed,
        short=shape == "line" and speed == 0.1,
    )


_SWING = [0.5, 1.0, 2.0, 5.0]
_WAY: dict[str, Any] = {"shape": "line", "speed": 0.05}

CASES: dict[str, ForceCase] = {
    case.name: case
    for case in (
        ForceCase(
            name="touch",
            title="approach and touch",
            above=2e-3,
            changes=0.0,
            seconds=3.0,
            short=True,
        ),
        ForceCase(
            name="force_step",
            title="force step, 10 to 20 N",
            force=((0.0, PRESS), (1.0, PRESS), (1.002, 20.0), (3.0, 20.0)),
            seconds=3.0,
            short=True,
        ),
        ForceCase(
            name="ramp",
            title="ramp, 10 to 30 N in 2 s",
            force=((0.0, PRESS), (1.0, PRESS), (3.0, 30.0), (4.0, 30.0)),
        ),
        *(
            ForceCase(
                name=f"sine_{f:g}",
                title=f"sine of 5 N at {f:g} Hz",
                sine=(5.0, f),
                short=f == 1.0,
            )
            for f in _SWING
        ),
        *(_along(shape, v) for shape in ("line", "circle") for v in (0.01, 0.05, 0.1)),
        ForceCase(name="soft", title="straight at 50 mm/s on 5 N/mm", stiffness=5e3, **_WAY),
        ForceCase(name="stiff", title="straight at 50 mm/s on 500 N/mm", stiffness=5e5, **_WAY),
        ForceCase(
            name="step",
            title="step of 1 mm in the surface, at 50 mm/s",
            rises=((0.0, 0.0), (1.5, 0.0), (1.52, 1e-3), (4.0, 1e-3)),
            **_WAY,
        ),
        ForceCase(
            name="slope",
            title="slope of 5 % in the surface, at 50 mm/s",
            rises=((0.0, 0.0), (1.0, 0.0), (4.0, 7.5e-3), (5.0, 7.5e-3)),
            **_WAY,
        ),
        ForceCase(
            name="wave",
            title="wave of 1 mm and 50 mm in the surface, at 50 mm/s",
            wave=(1e-3, 1.0),
            short=True,
            **_WAY,
        ),
        ForceCase(
            name="loss",
            title="the surface falls by 3 mm",
            rises=((0.0, 0.0), (1.5, 0.0), (1.51, -3e-3), (4.0, -3e-3)),
        ),
        ForceCase(
            name="release",
            title="release, 10 to 1 N in 0.1 s",
            force=((0.0, PRESS), (1.0, PRESS), (1.1, 1.0), (3.0, 1.0)),
            seconds=3.0,
        ),
    )
}
"""The test, by name."""


def damping(stiffness: float) -> float:
    """d_n = 2 ζ √(K m_n), of the stiffness that a law is told [N·s/m]."""
    return float(2.0 * ZETA * np.sqrt(stiffness * MASS))


class ForceLaw(NamedTuple):
    """A law, and its one set of parameters for all cases."""

    title: str
    settings: Mapping[str, Any]
    # What follows from the surface's stiffness K [N/m], by a formula.
    told: Callable[[float], Mapping[str, float]] = lambda K: {}


ALL_SIX = ("tool.x", "tool.y", "tool.z", "lean_x", "lean_y", "turn")
"""Coordinates of a law that has to be told where the surface is."""

LOOP = {"force.proportional": 0.3, "force.integral": 20.0, "force.cutoff": 20.0}
"""Of every force loop."""

SELECTION = ForceLaw(
    "selection matrix",
    {"law": "selection", "selection.force": ["tool.z"], "coordinates": [*ALL_SIX]},
)
"""Raibert and Craig 1981, Khatib 1987."""

RATE = 0.25
"""G_V K/d_n of the PID, after Volpe and Khosla 1993: as λ = K x, the rate of the error damps as the
velocity does, later by the filter."""

INNER = {"gains.stiffness": [3600.0], "gains.damping": [120.0], "force.cutoff": 100.0}
"""Of the admittance's position loop, after Seraji 1994: it is all that holds the normal."""

YIELDS, LAG = 20.0, 0.001
"""K/D_a [1/s], and M_a/D_a [s]."""

IMPEDANCE = ForceLaw(
    "impedance and open-loop wrench",
    {
        "law": "impedance",
        "impedance.projected": False,
        "impedance.stiffness": [1000.0, 1000.0, 1000.0, 50.0, 50.0, 50.0],
        "impedance.damping_ratio": 0.7,
        "coordinates": [*ALL_SIX],
    },
)
"""As controllers for ROS 2 offer it; a stiff one: that of a Panda in contact is lower."""


def _damped(K: float) -> Mapping[str, float]:
    return {"force.normal_damping": damping(K)}


LAWS = {
    "projected": ForceLaw("hybrid projected control", LOOP, _damped),
    "selection": ForceLaw(SELECTION.title, {**LOOP, **SELECTION.settings}, _damped),
    "impedance": IMPEDANCE,
    "pid": ForceLaw(
        "PID on the force",
        {**LOOP, **SELECTION.settings},
        lambda K: {**_damped(K), "force.derivative": RATE * damping(K) / K},
    ),
    "admittance": ForceLaw(
        "admittance",
        {**SELECTION.settings, "law": "admittance", **INNER},
        lambda K: {"admittance.damping": K / YIELDS, "admittance.mass": K / YIELDS * LAG},
    ),
}
"""Ours (Aghili 2005; damping along the normal as in docs/laws.md), and what others offer."""
