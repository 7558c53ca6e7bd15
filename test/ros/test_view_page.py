"""The live page in a real browser, beside real nodes: what it shows, what it sends, what not."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from browser import Browser, Server, require_browser
from fleet import STEADY, THREE_LINK, Fleet
from quiet import within
from sensor_msgs.msg import JointState

from projected_control.settings.nodes import ARM, FORCE, MOTION

pytestmark = [pytest.mark.browser, require_browser()]

SETTINGS = {
    **THREE_LINK,
    **STEADY,
    "limits.lost_time": 3.0,
    "state_rate": 100.0,
    "friction.viscous": [0.3],  # it comes to rest, also where a busy computer answers late
}
NODE = f"/{FORCE}"
STIFFNESS = '[data-parameter="gains.stiffness"]'
MAY_BE_REAL = "document.getElementById('mode').innerText.includes('may be a real arm')"
RECENT = (
    "const r = page.charts.rows.slice(-{rows}), at = {names}.map((n) => page.charts.index?.get(n)),"
    "v = r.map((x) => Math.hypot(...at.map((i) => x[i]))); if (v.length < {rows}) return null;"
)
"""The size of a quantity over the last states."""


def recent(rows: int, what: str, *names: str) -> str:
    """An expression of the last values `v` of a quantity's size; null while there are too few."""
    return f"(() => {{ {RECENT.format(rows=rows, names=list(names))} return {what} }})()"


@pytest.fixture(scope="module")
def fleet_of_one(shared_fleet: Fleet) -> Fleet:
    """A simulated arm and its controller."""
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    shared_fleet.until_state(FORCE, "active")
    return shared_fleet


@pytest.fixture(scope="module")
def server(fleet_of_one: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("view")
    environment = {**fleet_of_one.environment, "XDG_CONFIG_HOME": str(folder / "config")}
    made = Server(folder, environment, "--control")
    yield made
    assert made.end() == 0


@pytest.fixture(scope="module")
def chromium(server: Server) -> Iterator[Browser]:
    made = Browser()
    made.size(1440, 900)
    yield made
    made.close()


@pytest.fixture
def before(fleet_of_one: Fleet) -> dict[str, dict[str, Any]]:
    """All parameters as they are at the beginning; the controller is active."""
    if "parameters" not in fleet_of_one.__dict__:
        fleet_of_one.parameters = {n: fleet_of_one.all_parameters(n) for n in (FORCE, ARM)}
    return fleet_of_one.parameters


@pytest.fixture
def fleet(fleet_of_one: Fleet, before: dict[str, dict[str, Any]]) -> Fleet:
    for node, values in before.items():
        if changed := fleet_of_one.changed_parameters(node, values):
            fleet_of_one.put(node, changed)
    if fleet_of_one.state(FORCE) != "active":
        assert fleet_of_one.trigger(f"/{ARM}/reset").success
        fleet_of_one.activate(FORCE)
    return fleet_of_one


@pytest.fixture
def browser(fleet: Fleet, chromium: Browser, server: Server) -> Iterator[Browser]:
    """The page, newly opened, with everything on it."""
    open_page(chromium, server)
    chromium.errors()  # forgets those of the test before
    yield chromium
    assert chromium.errors() == []


@pytest.fixture
def still(browser: Browser) -> Browser:
    """The page with charts and picture held still: without a graphics card they take most of it."""
    browser.freeze(True)
    return browser


def open_page(browser: Browser, server: Server) -> None:
    browser.driver.get("about:blank")
    browser.driver.get(server.address)
    browser.until(f"document.querySelector('{STIFFNESS}') && page.scene.frames > 0", "the page")
    browser.until(
        "document.getElementById('state').textContent === 'active' && "
        "document.getElementById('mode').innerText.includes('simulated')"
    )


@pytest.mark.quiet
def test_it_is_there_within_two_seconds(fleet: Fleet, chromium: Browser, server: Server) -> None:
    """From the address to the drawn arm."""
    chromium.driver.get("about:blank")
    began = monotonic()
    chromium.driver.get(server.address)
    chromium.until("window.page && page.scene.frames > 0", "a picture")
    within(2.0, monotonic() - began, "the page")


PIXELS = """
const s = page.scene, gl = s.pencil.gl; s.draw();
const p = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, p);
const drawn = {}; let sum = 0;
for (let i = 0; i < p.length; i += 4) if (p[i + 3] > 200) {
  drawn[(p[i] >> 4) * 256 + (p[i + 1] >> 4) * 16 + (p[i + 2] >> 4)] = true;
  sum = (sum * 31 + p[i] + i) % 1e9;
}
return [Object.keys(drawn).length, sum, s.picture.trace];
"""


def test_it_draws_the_moving_arm(browser: Browser) -> None:
    """Many colours on the canvas, other ones a moment later, and the tip on its slider."""
    colours, first, tip = browser.run(PIXELS)
    assert colours > 20
    assert tip[1] == pytest.approx(-0.27, abs=1e-3)
    browser.until(f"Math.abs(page.scene.picture.trace[0] - {tip[0]}) > 0.02", "the tip to move")
    _, second, there = browser.run(PIXELS)
    assert second != first
    assert there[1] == pytest.approx(-0.27, abs=1e-3)


def test_the_charts_show_what_the_controller_says(browser: Browser, fleet: Fleet) -> None:
    state = fleet.record(JointState, f"{FORCE}/state")
    message = fleet.more(state, 1)[-1]
    fleet.forget(state)
    names = {*message.name, "torque_norm/motion"}  # which the page works out
    assert set(browser.run("return page.charts.names")) == names
    titles = browser.run("return [...document.querySelectorAll('.chart h2')].map(h => h.innerText)")
    for title, words in zip(
        titles,
        (("Tracking error", "tip.x"), ("Constraint force", "λ", "λ_d"),
         ("Torque norm", "IDC"), ("Path", "rate", "motion"),
         ("What binds", "joint_1"), ("Loop", "period", "latency")),
        strict=True,
    ):  # fmt: skip
        assert all(word in title for word in words)
    assert browser.run("return page.charts.latest('loop/period')") == pytest.approx(0.01, rel=2.0)


def test_charts_have_labels_lanes_zoom_and_files(browser: Browser, fleet: Fleet) -> None:
    """Three labels on every axis; what differs in unit or size is apart; the wheel zooms."""
    browser.until("page.charts.rows.length > 300 && page.charts.charts.every((c) => c.labels)")
    labels = browser.run("return page.charts.charts.map((chart) => chart.labels)")
    assert min(min(each) for each in labels) >= 3
    assert browser.run("return page.charts.charts[0].lanes.length") == 2  # mm and mrad
    assert browser.run("return page.charts.charts[1].lanes") == [[0, 1]]  # λ and λ_d together
    before = browser.run("return page.charts.span")
    browser.run(
        "const canvas = document.querySelector('.chart canvas');"
        "const box = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, clientX: box.left + 80 }))"
    )
    assert browser.run("return page.charts.span") == pytest.approx(0.8 * before)
    assert browser.run("return page.charts.end !== null")
    header, *lines = browser.run("return page.charts.csv()").splitlines()
    assert header.startswith('"time","')
    assert len(lines) == browser.run("return page.charts.rowsInSight().length")
    assert all(line.count(",") == header.count(",") for line in lines)
    size = "const { width, height } = page.charts.png(); return [width, height]"
    assert min(browser.run(size)) > 200
    browser.run("page.charts.show(300, null)")
    assert browser.run("return page.charts.inSight().reduce((a, b) => b - a)") == 300
    browser.run("page.charts.show(15, null)")


def test_a_slider_changes_the_gain_and_the_response(browser: Browser, fleet: Fleet) -> None:
    """Pushed with 0.5 N·m the arm is off by d/K: with four times the gain, by a quarter.

    In which coordinate depends on where it is held, so that both count. The gains are low: at
    100 Hz, the usual ones leave no room for the delays of a busy computer.
    """
    fleet.put(FORCE, {"reference.kind": "hold", "gains.stiffness": [16.0], "gains.damping": [10.0]})
    fleet.put(ARM, {"push.effort": [0.5, 0.0, 0.0]})
    field = f"document.querySelector('{STIFFNESS} input[type=number]')"
    browser.until(f"{field}.value === '16'")
    errors = ("tip.x/error", "tip.angle/error")
    mean = recent(50, "v.reduce((a, b) => a + b) / v.length", *errors)
    steady = recent(100, "(Math.max(...v) - Math.min(...v)) < 0.1 * v[0]", *errors)
    browser.until(f"{steady} && {mean} > 0.01", "the push to show")
    soft = browser.run(f"return {mean}")
    browser.slide(f"{STIFFNESS} input[type=range]", 0.8)
    fleet.until(lambda: fleet.get(FORCE, ["gains.stiffness"])[0][0] > 60.0, "the node's gain")
    (stiffness,) = fleet.get(FORCE, ["gains.stiffness"])[0]
    browser.until(f"Math.abs({field}.value - {stiffness}) < 1e-6", "the same number on the page")
    browser.until(f"{mean} < {0.5 * soft}", "a smaller error")
    assert browser.run("return page.charts.marks.length") == 1


def test_a_change_shows_its_blend(still: Browser, fleet: Fleet) -> None:
    fleet.put(FORCE, {"gains.blend_time": 0.5})
    still.until("page.panel.values.get('/force_controller')['gains.blend_time'] === 0.5")
    still.run(
        "window.bars = []; new MutationObserver((list) => list.forEach((m) => m.addedNodes.forEach("
        "(n) => n.className === 'blend' && bars.push(n.title)))).observe(arguments[0],"
        "{childList: true})",
        still.find(STIFFNESS),
    )
    still.enter(f"{STIFFNESS} input[type=number]", "150")
    assert still.until("bars.length && bars", "the bar") == ["comes into force over 0.5 s"]
    still.until(f"!document.querySelector('{STIFFNESS} .blend')", "the end of the bar")


def test_a_refused_value_says_why_and_springs_back(still: Browser, fleet: Fleet) -> None:
    field = '[data-parameter="force.proportional"]'
    old = fleet.get(FORCE, ["force.proportional"])[0]
    still.enter(f"{field} input[type=number]", "5000")
    shown = f"document.querySelector('{field} .refusal')"
    reason = still.until(f"!{shown}.hidden && {shown}.textContent", "the reason")
    assert "the force loop would diverge" in reason
    value = still.run(f"return document.querySelector('{field} input[type=number]').value")
    assert float(value) == old == fleet.get(FORCE, ["force.proportional"])[0]
    still.keep("refused")


def test_changes_of_others_show(still: Browser, fleet: Fleet) -> None:
    fleet.put(FORCE, {"gains.stiffness": [123.0]})
    still.until(f"document.querySelector('{STIFFNESS} input[type=number]').value === '123'")


def test_undo(still: Browser, fleet: Fleet) -> None:
    still.enter(f"{STIFFNESS} input[type=number]", "140")
    fleet.until(lambda: fleet.get(FORCE, ["gains.stiffness"]) == [[140.0]], "140")
    still.until("!document.getElementById('undo').disabled", "the button")
    still.key("z", control=True)
    fleet.until(lambda: fleet.get(FORCE, ["gains.stiffness"]) == [[100.0]], "100 again")


def test_presets_are_saved_under_a_name_and_loaded(still: Browser, fleet: Fleet) -> None:
    fleet.put(FORCE, {"gains.stiffness": [111.0]})
    still.until("page.panel.values.get('/force_controller')['gains.stiffness'][0] === 111")
    still.enter("#preset-name", "mine")
    still.click("#save")
    still.until("[...document.querySelectorAll('#preset option')].some(o => o.value === 'mine')")
    fleet.put(FORCE, {"gains.stiffness": [99.0]})
    still.run("document.getElementById('preset').value = 'mine'")
    still.click("#load")
    fleet.until(lambda: fleet.get(FORCE, ["gains.stiffness"]) == [[111.0]], "the saved gain")


def test_stop_and_start(still: Browser, fleet: Fleet) -> None:
    from selenium.webdriver.common.keys import Keys

    still.click("#stop")
    fleet.until_state(FORCE, "inactive")
    still.until("""document.querySelector('[data-transition="activate"]')""", "the button")
    still.click('[data-transition="activate"]')
    fleet.until_state(FORCE, "active")
    still.until("document.getElementById('state').textContent === 'active'")
    still.key(Keys.ESCAPE)
    fleet.until_state(FORCE, "inactive")


def test_a_reset_that_a_message_asks_for_is_a_button_in_it(still: Browser, fleet: Fleet) -> None:
    """An arm out of its range is refused; the message that says so has the button that helps."""
    before = fleet.get(FORCE, ["limits.lower", "limits.upper"])
    assert fleet.change(FORCE, "deactivate")
    fleet.put(FORCE, {"limits.lower": [3.0, 3.0, 3.0], "limits.upper": [4.0, 4.0, 4.0]})
    still.until("document.querySelector('[data-transition=activate]')", "Activate")
    still.run("document.querySelector('[data-transition=activate]').click()")
    still.until("document.querySelector('#toasts .bad .remedy')", "the button")
    still.run("document.querySelector('#toasts .bad .remedy').click()")
    still.until("document.getElementById('toasts').innerText.includes('at its start again')")
    fleet.put(FORCE, dict(zip(["limits.lower", "limits.upper"], before, strict=True)))
    assert fleet.change(FORCE, "activate")


def test_dragging_the_reference_and_the_force(browser: Browser, fleet: Fleet) -> None:
    """The green ball is dragged 60 pixels to the right, the end of the wanted force upwards.

    No force is wanted at first: its handle lies beside the ball all the same.
    """
    from selenium.webdriver.common.action_chains import ActionChains

    fleet.put(FORCE, {"reference.kind": "hold"})
    browser.until("document.getElementById('resume')?.textContent === 'Follow hold again'")
    still = recent(30, "Math.max(...v) - Math.min(...v) < 1e-6", "tip.x/desired")
    browser.until(still, "the reference to rest")
    old = browser.run("return page.charts.latest('tip.x/desired')")
    canvas = browser.find("#scene")

    def drag(kind: str, right: int, up: int) -> None:
        x, y = browser.run(
            "const s = page.scene, p = s.onScreen(s.handles.find(h => h.kind === arguments[0]).at);"
            "return [p[0] - s.canvas.clientWidth / 2, p[1] - s.canvas.clientHeight / 2]",
            kind,
        )
        actions = ActionChains(browser.driver, duration=20)
        actions.move_to_element_with_offset(canvas, round(x), round(y)).click_and_hold()
        actions.move_by_offset(right, -up).release().perform()

    apart = browser.run(
        "const [a, b] = page.scene.handles.map(x => page.scene.onScreen(x.at));"
        "return Math.hypot(a[0] - b[0], a[1] - b[1])"
    )
    assert apart > 25, "one handle lies on the other"
    drag("grip", 60, 0)
    browser.until(f"page.charts.latest('tip.x/desired') > {old} + 0.02", "the reference to move")
    assert fleet.get(FORCE, ["force.reference"]) == [[0.0]]
    browser.until(still, "the reference to rest")
    drag("force", 0, 40)
    fleet.until(lambda: fleet.get(FORCE, ["force.reference"])[0] != [0.0], "another λ_d")
    browser.click("#resume")


def test_a_fault_turns_a_light_red(still: Browser, fleet: Fleet) -> None:
    """The arm falls silent: the controller's light is red, and first."""
    still.until("document.querySelector('.light')?.dataset.level === '0'", "green lights")
    still.run(
        "const s = arguments[0]; s.value = 'silent'; s.dispatchEvent(new Event('change'))",
        still.find('#plant [data-parameter="fault"] select'),
    )
    still.until(
        "(() => { const l = document.querySelector('.light'); "
        f"return l.dataset.level === '2' && l.innerText.includes('{FORCE}') }})()",
        "a red light",
    )
    assert "1 red" in still.find("#lights summary").text
    still.keep("red")


def test_the_controller_restarts_and_the_page_goes_on(browser: Browser, fleet: Fleet) -> None:
    controller = next(p for p in reversed(fleet.processes) if p.kind == FORCE)
    controller.kill()
    fleet.trigger(f"/{ARM}/reset")
    fleet.start(FORCE, SETTINGS, gains__stiffness=[77.0])
    browser.until(
        f"document.querySelector('{STIFFNESS} input[type=number]')?.value === '77'", "the new one"
    )
    frames = browser.run("return page.scene.frames")
    browser.until(
        f"page.scene.frames > {frames} + 5 && "
        "document.getElementById('state').innerText === 'active'"
    )
    fleet.put(FORCE, {"gains.stiffness": [78.0]})
    browser.until(f"document.querySelector('{STIFFNESS} input[type=number]').value === '78'")


def test_controls_stay_where_they_are_while_things_change(still: Browser, fleet: Fleet) -> None:
    """What a user is about to click is brought up to date, never replaced."""
    still.run(
        "window.kept = [...document.querySelectorAll('#parameters input, #parameters select, "
        "#targets input, #resume, #presets button, #presets select, #lights button, "
        "#controllers button, #plant input, #plant button')]"
    )
    assert still.run("return kept.length") > 60
    fleet.put(FORCE, {"gains.stiffness": [123.0], "force.reference": [2.0]})
    fleet.put(ARM, {"push.effort": [0.1, 0.0, 0.0]})
    still.until(f"document.querySelector('{STIFFNESS} input[type=number]').value === '123'")
    driver = fleet.node.create_publisher(JointState, "joint_states", 1)
    try:
        still.until(f"{MAY_BE_REAL} && document.getElementById('plant').hidden")
    finally:
        fleet.node.destroy_publisher(driver)
    still.until(f"!{MAY_BE_REAL} && !document.getElementById('plant').hidden")
    assert still.run("return kept.filter((each) => !each.isConnected).length") == 0


def test_it_asks_before_it_sends_to_an_arm_that_may_be_real(still: Browser, fleet: Fleet) -> None:
    """Another node publishes joint states too: nothing is certain any more."""
    driver = fleet.node.create_publisher(JointState, "joint_states", 1)
    try:
        still.until(MAY_BE_REAL)
        still.enter(f"{STIFFNESS} input[type=number]", "160")
        still.until("document.getElementById('question').open", "the question")
        assert "may move a real arm" in still.find("#question-text").text
        still.keep("question")
        assert (
            still.run(  # nothing covers the stop button
                "const p = document.getElementById('stop').getBoundingClientRect();"
                "return document.elementFromPoint(p.x + p.width / 2, p.y + p.height / 2).id"
            )
            == "stop"
        )
        still.click("#question button[value=no]")
        still.until(f"document.querySelector('{STIFFNESS} input[type=number]').value === '100'")
        assert fleet.get(FORCE, ["gains.stiffness"]) == [[100.0]]
        still.enter(f"{STIFFNESS} input[type=number]", "160")
        still.until("document.getElementById('question').open", "the question")
        still.click("#question button[value=yes]")
        fleet.until(lambda: fleet.get(FORCE, ["gains.stiffness"]) == [[160.0]], "160")
    finally:
        fleet.node.destroy_publisher(driver)


def test_without_control_it_sends_nothing(fleet: Fleet, chromium: Browser, tmp_path: Path) -> None:
    """Neither by hand nor by a script that goes round the page."""
    server = Server(tmp_path, fleet.environment)
    try:
        open_page(chromium, server)
        assert "read-only" in chromium.find("#mode").text
        for selector in ("#stop", "#undo", "#load", f"{STIFFNESS} input[type=range]"):
            assert not chromium.find(selector).is_enabled()
        answer = chromium.driver.execute_async_script(
            "const done = arguments[0]; page.link.ask({ask: 'set', controller: '/force_controller',"
            "node: '/force_controller', values: {'gains.stiffness': [200]}, confirmed: true})"
            ".then(done)"
        )
        assert (answer["ok"], "--control" in answer["reason"]) == (False, True)
        assert fleet.get(FORCE, ["gains.stiffness"]) == [[100.0]]
        chromium.keep("read_only")
    finally:
        assert server.end() == 0
    assert "read-only" in server.log


def test_several_controllers(still: Browser, fleet: Fleet) -> None:
    """A second one appears by itself, can be chosen, and its light is there when it is killed."""
    second = fleet.start(MOTION, SETTINGS, name="second", autostart=False)
    button = (
        "[...document.querySelectorAll('#controllers button')].find(b => b.innerText === 'second')"
    )
    still.until(button, "the second controller")
    assert still.find("#stop").text.upper() == "STOP ALL"
    still.key("2")
    still.until("page.state.watched === '/second'")
    still.until("document.getElementById('state')?.textContent === 'unconfigured'")
    still.until("page.panel.description?.id === '/second'")
    still.key("1")
    still.until("page.state.watched === '/force_controller' && page.panel.description.coordinates")
    second.end()


@pytest.mark.parametrize(
    ("name", "theme", "size"),
    [
        ("light", "light", (1440, 900)),
        ("dark", "dark", (1440, 900)),
        ("phone", "light", (390, 844)),
    ],
)
def test_it_looks_right(browser: Browser, name: str, theme: str, size: tuple[int, int]) -> None:
    """Kept as pictures; nothing is wider than the window, and stop is in sight wherever one is."""
    browser.theme(theme)
    browser.size(*size)
    try:
        browser.until("page.charts.rows.length > 300", "some history")
        browser.run("page.scene.fit()")
        browser.until(f"document.documentElement.dataset.theme === '{theme}'", theme)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        browser.keep(name)
        browser.run("scrollTo(0, document.body.scrollHeight)")
        stop = browser.run(
            "return document.getElementById('stop').getBoundingClientRect().toJSON()"
        )
        assert 0 <= stop["top"] < size[1]
        assert stop["left"] >= 0
        assert stop["right"] <= size[0]
        browser.run("scrollTo(0, 0)")
    finally:
        browser.theme("light")
        browser.size(1440, 900)
