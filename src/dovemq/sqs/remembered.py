"""A dict with a bound, for answers that are cheap to find again."""

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED_MAX: Final = 1_024


class Remembered(dict[K, V]):
    """A full one is emptied: an eviction order would cost more than finding again."""

    def keep(self, key: K, value: V) -> V:
        if len(self) >= REMEMBERED_MAX:
            self.clear()
        self[key] = value
        return value
