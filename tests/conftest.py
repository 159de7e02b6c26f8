"""Settings of the whole suite: signals, shared fixtures, real stores, and the summary at the end.

The latter stands here and not beside the contract since the front process of a parallel run reads
no other conftest.
"""

import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio

from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from tests.real_stores import (
    JARS,
    begin_run,
    end_run,
    is_worker,
    new_directory,
    running,
    shared_cassandra,
)
from tests.unit.embedded import Place

# No limit in time for an example: the machine may be slow, and the first one may compile.
hypothesis.settings.register_profile("dovemq", deadline=None)
hypothesis.settings.load_profile("dovemq")

CONTRACT = re.compile(r"tests/contract/.*\[([\w ]+)\]$")


SLOW_FIXTURES = {"cassandra", "own_cassandra"}
"""Names of fixtures, and of parameters for which a fixture asks for one of them."""
SLOW_SECONDS_MAX = 600
"""Time for a test that may have to start Cassandra on a busy machine."""


def pytest_configure(config: pytest.Config) -> None:
    """A shell lets what it starts in the background ignore them, and so would all its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if not is_worker(config):
        begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not is_worker(config):
        end_run()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None)
        parameters = map(str, callspec.params.values()) if callspec else ()
        slow = SLOW_FIXTURES & {*getattr(item, "fixturenames", ()), *parameters}
        if slow and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS_MAX))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many sentences of the contract hold on each store."""
    tally: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if match := CONTRACT.search(report.nodeid):
                tally.setdefault(match[1], Counter())[outcome] += 1
    for store, outcomes in sorted(tally.items()):
        broken = outcomes["failed"] + outcomes["error"]
        line = f"contract on {store}: {outcomes['passed']} sentences hold, {broken} do not"
        terminalreporter.write_line(line)


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A data directory with an embedded store, on a disk that can be made to fail."""
    made = Place(tmp_path)
    yield made
    made.leave()


@pytest.fixture(scope="session")
def cassandra() -> LocalCassandra:
    """Three nodes that all workers share. Use a keyspace of your own (`url_of`), and harm no node.

    A test that asks for it by `getfixturevalue` needs a longer timeout than others.
    """
    return shared_cassandra()


@pytest.fixture(scope="module")
def own_cassandra() -> Iterator[LocalCassandra]:
    """Three nodes for a module of tests that kill or pause them."""
    with running(LocalCassandra(new_directory("cassandra"), jars=JARS)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[LocalRedisCluster]:
    """Three masters and three replicas for each worker; harm no node."""
    with running(LocalRedisCluster(new_directory("redis"))) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def own_redis() -> Iterator[LocalRedisCluster]:
    """Three masters and three replicas for a module of tests that kill or pause them."""
    with running(LocalRedisCluster(new_directory("redis"))) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[LocalPostgres]:
    """A server for each worker; do not harm it."""
    with running(LocalPostgres(new_directory("postgres"))) as server:
        yield server
