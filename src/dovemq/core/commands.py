"""The questions that a partition answers, each beside its answer. The list is closed.

`core/ports.py` says what a store promises about them.
"""

import enum
from collections.abc import Mapping

from msgspec import Struct

from dovemq.core.message import Attribute, Message


class Draft(Struct, frozen=True):
    """A message to be sent. The store adds the sequence and the time.

    A draft has a `deduplication_id` if and only if its queue is FIFO; it may be made from the body.
    """

    message_id: str
    body: str
    sender: str
    delay_ms: int = 0
    attributes: Mapping[str, Attribute] = {}
    group: str | None = None
    deduplication_id: str | None = None
    xray_header: str | None = None


class Sent(Struct, frozen=True):
    message_id: str
    sequence: int


class Duplicate(Struct, frozen=True):
    """The draft repeats one of the deduplication interval; these are the ids of the first one."""

    message_id: str
    sequence: int


class Ask(Struct, frozen=True):
    """A receive of up to `count_max` messages, hidden for `lease_ms`.

    Messages that were already received `receives_max` times are returned as exhausted, and are
    hidden for at least `limits.REDRIVE_LEASE_MS`. They do not count against `count_max`.

    `wait_ms` is the time for which the caller would wait for a message. A single partition answers
    at once all the same; a queue of several may hold the answer back, as its strategy says.
    """

    count_max: int
    lease_ms: int
    receives_max: int | None = None
    wait_ms: int = 0


class Receipt(Struct, frozen=True):
    """The name of one lease of one message. `core/receipts.py` turns it into text and back.

    `until_ms` is the end of the lease when it was given. Only a store that has the index of a queue
    in its database needs it, to find the message's tuple there; elsewhere it is 0.
    """

    queue_number: int
    partition: int
    sequence: int
    receive_count: int
    leased_ms: int
    until_ms: int = 0


class Lease(Struct, frozen=True):
    message: Message
    receipt: Receipt
    receive_count: int
    first_received_ms: int


class Leased(Struct, frozen=True):
    """The answer to `Ask`.

    `more` is true if further messages can be received now. `next_due_ms` is the earliest time at
    which a hidden message may be received; None if nothing is hidden. `found` has the number of
    messages for each partition that was looked into; None stands for a look into one.
    """

    messages: list[Lease]
    exhausted: list[Lease]
    more: bool
    next_due_ms: int | None
    found: tuple[int, ...] | None = None


class Settlement(enum.Enum):
    SETTLED = "settled"
    GONE = "gone"
    """The message was settled before, dropped or purged, which is a success for the caller."""
    EXPIRED = "expired"
    """The lease has ended, so the message stays. Only on FIFO queues."""


class Extension(enum.Enum):
    EXTENDED = "extended"
    NOT_LEASED = "not leased"
    """The lease has ended, and the message cannot be hidden by this receipt again."""
    STALE = "stale"
    """Another receive holds a newer lease, which does not change."""
    GONE = "gone"


class Transfer(Struct, frozen=True):
    """A message that moves from one queue to another, with the history that it keeps.

    A standard queue keeps `message.sent_ms`; a FIFO queue replaces it by the present time. The
    target gives the message a new sequence.
    """

    message: Message
    receive_count: int = 0
    first_received_ms: int = 0


class Visibility(enum.Enum):
    VISIBLE = "visible"
    LEASED = "leased"
    DELAYED = "delayed"


class Peek(Struct, frozen=True):
    """A look at up to `count_max` messages in order of sequence, after `after_sequence`.

    Messages of several partitions may have the same sequence, and are then in order of partition:
    with `after_partition` the look begins after that message of that partition.
    """

    count_max: int
    after_sequence: int = 0
    after_partition: int | None = None


class Peeked(Struct, frozen=True):
    message: Message
    visibility: Visibility
    visible_ms: int
    receive_count: int
    first_received_ms: int
    partition: int = 0


class Counts(Struct, frozen=True):
    """The numbers of messages at the time asked for. They are exact.

    `oldest_ms` is the time at which the oldest visible message was sent. `bytes` is the size of
    all messages in the store, by `sending.stored_units`.
    """

    visible: int
    leased: int
    delayed: int
    oldest_ms: int | None = None
    bytes: int = 0


class MoveStatus(enum.Enum):
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Move(Struct, frozen=True):
    """A task that moves all messages of a dead-letter queue to another queue.

    Queues are named as `account/name`. Without a target each message goes back to the queue that
    it came from.
    """

    move_id: str
    source: str
    target: str | None
    rate_per_second: int | None
    started_ms: int
    to_move: int
    moved: int = 0
    status: MoveStatus = MoveStatus.RUNNING
    failure: str | None = None
