"""The wall clock, made monotone: a step backwards is waited out, never shown."""

import time


class SystemClock:
    def __init__(self) -> None:
        self._last_ms = 0
        self._last_us = 0

    def now_ms(self) -> int:
        now_ms = time.time_ns() // 1_000_000
        if now_ms > self._last_ms:
            self._last_ms = now_ms
        return self._last_ms

    def now_us(self) -> int:
        """For what is recorded, never for what is decided."""
        now_us = time.time_ns() // 1_000
        if now_us > self._last_us:
            self._last_us = now_us
        return self._last_us
