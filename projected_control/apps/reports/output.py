"""Files, written whole or not at all, and the page: one HTML file with everything in it.

The page reads well in light and dark, on wide and narrow screens.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from projected_control import __version__
from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.errors import ProjectedControlError


class CannotWrite(ProjectedControlError, OSError):
    """A folder or file that cannot be written."""


@contextmanager
def output_folder(path: Path, megabytes: int = 0) -> Iterator[Path]:
    """Make a folder before the work starts; take it away again if the work leaves it empty.

    Args:
        path: Where.
        megabytes: What the work will write at most: refused where the disk has less [MB].
    """
    missing = [p for p in (path, *path.parents) if not p.exists()]
    try:
        _require_room(path, megabytes)
        yield path
    finally:  # also where it is interrupted before the work starts
        _remove_empty(missing)


def _require_room(path: Path, megabytes: int) -> None:
    """Make the folder, and see whether so much may be written to it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            if megabytes:
                os.posix_fallocate(file.fileno(), 0, megabytes * 1_000_000)
    except FileExistsError:
        raise CannotWrite(f"cannot write to {path}: it is a file, not a folder") from None
    except NotADirectoryError:
        raise CannotWrite(f"cannot create {path}: a part of the path is a file") from None
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            reason += f"; {megabytes} MB are needed: free some, or choose another folder (--out)"
        raise CannotWrite(f"cannot write to {path}: {reason}") from None


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # not empty, as it should be
            folder.rmdir()


def write_files(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files under temporary names, then rename them, so that none is ever seen half.

    Raises:
        CannotWrite: Where the disk is full or refuses; no file has then been changed unless the
            very renaming failed.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        for name, content in contents.items():
            handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=folder)
            staged.append((Path(temporary), folder / name))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o666 & ~_umask())
        for part, final in staged:
            part.replace(final)
    except OSError as error:
        raise CannotWrite(f"cannot write to {folder}: {error.strerror or error}") from None
    finally:
        for part, _ in staged:
            part.unlink(missing_ok=True)
    return [final for _, final in staged]


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def publish(
    folder: Path, outcomes: Sequence[Outcome], page_name: str, progress: Progress = silent
) -> list[Path]:
    """Draw all figures and write them, as PNG and SVG, with one report page; return the files."""
    from projected_control.apps.reports.style import render  # with matplotlib

    contents: dict[str, bytes] = {}
    total = sum(len(outcome.pictures) for outcome in outcomes)
    images: dict[str, bytes] = {}
    for outcome in outcomes:
        for picture in outcome.pictures:
            progress("figures", len(images) / total)
            drawn = render(picture.draw)
            contents[f"{picture.name}.png"] = drawn.png
            contents[f"{picture.name}.svg"] = images[picture.name] = drawn.svg
    contents[page_name] = page(outcomes, images).encode()
    progress("figures", 1.0)
    return write_files(folder, contents)


STYLE = """\
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c6166; --paper: #fcfcfb;
  --line: #d9dadc; --band: #f1f2f3; --accent: #0072b2; --wrong: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e3; --soft: #a3a7ab; --paper: #17181a;
  --line: #3a3d41; --band: #212326; --accent: #56b4e9; --wrong: #ff7b6b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 54rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .2rem; padding-top: 1rem;
  border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p { margin: .5rem 0; }
a { color: var(--accent); }
.source, figcaption, .note, footer { color: var(--soft); font-size: .92rem; }
.result { border-left: 4px solid var(--accent); background: var(--band); padding: .6rem .9rem;
  margin: 1rem 0; }
.warning { border: 2px solid var(--wrong); border-left-width: 8px; padding: .6rem .9rem;
  margin: 1rem 0; font-weight: 600; }
td.off { color: var(--wrong); font-weight: 700; }
figure { margin: .5rem 0 1.5rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; padding: .5rem;
  border: 1px solid var(--line); border-radius: 6px; }
sub { line-height: 0; font-size: .75em; }
figcaption { margin-top: .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; min-width: 60%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .8rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: .2rem; }
td:first-child { min-width: 8rem; }
td:not(:first-child) { white-space: nowrap; }
thead th { border-bottom: 2px solid var(--soft); }
li { margin: .4rem 0; }
@media (max-width: 32rem) {
  table { font-size: .85rem; } th, td { padding: .3rem .4rem; }
  td:first-child { min-width: 6rem; } ul { padding-left: 1.2rem; }
  figure { overflow-x: auto; } figure img { width: 30rem; } }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .8rem; }
"""

INTRODUCTION = (
    "What the papers print, what this package computes, and every place where the two differ. "
    "All numbers come from the simulations behind the figures on this page."
)


SUBSCRIPT = re.compile(r"(?<![\w.])([A-Za-zλ])_([A-Za-z])(?!\w)")
"""A letter with a letter below it, as in G_P or λ_d."""


def page(outcomes: Sequence[Outcome], images: Mapping[str, bytes]) -> str:
    """A whole page.

    Args:
        outcomes: What to report, in order.
        images: SVG of every picture, by its name.
    """
    title = outcomes[0].title if len(outcomes) == 1 else "The papers, reproduced"
    contents = ""
    if len(outcomes) > 1:
        links = "".join(f'<li><a href="#{o.name}">{escape(o.title)}</a></li>' for o in outcomes)
        contents = f"<p>{INTRODUCTION}</p>\n<nav><ul>{links}</ul></nav>\n"
    sections = "\n".join(_section(o, images, alone=len(outcomes) == 1) for o in outcomes)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{contents}{sections}\n"
        f"<footer>projected_control {escape(__version__)}</footer>\n</body>\n</html>\n"
    )


def _text(plain: str) -> str:
    """A sentence as HTML."""
    return SUBSCRIPT.sub(r"\1<sub>\2</sub>", escape(plain))


def _section(outcome: Outcome, images: Mapping[str, bytes], alone: bool) -> str:
    heading = "" if alone else f'<h2 id="{outcome.name}">{escape(outcome.title)}</h2>\n'
    warning = outcome.warning
    parts = [
        heading + (f'<p class="warning" role="alert">{_text(warning)}</p>\n' if warning else ""),
        f'<p class="source">{escape(outcome.source)}</p>',
        f"<p>{_text(outcome.introduction)}</p>",
        f'<p class="result">{_text(outcome.summary)}</p>',
        *(_table(table) for table in outcome.tables),
        *(_figure(picture, images[picture.name]) for picture in outcome.pictures),
    ]
    if outcome.differences:
        items = "\n".join(f"<li>{_text(text)}</li>" for text in outcome.differences)
        parts.append(f"<h3>Where print and result differ</h3>\n<ul>\n{items}\n</ul>")
    return "<section>\n" + "\n".join(parts) + "\n</section>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "\n".join(f"<tr>{_cells(row, i in table.off)}</tr>" for i, row in enumerate(table.rows))
    note = f'\n<p class="note">{_text(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{escape(table.title)}</h3>\n<div class="scroll"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>{note}"
    )


def _cells(row: Sequence[str], off: bool) -> str:
    kinds = [""] * (len(row) - 1) + [' class="off"' if off else ""]
    return "".join(f"<td{kind}>{_text(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))


def _figure(picture: Picture, svg: bytes) -> str:
    source = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    return (
        f"<h3>{escape(picture.title)}</h3>\n<figure>\n"
        f'<img src="{source}" alt="{escape(picture.title, quote=True)}">\n'
        f"<figcaption>{_text(picture.caption)}</figcaption>\n</figure>"
    )
