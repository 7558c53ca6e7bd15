"""Draws a film, picture by picture, into a file: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.animation.film import Film
from projected_control.apps.reports.style import BLACK, BLUE, GREEN, GREY, VERMILION
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.with_parent import tied

Image = NDArray[np.uint8]

SIZE, DPI = (4.8, 3.6), 90  # of a picture [inch, dots per inch]
FLAT = 1e-6  # thickness up to which everything lies in one plane, and is drawn there [m]

_VIEW = {"elev": 22, "azim": -58}


def pictures(film: Film, progress: Callable[[float], None] = lambda done: None) -> Iterator[Image]:
    """The film as pictures, height × width × 3."""
    figure = Figure(SIZE, DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    below = 0.25 if film.strip is not None else 0.0
    room = (0.0, below, 1.0, 0.91 - below)
    axes = _flat_axes(film)
    scene = _Flat(figure, room, film, axes) if axes is not None else _Solid(figure, room, film)
    strip = None if film.strip is None else _strip(figure, film)
    figure.text(0.5, 0.94, film.title, ha="center", va="center", fontsize=10)
    for i in film.instants:
        scene.show(i)
        if strip is not None and film.strip is not None:
            strip.set_data(film.times[: i + 1], film.strip.values[: i + 1])
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
        progress((i + 1) / len(film.times))


def _flat_axes(film: Film) -> tuple[int, int] | None:
    """The axes of the plane in which everything lies, right and up; None for an arm in space."""
    points = np.concatenate([film.links.reshape(-1, 3), film.joints.reshape(-1, 3)])
    thin = np.flatnonzero(np.ptp(points, axis=0) < FLAT)
    if not thin.size or film.surfaces:
        return None
    right, up = [axis for axis in range(3) if axis != thin[0]]
    return right, up


class _Flat:
    """A planar mechanism, seen along its normal."""

    def __init__(self, figure: Any, room: Any, film: Film, axes: tuple[int, int]) -> None:
        self._film, self._axes = film, list(axes)
        self._scene = scene = figure.add_axes(room, facecolor="white")
        scene.set_axis_off()
        scene.set_aspect("equal")
        for points in film.world:
            marker = "o" if np.ptp(points) == 0.0 else ""
            scene.plot(*points[:, self._axes].T, color=BLUE, linewidth=1.2, marker=marker)
        (self._trace,) = scene.plot([], [], color=VERMILION, linewidth=1.4, zorder=7)
        self._links = [
            scene.plot([], [], color=BLACK, linewidth=4.5, solid_capstyle="round", zorder=5)[0]
            for _ in range(film.links.shape[1])
        ]
        (self._joints,) = scene.plot([], [], "o", color=GREY, markersize=6.0, zorder=6)
        everything = film.links.reshape(-1, 3)[:, self._axes]
        low, high = everything.min(axis=0), everything.max(axis=0)
        margin = 0.08 * float((high - low).max())
        scene.set_xlim(low[0] - margin, high[0] + margin)
        scene.set_ylim(low[1] - margin, high[1] + margin)

    def show(self, i: int) -> None:
        film, axes = self._film, self._axes
        for line, ends in zip(self._links, film.links[i], strict=True):
            line.set_data(*ends[:, axes].T)
        self._joints.set_data(*film.joints[i][:, axes].T)
        if film.tip is not None:
            self._trace.set_data(*film.tip[: i + 1, axes].T)


class _Solid:
    """An arm in space."""

    def __init__(self, figure: Any, room: Any, film: Film) -> None:
        self._film = film
        scene: Any = figure.add_axes(room, projection="3d", facecolor="white")
        scene.set_axis_off()
        everything = [film.links.reshape(-1, 3)]
        for centre, first, second in film.surfaces:
            corners = [centre + s * first + t * second for s, t in _CORNERS]
            everything.append(np.array(corners))
            scene.plot(*np.array([*corners, corners[0]]).T, color=BLUE, linewidth=0.8)
            grid = np.array([[corners[0], corners[1]], [corners[3], corners[2]]])
            scene.plot_surface(*np.moveaxis(grid, 2, 0), color=BLUE, alpha=0.15, shade=False)
        for points in film.world:
            marker = "o" if np.ptp(points, axis=0).max() == 0.0 else ""
            scene.plot(*points.T, color=BLUE, linewidth=1.0, alpha=0.6, marker=marker)
        (self._trace,) = scene.plot([], [], [], color=VERMILION, linewidth=1.5, zorder=7)
        self._links = [
            scene.plot([], [], [], color=BLACK, linewidth=4.0, solid_capstyle="round", zorder=5)[0]
            for _ in range(film.links.shape[1])
        ]
        (self._joints,) = scene.plot([], [], [], "o", color=GREY, markersize=5.0, zorder=6)
        points = np.concatenate(everything)
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        half = 0.5 * float(np.ptp(points, axis=0).max())
        for axis, name in enumerate("xyz"):
            getattr(scene, f"set_{name}lim")(centre[axis] - half, centre[axis] + half)
        scene.set_box_aspect((1, 1, 1), zoom=1.3)
        scene.view_init(**_VIEW)

    def show(self, i: int) -> None:
        film = self._film
        for line, ends in zip(self._links, film.links[i], strict=True):
            line.set_data_3d(*ends.T)
        self._joints.set_data_3d(*film.joints[i].T)
        if film.tip is not None:
            self._trace.set_data_3d(*film.tip[: i + 1].T)


_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def _strip(figure: Any, film: Film) -> Any:
    """The chart below the arm; the line that grows."""
    strip = film.strip
    assert strip is not None
    below = figure.add_axes((0.14, 0.12, 0.82, 0.13), facecolor="white")
    shown = strip.values if strip.wanted is None else np.concatenate([strip.values, strip.wanted])
    low, high = np.nanpercentile(shown, [1, 99]) if np.isfinite(shown).any() else (0.0, 1.0)
    room = max(0.25 * (high - low), 0.05 * max(abs(low), abs(high)), 1e-6)
    if strip.wanted is not None:
        below.plot(film.times, strip.wanted, color=GREY, linestyle="--", linewidth=1.0)
    (line,) = below.plot([], [], color=GREEN, linewidth=1.2)
    below.set_ylim(low - room, high + room)
    below.set_xlim(film.times[0], max(film.times[-1], film.times[0] + 1e-3))
    below.set_ylabel(strip.label, fontsize=7)
    below.set_xlabel("time (s)", fontsize=7, labelpad=0)
    below.tick_params(labelsize=6, length=2)
    for side in ("top", "right"):
        below.spines[side].set_visible(False)
    return line


COLOURS = 40  # of a GIF: enough for lines, few enough for small files

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
