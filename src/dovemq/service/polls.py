"""Long polls as parked futures: no polling loop, one timer per polled queue.

What becomes claimable wakes one poll, however many messages it is: until that poll has looked no
other is woken. The poll that takes them hands the turn on when there is more, and so does one that
goes away before it could look.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dovemq.core.ports import Clock, Partition


class Lot:
    """Where the polls of one queue wait.

    `changes` counts the wake-ups that found nobody parked: a poll that saw the queue empty
    compares it before it parks, so that a message in between is not missed. `turn_given`: a poll
    was woken and has not run yet; it will see all that has come meanwhile.
    """

    def __init__(self) -> None:
        self.parked: OrderedDict[asyncio.Future[bool], None] = OrderedDict()
        self.turn_given = False
        self.changes = 0
        self.polls = 0
        self.due_ms: int | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.unwatch: Callable[[], None] = lambda: None


class Polls:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lots: dict[int, Lot] = {}
        self.draining = False

    @property
    def parked(self) -> int:
        return sum(len(lot.parked) for lot in self._lots.values())

    @contextmanager
    def lot(self, queue_number: int, partition: Partition) -> Iterator[Lot]:
        """The lot of a queue, watched as long as any poll is in it."""
        lot = self._lots.get(queue_number)
        if lot is None:
            lot = self._lots[queue_number] = Lot()
            lot.unwatch = partition.watch(lambda: self.wake(queue_number))
        lot.polls += 1
        try:
            yield lot
        finally:
            lot.polls -= 1
            if not lot.polls:
                del self._lots[queue_number]
                lot.unwatch()
                if lot.timer:
                    lot.timer.cancel()

    async def park(self, queue_number: int, lot: Lot, changes: int, until_ms: int) -> bool:
        """Wait for a turn; False when the time is over or the service drains."""
        wait_ms = until_ms - self._clock.now_ms()
        if wait_ms <= 0 or self.draining:
            return False
        if lot.changes != changes:
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        lot.parked[turn] = None
        deadline = loop.call_later(wait_ms / 1000, _end, turn)
        try:
            woken = await turn
            lot.turn_given = False
            return woken
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                lot.turn_given = False
                self.wake(queue_number)
            raise
        finally:
            deadline.cancel()
            lot.parked.pop(turn, None)

    def wake(self, queue_number: int) -> None:
        """Give the turn to the poll that waits longest."""
        lot = self._lots.get(queue_number)
        if lot is None or lot.turn_given:
            return
        while lot.parked:
            turn, _ = lot.parked.popitem(last=False)
            if not turn.done():
                lot.turn_given = True
                turn.set_result(True)
                return
        lot.changes += 1

    def wake_all(self, queue_number: int) -> None:
        """Let every poll of a queue look again: the queue itself has changed."""
        lot = self._lots.get(queue_number)
        if lot is not None:
            lot.changes += 1
            for turn in lot.parked:
                if not turn.done():
                    turn.set_result(True)

    def due(self, queue_number: int, due_ms: int) -> None:
        """A hidden message may become claimable then: look at that time at the latest."""
        lot = self._lots.get(queue_number)
        if lot is None or (lot.due_ms is not None and lot.due_ms <= due_ms):
            return
        if lot.timer:
            lot.timer.cancel()
        wait_ms = max(0, due_ms - self._clock.now_ms())
        loop = asyncio.get_running_loop()
        lot.due_ms = due_ms
        lot.timer = loop.call_later(wait_ms / 1000, self._came_due, queue_number, lot)

    def drain(self) -> None:
        """End every poll, now and from now on."""
        self.draining = True
        for lot in self._lots.values():
            for turn in lot.parked:
                _end(turn)

    def _came_due(self, queue_number: int, lot: Lot) -> None:
        lot.due_ms = lot.timer = None
        self.wake(queue_number)


def _end(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
