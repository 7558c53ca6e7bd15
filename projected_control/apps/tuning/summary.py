"""What tuning found, for a terminal, as a parameter file, as a picture and as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.reports.contents import Table
from projected_control.apps.reports.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    canvas,
    legend_above,
)
from projected_control.apps.tuning.choice import ForceChoice, Stiffness, Tuned
from projected_control.apps.tuning.measure import Measured
from projected_control.apps.tuning.trials import Response
from projected_control.settings.files import parameter_text

LARGEST_RISE = 4.0  # factor of the stiffness beyond which a caution is due


@dataclass(frozen=True)
class Findings:
    """All that was found."""

    node: str  # kind of the controller
    joints: tuple[str, ...]  # names
    measured: Measured  # what the run showed
    delay: int  # with which the gains were chosen [samples]
    stiffness: Stiffness  # what the trials say of it
    filters: list[ForceChoice]  # force gains for each filter; empty without a force loop
    # present, proposed: gains as they are, and as they could be.
    present: Tuned
    proposed: Tuned


def parameters(found: Findings) -> dict[str, Any]:
    """The proposed gains, by parameter: all of them may be set while the controller runs."""
    motion, force = found.proposed.motion, found.proposed.force
    values: dict[str, Any] = {
        "gains.stiffness": [float(x) for x in np.atleast_1d(motion.stiffness)],
        "gains.damping": [float(x) for x in np.atleast_1d(motion.damping)],
    }
    if force is not None:
        values |= {
            "force.proportional": force.proportional,
            "force.integral": force.integral,
            "force.cutoff": force.cutoff or 0.0,
            "force.delay": force.delay,
        }
    return values


def parameter_file(found: Findings) -> str:
    """The same as a parameter file, with the margins as comments."""
    lines = [
        "# Proposed by projected-control tune, from trials on the simulated arm.",
        f"#   motion: {found.proposed.motion_margin:.2f} times this bandwidth is just stable",
    ]
    if found.proposed.force_margin is not None:
        lines.append(f"#   force: both gains may grow by {found.proposed.force_margin:.2f}")
    return "\n".join([*lines, parameter_text({found.node: parameters(found)})])


def cautions(found: Findings) -> list[str]:
    """What a user of these gains has to know."""
    before = float(np.max(found.present.motion.stiffness))
    factor = found.stiffness.chosen / before
    if factor <= LARGEST_RISE:
        return []
    return [
        f"the stiffness is {factor:.0f} times what it is now. Joints and links that bend are not "
        f"in the model: go there in steps of {LARGEST_RISE:g}, and watch the efforts for noise"
    ]


def tables(found: Findings) -> list[Table]:
    """What is printed."""
    made = [_measured(found), _stiffness(found)]
    if found.filters:
        made.append(_filters(found))
    made.append(_gains(found))
    return made


def _measured(found: Findings) -> Table:
    measured = found.measured
    rows = []
    for i, joint in enumerate(found.joints):
        rows.append(
            [f"velocity noise of {joint}", f"{measured.velocity_noise[i]:.3g}", "rad/s, m/s"]
        )
        if measured.position_step[i] > 0.0:
            rows.append([f"encoder step of {joint}", f"{measured.position_step[i]:.3g}", "rad, m"])
    if np.isfinite(measured.force_noise):
        rows.append(["noise of λ", f"{measured.force_noise:.3g}", "N"])
    seen = "not seen" if measured.delay is None else str(measured.delay)
    rows.append(["delay, effort to force", seen, "samples"])
    for name, values, unit in (
        ("Coulomb friction", measured.coulomb, "N·m, N"),
        ("viscous friction", measured.viscous, "N·m·s, N·s/m"),
    ):
        text = "not seen" if values is None else ", ".join(f"{x:.3g}" for x in values)
        rows.append([name, text, unit])
    return Table("Seen in the run", ["", "value", "unit"], rows)


def _stiffness(found: Findings) -> Table:
    stiffness = found.stiffness
    rows = [
        ["highest stable in simulation", f"{stiffness.highest:.4g}", "1/s²"],
        ["bound of the sampled loop alone", f"{stiffness.bound:.4g}", "1/s²"],
        ["chosen: half that bandwidth", f"{stiffness.chosen:.4g}", "1/s²"],
        ["damping, critical", f"{stiffness.damping:.4g}", "1/s"],
    ]
    return Table(f"Stiffness, with {found.delay} samples of delay", ["", "value", "unit"], rows)


def _filters(found: Findings) -> Table:
    rows = []
    for choice in found.filters:
        gains = choice.gains
        taken = found.proposed.force
        chosen = "← chosen" if taken is not None and gains.cutoff == taken.cutoff else ""
        cutoff = "none" if gains.cutoff is None else f"{gains.cutoff:g} Hz"
        rows.append(
            [
                cutoff,
                f"{gains.proportional:.3g}",
                f"{gains.integral:.3g}",
                f"{choice.margin:.2f}",
                f"{choice.noise:.2g} N",
                f"{100 * choice.left:.0f} %",
                "" if choice.step is None else f"{100 * choice.step.overshoot:.0f} %",
                "" if choice.push is None else f"{_text(1e3 * choice.push.settling)} ms",
                chosen,
            ]
        )
    header = ["filter", "G_F", "G_I", "margin", "noise", "left", "overshoot", "push gone", ""]
    return Table("Delay → filter → G_F", header, rows)


def _gains(found: Findings) -> Table:
    both = (found.present, found.proposed)

    def row(label: str, *values: Any) -> list[str]:
        return [label, *(_text(value) for value in values)]

    rows = [
        row("stiffness (1/s²)", *(t.motion.stiffness for t in both)),
        row("damping (1/s)", *(t.motion.damping for t in both)),
        row("bandwidth margin", *(t.motion_margin for t in both)),
        *_step_rows("step", [t.motion_step for t in both]),
    ]
    forces = [t.force for t in both]
    if forces[1] is not None:
        rows += [
            row("G_F", *(f.proportional if f else None for f in forces)),
            row("G_I (1/s)", *(f.integral if f else None for f in forces)),
            row("filter (Hz)", *(f.cutoff if f else None for f in forces)),
            row("delay (samples)", *(f.delay if f else None for f in forces)),
            row("gain margin", *(t.force_margin for t in both)),
            *_step_rows("force step", [t.force_step for t in both]),
            _step_rows("push", [t.force_push for t in both])[1],
        ]
    return Table("Gains, and their step responses", ["", "as it is", "proposed"], rows)


def _step_rows(name: str, responses: list[Response | None]) -> list[list[str]]:
    def of(get: Any) -> list[str]:
        return [
            "diverges" if r is not None and not r.stable else _text(None if r is None else get(r))
            for r in responses
        ]

    return [
        [f"{name}: rise (ms)", *of(lambda r: 1e3 * r.rise)],
        [f"{name}: settles (ms)", *of(lambda r: 1e3 * r.settling)],
        [f"{name}: overshoot (%)", *of(lambda r: 100.0 * r.overshoot)],
        [f"{name}: effort, tick to tick (N·m)", *of(lambda r: r.effort_noise)],
    ]


def _text(value: Any) -> str:
    if value is None:
        return "none"
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if np.isnan(numbers).any():
        return "never"
    return ", ".join(f"{x:.3g}" for x in numbers)


def numbers(found: Findings) -> dict[str, Any]:
    def response(one: Response | None) -> dict[str, Any] | None:
        if one is None:
            return None
        names = ("stable", "rise", "settling", "overshoot", "effort_noise")
        return {name: getattr(one, name) for name in names}

    def tuned(one: Tuned) -> dict[str, Any]:
        force = one.force
        return {
            "stiffness": np.atleast_1d(one.motion.stiffness),
            "damping": np.atleast_1d(one.motion.damping),
            "bandwidth_margin": one.motion_margin,
            "motion_step": response(one.motion_step),
            "G_F": force.proportional if force else None,
            "G_I": force.integral if force else None,
            "cutoff": force.cutoff if force else None,
            "gain_margin": one.force_margin,
            "force_step": response(one.force_step),
            "force_push": response(one.force_push),
        }

    measured = found.measured
    return {
        "measured": {
            "velocity_noise": measured.velocity_noise,
            "position_step": measured.position_step,
            "force_noise": measured.force_noise,
            "delay": measured.delay,
            "coulomb": measured.coulomb,
            "viscous": measured.viscous,
            "remarks": measured.remarks,
        },
        "delay": found.delay,
        "highest_stiffness": found.stiffness.highest,
        "stiffness_bound": found.stiffness.bound,
        "present": tuned(found.present),
        "proposed": tuned(found.proposed),
        "parameters": parameters(found),
    }


def figure(found: Findings) -> Figure:
    """Step responses as it is and as proposed, how delays fit, and what each filter allows."""
    panels = 2 if found.filters else 1
    drawn, axes = canvas(2, panels, height=2.6 * 2)
    both = ((found.present, GREY, "as it is"), (found.proposed, BLUE, "proposed"))
    for tuned, colour, name in both:
        step = tuned.motion_step
        axes[0].plot(1e3 * step.times, step.values, color=colour, label=name)
        if tuned.force_push is not None and panels == 2:
            push = tuned.force_push
            axes[1].plot(1e3 * push.times, push.values, color=colour, label=name)
    titles = ["a step of a coordinate", "a push, taken away"][:panels]
    for ax, title in zip(axes, titles, strict=False):
        ax.axhline(1.0, color=VERMILION, linewidth=0.8, linestyle="--")
        ax.set_ylim(-0.2, 1.6)
        ax.set_xlabel("time (ms)")
        ax.set_ylabel(title)
        legend_above(ax, 2)
    ax = axes[panels]
    tried = np.array([stiffness for stiffness, _ in found.stiffness.trials])
    good = np.array([stable for _, stable in found.stiffness.trials])
    ax.semilogx(tried[good], np.ones(good.sum()), "o", color=GREEN, label="stable")
    ax.semilogx(tried[~good], np.zeros((~good).sum()), "x", color=VERMILION, label="not")
    ax.axvline(found.stiffness.chosen, color=BLUE, linewidth=1.0, label="chosen")
    ax.set_yticks([])
    ax.set_ylim(-0.6, 1.6)
    ax.set_xlabel("stiffness tried (1/s²)")
    legend_above(ax, 3)
    if panels == 2:
        labels = [
            "none" if c.gains.cutoff is None else f"{c.gains.cutoff:g}" for c in found.filters
        ]
        axes[3].bar(labels, [c.gains.proportional for c in found.filters], color=GREY)
        axes[3].set_xlabel("filter (Hz)")
        axes[3].set_ylabel("G_F with a margin of 2")
    return drawn
