"""Three controllers on an arm whose tip runs on a slider (Aghili, section IX)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.arm_drawing import (
    chain_points,
    fit_beside,
    mark_instants,
    stroboscope,
)
from projected_control.apps.experiments.case_run import CaseRun, simulate
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.table2_cases import (
    CONTROLLERS,
    LABELS,
    PRINTED,
    SETTINGS,
    Run,
    describe,
)
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLACK, BLUE, GREEN, VERMILION, canvas
from projected_control.arrays import Array

Runs = Mapping[str, Mapping[str, Run]]  # by setting, then by controller


def run(options: Options, progress: Progress) -> Outcome:
    runs = {
        key: {
            name: Run.of(simulate(describe(setting, name, options), progress))
            for name in CONTROLLERS
        }
        for key, setting in SETTINGS.items()
    }
    ours = {key: {name: r.numbers for name, r in row.items()} for key, row in runs.items()}
    recordings = [r.recording for row in runs.values() for r in row.values()]
    rough = ours["friction"]
    reduction = rough["idc"]["lambda_rms"] / rough["hybrid"]["lambda_rms"]
    numbers = {
        "printed": {
            name: {"rms": rms, "peak": peak, "lambda_rms": None}
            for name, (rms, peak) in PRINTED.items()
        },
        **ours,
        "force_reduction": reduction,
        "guard_interventions": int(sum(np.count_nonzero(r.events) for r in recordings)),
        "seconds": recordings[0].time[-1],
    }
    return Outcome(
        name="table2",
        title="Three controllers on a slider",
        source="Aghili, section IX, Fig. 8, Table II",
        introduction=(
            "A horizontal arm of three links, its tip hinged to a slider along x. The tip is to "
            "swing to and fro, x_d = −0.075 + 0.225 sin(πt + π/9) m, and to keep its heading, for "
            f"{numbers['seconds']:g} s, with G_P = 480, G_D = 45, G_F = 3, G_I = 0.1 and λ_d = 0, "
            "at 1 kHz. Inverse dynamics control (IDC), its projection (PIDC) and the projection "
            "with force control (hybrid) do it: on an ideal arm, on one with friction in its "
            "joints (Coulomb 0.3 N·m, viscous 0.05 N·m·s/rad) that no controller knows of, and "
            "with controllers that take the slider to be 10 mm from where it is. All runs go "
            "through the same loop as on an arm; the limits of its guard are so wide that it does "
            "nothing."
        ),
        summary=(
            "RMS torque with friction: "
            + ", ".join(f"{LABELS[name]} {rough[name]['rms']:.2f}" for name in CONTROLLERS)
            + " N·m. PIDC needs the least throughout. Force control divides the constraint force "
            f"that friction causes in IDC by {reduction:.2f}; 1 + G_F = 4 is what to expect. Only "
            "IDC pays for a wrong place of the slider."
        ),
        numbers={"table2": numbers},
        tables=_tables(ours),
        pictures=_pictures(runs),
        differences=_differences(ours),
    )


def _tables(ours: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Table]:
    def cells(key: str, form: str) -> list[str]:
        return [form.format(**ours[key][name]) for name in CONTROLLERS]

    header = ("", *LABELS.values())
    printed = [f"{rms:.2f} / {peak:.2f}" for rms, peak in PRINTED.values()]
    return [
        Table(
            "Table II: RMS norm / peak of the joint torques [N·m]",
            header,
            [
                ("printed, the real arm", *printed),
                *((s.label, *cells(key, "{rms:.3f} / {peak:.3f}")) for key, s in SETTINGS.items()),
            ],
            "The peak is the largest torque of any joint, the RMS is of the whole vector.",
        ),
        Table(
            "RMS of the constraint force λ [N]",
            header,
            [(s.label, *cells(key, "{lambda_rms:.3f}")) for key, s in SETTINGS.items()],
            "The print shows λ as a curve and gives no number.",
        ),
        Table(
            "Largest tracking error: x [mm] / heading [°]",
            header,
            [
                (
                    s.label,
                    *(
                        f"{1e3 * ours[key][name]['x_error_max']:.2f} / "
                        f"{np.degrees(ours[key][name]['heading_error_max']):.2f}"
                        for name in CONTROLLERS
                    ),
                )
                for key, s in SETTINGS.items()
            ],
        ),
    ]


def _pictures(runs: Runs) -> list[Picture]:
    return [
        Picture(
            "fig8",
            "Motion, contact force and torque, with friction (Aghili, Fig. 8)",
            "(A, B) All three controllers follow; friction leaves the same small errors in all. "
            "(C) Friction presses IDC against the slider and jumps where a joint turns round; PIDC "
            "leaves the force to the constraint; the hybrid controller holds it near zero. The "
            "axis leaves out the first 0.05 s, in which the force filter settles. (D) PIDC needs "
            "the least torque throughout.",
            lambda: draw_controllers(runs["friction"]),
        ),
        Picture(
            "fig8-nominal",
            "The same on the ideal arm",
            "Without friction the errors vanish. IDC and the hybrid controller now give the same "
            "torque, h + M q̈, under which nothing presses on the slider: their curves in (C) and "
            "(D) lie on each other.",
            lambda: draw_controllers(runs["nominal"]),
        ),
        Picture(
            "fig8-offset",
            "The same with friction, the slider 10 mm from where the controllers take it to be",
            "IDC, stiff in all directions, tries to pull the tip to where it believes the slider "
            "to be: force and torque grow, and the heading is off by up to 8°. PIDC and the hybrid "
            "controller use only the slider's direction, and do not notice.",
            lambda: draw_controllers(runs["friction_offset"]),
        ),
        Picture(
            "fig8-arm",
            "The arm",
            "(a) Five instants on the way from right to left, dark first; the orange tip stays on "
            "the slider. (b) The joint angles, with dots at these instants.",
            lambda: draw_arm(runs["nominal"]["pidc"].recording),
        ),
    ]


def _differences(ours: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    rough, offset = (
        ours[key]["idc"]["rms"] / ours[key]["pidc"]["rms"]
        for key in ("friction", "friction_offset")
    )
    peak = ours["friction"]["hybrid"]["peak"]
    return [
        "The print gives no link data. The arm here is made of uniform rods of 0.2, 0.4 and 0.1 m "
        "and 2.746 kg each, chosen so that ideal PIDC needs the printed RMS of 1.50 N·m in 4 s. "
        "The other numbers follow from that and can be compared in their order and proportion, "
        "not digit by digit.",
        "The printed torques are those of a real arm, with gears, friction and a slider that is "
        f"not quite where it is thought to be. With friction IDC needs {rough:.2f} times the RMS "
        f"torque of PIDC, with friction and 10 mm of offset {offset:.2f} times; in print it is "
        "2.12 times.",
        f"The print's hybrid controller has a peak of 2.30 N·m, ours with friction {peak:.2f} N·m. "
        "The peak comes with the spikes where a joint turns round, and with friction that is not "
        "printed.",
        "The print does not mention a filter on the measured force. With G_F = 3 and one sample of "
        "delay at 1 kHz the loop needs one below 110 Hz, or it diverges; here it is 50 Hz.",
        "IDC here also feeds Φ and its rate back, with the gains of the motion: this is what the "
        "paper's remark that IDC is stiff in all directions means, and without it an error in y₀ "
        "would have no effect at all.",
        "In (49) and (52) C must be M C; in (51) the product is A Aᵀ. The integral of (50) is "
        "taken of λ: that of the vector of forces would leave the normal space while the arm "
        "moves.",
    ]


THINNING = 4  # every how many samples a curve has a point
SETTLING = 0.05  # in which the force filter finds the force; left out of the range of its axis [s]
REACH = 0.06  # by how much the slider is drawn beyond the travel of the tip [m]


class Followed(Protocol):
    """What is drawn of a run: see `table2_cases.Run`."""

    @property
    def recording(self) -> CaseRun: ...

    @property
    def theta(self) -> Array: ...

    @property
    def desired(self) -> Array: ...


STYLES = {
    "idc": ("IDC", VERMILION, "-", 1.3),
    "pidc": ("PIDC", BLUE, "-", 1.6),
    "hybrid": ("hybrid", GREEN, "--", 1.6),
}


def draw_controllers(runs: Mapping[str, Followed]) -> Figure:
    """The panels of Aghili's Fig. 8: position, heading, contact force, norm of the torque."""
    figure, axes = canvas(2, 2, 5.4, sharex=True)
    part = slice(None, None, THINNING)
    for name, run in runs.items():
        label, colour, line, width = STYLES[name]
        time = run.recording.time[part]
        curves = (
            run.theta[part, 0],
            np.degrees(run.theta[part, 1]),
            run.recording.multipliers[part, 0],
            np.linalg.norm(run.recording.effort[part], axis=1),
        )
        for ax, values in zip(axes, curves, strict=True):
            ax.plot(time, values, label=label, color=colour, linestyle=line, linewidth=width)
    first = next(iter(runs.values()))
    time = first.recording.time[part]
    for ax, values in zip(
        axes, (first.desired[part, 0], np.degrees(first.desired[part, 1])), strict=False
    ):
        ax.plot(time, values, label="desired", color=BLACK, linestyle=":", linewidth=1.2)
    titles = ("(A) position", "(B) heading", "(C) contact force λ", "(D) norm of the torque")
    labels = ("x [m]", "heading [°]", "λ [N]", "‖f‖ [N·m]")
    for ax, title, label in zip(axes, titles, labels, strict=True):
        ax.set_title(title)
        ax.set_ylabel(label)
        ax.margins(x=0.0)
    headings = np.degrees([r.theta[:, 1] for r in runs.values()])
    axes[1].set_ylim(min(-0.5, 1.1 * headings.min()), max(0.5, 1.1 * headings.max()))
    settled = np.concatenate(
        [r.recording.multipliers[r.recording.time >= SETTLING] for r in runs.values()]
    )
    if settled.size:
        margin = 0.06 * float(np.ptp(settled)) + 1e-9
        axes[2].set_ylim(settled.min() - margin, settled.max() + margin)
    axes[3].set_ylim(bottom=0.0)
    for ax in axes[2:]:
        ax.set_xlabel("time [s]")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=4)
    return figure


def draw_arm(recording: CaseRun) -> Figure:
    """The arm at five instants from its rightmost to its leftmost place, and the joint angles."""
    tips = chain_points(recording.case.arm, recording.q)[:, -1, 0]
    first, last = sorted((int(tips.argmax()), int(tips.argmin())))
    instants = np.linspace(first, last, 5).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 3.0)
    stroboscope(left, recording, instants, (1.0, 0.0), margin=REACH)
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    part = slice(None, None, THINNING)
    for i, name in enumerate(("q₁", "q₂", "q₃")):
        right.plot(recording.time[part], np.degrees(recording.q[part, i]), label=name)
    mark_instants(right, recording, np.degrees(recording.q), instants)
    right.set_xlabel("time [s]")
    right.set_ylabel("joint angle [°]")
    right.set_title("(b) joint angles")
    right.margins(x=0.02)
    right.legend(loc="center right", ncols=3)
    return figure
