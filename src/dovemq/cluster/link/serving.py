"""One connection from the accepting side: verbs of another front end, given to our partitions.

Every verb that arrives is answered once. A verb is never handed on: what this front end does not
own, it refuses with `NotOwner`. When the connection is lost, leases that are under way are
cancelled and leases whose answer has not left are released. Other verbs run to their end, since
the caller does not know whether they were done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from dovemq.cluster.link.bounds import (
    SERVED_BYTES_MAX,
    UNSENT_BYTES_MAX,
    UNSENT_BYTES_PAUSE,
    VERBS_IN_FLIGHT_MAX,
    WATCHES_MAX,
)
from dovemq.cluster.link.channel import Channel, MessageTooLarge
from dovemq.cluster.link.failures import failure_of
from dovemq.cluster.link.rows import draft_of, row_of_lease, row_of_peeked, transfer_of
from dovemq.cluster.link.verbs import (
    BYE,
    AdoptVerb,
    Cancel,
    CountsAnswer,
    CountsVerb,
    DropAnswer,
    DropVerb,
    ExtendAnswer,
    ExtendVerb,
    FailureAnswer,
    LeaseAnswer,
    LeaseVerb,
    PeekAnswer,
    PeekVerb,
    Ping,
    ReleaseAnswer,
    ReleaseVerb,
    SendAnswer,
    SendVerb,
    SettleAnswer,
    SettleVerb,
    Unwatch,
    Wake,
    Watch,
    verbs_decoder,
)
from dovemq.cluster.ports import Local
from dovemq.core.commands import Duplicate, Leased, Peeked, Receipt
from dovemq.core.errors import Busy, DoveError, Draining
from dovemq.core.ports import Clock, Partition
from dovemq.stores.owned.group import PartitionKey

log = logging.getLogger(__name__)


class ServedVerbs:
    """The verbs of one connection that are under way, and its watches.

    `background` keeps tasks that outlive the connection.
    """

    def __init__(
        self, channel: Channel, local: Local, clock: Clock, background: set[asyncio.Task[None]]
    ) -> None:
        self._channel = channel
        self._local = local
        self._clock = clock
        self._background = background
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._bytes = 0
        """Bytes of the verbs that are under way."""
        self._leases: dict[int, asyncio.Task[None]] = {}
        self._cancelled: set[int] = set()
        """Leases under way whose caller has gone."""
        self._watches: dict[PartitionKey, Callable[[], None]] = {}
        self._woken: set[PartitionKey] = set()
        self._decode = verbs_decoder().decode
        self._serves: dict[type, Callable[[Partition, Any, int], Awaitable[None]]] = {
            SendVerb: self._send,
            LeaseVerb: self._lease,
            SettleVerb: self._settle,
            ExtendVerb: self._extend,
            ReleaseVerb: self._release,
            AdoptVerb: self._adopt,
            DropVerb: self._drop,
            PeekVerb: self._peek,
            CountsVerb: self._counts,
        }
        self._others: dict[type, Callable[[Any], None]] = {
            Ping: lambda _: None,
            Cancel: self._cancel,
            Watch: self._watch,
            Unwatch: self._unwatch,
        }

    def frame_received(self, payload: memoryview) -> None:
        serves, tasks = self._serves, self._tasks
        messages: list[Any] = self._decode(payload)
        share = len(payload) // max(1, len(messages))
        for message in messages:
            serve = serves.get(type(message))
            if serve is None:
                self._others[type(message)](message)
                continue
            if message.number in tasks:
                raise msgspec.ValidationError("a number is used twice")
            task = self._loop.create_task(self._serve(serve, message, share))
            tasks[message.number] = task
            self._bytes += share
            if type(message) is LeaseVerb:
                self._leases[message.number] = task
        self._balance()

    def written(self) -> None:
        if self._woken:
            self._woken.clear()
        self._balance()

    def say_goodbye(self) -> None:
        self._channel.put(BYE)

    def lost(self) -> None:
        for unwatch in self._watches.values():
            unwatch()
        self._watches.clear()
        for task in self._leases.values():
            self._loop.call_soon(task.cancel)
        self._background.update(self._tasks.values())
        for task in self._tasks.values():
            task.add_done_callback(self._background.discard)

    def _balance(self) -> None:
        """Read no verbs while too much is under way, or while too many answers wait."""
        channel = self._channel
        if (
            len(self._tasks) >= VERBS_IN_FLIGHT_MAX
            or self._bytes > SERVED_BYTES_MAX
            or channel.unsent_bytes > UNSENT_BYTES_PAUSE
        ):
            channel.pause_reading()
        else:
            channel.resume_reading()

    async def _serve(
        self, serve: Callable[[Partition, Any, int], Awaitable[None]], verb: Any, share: int
    ) -> None:
        number: int = verb.number
        try:
            partition = self._local.partition(*verb.place)
            # Read here and not when the frame came, so that the partition's time never goes back.
            await serve(partition, verb, self._clock.now_ms())
        except asyncio.CancelledError:
            self._fail(number, Draining())
        except DoveError as error:
            self._fail(number, error)
        except Exception as error:
            log.exception("a verb of another front end failed")
            self._fail(number, error)
        finally:
            del self._tasks[number]
            self._bytes -= share
            self._leases.pop(number, None)
            self._cancelled.discard(number)
            self._balance()

    def _fail(self, number: int, error: Exception) -> None:
        self._channel.put(FailureAnswer(number, failure_of(error)))

    async def _send(self, partition: Partition, verb: SendVerb, now_ms: int) -> None:
        answers = await partition.send([draft_of(row) for row in verb.drafts], now_ms)
        sent = [(each.message_id, each.sequence, type(each) is Duplicate) for each in answers]
        self._channel.put(SendAnswer(verb.number, sent))

    async def _lease(self, partition: Partition, verb: LeaseVerb, now_ms: int) -> None:
        leased = await partition.lease(verb.ask, now_ms)
        if verb.number in self._cancelled:
            receipts = [lease.receipt for lease in leased.messages + leased.exhausted]
            await partition.release(receipts, now_ms)
            raise asyncio.CancelledError
        self._answer_lease(partition, verb.number, leased, now_ms)

    def _answer_lease(self, partition: Partition, number: int, leased: Leased, now_ms: int) -> None:
        due_in_ms = None if leased.next_due_ms is None else leased.next_due_ms - now_ms
        leases = leased.messages + leased.exhausted
        receipts = [lease.receipt for lease in leases]
        if leases and self._channel.unsent_bytes > UNSENT_BYTES_MAX:
            self._take_back(partition, receipts)
            raise Busy("The link between two front ends is full")
        answer = LeaseAnswer(
            number,
            [row_of_lease(lease) for lease in leased.messages],
            [row_of_lease(lease) for lease in leased.exhausted],
            leased.more,
            due_in_ms,
        )
        take_back = partial(self._take_back, partition, receipts) if receipts else None
        try:
            self._channel.put(answer, take_back)
        except MessageTooLarge:
            self._answer_lease(partition, number, self._halved(partition, leased), now_ms)

    def _halved(self, partition: Partition, leased: Leased) -> Leased:
        """The first half of the leases, which fits a frame sooner; the others are taken back."""
        kept = (len(leased.messages) + 1) // 2
        kept_exhausted = len(leased.exhausted) // 2
        rest = leased.messages[kept:] + leased.exhausted[kept_exhausted:]
        self._take_back(partition, [lease.receipt for lease in rest])
        return Leased(
            leased.messages[:kept], leased.exhausted[:kept_exhausted], True, leased.next_due_ms
        )

    async def _settle(self, partition: Partition, verb: SettleVerb, now_ms: int) -> None:
        settlements = await partition.settle(
            verb.receipts, now_ms, moved=verb.moved, forced=verb.forced
        )
        self._channel.put(SettleAnswer(verb.number, settlements))

    async def _extend(self, partition: Partition, verb: ExtendVerb, now_ms: int) -> None:
        self._channel.put(ExtendAnswer(verb.number, await partition.extend(verb.changes, now_ms)))

    async def _release(self, partition: Partition, verb: ReleaseVerb, now_ms: int) -> None:
        await partition.release(verb.receipts, now_ms)
        self._channel.put(ReleaseAnswer(verb.number))

    async def _adopt(self, partition: Partition, verb: AdoptVerb, now_ms: int) -> None:
        answers = await partition.adopt([transfer_of(row) for row in verb.transfers], now_ms)
        sent = [(each.message_id, each.sequence, False) for each in answers]
        self._channel.put(SendAnswer(verb.number, sent))

    async def _drop(self, partition: Partition, verb: DropVerb, now_ms: int) -> None:
        count = await partition.drop(now_ms - verb.age_ms, verb.count_max, now_ms)
        self._channel.put(DropAnswer(verb.number, count))

    async def _peek(self, partition: Partition, verb: PeekVerb, now_ms: int) -> None:
        peeked = await partition.peek(verb.page, now_ms)
        if self._channel.unsent_bytes > UNSENT_BYTES_MAX:
            raise Busy("The link between two front ends is full")
        self._answer_peek(verb.number, peeked, cut=False)

    def _answer_peek(self, number: int, peeked: list[Peeked], *, cut: bool) -> None:
        try:
            self._channel.put(PeekAnswer(number, [row_of_peeked(each) for each in peeked], cut))
        except MessageTooLarge:
            self._answer_peek(number, peeked[: (len(peeked) + 1) // 2], cut=True)

    async def _counts(self, partition: Partition, verb: CountsVerb, now_ms: int) -> None:
        self._channel.put(CountsAnswer(verb.number, await partition.counts(now_ms)))

    def _cancel(self, cancel: Cancel) -> None:
        task = self._leases.get(cancel.number)
        if task is not None:
            self._cancelled.add(cancel.number)
            # Not now: a task that has not begun yet would end without an answer.
            self._loop.call_soon(task.cancel)

    def _watch(self, watch: Watch) -> None:
        place = watch.place
        if place in self._watches or len(self._watches) >= WATCHES_MAX:
            return
        try:
            partition = self._local.partition(*place)
            self._watches[place] = partition.watch(partial(self._wake, place))
        except Exception:
            # It would end the connection, and the next one too, which makes the same watch again.
            log.exception("a watch of another front end failed")

    def _unwatch(self, unwatch: Unwatch) -> None:
        undo = self._watches.pop(unwatch.place, None)
        if undo is not None:
            undo()

    def _wake(self, place: PartitionKey) -> None:
        """One hint is enough until the other side has it."""
        if place not in self._woken:
            self._woken.add(place)
            self._channel.put(Wake(place))

    def _take_back(self, partition: Partition, receipts: list[Receipt]) -> None:
        if receipts:
            task = self._loop.create_task(self._released(partition, receipts))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _released(self, partition: Partition, receipts: list[Receipt]) -> None:
        try:
            await partition.release(receipts, self._clock.now_ms())
        except DoveError as error:
            log.warning("%d leases were not taken back: %s", len(receipts), error)
