"""A clock that moves only when it is advanced."""

from typing import Final

START_MS: Final = 1_700_000_000_000


class ManualClock:
    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        if ms < 0:
            raise ValueError(f"a clock does not go back: advance({ms})")
        self._now_ms += ms
