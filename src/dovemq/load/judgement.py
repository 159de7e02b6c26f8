"""Judges one message by everything that its senders and receivers saw; the report of a check.

Only certain violations count. A request whose answer was lost may have been done or not, and a
lease may have started at any time between request and answer; the reading that is best for the
service is used.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.load.journals import RequestOutcome

DEDUPLICATION_US: Final = 1_000 * limits.DEDUPLICATION_MS


class Violation(enum.StrEnum):
    """Something that a queue service must not do."""

    LOST = "lost"
    """The message was acknowledged and never received."""
    CORRUPTED = "corrupted"
    """The message was received with another checksum than it was sent with."""
    STRANGE = "strange"
    """The message was received, though nobody sent it or all its sends were refused."""
    RETURNED = "returned"
    """The message was received by a request made after its settle was acknowledged."""
    COLLIDED = "collided"
    """The message was received while another lease of it was running."""
    DOUBLED = "doubled"
    """One send made two messages; on a FIFO queue also a send that was repeated in time."""
    NAMED = "named"
    """The message was lost or returned, and the service has reported its id."""
    LATE = "late"
    """The message was first received after a later one of its sender, where order is required."""


class Cause(enum.StrEnum):
    """The reason why a message was received again."""

    RESENT = "resent"
    """Its sender repeated a send of unknown outcome, and both were stored."""
    TIMED_OUT = "timed out"
    """The lease may have ended before the settle."""
    COLLIDED = "collided"
    RETURNED = "returned"
    DOUBLED = "doubled"


_FAULTS_OF_CAUSES = {
    Cause.COLLIDED: Violation.COLLIDED,
    Cause.RETURNED: Violation.RETURNED,
    Cause.DOUBLED: Violation.DOUBLED,
}


class SendRecord(Struct, frozen=True):
    """One send, as a journal has it."""

    queue: int
    sender: int
    send_seq: int
    sent_us: int
    outcome: int
    body_crc32: int
    message_id: bytes
    answered_us: int


class ReceiveRecord(Struct, frozen=True):
    """One receive. `place` is the number of its row among all rows of receivers."""

    queue: int
    sender: int
    send_seq: int
    received_us: int
    place: int
    outcome: int
    body_crc32: int
    message_id: bytes
    receiver: int
    receive_count: int
    asked_us: int
    lease_until_us: int
    settled_us: int


class Slack(Struct, frozen=True):
    """The tolerance of times.

    `lease_us`: leases start at a whole millisecond. `clock_us`: the largest difference between the
    clocks of two clients.
    """

    lease_us: int = 1_000
    clock_us: int = 0


class MessageVerdict(Struct, frozen=True):
    faults: frozenset[Violation]
    causes: tuple[Cause, ...]
    """The causes of all receives after the first, in order."""
    intact: bool
    """The message was received at least once with its checksum."""
    stored: bool
    """The message was acknowledged, or received though its sends were not refused."""


def judge(
    attempts: Sequence[SendRecord],
    deliveries: Sequence[ReceiveRecord],
    slack: Slack,
    *,
    deduplicated: bool = False,
    named: frozenset[bytes] = frozenset(),
) -> MessageVerdict:
    """Judges a message; `deliveries` are in the order of receiving.

    `deduplicated`: a send that is repeated within the interval of FIFO queues makes no second
    message. `named` has the ids of messages that the service has reported as lost or returned.
    """
    taken = [attempt for attempt in attempts if attempt.outcome != RequestOutcome.REFUSED]
    acknowledged = {
        attempt.message_id for attempt in taken if attempt.outcome == RequestOutcome.ACKNOWLEDGED
    }
    checksums = {attempt.body_crc32 for attempt in attempts}
    right = [delivery.body_crc32 in checksums for delivery in deliveries]
    copies_max = 1 if deduplicated and _within_interval(attempts) else len(taken)
    causes = _causes(deliveries, copies_max, slack)
    faults = {_FAULTS_OF_CAUSES[cause] for cause in causes if cause in _FAULTS_OF_CAUSES}
    if deliveries and not taken:
        faults.add(Violation.STRANGE)
    received = {delivery.message_id for delivery in deliveries}
    if missing := acknowledged - received:
        faults.add(Violation.NAMED if missing <= named else Violation.LOST)
    if not named.isdisjoint(received) and Violation.RETURNED in faults:
        faults = faults - {Violation.RETURNED} | {Violation.NAMED}
    if attempts and not all(right):
        faults.add(Violation.CORRUPTED)
    stored = bool(acknowledged) or bool(taken and deliveries)
    return MessageVerdict(frozenset(faults), causes, any(right), stored)


def _within_interval(attempts: Sequence[SendRecord]) -> bool:
    """Tells whether the last send was requested and answered within the interval of the first."""
    times = [max(attempt.sent_us, attempt.answered_us) for attempt in attempts]
    first_us = min((attempt.sent_us for attempt in attempts), default=0)
    return max(times, default=0) - first_us < DEDUPLICATION_US


def _causes(
    deliveries: Sequence[ReceiveRecord], copies_max: int, slack: Slack
) -> tuple[Cause, ...]:
    causes: list[Cause] = []
    earlier: dict[bytes, list[ReceiveRecord]] = {}
    for delivery in deliveries:
        same = earlier.setdefault(delivery.message_id, [])
        if same:
            causes.append(_cause(delivery, same, slack))
        elif len(earlier) > 1:
            causes.append(Cause.RESENT if len(earlier) <= copies_max else Cause.DOUBLED)
        same.append(delivery)
    return tuple(causes)


def _cause(delivery: ReceiveRecord, earlier: Sequence[ReceiveRecord], slack: Slack) -> Cause:
    """Returns why the same message was received again.

    A receive that was under way when the settle was answered may have leased the message before.
    """
    if any(
        each.outcome == RequestOutcome.ACKNOWLEDGED
        and each.settled_us + slack.clock_us < delivery.asked_us
        for each in earlier
    ):
        return Cause.RETURNED
    known_us = delivery.received_us + slack.clock_us + slack.lease_us
    if any(known_us < each.lease_until_us for each in earlier):
        return Cause.COLLIDED
    return Cause.TIMED_OUT


class RequestCounts(Struct, frozen=True):
    """The outcomes of sends, or of settles, as far as their clients know."""

    acknowledged: int
    refused: int
    unknown: int


class Culprit(Struct, frozen=True):
    """A message that violates the rules, and everything that was seen of it."""

    faults: tuple[Violation, ...]
    queue: str
    sender: int
    send_seq: int
    history: tuple[str, ...]


class CheckReport(Struct, frozen=True):
    """The account of all messages of a run.

    `messages` were acknowledged, or received without an acknowledgement. `in_doubt` were neither
    acknowledged nor received, and are not counted. `received` counts messages, `receives` all
    receives. `left` were received and not settled with an acknowledgement. `late` were first
    received after a later message of their stream, whether order was required or not. `faults`
    counts messages; a message may have several.
    """

    sends: RequestCounts
    settles: RequestCounts
    messages: int
    in_doubt: int
    receives: int
    received: int
    left: int
    late: int
    duplicates: Mapping[Cause, int]
    faults: Mapping[Violation, int]
    allowed: tuple[Violation, ...]
    rates: Mapping[str, float]
    culprits: tuple[Culprit, ...]

    @property
    def failed(self) -> bool:
        return any(count for fault, count in self.faults.items() if fault not in self.allowed)
