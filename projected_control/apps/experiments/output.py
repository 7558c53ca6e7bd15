"""Files, written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from projected_control.apps.experiments.outcome import Outcome
from projected_control.apps.experiments.progress import Progress, silent
from projected_control.apps.experiments.report_page import page
from projected_control.apps.experiments.style import render
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
    except CannotWrite:
        _remove_empty(missing)
        raise
    try:
        yield path
    finally:
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
