"""The control laws, one file each; and the dispatch to them, so that a tick is one compiled call.

A new law is a file here and a number in `law_kinds.Law`: see CONTRIBUTING.md.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from projected_control.compiled import (
    Columns,
    Integers,
    Matrix,
    Numbers,
    compiled,
    from_source,
    kernel,
)
from projected_control.control.compensation import locate_contact
from projected_control.control.holding import see_contacts
from projected_control.control.law_kinds import LAWS
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.rank_change import keep_directions
from projected_control.control.task_axes import locate_axes
from projected_control.control.terms import ControlTerms, unpack_control
from projected_control.model.constrained_arm import Terms, evaluate_model

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def _dispatch() -> dict[str, Any]:
    """``choose(law, stop, passive, t, c)``: one branch per law."""
    kinds = sorted(LAWS.values(), key=lambda kind: kind.number)
    branches = "".join(
        f"    if law == {int(kind.number)}:\n        law_{kind.name}(stop, passive, t, c)\n"
        for kind in kinds
    )
    source = f"def choose(law, stop, passive, t, c):\n{branches}"
    return from_source(source, __name__, **{f"law_{kind.name}": kind.kernel for kind in kinds})


choose = _dispatch()["choose"]


@compiled
def apply_law(law: int, stop: bool, passive: Integers, t: Terms, c: ControlTerms) -> None:
    """Fill the effort's rows tangent, normal and total, in joint units, from an evaluated model."""
    choose(law, stop, passive, t, c)
    for i in range(t.h.size):
        c.effort[0, i] = c.tangent[i] * t.sqrt_metric[i]
        c.effort[1, i] = c.normal[i] * t.sqrt_metric[i]
        c.effort[2, i] = c.effort[0, i] + c.effort[1, i]
    for r in range(passive.size):
        c.effort[2, passive[r]] = 0.0


@kernel
def compute(
    law: int,
    stop: bool,
    time: float,
    q: Numbers,
    v: Numbers,
    M: Columns,
    h: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    functions: Numbers,
    target: Numbers,
    model_work: Numbers,
    passive: Integers,
    control_work: Numbers,
) -> None:
    """Evaluate a prepared model and apply a law; see `ModelArguments`."""
    t = evaluate_model(
        time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target, model_work
    )
    c = unpack_control(control_work, t, passive.size)
    o = unpack_one_sided(c.one_sided, t.b.size)
    if o.total[0] != 0.0:
        see_contacts(t, c, o)
    keep_directions(t, c)
    locate_contact(v, spatial_jacobian, placements, c)
    locate_axes(placements, q.size, c)
    apply_law(law, stop, passive, t, c)
