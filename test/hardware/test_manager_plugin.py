"""The plugins in the real controller manager: torques, tracking, times, and who may command."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip(
    "controller_manager_msgs", reason="ros2_control is not installed (it is not on PyPI)"
)

from loops import LAWS, PRESS, build, opened
from manager import NAME, Manager
from rclpy.qos import qos_profile_sensor_data
from test_hardware_launch import own_domain  # noqa: F401

from projected_control import Runner
from projected_control.control.events import Action
from projected_control.control.references import Constant, Waypoints
from projected_control.control.state import RawState
from projected_control.native.plugin_build import plugin_there
from projected_control.native.session import ChangeMessages
from projected_control.native.updates import Phase, Report, Section, Status, Update, encode

pytestmark = [
    pytest.mark.skipif(bool(plugin_there()), reason=plugin_there() or "it is there"),
    pytest.mark.usefixtures("own_domain"),
]

SECONDS, LONG = 5.0, 60.0


@contextmanager
def managed(folder: Path, loop, hardware, **options) -> Iterator[Manager]:
    manager = Manager(folder, loop, hardware, **options)
    try:
        manager.open()
        yield manager
    finally:
        manager.close()


class Recorded:
    """Rows of the flight recorder by name."""

    def __init__(self, rows: np.ndarray, n: int) -> None:
        self.stamp, self.age = rows[:, 0], rows[:, 1]
        ends = np.cumsum([2, n, n, 6, n])
        self.q, self.v, self.wrench, self.effort = (rows[:, a:b] for a, b in pairwise(ends))
        self.action, self.events, self.nanoseconds, self.change = rows[:, ends[-1] :].T


def run_in_manager(
    folder: Path, law: str, seconds: float, period: float = 1e-3, **options
) -> tuple[Recorded, int, str]:
    """So long a run in the manager: what was recorded, cycles missed, and what the manager said."""
    loop, hardware = opened(law, period)
    ticks = round(seconds / period)
    with managed(folder, loop, hardware, record=ticks, **options) as manager:
        answer = manager.begin(loop, patience=20.0)  # this process may have to wait for its turn
        assert answer.status is Status.ACCEPTED, answer.reason
        assert manager.switch(on=True), manager.log.read_text()[-2000:]
        manager.until(
            lambda: (
                manager.states
                and manager.states[-1].sections[Section.REPORT][Report.CYCLES] >= ticks
            ),
            "the run",
            seconds + 20.0,
        )
        overruns = int(manager.states[-1].sections[Section.REPORT][Report.OVERRUNS])
        assert manager.switch(on=False)
        rows = manager.record()
        said = manager.log.read_text(errors="replace")
    return Recorded(rows, loop.controller.model.n), overruns, said


def replayed(law: str, record: Recorded, period: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Efforts and errors of the Python loop, fed with the recorded states."""
    loop, _ = opened(law, period)
    efforts, errors = [], []
    for i in range(len(record.stamp)):
        wrench = record.wrench[i] if np.isfinite(record.age[i]) else None
        state = RawState(record.q[i], record.v[i], record.stamp[i], wrench, record.age[i])
        efforts.append(loop.update(state).effort.copy())
        errors.append(loop.controller.error[0].copy())
    return np.array(efforts), np.array(errors)


def in_process(law: str, stamps: np.ndarray, period: float = 1e-3) -> np.ndarray:
    """Errors of a run in process with the same delay, in which the same cycles do not come."""
    loop, hardware = build(law, period)
    runner, errors = Runner(loop, hardware), []
    runner.open()
    for periods in np.rint(np.diff(stamps, append=stamps[-1] + period) / period).astype(int):
        runner.step()
        errors.append(loop.controller.error[0].copy())
        for _ in range(periods - 1):  # the arm goes on under the effort that it had
            hardware.read()
            hardware.write(hardware.plant.terms.effort.copy())
    return np.array(errors)


def judge(folder: Path, law: str, seconds: float, period: float = 1e-3) -> None:
    """A run: torques of the Python loop bit for bit, tracking as in process to 1 %."""
    record, overruns, _ = run_in_manager(folder, law, seconds, period)
    other = np.flatnonzero(record.action != Action.FOLLOW)
    assert not other.size, f"tick {other[0]}: {Action(int(record.action[other[0]])).name}"
    efforts, errors = replayed(law, record, period)
    different = np.flatnonzero((record.effort != efforts).any(axis=1))
    assert not different.size, f"tick {different[0]}: {record.effort[different[0]]}"
    whole = period * np.arange(len(errors))
    ours, same, undisturbed = (
        float(np.sqrt(np.mean(e**2)))
        for e in (errors, in_process(law, record.stamp, period), in_process(law, whole, period))
    )
    p999 = np.percentile(record.nanoseconds, 99.9) * 1e-9
    print(
        f"\n{law}: {len(errors)} ticks, {overruns} cycles missed, tick p50 "
        f"{np.median(record.nanoseconds) * 1e-3:.1f} µs, p99.9 {p999 * 1e6:.1f} µs = "
        f"{100 * p999 / period:.2f} % of the period; RMS of the error {ours:.4g}, in process "
        f"{same:.4g} ({100 * (ours / same - 1):+.3f} %), with no cycle missed {undisturbed:.4g} "
        f"({100 * (ours / undisturbed - 1):+.3f} %); load average {os.getloadavg()[0]:.1f}"
    )
    assert ours == pytest.approx(same, rel=0.01)


@pytest.mark.parametrize("law", LAWS)
def test_torques_and_tracking(tmp_path: Path, law: str) -> None:
    """5 s at 1 kHz."""
    judge(tmp_path, law, SECONDS)


def test_an_arm_without_a_clock(tmp_path: Path) -> None:
    """By the manager's time: on a grid of periods, the torques those of the Python loop."""
    record, overruns, said = run_in_manager(tmp_path, "hybrid", SECONDS, time="")
    assert "the time of the controller manager" in said
    steps = np.diff(record.stamp) / 1e-3
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    assert (record.action == Action.FOLLOW).all()
    efforts, errors = replayed("hybrid", record)
    assert np.array_equal(record.effort, efforts)
    print(f"\n{overruns} cycles missed, largest error {np.abs(errors).max():.3g}")


def test_five_hundred_hertz(tmp_path: Path) -> None:
    judge(tmp_path, "hybrid", SECONDS, 2e-3)


def test_a_payload_and_a_longer_reference(tmp_path: Path) -> None:
    """One change while it runs: the torques of a loop in Python that got it at that tick."""

    def change(loop, at: float) -> None:
        times = at + 0.01 * np.arange(401)
        values = loop.reference.at(at).value + 0.01 * (1.0 - np.cos(times - at))[:, None]
        with loop.mailbox.together():
            loop.controller.model.arm.set_payload("link_3", 0.5, (0.05, 0.0, 0.0))
            loop.take_load()
            loop.set_reference(Waypoints(times, values, order=3))

    Waypoints([0.0, 1.0], [[0.0], [1.0]])  # what makes curves takes a while to load
    loop, hardware = opened("hybrid")
    with managed(tmp_path, loop, hardware, record=20_000) as manager:
        assert manager.begin(loop, patience=20.0).status is Status.ACCEPTED
        assert manager.switch(on=True)
        manager.until(lambda: _report(manager, Report.CYCLES) > 500, "some cycles")
        changes, at = ChangeMessages(loop), float(manager.states[-1].sections[Section.NOW][0])
        change(loop, at)
        answer = manager.send(Update.CHANGE, changes.sections())
        assert answer.status is Status.ACCEPTED, answer.reason
        manager.spin(2.0)
        assert manager.switch(on=False)
        record = Recorded(manager.record(), loop.controller.model.n)
    own, _ = opened("hybrid")
    number, changed = record.change[0], 0
    for i in range(len(record.stamp)):
        if record.change[i] != number and not changed:
            change(own, at)
            changed = i
        state = RawState(record.q[i], record.v[i], record.stamp[i], record.wrench[i], record.age[i])
        assert np.array_equal(own.update(state).effort, record.effort[i]), i
    print(f"\ntaken at tick {changed}, which took {record.nanoseconds[changed] * 1e-3:.1f} µs")
    assert changed > 500


def _busy() -> None:
    while True:
        pass


@contextmanager
def load() -> Iterator[None]:
    """Something to do for every core."""
    busy = [multiprocessing.Process(target=_busy, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.join()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("loaded", [False, True], ids=["alone", "loaded"])
@pytest.mark.parametrize("law", LAWS)
def test_a_minute(tmp_path: Path, law: str, loaded: bool) -> None:
    """60 s at 1 kHz, with and without load on all cores."""
    if loaded:
        with load():
            judge(tmp_path, law, LONG)
    else:
        judge(tmp_path, law, LONG)


def test_who_may_command_and_what_silence_brings(tmp_path: Path) -> None:
    """Other senders, broken updates, silence, another session that takes over, in one manager."""
    loop, hardware = opened("hybrid")
    with managed(tmp_path, loop, hardware, record=60_000) as manager:
        assert not manager.switch(on=True)
        assert "no node has begun a session" in manager.log.read_text()

        assert manager.begin(loop, patience=0.5).status is Status.ACCEPTED
        assert manager.switch(on=True)
        manager.until(lambda: _phase(manager) is Phase.RUNNING, "the loop to run")

        manager.publish(encode(Update.END, 12345, 900_000))
        manager.until(lambda: 900_000 in manager.acknowledgements, "a refusal")
        assert manager.acknowledgements[900_000].status is Status.SESSION
        for i in range(200):
            manager.publish(os.urandom(64 + 8 * i))
            if i % 10 == 9:  # the plugin's queue holds 32
                manager.until(
                    lambda sent=i + 2: _report(manager, Report.REFUSED) >= sent, "all refusals"
                )
        assert _phase(manager) is Phase.RUNNING
        manager.until(
            lambda: any(
                "does not begin as ours do" in _value(s, "last refusal") for s in manager.said
            ),
            "the reason on /diagnostics",
        )

        old, manager.session = manager.session, 0  # no more beats
        manager.until(lambda: _phase(manager) is Phase.SILENT, "silence")
        manager.until(
            lambda: _report(manager, Report.ACTION) == Action.STOP, "the arm to be stopped"
        )
        q, v = (manager.states[-1].sections[s] for s in (Section.Q, Section.V))
        assert np.abs(v).max() < 1e-2
        model = loop.controller.model
        model.evaluate(q, v)
        loop.set_reference(Constant(model.theta.copy()))
        loop.set_force_reference(Constant(np.full(model.m, PRESS)))
        loop.begin(RawState(q, v, 0.0, manager.states[-1].sections[Section.WRENCH]))
        assert manager.begin(loop, patience=0.5).status is Status.ACCEPTED
        assert manager.session != old
        manager.until(lambda: _phase(manager) is Phase.RUNNING, "the new session to run")
        manager.spin(1.0)
        assert _report(manager, Report.ACTION) == Action.FOLLOW
        assert manager.switch(on=False)
        rows = Recorded(manager.record(), model.n)
    steps = np.abs(np.diff(rows.effort, axis=0))
    assert np.all(steps <= loop.guard.limits.effort_rate * 1e-3 * (1.0 + 1e-9))


def test_its_values_are_in_the_introspection(tmp_path: Path) -> None:
    """Phase, action, events, duration and efforts, in force while the controller is active."""
    messages = pytest.importorskip("pal_statistics_msgs.msg", reason="no introspection here")
    loop, hardware = opened("pidc")
    with managed(tmp_path, loop, hardware) as manager:
        seen: list[dict[str, float]] = []
        manager.node.create_subscription(
            messages.Statistics,
            "/controller_manager/introspection_data/full",
            lambda m: seen.append({s.name: s.value for s in m.statistics}),
            qos_profile_sensor_data,  # it is published best effort, formerly reliable
        )
        assert manager.begin(loop).status is Status.ACCEPTED
        assert manager.switch(on=True)
        wanted = {f"{NAME}.{name}" for name in ("phase", "action", "events", "duration_us")}
        wanted |= {f"{NAME}.effort.{joint}" for joint in loop.controller.model.arm.joint_names}
        manager.until(lambda: seen and wanted <= set(seen[-1]), "the values")
        manager.until(lambda: seen[-1][f"{NAME}.phase"] == Phase.RUNNING, "the phase")
        assert seen[-1][f"{NAME}.duration_us"] > 0.0
        efforts = [seen[-1][name] for name in sorted(wanted) if ".effort." in name]
        assert 0.0 < max(map(abs, efforts)) < 100.0


def _report(manager: Manager, place: Report) -> int:
    return int(manager.states[-1].sections[Section.REPORT][place]) if manager.states else -1


def _phase(manager: Manager) -> Phase | None:
    place = _report(manager, Report.PHASE)
    return None if place < 0 else Phase(place)


def _value(status, key: str) -> str:
    return next((v.value for v in status.values if v.key == key), "")
