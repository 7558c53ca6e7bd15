"""What others take for the same robots, measured in turns with us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from projected_control.apps import bench
from projected_control.apps.bench.five_bar import ENDS, assembled, five_bar_loop, five_bar_urdf
from projected_control.apps.bench.peer_environment import (
    PLACO,
    TSID,
    Peer,
    PeerProblem,
    Unavailable,
    ask,
    five_bar,
)
from projected_control.apps.bench.tick_cases import (
    HUMANOID,
    PASSIVE,
    SOLES,
    WRISTS,
    LimitCase,
    MechanismCase,
    TimedCase,
)
from projected_control.apps.bench.tick_timing import TickTiming, time_native, time_ticks
from projected_control.apps.console.progress import Progress, silent
from projected_control.control.loop import ControlLoop
from projected_control.native.library import reason_against
from projected_control.native.toolchain import ExportFailed
from projected_control.resources import arms_folder
from projected_control.runs.simulated import SimulatedArm

ROBOT = "five-bar, 4 joints, 2 rows"


class FiveBarCase(MechanismCase):
    """The five-bar as a case of `tick_timing`."""

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        return five_bar_loop()


FIVE_BAR = FiveBarCase("five-bar", 4, 2, PASSIVE)


class Comparison(NamedTuple):
    """What a peer is asked for, and what we answer: a tick of ours always keeps limits."""

    robot: str  # for the table
    peer: Peer
    problem: PeerProblem
    case: TimedCase  # the same for us
    bound: float | None  # what our tick may take of theirs; None for what is only told


FIVE_BAR_BOUND, HUMANOID_BOUND, LIMITED_BOUND = 0.6, 0.5, 1.0
"""Our tick against placo's and TSID's: of the five-bar (placo alone), of talos, and of talos beside
their limits switched on, where none of these binds."""


def comparisons() -> list[Comparison]:
    """The five-bar; talos, without limits, with limits that do not bind, and with ones that do."""
    found = []
    for peer in (PLACO, TSID):
        bound = FIVE_BAR_BOUND if peer is PLACO else None
        found.append(Comparison(ROBOT, peer, five_bar(), FIVE_BAR, bound))
    if arms_folder() is None:
        return found
    tight = LimitCase(HUMANOID)
    free, limited = humanoid(HUMANOID), humanoid(tight)
    wide = replace(free, effort=dict.fromkeys(free.positions, 1e4))
    for peer in (PLACO, TSID):
        name = f"talos, {HUMANOID.joints} joints, {HUMANOID.rows} rows"
        found += [
            Comparison(name, peer, free, HUMANOID, HUMANOID_BOUND),
            Comparison(f"{name}, limits on", peer, wide, HUMANOID, LIMITED_BOUND),
            Comparison(f"{name}, {tight.binding} bind", peer, limited, tight, None),
        ]
    return found


def humanoid(case: TimedCase) -> PeerProblem:
    """What talos is asked for in a case of ours."""
    loop, _ = case.build()
    model = loop.controller.model
    arm, start = model.arm, HUMANOID.setup.start
    assert model.coordinates is not None
    effort = loop.guard.limits.effort if isinstance(case, LimitCase) else None
    return PeerProblem(
        arm.urdf,
        dict(zip(arm.joint_names, start, strict=True)),
        tuple(model.coordinates.names),
        held=(*SOLES, *WRISTS),
        effort=None if effort is None else dict(zip(arm.joint_names, effort, strict=True)),
    )


def measure(
    seconds: float, progress: Progress = silent
) -> tuple[list[dict[str, Any]], dict[str, str], str]:
    """All peers, the reasons why some are missing, and the engine of our own ticks."""
    reason = reason_against()
    timer: Callable[..., TickTiming] = time_ticks if reason else time_native
    ours = timer(FIVE_BAR, seconds)
    where = "Python" if reason else "C++"
    name = f"Pinocchio {pinocchio.__version__} computeAllTerms, {where}"
    peers, missing = [_peer(name, ROBOT, ours.pinocchio_us, ours, None)], {}
    functions = {
        "Pinocchio constraintDynamics, from Python": constraint_dynamics_us,
        "MuJoCo mj_step": mujoco_us,
    }
    asked = comparisons()
    if arms_folder() is None:
        missing["talos"] = "example-robot-data is missing: pip install 'projected_control[arms]'"
    for i, (name, function) in enumerate(functions.items()):
        progress(name, i / (len(functions) + len(asked)))
        try:
            detail, microseconds = function(seconds)
            again = timer(FIVE_BAR, seconds)  # beside this peer, in the same mood
            peers.append(_peer(f"{name}{detail}", ROBOT, microseconds, again, None))
        except (Unavailable, ImportError) as error:
            missing[name] = str(error)
    for i, each in enumerate(asked, start=len(functions)):
        progress(f"{each.peer.name}, {each.robot}", i / (len(functions) + len(asked)))
        try:
            theirs = float(ask(each.peer, seconds, each.problem)["p50_us"])
            again = timer(each.case, seconds)
            bound = None if reason else each.bound
            peers.append(_peer(each.peer.title, each.robot, theirs, again, bound))
        except (Unavailable, ExportFailed) as error:
            missing[f"{each.peer.name}, {each.robot}"] = str(error)
    progress("done", 1.0)
    return peers, missing, ours.engine


def _peer(
    name: str, robot: str, microseconds: float, ours: TickTiming, bound: float | None
) -> dict[str, Any]:
    return {
        "name": name,
        "robot": robot,
        "p50_us": round(microseconds, 3),
        "ours_p50_us": round(ours.p50_us, 3),
        "ratio": round(ours.p50_us / microseconds, 3),
        "bound": bound,
    }


def constraint_dynamics_us(seconds: float) -> tuple[str, float]:
    """Pinocchio's forward dynamics with the loop closed by a three-dimensional constraint."""
    model = pinocchio.buildModelFromXML(five_bar_urdf())
    data = model.createData()
    frames = [model.frames[model.getFrameId(name)] for name in ENDS]
    try:
        contact = pinocchio.RigidConstraintModel(
            pinocchio.ContactType.CONTACT_3D,
            model,
            frames[0].parentJoint,
            frames[0].placement,
            frames[1].parentJoint,
            frames[1].placement,
            pinocchio.ReferenceFrame.LOCAL,
        )
        models = pinocchio.StdVec_RigidConstraintModel()
        datas = pinocchio.StdVec_RigidConstraintData()
        models.append(contact)
        datas.append(contact.createData())
        if pinocchio.__version__.startswith("3"):
            pinocchio.initConstraintDynamics(model, data, models)
        else:
            pinocchio.initConstraintDynamics(model, data, models, datas)
    except (AttributeError, TypeError) as error:
        raise Unavailable(f"this Pinocchio has another interface ({error})") from None
    settings = pinocchio.ProximalSettings(1e-10, 1e-10, 10)
    q = np.array([assembled()[name] for name in list(model.names)[1:]])
    v, effort = np.zeros(model.nv), np.zeros(model.nv)

    def solve() -> None:
        pinocchio.constraintDynamics(model, data, q, v, effort, models, datas, settings)

    return "", _median_us(solve, seconds)


def mujoco_us(seconds: float) -> tuple[str, float]:
    """One step of MuJoCo's simulation, the loop closed by an equality; a hundred steps per call."""
    try:
        import mujoco
    except ImportError as error:
        raise Unavailable(f"{error}: pip install mujoco") from None
    spec = mujoco.MjSpec.from_string(five_bar_urdf())
    spec.compiler.fusestatic = False
    model = spec.compile()
    names = [model.joint(i).name for i in range(model.njnt)]
    spec.add_equality(
        type=mujoco.mjtEq.mjEQ_CONNECT,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        name1=ENDS[0],
        name2=ENDS[1],
    )
    model = spec.compile()
    model.opt.timestep = 1e-3
    data, steps = mujoco.MjData(model), 100

    def solve() -> None:
        data.qpos[:] = [assembled()[name] for name in names]
        data.qvel[:] = 0.0
        mujoco.mj_step(model, data, steps)

    return f" {mujoco.__version__}, C", _median_us(solve, seconds) / steps


def _median_us(function: Callable[[], Any], seconds: float) -> float:
    times: list[int] = []
    for _ in bench.rounds(seconds, 10):
        begin = perf_counter_ns()
        function()
        times.append(perf_counter_ns() - begin)
    return float(np.median(times)) / 1e3
