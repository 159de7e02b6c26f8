"""The wall clock, made monotone: a step backwards is waited out, never shown."""

import time


class SystemClock:
    def __init__(self) -> None:
        self._last_ms = 0

    def now_ms(self) -> int:
        now_ms = time.time_ns() // 1_000_000
        if now_ms > self._last_ms:
            self._last_ms = now_ms
        return self._last_ms
