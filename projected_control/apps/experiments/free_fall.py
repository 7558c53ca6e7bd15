"""Free fall of three links whose tip runs on a vertical slider (Moura, section IV-A)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.arm_drawing import fit_beside, mark_instants, stroboscope
from projected_control.apps.experiments.case import (
    Case,
    CaseArm,
    ConstantEffort,
    joint_angles,
    refuse_singular,
)
from projected_control.apps.experiments.case_run import CaseRun, simulate
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.road_comparison import LABELS, RoadComparison, compare_roads
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    canvas,
    legend_above,
)
from projected_control.arrays import Array
from projected_control.model.constraints import PointOnLine

ARM = CaseArm(
    "three_link_slider.urdf.xacro",
    {
        **{f"l{i}": 1.0 for i in (1, 2, 3)},  # m
        **{f"m{i}": 1.0 for i in (1, 2, 3)},  # kg
        **{f"inertia{i}": 0.1 for i in (1, 2, 3)},  # kg·m²
        "plane": "vertical",
    },
    chain=("link_1", "link_2", "link_3", "tip"),
)
Q0 = (np.pi / 6,) * 3
SECONDS = 2.0


def describe(options: Options) -> Case:
    """The case: the slider goes through the tip as it stands at the start."""
    spec = ARM if options.gravity is None else replace(ARM, gravity=options.gravity)
    arm = spec.load()
    q0 = joint_angles(arm, options.q0 or Q0)
    tip = arm.update(q0, np.zeros(arm.n)).frame("tip").position
    slider = PointOnLine("tip", tip, [0.0, 0.0, 1.0], plane_normal=[0.0, -1.0, 0.0])
    refuse_singular(arm, slider, q0)
    return Case(
        name="free fall",
        arm=spec,
        constraint=slider,
        drive=ConstantEffort((0.0,) * arm.n),
        q0=tuple(q0.tolist()),
        seconds=options.seconds or SECONDS,
        tableau="dormand-prince",
    )


def run(options: Options, progress: Progress) -> Outcome:
    """The fall, its condition numbers and its accelerations."""
    recording = simulate(describe(options), progress)
    roads = compare_roads(recording, options.seed or 0, progress)
    kappa = roads.condition
    others = np.min([kappa[name] for name in ("R1", "R2", "R3", "R4")], axis=0)
    margin = float((np.minimum(others, roads.random) / kappa["Rstar"]).min())
    numbers = {
        "seconds": recording.time[-1],
        "samples": len(recording.time),
        "gravity": recording.case.arm.gravity,
        "q0": recording.case.q0,
        "seed": options.seed or 0,
        "condition_number": {
            which: {name: float(reduce(kappa[name])) for name in LABELS}
            for which, reduce in (("mean", np.mean), ("min", np.min), ("max", np.max))
        },
        "condition_number_random_R_median": float(np.median(roads.random)),
        "Rstar_margin": margin,
        "acceleration_difference": float(roads.difference.max()),
        "acceleration_difference_mean": float(roads.difference.mean()),
        "acceleration_difference_mean_norm": roads.mean_norm,
        "residual_max": recording.residual_max,
        "energy_error": recording.energy_error,
        "q_final": recording.q[-1],
    }
    peak = float(np.linalg.norm(recording.acceleration, axis=1).max())
    mean = {name: float(values.mean()) for name, values in kappa.items()}
    listed = ", ".join(f"{name} {mean[name]:.1f}" for name in mean if name != "Rstar")
    return Outcome(
        name="free-fall",
        title="Free fall on a vertical slider",
        source="Moura et al., section IV-A, Figs. 3 and 4",
        introduction=(
            "Three equal links (1 m, 1 kg, 0.1 kg·m²) fall without any torque; the tip can only "
            "slide up and down. At every sample the constraint inertia matrix "
            "M_c = P M + R (I − P) is formed with each R of the papers: all give the same "
            "acceleration, but not the same condition number."
        ),
        summary=(
            f"Mean condition numbers: R* {mean['Rstar']:.1f}, the smallest; {listed}. All roads "
            f"to the acceleration agree to {numbers['acceleration_difference']:.0e} relative."
        ),
        numbers=numbers,
        tables=_tables(recording, roads, margin),
        pictures=_pictures(recording, roads),
        differences=(
            "The print gives no initial configuration and no value of gravity. Here "
            "q(0) = (π/6, π/6, π/6), at rest, and 9.81 m/s², unless asked for otherwise; the "
            "curves can therefore be compared in kind, not number by number.",
            "The mean ‖Δq̈‖ is larger than printed because the motion is: it grows with ‖q̈‖, which "
            f"here reaches {peak:.0f} rad/s². Relative to ‖q̈‖ it is a matter of rounding.",
            "The print writes M_c* = PMP + (µI − P) in Lemma 2. It follows from (22) and (25) "
            "that M_c* = PMP + µ(I − P), which is what is used.",
            "The print has C_c = −R A⁺ in (23); with its own (24) the sign must be plus.",
            "The print leaves γ in R₄ = γI open. Here γ = ‖M‖₂, to match the size of M; it must "
            "be positive.",
        ),
    )


def _tables(recording: CaseRun, roads: RoadComparison, margin: float) -> list[Table]:
    count = len(recording.time)
    verdict = "yes" if margin >= 1.0 - 1e-9 else "no"
    return [
        Table(
            "Print and result",
            ("", "printed", "ours"),
            (
                (
                    "Mean ‖Δq̈‖ between any two M_c [rad/s²]",
                    "order of 1e-14",
                    f"{roads.mean_norm:.1e}",
                ),
                (
                    "Mean of the largest ‖Δq̈‖ / ‖q̈‖ between all roads",
                    "–",
                    f"{roads.difference.mean():.1e}",
                ),
                (
                    "κ(M_c*) a lower bound of the others",
                    "yes",
                    f"{verdict}, at {count} of {count} samples"
                    if verdict == "yes"
                    else f"no: {margin:.6f} of it",
                ),
            ),
            f"In our run ‖Φ‖ stays below {recording.residual_max:.1e} m and the energy within "
            f"{recording.energy_error:.1e} J of its initial value; the step of 0.01 s is "
            "the paper's.",
        ),
        Table(
            "Condition numbers along the fall",
            ("matrix", "mean", "smallest", "largest"),
            [
                (LABELS[name], *(f"{x:.1f}" for x in (k.mean(), k.min(), k.max())))
                for name, k in roads.condition.items()
            ],
            "The paper shows these as curves and prints no numbers.",
        ),
    ]


def _pictures(recording: CaseRun, roads: RoadComparison) -> list[Picture]:
    return [
        Picture(
            "free-fall-motion",
            "The fall (Moura, Fig. 3)",
            "(a) The arm at five instants, dark first, light last; the orange tip stays on the "
            "slider. (b) The joint angles, with dots at these instants.",
            lambda: draw_motion(recording),
        ),
        Picture(
            "free-fall-condition",
            "Condition numbers along the fall (Moura, Fig. 4)",
            "κ of the inertia matrix M and of the constraint inertia matrix M_c with each R. R* "
            "(thick) is never undercut. The thin grey curve takes a new random R at every sample: "
            "any R that keeps M_c regular gives the right motion, at the price of digits.",
            lambda: draw_condition(recording, roads),
        ),
        Picture(
            "free-fall-accuracy",
            "How exact it is",
            "Left: the largest relative difference between the accelerations of all roads "
            "(projected with five R, operational space, Gauss, block matrix). Right: what the "
            "integration leaves of the constraint and of the energy.",
            lambda: draw_accuracy(recording, roads),
        ),
    ]


def draw_motion(recording: CaseRun) -> Figure:
    """Stroboscopic picture and joint angles."""
    instants = np.linspace(0, len(recording.time) - 1, 5).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 4.0)
    stroboscope(left, recording, instants, (0.0, 1.0))
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    for i, name in enumerate(("q₁", "q₂", "q₃")):
        right.plot(recording.time, np.degrees(recording.q[:, i]), label=name)
    mark_instants(right, recording, np.degrees(recording.q), instants)
    right.set_xlabel("time [s]")
    right.set_ylabel("joint angle [°]")
    right.set_title("(b) joint angles")
    legend_above(right, 3)
    return figure


def draw_condition(recording: CaseRun, roads: RoadComparison) -> Figure:
    """Condition numbers over time."""
    figure, (ax,) = canvas(1, 1, 4.0)
    time = recording.time
    ax.semilogy(time, roads.random, color="#c4c4c4", linewidth=0.7, label="R random in [0, 1]")
    styles = {
        "M": (BLACK, "--", 1.3),
        "R1": (BLUE, "-", 1.5),
        "R2": (VERMILION, "-", 1.5),
        "R3": (GREEN, "-.", 1.5),
        "R4": (PURPLE, ":", 2.2),
        "Rstar": (ORANGE, "-", 4.0),
    }
    for name, (colour, line, width) in styles.items():
        ax.semilogy(
            time,
            roads.condition[name],
            color=colour,
            linestyle=line,
            linewidth=width,
            label=LABELS[name],
            zorder=1.9 if name == "Rstar" else 2.0,
        )
    ax.set_xlabel("time [s]")
    ax.set_ylabel("condition number κ [–]")
    top = max(float(values.max()) for values in roads.condition.values())
    ax.set_ylim(1.0, 4.0 * top)
    ax.margins(x=0.0)
    figure.legend(loc="outside upper left", ncols=4, columnspacing=1.4)
    return figure


def draw_accuracy(recording: CaseRun, roads: RoadComparison) -> Figure:
    """Differences between the roads; residual and energy."""
    figure, (left, right) = canvas(1, 2, 2.9)
    left.semilogy(recording.time, _above_zero(roads.difference), color=BLUE)
    left.axhline(np.finfo(float).eps, color=GREY, linestyle="--", linewidth=1.0)
    left.annotate(
        "rounding unit of doubles",
        (0.98, np.finfo(float).eps),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        color="#555555",
        fontsize=8.0,
    )
    left.set_ylim(1e-17, max(1e-12, 10.0 * float(roads.difference.max())))
    left.set_ylabel("relative difference of q̈ [–]")
    left.set_title("(a) between the roads")
    drift = np.abs(recording.energy_drift)
    right.semilogy(recording.time, _above_zero(drift), color=VERMILION, label="energy [J]")
    residual = _above_zero(recording.residual)
    right.semilogy(recording.time, residual, ".", markersize=3, color=GREEN, label="‖Φ‖ [m]")
    right.set_ylabel("error [J, m]")
    right.set_title("(b) errors")
    legend_above(right, 2)
    for ax in (left, right):
        ax.set_xlabel("time [s]")
        ax.set_xlim(0.0, recording.time[-1])
    return figure


def _above_zero(values: Array) -> Array:
    """Values for a logarithmic axis: exact zeros leave a gap."""
    return np.where(values > 0.0, values, np.nan)
