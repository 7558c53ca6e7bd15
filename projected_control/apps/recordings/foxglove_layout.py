"""The layout for Foxglove and Lichtblick: config/foxglove.json.

It shows a controller's own topics, which a recording has under the same names, so that it serves a
running controller and a file.

python -m projected_control.apps.recordings.foxglove_layout FILE.json [NODE COORDINATE… -- JOINT…]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from projected_control.runs.row_messages import plotted_names

NODE = "force_controller"
COORDINATES = ("tip.x", "tip.angle")
JOINTS = ("joint_1", "joint_2", "joint_3")
"""Of config/three_link_slider.yaml, with which the demo runs."""

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def layout(
    node: str = NODE,
    coordinates: Sequence[str] = COORDINATES,
    rows: int = 1,
    joints: Sequence[str] = JOINTS,
) -> dict[str, Any]:
    """The layout of a controller: its arm, errors, forces, torques and diagnostics."""
    names = plotted_names(coordinates, rows, joints)
    state = f"/{node}/state"

    def plot(title: str, wanted: Sequence[str]) -> dict[str, Any]:
        return {
            "title": title,
            "paths": [
                {
                    "value": f"{state}.position[{names.index(name)}]",
                    "label": name,
                    "enabled": True,
                    "timestampMethod": "headerStamp",
                    "color": _COLOURS[number % len(_COLOURS)],
                }
                for number, name in enumerate(wanted)
            ],
            "showLegend": True,
            "isSynced": True,
            "followingViewWidth": 10,
        }

    forces = [name for row in range(rows) for name in (f"lambda_{row}", f"lambda_{row}/desired")]
    panels: dict[str, Any] = {
        "3D!arm": {
            "followMode": "follow-none",
            "topics": {
                f"/{node}/markers": {"visible": True},
                "/robot_description": {"visible": True},
            },
            "layers": {
                "grid": {"layerId": "foxglove.Grid", "visible": True, "size": 2, "divisions": 20}
            },
        },
        "Plot!error": plot("Error of each coordinate", [f"{name}/error" for name in coordinates]),
        "Plot!force": plot("λ and λ_d (N)", forces),
        "Plot!norm": plot("‖f‖, and what IDC would need", ["torque_norm", "torque_norm/idc"]),
        "Plot!effort": plot("Efforts", [f"{joint}/effort" for joint in joints]),
        "DiagnosticSummary!all": {"topicToRender": "/diagnostics", "minLevel": 0},
        "RawMessages!parameters": {"topicPath": "/parameter_events"},
    }

    def split(first: Any, second: Any, direction: str, percent: int = 50) -> dict[str, Any]:
        return {
            "first": first,
            "second": second,
            "direction": direction,
            "splitPercentage": percent,
        }

    return {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": split(
            split(
                "3D!arm",
                split("DiagnosticSummary!all", "RawMessages!parameters", "row"),
                "column",
                60,
            ),
            split(
                split("Plot!error", "Plot!force", "column"),
                split("Plot!norm", "Plot!effort", "column"),
                "column",
            ),
            "row",
            45,
        ),
    }


def main(arguments: Sequence[str]) -> None:
    path, *rest = arguments
    if rest:
        node, *names = rest
        apart = names.index("--")
        content = layout(node, names[:apart], 1, names[apart + 1 :])
    else:
        content = layout()
    text = json.dumps(content, indent=2, ensure_ascii=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
