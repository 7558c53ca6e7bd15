"""Runs whose numbers must not change unless they are meant to.

Each is a few hundred ticks of a controller on a simulated arm, tick by tick. `test_golden.py`
compares them with what stands in test/golden/, to 1e-9; those of the acting side (`golden_acting`)
byte by byte. ``python test/golden_runs.py NAME`` writes one anew and says by how much it changed
(CONTRIBUTING.md, "Golden runs"): do that only where a change of the numbers is wanted. The runs
start from zero effort, as they did when they were first taken. ``--folder`` keeps them at another
place, to compare two libraries or two machines: once without and once with ``--dry``.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import golden_acting
import numpy as np
from arms import planar_chain_model, raw_state, slider_model, spatial_model, state_on

from projected_control import SimulatedArm, kernel_library, run
from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.apps.sweeps.code_digest import processor
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
from projected_control.planning import assemble, start_of
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import demo_cases
from projected_control.simulation import ForceSensor, JointFriction, Plant

FOLDER = Path(__file__).parent / "golden"
MADE_WITH, LOCKSTEP = FOLDER / "made_with.json", FOLDER / "lockstep.json"
TICKS = 400
GAINS = MotionGains(480.0, 45.0)
FRICTION = {"friction.coulomb": [0.3], "friction.viscous": [0.05]}
Course = dict[str, np.ndarray]


def course(loop: ControlLoop, port: SimulatedArm, ticks: int = TICKS, every: int = 1) -> Course:
    """All that matters of a run, one row per tick, or one for every so many of them."""
    rows: dict[str, list[np.ndarray]] = {
        name: [] for name in ("q", "v", "effort", "tangent", "normal", "error", "force", "events")
    }

    def note(number: int, tick: object) -> None:
        if number % every:
            return
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


def from_settings(
    choice: str,
    overrides: dict | None = None,
    arm: str = "",
    plant: dict | None = None,
    ticks: int = TICKS,
    every: int = 1,
) -> Course:
    """A demonstration in process, with friction.

    Args:
        choice: Which.
        overrides: Parameters of controller and simulated arm.
        arm: Another file of config/.
        plant: Parameters of the simulated arm alone: what its controller does not know.
        ticks: How many.
        every: Of these one is kept.
    """
    file = share_file("config", f"{arm}.yaml") if arm else None
    values = {**FRICTION, **(overrides or {})}
    case = settings_for(choice, 1.0, "paper", True, values, arm_file=file)
    hardware = build.build_plant(case.arm.changed(plant or {}))
    loop = build.build_loop(case.case.node, case.controller)
    state = hardware.read()
    loop.controller.hold(state.q, state.v)
    model = loop.controller.model
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    reference = build.build_reference(case.controller, here, 0.0, state.q.copy())
    loop.set_reference(reference)
    return course(loop, hardware, ticks, every)


def seven_joints(
    choice: str, overrides: dict | None = None, plant: dict | None = None, ticks: int = 1000
) -> Course:
    """An arm of seven joints that carries its weight, on a path on its table unless told else.

    Without dry friction, which makes millimetres of the last bits in which processors differ.
    """
    smooth = {"friction.coulomb": [0.0], **(overrides or {})}
    return from_settings(choice, smooth, "seven_joints", plant, ticks, every=10)


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


def configuration_file(name: str) -> dict:
    return read_parameter_file(share_file("config", f"{name}.yaml"))


FREE = {"constraint.kind": "none", "simulation.coordinates": [], "simulation.values": []}
SEVEN = [f"joint_{i}" for i in range(1, 8)]
HEAVIER = {"simulation.mass_factor": 1.1}

RUNS: dict[str, Callable[[], Course]] = {
    **{choice: lambda choice=choice: from_settings(choice) for choice in demo_cases()},
    "passive_three_link": lambda: from_settings(
        "passive", configuration_file("three_link_passive")
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
    "path": lambda: seven_joints("force", ticks=3000),
    "resolved_rate": lambda: from_settings(
        "motion", {"law": "resolved_rate", "simulation.drive": 200.0}
    ),
    "operational_space": lambda: seven_joints(
        "force",
        {"law": "operational_space", "operational_space.priority": [1, 1, 2, 2, 3]},
    ),
    "impedance": lambda: seven_joints(
        "motion", {"law": "impedance", "impedance.stiffness": [800.0, 800.0, 40.0, 40.0, 40.0]}
    ),
    "impedance_shaped": lambda: seven_joints(
        "force",
        {
            "law": "impedance",
            "impedance.stiffness": [800.0, 800.0, 40.0, 40.0, 40.0],
            "impedance.inertia": [4.0, 4.0, 0.2, 0.2, 0.2],
            "disturbance.kind": "observer",
        },
        HEAVIER,
    ),
    "selection": lambda: seven_joints(
        "force",
        {
            "law": "selection",
            "coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y", "turn"],
            "selection.force": ["tool.z"],
        },
    ),
    "admittance": lambda: seven_joints(
        "force",
        {
            "law": "admittance",
            "coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y", "turn"],
            "selection.force": ["tool.z"],
            "admittance.damping": 2000.0,
        },
        {"contact.stiffness": [2e4]},
    ),
    "computed_torque": lambda: seven_joints(
        "motion",
        {
            **FREE,
            "law": "computed_torque",
            "coordinates": SEVEN,
            "reference.kind": "sine",
            "reference.offset": [0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0],
            "reference.amplitude": [0.2],
        },
        HEAVIER,
    ),
    "gravity": lambda: seven_joints("motion", {**FREE, "law": "gravity"}, HEAVIER),
    "compensation": lambda: seven_joints(
        "force",
        {
            "compensation.coulomb": [0.05],
            "compensation.viscous": [0.05],
            "compensation.contact": 0.1,
        },
    ),
    "integral": lambda: seven_joints("force", {"disturbance.kind": "integral"}, HEAVIER),
    "observer": lambda: seven_joints("force", {"disturbance.kind": "observer"}, HEAVIER),
    "estimated_surface": lambda: seven_joints(
        "force",
        {"constraint.estimated": True},
        {
            "constraint.point": [0.4, 0.0, 0.3],
            "constraint.direction": [0.05, 0.0, -1.0],
            "constraint.estimated": False,
        },
        ticks=3000,
    ),
    **golden_acting.RUNS,
}
"""By name, what gives a run."""


def lockstep() -> dict[str, dict]:
    """The numbers of the runs in test/ros/test_lockstep.py, in process."""
    overrides = {"diagnostics_rate": 20.0, "autostart": False, **FRICTION}
    return {
        choice: run_in_process(settings_for(choice, 1.5, "paper", True, overrides))
        for choice in demo_cases()
    }


def write_lockstep() -> None:
    """Write them anew, and say which changed by more than rounding."""
    kept, now = json.loads(LOCKSTEP.read_text()), lockstep()
    found = [
        f"lockstep: {choice}: {name} changed from {before} to {now[choice].get(name)}"
        for choice, numbers in kept.items()
        for name, before in numbers.items()
        if not _same(before, now[choice].get(name))
    ]
    print("\n".join(found) or "lockstep: the same", flush=True)
    if found:
        LOCKSTEP.write_text(json.dumps(now, indent=2))


def _same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, (int, float)):
        return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True))
    return one == other


def made_with() -> tuple[dict[str, str], dict[str, str]]:
    """What the kept runs were computed with, and what is here: bytes depend on it."""
    made_by = kernel_library.text(kernel_library.load(), "compiler")
    now = dict(name.split() for name in made_by.split(", "))
    now |= {name: version(name) for name in ("numpy", "pin")}
    now |= {"machine": platform.machine(), "libc": " ".join(platform.libc_ver())}
    now["processor"] = " ".join(reversed(processor().split()))
    return json.loads(MADE_WITH.read_text()), now


def golden(name: str, folder: Path = FOLDER) -> Course:
    """The numbers of a run as they were kept; none where it is new."""
    file = folder / f"{name}.npz"
    if not file.is_file():
        return {}
    with np.load(file) as kept:
        return {quantity: kept[quantity] for quantity in kept}


def difference(now: np.ndarray, kept: np.ndarray | None) -> float:
    """The largest difference of two arrays; infinite where they cannot be compared."""
    if kept is None or now.shape != kept.shape:
        return float("inf")
    same = (now == kept) | (np.isnan(now) & np.isnan(kept))
    gaps = np.where(same, 0.0, np.abs(now - kept))
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0.0))


def tolerance(name: str) -> float:
    """Up to which a run counts as the same."""
    before, now = made_with()
    return 0.0 if name in golden_acting.RUNS and before == now else 1e-9


def changes(
    name: str, now: Course, folder: Path = FOLDER, within: float | None = None
) -> list[str]:
    """By how much each quantity of a run changed, in lines; none where it is the same.

    Args:
        folder: Where it was kept.
        within: Up to which it counts as the same, instead of `tolerance`.
    """
    kept = golden(name, folder)
    if not kept:
        return [f"{name}: new"]
    found = {q: difference(now[q], kept.get(q)) for q in now}
    found |= {q: float("inf") for q in kept if q not in now}
    size = {q: np.nanmax(np.abs(v), initial=0.0) for q, v in kept.items()}
    return [
        f"{name}: {q} changed by {gap:.3g}, its largest value was {size.get(q, 0.0):.3g}"
        for q, gap in found.items()
        if gap > (tolerance(name) if within is None else within)
    ]


def main() -> int:
    """Write runs anew where they changed, and say by how much."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all of them by default")
    parser.add_argument("--dry", action="store_true", help="say it, and write nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they are kept")
    parser.add_argument("--within", type=float, help="what counts as the same")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(exist_ok=True)
    if unknown := [name for name in arguments.names if name not in RUNS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(RUNS)}")
    changed = False
    for name in arguments.names or RUNS:
        now = RUNS[name]()
        lines = changes(name, now, folder, arguments.within)
        print("\n".join(lines) or f"{name}: the same", flush=True)
        changed = changed or bool(lines)
        if lines and not arguments.dry:
            np.savez_compressed(folder / f"{name}.npz", **now)
    if folder == FOLDER and not arguments.names and not arguments.dry:
        write_lockstep()
        MADE_WITH.write_text(json.dumps(made_with()[1], indent=2) + "\n")
    return int(changed and arguments.dry)


if __name__ == "__main__":
    raise SystemExit(main())
