"""Makes docs/images/view.png: ``python test/ros/view_picture.py [FILE]``.

The live page beside the demonstration of a Panda that wipes a table, after some strokes of it. It
needs the extra `arms` (or its folder in PROJECTED_CONTROL_ARMS), chromium and chromedriver.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from browser import Browser, missing
from terminal import PATIENCE, Terminal

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "view.png"
SHOWN_SECONDS = 15.0  # how much of the wiping is on the charts [simulated s]

CHARTED = "(page.charts.rows?.at(-1)?.[0] ?? 0) - (page.charts.rows?.[0]?.[0] ?? 0)"


def main() -> int:
    image = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE
    if why := missing():
        print(f"no picture: {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--task", "wipe"]
        command += ["--seconds", "120", "--out", f"{folder}/out"]
        terminal = Terminal(command, {**os.environ, "DISPLAY": ""})
        browser = Browser()
        try:
            terminal.until("/#")
            browser.size(1440, 900)
            browser.theme("light")
            browser.driver.get(Path(folder, "out", "view.address").read_text().strip())
            browser.until(f"{CHARTED} > {SHOWN_SECONDS}", "the charts to be full", PATIENCE)
            shutil.copy(browser.keep("for_the_documentation"), image)
        finally:
            browser.close()
            terminal.close()
    print(image)
    return 0


if __name__ == "__main__":
    sys.exit(main())
