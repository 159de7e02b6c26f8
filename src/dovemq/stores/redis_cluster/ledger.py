"""The ledger in Redis: for each kind a hash of entries and two sorted sets, all in one slot.

Implements `core.ports.Ledger`. One master serves all entries, and holds them in its memory.
"""

from typing import Final

from dovemq.core.ledger import (
    LAST,
    PAGE_BYTES_MAX,
    LedgerAsk,
    LedgerEntry,
    LedgerPage,
    check_entry,
)
from dovemq.stores.redis_cluster.routing import RedisRouter
from dovemq.stores.redis_cluster.scripts import RedisScripts

LOOKED_AT_MAX: Final = 1_000
"""Entries that one script looks at, so that it ends soon."""


class RedisLedger:
    def __init__(self, router: RedisRouter, scripts: RedisScripts, prefix: str) -> None:
        self._router = router
        self._scripts = scripts
        self._prefix = prefix

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        key = self._key(kind, "entries")
        (reply,) = await self._router.read(key, ("HGET", key, name.encode()))
        return None if reply is None else _entry(kind, name.encode(), reply)

    async def put(self, entry: LedgerEntry) -> bool:
        check_entry(entry)
        due = b"" if entry.due_ms is None else b"%d" % entry.due_ms
        labels = f"{entry.version + 1} {entry.state} {entry.type} ".encode()
        stored = labels + due + b"\n" + entry.value
        arguments = (entry.name.encode(), stored, b"%d" % entry.version, due)
        return bool(
            await self._router.run(self._scripts.put_entry, self._keys(entry.kind), *arguments)
        )

    async def remove(self, entry: LedgerEntry) -> bool:
        arguments = (entry.name.encode(), b"%d" % entry.version)
        return bool(
            await self._router.run(self._scripts.remove_entry, self._keys(entry.kind), *arguments)
        )

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        after, prefix = ask.after.encode(), ask.prefix.encode()
        first = b"(" + after if after >= prefix and after else b"[" + prefix
        wanted = [
            part
            for label in (ask.state, ask.type)
            for part in (b"%d" % (label is not None), (label or "").encode())
        ]
        *flat, following = await self._router.run(
            self._scripts.page_entries,
            self._keys(ask.kind)[:2],
            first if first != b"[" else b"-",
            b"(" + (ask.prefix + LAST).encode(),
            b"%d" % ask.count_max,
            b"%d" % PAGE_BYTES_MAX,
            b"%d" % LOOKED_AT_MAX,
            *wanted,
        )
        entries = tuple(
            _entry(ask.kind, name, stored)
            for name, stored in zip(flat[::2], flat[1::2], strict=True)
        )
        return LedgerPage(entries, following.decode() or None)

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        entries, _, due = self._keys(kind)
        arguments = (b"%d" % until_ms, b"%d" % count_max, b"%d" % PAGE_BYTES_MAX)
        flat = await self._router.run(self._scripts.due_entries, [entries, due], *arguments)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [_entry(kind, name, stored) for name, stored in pairs]

    def _key(self, kind: str, part: str) -> bytes:
        return f"{self._prefix}:{{ledger}}:{kind}:{part}".encode()

    def _keys(self, kind: str) -> list[bytes]:
        return [self._key(kind, part) for part in ("entries", "names", "due")]


def _entry(kind: str, name: bytes, stored: bytes) -> LedgerEntry:
    labels, _, value = stored.partition(b"\n")
    version, state, type_, due = labels.decode().split(" ")
    due_ms = int(due) if due else None
    return LedgerEntry(kind, name.decode(), value, state, type_, due_ms, int(version))
