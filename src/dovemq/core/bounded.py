"""A dict with a bound, for results that are cheap to compute again."""

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

ENTRIES_MAX: Final = 1_024


class BoundedDict(dict[K, V]):
    """A dict that `keep` empties when it is full; removing the oldest item would cost more."""

    def keep(self, key: K, value: V) -> V:
        if len(self) >= ENTRIES_MAX:
            self.clear()
        self[key] = value
        return value
