"""Names that may not be used again for a while: AWS's rules of 60 seconds, if strict."""

from typing import Final

BANS_MAX: Final = 10_000


class Bans:
    def __init__(self, ban_ms: int) -> None:
        self._ban_ms = ban_ms
        self._ends_ms: dict[str, int] = {}

    def start(self, name: str, now_ms: int) -> None:
        if not self._ban_ms:
            return
        self._ends_ms.pop(name, None)
        self._ends_ms[name] = now_ms + self._ban_ms
        while self._ends_ms:
            oldest = next(iter(self._ends_ms))
            if len(self._ends_ms) <= BANS_MAX and self._ends_ms[oldest] > now_ms:
                break
            del self._ends_ms[oldest]

    def banned(self, name: str, now_ms: int) -> bool:
        return self._ends_ms.get(name, 0) > now_ms
