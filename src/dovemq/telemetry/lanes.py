"""Rows of the trace on their way: filled by the event loop, one lane for each kind of event.

Most values are the same for all messages of a request. They are kept once for each group of rows,
in a tuple; `columns.py` turns them round and spreads them. A row costs the loop little more than
what it alone has.
"""

from typing import Final

from dovemq.telemetry.schema import Event

Entry = tuple[str | None, int, int, int]
"""What a row has of its message: id, `send_seq`, size in bytes, CRC-32 of the body. The rows of one
message share it; those of a message that is not known any more have the sequence alone."""

JobText = tuple[str | None, str | None, str | None]
"""job_type, job_id, task."""

Group = tuple[int, str, int, int, str | None, int | None, int | None, str | None, int]
"""The lane's rows up to and with this group; queue; partition; when it happened; client; when its
request was read; when its answer was written; sender; and the `receive_seq` of its first row, less
the number of rows before it. Times are of the process's own clock, in nanoseconds."""


class Lane:
    """One event's rows; `counts` are the receive counts where it has them."""

    __slots__ = ("counts", "entries", "groups", "jobs")

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.entries: list[Entry] = []
        self.counts: list[int] = []
        self.jobs: dict[int, JobText] = {}
        """By row; hardly any message has them."""

    @property
    def rows(self) -> int:
        return self.groups[-1][0] if self.groups else 0


class Chunk:
    """What was recorded between two ticks."""

    __slots__ = ("lanes", "leased", "sent", "settled")

    def __init__(self) -> None:
        self.lanes: Final = {event: Lane() for event in Event}
        self.sent = self.lanes[Event.SENT]
        self.leased = self.lanes[Event.LEASED]
        self.settled = self.lanes[Event.SETTLED]

    @property
    def rows(self) -> int:
        return sum(lane.rows for lane in self.lanes.values())
