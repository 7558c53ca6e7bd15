"""Fleets of node processes; see `fleet`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from afresh import pytest_runtest_makereport, pytest_runtest_teardown  # noqa: F401  hooks

_SET_BY_FLEETS = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_PYTHON_CHECK_FIELDS", "ROS_LOG_DIR")


@pytest.fixture(scope="session")
def kernels() -> None:
    """Compile here what the nodes need: the first time this takes longer than they wait."""
    from node_template import load_kernels

    load_kernels()


@pytest.fixture(scope="session")
def template() -> Iterator[Any]:
    """What nodes are forked from; begun when the first one is."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from node_template import Template

    made = Template()
    yield made
    made.end()


def _new_fleet(folder: Any, template: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    from fleet import Fleet

    marks = ("whole_starts", "quiet")  # of a shared fleet those of the file
    whole = request.config.getoption("whole_starts") or any(
        request.node.get_closest_marker(mark) for mark in marks
    )
    before = {name: os.environ.get(name) for name in _SET_BY_FLEETS}
    fleet = Fleet(folder, None if whole else template)
    try:
        yield fleet
    finally:
        try:
            fleet.close()
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@pytest.fixture(scope="module")
def shared_fleet(
    kernels: None,
    template: Any,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Any]:
    """One for all tests of a file, ended with it.

    Starting processes takes seconds, so that the tests of a file share them. Each test brings them
    to where it begins, whatever the one before it did (see the fixtures of each file). After a test
    that failed there is another one (see `afresh`).
    """
    yield from _new_fleet(tmp_path_factory.mktemp("fleet"), template, request)


@pytest.fixture
def fleet(
    kernels: None, template: Any, tmp_path: Any, request: pytest.FixtureRequest
) -> Iterator[Any]:
    """One of a test's own."""
    yield from _new_fleet(tmp_path, template, request)
