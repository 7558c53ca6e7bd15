"""Around the fit of `projected-control identify`: an exciting motion, the file, the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from projected_control import validate
from projected_control.apps.reports.contents import Table
from projected_control.arrays import Array
from projected_control.control import MotionController, MotionGains
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Sine, Sines
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.model.identification import Identification, MotionRecord
from projected_control.planning import start_of
from projected_control.runs.recorder import SUFFIX
from projected_control.runs.recording import read_recording
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.files import parameter_text
from projected_control.settings.nodes import CONTROLLERS, SimulatedArmSettings
from projected_control.simulation import ForceSensor, Plant

WAVES = 3
SLOWEST, FASTEST = 0.1, 0.8  # frequencies of an exciting motion [Hz]
SLOW = 0.1  # their share in a slow motion
AMPLITUDE = 0.5  # of all sines of a joint together, unless its range is less [rad or m]

USUAL = 0.05
"""Stribeck's velocity of a joint that did not tell it, which has no effect [rad/s or m/s]."""

BANDWIDTH = 3.0  # of the controller that follows it [Hz]


def exciting_motion(
    lower: Array, upper: Array, centre: Array, seed: int = 0, slow: bool = False
) -> Sines:
    """Sines of different frequencies for every joint, about a configuration, within the ranges.

    Args:
        lower, upper: Ranges of the joints [rad or m].
        centre: The configuration.
        seed: Of phases and frequencies.
        slow: Ten times as slow: shows static friction and Stribeck's velocity, and little else.
    """
    random, waves = np.random.default_rng(seed), []
    for i, middle in enumerate(centre):
        room = 0.9 * min(upper[i] - middle, middle - lower[i], AMPLITUDE / 0.9)
        if room <= 0.01:
            raise InvalidValue(
                f"joint {i + 1} has no room to move about {middle:.3g}: give simulation.start a "
                "configuration away from the joints' ends"
            )
        shares = random.dirichlet(np.ones(WAVES))
        frequencies = random.uniform(SLOWEST, FASTEST, WAVES) * (SLOW if slow else 1.0)
        phases = random.uniform(0.0, 2.0 * np.pi, WAVES)
        waves.append(
            [Sine(room * s, f, p) for s, f, p in zip(shares, frequencies, phases, strict=True)]
        )
    return Sines(centre, waves)


def simulated_motion(
    settings: SimulatedArmSettings,
    seconds: float,
    seed: int = 0,
    progress: Callable[[float], None] = lambda fraction: None,
    slow: bool = False,
) -> MotionRecord:
    """A record of an exciting motion of a simulated arm that nothing holds.

    Friction, encoders, motors, payload and armature are those of the settings; the controller does
    not know of friction.
    """
    arm = build.build_arm(settings)
    model = arm.twin()
    centre = build.start_guess(arm, settings.simulation.start)
    lower = np.where(np.isfinite(arm.limits.lower), arm.limits.lower, -np.pi)
    upper = np.where(np.isfinite(arm.limits.upper), arm.limits.upper, np.pi)
    reference = exciting_motion(lower, upper, centre, seed, slow)
    known = ConstrainedArm(model, None, Coordinates.of_joints(list(arm.joint_names)))
    start = start_of(known, reference, centre)
    period = 1.0 / settings.rate
    plant = Plant(
        ConstrainedArm(arm, None),
        settings.simulation.step,
        friction=settings.friction,
    )
    hardware = SimulatedArm(
        plant,
        start.q,
        start.v,
        period=period,
        sensor=ForceSensor(),
        encoders=settings.encoder,
        motors=replace(settings.motor),
    )
    controller = MotionController(known, MotionGains.from_bandwidth(BANDWIDTH), period=period)
    runner = Runner(
        ControlLoop(controller, reference, limits=Limits.of(arm, effort_rate=1e6)), hardware
    )
    runner.open()
    samples = round(seconds / period)
    kept = runner.keep(samples)
    for k in range(samples):
        if runner.step() is None or runner.lost:
            raise InvalidValue(f"the exciting motion could not be made: {runner.lost}")
        if k % 1000 == 0:
            progress(k / samples)
    progress(1.0)
    time: Array = np.asarray(period * np.arange(samples), dtype=np.float64)
    return MotionRecord(time, kept.column("q"), kept.column("effort"), settings.motor.delay)


def recorded_motion(path: Path, arm: Arm) -> MotionRecord:
    """The motion of a recording (``*.mcap``) or of an ``.npz`` file."""
    if path.suffix != SUFFIX:
        return MotionRecord.load(path, arm)
    recording = read_recording(path)
    answers = recording.answers
    order = [
        recording.joints.index(validate.one_of("joint", n, recording.joints))
        for n in arm.joint_names
    ]
    q = recording.column("q")[answers][:, order]
    effort = recording.column("effort")[answers][:, order]
    whole = np.isfinite(q).all(axis=1)
    if not whole.all() or recording.gap is not None or not answers.all():
        raise InvalidValue(
            f"{path.name} has ticks without a finite state, or lost some: a motion to identify "
            "from must be whole"
        )
    time: Array = np.asarray(recording.period * np.arange(len(q)), dtype=np.float64)
    return MotionRecord(time, q, effort)


def parameter_values(found: Identification) -> dict[str, object]:
    """What controllers load of it, by full name; what the motion did not excite is left out."""

    def rounded(numbers: Array) -> list[float]:
        return [float(f"{x:.6g}") for x in numbers]

    def told(kind: str) -> bool:
        return all(found.estimates[f"{kind} of {joint}"].excited for joint in found.joints)

    values: dict[str, object] = {}
    for kind, name in (("coulomb", "compensation.coulomb"), ("viscous", "compensation.viscous")):
        if told(kind):
            values[name] = rounded(found.of_joints(kind))
    static = [found.stribeck.get(f"static of {joint}") for joint in found.joints]
    if told("coulomb") and any(each is not None and each.excited for each in static):
        # A joint that did not tell has the static friction of Coulomb's, at any velocity.
        coulomb, slow = found.of_joints("coulomb"), found.of_joints("stribeck velocity")
        levels = np.array([e.value if e is not None and e.excited else np.nan for e in static])
        values["compensation.static"] = rounded(np.fmax(levels, coulomb))
        values["compensation.stribeck_velocity"] = rounded(np.where(slow > 0.0, slow, USUAL))
    if f"armature of {found.joints[0]}" in found.estimates and told("armature"):
        values["armature"] = rounded(found.of_joints("armature"))
    mass = found.estimates.get("payload mass")
    if mass is not None and found.centre is not None and mass.excited and mass.value > 0.0:
        values["payload.link"] = found.payload_link
        values["payload.mass"] = float(f"{mass.value:.6g}")
        values["payload.centre"] = rounded(found.centre)
    return values


def parameter_file(found: Identification) -> str:
    """A parameter file for controllers: one section for each kind of them."""
    lines = ["# Identified from a motion; the bounds are of 95 % confidence."]
    for estimate in (*found.estimates.values(), *found.stribeck.values()):
        remark = f"; {estimate.remark}" if estimate.remark else ""
        lines.append(
            f"#   {estimate.name}: {estimate.value:.4g} ± {estimate.bound:.2g} {estimate.unit}"
            f"{remark}"
        )
    values = parameter_values(found)
    body = parameter_text(dict.fromkeys(CONTROLLERS, values)) if values else ""
    return "\n".join([*lines, body])


def table(found: Identification) -> list[str]:
    """What was found, as lines of text."""
    rows = [
        (e.name, f"{e.value:.4g}", f"{e.bound:.2g}", e.unit, f"{e.inflation:.1f}", e.remark)
        for e in (*found.estimates.values(), *found.stribeck.values())
    ]
    if found.centre is not None and found.centre_bound is not None:
        for axis, value, bound in zip("xyz", found.centre, found.centre_bound, strict=True):
            rows.append((f"payload centre {axis}", f"{value:.4g}", f"{bound:.2g}", "m", "", ""))
    header = ("parameter", "value", "± 95 %", "unit", "inflation", "remark")
    return Table("Identified", header, rows).lines()


def numbers(found: Identification) -> dict[str, object]:
    content: dict[str, object] = {
        name: {
            "value": e.value,
            "bound": e.bound if np.isfinite(e.bound) else None,
            "inflation": e.inflation if np.isfinite(e.inflation) else None,
            "excited": e.excited,
            "unit": e.unit,
        }
        for name, e in {**found.estimates, **found.stribeck}.items()
    }
    if found.centre is not None:
        content["payload centre"] = found.centre.tolist()
    content["residual"] = found.residual.tolist()
    return content


def picture(found: Identification) -> bytes:
    """Measured and predicted effort of every joint, as PNG."""
    from matplotlib.figure import Figure

    from projected_control.apps.reports.style import BLUE, DPI, VERMILION, WIDTH

    n = len(found.joints)
    figure = Figure(figsize=(WIDTH, 1.0 + 1.1 * n), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n, 1, sharex=True))
    for i, (axis, joint) in enumerate(zip(axes, found.joints, strict=True)):
        axis.plot(found.time, found.measured[:, i], color=BLUE, label="measured")
        axis.plot(found.time, found.predicted[:, i], "--", color=VERMILION, label="predicted")
        axis.set_ylabel(f"{joint}\n[N·m or N]")
    axes[0].legend(loc="upper right", ncols=2)
    axes[-1].set_xlabel("time [s]")
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    return file.getvalue()
