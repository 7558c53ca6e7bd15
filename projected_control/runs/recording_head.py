"""What a recording says at its beginning: who ran, with which parameters, from which memory."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from time import time_ns
from typing import Any

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control import __version__
from projected_control.control.loop import ControlLoop
from projected_control.kernel_library import digest
from projected_control.runs import row_messages
from projected_control.runs.kept_memory import described
from projected_control.runs.port import Port
from projected_control.runs.row_messages import Head, Places, plotted_names
from projected_control.runs.rows import row_places


@dataclass(frozen=True)
class About:
    """What a recording says of the run beside its ticks."""

    node: str = "controller"  # name of the controller node; of its kind in process
    kind: str = ""  # kind of the controller (see `settings.nodes`); empty for a loop made by hand
    # All of them, by name; empty for a loop made by hand.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # Parameters of the simulated arm, by name, where it was one.
    simulated: Mapping[str, Any] = field(default_factory=dict)
    # Names of topics, by channel, where they are not the usual ones.
    topics: Mapping[str, str] = field(default_factory=dict)
    # Files that parameters name, by parameter: their contents.
    files: Mapping[str, bytes] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)  # what else there is to know


def metadata_of(about: About, loop: ControlLoop, port: Port, columns: Places) -> dict[str, str]:
    """What a recording says of the run, as texts; its rows have these columns."""
    controller, model = loop.controller, loop.controller.model
    coordinates = model.coordinates.names if model.coordinates is not None else ()
    return {
        "node": about.node,
        "kind": about.kind,
        "version": __version__,
        "kernels": digest(),
        "engine": loop.engine,
        "exact": str(not port.remote),
        "period": repr(controller.period),
        "law": controller.law.name,
        "wrench_frame": port.wrench_frame,
        "joints": json.dumps(list(model.arm.joint_names)),
        "coordinates": json.dumps(list(coordinates)),
        "columns": json.dumps(columns),
        "memory": described(loop),
        "python_parts": json.dumps(loop.python_parts),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pinocchio": str(pinocchio.__version__),
        "host": f"{platform.system()} {platform.machine()}",
        **about.more,
    }


def make_head(
    about: About,
    loop: ControlLoop,
    port: Port,
    memory: Mapping[str, NDArray[Any]],
    state_rate: float,
    largest: int,
) -> Head:
    """The beginning of a file.

    Args:
        about: What is known of the run.
        loop, port: What runs.
        memory: The loop's, before the first tick that is recorded.
        state_rate: Rate of ~/state [Hz].
        largest: Size at which the file ends [bytes].
    """
    controller, model = loop.controller, loop.controller.model
    coordinates = model.coordinates.names if model.coordinates is not None else ()
    joints = model.arm.joint_names
    node = about.node.strip("/")
    topics = {
        row_messages.STATES: "/joint_states",
        row_messages.WRENCH: "/wrench",
        row_messages.COMMANDS: "/effort_controller/commands",
        row_messages.STATE: f"/{node}/state",
        row_messages.DIAGNOSTICS: "/diagnostics",
        row_messages.PARAMETERS: "/parameter_events",
        row_messages.DESCRIPTION: "/robot_description",
        row_messages.TICKS: f"/{node}/recording/ticks",
        row_messages.BLOCKS: f"/{node}/recording/letters",
        **about.topics,
    }
    columns = row_places(model.n, model.m, model.k)
    attachments = {
        "parameters.json": ("application/json", json.dumps(dict(about.parameters)).encode()),
        "memory.npz": ("application/octet-stream", _npz(memory)),
        "robot_description.urdf": ("application/xml", model.arm.urdf.encode()),
    }
    if about.simulated:
        content = json.dumps(dict(about.simulated)).encode()
        attachments["simulated_arm.json"] = ("application/json", content)
    for name, content in about.files.items():
        attachments[f"files/{name}"] = ("application/octet-stream", content)
    return Head(
        node=f"/{node}",
        joints=list(joints),
        coordinates=list(coordinates),
        quantities=plotted_names(coordinates, model.m, joints),
        columns=columns,
        topics=topics,
        wrench_frame=port.wrench_frame,
        state_every=max(round(1.0 / controller.period / state_rate), 1),
        began_ns=time_ns(),
        metadata=metadata_of(about, loop, port, columns),
        attachments=attachments,
        largest=largest,
    )


def _npz(memory: Mapping[str, NDArray[Any]]) -> bytes:
    content = BytesIO()
    np.savez(content, **memory)  # type: ignore[arg-type]
    return content.getvalue()
