"""What comes of a test of force control: numbers with their spread, tables, pictures, one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.assess.force_cases import CASES, LAWS
from projected_control.apps.assess.force_run import ABOUT, NUMBERS, ForceCurve, ForceTest, follow
from projected_control.apps.console.progress import Progress
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import COLOURS, GREY, canvas
from projected_control.apps.sweeps.one_run import DONE, RunRow

Spread = dict[str, tuple[float, float]]
"""Mean and standard deviation over the repetitions, by number."""

SHOWN = ("touch", "force_step", "line_100", "wave")
"""Cases that are drawn, where they were made."""


def found_in(test: ForceTest, rows: Sequence[RunRow]) -> dict[str, dict[str, dict[str, Any]]]:
    """By law and case: numbers with their spread, and how the runs ended."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for i, law in enumerate(test.laws):
        for j, case in enumerate(test.cases):
            mine = [row for row in rows if row.values[:2] == (float(i), float(j))]
            good = [row for row in mine if row.status == DONE]
            found.setdefault(law, {})[case] = {
                "runs": len(mine),
                "ended": [row.reason or row.status for row in mine if row.status != DONE],
                "not_settled": sum(np.isposinf(row.numbers["settling"]) for row in good),
                **{name: _spread([row.numbers[name] for row in good]) for name in NUMBERS},
            }
    return found


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Of what is known; infinite where one of them never came to an end."""
    if any(np.isposinf(value) for value in values):
        return float("inf"), float("nan")
    kept = np.array([value for value in values if np.isfinite(value)])
    return (float(kept.mean()), float(kept.std())) if kept.size else (float("nan"), float("nan"))


def outcome_of(test: ForceTest, rows: Sequence[RunRow], progress: Progress) -> Outcome:
    """The page of a test."""
    found = found_in(test, rows)
    shown = [name for name in SHOWN if name in test.cases]
    curves: dict[str, dict[str, ForceCurve]] = {}
    for done, case in enumerate(shown):
        progress("pictures", done / len(shown))
        curves[case] = {}
        for law in test.laws:
            curves[case][law] = follow(law, CASES[case], test.engine, test.seed, 0)[0]
    progress("pictures", 1.0)
    return Outcome(
        "assess",
        "The test of force control",
        "After Gadringer, Gattringer and Müller, Mech. Sci. 13:361 (2022), as far as its public "
        "text gives it: the force is measured below the workpiece, along its normal, and what "
        f"counts is the average of several runs ({test.repeats} here); cases and numbers are ours",
        "An arm of seven joints with the parts of config/real.yaml (joints that stick, encoders of "
        "20 bits, late and noisy motors and force sensor) presses on a surface that gives and can "
        f"be left, moved by {test.engine}. Each law has one set of gains for all cases; the "
        "surface's stiffness enters by formulas alone: d_n = 2 ζ √(K m_n), with ζ = 0.5 and "
        "m_n = 3 kg, G_V = 0.25 d_n/K, D_a = K/(20/s).",
        _summary(found),
        {"engine": test.engine, "seed": test.seed, "repeats": test.repeats, "laws": found},
        [_table(name, test, found) for name in NUMBERS],
        [
            Picture(
                f"assess-{test.engine}",
                "The force below the surface",
                "One run of each law; the grey line is the force that is wanted.",
                lambda: draw(curves),
            )
        ],
        [],
    )


def _summary(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    said = []
    for law, cases in found.items():
        means = [each["force_error_mean"][0] for each in cases.values()]
        ended = [name for name, each in cases.items() if each["ended"]]
        known = [mean for mean in means if np.isfinite(mean)]
        part = f"{LAWS[law].title}: {np.median(known):.3g} N in the median over the cases"
        said.append(part + (f", ended early in {', '.join(ended)}" if ended else ""))
    return "Mean absolute error. " + "; ".join(said) + "."


def _cell(spread: tuple[float, float], factor: float = 1.0) -> str:
    mean, deviation = spread
    if np.isposinf(mean):
        return "not settled"
    if not np.isfinite(mean):
        return "–"
    spread_out = f" ± {factor * deviation:.1g}" if np.isfinite(deviation) else ""
    return f"{factor * mean:.3g}{spread_out}"


def _shown(name: str) -> tuple[float, str]:
    unit = ABOUT[name][1]
    return {"m": (1e3, "mm"), "s": (1e3, "ms")}.get(unit, (1.0, unit))


def titled(name: str) -> str:
    """A number with its unit, as tables have it."""
    unit = _shown(name)[1]
    return f"{ABOUT[name][0].capitalize()}{f' [{unit}]' if unit else ''}"


def number_cell(name: str, value: float) -> str:
    """One number of one run, in that unit."""
    return _cell((value, float("nan")), _shown(name)[0])


def _early(each: Mapping[str, Any]) -> str:
    return f"{len(each['ended'])} of {each['runs']} ended early"


def _table(name: str, test: ForceTest, found: Mapping[str, Any]) -> Table:
    factor = _shown(name)[0]
    rows = []
    for case in test.cases:
        cells = []
        for law in test.laws:
            each = found[law][case]
            early = f" ({_early(each)}: {each['ended'][0][:60]})" if each["ended"] else ""
            cells.append(_cell(each[name], factor) + early)
        rows.append([CASES[case].title, *cells])
    return Table(titled(name), ["", *(LAWS[law].title for law in test.laws)], rows)


def latex(test: ForceTest, found: Mapping[str, Any]) -> str:
    """Mean absolute errors as a table for a paper."""
    lines = [
        r"\begin{tabular}{l" + "r" * len(test.laws) + "}",
        r"\hline",
        " & ".join(["mean absolute error [N]", *(LAWS[law].title for law in test.laws)]) + r" \\",
        r"\hline",
    ]
    for case in test.cases:
        cells = []
        for law in test.laws:
            each = found[law][case]
            early = f" ({_early(each)})" if each["ended"] else ""
            cells.append(_cell(each["force_error_mean"]) + early)
        text = [cell.replace("±", r"$\pm$").replace("–", "--") for cell in cells]
        lines.append(" & ".join([CASES[case].title.replace("%", r"\%"), *text]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def draw(curves: Mapping[str, Mapping[str, ForceCurve]]) -> Figure:
    """The force below the surface over time, one panel per case."""
    rows = max((len(curves) + 1) // 2, 1)
    figure, axes = canvas(rows, 2, height=2.1 * rows + 0.5)
    for ax, (case, laws) in zip(axes, curves.items(), strict=False):
        for colour, law in zip(COLOURS, LAWS, strict=False):
            if law in laws:
                each = laws[law]
                ax.plot(each.time, each.force, color=colour, linewidth=0.9, label=LAWS[law].title)
        if laws:
            first = next(iter(laws.values()))
            top = 1.6 * float(first.wanted.max())
            ax.plot(first.time, first.wanted, color=GREY, linestyle="--", linewidth=0.8)
            ax.set_ylim(-1.0, top)
        ax.set_title(CASES[case].title)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("force [N]")
    handles: dict[str, Any] = {}
    for ax in axes:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    return figure
