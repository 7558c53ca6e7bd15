"""What running nodes publish of themselves.

A controller: its heartbeat, its state in a form to be plotted, its status on /diagnostics; a
simulated arm: what it really does, which no sensor shows (``~/truth``).
"""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from projected_control.control.kept_state import what_binds
from projected_control.control.loop import ControlLoop, Tick
from projected_control.model.dynamics import condition_numbers
from projected_control.ros.contact_topics import contacts_text
from projected_control.ros.lifecycle import OK, WARN, Status
from projected_control.ros.messages import NANOSECONDS, header_layout, state_layout
from projected_control.ros.transport import let_arrive
from projected_control.runs.port import Port
from projected_control.runs.row_messages import plotted, plotted_names
from projected_control.runs.rows import Rows, RowWriter
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.runs.statistics import Statistics
from projected_control.settings.nodes import ARM, ControllerSettings, SimulatedArmSettings

FAREWELL_SECONDS = 0.05
"""How long the farewell may take to arrive [s]."""


class PlottableState:
    """A joint state whose names are quantities and whose positions are their values."""

    def __init__(self, loop: ControlLoop) -> None:
        model = loop.controller.model
        coordinates = model.coordinates.names if model.coordinates is not None else ()
        names = plotted_names(coordinates, model.m, model.arm.joint_names)
        names += ["loop/period", "loop/latency"]
        self._layout = state_layout(names)
        self._row = Rows.of(loop, 1)
        self._writer = RowWriter(loop, self._row.counters, self._row.numbers)

    def fill(
        self, tick: Tick | None, stamp_ns: int, period: float = 0.0, latency: float = 0.0
    ) -> bytes:
        """The message for a tick, a sensor_msgs/JointState.

        Args:
            tick: What happened; None for one that answers silence.
            stamp_ns: Time of its state [ns].
            period: Longest time from one state to the next since the last message [s].
            latency: Longest time from a state's arrival to its answer since then [s].
        """
        if tick is None:
            self._writer.put_silence(0, 0)
        else:
            self._writer.put(tick, 0, stamp_ns)
        (values,) = plotted(self._row.numbers, self._row.places).tolist()
        return self._layout.write(*divmod(stamp_ns, NANOSECONDS), *values, period, latency)


class StateReporter:
    """Publishes the heartbeat and the topic ~/state while a runner runs (a `Listener`).

    Args:
        beats, states: Publishers, which live longer than one activation, so that listeners have
            found them when it starts.
        loop: What runs.
        port: Knows the time of the last state as `stamp_ns`.
        settings: Settings of the controller node.

    Attributes:
        statistics: Of the run, whose timing is published with the state; None before it is open.
    """

    def __init__(
        self, beats: Any, states: Any, loop: ControlLoop, port: Port, settings: ControllerSettings
    ) -> None:
        self._beats, self._states, self._port = beats, states, port
        self._beat_period, self._beaten = 1.0 / settings.heartbeat_rate, 0.0
        self._lockstep, self._beaten_ns = settings.lockstep, -1
        self._alive = header_layout("active")
        rate = settings.state_rate
        ticked = port.report_rate or settings.rate
        self._every = max(round(ticked / rate), 1) if rate else 0
        self._ticks = 0
        self._state = PlottableState(loop)
        self.statistics: Statistics | None = None

    def ticked(self, tick: Tick) -> None:
        if self._lockstep:
            self._beat_in_lockstep()
        else:
            self._beat()
        self._ticks += 1
        due = self._every and self._ticks % self._every == 0
        if due and self._states.get_subscription_count():  # it takes a while to put together
            stamp = max(self._port.stamp_ns, 0)
            self._states.publish(self._state.fill(tick, stamp, *self._timing()))

    def _timing(self) -> tuple[float, float]:
        """Longest period and latency since the last message [s]."""
        if self.statistics is None:
            return 0.0, 0.0
        period, latency = self.statistics.period, self.statistics.latency
        return period.longest(self._every), latency.longest(self._every)

    def waited(self) -> None:
        self._beat()

    def warm_up(self) -> None:
        """Run through it once, so that no tick is the first to do so."""
        self._state.fill(None, 0)

    def farewell(self) -> None:
        """The loop ends on purpose."""
        self._beats.publish(Header(frame_id="inactive"))
        let_arrive(self._beats, FAREWELL_SECONDS)

    def _beat(self) -> None:
        """The loop lives, whether or not the arm does."""
        now = monotonic()
        if now - self._beaten >= self._beat_period:
            self._say_alive(now)

    def _beat_in_lockstep(self) -> None:
        """The same in simulated time."""
        passed = 1e-9 * (self._port.stamp_ns - self._beaten_ns)
        if not 0.0 <= passed < self._beat_period - 1e-9 or self._beaten_ns < 0:
            self._say_alive(monotonic())

    def _say_alive(self, now: float) -> None:
        """In lockstep with the arm's time, by which silence counts there (never zero)."""
        stamp = 0
        if self._lockstep:
            self._beaten_ns = self._port.stamp_ns
            stamp = max(self._beaten_ns, 1)
        self._beats.publish(self._alive.write(*divmod(stamp, NANOSECONDS)))
        self._beaten = now


RATE = 100.0
"""Of the topic, in simulated time [Hz]."""

KEPT = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Reliable, and the last ten seconds also for who comes later: in lockstep nothing may be lost."""


class TruthTopic:
    """Joint positions, λ and ‖Φ‖ of a simulated arm, as a joint state to be plotted.

    Names are quantities, positions their values, as on the topic ~/state of controllers: joints by
    their names, ``lambda_0`` and so on, ``residual``. In real time nothing is put together while
    no node listens.

    Args:
        node: That gets the topic.
        hardware: What is simulated.
        settings: Of the simulated arm.
    """

    def __init__(self, node: Node, hardware: SimulatedArm, settings: SimulatedArmSettings) -> None:
        model = hardware.plant.model
        rows = [f"lambda_{row}" for row in range(model.m)]
        self._hardware, self._every = hardware, max(round(settings.rate / RATE), 1)
        self._always = settings.lockstep
        self._message = JointState(name=[*model.arm.joint_names, *rows, "residual"])
        self.publisher = node.create_publisher(JointState, f"{ARM}/truth", KEPT)

    def tell(self, tick: int, stamp_ns: int) -> None:
        """Publish the state of a tick, counted from zero, if it is one of those that are told."""
        if (tick + 1) % self._every:
            return
        if not (self._always or self.publisher.get_subscription_count()):
            return
        truth, message = self._hardware.truth, self._message
        seconds, nanoseconds = divmod(stamp_ns, NANOSECONDS)
        message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
        message.position = [*truth.q.tolist(), *truth.multipliers.tolist(), float(truth.residual)]
        self.publisher.publish(message)


RECENT = 2000
"""Ticks that the diagnostics look back on; to sort more would keep the loop waiting."""


def controller_status(loop: ControlLoop | None, runner: Runner | None) -> Status:
    """Level, message and values; of an inactive controller what can be said without an arm."""
    if loop is None:
        return OK, "", {}
    controller, model = loop.controller, loop.controller.model
    values: dict[str, Any] = {"law": controller.law.name, "engine": loop.engine}
    if controller.force is not None:
        gains = controller.force.gains
        values["force loop gain margin"] = gains.loop(controller.period).gain_margin
    if runner is None:
        return OK, "", values
    statistics, port = runner.statistics, runner.port
    summary = statistics.summary(RECENT)
    latency, counters = summary["latency_us"], port.counters()
    values |= {
        "ticks": summary["ticks"],
        "rate (Hz)": summary["rate_hz"],
        "jitter (us)": summary["jitter_us"],
        "latency p50 (us)": latency["p50"],
        "latency p99 (us)": latency["p99"],
        "latency max (us)": latency["max"],
        "deadlines missed": statistics.deadline_misses,
        "states skipped": counters.get("states_skipped", 0),
        "messages malformed": counters.get("malformed", 0),
        "residual (m)": float(np.linalg.norm(model.residual)),
        "rank": model.rank,
        "condition number of M_c": _condition_number(model.M.copy(), model.P.copy()),
        "undescribed directions": controller.undescribed,
        "held by": controller.held_by,
        "path rate (%)": round(100.0 * loop.path.rate, 3),
        "path late by (s)": round(loop.path.lag, 6),
        "coordinate independence": float(controller.margins[0]),
        "force from": "none" if controller.force is None else loop.force_source.name,
        "delay (samples)": port.measured_delay(),
        "delay allowed for (samples)": controller.delay,
        "limits": what_binds(controller) or "none binds",
        **summary["events"],
    }
    if controller.contacts.names:
        values["contacts"] = contacts_text(controller.contacts)
    if (ledger := controller.ledger) is not None:
        values["energy (J)"] = round(ledger.left, 6)
    if model.arm.passive:
        values["controllability"] = float(controller.margins[1])
    troubled = {a.name.lower(): n for a, n in statistics.actions.copy().items() if a}
    values |= {f"answers: {name}": n for name, n in troubled.items()}
    if runner.refused:
        return WARN, f"a change could not be made: {runner.refused}", values
    if loop.report.events:
        bound = what_binds(controller)
        reasons = [*loop.report.reasons, *([f"limits: {bound}"] if bound else [])]
        return WARN, ", ".join(reasons), values
    return OK, following(loop), values


def following(loop: ControlLoop) -> str:
    """What a loop without trouble does, in words."""
    rate = loop.path.rate
    if rate == 1.0:
        return "following"
    return f"following, the path at {100.0 * rate:.0f} %, {loop.path.lag:.2f} s later than asked"


def _condition_number(M: NDArray[np.float64], P: NDArray[np.float64]) -> float:
    """κ(M_c); NaN for a state that was not finite."""
    if not (np.isfinite(M).all() and np.isfinite(P).all()):
        return float("nan")
    return float(condition_numbers(M, P)["R2"])
