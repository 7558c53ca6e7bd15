"""What recordings amount to: numbers, the demo's report, and two of them side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.demo.report import pictures, steadiness
from projected_control.apps.demo.verdict import COMPARED
from projected_control.apps.recordings.playback import differing_parameters
from projected_control.apps.reports import run_numbers
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, VERMILION, canvas, legend_above
from projected_control.arrays import Array
from projected_control.control.events import Action, events_in
from projected_control.errors import InvalidValue
from projected_control.runs.recording import Recording, read_recording
from projected_control.settings import build
from projected_control.settings.recorded import controller_settings

FACTOR = 10.0  # from here on a change is told as a factor and not in percent


def opened(path: Path) -> Recording:
    """Read a recording, and say on standard error what is to be known of it."""
    recording = read_recording(path)
    for sentence in recording.warnings():
        print(f"projected-control: {sentence}", file=sys.stderr)
    return recording


def numbers_of(recording: Recording) -> dict[str, Any]:
    """The numbers of a run, as its controller's summary has them; of all ticks in the file."""
    answers = recording.answers
    if not answers.any():
        raise InvalidValue(f"{recording.path.name} holds no tick")

    def part(name: str) -> Array:
        return recording.column(name)[answers]

    error, effort = part("error"), part("effort")
    steps = np.diff(part("stamp"))
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    took = 1e-3 * part("took")
    missed = np.round(steps[steps > 1.5 * recording.period] / recording.period) - 1
    counted: dict[str, int] = {}
    for events in recording.column("events").astype(np.int64):
        for event in events_in(int(events)):
            counted[event.phrase] = counted.get(event.phrase, 0) + 1
    actions = recording.column("action").astype(np.int64)
    middle, high = np.percentile(took, [50, 99])
    return {
        "ticks": int(answers.sum()),
        "seconds": float(answers.sum() * recording.period),
        "silences": int((~answers).sum()),
        "tracking_rms": _rms(error),
        "tracking_peak": float(np.nanmax(np.abs(error), initial=0.0)),
        "tracking_rms_by_coordinate": {
            name: float(np.sqrt(np.nanmean(column**2)))
            for name, column in zip(recording.coordinates, error.T, strict=True)
        },
        "lambda_rms": _rms(part("lambda_measured")),
        "torque_rms": _rms(effort),
        "torque_peak": float(np.nanmax(np.abs(effort), initial=0.0)),
        "torque_rms_idc": float(np.sqrt(np.nanmean(part("inverse_dynamics") ** 2))),
        "residual_max": float(np.nanmax(part("residual"), initial=0.0)),
        "rate_hz": float(1.0 / steps.mean()) if steps.size else 0.0,
        "jitter_us": float(1e6 * steps.std()) if steps.size else 0.0,
        "latency_us": {"p50": float(middle), "p99": float(high), "max": float(took.max())},
        "deadline_misses": int(missed.sum()),
        "events": counted,
        "actions": {
            a.name.lower(): int((actions == a).sum()) for a in Action if (actions == a).any()
        },
        "lost": recording.lost,
        "broken": recording.broken,
    }


def _rms(values: Array) -> float:
    """Of all numbers of a tick; unknown ones count as zero."""
    return run_numbers.rms(np.where(np.isnan(values), 0.0, values))


def report(recording: Recording) -> Outcome:
    """The demo's report, of a recording."""
    numbers, units = numbers_of(recording), _units(recording)
    about = recording.about
    errors = run_numbers.by_unit(numbers, units)
    told = run_numbers.with_units(numbers, errors)
    rows = [
        [label, f"{told[key]:.6g}"]
        for key, label in {**run_numbers.labels(errors), **COMPARED}.items()
    ]
    last = {
        "answers to silence": numbers["silences"],
        "ticks that were not recorded": numbers["lost"],
    }
    made = [[key, about[key]] for key in ("node", "law", "engine", "version", "pinocchio", "host")]
    changes = [
        [f"{recording.period * index:.3f}", name, str(value)]
        for index, values in recording.changes
        for name, value in values.items()
    ]
    tables = [
        Table("The run", ["", "value"], rows),
        steadiness(numbers, {"states answered": numbers["ticks"]}, last),
        Table("Made by", ["", ""], made),
    ]
    if changes:
        tables.append(Table("Parameters that changed", ["after (s)", "name", "value"], changes))
    return Outcome(
        "recording",
        recording.path.name,
        f"{about['node'].strip('/')}, {numbers['seconds']:.3g} s",
        " ".join(f"{w[0].upper()}{w[1:]}." for w in recording.warnings())
        or "Every tick of the run was recorded.",
        f"{numbers['ticks']} states answered; tracking error "
        f"{run_numbers.tracking_in_words(errors)}, torque {numbers['torque_rms']:.3f} N·m RMS "
        "where inverse dynamics, with a motor in every joint, would need "
        f"{numbers['torque_rms_idc']:.3f}.",
        {"recording": numbers},
        tables,
        pictures("recording", recording.times, recording.quantities(), units),
        [],
    )


def comparison(one: Recording, other: Recording, names: tuple[str, str]) -> Outcome:
    """Two recordings side by side.

    Args:
        one, other: Of the same joints and coordinates.
        names: What they are called.
    """
    if (one.joints, one.coordinates) != (other.joints, other.coordinates):
        raise InvalidValue(
            f"two runs of the same arm can be compared: {names[0]} has the joints "
            f"{', '.join(one.joints)} and the coordinates {', '.join(one.coordinates)}, {names[1]} "
            f"has {', '.join(other.joints)} and {', '.join(other.coordinates)}"
        )
    both = [numbers_of(one), numbers_of(other)]
    units = _units(one)
    errors = [run_numbers.by_unit(numbers, units) for numbers in both]
    told = [run_numbers.with_units(*each) for each in zip(both, errors, strict=True)]
    labels = {
        **run_numbers.labels(errors[0]),
        **COMPARED,
        "residual_max": "‖Φ‖, largest",
        "ticks": "states answered",
    }
    rows = [
        [label, *(f"{n[key]:.6g}" for n in told), _change(told[0][key], told[1][key])]
        for key, label in labels.items()
    ]
    for phrase in sorted({*both[0]["events"], *both[1]["events"]}):
        rows.append([f"guard: {phrase}", *(str(n["events"].get(phrase, 0)) for n in both), ""])
    differing = [[n, _short(a), _short(b)] for n, a, b in differing_parameters(one, other)]
    apart = differences(one, other)
    tables = [Table("Numbers", ["", *names, "change"], rows)]
    if apart:
        apart_rows = [[name, f"{value:.6g}"] for name, value in apart.items()]
        tables.append(Table("Largest difference at the same tick", ["", ""], apart_rows))
    tables.append(Table("Parameters that differ", ["", *names], differing or [["none", "", ""]]))
    return Outcome(
        "comparison",
        f"{names[0]} and {names[1]}",
        f"{both[0]['seconds']:.3g} s and {both[1]['seconds']:.3g} s",
        " ".join(f"{w[0].upper()}{w[1:]}." for r in (one, other) for w in r.warnings()),
        f"Tracking error {run_numbers.tracking_in_words(errors[0])}, then "
        f"{run_numbers.tracking_in_words(errors[1])}; "
        f"torque {both[0]['torque_rms']:.4g} and {both[1]['torque_rms']:.4g} N·m RMS.",
        {"comparison": {names[0]: both[0], names[1]: both[1], "largest_difference": apart}},
        tables,
        [
            Picture(
                "comparison",
                "Both runs",
                "The error of each coordinate, the constraint force and the norm of the torque, "
                "each from the first recorded tick on.",
                lambda: _side_by_side((one, other), names),
            )
        ],
        [],
    )


def differences(one: Recording, other: Recording) -> dict[str, float]:
    """Largest difference of states and answers, where both have the same ticks; else empty."""
    times = [r.times for r in (one, other)]
    if len(times[0]) != len(times[1]) or np.nanmax(np.abs(times[0] - times[1])) > 0.5 * one.period:
        return {}
    found = {}
    for name in ("q", "v", "theta", "lambda_measured", "effort"):
        a, b = (r.column(name)[r.answers] for r in (one, other))
        gap = np.abs(a - b)
        found[name] = float(np.nanmax(gap)) if np.isfinite(gap).any() else 0.0
    return found


def _change(one: float, other: float) -> str:
    """In percent, or as a factor where that is easier to read."""
    if not one:
        return ""
    ratio = other / one
    return f"× {ratio:.3g}" if abs(ratio) >= FACTOR else f"{100.0 * (ratio - 1.0):+.1f} %"


def _units(recording: Recording) -> dict[str, str]:
    """Of the coordinates, by name; none where the loop was made without parameters."""
    if not recording.about["kind"] or not recording.parameters:
        return {}
    return build.coordinate_units(controller_settings(recording))


def _short(value: Any, most: int = 40) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _side_by_side(both: tuple[Recording, Recording], names: tuple[str, str]) -> Figure:
    coordinates, units = both[0].coordinates, _units(both[0])
    multipliers = both[0].column("lambda_desired").shape[1]
    count = len(coordinates) + multipliers + 1
    figure, axes = canvas(count, 1, height=1.4 * count + 0.8, sharex=True)
    for recording, name, colour in zip(both, names, (BLUE, VERMILION), strict=True):
        state, times = recording.quantities(), recording.times
        panels = iter(axes)
        for coordinate in coordinates:
            ax = next(panels)
            ax.plot(times, 1e3 * state[f"{coordinate}/error"], color=colour, label=name, alpha=0.8)
            unit = f"m{units[coordinate]}" if coordinate in units else "mm or mrad"
            ax.set_ylabel(f"{coordinate} error\n({unit})")
        for row in range(multipliers):
            ax = next(panels)
            ax.plot(times, state[f"lambda_{row}"], color=colour, label=name, alpha=0.8)
            ax.set_ylabel(f"λ{row} (N)")
        ax = next(panels)
        ax.plot(times, state["torque_norm"], color=colour, label=name, alpha=0.8)
        ax.set_ylabel("‖f‖ (N·m)")
    axes[-1].set_xlabel("time (s)")
    legend_above(axes[0], 2)
    return figure
