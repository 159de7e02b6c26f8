"""The servers of a cluster, and which of them serves a slot.

Learned from any server that answers, again whenever a call has failed or was redirected. Each time
another server is asked first: one that is cut off from the others would tell the same old state
for ever. One server that is not part of a cluster serves all slots.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from redis.exceptions import RedisError, ResponseError

from dovemq.stores.redis_cluster.connections import Connecting, NotSent, RedisNode, Reply
from dovemq.stores.redis_cluster.location import (
    RedisAddress,
    RedisLocation,
    written_address,
)

SLOTS: Final = 16_384
LEARN_SECONDS_MAX: Final = 1.0
"""The time after which another server is asked."""
_ALONE: Final = "cluster support disabled"


class RedisTopology:
    def __init__(self, location: RedisLocation, connecting: Connecting) -> None:
        self.is_cluster = True
        self.is_closed = False
        self.is_outdated = True
        self._location = location
        self._connecting = connecting
        self._nodes: dict[RedisAddress, RedisNode] = {}
        self._masters: list[RedisAddress | None] = [None] * SLOTS
        """The address of the master of each slot."""
        self._sources = list(location.addresses)
        """Servers to learn from, in the order in which they are asked."""
        self._learning = asyncio.Lock()

    async def serving(self, slot: int) -> RedisNode:
        """The master of a slot. Raises `NotSent` or `RedisError`."""
        if self.is_outdated:
            await self._learn()
        if (address := self._masters[slot]) is None:
            self.is_outdated = True
            raise RedisError(f"no server of the cluster serves slot {slot}")
        return self.node(address)

    async def masters(self) -> list[RedisNode]:
        if self.is_outdated:
            await self._learn()
        return [self.node(address) for address in dict.fromkeys(self._masters) if address]

    @property
    def unserved(self) -> int:
        """The number of slots that no server serves, as far as was learned."""
        return self._masters.count(None)

    def node(self, address: RedisAddress) -> RedisNode:
        if self.is_closed:
            raise RedisError("this client was closed")
        if (node := self._nodes.get(address)) is None:
            node = RedisNode(address, self._connecting, self._location.connections)
            self._nodes[address] = node
        return node

    def moved(self, slot: int, address: RedisAddress) -> None:
        """Note what a server has said of one slot. The others are learned when it matters: a
        server that has not heard of the move yet would tell the old state of this one."""
        self._masters[slot] = address

    async def close(self) -> None:
        self.is_closed = True
        for node in self._nodes.values():
            await node.close()

    async def _learn(self) -> None:
        """Ask one server after another. Calls that wait for this meanwhile take the outcome."""
        async with self._learning:
            if not self.is_outdated:
                return
            failure: Exception = RedisError("no server is known")
            for source in list(self._sources):
                # Before it is asked: a call that is cancelled while a server does not answer
                # must not make the next call begin with the same one.
                self._ask_last(source)
                try:
                    async with asyncio.timeout(LEARN_SECONDS_MAX):
                        (reply,) = await self.node(source).ask([("CLUSTER", "SLOTS")])
                    return await self._take(source, reply)
                except (RedisError, NotSent) as error:
                    failure = error
                except TimeoutError:
                    failure = RedisError(f"{written_address(source)} does not answer")
            raise failure

    async def _take(self, source: RedisAddress, reply: Reply) -> None:
        if isinstance(reply, ResponseError):
            if _ALONE not in str(reply):
                raise reply
            self.is_cluster = False
            self._masters = [source] * SLOTS
        else:
            masters: list[RedisAddress | None] = [None] * SLOTS
            for first, last, master, *_ in reply:
                masters[first : last + 1] = [_address(master, source)] * (last + 1 - first)
            self._masters = masters
        self.is_outdated = False
        await self._forget_others(dict.fromkeys(_members(source, reply)))

    def _ask_last(self, source: RedisAddress) -> None:
        self._sources = [address for address in self._sources if address != source] + [source]

    async def _forget_others(self, members: dict[RedisAddress, None]) -> None:
        """Keep the servers of the URL and those of the cluster, as many as there are now."""
        kept = dict.fromkeys((*self._location.addresses, *members))
        known = [address for address in self._sources if address in kept]
        self._sources = [*(address for address in kept if address not in known), *known]
        for address in [address for address in self._nodes if address not in kept]:
            await self._nodes.pop(address).close()


def _members(source: RedisAddress, reply: Reply) -> Iterator[RedisAddress]:
    if not isinstance(reply, ResponseError):
        for _, _, *members in reply:
            for member in members:
                yield _address(member, source)


def _address(member: list[bytes | int | None], source: RedisAddress) -> RedisAddress:
    """The address of a server in CLUSTER SLOTS; without a host it is that of the server asked."""
    host, port = member[:2]
    text = host.decode() if isinstance(host, bytes) else ""
    return (text if text not in ("", "?") else source[0]), int(port or 0)
