"""From what was measured to gains: delay → filter → G_F, and the stiffness that is safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from projected_control.apps.tuning.trials import (
    FORCE_PUSH,
    FORCE_STEP,
    MOTION_STEP,
    Response,
    Trial,
    Trials,
)
from projected_control.control.force import ForceGains
from projected_control.control.gains import MotionGains
from projected_control.control.stability import ForceLoop, MotionLoop

BANDWIDTH_MARGIN = 2.0  # the highest stable bandwidth over the chosen one
GAIN_MARGIN = 2.0  # of the force loop

CUTOFFS = (None, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0)
"""Filters that are tried, from none to the slowest [Hz]."""

FORCE_NOISE = 0.25  # largest RMS of the noise that the force loop may pass on to the arm [N or N·m]

LARGEST_OVERSHOOT = 1.0
"""Of λ beyond a step of λ_d, over the step: until the force is measured, G_F adds to it."""

SOFTEST, STIFFEST = 4.0, 1e5  # stiffness that is tried [1/s²]

ROUNDS = 7
"""Halvings of the range in which the highest stable stiffness lies, on a logarithmic scale."""


@dataclass(frozen=True)
class Stiffness:
    """What the trials say of the stiffness."""

    highest: float  # with critical damping the highest that was stable in simulation [1/s²]
    # The same by the sampled loop's characteristic polynomial, without friction, noise and
    # quantised velocities [1/s²].
    bound: float
    trials: list[tuple[float, bool]]  # what was tried, and whether it was stable

    @property
    def chosen(self) -> float:
        """The stiffness to use: half the bandwidth of the highest [1/s²]; three digits."""
        return float(f"{self.highest / BANDWIDTH_MARGIN**2:.3g}")

    @property
    def damping(self) -> float:
        """The damping to use, critical [1/s]."""
        return float(f"{2.0 * np.sqrt(self.chosen):.3g}")


def highest_stiffness(
    make: Trials,
    delay: int,
    null_damping: float,
    progress: Callable[[float], None] = lambda done: None,
) -> Stiffness:
    """Look for the highest stiffness with which a step comes to rest on the simulated arm."""
    trials: list[tuple[float, bool]] = []

    def stable(stiffness: float) -> bool:
        gains = MotionGains(stiffness, 2.0 * np.sqrt(stiffness), null_damping)
        each = range(make.rig.loop.controller.model.k)
        answers = make([Trial(MOTION_STEP, gains, coordinate=number) for number in each])
        good = all(answer.stable for answer in answers)
        trials.append((stiffness, good))
        progress(len(trials) / (ROUNDS + 3))
        return good

    loop = MotionLoop(100.0, 20.0, make.rig.period, delay)
    bound = loop.critical_bound
    low, high = SOFTEST, min(2.0 * bound, STIFFEST)
    if stable(high):
        return Stiffness(high, bound, trials)
    if not stable(low):
        return Stiffness(0.0, bound, trials)
    for _ in range(ROUNDS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    progress(1.0)
    return Stiffness(low, bound, trials)


@dataclass(frozen=True)
class ForceChoice:
    """Gains of the force loop with one filter."""

    gains: ForceGains  # the gains
    margin: float  # factor by which G_F and G_I may grow
    noise: float  # RMS that the sensor's noise makes in u_λ [N or N·m]
    left: float  # share of a slow disturbance that the proportional part leaves, 1/(1 + G_F)
    # step, push: what they did on the simulated arm; None where they were not tried.
    step: Response | None = None
    push: Response | None = None

    @property
    def usable(self) -> bool:
        """Whether it is quiet, stable, and no step of λ_d makes more than twice the force."""
        tried = [r for r in (self.step, self.push) if r is not None]
        wild = self.step is not None and self.step.overshoot > LARGEST_OVERSHOOT
        return self.noise <= FORCE_NOISE and not wild and all(r.stable for r in tried)


def try_force(make: Trials, motion: MotionGains, choices: list[ForceChoice]) -> list[ForceChoice]:
    """The same, each tried with a step of λ_d and with a push."""
    kinds = (FORCE_STEP, FORCE_PUSH)
    answers = make([Trial(kind, motion, each.gains) for each in choices for kind in kinds])
    pairs = zip(choices, answers[::2], answers[1::2], strict=True)
    return [replace(choice, step=step, push=push) for choice, step, push in pairs]


def force_choices(delay: int, noise: float, period: float) -> list[ForceChoice]:
    """For every filter, the gains with the margin that is wanted.

    Args:
        delay: From effort to measured force [samples].
        noise: Standard deviation of the measured λ [N or N·m].
        period: Of the loop [s].
    """
    found = []
    for cutoff in CUTOFFS:
        bound = ForceLoop(1.0, 0.0, period, cutoff, delay).proportional_bound
        G_F = float(f"{min(bound / GAIN_MARGIN, 100.0):.3g}")
        pole = ForceLoop(G_F, 0.0, period, cutoff, delay).pole
        # The integral closes what G_F leaves, a tenth as fast as filter or delay allow.
        fastest = 2.0 * np.pi * cutoff if cutoff is not None else 1.0 / (delay * period)
        G_I = float(f"{0.1 * min(fastest, 0.2 / (delay * period)) * (1.0 + G_F):.3g}")
        loop = ForceLoop(G_F, G_I, period, cutoff, delay)
        while loop.gain_margin < 0.95 * GAIN_MARGIN and G_I > 1e-3:
            G_I = float(f"{0.5 * G_I:.3g}")
            loop = ForceLoop(G_F, G_I, period, cutoff, delay)
        passed = G_F * np.sqrt((1.0 - pole) / (1.0 + pole)) * noise
        gains = ForceGains(G_F, G_I, cutoff, delay)
        found.append(ForceChoice(gains, loop.gain_margin, float(passed), 1.0 / (1.0 + G_F)))
    return found


def best_force(choices: list[ForceChoice]) -> ForceChoice:
    """Of those that are usable the one that takes a push away fastest; else the quietest."""
    usable = [choice for choice in choices if choice.usable]
    if not usable:
        return min(choices, key=lambda choice: choice.noise)

    def seconds(choice: ForceChoice) -> float:
        settling = float("nan") if choice.push is None else choice.push.settling
        return float(np.nan_to_num(settling, nan=1e3))

    return min(usable, key=lambda choice: (round(seconds(choice), 2), choice.left))


@dataclass(frozen=True)
class Tuned:
    """Gains and what they do."""

    # motion, force: the gains; no force gains where there is no force loop.
    motion: MotionGains
    force: ForceGains | None
    # motion_step, force_step: their step responses.
    motion_step: Response
    force_step: Response | None
    force_push: Response | None  # how an unknown push is taken away
    motion_margin: float  # highest stable bandwidth over this one
    force_margin: float | None  # gain margin of the force loop


def tried(make: Trials, motion: MotionGains, force: ForceGains | None, highest: float) -> Tuned:
    """Gains, put to the test on the simulated arm."""
    controls = force is not None and make.rig.controls_force
    kinds = (MOTION_STEP, FORCE_STEP, FORCE_PUSH) if controls else (MOTION_STEP,)
    answers: list[Response | None] = [*make([Trial(kind, motion, force) for kind in kinds])]
    step, force_step, push = answers if controls else (*answers, None, None)
    assert step is not None
    return Tuned(
        motion,
        force,
        step,
        force_step,
        push,
        float(np.sqrt(highest / float(np.max(motion.stiffness)))),
        force.loop(make.rig.period).gain_margin if force is not None else None,
    )
