"""What ``bench view`` and ``bench demo`` conclude from what they saw, without running it."""

from __future__ import annotations

import pytest

from projected_control.apps.bench import demo
from projected_control.apps.bench.view import BOUND, GROWTH, by_minute, missed, summary, table


def turn(latency: float, late: int, clients: int, grown: float = 0.0, pictures: int = 100) -> dict:
    return {
        "p50": [latency, 1.01 * latency, 0.99 * latency],
        "p99": [3.0 * latency] * 3,
        "missed": [late],
        "clients": clients,
        "seconds": 10.0,
        "memory": (90.0, 90.0 + grown),
        "cpu": 8.0,
        "pictures": pictures,
    }


def rounds(latency: float, late: int, **page: float) -> list[dict]:
    """Three rounds: alone 100 µs and 0, 4 and 2 deadlines missed."""
    alone = [turn(100.0, late, 0) for late in (0, 4, 2)]
    watched = [turn(latency, late, 2, **page) for _ in range(3)]
    return [each for pair in zip(alone, watched, strict=True) for each in pair]


def test_a_page_that_costs_nothing_passes() -> None:
    numbers = summary(rounds(100.0, 3))
    assert missed(numbers, BOUND) == []
    assert numbers["latency_p50_us"] == {"alone": 100.0, "watched": 100.0}
    assert "with the page" in table(numbers)


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (rounds(112.0, 0), "latency (p50) was 112.0 µs, alone 100.0 µs"),
        (rounds(100.0, 9), "missed 9 deadlines in a turn or minute, alone at most 4"),
        (rounds(100.0, 0, grown=GROWTH + 1.0), "the page grew from 90 to 111 MB"),
        (rounds(100.0, 0, pictures=0), "the clients saw no picture"),
    ],
)
def test_what_it_complains_of(turns: list[dict], words: str) -> None:
    assert words in " ".join(missed(summary(turns), BOUND))


def test_long_turns_show_how_their_missed_deadlines_spread() -> None:
    """Ten minutes alone with 3 to 21 a minute: a middle minute of 22 is within one of the worst."""
    told = [(60.0 * minute + 30.0, 3 + 2 * minute) for minute in range(10)]
    alone = {**turn(100.0, 0, 0), "missed": by_minute(told, 600.0), "seconds": 600.0}
    assert alone["missed"] == [3 + 2 * minute for minute in range(10)]
    for middle, complaints in ((22, 0), (23, 1)):
        late = {**turn(100.0, 0, 2), "missed": [0] * 3 + [middle] * 4 + [99] * 3, "seconds": 600.0}
        assert len(missed(summary([alone, late]), BOUND)) == complaints
    assert by_minute([(0.2, 1), (9.99, 2)], 10.0) == [3]


SHOWN = {
    "busy": 2,
    "status": 0,
    "answered": 10000,
    "of": 10000,
    "off": [],
    "real_time_factor": 0.91,
    "moving_after": 14.2,
    "pictures_per_second": 4.7,
    "gain_answered_after": 0.62,
    "refused": "",
}


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({}, ""),
        ({"status": 1}, "ended with status 1"),
        ({"answered": 9999}, "9,999 of 10,000 states were answered"),
        ({"off": ["force_mean"]}, "not as in process: force_mean"),
        ({"gain_answered_after": 2.4}, "a changed gain was answered after 2.40 s, 2 are allowed"),
        ({"gain_answered_after": None}, "the gain was not changed: no answer came"),
        ({"refused": "read-only"}, "the gain was not changed: read-only"),
        ({"busy": 0}, "the arm moved 14.2 s after the command, 10 are allowed"),
    ],
)
def test_what_is_said_of_a_demonstration(seen: dict, words: str) -> None:
    numbers = {**SHOWN, **seen}
    assert words in " ".join(demo.missed(numbers, demo.ANSWER))
    assert bool(words) == bool(demo.missed(numbers, demo.ANSWER))
    assert "real-time factor" in demo.table(numbers)
