"""Cost stays flat: with a deep backlog, thousands of idle long polls, and a flood over a quota.

CPU is counted by the kernel for the server alone; no test here looks at a wall clock. The bounds
are those of the benchmarks of the same names. They hold on an idle machine and are checked by
`make test-full`, which sets `DOVETEST_BACKLOG`. Beside other work the same code takes more CPU, so
`make test` allows for several times the bounds: a cost that grows with the backlog, or a poll that
is busy, is still a hundred times beyond them.
"""

import asyncio
import os
import resource
from collections.abc import Iterator
from typing import Final

import pytest

from bench import flat, polls, quotas
from bench.tables import Row

FULL: Final = "DOVETEST_BACKLOG" in os.environ
BACKLOG: Final = int(os.environ.get("DOVETEST_BACKLOG", "200000"))
CPU_SLACK: Final = 1 if FULL else 5
CONNECTIONS: Final = 2_000
_ROUNDS: Final = 20 if BACKLOG >= 1_000_000 else 8
_IDLE_SECONDS: Final = 4.0
_ATTEMPTS_MAX: Final = 3

pytestmark = pytest.mark.timeout(_ATTEMPTS_MAX * (120 + BACKLOG // 1_000))


def beyond_bounds(fifo: bool) -> list[Row]:
    rows = asyncio.run(flat.measure(BACKLOG, _ROUNDS, fifo=fifo, note=print))
    measured = [row for row in rows if "seconds" not in str(row["measure"])]
    return [row for row in measured if float(row["ratio"] or 0) > _bound(row)]


def _bound(row: Row) -> float:
    slack = CPU_SLACK if "CPU" in str(row["measure"]) else 1
    return slack * float(row["bound"] or 0)


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_receive_and_memory_cost_the_same_at_a_deep_backlog(fifo: bool) -> None:
    """Other programs can only add to a cost, so a cost that grows does so in every attempt."""
    beyond: list[Row] = []
    for _ in range(_ATTEMPTS_MAX):
        beyond = beyond_bounds(fifo)
        if not beyond:
            break
    assert beyond == []


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Raises the limit of open files to what the kernel allows; the server inherits it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("descriptors")
def test_idle_long_polls_cost_next_to_nothing_and_a_send_wakes_one() -> None:
    rows = asyncio.run(polls.run(CONNECTIONS, _IDLE_SECONDS))
    assert [row["woken_by_one_send"] for row in rows] == [1, 1]
    shares = [float(row["share_of_a_core"] or 0) for row in rows]
    assert max(shares) < CPU_SLACK * polls.BOUND_SHARE


@pytest.mark.usefixtures("descriptors")
def test_account_below_its_quota_is_served_beside_a_flood() -> None:
    rows = asyncio.run(quotas.run(rounds=1, seconds=_IDLE_SECONDS))
    for row in rows[1:]:
        assert int(row["samples"] or 0) > 0
        assert int(row["passed"] or 0) > 0
        if FULL:
            # A machine that cannot send fast enough never reaches the quota.
            assert float(row["share_of_a_core"] or 0) < quotas.SHARE_BOUND
            assert int(row["passed"] or 0) < int(row["due"] or 0) / 2
            assert int(row["throttled"] or 0) > 0
