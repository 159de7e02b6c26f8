"""Rows of the trace that wait for the writer, in one lane for each kind of event.

The event loop fills the lanes. The part of a row that describes its message is packed into an entry
at once, and all rows of that message share it. No object of a request is kept: waiting objects
would displace the loop's data from the processor's caches, which costs more than packing. Most
values are the same for all messages of a request and are stored once for each group of rows;
`columns.py` repeats them.
"""

from array import array
from struct import Struct
from typing import Final

from dovemq.telemetry.schema import TraceEvent

ID_BYTES: Final = 36
"""The length of a message id; shorter ones are filled with zeros, and empty means unknown."""
NEVER: Final = -(1 << 63)
"""Stands for a time that is absent."""
NOBODY: Final = -1
"""Stands for a label that is absent."""

ENTRY: Final = Struct(f"<{ID_BYTES}sqqI")
GROUP: Final = Struct("<iiiqiqqiq")

JobText = tuple[str | None, str | None, str | None]
"""job_type, job_id, task."""


def entry_of(message_id: str, number: int, size_bytes: int, crc32: int) -> bytes:
    """The part of a row that describes its message."""
    return ENTRY.pack(message_id.encode(), number, size_bytes, crc32)


def entry_unknown(number: int) -> bytes:
    """The entry of a message of which only the number is known."""
    return ENTRY.pack(b"", number, 0, 0)


class Lane:
    """The rows of one kind of event. `counts` are receive counts, for events that have them.

    After entries are added, `end_group` must follow.
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
        """Jobs by row; few messages have one."""

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
        """End a group of `rows` rows; `receives` is the number of the first lease among them.

        Times are those of the process's own clock.
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
    """The rows that are handed to the writer together."""

    __slots__ = ("lanes", "leased", "sent", "settled")

    def __init__(self) -> None:
        self.lanes: Final = {event: Lane() for event in TraceEvent}
        self.sent = self.lanes[TraceEvent.SENT]
        self.leased = self.lanes[TraceEvent.LEASED]
        self.settled = self.lanes[TraceEvent.SETTLED]

    @property
    def rows(self) -> int:
        return sum(lane.rows for lane in self.lanes.values())
