"""The log of one partition in Redis: a stream of groups, and a hash with epoch and bookmark.

The id of an entry is the position and the number 1, since Redis has no id 0-0. Redis takes entries
in rising order only, so a group that comes late, below the newest one, is refused.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from dovemq.core.errors import InvariantError, OwnerChanged
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import LogRow
from dovemq.stores.redis_cluster.connections import Reply
from dovemq.stores.redis_cluster.routing import RedisRouter
from dovemq.stores.redis_cluster.scripts import RedisScripts

PAGE_BYTES: Final = 4 << 20
"""The size that pages of a scan aim at."""
PAGE_ROWS_FIRST: Final = 16
PAGE_ROWS_MAX: Final = 512
"""The most groups of a page. One that follows a page of small groups may be larger than wanted."""
READ_POSITIONS_MAX: Final = 64
"""The positions that are asked for at once."""
TRIM_ROWS_MAX: Final = 1_000
"""The groups that one command removes, so that the server is soon free for others."""
REMOVED_MS: Final = 24 * 3_600_000
"""The time for which an owner that does not know of the removal is refused."""
POSITION_DIGITS: Final = 19


class RedisLog:
    def __init__(
        self,
        router: RedisRouter,
        scripts: RedisScripts,
        prefix: str,
        place: PartitionKey,
        epoch: int,
    ) -> None:
        queue, partition = place
        self._router = router
        self._scripts = scripts
        self._place = place
        self._epoch = b"%d" % epoch
        self._stream = f"{prefix}:{{{queue}:{partition}}}:log".encode()
        self._head = f"{prefix}:{{{queue}:{partition}}}:head".encode()

    async def take(self) -> None:
        """Note the epoch in the database; all earlier writes then have their replicas."""
        answer = await self._router.run(self._scripts.open_log, [self._head], self._epoch)
        if answer == b"fenced":
            raise OwnerChanged(*self._place)

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        script = self._scripts.append if grow else self._scripts.append_freeing
        keys = (self._stream, self._head)
        match await self._router.run(script, keys, self._epoch, _entry_id(position), group):
            case b"done":
                return
            case b"again":
                # The script has written nothing. From Redis 7.2 on, WAIT waits for writes of its
                # own connection only, so this one has waited for nothing.
                await self.take()
            case b"fenced":
                raise OwnerChanged(*self._place)
            case b"other":
                raise InvariantError(f"two groups were appended at position {position}")
            case b"late":
                raise InvariantError(f"position {position} was appended after a higher one")

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for start in range(0, len(positions), READ_POSITIONS_MAX):
            ids = map(_entry_id, positions[start : start + READ_POSITIONS_MAX])
            commands = [("XRANGE", self._stream, at, at) for at in ids]
            for reply in await self._router.read(self._stream, *commands):
                found.update(_rows(reply))
        return found

    async def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        count = PAGE_ROWS_FIRST
        while True:
            command = ("XRANGE", self._stream, _entry_id(first), "+", "COUNT", count)
            (reply,) = await self._router.read(self._stream, command)
            if not reply:
                return
            page = _rows(reply)
            yield page
            if len(page) < count:
                return
            first = page[-1][0] + 1
            largest = max(len(group) for _, group in page)
            count = max(1, min(PAGE_BYTES // (largest + 1), 2 * count, PAGE_ROWS_MAX))

    async def trim(self, before: int) -> None:
        """Removes whole nodes of the stream in steps, then the few entries of the last node."""
        limit = ("XTRIM", self._stream, "MINID", "~", _entry_id(before), "LIMIT", TRIM_ROWS_MAX)
        while (await self._router.read(self._stream, limit))[0]:
            pass
        rest = ("XTRIM", self._stream, "MINID", "=", _entry_id(before))
        await self._router.read(self._stream, rest)

    async def bookmark(self) -> int:
        (reply,) = await self._router.read(self._head, ("HGET", self._head, "bookmark"))
        return int(reply or 0)

    async def set_bookmark(self, position: int) -> None:
        written = f"{position:0{POSITION_DIGITS}}".encode()
        await self._router.run(self._scripts.set_bookmark, [self._head], self._epoch, written)

    async def remove(self) -> None:
        keys = (self._stream, self._head)
        await self._router.run(self._scripts.remove_log, keys, b"%d" % REMOVED_MS)


def _entry_id(position: int) -> bytes:
    return b"%d-1" % position


def _rows(reply: Reply) -> list[LogRow]:
    return [(int(entry_id.partition(b"-")[0]), fields[1]) for entry_id, fields in reply]
