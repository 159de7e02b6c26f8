"""The way of a call to the server that serves its slot.

Here a driver's exceptions become errors of DoveMQ. A call is repeated only if it was not executed:
no connection could be made, the slot has moved or is being moved, or nobody serves it. In a
fail-over a call therefore fails after about a second at a dead master, and after
`CALL_SECONDS_MAX` at one that is silent; later calls go to the promoted replica.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from dovemq.core.errors import ReplicasMissing, StoreFull, StoreUnreachable
from dovemq.stores.redis_cluster.connections import Command, NotSent, RedisNode, Reply
from dovemq.stores.redis_cluster.location import RedisAddress
from dovemq.stores.redis_cluster.scripts import LuaScript
from dovemq.stores.redis_cluster.topology import RedisTopology

CALL_SECONDS_MAX: Final = 5.0
"""The longest time of a call, with the wait for a connection."""
WAIT_MS_MAX: Final = 1_000
"""The time in which replicas must confirm a write."""
ATTEMPTS_MAX: Final = 16
PAUSE_SECONDS: Final = 0.06
"""The time between attempts while nobody serves a slot, or while it is being moved."""
REASON_LENGTH_MAX: Final = 200
_REFUSALS: Final = (ClusterDownError, AskError, TryAgainError)
"""Answers of a server that has not executed a command; `MovedError` is an `AskError` too."""


class RedisRouter:
    """Every call ends after `CALL_SECONDS_MAX`, and raises `StoreUnreachable` if it failed."""

    def __init__(self, name: str, topology: RedisTopology, wait: int) -> None:
        self.name = name
        self.topology = topology
        self._wait = wait

    async def ask(self, key: bytes, commands: Sequence[Command]) -> list[Reply]:
        """Answers of commands on keys of one slot, sent together to its master.

        An error of the server about one command is among the answers.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                return await self._ask(key_slot(key), commands)
        except TimeoutError:
            self.topology.is_outdated = True
            raise self.unreachable(f"no answer within {CALL_SECONDS_MAX:g} s") from None
        except (RedisError, NotSent) as error:
            self.topology.is_outdated = True
            raise self.unreachable(str(error) or type(error).__name__) from error

    async def read(self, key: bytes, *commands: Command) -> list[Reply]:
        return [self._checked(reply) for reply in await self.ask(key, commands)]

    async def run(self, script: LuaScript, keys: Sequence[bytes], *arguments: bytes) -> Reply:
        """The answer of a script that writes to keys of one slot, after the replicas have it.

        Raises `StoreFull` if memory is full.
        """
        waiting: list[Command] = [("WAIT", self._wait, WAIT_MS_MAX)] if self._wait else []
        call: Command = (len(keys), *keys, *arguments)
        replies = await self.ask(keys[0], [("EVALSHA", script.digest, *call), *waiting])
        if isinstance(replies[0], NoScriptError):
            replies = await self.ask(keys[0], [("EVAL", script.text, *call), *waiting])
        answer, *confirmed = map(self._checked, replies)
        if confirmed and confirmed[0] < self._wait:
            raise ReplicasMissing(
                self.name,
                f"{confirmed[0]} of {self._wait} replicas had the write after {WAIT_MS_MAX} ms",
            )
        return answer

    def unreachable(self, cause: str) -> StoreUnreachable:
        return StoreUnreachable(self.name, cause[:REASON_LENGTH_MAX])

    def _checked(self, reply: Reply) -> Reply:
        if isinstance(reply, OutOfMemoryError):
            raise StoreFull
        if isinstance(reply, ResponseError):
            raise self.unreachable(str(reply)) from reply
        return reply

    async def _ask(self, slot: int, commands: Sequence[Command]) -> list[Reply]:
        asking: RedisAddress | None = None
        failure: Exception = RedisError("nobody was asked")
        for _ in range(ATTEMPTS_MAX):
            try:
                if asking is None:
                    node = await self.topology.serving(slot)
                    replies = await node.ask(commands)
                else:
                    node = self.topology.node(asking)
                    replies = await _ask_early(node, commands)
            except NotSent as error:
                failure, asking = error, None
                await self._pause(is_outdated=True)
                continue
            refused = [reply for reply in replies if isinstance(reply, _REFUSALS)]
            if not refused:
                return replies
            failure = refused[0]
            asking = await self._redirected(node, failure)
        raise failure

    async def _redirected(self, node: RedisNode, failure: ResponseError) -> RedisAddress | None:
        """The server that must be asked early, or None for the one that serves the slot."""
        if not isinstance(failure, AskError):
            await self._pause(is_outdated=isinstance(failure, ClusterDownError))
            return None
        address = (failure.host or node.address[0], failure.port)
        if isinstance(failure, MovedError):
            self.topology.moved(failure.slot_id, address)
            return None
        return address

    async def _pause(self, is_outdated: bool) -> None:
        self.topology.is_outdated |= is_outdated
        await asyncio.sleep(PAUSE_SECONDS)


async def _ask_early(node: RedisNode, commands: Sequence[Command]) -> list[Reply]:
    """Ask the server that a slot is being moved to; it takes a command only after ASKING."""
    asking: Command = ("ASKING",)
    replies = await node.ask([part for command in commands for part in (asking, command)])
    return replies[1::2]
