"""The ledger of the store in memory."""

from collections.abc import Callable

import msgspec

from dovemq.core.ledger import LedgerAsk, LedgerEntry, LedgerPage, check_entry, cut


class MemoryLedger:
    """`check_open` raises when the store is closed."""

    def __init__(
        self, check_open: Callable[[], None], entries: dict[tuple[str, str], LedgerEntry]
    ) -> None:
        self._check_open = check_open
        self._entries = entries

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        self._check_open()
        return self._entries.get((kind, name))

    async def put(self, entry: LedgerEntry) -> bool:
        self._check_open()
        check_entry(entry)
        held = self._entries.get((entry.kind, entry.name))
        newer = msgspec.structs.replace(entry, version=entry.version + 1)
        if held == newer:
            return True
        if (held.version if held else 0) != entry.version:
            return False
        self._entries[entry.kind, entry.name] = newer
        return True

    async def remove(self, entry: LedgerEntry) -> bool:
        self._check_open()
        held = self._entries.get((entry.kind, entry.name))
        if held is None or held.version != entry.version:
            return False
        del self._entries[entry.kind, entry.name]
        return True

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        self._check_open()
        found = [entry for entry in self._entries.values() if ask.wants(entry)]
        return cut(sorted(found, key=lambda entry: entry.name), ask.count_max)

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        self._check_open()
        found = [
            entry
            for entry in self._entries.values()
            if entry.kind == kind and entry.due_ms is not None and entry.due_ms <= until_ms
        ]
        return found[:count_max]
