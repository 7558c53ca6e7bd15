"""What became of our system in Gazebo, in a file: for a launch that has only Gazebo's exit status.

That status is 0 where Gazebo could not load a system, and where it shows its window it is 0
whatever happened to the simulation.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

RUNNING = "running"
"""In the file as long as the system is loaded and has not ended."""


def write_outcome(path: str, reason: str) -> None:
    """Keep why a run failed; an empty text for a run that did not.

    Where the folder is gone, the one who wanted to know has ended before, and it is not kept.
    """
    if path:
        with suppress(FileNotFoundError):
            Path(path).write_text(reason, encoding="utf-8")


def was_loaded(path: Path) -> bool:
    """Whether Gazebo has found our system and begun to configure it."""
    return path.exists()


def read_outcome(path: Path) -> str:
    """Why the run failed, once Gazebo has ended; an empty text where it did not."""
    if not was_loaded(path):
        return (
            "Gazebo did not load our controller (projected_control.ros.gazebo_system); what it "
            "says above has the reason: mostly its Python finds other modules than this one"
        )
    outcome = path.read_text(encoding="utf-8")
    return "Gazebo ended before its time" if outcome == RUNNING else outcome


def read_trouble(path: Path) -> str:
    """Why the controller did not do its work, of a Gazebo that was told to end; or nothing."""
    outcome = path.read_text(encoding="utf-8") if was_loaded(path) else ""
    return "" if outcome == RUNNING else outcome
