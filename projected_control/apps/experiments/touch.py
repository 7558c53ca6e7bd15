"""Random touches of surfaces that give: ours, a plain force loop, an impedance with a wrench.

An arm of seven joints made of real parts (config/real.yaml) comes down on a table that is not quite
where its controller believes, nor quite so inclined, of any stiffness, and is to press on it with
10 N. The gains of all follow from stiffness, mass along the normal, period and
delay (`touch_gains`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.wiping import LAWS, PRESS
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREEN, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.control.contact_stability import normal_masses, touch_gains
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Reference, Waypoints
from projected_control.resources import share_file
from projected_control.runs.runner import Runner
from projected_control.settings import build
from projected_control.settings.declaration import Value
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE, ForceControllerSettings

COUNT, SEED = 20, 1
"""How many touches, and which, unless said otherwise."""

SPEEDS, STIFFNESSES = (0.02, 0.1), (5e3, 5e5)
"""Of the approach [m/s], and of the table [N/m]: drawn evenly, and evenly by their logarithm."""

TILT, OFFSET = np.radians(10.0), 0.003
"""By how much the table is inclined [rad] and moved [m] against what is believed, at most."""

STIFF = 2e5
"""From which K on the plant takes finer steps [N/m]."""

PLACE = (0.45, 0.0)
"""Where on the table [m]."""

RUN_UP = 0.15
"""How long before the earliest touch the approach begins, at its speed [s]."""

AFTER = 1.0
"""How long a run lasts after the time at which the table is touched at the latest [s]."""

SETTLES, WITHIN = 0.5, 0.1
"""From when after the last make the force is judged [s], and by which share it may be off."""

NOTICED = 3
"""Ticks of a touch that no controller can answer; the sensor's delay comes on top."""

BOUNCES = 3
"""How many bounces a fast touch may have, each shorter than the one before."""

COLOURS = {"projected": BLUE, "selection": GREEN, "impedance": VERMILION}
NAMES = {"projected": "ours", "selection": "force loop alone", "impedance": LAWS["impedance"].title}


@dataclass(frozen=True)
class Touch:
    """What is touched, and how.

    Attributes:
        speed: Of the approach [m/s].
        stiffness: K of the table [N/m].
        normal: Its true normal, out of it.
        offset: How far above the believed place it is [m].
    """

    speed: float
    stiffness: float
    normal: tuple[float, float, float]
    offset: float

    @classmethod
    def random(cls, random: np.random.Generator) -> Touch:
        """Any of them."""
        speed = random.uniform(*SPEEDS)
        stiffness = float(np.exp(random.uniform(*np.log(STIFFNESSES))))
        tilt, heading = random.uniform(0.0, TILT), random.uniform(0.0, 2.0 * np.pi)
        side = np.sin(tilt)
        normal = side * np.cos(heading), side * np.sin(heading), float(np.cos(tilt))
        return cls(speed, stiffness, normal, random.uniform(-OFFSET, OFFSET))

    @classmethod
    def several(cls, count: int, seed: int = SEED) -> list[Touch]:
        """So many, the same for a seed."""
        random = np.random.default_rng(seed)
        return [cls.random(random) for _ in range(count)]

    @property
    def height(self) -> float:
        """Above the believed table where the approach begins [m]."""
        return OFFSET + RUN_UP * self.speed

    @property
    def latest(self) -> float:
        """When an approach at its speed touches it at the latest [s]."""
        return 0.1 + (self.height + OFFSET) / self.speed


@dataclass(frozen=True)
class Touched:
    """What came of it.

    Attributes:
        speed, stiffness, mass: v [m/s], K [N/m] and m_n [kg].
        peak: Largest force [N].
        bound: What it may be: F_d + 1.5 v min(T K, √(K m_n)) [N].
        gaps: How long the table was left each time after the first touch [s].
        off: Largest |λ − F_d|/F_d from half a second after the last make; inf where none is left.
    """

    speed: float
    stiffness: float
    mass: float
    peak: float
    bound: float
    gaps: tuple[float, ...]
    off: float

    @property
    def momentum(self) -> float:
        """v √(K m_n): up to F_d a touch need not bounce [N]."""
        return self.speed * float(np.sqrt(self.stiffness * self.mass))

    @property
    def bounces_as_it_may(self) -> bool:
        """None where v √(K m_n) ≤ F_d, else three at most, each shorter."""
        if self.momentum <= PRESS:
            return not self.gaps
        return len(self.gaps) <= BOUNCES and all(np.diff(self.gaps) < 0.0)

    @property
    def settled(self) -> bool:
        """Whether the force is within a tenth from half a second on."""
        return self.off <= WITHIN


def layers_of(touch: Touch, law: str) -> Layers:
    """All settings but those that take the mass along the normal, or the true table."""
    bare, real = (share_file("config", f"{name}.yaml") for name in ("seven_joints", "real"))
    height = _table(Layers.read([bare]))
    start = ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"]
    own: dict[str, Value] = {
        **LAWS[law].settings,
        "contact.stiffness": [touch.stiffness],
        "simulation.touches": False,
        "simulation.coordinates": start,
        "simulation.values": [*PLACE, height + touch.height, 0.0, 0.0],
        "simulation.step": 2e-4 if touch.stiffness < STIFF else 1e-4,
    }
    if law == "selection":  # it would stop for a force that the model does not expect
        own |= {"limits.force_difference": 1e4, "limits.force_stop": 2e4}
    if law == "projected":
        own |= {"constraint.one_sided": True, "contact.approach_speed": touch.speed}
        own |= {"contact.travel": 4.0 * OFFSET}
    return Layers.read([bare, real], "paper").on_top(own, "the experiment")


def _table(layers: Layers) -> float:
    """Height of the believed table [m]."""
    return float(layers.values(FORCE)["constraint.point"][2])


def run_touch(touch: Touch, law: str) -> tuple[Touched, Array, Array]:
    """One run: what came of it, times [s] and forces [N]."""
    layers = layers_of(touch, law)
    height = _table(layers)
    true: dict[str, Value] = {
        "constraint.one_sided": True,
        "constraint.point": [*PLACE, height + touch.offset],
        "constraint.direction": [-number for number in touch.normal],
    }
    arm = layers.on_top(true, "the true table").arm()
    hardware = build.build_plant(arm)
    settings = layers.controller(FORCE)
    assert isinstance(settings, ForceControllerSettings)
    model = build.build_model(settings)
    model.evaluate(hardware.truth.q, hardware.truth.v)
    mass = float(normal_masses(model, [1.0])[0])
    period = 1.0 / settings.rate
    gains = touch_gains(touch.stiffness, mass, period, settings.force.delay)
    own = {
        "force.proportional": gains.force.proportional,
        "force.integral": gains.force.integral,
        "force.cutoff": gains.force.cutoff,
        "force.normal_damping": gains.damping,
    }
    loop = build.build_loop(FORCE, settings.changed(own))
    hardware.carry()
    loop.controller.hold(hardware.truth.q)
    seconds = touch.latest + AFTER
    loop.set_reference(_reference(loop, touch, height))
    runner = Runner(loop, hardware)
    rows = runner.keep(round(seconds / period))
    runner.run(round(seconds / period))
    times, force = rows.column("stamp"), rows.column("true_multipliers")[:, 0]
    lag = (NOTICED + arm.sensor.delay) * period
    hardness = min(lag * touch.stiffness, float(np.sqrt(touch.stiffness * mass)))
    bound = PRESS + 1.5 * touch.speed * hardness
    return judged(touch, mass, bound, times, force), times, force


def _reference(loop: ControlLoop, touch: Touch, height: float) -> Reference:
    """Stay there; a law that has to be told where the table is is led down to it."""
    coordinates = loop.controller.model.coordinates
    assert coordinates is not None
    here = loop.controller.model.theta.copy()
    if "tool.z" not in coordinates.names:
        return Constant(here)
    z, ramp = coordinates.names.index("tool.z"), 0.05
    short = 0.5 * ramp * touch.speed
    way = touch.height
    times = np.array([0.0, ramp, ramp + (way - 2.0 * short) / touch.speed, 0.0])
    times[3] = times[2] + ramp
    values, rates = np.tile(here, (4, 1)), np.zeros((4, here.size))
    values[:, z] = height + np.array([way, way - short, short, 0.0])
    rates[1:3, z] = -touch.speed
    return Waypoints(times, values, rates, order=3)


def judged(touch: Touch, mass: float, bound: float, times: Array, force: Array) -> Touched:
    """A run in numbers."""
    pressed = np.flatnonzero(force > 0.0)
    speed, K = touch.speed, touch.stiffness
    if not pressed.size:
        return Touched(speed, K, mass, 0.0, bound, (), float("inf"))
    on = force[pressed[0] :] > 0.0
    changes = np.flatnonzero(np.diff(on.astype(np.int64))) + pressed[0] + 1
    lost, made = changes[::2], changes[1::2]
    gaps = tuple(times[m] - times[left] for left, m in zip(lost, made, strict=False))
    last = made[-1] if made.size else pressed[0]
    late = times >= times[last] + SETTLES
    ends_on = len(lost) == len(made)
    off = np.abs(force[late] / PRESS - 1.0).max() if ends_on and late.any() else float("inf")
    return Touched(speed, K, mass, float(force.max()), bound, gaps, float(off))


def numbers_of(runs: list[Touched]) -> dict[str, Any]:
    """How many keep each promise, and the worst."""
    slow = [r for r in runs if r.momentum <= PRESS]
    settled = [r.off for r in runs if np.isfinite(r.off)]
    return {
        "touches": len(runs),
        "peak_within_bound": sum(r.peak <= r.bound for r in runs),
        "peak_over_bound_max": max(r.peak / r.bound for r in runs),
        "slow": len(slow),
        "slow_without_bounce": sum(not r.gaps for r in slow),
        "bounces_as_they_may": sum(r.bounces_as_it_may for r in runs),
        "bounces_max": max(len(r.gaps) for r in runs),
        "settled": sum(r.settled for r in runs),
        "off_median": float(np.median(settled)) if settled else None,
    }


def run(options: Options, progress: Progress) -> Outcome:
    """Every touch under each law."""
    touches = Touch.several(options.count or COUNT, SEED if options.seed is None else options.seed)
    runs: dict[str, list[Touched]] = {law: [] for law in NAMES}
    for done, touch in enumerate(touches):
        progress("touching a table", done / len(touches))
        for law, each in runs.items():
            each.append(run_touch(touch, law)[0])
    progress("touching a table", 1.0)
    return _outcome({law: numbers_of(each) for law, each in runs.items()}, runs)


def _outcome(numbers: Mapping[str, Any], runs: Mapping[str, list[Touched]]) -> Outcome:
    rows = [
        [
            NAMES[law],
            f"{found['peak_within_bound']}",
            f"{found['peak_over_bound_max']:.2f}",
            f"{found['slow_without_bounce']} of {found['slow']}",
            f"{found['bounces_as_they_may']}",
            f"{found['bounces_max']}",
            f"{found['settled']}",
        ]
        for law, found in numbers.items()
    ]
    count, ours = numbers["projected"]["touches"], numbers["projected"]
    return Outcome(
        "touch",
        "A table that is touched",
        "Not in a paper: a comparison of ours",
        f"{count} random touches with {SPEEDS[0] * 1e3:g} to {SPEEDS[1] * 1e3:g} mm/s of tables "
        f"with {STIFFNESSES[0] * 1e-3:g} to {STIFFNESSES[1] * 1e-3:g} N/mm that are inclined by "
        f"up to {np.degrees(TILT):.0f}° and moved by up to {OFFSET * 1e3:g} mm against what the "
        "controller believes, by an arm of seven joints that sticks, with coarse encoders and a "
        f"late and noisy sensor (config/real.yaml). {PRESS:g} N are to be held. The gains follow "
        "from K, m_n, period and delay by one formula.",
        f"Of {count} touches {ours['peak_within_bound']} keep F_d + 1.5 v min(T K, √(K m_n)), "
        f"{ours['slow_without_bounce']} of the {ours['slow']} with v √(K m_n) ≤ F_d do not "
        f"bounce, and {ours['settled']} are within {100 * WITHIN:g} % of {PRESS:g} N half a "
        "second after the last make.",
        dict(numbers),
        [
            Table(
                f"Of {count} touches",
                [
                    "",
                    "peak in bound",
                    "largest peak/bound",
                    "slow, no bounce",
                    "bounces as allowed",
                    "most bounces",
                    "settled",
                ],
                rows,
                "T is three ticks and the sensor's delay. Allowed are no bounce where v √(K m_n) ≤ "
                "F_d, above it three, each shorter. The force loop alone has the same gains, and "
                "no approach; the impedance is led down at the same speed, has a stiffness of "
                "1000 N/m and 10 N on top, and closes no loop on the force.",
            )
        ],
        [
            Picture(
                "touch",
                "Peaks and bounces",
                "Left the largest force over its bound, right how often the table is left after "
                "the first touch, over v √(K m_n)/F_d.",
                lambda: _figure(runs),
            )
        ],
        [],
    )


def _figure(runs: Mapping[str, list[Touched]]) -> Figure:
    figure, (peaks, bounces) = canvas(1, 2, height=3.0)
    for law in reversed(list(runs)):
        over = [r.momentum / PRESS for r in runs[law]]
        look: Any = {"color": COLOURS[law], "s": 6, "linewidths": 0, "alpha": 0.6}
        peaks.scatter(over, [r.peak / r.bound for r in runs[law]], label=NAMES[law], **look)
        bounces.scatter(over, [len(r.gaps) for r in runs[law]], **look)
    peaks.axhline(1.0, color=GREY, linestyle="--", linewidth=0.8)
    for axes, label in ((peaks, "largest force over its bound"), (bounces, "bounces")):
        axes.axvline(1.0, color=GREY, linestyle=":", linewidth=0.8)
        axes.set(xscale="log", xlabel="v √(K m_n) / F_d", ylabel=label)
        axes.set_xticks([0.5, 1.0, 2.0, 5.0], ["0.5", "1", "2", "5"])
        axes.set_xticks([], minor=True)
    peaks.set_ylim(bottom=0.0)
    lines, labels = peaks.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
    return figure
