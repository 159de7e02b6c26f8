"""Entries that count how often anybody looks at them."""

from collections import Counter
from typing import Any, ClassVar

from dovemq.core.entry import Entry


class Watched(Entry):
    looks: ClassVar[Counter[str]] = Counter()
    """The number of reads of each attribute, over all entries."""

    def __getattribute__(self, name: str) -> Any:
        Watched.looks[name] += 1
        return super().__getattribute__(name)
