"""A recorded run judged as one of the test: by the force that its own controller measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from projected_control.apps.assess.force_cases import JUDGED
from projected_control.apps.assess.force_run import CONTACT
from projected_control.apps.recordings.recording_report import opened
from projected_control.errors import InvalidValue


def judged(file: Path) -> dict[str, Any]:
    """Errors of the force after the first second, per constraint row."""
    recording = opened(file)
    time = recording.column("stamp")
    force, wanted = recording.column("lambda_measured"), recording.column("lambda_desired")
    if not force.size or not np.isfinite(force).any():
        raise InvalidValue(f"{file} has no measured force: record a run of force_controller")
    late = time - time[0] >= JUDGED
    if late.sum() < 3:
        raise InvalidValue(f"{file} is judged after {JUDGED:g} s, and ends before")
    off = (force - wanted)[late]
    rows = []
    for each, measured in zip(off.T, force[late].T, strict=True):
        known = each[np.isfinite(each)]
        free = np.abs(measured) <= CONTACT
        rows.append(
            {
                "force_error_mean": float(np.abs(known).mean()) if known.size else float("nan"),
                "force_error_max": float(np.abs(known).max()) if known.size else float("nan"),
                "losses": int(np.count_nonzero(np.diff(free.astype(int)) == 1)),
            }
        )
    return {
        "recording": str(file),
        "measured_by": "the controller's own sensor, not below the workpiece",
        "seconds": float(time[-1] - time[0]),
        "rows": rows,
    }
