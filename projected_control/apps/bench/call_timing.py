"""What a call from Python costs on top of the kernel.

The same function of the library, on the same arrays, is called from Python and from a loop in C
that has the frame filled already, in turns. The difference is what Python and the caller
(``native/c/call.c``) add: arguments are looked up, checked and laid out, results become objects.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control import kernel_library
from projected_control.apps import bench
from projected_control.apps.bench.tick_cases import CASES
from projected_control.apps.bench.tick_timing import quieter_half
from projected_control.apps.console.progress import Progress, silent
from projected_control.control.state import RawState
from projected_control.errors import SimulationFailed
from projected_control.native.exports import python_frames
from projected_control.native.kernel_calls import Call
from projected_control.runs.runner import run

CALLS, LEAST_ROUNDS = 400, 9
"""Of each, before it is the other's turn; and how many turns there are at least."""


@dataclass(frozen=True)
class KernelCall:
    """A call as the package makes it."""

    name: str  # of the kernel, with its module
    given: tuple[Any, ...]  # arguments, one by one
    rest: tuple[Any, ...] = ()  # those that come as a tuple

    @property
    def function(self) -> Callable[..., Any]:
        """As Python calls it."""
        return kernel_library.function(f"projected_control.{self.name}")

    @property
    def prepared(self) -> Call:
        """The same for C."""
        frame = python_frames()[f"projected_control.{self.name}"]
        return Call(frame, (*self.given, *self.rest))

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """Those among the arguments."""
        return [each for each in (*self.given, *self.rest) if isinstance(each, np.ndarray)]


@dataclass(frozen=True)
class CallTiming:
    """How long a call takes, the mean of the calls that are made in turn."""

    what: str  # is computed
    arrays: int  # how many are handed over
    python_us: float  # from Python [µs]
    kernel_us: float  # the kernel alone [µs]
    bound_us: float  # what the difference may be [µs]

    @property
    def cost_us(self) -> float:
        """What a call costs on top of the kernel [µs]."""
        return self.python_us - self.kernel_us

    @property
    def missed(self) -> str:
        """What is wrong with it, in words; empty where nothing is."""
        if self.cost_us <= 0.0:
            return (
                f"a call of {self.what} from Python seems to take less than its kernel "
                f"({self.python_us:.2f} and {self.kernel_us:.2f} µs): this was not measured"
            )
        if self.cost_us > self.bound_us:
            return (
                f"a call of {self.what} from Python costs {self.cost_us:.2f} µs on top of the "
                f"kernel's {self.kernel_us:.2f}; it may cost {self.bound_us:.1f}"
            )
        return ""

    @property
    def numbers(self) -> dict[str, Any]:
        names = ("python_us", "kernel_us", "cost_us", "bound_us")
        return {
            "what": self.what,
            "arrays": self.arrays,
            **{name: round(getattr(self, name), 3) for name in names},
        }


def timed_calls() -> dict[str, tuple[list[KernelCall], bool]]:
    """What is called in turn, and whether that is made for every tick or step."""
    loop, hardware = CASES[0].build()
    states: list[RawState] = []
    run(loop, hardware, 20, lambda _, done: states.append(done.state))
    state, other = states[-1], states[0]  # the model was evaluated at the first of them
    model, plant = loop.controller.model, hardware.plant
    wrench = np.full(6, np.nan) if state.wrench is None else state.wrench
    seen = (state.stamp, state.wrench_age, state.q, state.v, wrench)
    own = (plant.sizes, plant.work)
    bodies = plant.model.arguments
    begin = (bodies.spatial_jacobian, bodies.placements, bodies.state, bodies.sizes, bodies.work)
    A, B, C = np.ones((3, 3, 3))
    steps = "simulation.plant_kernels"
    every_tick = {
        "tick": [KernelCall("control.tick.tick", seen, tuple(loop.arguments))],
        "plant step": [
            KernelCall(f"{steps}.begin_step", (False, *own, *begin)),
            KernelCall(f"{steps}.advance_step", own, tuple(bodies)),
        ],
        "model evaluation": [
            KernelCall(
                "model.constrained_arm._evaluate",
                (other.stamp, other.q, other.v),
                tuple(model.arguments),
            )
        ],
    }
    others = {
        "axpy": [KernelCall("model.linalg.axpy", (0.5, A[0], B[0]))],
        "matmul": [KernelCall("model.linalg.matmul", (A, B, C))],
        "svd_by_jacobi": [
            KernelCall("model.linalg.svd_by_jacobi", (A, B, np.zeros(3), C)),
        ],
    }
    return {
        **{what: (calls, True) for what, calls in every_tick.items()},
        **{what: (calls, False) for what, calls in others.items()},
    }


def time_calls(
    seconds: float, bound: float, per_array: float, progress: Progress = silent
) -> list[CallTiming]:
    """Measure all calls, each for so many seconds.

    Args:
        bound: What a call may cost [µs].
        per_array: And more for each array, where it is not made for every tick or step [µs].
    """
    return [
        time_call(what, calls, bound, 0.0 if always else per_array, seconds, progress)
        for what, (calls, always) in timed_calls().items()
    ]


def time_call(
    what: str,
    calls: Sequence[KernelCall],
    bound: float,
    per_array: float,
    seconds: float,
    progress: Progress = silent,
) -> CallTiming:
    """Measure calls that are made in turn, from Python and from C by turns.

    Raises:
        SimulationFailed: Where the two do not compute the same.
    """
    from_python, from_c = _in_python(calls), _in_c(calls)
    _compare(what, calls, from_python, from_c)
    times: list[tuple[float, float]] = []
    for _ in bench.rounds(seconds, LEAST_ROUNDS, progress, f"calls, {what}"):
        times.append((from_python(CALLS), from_c(CALLS)))
    us = np.array(times) * 1e6 / CALLS / len(calls)
    python_us, kernel_us = np.median(us[quieter_half(us.sum(axis=1))], axis=0)
    arrays = max(len(call.arrays) for call in calls)
    bound += per_array * arrays
    return CallTiming(what, arrays, float(python_us), float(kernel_us), bound)


def kernel_us(calls: Sequence[KernelCall], seconds: float) -> float:
    """What kernels that are called in turn take from C, the median of the quieter half [µs]."""
    from_c = _in_c(calls)
    times = np.array([1e6 * from_c(CALLS) / CALLS for _ in bench.rounds(seconds, LEAST_ROUNDS)])
    return float(np.median(times[quieter_half(times)]))


def _in_python(calls: Sequence[KernelCall]) -> Callable[[int], float]:
    """Makes the calls so many times from Python; the seconds that takes."""
    names: dict[str, Any] = {}
    lines = []
    for i, call in enumerate(calls):
        given = {f"a{i}_{j}": value for j, value in enumerate(call.given)}
        names |= {**given, f"rest{i}": call.rest, f"kernel{i}": call.function}
        words = [*given, *([f"*rest{i}"] if call.rest else [])]
        lines.append(f"kernel{i}({', '.join(words)})")
    return Timer("; ".join(lines), globals=names).timeit


def _in_c(calls: Sequence[KernelCall]) -> Callable[[int], float]:
    """The same from C."""
    library, prepared = kernel_library.load(), [call.prepared for call in calls]
    pointers = ctypes.c_void_p * len(calls)
    run_them = pointers(
        *(ctypes.cast(getattr(library, p.frame.symbol), ctypes.c_void_p).value for p in prepared)
    )
    frames = pointers(*(p.address for p in prepared))
    time_them = ctypes.CDLL(str(kernel_library.folder() / kernel_library.CALLER))
    time_them.projected_control_time_calls.restype = ctypes.c_int64

    def seconds(count: int, _alive: Any = prepared) -> float:
        ns: int = time_them.projected_control_time_calls(
            ctypes.c_int64(len(calls)), run_them, frames, ctypes.c_int64(count)
        )
        if ns < 0:
            raise SimulationFailed(f"a kernel failed: {[call.name for call in calls]}")
        return 1e-9 * ns

    return seconds


def _compare(
    what: str,
    calls: Sequence[KernelCall],
    from_python: Callable[[int], float],
    from_c: Callable[[int], float],
) -> None:
    """Refuse to compare times where not the same is computed, or nothing."""
    arrays = [array for call in calls for array in call.arrays]
    before = [array.copy() for array in arrays]
    after = []
    for make in (from_python, from_c):
        for array, value in zip(arrays, before, strict=True):
            array[...] = value
        make(3)
        after.append([array.tobytes() for array in arrays])
    same, idle = after[0] == after[1], after[0] == [array.tobytes() for array in before]
    if not same or idle:
        raise SimulationFailed(
            f"the calls of {what} {'changed nothing' if same else 'from Python and from C differ'}"
        )
