"""Pictures into a file: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.with_parent import tied

Image = NDArray[np.uint8]

COLOURS = 40
"""Of a GIF: enough for lines, few enough for small files."""

KINDS = (".gif", ".mp4")


def require_kind(path: Path) -> None:
    """Raise where a file cannot be made; before the work begins."""
    if path.suffix.lower() not in KINDS:
        raise InvalidValue(f"a moving picture is a file {' or '.join(KINDS)}, got {path.name!r}")
    if path.suffix.lower() == ".mp4":
        _ffmpeg()


def encode(path: Path, frames: Iterable[Image], rate: int) -> bytes:
    """The content of a file.

    Args:
        path: Whose ending says what it is.
        frames: Height × width × 3 each, in even numbers.
        rate: Pictures per second.
    """
    require_kind(path)
    return _gif(frames, rate) if path.suffix.lower() == ".gif" else _mp4(frames, rate)


def _gif(frames: Iterable[Image], rate: int) -> bytes:
    from PIL import Image as Pillow

    pictures = [Pillow.fromarray(frame) for frame in frames]
    palette = pictures[len(pictures) // 2].quantize(COLOURS)
    images = [picture.quantize(palette=palette, dither=Pillow.Dither.NONE) for picture in pictures]
    content = BytesIO()
    options: dict[str, Any] = {"save_all": True, "append_images": images[1:], "loop": 0}
    images[0].save(content, "GIF", duration=1000 // rate, optimize=True, **options)
    return content.getvalue()


def _mp4(frames: Iterable[Image], rate: int) -> bytes:
    import tempfile

    pictures = list(frames)
    height, width = pictures[0].shape[:2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"
        command = [_ffmpeg(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        command += ["-s", f"{width}x{height}", "-r", str(rate), "-i", "-", "-an"]
        command += ["-vcodec", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
        raw = b"".join(picture.tobytes() for picture in pictures)
        done = subprocess.run(
            tied([*command, str(file)]), input=raw, capture_output=True, check=False
        )
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip()
            raise ProjectedControlError(f"ffmpeg could not make the film: {reason}")
        return file.read_bytes()


def _ffmpeg() -> str:
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise ProjectedControlError(
            "an MP4 needs ffmpeg, which was not found: apt install ffmpeg, or pip install "
            "imageio-ffmpeg; a .gif needs nothing"
        ) from None
