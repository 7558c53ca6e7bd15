"""An arm whose joint states and wrenches come as messages: the part of a port that listens.

Reading is done with a wait set of its own on a node that no executor spins; the messages are read
as bytes. Both save most of the time a message takes otherwise.
"""

from __future__ import annotations

from collections import deque
from time import monotonic, perf_counter_ns
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from projected_control.control.force_source import WORLD
from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import NotYet, ProjectedControlError
from projected_control.ros.messages import StateReader, WrenchReader
from projected_control.ros.start_and_end import interrupted, pause
from projected_control.ros.wait_set import Inbox, unused
from projected_control.runs.delay import rate_from_stamps
from projected_control.runs.port import Port
from projected_control.settings.nodes import ControllerSettings

QUEUE = QoSProfile(depth=10)  # reliable, ten deep: lost nothing at 1 kHz

BACKLOG = 3
"""How many waiting states a loop that stays behind answers; older ones are skipped, to bound the
lag. What a single stall left in the queue is answered in full."""

FIRST_STATE_SECONDS = 1.0
"""How long opening waits for the arm, where it is tried again; for right states where wrong ones
come [s]."""

LISTEN_PERIODS = 200  # for how many periods states are listened to when the port is opened
RATE_TOLERANCE = 0.1  # by which the rate of states may differ from the parameter rate

LOCKSTEP_PATIENCE = 10.0
"""How long an arm in lockstep, which repeats its state, may be silent before it is lost [s]."""

WRENCH_PATIENCE = 2.0  # how long a wrench that belongs to a state is awaited in lockstep [s]
MISSED_PATIENCE = 0.02  # the same once one was missed, until the next one comes [s]


class Wiring(NamedTuple):
    """Where an arm is reached."""

    # Joints in the order of a command, by name; None for all joints in the arm's order.
    order: tuple[str, ...] | None = None
    # states, wrench, commands: topics.
    states: str = "joint_states"
    wrench: str = "wrench"
    commands: str = "effort_controller/commands"


class ListeningPort(Port):
    """Hears an arm.

    Args:
        node: In no executor; gets the topics.
        loop: What will answer: its arm names the joints, and it says whether it needs a wrench.
        settings: Settings of the controller node.
        wiring: Where the arm is reached.

    Attributes:
        settings: As given; those that may change live are looked up at every reading.
        skipped: States that a newer one overtook.
        malformed: States and wrenches that could not be read.
        patience: How long opening waits for the arm [s].
        ages: How old states were when they came, while the port was opened [s].
        stamp_ns: Time of the last state [ns].
        q: Joint positions of the last state, for those who only look.
    """

    waits = True
    patience = FIRST_STATE_SECONDS

    def __init__(
        self, node: Node, loop: ControlLoop, settings: ControllerSettings, wiring: Wiring
    ) -> None:
        model = loop.controller.model
        self._node, self._model, self.settings, self.wiring = node, model, settings, wiring
        self.heard = monotonic()
        self._needs_wrench = loop.needs_wrench
        names = model.arm.joint_names
        echoes = settings.effort_states in ("", "torque")
        first = (wiring.order or names)[0] if echoes else ""
        self._reader = StateReader(names, first, settings.joint_offsets, model.arm.mimics)
        self._wrench_reader = WrenchReader()
        self._states = node.create_subscription(JointState, wiring.states, unused, QUEUE, raw=True)
        self._subscriptions = [self._states]
        if model.constraint is not None:
            self._subscriptions.append(
                node.create_subscription(WrenchStamped, wiring.wrench, unused, QUEUE, raw=True)
            )
        # In lockstep the wrench of a state comes before it: to wake up once for both is enough.
        once = 1 if settings.lockstep else len(self._subscriptions)
        self._inbox = Inbox(node, self._subscriptions[:once], self._subscriptions[once:])
        self.q, self._v = np.full(model.n, np.nan), np.zeros(model.n)
        self._waiting: deque[bytes] = deque()
        self._received, self._behind, self._entered = 0, False, False
        self._origin_ns: int | None = None
        self.stamp_ns = -1  # before the first state
        self._wrench = np.zeros(6)
        self._wrench_stamp: int | None = None
        self._wrench_heard = 0
        self._named: str | None = None
        self._wrench_is_coming = self._wrench_missed = False
        self.ages: list[float] = []
        self.skipped = self.malformed = 0

    def adopt(self, settings: ControllerSettings) -> None:
        self.settings = settings

    # Opening and closing

    def open(self) -> RawState:
        self._inbox.__enter__()
        self._entered = True
        state = self._first_state()
        if not (self.settings.lockstep or self.remote):  # a remote tick knows its rate
            self.ages = self._require_rate()
        self._wrench_is_coming = self._needs_wrench or bool(
            self._node.count_publishers(self.wiring.wrench)
        )
        return state

    def _first_state(self) -> RawState:
        """A state (and a wrench, if one is needed) to start from; raises where none comes."""
        began = monotonic()
        got_state = False
        problem, heard = f"no joint state on {self._states.topic_name}", False
        while not interrupted():
            only_wrong = heard and not got_state
            if monotonic() - began > (FIRST_STATE_SECONDS if only_wrong else self.patience):
                break
            self._inbox.wait(0.05)
            for message in self._inbox.unread(0):
                heard = True
                if wrong := self._reader.wrong_with(message):
                    problem = problem if got_state else wrong
                    continue
                self._reader.read(message, self.q, self._v)
                got_state = True
                break
            self._take_wrenches()
            if self._needs_wrench and got_state and self._wrench_stamp is None:
                problem = (
                    f"no finite wrench on the topic {self.wiring.wrench}, and the force loop "
                    "needs one"
                )
            elif got_state and (missing := self._no_taker_of_efforts()):
                problem = missing
            elif got_state:
                wrench = self._wrench.copy() if self._wrench_stamp is not None else None
                return RawState(self.q.copy(), self._v.copy(), 0.0, wrench)
        raise ProjectedControlError(problem) if heard else NotYet(problem)

    def _no_taker_of_efforts(self) -> str:
        """Why efforts would not reach the arm, in words; empty where they would."""
        return ""

    def _require_rate(self) -> list[float]:
        """Listen for a while; raise where states come at another rate than the settings say.

        Returns:
            How old states were when they came, by their stamps [s].
        """
        expected = self.settings.rate
        deadline, ages, stamps = monotonic() + LISTEN_PERIODS / expected, [], []
        clock = self._node.get_clock()
        while monotonic() < deadline:
            pause(0.0)
            self._inbox.wait(0.05)
            now = clock.now().nanoseconds
            read = [self._reader.read(m, self.q, self._v) for m in reversed(self._inbox.unread(0))]
            came = [stamp for stamp in read if stamp is not None]
            stamps += came
            ages += [(now - stamp) * 1e-9 for stamp in came[-1:]]
            self._take_wrenches()
        rate = rate_from_stamps(stamps)
        if rate is not None and abs(rate / expected - 1.0) > RATE_TOLERANCE:
            raise ProjectedControlError(
                f"joint states come {rate:.4g} times per second, but rate is {expected:g} Hz, and "
                f"gains and limits are checked for that; set rate to {rate:.4g}"
            )
        return ages

    def interrupt(self) -> None:
        self._inbox.close()

    def stop_listening(self) -> None:
        """Give back what was made on the node."""
        if self._entered:
            self._inbox.__exit__(None, None, None)
            self._entered = False
        self._inbox.destroy()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    # Reading

    def read(self) -> RawState | None:
        if not self._waiting:
            self._listen()
        while self._waiting:
            now = self._reader.read(self._waiting.popleft(), self.q, self._v)
            if now is None:
                self.malformed += 1
                continue
            self.heard = monotonic()
            if not (self.settings.lockstep and now == self.stamp_ns):
                return self._state(now)
            self._repeat()
        return None

    def _repeat(self) -> None:
        """In lockstep a state came once more: it gets the same answer again."""

    def _listen(self) -> None:
        """Wait for messages; of a backlog that persists keep the newest few."""
        if self.settings.lockstep:
            self._inbox.wait(0.1)
            self._received = perf_counter_ns()
            message = self._inbox.take(0)
            if message is not None:
                self._waiting.append(message)
        else:
            patience = min(self.settings.limits.stale_time, 1.0 / self.settings.heartbeat_rate)
            self._inbox.wait(patience)
            self._received = perf_counter_ns()
            unread = self._inbox.unread(0)
            if self.stamp_ns < 0:
                del unread[1:]  # the run begins now: what came before belongs to no run
            behind = len(unread) > BACKLOG
            if behind and self._behind:
                self.skipped += len(unread) - BACKLOG
                del unread[BACKLOG:]
            self._behind = behind
            self._waiting.extend(reversed(unread))
            self._take_wrenches()  # else an unread wrench would wake us again and again
        self._heard_something()

    def _heard_something(self) -> None:
        """Whatever else is to be done when messages have come."""

    def _state(self, now: int) -> RawState:
        if self._origin_ns is None:
            self._origin_ns = now
        self.stamp_ns = now
        self._heard_echo(self._reader.echo)
        self._take_wrenches()
        lockstep = self.settings.lockstep
        if lockstep and self._wrench_is_coming:
            self._await_wrench(now)
        time = (now - self._origin_ns) * 1e-9
        if self._wrench_stamp is None:
            return RawState(self.q, self._v, time, None, 0.0, self._received)
        # By the clock of this computer: a sensor's own may be another than that of the joints. With
        # the stamp of the state it is as new as that, also where time stands still.
        age = now - self._wrench_stamp
        if age and not lockstep:
            age = self._received - self._wrench_heard
        return RawState(self.q, self._v, time, self._wrench, age * 1e-9, self._received)

    def _await_wrench(self, now: int) -> None:
        """In lockstep a state and its wrench belong together."""
        give_up = monotonic() + (MISSED_PATIENCE if self._wrench_missed else WRENCH_PATIENCE)
        while self._wrench_stamp != now and monotonic() < give_up and not self._inbox.closed:
            self._inbox.wait(0.01, besides=True)
            self._take_wrenches()
        self._wrench_missed = self._wrench_stamp != now
        self._wrench_is_coming = self._needs_wrench or not self._wrench_missed

    def _take_wrenches(self) -> None:
        if len(self._subscriptions) < 2:
            return
        for message in self._inbox.unread(1):
            stamp = self._wrench_reader.read(message, self._wrench)
            if stamp is not None:
                if stamp != self._wrench_stamp:
                    self._wrench_stamp, self._wrench_heard = stamp, perf_counter_ns()
                    self._name_axes()
                return
            self.malformed += 1

    def _name_axes(self) -> None:
        """In whose axes the wrench is: what the settings say, else what the messages say."""
        frame = self.settings.constraint.wrench_frame or self._wrench_reader.frame
        if frame == self._named:  # to look through the arm's frames takes longer than a tick
            return
        self._named = frame
        world = frame in (self._model.arm.root_link, self._model.arm.root_frame, "world")
        self.wrench_frame = WORLD if world else frame or "(none)"

    def _heard_echo(self, effort: float) -> None:
        """The effort that the arm reports for the first joint of a command."""

    def counters(self) -> dict[str, int]:
        return {"states_skipped": self.skipped, "malformed": self.malformed}
