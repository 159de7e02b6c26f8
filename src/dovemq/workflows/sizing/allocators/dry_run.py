"""An allocator that changes nothing, to see what the manager would do."""

from collections.abc import Mapping, Sequence


class DryRunAllocator:
    """Pretends to have these consumers; `assume` says whether decisions count as carried out."""

    name = "dry-run"

    def __init__(self, start: Mapping[str, int] | None = None, *, assume: bool = False) -> None:
        self._consumers = dict(start or {})
        self._assume = assume

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        return {topic: self._consumers.get(topic, 1) for topic in topics}

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]:
        if self._assume:
            self._consumers |= wanted
        return ()

    async def close(self) -> None:
        pass
