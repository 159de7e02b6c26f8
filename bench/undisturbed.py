"""Repetition of measurements that other machines on the same hardware disturbed (Linux only)."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

STOLEN_SHARE_MAX: Final = 0.01
"""The share of processor time that other machines may take from a measurement of some seconds."""
ATTEMPTS_MAX: Final = 5

_STOLEN: Final = 7
_COUNTED: Final = 8
"""Later columns of /proc/stat are already counted in the first ones."""


class ProcessorTime(Struct, frozen=True):
    """Ticks of all processors since the start of the machine; other machines took `stolen`."""

    stolen: int
    total: int

    @classmethod
    def now(cls) -> "ProcessorTime":
        with open("/proc/stat") as file:
            ticks = [int(text) for text in file.readline().split()[1 : 1 + _COUNTED]]
        return cls(ticks[_STOLEN], sum(ticks))

    def stolen_since(self, before: "ProcessorTime") -> float:
        """The stolen share of the time in between."""
        return (self.stolen - before.stolen) / max(1, self.total - before.total)


class Undisturbed:
    """Numbers of attempts from 0 on: they end after one that nothing disturbed, or five."""

    def __init__(self, stolen_share_max: float = STOLEN_SHARE_MAX) -> None:
        self.reached = False
        """Whether nothing disturbed the last attempt."""
        self._stolen_share_max = stolen_share_max
        self._spoiled = False

    def __iter__(self) -> Iterator[int]:
        for attempt in range(ATTEMPTS_MAX):
            self._spoiled = False
            before = ProcessorTime.now()
            yield attempt
            stolen = ProcessorTime.now().stolen_since(before)
            self.reached = stolen <= self._stolen_share_max and not self._spoiled
            if self.reached:
                return

    def spoil(self) -> None:
        """Marks this attempt as disturbed in a way that the kernel does not count."""
        self._spoiled = True
