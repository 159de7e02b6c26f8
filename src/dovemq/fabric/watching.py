"""Watches the partitions of a queue while somebody waits for its messages."""

import functools
from collections.abc import Callable

from dovemq.cluster.watchers import Wake, Watchers
from dovemq.fabric.members import Members
from dovemq.fabric.outlook import Outlook


class Watching:
    """`arrived` is called when there may be messages to receive, after the watchers."""

    def __init__(self, members: Members, outlook: Outlook, arrived: Callable[[], None]) -> None:
        self._members = members
        self._outlook = outlook
        self._arrived = arrived
        self._watchers = Watchers()
        self._watchers.changed = self.adjust
        self._unwatch: dict[int, Wake] = {}
        self._kept = False

    def add(self, wake: Wake) -> Wake:
        return self._watchers.add(wake)

    def keep(self, kept: bool) -> None:
        """Whether to watch even without a watcher: receives may wait inside the queue."""
        if kept != self._kept:
            self._kept = kept
            self.adjust()

    def adjust(self) -> None:
        """Watch the partitions that the queue has now, or none."""
        wanted = self._members.numbers if self._kept or self._watchers else ()
        for number in [each for each in self._unwatch if each not in wanted]:
            self._unwatch.pop(number)()
        if not wanted:
            self._outlook.end()
            return
        if not self._outlook.watched:
            self._outlook.begin(wanted)
        for number in wanted:
            if number not in self._unwatch:
                self._outlook.hint(number)
                wake = functools.partial(self._woken, number)
                self._unwatch[number] = self._members[number].watch(wake)

    def wake(self) -> None:
        self._watchers.wake()
        self._arrived()

    def _woken(self, number: int) -> None:
        self._outlook.hint(number)
        self.wake()
