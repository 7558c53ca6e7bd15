"""The status that a controller publishes on /diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.model.dynamics import condition_numbers
from projected_control.ros.lifecycle import OK, WARN, Status
from projected_control.runs.runner import Runner

RECENT = 2000
"""Ticks that the diagnostics look back on; to sort more would keep the loop waiting."""


def controller_status(loop: ControlLoop | None, runner: Runner | None) -> Status:
    """Level, message and values; of an inactive controller what can be said without an arm."""
    if loop is None:
        return OK, "", {}
    controller, model = loop.controller, loop.controller.model
    values: dict[str, Any] = {"law": controller.law.name, "engine": loop.engine}
    if controller.force is not None:
        gains = controller.force.gains
        values["force loop gain margin"] = gains.loop(controller.period).gain_margin
    if runner is None:
        return OK, "", values
    statistics, port = runner.statistics, runner.port
    summary = statistics.summary(RECENT)
    latency, counters = summary["latency_us"], port.counters()
    values |= {
        "ticks": summary["ticks"],
        "rate (Hz)": summary["rate_hz"],
        "jitter (us)": summary["jitter_us"],
        "latency p50 (us)": latency["p50"],
        "latency p99 (us)": latency["p99"],
        "latency max (us)": latency["max"],
        "deadlines missed": statistics.deadline_misses,
        "states skipped": counters.get("states_skipped", 0),
        "messages malformed": counters.get("malformed", 0),
        "residual (m)": float(np.linalg.norm(model.residual)),
        "rank": model.rank,
        "condition number of M_c": _condition_number(model.M.copy(), model.P.copy()),
        "undescribed directions": controller.undescribed,
        "held by": controller.held_by,
        "coordinate independence": float(controller.margins[0]),
        "force from": "none" if controller.force is None else loop.force_source.name,
        "delay (samples)": port.measured_delay(),
        "delay allowed for (samples)": controller.delay,
        **summary["events"],
    }
    if model.arm.passive:
        values["controllability"] = float(controller.margins[1])
    troubled = {a.name.lower(): n for a, n in statistics.actions.copy().items() if a}
    values |= {f"answers: {name}": n for name, n in troubled.items()}
    if runner.refused:
        return WARN, f"a change could not be made: {runner.refused}", values
    if loop.report.events:
        return WARN, ", ".join(loop.report.reasons), values
    return OK, "following", values


def _condition_number(M: NDArray[np.float64], P: NDArray[np.float64]) -> float:
    """κ(M_c); NaN for a state that was not finite."""
    if not (np.isfinite(M).all() and np.isfinite(P).all()):
        return float("nan")
    return float(condition_numbers(M, P)["R2"])
