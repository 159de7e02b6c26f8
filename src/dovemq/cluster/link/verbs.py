"""The messages of the link: verbs of `core.ports.Partition`, their answers, and wake-ups.

A frame is a list of these messages. Times that mean "from now" travel as distances, since the
clocks of two machines differ: `DropVerb.age_ms` and `LeaseAnswer.due_in_ms`. The owner takes the
present time from its own clock when a verb arrives. The other times (of sends, receives and
receipts) are the owner's, and come back to it unchanged.

A place is the number of the queue and of the partition. A verb adds the version of the queue that
its caller knows, so that the owner notices that its own is old. Messages travel as rows
(`rows.py`); the other values of `core/commands.py` travel with the names of their fields.
"""

from typing import Final

import msgspec
from msgspec import Struct

from dovemq.cluster.link.failures import Failure
from dovemq.cluster.link.rows import DraftRow, LeaseRow, PeekedRow, TransferRow
from dovemq.core.commands import Ask, Counts, Extension, Peek, Receipt, Settlement
from dovemq.stores.owned.group import PartitionKey

VersionedPlace = tuple[int, int, int]
"""Number of the queue, number of the partition, version of the queue."""


class Ping(Struct, array_like=True, tag=0, frozen=True):
    """A sign of life; it needs no answer."""


class Watch(Struct, array_like=True, tag=1, frozen=True):
    place: PartitionKey


class Unwatch(Struct, array_like=True, tag=2, frozen=True):
    place: PartitionKey


class Cancel(Struct, array_like=True, tag=3, frozen=True):
    """The caller of a lease has gone. If it is still under way, nothing stays leased."""

    number: int


class SendVerb(Struct, array_like=True, tag=10):
    place: VersionedPlace
    drafts: list[DraftRow]
    number: int = 0


class LeaseVerb(Struct, array_like=True, tag=11):
    place: VersionedPlace
    ask: Ask
    number: int = 0


class SettleVerb(Struct, array_like=True, tag=12):
    place: VersionedPlace
    receipts: list[Receipt]
    moved: bool
    number: int = 0
    forced: bool = False


class ExtendVerb(Struct, array_like=True, tag=13):
    place: VersionedPlace
    changes: list[tuple[Receipt, int]]
    number: int = 0


class ReleaseVerb(Struct, array_like=True, tag=14):
    place: VersionedPlace
    receipts: list[Receipt]
    number: int = 0


class AdoptVerb(Struct, array_like=True, tag=15):
    place: VersionedPlace
    transfers: list[TransferRow]
    number: int = 0


class DropVerb(Struct, array_like=True, tag=16):
    """Removes messages that were sent more than `age_ms` before the owner's present time."""

    place: VersionedPlace
    age_ms: int
    count_max: int
    number: int = 0


class PeekVerb(Struct, array_like=True, tag=17):
    place: VersionedPlace
    page: Peek
    number: int = 0


class CountsVerb(Struct, array_like=True, tag=18):
    place: VersionedPlace
    number: int = 0


Verb = (
    SendVerb
    | LeaseVerb
    | SettleVerb
    | ExtendVerb
    | ReleaseVerb
    | AdoptVerb
    | DropVerb
    | PeekVerb
    | CountsVerb
)
FromCaller = Ping | Watch | Unwatch | Cancel | Verb


class Wake(Struct, array_like=True, tag=1, frozen=True):
    """There may be messages to receive in the partition."""

    place: PartitionKey


class Bye(Struct, array_like=True, tag=2, frozen=True):
    """The owner stops. It answers what has arrived, and then closes the connection."""


class FailureAnswer(Struct, array_like=True, tag=9, frozen=True):
    number: int
    failure: Failure


class SendAnswer(Struct, array_like=True, tag=10, frozen=True):
    """Answers `SendVerb` and `AdoptVerb`: message id, sequence, and whether it is a duplicate."""

    number: int
    sent: list[tuple[str, int, bool]]


class LeaseAnswer(Struct, array_like=True, tag=11, frozen=True):
    number: int
    messages: list[LeaseRow]
    exhausted: list[LeaseRow]
    more: bool
    due_in_ms: int | None


class SettleAnswer(Struct, array_like=True, tag=12, frozen=True):
    number: int
    settlements: list[Settlement]


class ExtendAnswer(Struct, array_like=True, tag=13, frozen=True):
    number: int
    extensions: list[Extension]


class ReleaseAnswer(Struct, array_like=True, tag=14, frozen=True):
    number: int


class DropAnswer(Struct, array_like=True, tag=16, frozen=True):
    number: int
    count: int


class PeekAnswer(Struct, array_like=True, tag=17, frozen=True):
    """`cut`: the page was too long for a frame, and the caller asks for the rest of it."""

    number: int
    peeked: list[PeekedRow]
    cut: bool


class CountsAnswer(Struct, array_like=True, tag=18, frozen=True):
    number: int
    counts: Counts


Answer = (
    FailureAnswer
    | SendAnswer
    | LeaseAnswer
    | SettleAnswer
    | ExtendAnswer
    | ReleaseAnswer
    | DropAnswer
    | PeekAnswer
    | CountsAnswer
)
FromOwner = Ping | Wake | Bye | Answer

PING: Final = Ping()
BYE: Final = Bye()


def verbs_decoder() -> msgspec.msgpack.Decoder[list[FromCaller]]:
    return msgspec.msgpack.Decoder(list[FromCaller])


def answers_decoder() -> msgspec.msgpack.Decoder[list[FromOwner]]:
    return msgspec.msgpack.Decoder(list[FromOwner])
