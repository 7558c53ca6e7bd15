"""What ``bench view`` concludes from its turns, without running them."""

from __future__ import annotations

import pytest

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
