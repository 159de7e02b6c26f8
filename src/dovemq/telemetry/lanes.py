"""Rows of the trace on their way: filled by the event loop, one lane for each kind of event.

What a row has of its message is packed at once into an entry, which all rows of that message
share, and nothing of a request is kept alive: objects that wait for the writer take the caches
from the work of the loop, which costs more than packing them. Most values are the same for all
messages of a request and are kept once for each group of rows; `columns.py` spreads them.
"""

from array import array
from struct import Struct
from typing import Final

from dovemq.telemetry.schema import TraceEvent

ID_BYTES: Final = 36
"""Of a message id; shorter ones are filled up with zeros, and none at all is unknown."""
NEVER: Final = -(1 << 63)
"""A time that there is not."""
NOBODY: Final = -1
"""A label that there is not."""

ENTRY: Final = Struct(f"<{ID_BYTES}sqqI")
GROUP: Final = Struct("<iiiqiqqiq")

JobText = tuple[str | None, str | None, str | None]
"""job_type, job_id, task."""


def entry_of(message_id: str, number: int, size_bytes: int, crc32: int) -> bytes:
    """What a row has of its message."""
    return ENTRY.pack(message_id.encode(), number, size_bytes, crc32)


def entry_unknown(number: int) -> bytes:
    """Of a message of which nothing is known any more but its number."""
    return ENTRY.pack(b"", number, 0, 0)


class Lane:
    """One event's rows. `counts` are the receive counts where it has them.

    Who adds entries must end them with a group.
    """

    __slots__ = ("clients", "counts", "entries", "groups", "jobs", "queues", "rows", "senders")

    def __init__(self) -> None:
        self.rows = 0
        self.entries = bytearray()
        self.counts = array("i")
        self.groups = bytearray()
        self.queues: dict[str, int] = {}
        self.clients: dict[str, int] = {}
        self.senders: dict[str, int] = {}
        self.jobs: dict[int, JobText] = {}
        """By row; hardly any message has them."""

    def end_group(
        self,
        rows: int,
        queue: str,
        partition: int,
        time_ns: int,
        client: str | None = None,
        read_ns: int = NEVER,
        written_ns: int = NEVER,
        sender: str | None = None,
        receives: int = 0,
    ) -> None:
        """Of so many rows; `receives` is the number of the first lease among them.

        Times are of the process's own clock.
        """
        self.rows += rows
        self.groups += GROUP.pack(
            rows,
            self.queues.setdefault(queue, len(self.queues)),
            partition,
            time_ns,
            NOBODY if client is None else self.clients.setdefault(client, len(self.clients)),
            read_ns,
            written_ns,
            NOBODY if sender is None else self.senders.setdefault(sender, len(self.senders)),
            receives,
        )


class Chunk:
    """What was recorded between two ticks."""

    __slots__ = ("lanes", "leased", "sent", "settled")

    def __init__(self) -> None:
        self.lanes: Final = {event: Lane() for event in TraceEvent}
        self.sent = self.lanes[TraceEvent.SENT]
        self.leased = self.lanes[TraceEvent.LEASED]
        self.settled = self.lanes[TraceEvent.SETTLED]

    @property
    def rows(self) -> int:
        return sum(lane.rows for lane in self.lanes.values())
