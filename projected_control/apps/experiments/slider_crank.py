"""A slider-crank that runs through its singular configurations (Aghili, section VIII-A)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.integrate import solve_ivp

from projected_control import validate
from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.arm_drawing import (
    fit_beside,
    mark_instants,
    mark_times,
    multiples_of_pi,
    stroboscope,
)
from projected_control.apps.experiments.case import Case, CaseArm, ConstantEffort, start_on
from projected_control.apps.experiments.case_run import CaseRun, simulate
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.random_starts import Study, study_random_starts
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREEN, VERMILION, canvas, legend_above
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.constraints import PointOnLine

ARM = CaseArm("slider_crank.urdf.xacro", gravity=0.0, chain=("link_1", "link_2", "tip"))
"""Two links of 1 m with 1 kg at their ends."""

EFFORT = (1.0, 0.0)  # N·m
Q1 = 2.0 * np.pi / 3.0
SECONDS = 6.0
RUNS = 30
STUDY_SECONDS = 10.0
BRANCH_TOLERANCE = 1e-6
"""How far q2 may be from 2π − 2 q1 to be on the branch that the closed form describes [rad]."""


def describe(options: Options) -> Case:
    """The case: the tip on the horizontal through the base, a constant torque on the crank."""
    spec = ARM if options.gravity is None else replace(ARM, gravity=options.gravity)
    constraint = PointOnLine("tip", [0.0] * 3, [1.0, 0.0, 0.0], plane_normal=[0.0, -1.0, 0.0])
    typed = options.q0 if options.q0 is not None else (Q1,)
    if len(typed) not in (1, 2):
        raise InvalidValue(f"q0 must be q1, or q1 and q2, got {len(typed)} numbers")
    q1 = validate.finite("q0", typed[0])
    q0 = (q1, typed[1] if len(typed) == 2 else 2.0 * np.pi - 2.0 * q1)
    return Case(
        name="slider-crank",
        arm=spec,
        constraint=constraint,
        drive=ConstantEffort(EFFORT),
        q0=start_on(spec.load(), constraint, q0),
        seconds=options.seconds or SECONDS,
    )


def crossings(recording: CaseRun) -> list[float]:
    """Times at which q1 passes an odd multiple of π/2, where A vanishes [s].

    Between two samples q1 is the cubic that has their positions and velocities.
    """
    time, q1, rate = recording.time, recording.q[:, 0], recording.v[:, 0]
    turn = np.floor(q1 / np.pi - 0.5)
    found: list[float] = []
    for k in np.flatnonzero(np.diff(turn)):
        step = time[k + 1] - time[k]
        lower, upper = sorted((turn[k], turn[k + 1]))
        for level in (np.arange(lower + 1.0, upper + 1.0) + 0.5) * np.pi:
            a, b = q1[k] - level, q1[k + 1] - level
            s, e = step * rate[k], step * rate[k + 1]
            roots = np.roots([2.0 * a - 2.0 * b + s + e, -3.0 * a + 3.0 * b - 2.0 * s - e, s, a])
            real = roots.real[np.abs(roots.imag) < 1e-9]
            inside = real[(real > -1e-9) & (real < 1.0 + 1e-9)]
            found.extend(float(time[k] + step * root) for root in inside)
    return sorted(found)


def closed_form(recording: CaseRun) -> Array | None:
    """q1 from the closed form on the branch q2 = 2π − 2 q1 [rad]; None on another branch.

    (3 − 2 cos 2q1) q̈1 + 2 sin(2q1) q̇1² + g cos q1 = f1 − 2 f2, with l = 1 m and m = 1 kg.
    """
    q0 = recording.case.q0
    if abs(np.remainder(q0[1] + 2.0 * q0[0] + np.pi, 2.0 * np.pi) - np.pi) > BRANCH_TOLERANCE:
        return None
    gravity, drive = recording.case.arm.gravity, EFFORT[0] - 2.0 * EFFORT[1]

    def slope(_: float, y: Array) -> list[float]:
        q, rate = y
        force = drive - gravity * np.cos(q) - 2.0 * np.sin(2.0 * q) * rate**2
        return [rate, force / (3.0 - 2.0 * np.cos(2.0 * q))]

    time = recording.time
    start = [q0[0], recording.v[0, 0]]
    solution = solve_ivp(
        slope, (0.0, time[-1]), start, "DOP853", t_eval=time, rtol=1e-12, atol=1e-12
    )
    return np.asarray(solution.y[0], dtype=np.float64)


def run(options: Options, progress: Progress) -> Outcome:
    """The run of the paper, and random starts with and without the velocity correction."""
    case = describe(options)
    recording = simulate(case, progress)
    exact = closed_form(recording)
    times = crossings(recording)
    studied = replace(case, seconds=options.seconds or STUDY_SECONDS)
    study = study_random_starts(studied, RUNS, options.seed or 0, progress)
    passes = " and ".join(f"{t:.3f} s" for t in times[:2]) or "none in this time"
    numbers = {
        "seconds": recording.time[-1],
        "gravity": case.arm.gravity,
        "q0": case.q0,
        "seed": options.seed or 0,
        "crossing_times": times,
        "q1_final": recording.q[-1, 0],
        "closed_form_difference": None
        if exact is None
        else float(np.abs(recording.q[:, 0] - exact).max()),
        "residual_max": max(recording.residual_max, study.both.residual_max),
        "energy_error": max(recording.energy_error, study.both.energy_error),
        "runs": study.runs,
        "run_seconds": study.seconds,
        "failures": study.both.failures,
        "failures_position_only": study.position_only.failures,
    }
    return Outcome(
        name="slider-crank",
        title="A slider-crank through its singularities",
        source="Aghili, section VIII-A, Fig. 4",
        introduction=(
            "Two links of 1 m, each with 1 kg at its end; the tip slides along the horizontal "
            "through the base. A constant torque of 1 N·m turns the crank. Where the crank stands "
            "upright, q₁ = π/2, 3π/2, …, the links lie on each other, the constraint Jacobian "
            "A = cos q₁ [2 1] vanishes, and formulations that invert A M⁻¹ Aᵀ break down."
        ),
        summary=(
            f"The mechanism runs through its singularities (first: {passes}). Of {study.runs} "
            f"random starts {study.both.failures} fail; without the velocity correction "
            f"{study.position_only.failures} do."
        ),
        numbers=numbers,
        tables=_tables(recording, exact, times, study),
        pictures=_pictures(recording, times, study),
        differences=(
            "The print shows curves and no numbers, and says neither how long the run is nor "
            "whether gravity acts. Here it lasts 6 s without gravity, unless asked for otherwise.",
            "The print corrects the position only, (37). That alone is not enough: near a "
            "singularity a velocity error ε grows to A⁺ε. Here the velocity is projected as well, "
            "q̇ ← P q̇, after every step; the last figure shows the difference.",
            "In (68) and (69) the two cases are swapped: P is the identity where |c₁| is below "
            "the tolerance, not above it.",
        ),
    )


def _tables(
    recording: CaseRun, exact: Array | None, times: list[float], study: Study
) -> list[Table]:
    apart = "–" if exact is None else f"{np.abs(recording.q[:, 0] - exact).max():.1e} rad"
    rows = [
        ("Passes the singularities", "smoothly", f"{len(times)} times in {recording.time[-1]:g} s"),
        ("First pass", "–", f"{times[0]:.4f} s" if times else "none"),
        ("Largest difference of q₁ from the closed form", "–", apart),
        ("Largest ‖Φ‖", "–", f"{recording.residual_max:.1e} m"),
        ("Largest energy error", "–", f"{recording.energy_error:.1e} J"),
    ]
    starts = [
        (
            label,
            f"{part.failures} of {study.runs}",
            f"{part.energy_error:.1e} J" if part.failures < study.runs else "–",
        )
        for label, part in (
            ("position and velocity", study.both),
            ("position only, as printed", study.position_only),
        )
    ]
    return [
        Table("Print and result", ("", "printed", "ours"), rows),
        Table(
            f"{study.runs} random starts, {study.seconds:g} s each",
            ("what is corrected", "failures", "largest energy error of the others"),
            starts,
            "A run fails if it leaves the constraint, the branch it started on or the finite "
            "numbers, or if its energy is off by more than 1 % of its scale.",
        ),
    ]


def _pictures(recording: CaseRun, times: list[float], study: Study) -> list[Picture]:
    return [
        Picture(
            "slider-crank-states",
            "States and constraint force (Aghili, Fig. 4)",
            "Dotted lines mark the singular configurations. Angles (A), velocities (B) and the "
            "constraint force F = Aᵀλ (C) run through them smoothly. The multiplier λ (D), the "
            "force of the slider on the tip, does not: it has to carry F by a Jacobian that "
            "vanishes. The axis of (D) is cut.",
            lambda: draw_states(recording, times),
        ),
        Picture(
            "slider-crank-motion",
            "The mechanism",
            "Left: six instants on the way to the first singular configuration and beyond, dark "
            "first. Right: the crank's angle over time, dots at these instants.",
            lambda: draw_motion(recording, times),
        ),
        Picture(
            "slider-crank-random-starts",
            "Random starts, with and without the velocity correction",
            "The energy error of every run. With both corrections it stays bounded through every "
            "singularity; with the position correction alone it grows until the run ends (cross).",
            lambda: draw_random_starts(study),
        ),
    ]


LOWEST_ERROR = 1e-9
HIGHEST_ERROR = 1e3  # range of energy errors drawn [J]


def draw_states(recording: CaseRun, crossings: list[float]) -> Figure:
    """The four panels of Aghili's Fig. 4."""
    figure, axes = canvas(2, 2, 5.0, sharex=True)
    panels = (
        (axes[0], "(A) joint angles", "angle [rad]", recording.q, ("q₁", "q₂")),
        (axes[1], "(B) velocities", "velocity [rad/s]", recording.v, ("q̇₁", "q̇₂")),
        (axes[2], "(C) force F", "F [N·m]", recording.constraint_force, ("F₁", "F₂")),
    )
    for ax, title, label, values, names in panels:
        ax.set_title(title)
        ax.set_ylabel(label)
        for i, name in enumerate(names):
            ax.plot(recording.time, values[:, i], label=name, linestyle=("-", "--")[i])
        legend_above(ax, 2)
    multiples_of_pi(axes[0], float(recording.q.min()), float(recording.q.max()))
    ax = axes[3]
    ax.set_title("(D) multiplier λ")
    ax.set_ylabel("λ [N]")
    ax.plot(*_broken(recording.time, recording.multipliers[:, 0], crossings), color=GREEN)
    limit = 1.5 * float(np.quantile(np.abs(recording.multipliers), 0.85)) + 1e-9
    ax.set_ylim(-limit, limit)
    for ax in axes:
        mark_times(ax, crossings)
        ax.margins(x=0.0)
    for ax in axes[2:]:
        ax.set_xlabel("time [s]")
    return figure


def _broken(time: Array, values: Array, at: list[float]) -> tuple[Array, Array]:
    """A curve with gaps at these times, where it jumps."""
    places = np.searchsorted(time, at)
    return np.insert(time, places, at), np.insert(values, places, np.nan)


def draw_motion(recording: CaseRun, crossings: list[float]) -> Figure:
    """The mechanism at six instants up to a little after its first singular configuration."""
    end = min(1.25 * crossings[0], recording.time[-1]) if crossings else recording.time[-1]
    last = int(np.searchsorted(recording.time, end - 1e-9))
    instants = np.linspace(0, last, 6).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 2.7)
    stroboscope(left, recording, instants, (1.0, 0.0), last)
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    right.plot(recording.time[: last + 1], recording.q[: last + 1, 0])
    mark_instants(right, recording, recording.q[:, :1], instants)
    mark_times(right, [t for t in crossings if t <= end])
    shown = recording.q[: last + 1, 0]
    multiples_of_pi(right, float(shown.min()), float(shown.max()))
    right.set_title("(b) crank angle")
    right.set_xlabel("time [s]")
    right.set_ylabel("q₁ [rad]")
    return figure


def draw_random_starts(study: Study) -> Figure:
    """Energy error of every run."""
    figure, (ax,) = canvas(1, 1, 3.6)
    for part, colour in ((study.position_only, VERMILION), (study.both, BLUE)):
        for time, drift, failed in zip(part.times, part.drifts, part.failed, strict=True):
            error = np.minimum(np.abs(drift), 0.7 * HIGHEST_ERROR)
            ax.semilogy(time[1:], error[1:], color=colour, linewidth=0.7, alpha=0.55)
            if failed:
                ax.semilogy(time[-1], error[-1], "x", color=colour, markersize=6.0)
    ax.set_ylim(LOWEST_ERROR, HIGHEST_ERROR)
    ax.set_xlim(0.0, study.seconds)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("energy error [J]")
    handles = [
        Line2D([], [], color=VERMILION, label="position corrected only"),
        Line2D([], [], color=BLUE, label="position and velocity corrected"),
        Line2D([], [], color=VERMILION, marker="x", linestyle="", label="end of a failed run"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure
