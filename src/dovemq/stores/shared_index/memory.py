"""One front end remembers its own doings, as a hint.

Nothing depends on it: after a restart, or when it is full, messages may be delivered once more or
their tuples stay until they are due. With it the receives of one front end never collide with each
other, and a replica that is behind shows it no message that it has settled itself.
"""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from dovemq.core.drawing import IndexTuple

REMEMBERED_MAX: Final = 10_000

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The newest values by key."""

    def __init__(self, count_max: int = REMEMBERED_MAX) -> None:
        self._count_max = count_max
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def get(self, key: Key) -> Value | None:
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._count_max:
            self._values.popitem(last=False)

    def pop(self, key: Key) -> Value | None:
        return self._values.pop(key, None)


class OwnDoings:
    def __init__(self) -> None:
        self.claimed: Recent[IndexTuple, None] = Recent()
        """Tuples that this front end has replaced, or is replacing."""
        self.leases: Recent[tuple[int, int], tuple[IndexTuple, IndexTuple]] = Recent()
        """The tuples of a lease and before it, by sequence and end of the lease."""
        self.moved: Recent[int, IndexTuple] = Recent()
        """The tuples of extended leases."""
        self.settled: Recent[int, None] = Recent()

    def knows_as_gone(self, found: IndexTuple) -> bool:
        return found in self.claimed or found.sequence in self.settled
