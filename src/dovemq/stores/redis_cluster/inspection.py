"""A diagnosis of the servers of Redis for `dovemq doctor`, which changes nothing on them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib.resources import files
from typing import Final

from msgspec import Struct
from redis.exceptions import RedisError, ResponseError

from dovemq.core.checks import Check, CheckState, clock_check
from dovemq.core.errors import StoreUnusable
from dovemq.stores.inspection import schema_check
from dovemq.stores.owned.logged.ports import Records
from dovemq.stores.redis_cluster.connections import NotSent, RedisNode
from dovemq.stores.redis_cluster.database import new_router
from dovemq.stores.redis_cluster.fitness import (
    SCHEMA_VERSION,
    read_facts,
    require_fit_server,
    schema_key,
    start_failure,
)
from dovemq.stores.redis_cluster.location import RedisLocation, written_address
from dovemq.stores.redis_cluster.records import RedisRecords
from dovemq.stores.redis_cluster.routing import CALL_SECONDS_MAX
from dovemq.stores.redis_cluster.scripts import load_scripts

COMMANDS: Final = (
    "GET KEY",
    "SET KEY x",
    "DEL KEY",
    "UNLINK KEY",
    "PEXPIRE KEY 1",
    "HGET KEY x",
    "HMGET KEY x",
    "HSCAN KEY 0",
    "HSET KEY x x",
    "HDEL KEY x",
    "HINCRBY KEY x 1",
    "XADD KEY * x x",
    "XRANGE KEY - +",
    "XTRIM KEY MINID 0",
    "ZADD KEY 1 x",
    "ZREM KEY x",
    "ZRANGEBYLEX KEY - +",
    "ZRANGEBYSCORE KEY 0 1",
    "WAIT 0 0",
    "TIME",
)
"""Every command that the store runs, in a form that the server can check without running it."""
SETTINGS: Final = ("appendfsync", "cluster-require-full-coverage", "min-replicas-to-write")
_HELD: Final[Mapping[str, tuple[CheckState, str]]] = {
    "always": ("ok", "an answered message survives a power cut"),
    "everysec": ("weak", "a power cut may lose the last second of what was answered"),
    "no": ("weak", "a power cut may lose the last half minute of what was answered"),
}


class _Master(Struct, frozen=True):
    """A master, what INFO says of it, and those of `SETTINGS` that it tells."""

    name: str
    facts: dict[str, str]
    settings: dict[str, str]

    @property
    def replicas(self) -> int:
        return int(self.facts.get("connected_slaves", 0))

    @property
    def durability(self) -> tuple[CheckState, str]:
        if self.facts.get("aof_enabled") != "1":
            return "weak", "appendonly is no: a restart loses what the last snapshot does not hold"
        if self.facts.get("aof_last_write_status", "ok") != "ok":
            return "broken", "the last write of the append-only file failed: look at its disk"
        sync = self.settings.get("appendfsync", "")
        if sync not in _HELD:
            return "ok", "appendonly is yes; the user may not ask for appendfsync"
        state, survives = _HELD[sync]
        return state, f"appendonly is yes and appendfsync {sync}: {survives}"


class InspectedRedis:
    def __init__(self, location: RedisLocation, now_ms: Callable[[], int]) -> None:
        self.records: Records | None = None
        self._location, self._now_ms = location, now_ms
        self._router = new_router(location)

    async def close(self) -> None:
        await self._router.topology.close()

    async def checks(self) -> AsyncIterator[Check]:
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                nodes = await self._router.topology.masters()
                masters = [await self._looked_at(node) for node in nodes]
        except TimeoutError:
            raise self._router.unreachable(f"no answer within {CALL_SECONDS_MAX:g} s") from None
        except (RedisError, NotSent) as error:
            raise start_failure(self._router, error) from error
        releases = sorted({each.facts.get("redis_version", "?") for each in masters})
        yield Check(f"database {self._location}", "ok", f"Redis {', '.join(releases)}")
        yield self._servers(masters)
        for check in (*_durability(masters), *self._replication(masters)):
            yield check
        key = schema_key(self._location)
        (stored,) = await self._router.read(key, ("GET", key))
        yield schema_check(None if stored is None else int(stored), SCHEMA_VERSION)
        yield await self._rights(key)
        if stored is not None:
            self.records = RedisRecords(self._router, load_scripts(), self._location.prefix)
        for node in nodes:
            yield await self._clock(node)

    async def _looked_at(self, node: RedisNode) -> _Master:
        name, facts = written_address(node.address), await read_facts(node)
        require_fit_server(self._router.name, name, facts)
        (reply,) = await node.ask([("CONFIG", "GET", *SETTINGS)])
        told = [] if isinstance(reply, ResponseError) else [part.decode() for part in reply]
        return _Master(name, facts, dict(zip(told[::2], told[1::2], strict=True)))

    def _servers(self, masters: list[_Master]) -> Check:
        topology, names = self._router.topology, ", ".join(each.name for each in masters)
        if not topology.is_cluster:
            if len(self._location.addresses) > 1:
                raise StoreUnusable(
                    self._router.name, f"{names} is not part of a cluster", "name it alone"
                )
            return Check("servers", "ok", f"{names}, which is not part of a cluster")
        if topology.unserved:
            found = f"{topology.unserved} slots have no master; masters: {names}"
            return Check("servers", "broken", found)
        return Check("servers", "ok", f"{len(masters)} masters: {names}")

    def _replication(self, masters: list[_Master]) -> Iterator[Check]:
        wait, counts = self._location.wait, [each.replicas for each in masters]
        found = f"replicas of each master: {', '.join(map(str, counts))}; wait={wait}"
        if min(counts) < wait:
            yield Check("replication", "broken", f"{found}: writes fail for want of replicas")
        elif max(counts) == 0:
            yield Check("replication", "ok", f"{found}: the only copy")
        elif wait == 0:
            yield Check("replication", "weak", f"{found}: a fail-over may lose the newest writes")
        elif min(counts) == wait:
            found += ": the loss of one replica stops the queues of its master"
            yield Check("replication", "weak", found)
        else:
            yield Check("replication", "ok", found)

    async def _rights(self, key: bytes) -> Check:
        text = files(__package__).joinpath("scripts/rights.lua").read_text("utf-8")
        (reply,) = await self._router.ask(key, [("EVAL", text, 1, key, *COMMANDS)])
        if isinstance(reply, ResponseError):
            return Check("rights", "broken", f"scripts cannot be run: {reply}")
        if reply:
            refused = ", ".join(part.decode() for part in reply)
            prefix = self._location.prefix
            return Check("rights", "broken", f"not allowed on keys {prefix}:*: {refused}")
        return Check("rights", "ok", "enough to serve")

    async def _clock(self, node: RedisNode) -> Check:
        before_ms = self._now_ms()
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                (reply,) = await node.ask([("TIME",)])
        except (TimeoutError, RedisError, NotSent) as error:
            raise self._router.unreachable(str(error) or "no answer") from None
        seconds, microseconds = map(int, reply)
        server_ms = seconds * 1_000 + microseconds / 1_000
        return clock_check(written_address(node.address), server_ms, before_ms, self._now_ms())


def _durability(masters: list[_Master]) -> Iterator[Check]:
    """One check for all masters that agree."""
    held: dict[tuple[CheckState, str], list[str]] = {}
    for master in masters:
        held.setdefault(master.durability, []).append(master.name)
    for (state, found), names in held.items():
        where = "" if len(held) == 1 else f" ({', '.join(names)})"
        yield Check("durability", state, found + where)
    if any(each.settings.get("cluster-require-full-coverage") == "yes" for each in masters):
        found = "cluster-require-full-coverage is yes: all masters stop when one has no successor"
        yield Check("coverage", "weak", found)
