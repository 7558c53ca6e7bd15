"""A start that is told to end: it waits no longer, and what leaves an arm takes its time."""

from __future__ import annotations

from time import monotonic

import pytest

from projected_control.ros import start_and_end
from projected_control.ros.start_and_end import StartInterrupted, interrupted, pause, tell_to_end


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said to the process is forgotten after each test."""
    for name in ("told", "starts", "computes"):
        monkeypatch.setattr(start_and_end._Process, name, False)


def test_only_a_start_is_given_up() -> None:
    tell_to_end()
    assert not interrupted()
    pause(0.0)  # what leaves an arm takes the time it needs
    with start_and_end.starting():
        assert interrupted()
        begin = monotonic()
        with pytest.raises(StartInterrupted):
            pause(60.0)
        assert monotonic() - begin < 30.0
    assert not interrupted()


def test_what_computes_is_interrupted_wherever_it_is() -> None:
    done = []

    def compute() -> None:
        with start_and_end.starting(computes=True):
            done.append("began")
            tell_to_end()  # as a handler of signals does
            done.append("went on")

    with pytest.raises(StartInterrupted):
        compute()
    with pytest.raises(StartInterrupted):
        compute()  # it does not even begin
    assert done == ["began"]


def test_nothing_keeps_it() -> None:
    """A compiler that tries one way after the other takes every `Exception` as a no."""
    assert not issubclass(StartInterrupted, Exception)
