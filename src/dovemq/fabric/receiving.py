"""Receives from a queue of several partitions: carries out the steps of its dequeue strategy.

A *short poll* (no wait) and a *long poll* (a wait) behave as follows:

    conventional, pms   A short poll looks into at most `DequeueFanout` partitions, in turn or the
                        fullest at the last look first, and is answered. So it may find nothing
                        although another partition has messages, as in SQS. A long poll looks only
                        where there may be messages: at first everywhere, later where something
                        arrived or came due. If it finds nothing it is answered without a message,
                        and the service parks it.
    rds, timer          As in the paper: a receive whose first partition is empty is parked for the
                        sleep, then tries the next one. It is answered without a message after its
                        wait, or after the sleep if that is longer: a short poll sleeps once.
    rds, arrival        A receive looks only where there may be messages. It is parked until
                        something arrives or comes due, for as long as with the timer.

A receive of a session looks into the session's partition first, at its start and whenever it was
parked. If it finds messages there it is answered with them. Otherwise it goes on in the others by
the strategy, and the look into its own partition does not count as one of these.

While a receive is parked it holds no lease. If it fails or is cancelled, everything that it has
leased is released.
"""

import contextlib
from collections.abc import Sequence
from typing import Final

from dovemq.core.commands import Ask, Lease, Leased, Receipt
from dovemq.core.errors import DoveError, LimitReached, QueueMissing
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import QueueSettings
from dovemq.fabric.dequeue import (
    DequeueSettings,
    Finish,
    Park,
    PartitionsView,
    Search,
    Step,
    TryPartition,
    begin,
    found_at,
    next_step,
    woken,
)
from dovemq.fabric.in_flight import InFlight
from dovemq.fabric.members import Members
from dovemq.fabric.monitor import CountMonitor
from dovemq.fabric.outlook import Outlook
from dovemq.fabric.parking import Parking
from dovemq.fabric.tuned_sleep import TunedSleep

FULL: Final = "Too many messages of this queue are in flight."


def dequeue_settings(settings: QueueSettings) -> DequeueSettings:
    return DequeueSettings(
        settings.dequeue_strategy,
        settings.dequeue_fanout,
        settings.rds_sleep_ms,
        settings.rds_wake,
        settings.pms_period_ms,
    )


class _Gathered:
    """The leases that one receive has so far, and whether it `began_outside` this front end."""

    def __init__(self) -> None:
        self.began_outside = False
        self.messages: list[Lease] = []
        self.exhausted: list[Lease] = []
        self.found: list[int] = []
        self.more = False
        self.failure: DoveError | None = None

    def add(self, leased: Leased) -> None:
        self.messages += leased.messages
        self.exhausted += leased.exhausted
        self.found.append(len(leased.messages))
        self.more = self.more or leased.more

    def by_partition(self) -> dict[int, list[Receipt]]:
        places: dict[int, list[Receipt]] = {}
        for lease in (*self.messages, *self.exhausted):
            places.setdefault(lease.receipt.partition, []).append(lease.receipt)
        return places


class Receiving:
    def __init__(
        self,
        members: Members,
        outlook: Outlook,
        in_flight: InFlight,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self.parking = Parking()
        self._members = members
        self._outlook = outlook
        self._in_flight = in_flight
        self._clock = clock
        self._monitor = CountMonitor(members, clock, observer)
        self._sleep = TunedSleep()
        self._settings = dequeue_settings(members.queue.settings)

    def follow(self) -> None:
        """Take over a newer version of the queue."""
        self._settings = dequeue_settings(self._members.queue.settings)

    @property
    def waits_for_arrivals(self) -> bool:
        """Whether receives wait inside the queue, so that its partitions must be watched."""
        return self._settings.strategy == "rds" and self._settings.wake == "arrival"

    async def lease(self, ask: Ask, now_ms: int, first: Sequence[int] = ()) -> Leased:
        """`first` are the partitions to look into before the strategy; the last is the session's.

        They are not all that the queue has.
        """
        gathered = _Gathered()
        try:
            if await self._in_flight.is_full(now_ms):
                return self._refused(now_ms)
            await self._search(ask, gathered, first)
        except BaseException:
            await self._give_back(gathered)
            raise
        finally:
            if not self._is_nothing_there():
                self.parking.wake_one()
        if gathered.failure and not gathered.messages and not gathered.exhausted:
            raise gathered.failure
        return self._answer(gathered)

    def _refused(self, now_ms: int) -> Leased:
        if self._members.queue.settings.fifo:
            return Leased([], [], False, self._outlook.next_due_ms(now_ms), ())
        raise LimitReached(FULL)

    def _answer(self, gathered: _Gathered) -> Leased:
        now_ms = self._clock.now_ms()
        self._in_flight.gave(len(gathered.messages) + len(gathered.exhausted))
        return Leased(
            gathered.messages,
            gathered.exhausted,
            bool(self._outlook.stale(now_ms)) if self._outlook.watched else gathered.more,
            self._outlook.next_due_ms(now_ms),
            tuple(gathered.found),
        )

    async def _search(self, ask: Ask, gathered: _Gathered, first: Sequence[int]) -> None:
        settings = self._settings
        if self._polls(ask) and self._outlook.watched and self._is_nothing_there():
            return
        gathered.began_outside = self._members.begin_receive()
        if first and await self._found_first(first, ask, gathered):
            return
        own = first[-1:]
        now_ms = self._clock.now_ms()
        if settings.strategy == "pms":
            await self._monitor.look(settings, now_ms)
        rds = settings.strategy == "rds"
        sleep_ms = self._sleep.sleep_ms(settings.sleep_ms, now_ms) if rds else 0
        search = begin(ask.count_max, settings, ask.wait_ms, sleep_ms, now_ms)
        while search.found < search.wanted:
            step = self._next(search, settings, ask, own, gathered.began_outside)
            if isinstance(step, TryPartition):
                found = await self._look(step, ask, gathered)
                search = found_at(search, step.partition, found)
            elif isinstance(step, Finish) or gathered.exhausted or gathered.failure:
                return
            else:
                wait_ms = step.until_ms - self._clock.now_ms()
                if not await self.parking.wait(wait_ms, on_arrival=step.on_arrival):
                    return
                search = woken(search)
                if own and await self._found_first(own, ask, gathered):
                    return

    async def _found_first(self, numbers: Sequence[int], ask: Ask, gathered: _Gathered) -> bool:
        """Look into these partitions until one has messages; returns whether one had."""
        for number in numbers:
            now_ms = self._clock.now_ms()
            if number in self._outlook.resting(now_ms):
                continue
            if self._knows_better(ask) and number not in self._outlook.stale(now_ms):
                continue
            if await self._look(TryPartition(number, ask.count_max), ask, gathered):
                return True
            if gathered.exhausted:
                return True
        return False

    def _knows_better(self, ask: Ask) -> bool:
        """Whether this receive looks only where there may be messages."""
        return self._outlook.watched and (self.waits_for_arrivals or self._polls(ask))

    def _next(
        self,
        search: Search,
        settings: DequeueSettings,
        ask: Ask,
        own: Sequence[int],
        outside: bool,
    ) -> Step:
        now_ms = self._clock.now_ms()
        if not self._knows_better(ask):
            numbers = set(self._members.numbers)
            # The others may be gone since the look into the own one.
            others = numbers.difference(own) or numbers
            return self._chosen(search, settings, others, outside, now_ms)
        untried = self._outlook.stale(now_ms).difference(search.tried)
        if untried:
            return self._chosen(search, settings, untried, outside, now_ms)
        return self._parked(search, now_ms)

    def _is_nothing_there(self) -> bool:
        """Whether no watched partition can have messages now."""
        return not self._outlook.stale(self._clock.now_ms())

    def _polls(self, ask: Ask) -> bool:
        return ask.wait_ms > 0 and self._settings.strategy != "rds"

    def _chosen(
        self,
        search: Search,
        settings: DequeueSettings,
        numbers: set[int],
        outside: bool,
        now_ms: int,
    ) -> Step:
        missed = search.retries > 0 and not self.waits_for_arrivals
        turn = self._members.in_turn(numbers, now_ms, outside=outside, missed=missed)
        resting = self._outlook.resting(now_ms)
        if resting:
            turn = tuple(sorted(turn, key=lambda number: number in resting))
        view = PartitionsView(turn, 0, self._monitor.counts, self._monitor.counted_ms)
        step = next_step(search, view, settings, now_ms)
        if isinstance(step, Park) and self.waits_for_arrivals:
            # A miss elsewhere is no reason to sleep while there may be messages here.
            return TryPartition(turn[0], search.wanted)
        return step

    def _parked(self, search: Search, now_ms: int) -> Step:
        """Nothing can be there now: wait for an arrival, or leave that to the service."""
        if search.found or not self.waits_for_arrivals or now_ms >= search.deadline_ms:
            return Finish()
        if self._outlook.stale(now_ms):
            return Park(now_ms + 1, True)
        due_ms = self._outlook.next_due_ms(now_ms)
        until_ms = search.deadline_ms if due_ms is None else min(due_ms, search.deadline_ms)
        return Park(max(until_ms, now_ms + 1), True)

    async def _look(self, step: TryPartition, ask: Ask, gathered: _Gathered) -> int:
        number = step.partition
        self._members.tried(number)
        self._outlook.looking(number)
        part = Ask(step.count_max, ask.lease_ms, ask.receives_max)
        try:
            leased = await self._members[number].lease(part, self._clock.now_ms())
        except DoveError as error:
            self._outlook.failed(number, self._clock.now_ms())
            if isinstance(error, QueueMissing):
                raise
            gathered.failure = error
            return 0
        except BaseException:
            self._outlook.hint(number)
            raise
        self._outlook.looked(number, leased)
        self._members.looked(number, self._clock.now_ms(), backlog=leased.more)
        if self._settings.strategy == "rds":
            self._sleep.accessed(leased.messages, self._clock.now_ms())
        gathered.add(leased)
        return len(leased.messages)

    async def _give_back(self, gathered: _Gathered) -> None:
        for number, receipts in gathered.by_partition().items():
            with contextlib.suppress(DoveError):
                # The leases end by themselves if the partition cannot be asked now.
                await self._members[number].release(receipts, self._clock.now_ms())
