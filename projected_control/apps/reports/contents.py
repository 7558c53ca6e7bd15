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
    """A figure that is drawn when it is needed."""

    name: str  # name of its files, without extension
    title: str  # above it on the page
    caption: str  # what is to be seen in it, in a few sentences
    draw: Callable[[], Figure]  # makes it, in the style of `style.canvas`


@dataclass(frozen=True)
class Table:
    """A table of text."""

    title: str  # above it
    header: Sequence[str]  # names of the columns
    rows: Sequence[Sequence[str]]  # cells; the first of a row names it
    note: str = ""  # below it
    off: Collection[int] = ()  # numbers of the rows whose last cell is not what it should be

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
    """Result of an experiment."""

    name: str  # as on the command line
    title: str  # one line
    source: str  # where in which paper
    introduction: str  # what is simulated, for a reader without the paper
    summary: str  # the result in one or two sentences
    # For ``--json``: numbers, texts, None, and lists and dictionaries of them.
    numbers: Mapping[str, Any]
    tables: Sequence[Table]  # printed value beside ours
    pictures: Sequence[Picture]  # figures
    differences: Sequence[str]  # every place where print and result differ, and why
    warning: str = ""  # what is wrong with it, above everything else; empty for nothing


def as_json(numbers: Mapping[str, Any]) -> str:
    """One JSON object; what is not finite becomes null, since JSON has no name for it."""
    return json.dumps(plain(numbers), indent=2, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries alone, as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
