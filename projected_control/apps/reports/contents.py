"""What an experiment hands back: numbers, tables, figures, and where print and result differ."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is needed.

    Attributes:
        name: Name of its files, without extension.
        title: Above it on the page.
        caption: What is to be seen in it, in a few sentences.
        draw: Makes it, in the style of `style.canvas`.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: Above it.
        header: Names of the columns.
        rows: Cells; the first of a row names it.
        note: Below it.
        off: Numbers of the rows whose last cell is not what it should be.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    off: Collection[int] = ()

    def lines(self) -> list[str]:
        """The table for a terminal, its columns below each other."""
        rows = [list(self.header), *(list(row) for row in self.rows)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]


@dataclass(frozen=True)
class Outcome:
    """Result of an experiment.

    Attributes:
        name: As on the command line.
        title: One line.
        source: Where in which paper.
        introduction: What is simulated, for a reader without the paper.
        summary: The result in one or two sentences.
        numbers: For ``--json``: numbers, texts, None, and lists and dictionaries of them.
        tables: Printed value beside ours.
        pictures: Figures.
        differences: Every place where print and result differ, and why.
        warning: What is wrong with it, above everything else; empty for nothing.
    """

    name: str
    title: str
    source: str
    introduction: str
    summary: str
    numbers: Mapping[str, Any]
    tables: Sequence[Table]
    pictures: Sequence[Picture]
    differences: Sequence[str]
    warning: str = ""


def as_json(numbers: Mapping[str, Any]) -> str:
    """One JSON object; what is not finite becomes null, since JSON has no name for it."""
    return json.dumps(_plain(numbers), indent=2, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
