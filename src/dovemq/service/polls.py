"""Long polls as parked futures: no polling loop, one timer for each polled queue.

A claimable message wakes one poll, and no other is woken until that one has looked. It hands its
turn to the next poll if there is more, and so does a poll whose caller leaves before it looked.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dovemq.core.ports import Clock, Partition


class WaitingPolls:
    """The polls that wait for one queue.

    `changes` counts the wake-ups that found no parked poll. A poll that saw the queue empty
    compares it before it parks, so that it misses no message that came in between. `turn_given`: a
    poll was woken and has not run yet; it will see all messages that came meanwhile.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.parked: OrderedDict[asyncio.Future[bool], None] = OrderedDict()
        self.turn_given = False
        self.changes = 0
        self.count = 0
        self.due_ms: int | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._wake = wake
        self._watched: Partition | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def watch(self, partition: Partition | None) -> None:
        """Let this partition wake the polls, and no other."""
        if partition is not self._watched:
            self._unwatch()
            self._watched = partition
            self._unwatch = lambda: None
            if partition is not None:
                self._unwatch = partition.watch(self._wake)


class Polls:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[int, WaitingPolls] = {}
        self.draining = False

    @property
    def parked(self) -> int:
        return sum(len(waiting.parked) for waiting in self._waiting.values())

    def parked_at(self, queue_number: int) -> int:
        """The polls that wait for one queue."""
        waiting = self._waiting.get(queue_number)
        return len(waiting.parked) if waiting else 0

    @contextmanager
    def of_queue(self, queue_number: int, partition: Partition) -> Iterator[WaitingPolls]:
        """The waiting polls of a queue; the partition is watched while there is one."""
        waiting = self._waiting.get(queue_number)
        if waiting is None:
            waiting = WaitingPolls(lambda: self.wake(queue_number))
            self._waiting[queue_number] = waiting
        waiting.watch(partition)
        waiting.count += 1
        try:
            yield waiting
        finally:
            waiting.count -= 1
            if not waiting.count:
                del self._waiting[queue_number]
                waiting.watch(None)
                if waiting.timer:
                    waiting.timer.cancel()

    async def park(
        self, queue_number: int, waiting: WaitingPolls, changes: int, until_ms: int
    ) -> bool:
        """Wait for a turn; False when the time is over or the service drains."""
        wait_ms = until_ms - self._clock.now_ms()
        if wait_ms <= 0 or self.draining:
            return False
        if waiting.changes != changes:
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        waiting.parked[turn] = None
        deadline = loop.call_later(wait_ms / 1000, _end, turn)
        try:
            woken = await turn
            waiting.turn_given = False
            return woken
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                waiting.turn_given = False
                self.wake(queue_number)
            raise
        finally:
            deadline.cancel()
            waiting.parked.pop(turn, None)

    def wake(self, queue_number: int) -> None:
        """Give the turn to the poll that waits longest."""
        waiting = self._waiting.get(queue_number)
        if waiting is None or waiting.turn_given:
            return
        while waiting.parked:
            turn, _ = waiting.parked.popitem(last=False)
            if not turn.done():
                waiting.turn_given = True
                turn.set_result(True)
                return
        waiting.changes += 1

    def wake_all(self, queue_number: int) -> None:
        """Let every poll of a queue look again: the queue itself has changed."""
        waiting = self._waiting.get(queue_number)
        if waiting is not None:
            waiting.changes += 1
            for turn in waiting.parked:
                if not turn.done():
                    turn.set_result(True)

    def due(self, queue_number: int, due_ms: int) -> None:
        """Let a poll look again at that time, when a hidden message may become claimable."""
        waiting = self._waiting.get(queue_number)
        if waiting is None or (waiting.due_ms is not None and waiting.due_ms <= due_ms):
            return
        if waiting.timer:
            waiting.timer.cancel()
        wait_ms = max(0, due_ms - self._clock.now_ms())
        loop = asyncio.get_running_loop()
        waiting.due_ms = due_ms
        waiting.timer = loop.call_later(wait_ms / 1000, self._came_due, queue_number, waiting)

    def drain(self) -> None:
        """End every poll, now and from now on."""
        self.draining = True
        for waiting in self._waiting.values():
            for turn in waiting.parked:
                _end(turn)

    def _came_due(self, queue_number: int, waiting: WaitingPolls) -> None:
        waiting.due_ms = waiting.timer = None
        self.wake(queue_number)


def _end(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
