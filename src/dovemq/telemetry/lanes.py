"""Rows of the trace on their way: lists of columns, filled by the event loop, one lane an event.

Most values are the same for all messages of a request. They are kept once for each group of rows;
`columns.py` spreads them. A row costs the loop little more than what it alone has.
"""

from dovemq.telemetry.schema import Event

JobText = tuple[str | None, str | None, str | None]
"""job_type, job_id, task."""


class Lane:
    """One event's rows. The lists of groups are as long as `ends`, those of rows as its last.

    A list of rows that an event has no use for stays empty.
    """

    __slots__ = (
        "bodies_bytes",
        "bodies_crc",
        "claims",
        "clients",
        "counts",
        "ends",
        "ids",
        "jobs",
        "numbers",
        "partitions",
        "queues",
        "reads_us",
        "receives",
        "senders",
        "times_us",
        "written_us",
    )

    def __init__(self) -> None:
        self.ends: list[int] = []
        """Rows up to and with each group."""
        self.queues: list[str] = []
        self.partitions: list[int] = []
        self.times_us: list[int] = []
        self.clients: list[str | None] = []
        self.reads_us: list[int | None] = []
        self.written_us: list[int | None] = []
        self.senders: list[str] = []
        self.receives: list[int] = []
        """The `receive_seq` that the lane's first row would have if this group began there."""
        self.claims: dict[int, int] = {}
        """By the first sequence of a group: which group the request that made it looks for."""
        self.ids: list[str | None] = []
        self.numbers: list[int] = []
        self.counts: list[int] = []
        self.bodies_bytes: list[int] = []
        self.bodies_crc: list[int] = []
        self.jobs: dict[int, JobText] = {}
        """By row; hardly any message has them."""

    @property
    def rows(self) -> int:
        return self.ends[-1] if self.ends else 0

    def begin(self, queue: str, partition: int, count: int, time_us: int) -> int:
        """A group of so many rows, with nobody known who asked for it; answers its position."""
        group = len(self.ends)
        self.ends.append(count + (self.ends[-1] if group else 0))
        self.queues.append(queue)
        self.partitions.append(partition)
        self.times_us.append(time_us)
        self.clients.append(None)
        self.reads_us.append(None)
        self.written_us.append(None)
        return group


class Chunk:
    """What was recorded between two ticks."""

    __slots__ = ("lanes", "leased", "sent", "settled")

    def __init__(self) -> None:
        self.lanes = {event: Lane() for event in Event}
        self.sent = self.lanes[Event.SENT]
        self.leased = self.lanes[Event.LEASED]
        self.settled = self.lanes[Event.SETTLED]

    @property
    def rows(self) -> int:
        return sum(lane.rows for lane in self.lanes.values())
