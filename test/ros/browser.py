"""A real browser, and the page in it: what the tests of the live page need."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

PATIENCE = 90.0
"""How long something may take to show [s]. Only a failing test ever waits that long."""

RESULTS = Path(os.environ.get("PROJECTED_CONTROL_RESULTS", "build/test_results"))
"""Where screenshots are kept."""

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-gl=angle",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing",
    "--disable-gpu-rasterization", "--disable-accelerated-2d-canvas",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--no-default-browser-check", "--window-size=1440,900",
)  # fmt: skip
"""Without a screen, without a graphics card, and without talking to anybody.

Only the arm is drawn by the imitated graphics card: all else takes it ten times as long as plain
software, and browsers that Debian makes use it unless told otherwise.
"""


def missing() -> str:
    """Why there is no browser to test with; empty where there is one."""
    try:
        import aiohttp  # noqa: F401
        import selenium  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    if not _chromium():
        return "chromium is not installed (Debian: apt install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed (Debian: apt install chromium-driver)"
    return ""


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), "")


class Server:
    """``projected-control view`` as a process.

    Args:
        folder: For its address and its log.
        environment: Complete.
        arguments: More of them.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._address, self._log = folder / "address", folder / "view.log"
        command = [sys.executable, "-m", "projected_control.apps.cli", "view", "--no-browser"]
        command += ["--port", "0", "--address-file", str(self._address), *arguments]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=dict(environment), stdout=log, stderr=subprocess.STDOUT
            )
        give_up = monotonic() + PATIENCE
        while not (self._address.is_file() and self._address.read_text().endswith("\n")):
            assert self._process.poll() is None, self.log
            assert monotonic() < give_up, f"no address: {self.log}"
            sleep(0.02)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> str:
        """With its token."""
        return self._address.read_text().strip()

    @property
    def origin(self) -> str:
        return self.address.partition("/#")[0]

    @property
    def token(self) -> str:
        return self.address.partition("/#")[2]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def end(self) -> int:
        """Ask it to end; its exit status."""
        self._process.terminate()
        return self._process.wait(20.0)


class Browser:
    """Chromium with the page open."""

    def __init__(self) -> None:
        from selenium.webdriver import Chrome
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = _chromium()
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.page_load_strategy = "eager"
        self.driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(PATIENCE)

    def close(self) -> None:
        self.driver.quit()

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a piece of JavaScript."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, what: str = "", seconds: float = PATIENCE) -> Any:
        """Wait until an expression is true; its value."""
        give_up = monotonic() + seconds
        while True:
            value = self.run(f"return ({script});")
            if value:
                return value
            assert monotonic() < give_up, f"waited for {what or script}; {self.scene()}"
            sleep(0.05)

    def scene(self) -> str:
        """What there is to see, for errors."""
        text = self.run("return document.body.innerText")
        return f"the page says:\n{text[:3000]}\nthe console: {self.driver.get_log('browser')}"

    def find(self, selector: str) -> Any:
        """An element, scrolled into sight."""
        from selenium.webdriver.common.by import By

        self.until(f"document.querySelector({json.dumps(selector)})", selector)
        found = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.run(
            "for (let e = arguments[0].parentElement; e; e = e.parentElement) "
            "if (e.tagName === 'DETAILS') e.open = true;"
            "arguments[0].scrollIntoView({block: 'center'})",
            found,
        )
        return found

    def find_ready(self, selector: str) -> Any:
        """An element that can be used: enabled, and nothing lies over it."""
        self.until(f"!document.querySelector({json.dumps(selector)})?.disabled", selector)
        found = self.find(selector)
        self.until(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}), "
            "b = e.getBoundingClientRect(); return e.contains(document.elementFromPoint("
            "b.x + b.width / 2, b.y + b.height / 2)) })()",
            f"{selector} to be in sight",
        )
        return found

    def click(self, selector: str) -> None:
        self.find_ready(selector).click()

    def slide(self, selector: str, share: float) -> None:
        """Move a slider as a hand does: to a share of its way, and let it go."""
        self.run(
            "const s = arguments[0]; s.value = Number(s.max) * arguments[1];"
            "s.dispatchEvent(new Event('input', {bubbles: true}));"
            "s.dispatchEvent(new Event('change', {bubbles: true}));",
            self.find(selector),
            share,
        )

    def enter(self, selector: str, text: str) -> None:
        """Write into a field, and press Enter."""
        from selenium.webdriver.common.keys import Keys

        field = self.find_ready(selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text, Keys.ENTER)

    def key(self, key: str, control: bool = False) -> None:
        """Press a key with the page itself in focus, and Ctrl with it if so asked."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        self.run("document.activeElement.blur()")
        actions = ActionChains(self.driver)
        if control:
            actions.key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()
        else:
            actions.send_keys(key).perform()

    def size(self, width: int, height: int) -> None:
        """The window; narrow ones are phones."""
        measures = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", measures)

    def theme(self, name: str) -> None:
        """What the system prefers: light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def freeze(self, frozen: bool) -> None:
        """Hold charts and picture still, or let them go on."""
        self.run(
            "if (Boolean(page.state.frozen) !== arguments[0]) "
            "document.getElementById('freeze').click()",
            frozen,
        )

    def keep(self, name: str) -> Path:
        """Keep a screenshot with the test results; charts and picture stand still meanwhile."""
        folder = RESULTS / "view"
        folder.mkdir(parents=True, exist_ok=True)
        frozen = self.run("return Boolean(page.state.frozen)")
        self.freeze(True)
        sleep(0.2)
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        self.freeze(frozen)
        path = folder / f"{name}.png"
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    def errors(self) -> list[str]:
        """What the console complains of, but for the websockets of servers that were ended."""
        lines = self.driver.get_log("browser")
        return [
            json.dumps(line)
            for line in lines
            if line["level"] == "SEVERE" and "WebSocket" not in line["message"]
        ]


def require_browser() -> Callable[[Any], Any]:
    """Skips what needs a browser where there is none."""
    reason = missing()
    return pytest.mark.skipif(bool(reason), reason=reason)
