"""A synthetic load run of a correct service, and functions that plant one violation each.

The run has all legitimate events: lost answers, repeated or abandoned sends, leases that end before
the settle, and settles without an answer.
"""

import dataclasses
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dovemq.load.journals import SUFFIX, ReceiverJournal, RequestOutcome, SenderJournal
from dovemq.load.reading import Kept

RUN: Final = "fake"
LEASE_US: Final = 10_000_000
STEP_US: Final = 1_000
"""The time between two messages of the run."""
ANSWER_US: Final = 300


@dataclasses.dataclass
class Send:
    queue: int
    sender: int
    send_seq: int
    crc: int
    sent_us: int
    outcome: RequestOutcome
    message_id: str
    stored: bool


@dataclasses.dataclass
class Receive:
    send: Send
    receiver: int
    count: int
    asked_us: int
    settle: RequestOutcome
    crc: int

    @property
    def received_us(self) -> int:
        return self.asked_us + ANSWER_US

    @property
    def settled_us(self) -> int:
        return self.received_us + ANSWER_US


class FakeRun:
    """`trouble` is the probability of each legitimate failure."""

    def __init__(
        self,
        seed: int,
        *,
        messages: int = 60,
        senders: int = 3,
        receivers: int = 2,
        queues: tuple[str, ...] = ("a", "b"),
        trouble: float = 0.1,
    ) -> None:
        self.rng = random.Random(seed)
        self.queues = queues
        self.sends: list[Send] = []
        self.receives: list[Receive] = []
        self._receivers = receivers
        self._trouble = trouble
        self._ids = 0
        now_us = 1_700_000_000_000_000
        for number in range(messages):
            stream = number % (senders * len(queues))
            now_us += STEP_US
            seq = number // (senders * len(queues)) + 1
            self._send(stream % len(queues), stream // len(queues), seq, now_us)
        self.receives.sort(key=lambda receive: receive.received_us)

    def _send(self, queue: int, sender: int, send_seq: int, now_us: int) -> None:
        crc = self.rng.getrandbits(32)
        for attempt in range(3):
            outcome = self._drawn(
                (RequestOutcome.UNKNOWN, RequestOutcome.REFUSED), RequestOutcome.ACKNOWLEDGED
            )
            stored = outcome is RequestOutcome.ACKNOWLEDGED or (
                outcome is RequestOutcome.UNKNOWN and self.rng.random() < 0.5
            )
            self._ids += 1
            sent_us = now_us + attempt
            message_id = f"{self._ids:08x}-0000-4000-8000-000000000000"
            send = Send(queue, sender, send_seq, crc, sent_us, outcome, message_id, stored)
            self.sends.append(send)
            if stored:
                self.receives.extend(self._received(send, now_us + 50 * STEP_US + attempt))
            if outcome is RequestOutcome.ACKNOWLEDGED or self.rng.random() < 0.3:
                return

    def _received(self, send: Send, asked_us: int) -> Iterator[Receive]:
        for count in range(1, 5):
            receiver = self.rng.randrange(self._receivers)
            settle = self._drawn(
                (RequestOutcome.UNKNOWN, RequestOutcome.REFUSED, RequestOutcome.NONE),
                RequestOutcome.ACKNOWLEDGED,
            )
            yield Receive(send, receiver, count, asked_us, settle, send.crc)
            gone = settle is RequestOutcome.ACKNOWLEDGED or (
                settle is RequestOutcome.UNKNOWN and self.rng.random() < 0.5
            )
            if gone:
                return
            asked_us += LEASE_US + self.rng.randrange(1, 5) * STEP_US

    def _drawn(self, troubles: tuple[RequestOutcome, ...], usual: RequestOutcome) -> RequestOutcome:
        return self.rng.choice(troubles) if self.rng.random() < self._trouble else usual

    def quiet(self) -> list[Send]:
        """Returns sends of messages that were sent once, received once and settled."""
        sent = [(each.queue, each.sender, each.send_seq) for each in self.sends]
        received = [id(each.send) for each in self.receives]
        settled = {
            id(each.send) for each in self.receives if each.settle is RequestOutcome.ACKNOWLEDGED
        }
        return [
            each
            for each, key in zip(self.sends, sent, strict=True)
            if each.outcome is RequestOutcome.ACKNOWLEDGED
            and sent.count(key) == 1
            and received.count(id(each)) == 1
            and id(each) in settled
        ]

    def receive_of(self, send: Send) -> Receive:
        return next(each for each in self.receives if each.send is send)

    def journals(self, folder: Path | None = None) -> list[Kept]:
        """Writes journals as clients would; also to `folder`, if there is one."""
        paths = [folder and folder / f"{name}{SUFFIX}" for name in ("senders", "receivers")]
        with (
            SenderJournal(RUN, self.queues, paths[0]) as senders,
            ReceiverJournal(RUN, self.queues, paths[1]) as receivers,
        ):
            self._write(senders, receivers)
            return [Kept(each.heading, each.array()) for each in (senders, receivers)]

    def _write(self, senders: SenderJournal, receivers: ReceiverJournal) -> None:
        for send in self.sends:
            slot = senders.sending(
                send.queue, send.sender, send.send_seq, send.crc, 100, send.sent_us
            )
            if send.outcome is RequestOutcome.ACKNOWLEDGED:
                senders.acknowledged(slot, send.message_id, send.sent_us + ANSWER_US)
            elif send.outcome is RequestOutcome.REFUSED:
                senders.refused(slot, send.sent_us + ANSWER_US)
        for each in self.receives:
            slot = receivers.received(
                each.send.queue,
                each.receiver,
                each.send.sender,
                each.send.send_seq,
                each.send.message_id,
                each.crc,
                100,
                each.count,
                each.asked_us,
                each.received_us,
                LEASE_US,
            )
            if each.settle is not RequestOutcome.NONE:
                receivers.settling(slot, each.received_us + 1)
            if each.settle is RequestOutcome.ACKNOWLEDGED:
                receivers.settled(slot, each.settled_us)
            elif each.settle is RequestOutcome.REFUSED:
                receivers.settle_refused(slot, each.settled_us)


def lose(run: FakeRun) -> Send:
    victim = run.rng.choice(run.quiet())
    run.receives.remove(run.receive_of(victim))
    return victim


def corrupt(run: FakeRun) -> Send:
    victim = run.rng.choice(run.quiet())
    run.receive_of(victim).crc ^= 1
    return victim


def invent(run: FakeRun) -> Send:
    """Adds a received message with a number that no sender has used."""
    model = run.rng.choice(run.quiet())
    stranger = dataclasses.replace(model, send_seq=10_000, message_id="nobody-sent-this")
    run.receives.append(dataclasses.replace(run.receive_of(model), send=stranger))
    return stranger


def give_back(run: FakeRun) -> Send:
    victim = run.rng.choice(run.quiet())
    first = run.receive_of(victim)
    again = dataclasses.replace(first, count=2, asked_us=first.settled_us + LEASE_US)
    run.receives.append(again)
    return victim


def collide(run: FakeRun) -> Send:
    """Delivers a message to two receivers whose requests overlap."""
    victim = run.rng.choice(run.quiet())
    first = run.receive_of(victim)
    run.receives.append(dataclasses.replace(first, receiver=9, asked_us=first.asked_us + 100))
    return victim


def double(run: FakeRun) -> Send:
    victim = run.rng.choice(run.quiet())
    copy = dataclasses.replace(victim, message_id="the-same-once-more")
    first = run.receive_of(victim)
    run.receives.append(dataclasses.replace(first, send=copy, asked_us=first.asked_us + STEP_US))
    return victim


def swap(run: FakeRun) -> Send:
    """Swaps two neighbours of a stream, so that the earlier one is late."""
    quiet = run.quiet()
    victim, later = run.rng.choice(
        [
            (one, other)
            for one, other in itertools.combinations(quiet, 2)
            if (one.queue, one.sender, one.send_seq + 1)
            == (other.queue, other.sender, other.send_seq)
        ]
    )
    mine, other = run.receive_of(victim), run.receive_of(later)
    mine.asked_us, other.asked_us = other.asked_us, mine.asked_us
    return victim
