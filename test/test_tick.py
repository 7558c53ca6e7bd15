"""One tick: the same numbers compiled or not, and nothing left behind."""

import inspect
import json
import tracemalloc
from typing import get_type_hints

import numpy as np
import pytest
from arms import planar_chain_model, raw_state, slider_model, spatial_model, state_on
from python_process import output_of

from projected_control.compiled import KERNELS
from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.live import SLOTS
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Sine, Sines
from projected_control.control.state import RawState
from projected_control.control.tick import TickArguments

T = 1e-3
SCRIPT = """
import json
import numpy as np
from arms import raw_state, slider_model, spatial_model, state_on
from projected_control.compiled import COMPILED
from projected_control.control import (
    ForceController, ForceGains, Law, MotionController, MotionGains, PassiveJointController)
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.model.projection import Metric
from projected_control.control.references import Sine, Sines

gains, force, T = MotionGains(480.0, 45.0), ForceGains(), 1e-3
weights = Metric(np.linspace(0.5, 4.0, 7))
near = {3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
some = {3: ("joint_2",), 7: ("joint_2", "joint_5")}
controllers = {}
for name, build in {"3": slider_model, "7": spatial_model}.items():
    passive = some[int(name)]
    controllers[f"pidc {name}"] = MotionController(build(), gains)
    controllers[f"idc {name}"] = MotionController(build(), gains, Law.IDC)
    controllers[f"hybrid {name}"] = ForceController(build(), gains, force)
    controllers[f"passive {name}"] = PassiveJointController(build(passive=passive), gains)
    controllers[f"passive force {name}"] = PassiveJointController(
        build(passive=passive), gains, force)
controllers["weighted 7"] = ForceController(spatial_model(metric=weights), gains, force)

numbers = {}
for name, controller in controllers.items():
    model, rows = controller.model, []
    q, v = state_on(model, 1, near[model.n], 0.05)
    v *= 0.1
    place = model.evaluate(q, v).theta.copy()
    wave = Sines(place, [[Sine(0.01, 1.0 + i)] for i in range(model.k)])
    presses = controller.force is not None
    press = Sines(np.full(model.m, 5.0), [[Sine(2.0, 3.0)]] * model.m) if presses else None
    limits = Limits.of(model.arm, effort=300.0, effort_rate=3e4)
    loop = ControlLoop(controller, wave, limits=limits, force_reference=press)
    for k in range(40):
        away = q + k * T * v
        if k == 20:
            away = away * np.nan
        measured = np.full(model.m, 4.0 + np.sin(k))
        report = loop.update(raw_state(model, away, v, measured, k * T))
        rows.append([*report.effort, *controller.effort.total, report.action, report.events])
        if k == 10:
            controller.set_gains(MotionGains(100.0, 20.0), 0.01)
    numbers[name] = [[float(x) for x in row] for row in rows]
print(json.dumps({"compiled": COMPILED, "numbers": numbers}))
"""


def test_ticks_are_the_same_compiled_or_not():
    """Every law, three and seven joints, gains blending, a bad state: 1e-12 of the effort."""
    fast, slow = (json.loads(output_of(SCRIPT, PROJECTED_CONTROL_COMPILE=c)) for c in "10")
    if not fast["compiled"]:
        pytest.skip("there is no compiler to compare with")
    assert not slow["compiled"]
    assert len(fast["numbers"]) == 11
    for name, rows in fast["numbers"].items():
        quick, plain = np.array(rows), np.array(slow["numbers"][name])
        np.testing.assert_array_equal(quick[:, -2:], plain[:, -2:], err_msg=name)
        size = np.linalg.norm(plain[:, :-2], axis=1).max()
        assert np.abs(quick - plain)[:, :-2].max() <= 1e-12 * size, name
        assert (np.abs(plain[:, :-2]).max(axis=0) > 0.0).sum() >= 4


@pytest.fixture
def running():
    """A loop with everything in it, and a function that makes it tick on."""
    model = slider_model()
    q, v = state_on(model, 1, np.array([-3.8, 2.4, 1.4]), 0.1)
    place = model.evaluate(q, v).theta.copy()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains())
    wave = Sines(place, [[Sine(0.01, 1.0)], []])
    loop = ControlLoop(controller, wave, force_reference=Sines([5.0], [[Sine(1.0, 1.0)]]))
    still, done = raw_state(model, q, v, 4.0, 0.0), 0

    def tick_on(count):
        nonlocal done
        for _ in range(count):
            loop.update(RawState(q + 1e-9 * done, v, done * T, still.wrench))
            done += 1

    loop.warm_up()
    return tick_on


@pytest.mark.parametrize("build", [slider_model, spatial_model, planar_chain_model])
def test_arguments_are_as_declared(build):
    """Names and order of the kernel; type, order, shape or layout of every array of a loop."""
    parameters = list(inspect.signature(KERNELS["projected_control.control.tick.tick"]).parameters)
    assert parameters[5:] == list(TickArguments._fields)
    controller = ForceController(build(), MotionGains(480.0, 45.0), ForceGains())
    model = controller.model
    loop = ControlLoop(controller, Sines(np.zeros(model.k), [[]] * model.k))
    sizes = {
        "n": model.n,
        "m": model.m,
        "k": model.k,
        "p": controller.passive.size,
        "joints": model.n + 1,
        "frames": int(model.arguments.sizes[3]),
        "functions": model.m + model.k,
        "extra": 0,
        "slots": len(SLOTS),
        "motion": loop.arguments.reference.size,
        "force": loop.arguments.force_reference.size,
    }
    hints = get_type_hints(TickArguments, include_extras=True)
    for name, array in loop.arguments._asdict().items():
        declared = hints[name].__metadata__[0]
        assert array.dtype == (np.int64 if declared.whole else np.float64), name
        assert array.flags["F_CONTIGUOUS" if declared.order == "F" else "C_CONTIGUOUS"], name
        if declared.layout is None:
            shape = eval(f"({declared.shape},)", {}, sizes)
            assert array.shape == shape, name
        elif "pieces" in declared.layout.sizes:
            own = dict(
                zip(("size", "pieces", "sines"), array[:3].astype(int).tolist(), strict=True)
            )
            assert array.size == declared.layout.size(**own), name
        else:
            own = {size: sizes[size] for size in declared.layout.sizes}
            assert array.size == declared.layout.size(**own), name


def test_a_thousand_ticks_leave_nothing_behind(running):
    running(200)
    tracemalloc.start()
    try:
        running(100)
        before, _ = tracemalloc.get_traced_memory()
        running(1000)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1024
    assert peak - before < 64 * 1024
