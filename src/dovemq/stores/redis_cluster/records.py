"""Records in Redis: a hash for each kind, all in one slot.

One master therefore serves all records, and holds them in its memory. A compare-and-set is one
script call, and the stamp of the catalogue changes in the same one.
"""

from typing import Final

from dovemq.stores.owned.logged.ports import STAMPED, StoredRecord
from dovemq.stores.redis_cluster.connections import Reply
from dovemq.stores.redis_cluster.routing import RedisRouter
from dovemq.stores.redis_cluster.scripts import RedisScripts

PAGE_RECORDS: Final = 200
"""About as many records come with one answer."""


class RedisRecords:
    def __init__(self, router: RedisRouter, scripts: RedisScripts, prefix: str) -> None:
        self._router = router
        self._scripts = scripts
        self._prefix = prefix
        self._stamp = f"{prefix}:{{records}}:stamp".encode()

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        key = self._key(kind)
        (reply,) = await self._router.read(key, ("HGET", key, name.encode()))
        return None if reply is None else _record(name, reply)

    async def all(self, kind: str) -> list[StoredRecord]:
        """Reads page by page; a record that changes meanwhile is given as it was or as it is."""
        key, cursor = self._key(kind), b"0"
        found: dict[str, StoredRecord] = {}
        while True:
            command = ("HSCAN", key, cursor, "COUNT", PAGE_RECORDS)
            ((cursor, flat),) = await self._router.read(key, command)
            for name, value in zip(flat[::2], flat[1::2], strict=True):
                text = name.decode()
                found[text] = _record(text, value)
            if cursor == b"0":
                return [found[name] for name in sorted(found)]

    async def put(self, kind: str, name: str, value: bytes, version: int) -> bool:
        script, keys = self._scripts.put_record, self._keys(kind)
        written = b"%d" % version, b"%d" % (kind in STAMPED)
        return bool(await self._router.run(script, keys, name.encode(), value, *written))

    async def remove(self, kind: str, name: str, version: int) -> bool:
        script, keys = self._scripts.remove_record, self._keys(kind)
        written = b"%d" % version, b"%d" % (kind in STAMPED)
        return bool(await self._router.run(script, keys, name.encode(), *written))

    async def stamp(self) -> bytes:
        command = ("HMGET", self._stamp, "changes", "time")
        (reply,) = await self._router.read(self._stamp, command)
        return b" ".join(part or b"" for part in reply)

    def _key(self, kind: str) -> bytes:
        return f"{self._prefix}:{{records}}:kind:{kind}".encode()

    def _keys(self, kind: str) -> list[bytes]:
        return [self._key(kind), self._stamp]


def _record(name: str, stored: Reply) -> StoredRecord:
    version, _, value = stored.partition(b" ")
    return StoredRecord(name, value, int(version))
