"""One connection from the dialling side: its greeting, and the verbs that wait for answers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from dovemq.cluster.link.bounds import (
    GREETING_SECONDS_MAX,
    TICK_SECONDS,
    UNSENT_BYTES_MAX,
    VERB_SECONDS_MAX,
    VERBS_IN_FLIGHT_MAX,
)
from dovemq.cluster.link.channel import Channel, MessageTooLarge
from dovemq.cluster.link.failures import error_of
from dovemq.cluster.link.greeting import (
    Challenge,
    DiallerGreeting,
    LinkRejected,
    fingerprint_of,
    reason_for_bytes,
)
from dovemq.cluster.link.rows import lease_of
from dovemq.cluster.link.verbs import (
    AdoptVerb,
    Bye,
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
    Verb,
    Wake,
    Watch,
    answers_decoder,
)
from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.commands import Duplicate, Leased, Sent
from dovemq.core.errors import Busy, InvariantError
from dovemq.stores.owned.group import PartitionKey

ANSWERS: Final[dict[type, type]] = {
    SendVerb: SendAnswer,
    LeaseVerb: LeaseAnswer,
    SettleVerb: SettleAnswer,
    ExtendVerb: ExtendAnswer,
    ReleaseVerb: ReleaseAnswer,
    AdoptVerb: SendAnswer,
    DropVerb: DropAnswer,
    PeekVerb: PeekAnswer,
    CountsVerb: CountsAnswer,
}
"""The answer that each verb gets if it does not fail."""

VERB_TICKS_MAX: Final = int(VERB_SECONDS_MAX / TICK_SECONDS)

InFlight = tuple[asyncio.Future[Any], type, int]
"""The future of a verb, the type of its answer, and the tick in which it was asked."""


class SessionOwner(Protocol):
    """The link that a session belongs to."""

    def session_opened(self, session: "CallerSession") -> None: ...

    def session_ended(self, session: "CallerSession", cause: str, *, rejected: bool) -> None:
        """The connection is lost, or was never made."""

    def woken(self, place: PartitionKey) -> None: ...


class CallerSession:
    """A verb is asked at most once, and has exactly one outcome: an answer, or `PeerUnreachable`.

    An answer to a lease that nobody waits for any more is released at once.
    """

    def __init__(
        self,
        address: str,
        owner: SessionOwner,
        make_greeting: Callable[[bytes], DiallerGreeting],
    ) -> None:
        self.address = address
        self.peer: Challenge | None = None
        self.leaving = False
        """The other side stops and takes no new verbs."""
        self._owner = owner
        self._make_greeting = make_greeting
        self._greeting: DiallerGreeting | None = None
        self._loop = asyncio.get_running_loop()
        self._deadline: asyncio.TimerHandle | None = None
        self._rejected = False
        self._in_flight: dict[int, InFlight] = {}
        self._number = 0
        self._tick = 0
        self._decode = answers_decoder().decode
        self._results: dict[type, Callable[[Any], object]] = {
            SendAnswer: _sent,
            SettleAnswer: lambda answer: answer.settlements,
            ExtendAnswer: lambda answer: answer.extensions,
            ReleaseAnswer: lambda answer: None,
            DropAnswer: lambda answer: answer.count,
            CountsAnswer: lambda answer: answer.counts,
        }
        self.channel = Channel(self)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def ask(self, verb: Verb, future: asyncio.Future[Any]) -> None:
        in_flight = self._in_flight
        if self.leaving:
            future.set_exception(PeerUnreachable(self.address, "it stops", sent=False))
            return
        if len(in_flight) >= VERBS_IN_FLIGHT_MAX or self.channel.unsent_bytes > UNSENT_BYTES_MAX:
            future.set_exception(Busy(f"Too much is under way to the front end at {self.address}"))
            return
        self._number = number = self._number + 1
        verb.number = number
        in_flight[number] = (future, ANSWERS[type(verb)], self._tick)
        try:
            self.channel.put(verb, partial(self._never_sent, number))
        except (MessageTooLarge, UnicodeEncodeError) as error:
            del in_flight[number]
            found = type(error).__name__
            future.set_exception(InvariantError(f"A verb does not fit the link ({found})."))

    def cancel(self, verb: Verb, future: asyncio.Future[Any]) -> None:
        """The caller of a lease has gone; the future may have its answer already."""
        if future.done() and not future.cancelled():
            if future.exception() is None:
                self._release(future.result())
            return
        waiting = self._in_flight.get(verb.number)
        if waiting is not None and waiting[0] is future:
            self.channel.put(Cancel(verb.number))

    def watch(self, place: PartitionKey) -> None:
        self.channel.put(Watch(place))

    def unwatch(self, place: PartitionKey) -> None:
        self.channel.put(Unwatch(place))

    # Called by the channel.

    def opened(self) -> None:
        ssl_object = self.channel.ssl_object
        shown = ssl_object.getpeercert(binary_form=True) if ssl_object is not None else None
        self._greeting = self._make_greeting(fingerprint_of(shown) if shown else b"")
        self._deadline = self._loop.call_later(
            GREETING_SECONDS_MAX, self.channel.fail, "it did not finish its greeting in time"
        )
        self.channel.greet(self._greeting.opening())

    def frame_received(self, payload: memoryview) -> None:
        if self.peer is None:
            self._greet(payload)
            return
        for message in self._decode(payload):
            kind = type(message)
            if kind is Ping:
                continue
            if kind is Wake:
                self._owner.woken(message.place)  # type: ignore[union-attr]
            elif kind is Bye:
                self.leaving = True
            else:
                self._answered(message, kind)
        if self.leaving and not self._in_flight:
            self.channel.close("it stopped")

    def ticked(self) -> None:
        """Fail the verbs that got no answer in time; the oldest are first."""
        self._tick += 1
        for number, (future, answer, tick) in list(self._in_flight.items()):
            if self._tick - tick <= VERB_TICKS_MAX:
                break
            del self._in_flight[number]
            if not future.done():
                cause = f"no answer within {VERB_SECONDS_MAX} s"
                future.set_exception(PeerUnreachable(self.address, cause, sent=True))
            if answer is LeaseAnswer:
                self.channel.put(Cancel(number))

    def written(self) -> None:
        """Nothing waits for it."""

    def lost(self, cause: str) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        in_flight, self._in_flight = self._in_flight, {}
        for future, _, _ in in_flight.values():
            if not future.done():
                future.set_exception(PeerUnreachable(self.address, cause, sent=True))
        self._owner.session_ended(self, cause, rejected=self._rejected)

    def unreadable(self, start: bytes) -> str:
        if self.peer is not None:
            return "a frame is too long"
        self._rejected = True
        return reason_for_bytes(start)

    def _greet(self, payload: memoryview) -> None:
        assert self._greeting is not None
        assert self._deadline is not None
        try:
            answer = self._greeting.answer(payload)
        except LinkRejected as error:
            self._rejected = True
            self.channel.fail(str(error))
            return
        if answer is not None:
            self.channel.greet(answer)
            return
        self._deadline.cancel()
        self.peer = self._greeting.peer
        keys = self._greeting.keys() if self.channel.ssl_object is None else None
        self.channel.begin(
            key_in=keys.from_acceptor if keys else None,
            key_out=keys.from_dialler if keys else None,
        )
        self._owner.session_opened(self)

    def _answered(self, answer: Any, kind: type) -> None:
        waiting = self._in_flight.pop(answer.number, None)
        if waiting is None or waiting[0].done():
            if kind is LeaseAnswer:
                self._release(answer)
            return
        future, wanted, _ = waiting
        if kind is wanted:
            make = self._results.get(kind)
            future.set_result(make(answer) if make is not None else answer)
        elif kind is FailureAnswer:
            future.set_exception(error_of(answer.failure))
        else:
            self._in_flight[answer.number] = waiting
            raise msgspec.ValidationError("an answer to another verb")

    def _release(self, answer: LeaseAnswer) -> None:
        """Take back leases whose caller has gone."""
        receipts = [row.receipt for row in (*answer.messages, *answer.exhausted)]
        if not receipts or self.channel.closed:
            return
        place = (receipts[0].queue_number, receipts[0].partition, 0)
        future = self._loop.create_future()
        future.add_done_callback(_forget)
        self.ask(ReleaseVerb(place, receipts), future)

    def _never_sent(self, number: int) -> None:
        waiting = self._in_flight.pop(number, None)
        if waiting is not None and not waiting[0].done():
            cause = "the connection was lost"
            waiting[0].set_exception(PeerUnreachable(self.address, cause, sent=False))


def _sent(answer: SendAnswer) -> list[Sent | Duplicate]:
    return [
        Duplicate(message_id, sequence) if repeated else Sent(message_id, sequence)
        for message_id, sequence, repeated in answer.sent
    ]


def leased_of(answer: LeaseAnswer, now_ms: int) -> Leased:
    """The answer by the caller's clock.

    `now_ms` is from before the verb was sent. So the next look arrives at the owner when the
    message becomes visible, and not a way there and back later.
    """
    due_in_ms = answer.due_in_ms
    return Leased(
        [lease_of(row) for row in answer.messages],
        [lease_of(row) for row in answer.exhausted],
        answer.more,
        None if due_in_ms is None else now_ms + due_in_ms,
    )


def _forget(future: asyncio.Future[Any]) -> None:
    """Nobody waits: if the release failed, the leases end by themselves."""
    if not future.cancelled():
        future.exception()
