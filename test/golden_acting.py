"""Golden runs of the acting side: efforts of 500 cycles in C++, per law, on its simulated arm.

In the course of each, gains, then a payload, then the reference change, by message, as a node does
it; then all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from acting_runs import ActingRun, long_reference
from loops import EVERY_LAW, T

from projected_control.control import Impedance, ImpedanceController, MotionGains
from projected_control.control.loop import ControlLoop
from projected_control.native.updates import Status

Course = dict[str, np.ndarray]
Change = Callable[[ControlLoop, float], None]

BETWEEN = 100  # cycles from one change to the next


def gains(loop: ControlLoop, _: float) -> None:
    """Other gains, or another impedance where the law takes one."""
    controller = loop.controller
    if isinstance(controller, ImpedanceController):
        inertia = [2.0, 0.2] if controller.impedance.shaped else None
        controller.set_impedance(Impedance([500.0, 12.0], 0.6, inertia=inertia), 0.05)
    else:
        controller.set_gains(MotionGains(300.0, 40.0), 0.05)


def payload(loop: ControlLoop, time: float) -> None:
    """A load on the second link, another one each time."""
    loop.controller.model.arm.set_payload("link_2", 0.1 + 0.1 * time, (0.02, 0.01, 0.0))
    loop.take_load()


def reference(loop: ControlLoop, time: float) -> None:
    """To and fro from where the old one is."""
    loop.set_reference(long_reference(loop, 20, begin=time))


CHANGES: tuple[tuple[Change, ...], ...] = (
    (gains,),
    (payload,),
    (reference,),
    (gains, payload, reference),
)


def acting(law: str) -> Course:
    """What the session sent, and where its arm went."""
    run = ActingRun(law)
    run.go(BETWEEN)
    for changes in CHANGES:
        with run.loop.mailbox.together():
            for change in changes:
                change(run.loop, T * len(run.rows))
        assert run.change() is Status.ACCEPTED
        run.go(BETWEEN)
    return {"effort": np.array(run.efforts), "q": np.array([row.q for row in run.rows])}


RUNS: dict[str, Callable[[], Course]] = {
    f"acting_{law}": lambda law=law: acting(law) for law in EVERY_LAW
}
"""By name, what gives a run."""
