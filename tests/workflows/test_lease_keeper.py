"""The heartbeat of a lease, on virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovemq.client.errors import Refused, TimedOut
from dovemq.client.heartbeat import LeaseKeeper
from dovemq.testing.clock import VirtualLoop, run_virtually

LEASE_SECONDS = 30


class Server:
    """Notes when a lease is extended; `failure` is raised from the given beat on."""

    def __init__(self, failure: Exception | None = None, fails_from: int = 0) -> None:
        self.beats: list[float] = []
        self._failure = failure
        self._fails_from = fails_from

    async def extend(self, queue: str, receipt: str, seconds: int) -> None:
        assert (queue, receipt, seconds) == ("q", "r", LEASE_SECONDS)
        self.beats.append(asyncio.get_running_loop().time())
        if self._failure is not None and len(self.beats) > self._fails_from:
            raise self._failure

    async def worked(self, seconds: float) -> LeaseKeeper:
        keeper = LeaseKeeper(self.extend, "q", "r", LEASE_SECONDS)
        await keeper.start()
        await asyncio.sleep(seconds)
        await keeper.stop()
        return keeper


def _virtually(main: Callable[[], Coroutine[Any, Any, LeaseKeeper]]) -> LeaseKeeper:
    return run_virtually(main(), VirtualLoop())


def test_lease_is_renewed_three_times_in_its_time() -> None:
    server = Server()
    keeper = _virtually(lambda: server.worked(99.0))
    assert server.beats == pytest.approx([10.0 * number for number in range(1, 10)], abs=0.1)
    assert not keeper.lost


def test_short_work_needs_no_renewal() -> None:
    server = Server()
    _virtually(lambda: server.worked(9.0))
    assert server.beats == []


def test_lease_that_somebody_else_has_is_lost_at_once() -> None:
    server = Server(Refused(400, "MessageNotInflight", "gone", ""), fails_from=1)
    assert _virtually(lambda: server.worked(100.0)).lost
    assert len(server.beats) == 2


def test_lease_survives_a_short_outage_and_is_lost_in_a_long_one() -> None:
    server = Server(TimedOut("http://x", 1.0), fails_from=3)
    assert not _virtually(lambda: server.worked(59.0)).lost
    server = Server(TimedOut("http://x", 1.0), fails_from=3)
    assert _virtually(lambda: server.worked(100.0)).lost
