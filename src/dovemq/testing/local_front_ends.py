"""Several `dovemq serve` processes on one shared store, each with a limited share of a core.

They accept any credentials, on loopback alone: signatures are no part of what is measured with
them.
"""

import contextlib
import random
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dovemq.cluster.ownership import wanted_owner
from dovemq.cluster.sightings import FrontEnd, FrontEndState, Heartbeat
from dovemq.core.errors import DoveError
from dovemq.load.costs import tree_cpu_seconds
from dovemq.system.ports import LOOPBACK, free_ports
from dovemq.testing.cpu_quota import CpuQuota
from dovemq.testing.daemons import LocalService
from dovemq.testing.local_cluster import generator
from dovemq.testing.local_server import LocalServer

PORTS: Final = range(23_000, 25_000)
POOL: Final = 60
"""Ports among which those are chosen that spread partitions evenly."""
DRAWS_MAX: Final = 50_000
FIRST_QUEUE: Final = 1
"""The number of the first queue of an empty store."""


class NoEvenSpread(DoveError):
    def __init__(self, partitions: int, front_ends: int) -> None:
        super().__init__(
            f"No addresses were found that spread {partitions} partitions evenly over "
            f"{front_ends} front ends: take fewer of both."
        )


def owners_of(addresses: Sequence[str], partitions: int, queue_number: int) -> list[int]:
    """The place in `addresses` of the front end that owns each partition, while all of them live
    and no other does."""
    living = [
        FrontEnd(place, 1, Heartbeat(address, "", 1, FrontEndState.SERVING))
        for place, address in enumerate(addresses)
    ]
    owners = (wanted_owner((queue_number, number), living) for number in range(partitions))
    return [owner.incarnation for owner in owners if owner is not None]


def spreading_addresses(
    pool: Sequence[int],
    front_ends: int,
    partitions: int,
    rng: random.Random,
    queue_number: int = FIRST_QUEUE,
) -> list[str]:
    """Addresses of ports of the pool whose front ends own equally many partitions of the queue, or
    one more than others.

    The owner of a partition follows from a hash of its front end's address, so that a few ones have
    often very different numbers of them.
    """
    for _ in range(DRAWS_MAX):
        addresses = [f"{LOOPBACK}:{port}" for port in rng.sample(pool, front_ends)]
        owned = Counter(owners_of(addresses, partitions, queue_number))
        numbers = [owned[place] for place in range(front_ends)]
        if max(numbers) - min(numbers) <= 1:
            return addresses
    raise NoEvenSpread(partitions, front_ends)


class LocalFrontEnds(LocalService):
    """`with LocalFrontEnds(directory, url, 3, 12, cpu_share=0.15) as front_ends:`.

    The partitions of the store's first queue are spread evenly: `owners` has the number of the
    front end for each. No quota holds during the start, which takes much CPU once.
    """

    def __init__(
        self,
        directory: Path,
        store_url: str,
        count: int,
        partitions: int,
        *,
        cpu_share: float | None = None,
    ) -> None:
        super().__init__(directory)
        rng = generator()
        pool = free_ports(POOL, PORTS, rng)
        self.addresses = spreading_addresses(pool, count, partitions, rng)
        self.owners = owners_of(self.addresses, partitions, FIRST_QUEUE)
        self.secret = secrets.token_hex(32)
        self.servers: list[LocalServer] = []
        self._store_url = store_url
        self._quotas = [] if cpu_share is None else [CpuQuota(cpu_share) for _ in range(count)]

    def launch(self) -> None:
        secret = self.directory / "secret"
        secret.touch(mode=0o600)
        secret.write_text(self.secret)
        for number, address in enumerate(self.addresses):
            arguments = ["--store", self._store_url, "--advertise", address]
            arguments += ["--cluster-secret-file", str(secret), "--leave-seconds", "0"]
            arguments += ["--insecure-no-auth"]
            log = self.directory / f"front-end-{number}.log"
            self.servers.append(LocalServer(self.directory / "data", args=arguments, log=log))
            self.servers[-1].start()
        for quota, server in zip(self._quotas, self.servers, strict=False):
            quota.start()
            quota.add(server.pid)

    def restart(self, number: int) -> None:
        """Start a front end again that was killed, with its quota."""
        server = self.servers[number]
        server.start()
        if self._quotas:
            self._quotas[number].add(server.pid)

    def stop(self) -> None:
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError):
                server.kill()
        self.servers = []
        for quota in self._quotas:
            quota.stop()

    @property
    def urls(self) -> list[str]:
        return [server.endpoint_url for server in self.servers]

    @property
    def limit(self) -> str:
        """Says how the CPU is limited, for reports."""
        return self._quotas[0].text if self._quotas else "no limit"

    def cpu_seconds(self) -> list[float]:
        """The CPU time of each front end since its start."""
        return [tree_cpu_seconds(server.pid) for server in self.servers]
