"""A service as operators run it: a store, front ends on it, and HAProxy before several of them."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Struct

from dovemq.core.access import AccessKey
from dovemq.system.ports import free_ports
from dovemq.testing.local_cluster import generator
from dovemq.testing.local_server import LocalServer
from tests.acceptance.haproxy import HOST, LocalHaproxy

FRONT_ENDS: Final = 3
PORTS: Final = range(29_000, 29_500)
"""Below the ports of clients, so that none is taken while a front end restarts."""
QUICK_END: Final = ("--leave-seconds", "0")
"""At the end of a test no load balancer must be waited for."""
SHARED: Final = ("redis", "postgresql", "cassandra")
WHOLE: Final = os.environ.get("DOVETEST_ACCEPTANCE") == "1"
SECONDS_MAX: Final = 600
"""Time for the first test of a deployment, which starts its store."""


class Shape(Struct, frozen=True):
    """The store and the number of front ends."""

    store: str = "memory"
    front_ends: int = 1

    def __str__(self) -> str:
        return f"{self.store}-{self.front_ends}"


ALL: Final = (Shape(), *(Shape(store, count) for store in SHARED for count in (1, FRONT_ENDS)))


def on_deployments(*quick: Shape, partitions: Sequence[str] = ("1",)) -> pytest.MarkDecorator:
    """Runs the tests in memory and on the shapes given, or on all with DOVETEST_ACCEPTANCE=1.

    They run once for each number of partitions that the queues of `new_queue` have; an ordinary run
    takes the first and the last one on the shapes given.
    """
    shapes = ALL if WHOLE else (Shape(), *quick)
    ends = dict.fromkeys((partitions[0], partitions[-1]))
    timeout = pytest.mark.timeout(SECONDS_MAX)
    parameters = [
        pytest.param(
            shape,
            count,
            id=str(shape) if len(partitions) == 1 else f"{shape}-{count}",
            marks=[timeout] if shape.store in SHARED else [],
        )
        for shape in shapes
        for count in (partitions if WHOLE or shape == Shape() else ends)
    ]
    return pytest.mark.parametrize(("deployment", "partitions"), parameters, indirect=True)


class Deployment(Struct, frozen=True):
    """Running front ends and the address of the service, which is HAProxy's before several."""

    servers: Sequence[LocalServer]
    endpoint_url: str

    @property
    def access_key(self) -> AccessKey:
        return self.servers[0].access_key

    @property
    def region(self) -> str:
        return self.servers[0].region

    @property
    def boto3_kwargs(self) -> dict[str, Any]:
        return {**self.servers[0].boto3_kwargs, "endpoint_url": self.endpoint_url}


def front_ends(url: str, count: int, place: Path, *args: str) -> list[LocalServer]:
    """Returns front ends that are not started. They share the store and the data directory."""
    secret = place / "secret"
    secret.touch(0o600)
    secret.write_text(secrets.token_hex(32))
    ports = iter(free_ports(3 * count, PORTS, generator()))

    def front_end(number: int) -> LocalServer:
        joining = ["--advertise", f"{HOST}:{next(ports)}", "--cluster-secret-file", str(secret)]
        return LocalServer(
            place / "data",
            args=["--store", url, *joining, "--trusted-proxies", HOST, *QUICK_END, *args],
            log=place / f"front-end-{number}.log",
            ports=(next(ports), next(ports)),
        )

    return [front_end(number) for number in range(count)]


@contextlib.contextmanager
def deployed(url: str, count: int, place: Path, *args: str) -> Iterator[Deployment]:
    """Starts front ends and, before several, HAProxy."""
    with contextlib.ExitStack() as ending:
        servers = front_ends(url, count, place, *args)
        for each in servers:
            ending.enter_context(each)
        address = servers[0].endpoint_url
        if count > 1:
            [port] = free_ports(1, PORTS, generator())
            proxy = LocalHaproxy(place / "haproxy", port, servers)
            address = ending.enter_context(proxy).endpoint_url
        yield Deployment(servers, address)


def store_url(shape: Shape, fixture: Callable[[str], Any]) -> str:
    """Returns the URL of an empty store of the shape's kind; `fixture` gives the real server."""
    name = f"acceptance_{secrets.token_hex(4)}"
    if shape.store == "redis":
        return f"{fixture('redis_cluster').url}?prefix={name}"
    if shape.store == "postgresql":
        return f"{fixture('postgres').url}?schema={name}"
    url: str = fixture("cassandra").url_of(name)
    return url
