"""Three front ends of one store on this machine, and the faults that hit them."""

import asyncio
import itertools
import json
import random
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.shared_faults.relayed_server import RELAYS
from bench.shared_faults.relays import HOST, LinkRelay
from dovemq.load.faults.process import LOG_CHARACTERS_SHOWN
from dovemq.load.plan import Endpoint
from dovemq.system.ports import free_ports
from dovemq.testing.local_server import LocalServer, StartFailed

COUNT: Final = 3
PORTS: Final = range(28_000, 29_000)
STORE_WAIT_SECONDS: Final = 300
"""A store on a machine with much other work may not answer for minutes."""
STARTS_MAX: Final = 5
COMMAND: Final = (sys.executable, "-m", "bench.shared_faults.relayed_server")
TRACEBACK: Final = "Traceback (most recent call last)"


class FrontEnds:
    """`async with` starts all; each has a relay to each other one."""

    def __init__(self, place: Path, url: str, skews: Sequence[dict[str, str]] = ()) -> None:
        """`skews` are the variables that give each front end a clock of its own."""
        pairs = list(itertools.permutations(range(COUNT), 2))
        ports = free_ports(3 * COUNT + len(pairs), PORTS, random.Random())
        advertised, http, admin = (ports[at * COUNT : (at + 1) * COUNT] for at in range(3))
        self._relays = {
            pair: LinkRelay(port, advertised[pair[1]])
            for pair, port in zip(pairs, ports[3 * COUNT :], strict=True)
        }
        place.mkdir(parents=True, exist_ok=True)
        secret = place / "secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32))
        self.servers = [
            LocalServer(
                place / "data",
                args=[
                    *("--store", url, "--advertise", f"{HOST}:{advertised[number]}"),
                    *("--cluster-secret-file", str(secret)),
                    # There is no load balancer that would have to notice.
                    *("--leave-seconds", "0"),
                    *("--store-wait-seconds", str(STORE_WAIT_SECONDS)),
                ],
                env={
                    RELAYS: json.dumps(self._relayed(number, advertised)),
                    **(skews[number] if skews else {}),
                },
                log=place / f"front-end-{number}.log",
                command=COMMAND,
                ports=(http[number], admin[number]),
            )
            for number in range(COUNT)
        ]

    def _relayed(self, number: int, advertised: Sequence[int]) -> dict[str, int]:
        others = (other for other in range(COUNT) if other != number)
        return {str(advertised[other]): self._relays[number, other].port for other in others}

    async def __aenter__(self) -> "FrontEnds":
        try:
            for relay in self._relays.values():
                await relay.start()
            # The first one makes the key file.
            await self.start(0)
            await self.start(*range(1, COUNT))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        running = [number for number, server in enumerate(self.servers) if server.running]
        await self.kill(*running)
        await asyncio.gather(*(relay.close() for relay in self._relays.values()))

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return tuple(
            Endpoint(server.endpoint_url, server.access_key, server.region)
            for server in self.servers
        )

    async def start(self, *numbers: int) -> None:
        await asyncio.gather(
            *(asyncio.to_thread(started_again, self.servers[each]) for each in numbers)
        )

    async def kill(self, *numbers: int) -> None:
        """Kills all at once, also paused ones."""
        for number in numbers:
            self.servers[number].signal(9)
        for number in numbers:
            await asyncio.to_thread(self.servers[number].kill)

    async def stop(self, number: int) -> int:
        """Sends SIGTERM and returns the exit code."""
        return await asyncio.to_thread(self.servers[number].stop)

    def signal(self, number: int, which: int) -> None:
        self.servers[number].signal(which)

    def cut(self, one: int, other: int) -> None:
        for pair in ((one, other), (other, one)):
            self._relays[pair].cut()

    def mend(self, one: int, other: int) -> None:
        for pair in ((one, other), (other, one)):
            self._relays[pair].mend()

    def tracebacks(self) -> list[str]:
        """The part of each log from its last traceback on; empty for one without."""
        texts = (server.log.read_text(errors="replace") for server in self.servers)
        found = (text[text.rfind(TRACEBACK) :] for text in texts if TRACEBACK in text)
        return [text[:LOG_CHARACTERS_SHOWN] for text in found]


def started_again(server: LocalServer) -> None:
    """Starts a server; a machine under load may need longer than the limit of one start."""
    for attempt in range(1, STARTS_MAX + 1):
        try:
            server.start()
        except StartFailed:
            if attempt == STARTS_MAX:
                raise
        else:
            return
