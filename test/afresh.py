"""After a test that fails, the next ones of its file begin with fixtures of their own.

Nodes that the tests of a file share may be in any state after a failure, and those that were asked
what their threads were at have ended (`Fleet._scene`). So what is shared by a file is torn down
with a test that failed, as if it were the last one, and made anew for the next: one failure is
reported as one. What the whole run shares stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Note that a test, or what it begins with, has failed."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Tear down all but what the run shares; what follows finds nothing left to tear down."""
    if item.stash.get(_FAILED, False):
        item.session._setupstate.teardown_exact(item.session)
