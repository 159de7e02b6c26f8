"""The knowledge that a front end has of the partitions of a queue without asking them.

While the partitions are watched, one that was found empty stays known as empty until it reports an
arrival, or until a hidden message in it is due. All others are *hinted*: they may have messages.
So a parked receive needs no look as long as nothing arrives, however many partitions there are.
"""

from collections.abc import Iterable
from typing import Final

from dovemq.core.commands import Leased

RESTING_MS: Final = 1_000
"""The time for which a partition that has failed is tried last, or not at all."""


class Outlook:
    def __init__(self) -> None:
        self.watched = False
        self._hinted: set[int] = set()
        self._dues_ms: dict[int, int] = {}
        self._resting_ms: dict[int, int] = {}

    def begin(self, numbers: Iterable[int]) -> None:
        """The partitions are watched from now on; nothing is known of them yet."""
        self.watched = True
        self._hinted = set(numbers)

    def end(self) -> None:
        self.watched = False
        self._hinted.clear()

    def keep(self, numbers: Iterable[int]) -> None:
        """Forget partitions that the queue does not have any more."""
        kept = set(numbers)
        self._hinted &= kept
        self._dues_ms = {each: due for each, due in self._dues_ms.items() if each in kept}

    def hint(self, number: int) -> None:
        if self.watched:
            self._hinted.add(number)

    def looking(self, number: int) -> None:
        """A look begins. An arrival before its answer is a hint for the next one."""
        self._hinted.discard(number)

    def looked(self, number: int, leased: Leased) -> None:
        self._resting_ms.pop(number, None)
        if leased.next_due_ms is None:
            self._dues_ms.pop(number, None)
        else:
            self._dues_ms[number] = leased.next_due_ms
        if leased.more:
            self.hint(number)

    def failed(self, number: int, now_ms: int) -> None:
        self.hint(number)
        self._resting_ms[number] = now_ms + RESTING_MS

    def resting(self, now_ms: int) -> set[int]:
        """Partitions that have failed a moment ago."""
        if not self._resting_ms:
            return set()
        return {each for each, until_ms in self._resting_ms.items() if until_ms > now_ms}

    def stale(self, now_ms: int) -> set[int]:
        """Partitions that may have messages now, as far as they can be asked."""
        if not self._dues_ms and not self._resting_ms:
            return set(self._hinted)
        due = {number for number, due_ms in self._dues_ms.items() if due_ms <= now_ms}
        return (self._hinted | due) - self.resting(now_ms)

    def next_due_ms(self, now_ms: int) -> int | None:
        """The earliest time at which a look may find what there is not now."""
        if not self._dues_ms and not self._resting_ms:
            return None
        dues_ms = dict(self._dues_ms)
        for number in self.resting(now_ms):
            if number in self._hinted or dues_ms.get(number, now_ms + 1) <= now_ms:
                dues_ms[number] = self._resting_ms[number]
        return min(dues_ms.values(), default=None)
