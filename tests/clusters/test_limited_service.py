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

pytestmark = pytest.mark.timeout(300)
SHARE = 0.5
PARTITIONS = 4
LOOKS_MAX = 1_000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LimitedService]:
    checked(LocalRedisCluster(tmp_path))
    try:
        CpuQuota(SHARE).start().stop()
    except QuotaNotPermitted as error:
        pytest.skip(str(error))
    with limited_service(2, PARTITIONS, SHARE) as started:
        yield started


async def owners_found(service: LimitedService) -> list[int]:
    """The place of the front end that owns each partition, as the service reports it."""
    async with AdminClient(service.front_ends.servers[0].admin_url) as admin:
        status = await admin.cluster()
    addresses = {each["front_end"]: each["address"] for each in status["front_ends"]}
    return [
        service.front_ends.addresses.index(addresses[each["front_end"]])
        for each in status["partitions"]
    ]


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
            assert await owners_found(service) == service.front_ends.owners
            load = RdsLoad(50.0, 2, consumers=2, senders=2, warm_up_s=0.5, seconds=1.0)
            run = await run_load(made, load, lambda: sum(service.front_ends.cpu_seconds()))
            assert (run.failures, run.owners_cpu_s > 0) == (0, True)
            await made.queues[0].purge()
        async with PinnedClients(service.front_ends.urls) as clients:
            clients.begin()
            clients.join(ClientRole.PRODUCER, 0)
            clients.join(ClientRole.CONSUMER, 1)
            await clients.watch(30.0, every_s=0.1, consumed=20)
            assert clients.consumed >= 20
            assert clients.failures == 0

    asyncio.run(work())
    assert "of a core" in service.reading
