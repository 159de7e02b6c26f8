"""The wall clock of the machine, which never goes back."""

import time


class SystemClock:
    """Repeats the last time after a step backwards, until the machine's clock has passed it."""

    def __init__(self) -> None:
        self._last_ms = 0

    def now_ms(self) -> int:
        now_ms = time.time_ns() // 1_000_000
        if now_ms > self._last_ms:
            self._last_ms = now_ms
        return self._last_ms
