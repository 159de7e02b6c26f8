"""Times of requests: pauses, open loops, and waits while the service fails."""

import asyncio
import itertools
import math
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovemq.load.pacing import (
    PAUSE_MS_MAX,
    TIMER_US_MAX,
    ClosedPace,
    GaveUp,
    OpenPace,
    Outage,
    absence_us,
)
from dovemq.load.plan import ArrivalPattern
from dovemq.testing.clock import VirtualLoop, run_virtually

SECOND_US = 1_000_000
TURN_US = 10


def virtually(work: Callable[[Callable[[], int]], Coroutine[Any, Any, None]]) -> None:
    loop = VirtualLoop()
    run_virtually(work(lambda: 1_000 * loop.now_ms()), loop)


def test_clients_of_a_wave_come_one_by_one_and_leave_in_reverse_order() -> None:
    there = [
        [client for client in range(4) if not absence_us(client, 4, second * SECOND_US, 8_000_000)]
        for second in range(16)
    ]
    wave = [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2], [0, 1], [0]]
    assert there == [*wave, *wave]


@pytest.mark.parametrize("client", range(1, 4))
def test_client_is_there_after_its_absence(client: int) -> None:
    for at_us in range(0, 16_000_000, 250_000):
        back_us = at_us + absence_us(client, 4, at_us, 8_000_000)
        assert back_us - at_us <= 8_000_000
        assert absence_us(client, 4, back_us, 8_000_000) == 0


def test_closed_pace_pauses_between_requests_and_not_before_the_first() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        pace = ClosedPace(500, now_us)
        began_us = now_us()
        times = [await pace.next_us() - began_us for _ in range(3)]
        assert times == [0, 500_000, 1_000_000]

    virtually(work)


def test_constant_arrivals_come_at_one_interval_from_a_drawn_start() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        pace = OpenPace(10_000, ArrivalPattern.CONSTANT, now_us(), random.Random(1), now_us)
        began_us = now_us()
        times = [await pace.next_us() for _ in range(100)]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert 0 <= times[0] - began_us <= 10_000 + TIMER_US_MAX
        assert all(abs(gap - 10_000) <= TIMER_US_MAX for gap in gaps)
        assert abs(sum(gaps) / len(gaps) - 10_000) < 20

    virtually(work)


def test_poisson_arrivals_have_the_mean_and_the_spread_of_their_law() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        pace = OpenPace(10_000, ArrivalPattern.POISSON, now_us(), random.Random(1), now_us)
        times = [await pace.next_us() for _ in range(4_000)]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        mean = sum(gaps) / len(gaps)
        variation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5 / mean
        # Four standard errors of a mean and of a variation of 4,000 exponential gaps.
        assert abs(mean - 10_000) < 4 * 10_000 / 4_000**0.5
        assert abs(variation - 1) < 4 / 4_000**0.5 * 2**0.5

    virtually(work)


@pytest.mark.parametrize(("punctual", "late_us_max"), [(False, TIMER_US_MAX), (True, TURN_US)])
async def test_punctual_client_does_not_wait_for_a_whole_millisecond(
    punctual: bool, late_us_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    time_us = 0

    async def sleep(seconds: float) -> None:
        """Sleeps as an event loop does: one turn, or until the next whole millisecond."""
        nonlocal time_us
        time_us += TURN_US if not seconds else 1_000 * math.ceil(1_000 * seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    pace = OpenPace(
        9_777, ArrivalPattern.CONSTANT, 0, random.Random(1), lambda: time_us, punctual=punctual
    )

    first_us = await pace.next_us()
    late = [await pace.next_us() - first_us - 9_777 * number for number in range(1, 100)]
    assert 0 < max(map(abs, late)) <= late_us_max


def test_late_client_asks_at_once_and_its_waiting_counts() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        pace = OpenPace(10_000, ArrivalPattern.CONSTANT, now_us(), random.Random(1), now_us)
        first_us = await pace.next_us()
        await asyncio.sleep(1)
        asked_us = now_us()
        times = [await pace.next_us() for _ in range(50)]
        assert now_us() == asked_us
        assert times[0] - first_us <= 10_000 + TIMER_US_MAX
        assert times[-1] < asked_us

    virtually(work)


def test_pauses_of_an_outage_grow_up_to_a_bound() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        outage = Outage(60_000, random.Random(1), now_us)
        pauses = []
        for _ in range(12):
            then_us = now_us()
            await outage.failed(ConnectionError("cut"))
            pauses.append((now_us() - then_us) // 1_000)
        assert pauses[0] <= 20 < 100 < pauses[4]
        assert PAUSE_MS_MAX // 2 <= max(pauses[6:]) <= PAUSE_MS_MAX
        outage.over()
        then_us = now_us()
        await outage.failed(ConnectionError("cut"))
        assert now_us() - then_us <= 20_000

    virtually(work)


def test_outage_that_does_not_end_is_given_up_with_the_last_reason() -> None:
    async def work(now_us: Callable[[], int]) -> None:
        outage = Outage(2_000, random.Random(1), now_us)
        began_us = now_us()

        async def fail() -> None:
            for number in range(100):
                await outage.failed(ConnectionError(f"cut {number}"))

        with pytest.raises(GaveUp, match="no success for 3 seconds; last error: cut 8"):
            await fail()
        assert 2 * SECOND_US <= now_us() - began_us <= 4 * SECOND_US

    virtually(work)
