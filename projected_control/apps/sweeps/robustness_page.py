"""The page of a robustness study: which part keeps which bound, where, and what matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLACK, BLUE, COLOURS, GREY, VERMILION, canvas
from projected_control.apps.sweeps.bounds import WORDS, Share
from projected_control.apps.sweeps.designs import SAMPLE
from projected_control.apps.sweeps.maps import MAP
from projected_control.apps.sweeps.one_run import RunRow
from projected_control.apps.sweeps.robustness import BEYOND, Robustness

KEPT = "all bounds kept"
PALE = "#cfe8dd"
"""Where all bounds are kept."""

MOST_REASONS = len(COLOURS)


def outcome_of(found: Robustness) -> Outcome:
    """Tables, figures and sentences."""
    case, bounds = found.of.case, found.of.bounds
    ranges = ", ".join(f"{axis.name} from {axis.low:g} to {axis.high:g}" for axis in case.axes)
    sample = found.part(SAMPLE)
    summary = (
        f"{_percent(found.shares['all'])} of {len(sample):,} runs all over the uncertainty keep "
        f"all bounds. {_nominal_said(found)}"
    )
    tables = [_bounds_table(found), _reasons_table(found)]
    pictures = []
    if found.of.map is not None:
        one, two = (case.axes[i].name for i in found.of.map.which)
        pictures.append(
            Picture(
                "robustness_map",
                f"Where bounds are kept, over {one} and {two}",
                "All else is as it is nominally. Each cell is a run, its colour the first reason "
                "why it broke a bound. Black points are the edge, found by halving.",
                lambda: _map_figure(found),
            )
        )
    if found.sensitivities:
        tables.append(_sensitivity_table(found))
        pictures.append(
            Picture(
                "robustness_sensitivity",
                "What matters",
                "How much a number of a run changes with each of what varies, as a share of the "
                "largest in its row.",
                lambda: _sensitivity_figure(found),
            )
        )
    pictures.append(
        Picture(
            "robustness_sample",
            "The runs all over the uncertainty",
            "The largest of a run's numbers over its bound, by each of what varies. Crosses above "
            "the line are runs that failed.",
            lambda: _sample_figure(found),
        )
    )
    if found.worst is not None:
        tables.append(_worst_table(found, found.worst))
    return Outcome(
        "robustness",
        f"How sure is it? {case.name}",
        f"{case.node}, {case.seconds:g} s per run, {len(found.rows):,} runs, seed {case.seed}",
        f"What is uncertain: {ranges}. Bounds: "
        + ", ".join(
            f"{WORDS[name]} {bounds.numbers[name]:g}" if name in bounds.numbers else WORDS[name]
            for name in bounds.names
        )
        + ".",
        summary,
        found.numbers(),
        tables,
        pictures,
        [],
        "" if not bounds.broken(found.nominal) else _nominal_said(found),
    )


def _nominal_said(found: Robustness) -> str:
    broken = found.of.bounds.broken(found.nominal)
    if not broken:
        return "Where nothing varies all of them are kept."
    said = ", ".join(WORDS[name] for name in broken)
    return f"Even where nothing varies a bound is broken: {said} ({_reason(found, found.nominal)})."


def _reason(found: Robustness, row: RunRow) -> str:
    return row.reason or found.of.bounds.reason(row) or "nothing"


def _percent(share: Share) -> str:
    return f"{100 * share.share:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _bounds_table(found: Robustness) -> Table:
    bounds, rows = found.of.bounds, []
    for name, share in found.shares.items():
        bound = f"{bounds.numbers[name]:g}" if name in bounds.numbers else ""
        rows.append([WORDS.get(name, "all of them"), bound, _percent(share)])
    return Table(
        "Which part keeps which bound",
        ["bound", "at most", "runs that keep it"],
        rows,
        "In brackets, between which numbers the share lies in 95 times of 100 (Wilson). A run that "
        "fails keeps no bound on its errors.",
    )


def _reasons_table(found: Robustness) -> Table:
    rows = [[reason, f"{count:,}"] for reason, count in found.reasons.items()]
    return Table(
        "Why bounds were broken", ["first reason", "runs"], rows or [["no bound was broken", "0"]]
    )


def _sensitivity_table(found: Robustness) -> Table:
    sensitivity = found.of.sensitivity
    assert sensitivity is not None
    kind = sensitivity.kind
    heads = {
        "morris": ["mean effect μ*", "spread σ", "± (95 %)"],
        "sobol": ["total effect", "first order", "± (95 %)"],
    }[kind]
    rows = [
        [f"{WORDS[number]}: {axis}", *(f"{each[key]:.3g}" for key in ("mean", "spread", "sure"))]
        for number, by_axis in found.sensitivities.items()
        for axis, each in by_axis.items()
    ]
    return Table(
        f"Sensitivity ({kind.capitalize()})",
        ["", *heads],
        rows,
        f"Over the whole range of each. A run that fails counts as {BEYOND:g} times its bound.",
    )


def _worst_table(found: Robustness, worst: RunRow) -> Table:
    axes = found.of.case.axes
    rows = [[axis.label, f"{value:.6g}"] for axis, value in zip(axes, worst.values, strict=True)]
    rows += [["how it ended", _reason(found, worst)], ["run", f"{worst.number}"]]
    return Table(
        "The worst case",
        ["", "value"],
        rows,
        "Recorded as worst.mcap (projected-control replay, report, animate); worst.yaml has its "
        "parameters. Of the runs that fail it is the one nearest to where nothing varies.",
    )


def _map_figure(found: Robustness) -> Figure:
    mapped, bounds = found.of.map, found.of.bounds
    assert mapped is not None
    one, two = (found.of.case.axes[i] for i in mapped.which)
    lines = mapped.grid(found.part(MAP))
    reasons = [[bounds.reason(row) for row in line] for line in lines]
    counts: dict[str, int] = {}
    for reason in (r for line in reasons for r in line if r):
        counts[reason] = counts.get(reason, 0) + 1
    named = sorted(counts, key=lambda reason: -counts[reason])
    known = ["", *named[: MOST_REASONS - 1]]
    colours = [PALE, VERMILION, *(c for c in COLOURS if c != VERMILION)]
    other = "other reasons"
    if len(named) >= MOST_REASONS:
        known.append(other)
    numbers = np.array(
        [[known.index(r if r in known else other) for r in line] for line in reasons]
    )
    figure, (ax,) = canvas(1, 1, height=4.6)
    ax.grid(False)
    ax.pcolormesh(
        mapped.first,
        mapped.second,
        numbers.T,
        cmap=ListedColormap(colours[: len(known)]),
        vmin=-0.5,
        vmax=len(known) - 0.5,
        shading="nearest",
        edgecolors="white",
        linewidth=0.5,
    )
    if found.edges:
        places = np.array([edge.middle for edge in found.edges])
        ax.plot(places[:, 0], places[:, 1], "o", color=BLACK, markersize=3.0)
    nominal = [found.of.case.nominal[i] for i in mapped.which]
    ax.plot(*nominal, "+", color=BLACK, markersize=9, markeredgewidth=1.5)
    for axis, scale in ((one, ax.set_xscale), (two, ax.set_yscale)):
        if axis.log:
            scale("log")
    ax.set_xlabel(one.label)
    ax.set_ylabel(two.label)
    patches = [
        Patch(color=colour, label=reason or KEPT)
        for reason, colour in zip(known, colours, strict=False)
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=2)
    return figure


def _sensitivity_figure(found: Robustness) -> Figure:
    numbers, names = found.sensitivities, [axis.name for axis in found.of.case.axes]
    figure, axes = canvas(1, 1, height=0.9 + 0.3 * len(names) * len(numbers))
    ax, ticks, labels = axes[0], [], []
    place = 0.0
    for number, by_axis in numbers.items():
        means = np.array([by_axis[name]["mean"] for name in names])
        sure = np.array([by_axis[name]["sure"] for name in names])
        largest = max(float(means.max()), 1e-300)
        places = place + np.arange(len(names))
        ax.barh(places, means / largest, xerr=sure / largest, color=BLUE, ecolor=GREY, height=0.7)
        ticks += list(places)
        labels += [f"{WORDS[number]}: {name}" for name in names]
        place += len(names) + 0.6
    ax.set_yticks(ticks, labels)
    ax.invert_yaxis()
    ax.set_xlim(0.0, None)
    ax.set_xlabel("effect over the range, the largest being 1")
    return figure


def _sample_figure(found: Robustness) -> Figure:
    rows, axes_ = found.part(SAMPLE), found.of.case.axes
    columns = min(len(axes_), 2)
    lines = -(-len(axes_) // columns)
    figure, panels = canvas(lines, columns, height=2.4 * lines + 0.3, sharey=True)
    severity = np.array([found.of.bounds.severity(row) for row in rows])
    good = np.isfinite(severity)
    top = 1.15 * max(float(severity[good].max(initial=1.0)), 1.0)
    for i, axis in enumerate(axes_):
        values = np.array([row.values[i] for row in rows])
        ax = panels[i]
        ax.plot(values[good], severity[good], ".", color=BLUE, markersize=4)
        ax.plot(values[~good], np.full(int((~good).sum()), top), "x", color=VERMILION, markersize=4)
        ax.axhline(1.0, color=GREY, linestyle="--", linewidth=0.8)
        if axis.log:
            ax.set_xscale("log")
        ax.set_xlabel(axis.narrow_label)
        if i % columns == 0:
            ax.set_ylabel("largest number\nover its bound")
    for ax in panels[len(axes_) :]:
        ax.set_visible(False)
    return figure


def lines_of(outcome: Outcome) -> Sequence[str]:
    """For a terminal."""
    return [
        outcome.summary,
        "",
        *(line for table in outcome.tables[:2] for line in (table.title, *table.lines(), "")),
    ]
