"""Front ends with a limited CPU on a real Redis Cluster serve their own partitions."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.client import AdminClient
from dovemq.experiments.joram_clients import QUEUE, PinnedClients
from dovemq.experiments.limited_service import LimitedService, limited_service
from dovemq.experiments.rds_clients import RdsLoad, run_load
from dovemq.experiments.rds_controllers import Controllers, controllers
from dovemq.fabric.autonomic import ClientRole
from dovemq.testing.cpu_quota import CpuQuota, QuotaNotPermitted
from dovemq.testing.local_redis import LocalRedisCluster
from tests.real_stores import checked

SHARE = 0.5
PARTITIONS = 4
LOOKS_MAX = 1_000
LOOK_SECONDS = 0.1
WATCH_SECONDS_MAX = 300.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LimitedService]:
    checked(LocalRedisCluster(tmp_path))
    try:
        CpuQuota(SHARE).start().stop()
    except QuotaNotPermitted as error:
        pytest.skip(str(error))
    with limited_service(2, PARTITIONS, SHARE) as started:
        yield started


async def await_owners(service: LimitedService) -> None:
    """Wait until the service reports each partition at the front end where it is expected.

    On a slow machine a front end may have lost its lease, and joins again.
    """
    addresses = service.front_ends.addresses
    expected = [addresses[owner] for owner in service.front_ends.owners]
    found: list[str | None] = []
    async with AdminClient(service.front_ends.servers[0].admin_url) as admin:
        for _ in range(LOOKS_MAX):
            status = await admin.cluster()
            living = {each["front_end"]: each["address"] for each in status["front_ends"]}
            found = [living.get(each["front_end"]) for each in status["partitions"]]
            if found == expected:
                return
            await asyncio.sleep(LOOK_SECONDS)
    assert found == expected


async def largest_receive(made: Controllers) -> int:
    """A receive may look into other partitions first, so it is repeated."""
    for _ in range(LOOKS_MAX):
        if found := await made.queues[1].receive(100):
            return len(found)
    return 0


def test_partitions_are_where_they_are_expected_and_both_kinds_of_clients_work(
    service: LimitedService,
) -> None:
    async def work() -> None:
        async with controllers(service, 2, PARTITIONS) as made:
            assert [queue.name for queue in made.queues] == [QUEUE, QUEUE]
            await made.queues[0].send_all(["x"] * 50)
            assert await largest_receive(made) == 50
            await await_owners(service)
            load = RdsLoad(50.0, 2, consumers=2, senders=2, warm_up_s=0.5, seconds=1.0)
            run = await run_load(made, load, lambda: sum(service.front_ends.cpu_seconds()))
            assert run.owners_cpu_s > 0
            await made.queues[0].purge()
        async with PinnedClients(service.front_ends.urls) as clients:
            clients.begin()
            clients.join(ClientRole.PRODUCER, 0)
            clients.join(ClientRole.CONSUMER, 1)
            await clients.watch(WATCH_SECONDS_MAX, every_s=0.1, consumed=20)
            assert clients.consumed >= 20

    asyncio.run(work())
    assert "of a core" in service.reading
