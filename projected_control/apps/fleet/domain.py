"""The ROS domain of a demonstration: one of its own, or the one that is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from projected_control.apps.fleet.monitor import Monitor
from projected_control.errors import ProjectedControlError
from projected_control.ros.neighbours import DOMAINS, already_there, of_ours

LISTEN_SECONDS = 0.6
"""How long it is listened who is there before a domain is taken [s]."""

TRIES = 10
"""How many are tried."""


def join(controller: str, say: Callable[[str], None]) -> Monitor:
    """Listen in a domain in which no other demonstration is.

    Args:
        controller: Name of the controller to come.
        say: Told where another domain is taken.

    Raises:
        ProjectedControlError: Where ROS_DOMAIN_ID names one in which there is.
    """
    asked = os.environ.get("ROS_DOMAIN_ID")
    first = os.getpid() % DOMAINS
    for number in range(TRIES):
        domain = asked or str(1 + (first + number) % DOMAINS)
        os.environ["ROS_DOMAIN_ID"] = domain
        monitor = Monitor(controller)
        try:
            monitor.spin(LISTEN_SECONDS)
            refuse_others(monitor)
        except ProjectedControlError as error:
            monitor.close()
            if asked:
                raise
            del os.environ["ROS_DOMAIN_ID"]
            say(f"{error}: another domain is taken.")
        except BaseException:
            monitor.close()
            raise
        else:
            return monitor
    raise ProjectedControlError(
        f"in {TRIES} ROS domains there were such nodes; set ROS_DOMAIN_ID to one that is free"
    )


def refuse_others(monitor: Monitor, ours_now: Collection[str] = ()) -> None:
    """Raise where nodes are there that a demonstration starts itself.

    ROS may hear of nodes seconds after they are there: it is asked more than once.

    Args:
        monitor: In the domain.
        ours_now: Names that were started from here.
    """
    others = [name for name in of_ours(monitor.nodes()) if name not in ours_now]
    if others:
        raise ProjectedControlError(already_there(others))
