"""Into and out of a contact that was not announced (the case of Pang and Tedrake, 2021).

An arm of seven joints made of real parts goes along a line that passes 2 cm through a wall, waits
there, and comes back. No controller knows of the wall. Beside ours (projected inverse dynamics with
gains G_P) stands a Cartesian impedance whose stiffness along the line is the same: an error e makes
ours press with G_P e / (J M⁻¹Jᵀ), so K = G_P / (J M⁻¹Jᵀ) there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.assess.force_cases import ALL_SIX, IMPEDANCE
from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.control.references import Waypoints
from projected_control.resources import share_file
from projected_control.runs.runner import Runner
from projected_control.settings import build
from projected_control.settings.declaration import Value
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import MOTION

WALL, STIFFNESS = 0.5, 2e4
"""Where the wall is along x [m], and how it gives [N/m]."""

START, DEEPEST = (0.44, 0.0, 0.35), 0.52
"""Where the tool begins, and how far its reference goes along x [m]."""

TIMES = (0.0, 1.0, 2.0, 3.0, 4.0)
"""It goes in, waits, comes out, and waits, between these [s]."""

UNEXPECTED = 1.5
"""Effort of a joint that nothing explains, at which ours stops in the last run [N·m]."""

TILT = ("lean_x", "lean_y")
LAWS = {"projected": "ours", "impedance": "impedance of equal stiffness"}
NOTHING: Mapping[str, Value] = {}
MORE: dict[str, Mapping[str, Value]] = {
    "integral": {"disturbance.kind": "integral"},
    "observer": {"disturbance.kind": "observer"},
    "stops": {"contact.unexpected": UNEXPECTED},
}
TITLES = {
    **LAWS,
    "integral": "ours, with integral action",
    "observer": "ours, with a disturbance observer",
    "stops": "ours, and it stops",
}
COLOURS = {"projected": BLUE, "impedance": VERMILION}


@dataclass(frozen=True)
class Passed:
    """One run."""

    times: Array  # [s], N
    force: Array  # on the wall, N [N]
    events: NDArray[np.int64]  # of each tick, N
    x: Array  # of the tool, N [m]
    wanted: Array  # of its reference, N [m]
    acceleration: Array  # of the tool along x, from tick to tick, N [m/s²]

    def numbers(self) -> dict[str, float]:
        """Peak and rest on the wall, and how the tool leaves it."""
        rests = (self.times > TIMES[2] - 0.2) & (self.times < TIMES[2])
        last = np.flatnonzero(self.force > 0.0)
        after = slice(last[-1], last[-1] + 200) if last.size else slice(0, 0)
        jump = np.abs(self.acceleration[after]).max(initial=0.0)
        return {
            "force_max": float(self.force.max()),
            "force_at_rest": float(self.force[rests].mean()),
            "release_acceleration": float(jump),
            "error_in_the_end": float(abs(self.x[-1] - self.wanted[-1])),
        }


def settings_of(law: str, stiffness: float, more: Mapping[str, Value]) -> Layers:
    """Of an arm that nothing holds, as its controller believes."""
    bare, real = (share_file("config", f"{name}.yaml") for name in ("seven_joints", "real"))
    own: dict[str, Value] = {
        "constraint.kind": "none",
        "coordinates": [*ALL_SIX],
        "reference.square": False,
        "friction.coulomb": [0.3],
        "compensation.coulomb": [0.3],
        "compensation.viscous": [0.05],
        "compensation.width": [0.001],
        "simulation.coordinates": [*ALL_SIX[:3], *TILT],
        "simulation.values": [*START, 0.0, 0.0],
    }
    if law == "impedance":
        along = [stiffness, *IMPEDANCE.settings["impedance.stiffness"][1:]]
        own |= {**IMPEDANCE.settings, "impedance.stiffness": along}
    own |= more
    return Layers.read([bare, real], "paper").on_top(own, "the experiment")


def pass_through(
    law: str, stiffness: float = 0.0, more: Mapping[str, Value] = NOTHING, wall: float = WALL
) -> tuple[Passed, float]:
    """A run; and K of ours along x, where it begins [N/m].

    Args:
        law: `MotionControllerSettings.law`, as `LAWS` has it.
        stiffness: Of an impedance along x [N/m].
        more: Settings on top.
        wall: Where it is along x [m].
    """
    layers = settings_of(law, stiffness, more)
    there: dict[str, Value] = {
        "constraint.kind": "point_on_plane",
        "constraint.point": [wall, 0.0, 0.0],
        "constraint.direction": [1.0, 0.0, 0.0],
        "constraint.one_sided": True,
        "contact.stiffness": [STIFFNESS],
        "simulation.touches": False,
    }
    hardware = build.build_plant(layers.on_top(there, "the wall").arm())
    settings = layers.controller(MOTION)
    loop = build.build_loop(MOTION, settings)
    hardware.carry()
    loop.controller.hold(hardware.truth.q)
    model = loop.controller.model
    here = model.theta.copy()
    J = model.J_theta[0]
    G_P = np.ravel(settings.gains.stiffness)[0]
    own = float(G_P / (J @ np.linalg.solve(model.M, J)))
    places = np.tile(here, (len(TIMES), 1))
    places[1:3, 0], places[3:, 0] = DEEPEST, START[0]
    loop.set_reference(Waypoints(TIMES, places, np.zeros_like(places)))
    runner = Runner(loop, hardware)
    ticks = round((TIMES[-1] + 0.5) * settings.rate)
    kept = runner.keep(ticks)
    runner.run(ticks)
    arm = model.arm.twin()
    pairs = zip(kept.column("true_q"), kept.column("true_v"), strict=True)
    frames = [arm.update(q, v).frame("tool") for q, v in pairs]
    x = np.array([frame.position[0] for frame in frames])
    speed = np.gradient(x, 1.0 / settings.rate)
    return Passed(
        kept.column("stamp"),
        kept.column("true_multipliers")[:, 0],
        kept.column("events").astype(np.int64),
        x,
        kept.column("motion")[:, 0, 0],
        np.gradient(speed, 1.0 / settings.rate),
    ), own


def run(options: Options, progress: Progress) -> Outcome:
    """Ours, and the impedance that is as stiff."""
    progress("passing a wall", 0.0)
    ours, stiffness = pass_through("projected")
    progress("passing a wall", 0.3)
    runs = {"projected": ours, "impedance": pass_through("impedance", stiffness)[0]}
    progress("passing a wall", 0.6)
    others = {
        name: pass_through("projected", more=more)[0].numbers() for name, more in MORE.items()
    }
    progress("passing a wall", 1.0)
    numbers = {law: each.numbers() for law, each in runs.items()} | others
    rows = [
        [
            TITLES[law],
            f"{found['force_max']:.2f}",
            f"{found['force_at_rest']:.2f}",
            f"{found['release_acceleration']:.2f}",
            f"{1e3 * found['error_in_the_end']:.2f}",
        ]
        for law, found in numbers.items()
    ]
    mine, other = (numbers[law] for law in LAWS)
    return Outcome(
        "unannounced",
        "Into and out of a contact that was not announced",
        "after Pang and Tedrake (2021); a comparison of ours",
        f"A tool goes along a line that passes {1e3 * (DEEPEST - WALL):.0f} mm through a wall of "
        f"{STIFFNESS * 1e-3:g} N/mm of which no controller knows, waits, and comes back, on an arm "
        f"of seven joints made of real parts. Both are as stiff along it: {stiffness:.0f} N/m.",
        f"The wall takes at most {mine['force_max']:.1f} N from ours and "
        f"{other['force_max']:.1f} N from the impedance.",
        {"stiffness": stiffness, **numbers},
        [
            Table(
                "On the wall, and off it",
                [
                    "",
                    "largest force (N)",
                    "at rest (N)",
                    "largest acceleration after release (m/s²)",
                    "error in the end (mm)",
                ],
                rows,
                "No law is told of the wall. Integral action and observer take the wall for a "
                "load: ours then presses the more the longer it waits, and is worse than the "
                f"impedance. The last stops, with contact.unexpected {UNEXPECTED:g} N·m, by the "
                "momentum alone: it is not at its reference in the end.",
            )
        ],
        [
            Picture(
                "unannounced",
                "A wall on the way",
                "Above the tool and its reference, the wall dashed; below the force on the wall.",
                lambda: _figure(runs),
            )
        ],
        [],
    )


def _figure(runs: Mapping[str, Passed]) -> Figure:
    figure, (above, below) = canvas(2, 1, height=3.8, sharex=True)
    any_run = runs["projected"]
    above.plot(any_run.times, 1e3 * any_run.wanted, color=GREY, linewidth=0.8)
    above.axhline(1e3 * WALL, color=GREY, linestyle="--", linewidth=0.8)
    for law, each in runs.items():
        look: Any = {"color": COLOURS[law], "linewidth": 1.0, "label": LAWS[law]}
        above.plot(each.times, 1e3 * each.x, **look)
        below.plot(each.times, each.force, **look)
    above.set_ylabel("x (mm)")
    below.set_ylabel("force (N)")
    below.set_xlabel("time (s)")
    lines, labels = below.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2)
    return figure
