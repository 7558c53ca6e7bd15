"""Runs whose numbers must not change unless they are meant to.

Each is a few hundred ticks of a controller on a simulated arm, tick by tick. `test_golden.py`
compares them with what stands in test/golden/, to 1e-9. ``python test/golden_runs.py`` writes them
anew: do that only where a change of the numbers is wanted, and say in the changelog which and why.
The runs start from zero effort, as they did when they were first taken.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from arms import planar_chain_model, raw_state, slider_model, spatial_model, state_on

from projected_control.apps.demo.case import run_in_process, settings_for
from projected_control.control import (
    ForceController,
    ForceGains,
    MotionController,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    MotionLimits,
    ReferencePoint,
    SetPoint,
    Sine,
    Sines,
    Waypoints,
)
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving, PointOnLine, Target
from projected_control.model.projection import Metric
from projected_control.ports import SimulatedArm, run
from projected_control.settings import build
from projected_control.settings.nodes import demo_cases
from projected_control.simulation import ForceSensor, JointFriction, Plant, assemble, start_of

FOLDER = Path(__file__).parent / "golden"
TICKS = 400
GAINS = MotionGains(480.0, 45.0)
FRICTION = {"friction.coulomb": [0.3], "friction.viscous": [0.05]}
Course = dict[str, np.ndarray]


def course(loop: ControlLoop, port: SimulatedArm, ticks: int = TICKS) -> Course:
    """All that matters of a run, one row per tick."""
    rows: dict[str, list[np.ndarray]] = {
        name: [] for name in ("q", "v", "effort", "tangent", "normal", "error", "force", "events")
    }

    def note(_: int, tick: object) -> None:
        controller = loop.controller
        values = {
            "q": tick.state.q,
            "v": tick.state.v,
            "effort": tick.report.effort,
            "tangent": controller.effort.tangent,
            "normal": controller.effort.normal,
            "error": controller.error.ravel(),
            "force": tick.multipliers,
            "events": np.array([tick.report.action, tick.report.events], dtype=float),
        }
        for name, value in values.items():
            rows[name].append(np.array(value))

    loop.begin = lambda _: loop.reset()  # as the numbers were taken: the guard starts from zero
    run(loop, port, ticks, note)
    return {name: np.array(values) for name, values in rows.items()}


def from_settings(choice: str, arm: str = "", overrides: dict | None = None) -> Course:
    """A demonstration in process, with friction."""
    case = settings_for(choice, 1.0, "paper", True, {**FRICTION, **(overrides or {})})
    hardware = build.build_plant(case.arm)
    loop = build.build_loop(case.case.node, case.controller)
    state = hardware.read()
    loop.controller.hold(state.q, state.v)
    model = loop.controller.model
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    loop.set_reference(build.build_reference(case.controller, here, 0.0))
    return course(loop, hardware)


def slider(source: str = "sensor", noise: float = 0.0, reference: str = "sine") -> Course:
    """Hybrid control of the 3R arm: force from a noisy sensor, from the model, from momentum."""
    model = slider_model()
    if reference == "sine":
        motion = Sines([-0.075, 0.0], [[Sine(0.1, 0.5)], []])
        q, v = start_of(model, motion, [-3.0, 2.0, 1.0])
    else:
        q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0])
        v = np.zeros(3)
        place = model.evaluate(q, v).theta.copy()
        if reference == "setpoint":
            here = ReferencePoint(place, *np.zeros((2, 2)))
            motion = SetPoint(
                here, place + np.array([0.03, -0.1]), MotionLimits(0.5, 4.0, 60.0), 0.01
            )
        else:
            motion = Waypoints(
                [0.0, 0.15, 0.35], place + np.array([[0, 0], [0.02, 0.05], [-0.01, 0.1]])
            )
    controller = ForceController(model, GAINS, ForceGains(cutoff=20.0))
    loop = ControlLoop(controller, motion, force_reference=Constant([5.0]), force_source=source)
    plant = Plant(
        ConstrainedArm(model.arm.twin(), model.constraint), friction=JointFriction(0.1, 0.02)
    )
    port = SimulatedArm(
        plant, q, v, sensor=ForceSensor(noise, 1), measures_force=source == "sensor"
    )
    return course(loop, port)


def moving() -> Course:
    """PIDC on a slider that travels."""
    arm = slider_model().arm
    line = PointOnLine("tip", [0.0, -0.27, 0.0], [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0])

    def motion(t: float) -> Target:
        w = 4.0
        return Target(
            *(
                np.array([x])
                for x in (
                    0.01 * (1 - np.cos(w * t)),
                    0.01 * w * np.sin(w * t),
                    0.01 * w * w * np.cos(w * t),
                )
            )
        )

    model = ConstrainedArm(arm, Moving(line, motion), slider_model().coordinates)
    q = assemble(arm, model.constraint, [-3.0, 2.0, 1.0])
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    controller = MotionController(model, GAINS)
    loop = ControlLoop(controller, Constant(place + np.array([0.01, 0.0])))
    return course(loop, SimulatedArm(Plant(ConstrainedArm(arm.twin(), model.constraint)), q))


def spatial(metric: bool) -> Course:
    """Hybrid control of seven joints under gravity with three constraint rows."""
    model = spatial_model(Metric(np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.7])) if metric else None)
    q, v = state_on(model, 1, np.full(7, 0.4), spread=0.05)
    place = model.evaluate(q, v).theta.copy()
    controller = ForceController(model, MotionGains(100.0, 20.0), ForceGains(cutoff=20.0))
    limits = Limits.of(model.arm, effort=500.0, effort_rate=1e5, velocity=50.0)
    desired = Constant([5.0, -3.0, 2.0])
    loop = ControlLoop(controller, Constant(place), limits=limits, force_reference=desired)
    plant = Plant(
        ConstrainedArm(model.arm.twin(), model.constraint), friction=JointFriction(0.1, 0.3)
    )
    return course(loop, SimulatedArm(plant, q, 0.1 * v), 200)


def passive_force() -> Course:
    """Four links on a hinge, one of them without a motor, and the force that is left."""
    model = planar_chain_model(passive=("joint_4",))
    q, _ = state_on(model, 3, np.array([0.3, 0.6, -0.8, -0.6]), spread=0.1)
    place = model.evaluate(q, np.zeros(4)).theta.copy()
    controller = PassiveJointController(model, GAINS, ForceGains(cutoff=20.0))
    desired = Constant([4.0, 1.0])
    loop = ControlLoop(controller, Constant(place + 0.02), force_reference=desired)
    return course(loop, SimulatedArm(Plant(ConstrainedArm(model.arm.twin(), model.constraint)), q))


def troubles() -> Course:
    """What the guard answers to states that should not be."""
    model = slider_model()
    q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0])
    place = model.evaluate(q, np.zeros(3)).theta.copy()
    controller = ForceController(model, GAINS, ForceGains(cutoff=20.0))
    loop = ControlLoop(controller, Constant(place + np.array([0.01, 0.1])))
    random = np.random.default_rng(5)
    efforts, events = [], []
    for k in range(300):
        state = q + 1e-3 * random.normal(size=3), 0.1 * random.normal(size=3)
        if k % 37 == 5:
            state[0][0] = np.nan
        if k % 53 == 7:
            state[1][1] = 1e3
        time = 1e-3 * (k if k % 41 else k - 5)
        force = random.normal() if k % 29 else np.nan
        report = loop.update(raw_state(model, *state, force, time))
        efforts.append(report.effort.copy())
        events.append([float(report.action), float(report.events)])
    return {"effort": np.array(efforts), "events": np.array(events)}


RUNS: dict[str, Callable[[], Course]] = {
    **{choice: lambda choice=choice: from_settings(choice) for choice in demo_cases()},
    "passive_three_link": lambda: from_settings(
        "passive",
        overrides={
            **configuration_file("three_link_passive"),
        },
    ),
    "sensor": lambda: slider(noise=0.2),
    "model": lambda: slider("model"),
    "momentum": lambda: slider("momentum"),
    "setpoint": lambda: slider(reference="setpoint"),
    "waypoints": lambda: slider(reference="waypoints"),
    "moving": moving,
    "spatial": lambda: spatial(False),
    "metric": lambda: spatial(True),
    "passive_force": passive_force,
    "troubles": troubles,
}


def configuration_file(name: str) -> dict:
    from projected_control.resources import share_file
    from projected_control.settings.files import read_parameter_file

    return read_parameter_file(share_file("config", f"{name}.yaml"))


def lockstep() -> str:
    """The numbers of the runs in test/ros/test_lockstep.py, in process, as JSON."""
    overrides = {"diagnostics_rate": 20.0, "autostart": False, **FRICTION}
    numbers = {
        choice: run_in_process(settings_for(choice, 1.5, "paper", True, overrides))
        for choice in demo_cases()
    }
    return json.dumps(numbers, indent=2)


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    if not names:
        (FOLDER / "lockstep.json").write_text(lockstep())
    for name in names or RUNS:
        values = RUNS[name]()
        np.savez_compressed(FOLDER / f"{name}.npz", **values)
        print(name, {k: v.shape for k, v in values.items()})


if __name__ == "__main__":
    main(sys.argv[1:])
