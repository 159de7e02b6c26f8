"""When a commit starts: at once, or when a crowd of clients is back."""

import asyncio

import pytest

from dovemq.stores.owned.gathering import CROWD_MIN, Gathering

TURNS = 5
TEST_SECONDS_MAX = 60


class Counter:
    def __init__(self) -> None:
        self.hand_overs = 0
        self.happened = asyncio.Event()

    def count(self) -> None:
        self.hand_overs += 1
        self.happened.set()


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
async def gathering(counter: Counter) -> Gathering:
    return Gathering(asyncio.get_running_loop(), counter.count)


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def test_first_request_goes_at_the_end_of_its_turn(
    gathering: Gathering, counter: Counter
) -> None:
    gathering.joined(1)
    assert not counter.happened.is_set()
    await turns()
    assert counter.hand_overs == 1


@pytest.mark.parametrize("requests", range(CROWD_MIN))
async def test_few_requests_are_committed_at_once(
    gathering: Gathering, counter: Counter, requests: int
) -> None:
    gathering.committed(requests)
    gathering.joined(1)
    await turns()
    assert counter.hand_overs == 1


async def test_crowd_is_committed_together_once_it_is_complete(
    gathering: Gathering, counter: Counter
) -> None:
    gathering.committed(CROWD_MIN)
    for requests in range(1, CROWD_MIN):
        gathering.joined(requests)
    assert not counter.happened.is_set()
    gathering.joined(CROWD_MIN)
    gathering.joined(CROWD_MIN + 1)
    await turns()
    assert counter.hand_overs == 1


async def test_incomplete_crowd_is_committed_after_a_moment(
    gathering: Gathering, counter: Counter
) -> None:
    gathering.committed(CROWD_MIN)
    gathering.joined(1)
    gathering.joined(2)
    await counter.happened.wait()
    gathering.committed(2)
    gathering.joined(1)
    await turns()
    assert counter.hand_overs == 2
