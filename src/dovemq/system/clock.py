"""The clocks of the machine: the wall clock, which never goes back here, and a monotonic one."""

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


def monotonic_ms() -> int:
    """Milliseconds since some moment; they pass also while the machine sleeps, if it can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000
