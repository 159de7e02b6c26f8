"""What can be asked of a partition, and what it answers: a closed list.

Each question stands beside its answer. `core/ports.py` says what a store promises about them.
"""

import enum
from collections.abc import Mapping

from msgspec import Struct

from dovemq.core.message import Attribute, Message


class Draft(Struct, frozen=True):
    """A message to be sent. The store adds the sequence and the time.

    `deduplication_id` is set exactly on FIFO queues, also when it comes from the contents.
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
    """The draft was sent before within the deduplication interval; these are the first ids."""

    message_id: str
    sequence: int


class Ask(Struct, frozen=True):
    """A receive of up to `count_max` messages, hidden for `lease_ms`.

    Messages received `receives_max` times already are handed over as exhausted, hidden for
    `limits.REDRIVE_LEASE_MS` at least; they do not count against `count_max`.
    """

    count_max: int
    lease_ms: int
    receives_max: int | None = None


class Receipt(Struct, frozen=True):
    """Names one lease of one message. `core/receipts.py` turns it into text and back."""

    queue_number: int
    partition: int
    sequence: int
    receive_count: int
    leased_ms: int


class Lease(Struct, frozen=True):
    message: Message
    receipt: Receipt
    receive_count: int
    first_received_ms: int


class Leased(Struct, frozen=True):
    """The answer to `Ask`.

    `more` tells that further messages are claimable now. `next_due_ms` is the earliest time at
    which a hidden message may become claimable; None when nothing is hidden.
    """

    messages: list[Lease]
    exhausted: list[Lease]
    more: bool
    next_due_ms: int | None


class Settlement(enum.Enum):
    SETTLED = "settled"
    GONE = "gone"
    """Settled before, dropped or purged: success for the caller."""
    EXPIRED = "expired"
    """FIFO only: the lease has ended, so the message stays."""


class Extension(enum.Enum):
    EXTENDED = "extended"
    NOT_LEASED = "not leased"
    """The lease has ended, and the message cannot be hidden by this receipt again."""
    STALE = "stale"
    """Somebody else holds a newer lease; it is left alone."""
    GONE = "gone"


class Transfer(Struct, frozen=True):
    """A message on its way from one queue to another, with the history it keeps.

    `message.sent_ms` is kept by standard queues and becomes now on FIFO queues. The target
    gives it a sequence of its own.
    """

    message: Message
    receive_count: int = 0
    first_received_ms: int = 0


class Visibility(enum.Enum):
    VISIBLE = "visible"
    LEASED = "leased"
    DELAYED = "delayed"


class Peek(Struct, frozen=True):
    """Up to `count_max` messages in order of sequence, after `after_sequence`."""

    count_max: int
    after_sequence: int = 0


class Peeked(Struct, frozen=True):
    message: Message
    visibility: Visibility
    visible_ms: int
    receive_count: int
    first_received_ms: int


class Counts(Struct, frozen=True):
    """Exact at the time asked for. `oldest_ms`: when the oldest visible message was sent.

    `bytes` is what all of them weigh in the store, by `sending.stored_units`.
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
    """A task that moves all messages of a dead-letter queue, as `account/name`, elsewhere.

    Without a target each message goes back to the queue it came from.
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
