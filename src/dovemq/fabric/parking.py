"""The distributed dequeue scheduler of the paper rds: receives that wait inside a queue.

A parked receive holds no lease. It goes on when its time is over, or, if it waits for arrivals,
when one comes: an arrival wakes the receive that has waited longest, and nobody else.
"""

import asyncio
from collections import OrderedDict


class Parking:
    def __init__(self) -> None:
        self._for_arrivals: OrderedDict[asyncio.Future[None], None] = OrderedDict()
        self._for_time: set[asyncio.Future[None]] = set()
        self._drained = False

    @property
    def count(self) -> int:
        return len(self._for_arrivals) + len(self._for_time)

    async def wait(self, wait_ms: int, *, on_arrival: bool) -> bool:
        """Wait that long; False if the receive should end because the service drains."""
        if self._drained:
            return False
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if on_arrival:
            self._for_arrivals[turn] = None
        else:
            self._for_time.add(turn)
        timer = loop.call_later(max(0, wait_ms) / 1_000, _end, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was woken and cannot look: the next one does.
                self.wake_one()
            raise
        finally:
            timer.cancel()
            self._for_arrivals.pop(turn, None)
            self._for_time.discard(turn)
        return not self._drained

    def wake_one(self) -> None:
        while self._for_arrivals:
            turn, _ = self._for_arrivals.popitem(last=False)
            if not turn.done():
                turn.set_result(None)
                return

    def drain(self) -> None:
        """End every wait, now and from now on."""
        self._drained = True
        for turn in (*self._for_arrivals, *self._for_time):
            _end(turn)


def _end(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
