"""The conditions that servers must meet before a store is opened on them.

Read from INFO, which needs no right to change settings.
"""

import asyncio
import logging
from typing import Final

from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError

from dovemq.core.errors import StoreUnreachable, StoreUnusable
from dovemq.stores.redis_cluster.connections import NotSent, RedisNode, tls_failed
from dovemq.stores.redis_cluster.location import RedisLocation, written_address
from dovemq.stores.redis_cluster.routing import CALL_SECONDS_MAX, RedisRouter

SCHEMA_VERSION: Final = 1
"""Rises when keys or scripts change so that older releases must not touch them."""
RELEASE_MIN: Final = 7
"""The first release of Redis that runs scripts while memory is full."""
POLICIES: Final = ("noeviction", "volatile-")
"""Policies that evict no key without an expiry. The only keys of ours with one are notes of
removed logs, which may go."""

_log = logging.getLogger(__name__)


async def require_fit(router: RedisRouter, location: RedisLocation) -> None:
    """Raises `StoreUnusable` if something must be changed, `StoreUnreachable` otherwise."""
    try:
        async with asyncio.timeout(CALL_SECONDS_MAX):
            masters = await router.topology.masters()
            if not router.topology.is_cluster and len(location.addresses) > 1:
                found = f"{written_address(masters[0].address)} is not part of a cluster"
                raise StoreUnusable(router.name, found, "name this one server alone")
            facts = [await read_facts(master) for master in masters]
    except TimeoutError:
        raise router.unreachable(f"no answer within {CALL_SECONDS_MAX:g} s") from None
    except (RedisError, NotSent) as error:
        raise start_failure(router, error) from error
    for master, told in zip(masters, facts, strict=True):
        server = written_address(master.address)
        require_fit_server(router.name, server, told)
        _warn(router.name, server, told, location.wait)
    await _note_schema(router, schema_key(location))


async def read_facts(master: RedisNode) -> dict[str, str]:
    (reply,) = await master.ask([("INFO",)])
    if isinstance(reply, ResponseError):
        raise reply
    lines = reply.decode("utf-8", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def require_fit_server(name: str, server: str, facts: dict[str, str]) -> None:
    release, policy = facts.get("redis_version", ""), facts.get("maxmemory_policy", "")
    if not release.split(".")[0].isdigit() or int(release.split(".")[0]) < RELEASE_MIN:
        remedy = f"use Redis {RELEASE_MIN}.0 or newer, or Valkey"
        raise StoreUnusable(name, f"{server} is Redis {release}", remedy)
    if facts.get("role") != "master":
        raise StoreUnusable(name, f"{server} is a replica", "name its master")
    if facts.get("maxmemory", "0") != "0" and not policy.startswith(POLICIES):
        found = f"{server} removes keys when memory is full (maxmemory-policy {policy})"
        raise StoreUnusable(name, found, "set maxmemory-policy noeviction, or lose messages")


def _warn(name: str, server: str, facts: dict[str, str], wait: int) -> None:
    if facts.get("aof_enabled") != "1":
        _log.warning(
            "%s: %s has appendonly off: it loses what its last snapshot does not hold when it ends",
            name,
            server,
        )
    if (replicas := int(facts.get("connected_slaves", wait))) < wait:
        _log.warning(
            "%s: %s has %d replicas, so that writes fail until there are %d as wait asks for",
            name,
            server,
            replicas,
            wait,
        )


def schema_key(location: RedisLocation) -> bytes:
    return f"{location.prefix}:{{records}}:schema".encode()


async def _note_schema(router: RedisRouter, key: bytes) -> None:
    """The first front end notes the version; of several at once, one does.

    Memory that is full must not keep a front end from starting, so it writes only then.
    """
    (stored,) = await router.read(key, ("GET", key))
    if stored is None:
        (stored,) = await router.read(key, ("SET", key, SCHEMA_VERSION, "NX", "GET"))
    if stored is not None and int(stored) > SCHEMA_VERSION:
        found = f"its keys have version {int(stored)}, this release knows {SCHEMA_VERSION}"
        raise StoreUnusable(router.name, found, "use a newer release of DoveMQ")


def start_failure(router: RedisRouter, error: Exception) -> StoreUnusable | StoreUnreachable:
    cause = error.cause if isinstance(error, NotSent) else error
    if isinstance(cause, (AuthenticationError, NoPermissionError)):
        remedy = "correct user and password in the URL, or what the user may do"
        return StoreUnusable(router.name, str(error), remedy)
    if isinstance(error, NotSent) and tls_failed(error):
        return StoreUnusable(router.name, str(error), "correct ca, cert, key or verify in the URL")
    return router.unreachable(str(error) or type(error).__name__)
