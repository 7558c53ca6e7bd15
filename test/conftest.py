"""What several test files need."""

from __future__ import annotations

import signal
from pathlib import Path

import blocks
import numpy as np
import pytest
from arms import URDF, random_urdf, three_link_arm
from hangs import Hangs
from hypothesis import settings
from per_test import PerTest
from quiet import pytest_runtest_call  # noqa: F401  a hook: it is found by its name

from projected_control.model.arm import Arm

# These machines are busy, so no example has a deadline. The fixed examples make sure
# that a suite that passes today passes tomorrow; `make test-long` looks for new ones, with
# --hypothesis-profile=random, which prints how to repeat one that fails.
settings.register_profile("fixed", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("fixed")

# A shell that starts us in the background has us ignore Ctrl-C; what we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole-starts",
        action="store_true",
        help="start every node as a command instead of a fork of one that has its imports",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Hangs(), "hangs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what may run beside other tests: all that asserts no times and drives no browser."""
    here = Path(__file__).parent
    beside = {here: "library", here / "ros": "nodes"}
    for item in items:
        mark = beside.get(item.path.parent)
        alone = item.get_closest_marker("quiet") or item.get_closest_marker("browser")
        if mark and not alone:
            item.add_marker(mark)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many blocks of the documentation are run, where they were."""
    reports = [r for reports in terminalreporter.stats.values() for r in reports]
    if any("test_blocks.py" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.section("blocks of the documentation")
        for line in blocks.count():
            terminalreporter.line(line)


@pytest.fixture(autouse=True)
def _own_objects() -> None:
    """No test begins with what another one left in a model or a controller."""
    PerTest.forget()


@pytest.fixture
def urdf_directory():
    """Where the descriptions stand."""
    return URDF


@pytest.fixture
def random():
    return np.random.default_rng(7)


@pytest.fixture
def planar_arm() -> Arm:
    """Three revolute joints in the horizontal plane."""
    return three_link_arm()


@pytest.fixture
def spatial_arm() -> Arm:
    """Seven revolute joints in any direction."""
    return Arm.from_urdf(random_urdf(3, 7))
