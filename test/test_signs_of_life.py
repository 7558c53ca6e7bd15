"""Signs of life: from when to when they come, and that a long request does not hold them up."""

import threading
from time import monotonic

import pytest

pytest.importorskip("rclpy", reason="projected_control.ros imports it")

from projected_control.ros.loop_thread import HUNG_SECONDS, SignsOfLife

REQUEST = 30.0


class Beats:
    """Counts them, and lets a test wait for so many."""

    def __init__(self) -> None:
        self.count = 0
        self._more = threading.Condition()

    def __call__(self) -> None:
        with self._more:
            self.count += 1
            self._more.notify_all()

    def wait_for(self, more: int) -> bool:
        with self._more:
            last = self.count + more
            return self._more.wait_for(lambda: self.count >= last, timeout=60.0)


def test_a_long_request_does_not_hold_them_up():
    beats = Beats()
    life = SignsOfLife(beats, lambda seconds: True, REQUEST)
    life.start()
    with life.deciding():
        assert beats.wait_for(10)
    assert beats.wait_for(1)
    life.stop()
    count = beats.count
    threading.Event().wait(0.05)
    assert beats.count == count


def test_they_end_with_what_they_stand_for():
    reads = True
    life = SignsOfLife(lambda: None, lambda seconds: reads and seconds == HUNG_SECONDS, REQUEST)
    life.turned()
    now = monotonic()
    assert life.true(now)
    assert not life.true(now + HUNG_SECONDS)  # an executor that does not turn
    with life.deciding():
        assert life.true(now + 0.9 * REQUEST)  # it is at a request
        assert not life.true(now + 1.1 * REQUEST)  # for too long
        life.request_time = 2.0 * REQUEST
        assert life.true(now + 1.1 * REQUEST)
    assert not life.true(monotonic() + HUNG_SECONDS)
    reads = False
    assert not life.true(now)  # the reading thread hangs or has ended
