"""Watches the partitions of a queue while somebody waits for its messages, and a while longer."""

import asyncio
import functools
from collections.abc import Callable
from typing import Final

from dovemq.cluster.watchers import Wake, Watchers
from dovemq.fabric.members import Members
from dovemq.fabric.outlook import Outlook

LINGERING_SECONDS: Final = 1
"""The time for which partitions stay watched when nobody waits any more. Consumers that delete a
message and ask again would else end the watch and begin it anew with nearly each message, which
costs a passage to each other front end, and looks into partitions of which nothing is known."""


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
        self._ending: asyncio.TimerHandle | None = None

    def add(self, wake: Wake) -> Wake:
        return self._watchers.add(wake)

    def keep(self, kept: bool) -> None:
        """Whether to watch even without a watcher: receives may wait inside the queue."""
        if kept != self._kept:
            self._kept = kept
            self.adjust()

    def adjust(self) -> None:
        """Watch the partitions that the queue has now, or end the watch in a while."""
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        if self._kept or self._watchers:
            self._watch()
        elif self._unwatch:
            self._watch()
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(LINGERING_SECONDS, self._end)

    def _watch(self) -> None:
        wanted = self._members.numbers
        for number in [each for each in self._unwatch if each not in wanted]:
            self._unwatch.pop(number)()
        if not self._outlook.watched:
            self._outlook.begin(wanted)
        for number in wanted:
            if number not in self._unwatch:
                self._outlook.hint(number)
                wake = functools.partial(self._woken, number)
                self._unwatch[number] = self._members[number].watch(wake)

    def _end(self) -> None:
        self._ending = None
        while self._unwatch:
            _, unwatch = self._unwatch.popitem()
            unwatch()
        self._outlook.end()

    def wake(self) -> None:
        self._watchers.wake()
        self._arrived()

    def _woken(self, number: int) -> None:
        self._outlook.hint(number)
        self.wake()
