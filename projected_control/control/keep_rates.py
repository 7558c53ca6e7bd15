"""Limits of a law that sends velocities (`laws.resolved_rate`).

    q̇ = A⁺ẋ_c + s (q̇_asked − A⁺ẋ_c),    0 ≤ s ≤ 1 the largest with which, for each joint i,
    −min(v_i, max(q_i − l_i, 0)/τ) ≤ q̇_i ≤ min(v_i, max(u_i − q_i, 0)/τ)

All joints slow down together, so that q̇ stays on the constraint and a lower task never moves a
higher one; the reference waits meanwhile (`path_clock`). A joint comes no nearer to an end of its
range than e^(−t/τ), as drives that follow within τ/4 do not overshoot; beyond it, it only comes
back. Where the constraint's own motion takes more, s is zero, and each joint is cut off at v_i by
the guard. In a stop the last velocity dies away with the damping of a stop, within the same bounds.
"""

from __future__ import annotations

from projected_control.compiled import compiled
from projected_control.control.events import Event
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.joint_ranges import SPEED_SHARE
from projected_control.control.limit_terms import Binding
from projected_control.control.motion import stop_damping
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import fill
from projected_control.model.on_constraint import free_part, least_motion

RANGE_SECONDS = 0.1
"""τ: a joint takes no less time to the end of its range, however near it is [s]."""

_RANGE, _VELOCITY = float(Binding.RANGE), float(Binding.VELOCITY)
_RANGE_HELD, _VELOCITY_HELD = int(Event.RANGE_HELD), int(Event.VELOCITY_HELD)
_GIVEN_UP = int(Event.MOTION_GIVEN_UP)


@compiled
def keep_rates(stop: bool, t: Terms, c: ControlTerms, g: GuardTerms) -> int:
    """Fill ``solved`` with the velocities that may be sent; events of what was in their way."""
    least_motion(t, t.target[1], c.load)
    if stop:
        left = max(1.0 - stop_damping(c) * g.period[0], 0.0)
        for i in range(t.v.size):
            c.net[i] = left * t.sqrt_metric[i] * g.sent[i] - c.load[i]
        free_part(t, c.net, c.acceleration)
    else:
        for i in range(t.v.size):
            c.acceleration[i] = t.sqrt_metric[i] * c.effort[2, i] - c.load[i]
    share, joint, kind = 1.0, -1, 0.0
    for i in range(t.v.size):
        given, more = c.load[i] / t.sqrt_metric[i], c.acceleration[i] / t.sqrt_metric[i]
        most = SPEED_SHARE * g.velocity[i]
        way = g.upper[i] - t.q[i] if more > 0.0 else t.q[i] - g.lower[i]
        if more < 0.0:
            given, more = -given, -more
        bound = min(most, max(way, 0.0) / RANGE_SECONDS)
        if more > 0.0 and given + more > bound:
            room = max(bound - given, 0.0) / more
            if room < share:
                share, joint = room, i
                kind = _VELOCITY if bound == most else _RANGE
    for i in range(t.v.size):
        c.solved[i] = (c.load[i] + share * c.acceleration[i]) / t.sqrt_metric[i]
    fill(c.binds, 0.0)
    fill(c.given_up, 0.0)
    c.motion_share[0] = 1.0
    if joint < 0:
        return 0
    c.binds[joint] = kind
    events = _VELOCITY_HELD if kind == _VELOCITY else _RANGE_HELD
    if stop:
        return events
    c.motion_share[0] = share
    for r in range(t.theta.size):
        for i in range(t.v.size):
            c.given_up[r] -= (1.0 - share) / g.period[0] * t.J_theta[r, i] * c.acceleration[i]
    return events | _GIVEN_UP
