"""``projected-control bench demo``: the demonstration with its page, beside other work."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from projected_control import extras
from projected_control.apps import bench
from projected_control.apps.console.command import Command, option

ANSWER = 2.0  # how long a gain that was changed in the page may wait for its answer [s]
MOVING = 10.0  # from the command to the first picture of a moving arm, where nothing is beside [s]
LONGEST = 900.0  # how long the demonstration may take in all [s]
CHANGE = "gains.null_damping=3.1"
"""A change that the task's numbers do not feel: its coordinates leave no motion free."""

DESCRIPTION = f"""\
Starts the demonstration as a person does, on a terminal, with busy loops beside it, opens its page
and changes a gain there. The answer may take {ANSWER:g} s; all states have to be answered, the
numbers to be those of the run in process (to 1 %), and the status to be 0. Without loops
(--busy 0) the arm has to move in the page {MOVING:g} s after the command.
"""


class Arguments(Command, help="the demonstration and its page, busy", description=DESCRIPTION):
    seconds: float = option("of simulated time (default: %(default)g)", 10.0, "S")
    busy: int = option("busy loops beside it (default: %(default)s)", 2, "N")
    bound: float = bench.bound(ANSWER, "the answer to a changed gain [s]")
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate
    from projected_control.errors import InvalidValue

    bound = validate.positive("bound", args.bound)
    bench.check_turns(args.seconds, 1, 5.0)
    if not 0 <= args.busy <= 64:
        raise InvalidValue(f"busy must be 0 to 64, got {args.busy}")
    for module in ("rclpy", "aiohttp", "matplotlib"):
        extras.require(module, "projected-control bench demo")
    from projected_control.with_parent import end, started

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for _ in range(args.busy):
            loop = started([sys.executable, "-S", "-c", "while True: pass"])
            stack.callback(end, [loop], {})
        numbers = {"busy": args.busy, **shown(Path(folder), args.seconds), "bound": bound}
    return bench.report(args.json, numbers, table(numbers), missed(numbers, bound))


def shown(folder: Path, seconds: float) -> dict[str, Any]:
    """A demonstration with a client that looks at its page; what both say."""
    from projected_control.with_parent import tied

    near, far = pty.openpty()
    environment = {**os.environ, "BROWSER": "true"}
    environment.pop("DISPLAY", None)
    command = [sys.executable, "-m", "projected_control.apps.cli", "demo"]
    command += ["--seconds", f"{seconds:g}", "--out", str(folder)]
    began = monotonic()
    process = subprocess.Popen(tied(command), stdin=far, stdout=far, stderr=far, env=environment)
    os.close(far)
    said: list[bytes] = []
    reader = Thread(target=_read, args=(near, said), daemon=True)
    reader.start()
    client = None
    try:
        _until(lambda: _address(folder), process, said)
        look = [sys.executable, "-m", "projected_control.apps.bench.view_client"]
        client = subprocess.Popen(
            tied([*look, _address(folder), CHANGE]), stdout=subprocess.PIPE, text=True
        )
        _until(lambda: b"the page stays" in b"".join(said), process, said)
        client.terminate()
        looked = json.loads(client.communicate(timeout=30.0)[0])
        os.write(near, b"\n")
        status = process.wait(120.0)
    finally:
        for each in (client, process):
            if each is not None and each.poll() is None:
                each.kill()
                each.wait()
        reader.join(5.0)
        os.close(near)
    report = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    spent = looked["last"] - looked["first"]
    return {
        "status": status,
        "answered": report["answered"],
        "of": report["of"],
        "off": report["off"],
        "real_time_factor": report["real_time_factor"],
        "moving_after": looked["first"] - began,
        "pictures_per_second": looked["pictures"] / spent if spent > 0.0 else 0.0,
        "gain_answered_after": looked["answered"],
        "refused": looked["refused"],
    }


def _read(terminal: int, said: list[bytes]) -> None:
    with suppress(OSError):  # its process has ended
        while piece := os.read(terminal, 65536):
            said.append(piece)


def _address(folder: Path) -> str:
    file = folder / "view.address"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _until(true: Any, process: subprocess.Popen[bytes], said: list[bytes]) -> None:
    from projected_control.errors import ProjectedControlError

    give_up = monotonic() + LONGEST
    while not true():
        if process.poll() is not None or monotonic() > give_up:
            last = b"".join(said).decode(errors="replace").strip().splitlines()[-1:]
            raise ProjectedControlError(f"the demonstration did not come so far: {last}")
        sleep(0.02)


def missed(numbers: dict[str, Any], bound: float) -> list[str]:
    """The bounds that were missed, in words."""
    sentences = []
    if numbers["status"] != 0:
        sentences.append(f"the demonstration ended with status {numbers['status']}")
    if numbers["answered"] != numbers["of"]:
        sentences.append(f"{numbers['answered']:,} of {numbers['of']:,} states were answered")
    if numbers["off"]:
        sentences.append(f"not as in process: {', '.join(numbers['off'])}")
    after = numbers["gain_answered_after"]
    if after is None or numbers["refused"]:
        sentences.append(f"the gain was not changed: {numbers['refused'] or 'no answer came'}")
    elif after > bound:
        sentences.append(f"a changed gain was answered after {after:.2f} s, {bound:g} are allowed")
    if not numbers["busy"] and numbers["moving_after"] > MOVING:
        sentences.append(
            f"the arm moved {numbers['moving_after']:.1f} s after the command, {MOVING:g} are "
            "allowed where nothing else runs"
        )
    return sentences


def table(numbers: dict[str, Any]) -> str:
    answered = numbers["gain_answered_after"]
    rows = [
        ["busy loops beside", str(numbers["busy"])],
        ["states answered", f"{numbers['answered']:,} of {numbers['of']:,}"],
        ["real-time factor", f"{numbers['real_time_factor']:.2f}"],
        ["first picture of a moving arm after (s)", f"{numbers['moving_after']:.1f}"],
        ["pictures per second", f"{numbers['pictures_per_second']:.1f}"],
        ["a changed gain answered after (s)", "–" if answered is None else f"{answered:.2f}"],
    ]
    return bench.table(("demonstration", ""), rows)
