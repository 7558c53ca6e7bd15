"""What keeping limits costs: where nothing binds, where some do, and at the solver's cap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from projected_control.apps.bench.call_timing import KernelCall, kernel_us
from projected_control.apps.bench.tick_cases import (
    HYBRID,
    ContactCase,
    LimitCase,
    TickCase,
)
from projected_control.apps.bench.tick_timing import record, time_native
from projected_control.apps.console.progress import Progress, silent
from projected_control.control.guard import Guard
from projected_control.control.keep_limits import STEPS_PER_JOINT
from projected_control.control.kept_state import keep_state
from projected_control.control.limit_terms import LIMITS
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.errors import SimulationFailed
from projected_control.model.friction_cone import FACETS
from projected_control.model.lexicographic import ITERATIONS

TRIED, SEED = 1000, 5
"""States and limits that are drawn, for each second that a case is measured, in search of the one
that takes the solver longest."""


def cap_of(joints: int) -> int:
    """The solver's cap on steps for so many joints."""
    return max(ITERATIONS, STEPS_PER_JOINT * joints)


@dataclass(frozen=True)
class LimitTiming:
    """One arm and law in C++."""

    case: LimitCase  # what was measured
    look_us: float  # the part of a free tick that looks whether anything binds [µs]
    # Medians of ticks in which nothing binds, and in which ``case.binding`` limits do [µs].
    free_us: float
    bound_us: float
    steps: int  # of the solver in the latter
    # How many random solutions were tried, reached the cap; steps and time of the longest [µs].
    tried: int
    capped: int
    most_steps: int
    most_us: float

    @property
    def look_share(self) -> float:
        """What the look adds to a tick without it."""
        return self.look_us / (self.free_us - self.look_us)

    @property
    def ratio(self) -> float:
        """A tick in which limits bind, over a free one."""
        return self.bound_us / self.free_us

    @property
    def cap_us(self) -> float:
        """A tick at the cap, if all its steps took as long as those of the longest solution."""
        return self.free_us + self.most_us * cap_of(self.case.joints) / self.most_steps

    @property
    def numbers(self) -> dict[str, Any]:
        names = ("look_us", "look_share", "free_us", "bound_us", "ratio", "most_us", "cap_us")
        return {
            "joints": self.case.joints,
            "rows": self.case.rows,
            "law": self.case.law,
            "binding": self.case.binding,
            **{name: round(getattr(self, name), 3) for name in names},
            **{name: getattr(self, name) for name in ("steps", "tried", "capped", "most_steps")},
        }

    def __str__(self) -> str:
        cap = cap_of(self.case.joints)
        return (
            f"limits, {self.case.joints} joints: to look costs {self.look_us:.2f} µs of "
            f"{self.free_us:.1f} ({100.0 * self.look_share:.0f} % more); a tick in which "
            f"{self.case.binding} bind takes {self.bound_us:.1f} µs ({self.ratio:.2f} times, "
            f"{self.steps} steps); the longest of {self.tried} random solutions {self.most_us:.1f} "
            f"µs ({self.most_steps} steps; {self.capped} reached the cap of {cap}), so that "
            f"a tick at the cap takes {self.cap_us:.0f} µs"
        )

    def missed(self, look: float, bound: float) -> list[str]:
        """What is not as promised, in words."""
        words = []
        if self.look_share > look:
            words.append(
                f"to look at limits makes a tick {100.0 * self.look_share:.0f} % longer where "
                f"nothing binds; it may be {100.0 * look:.0f} %"
            )
        if self.ratio > bound:
            words.append(
                f"a tick in which {self.case.binding} limits bind took {self.ratio:.2f} times a "
                f"free one; it may take {bound:g} times that"
            )
        return words


def time_limits(free: TickCase, seconds: float, progress: Progress = silent) -> LimitTiming:
    """Measure an arm and a law.

    Raises:
        SimulationFailed: Where not as many limits bind as there should.
    """
    case = LimitCase(free)
    bound_us = time_native(case, seconds, progress).p50_us
    free_us = time_native(free, seconds, progress).p50_us
    loop, arm = case.build()
    record(loop, arm)
    binds = loop.controller.terms.binds
    if np.count_nonzero(binds) < case.binding:
        raise SimulationFailed(f"{case.binding} limits should bind, but these do: {binds}")
    steps = int(loop.controller.terms.solver_steps[0])
    loop, arm = free.build()
    record(loop, arm)
    wide = replace(loop.guard.limits, force=1e5)  # so that λ is looked at, too
    look_us = kernel_us([keep_call(loop, wide)], seconds)
    made, limits = hardest(loop, free.joints, ceil(TRIED * seconds))
    most_us = kernel_us([keep_call(loop, limits)], seconds)
    capped = sum(each == cap_of(free.joints) for each in made)
    return LimitTiming(
        case, look_us, free_us, bound_us, steps, len(made), capped, max(made), most_us
    )


@dataclass(frozen=True)
class ContactTiming:
    """Seven joints on four contacts that stick, in C++ (`ContactCase`)."""

    # Medians of ticks with the end held at a point for good, on the contacts within their cones,
    # and with one facet that binds [µs].
    point_us: float
    free_us: float
    bound_us: float
    steps: int  # of the solver in the latter

    @property
    def ratio(self) -> float:
        """A tick in which a facet binds, over one in which none does."""
        return self.bound_us / self.free_us

    @property
    def numbers(self) -> dict[str, Any]:
        times = ("point_us", "free_us", "bound_us", "ratio")
        return {"steps": self.steps, **{name: round(getattr(self, name), 3) for name in times}}

    def __str__(self) -> str:
        return (
            f"cones, 7 joints on four contacts of {FACETS} facets: a tick takes {self.free_us:.1f} "
            f"µs, {self.bound_us:.1f} where a facet binds ({self.ratio:.2f} times, {self.steps} "
            f"steps); held at a point {self.point_us:.1f} µs"
        )

    def missed(self, bound: float) -> list[str]:
        """What is not as promised, in words."""
        if self.ratio <= bound:
            return []
        return [
            f"a tick in which a facet of a cone binds took {self.ratio:.2f} times a free one; it "
            f"may take {bound:g} times that"
        ]


def time_contacts(seconds: float, progress: Progress = silent) -> ContactTiming:
    """Measure ticks on contacts that stick.

    Raises:
        SimulationFailed: Where none of them binds that should.
    """
    cases = TickCase(7, 3, HYBRID), ContactCase(False), ContactCase(True)
    point_us, free_us, bound_us = (time_native(case, seconds, progress).p50_us for case in cases)
    loop, arm = cases[-1].build()
    record(loop, arm)
    steps = int(loop.controller.terms.solver_steps[0])
    if not steps:
        raise SimulationFailed("a facet should bind, but none does")
    return ContactTiming(point_us, free_us, bound_us, steps)


def hardest(loop: ControlLoop, joints: int, count: int) -> tuple[list[int], Limits]:
    """The solver's steps of so many random problems; at the longest of them the controller stands.

    States, references and limits of every kind are drawn.
    """
    controller, free = loop.controller, loop.guard.limits
    model = controller.model
    start = model.arm.q.copy()

    def made(number: int) -> tuple[int, Limits]:
        random = np.random.default_rng([SEED, number])
        q = start + 0.3 * random.normal(size=joints)
        v, controller.motion[:] = random.normal(size=joints), 3.0 * random.normal(size=(3, model.k))
        limits = replace(
            free,
            effort=10.0 ** random.uniform(-0.5, 2.0, joints),
            velocity=10.0 ** random.uniform(-0.5, 1.0, joints),
            lower=q - 10.0 ** random.uniform(-2.0, 0.5, joints),
            upper=q + 10.0 ** random.uniform(-2.0, 0.5, joints),
            force=10.0 ** random.uniform(0.0, 2.0, model.m),
            prefer=("motion", "force")[number % 2],
        )
        controller.update(q, v)
        return keep_state(controller, limits).steps, limits

    steps = [made(number)[0] for number in range(count)]
    return steps, made(int(np.argmax(steps)))[1]


def keep_call(loop: ControlLoop, limits: Limits) -> KernelCall:
    """`keep_limits` where the controller stands, without a rate limit."""
    controller = loop.controller
    model, n = controller.model, controller.model.n
    guard = Guard(limits, model.k, controller.period, model.m)
    guard.without_rate()
    controller.terms.force_limits[:] = limits.force_numbers(model.m)
    return KernelCall(
        "control.kept_state.keep_at",
        (
            controller.law_number,
            False,
            n,
            model.arguments.sizes,
            controller.passive,
            model.arguments.work,
            controller.work,
            guard.work,
            LIMITS.new(n=n, m=model.m, k=model.k),
        ),
    )
