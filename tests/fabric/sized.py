"""A queue that sizes itself, with clients and work that tests set."""

from collections import Counter
from typing import Any

from dovemq.core.partitions import ControlMemory, Layout
from dovemq.fabric.autonomic import ActionKind
from dovemq.fabric.controlling import ControlRecord
from dovemq.fabric.session_counts import ClientCount, SessionCounts
from dovemq.fabric.sizing import SizingPorts
from tests.fabric.spread import SpreadWorld

STEP_MS = 1_000
INHIBITION_MS = 30_000


class FakeClients(SessionCounts):
    """The clients of one front end by partition, of whatever queue."""

    def __init__(self) -> None:
        super().__init__()
        self.by_partition: dict[int, ClientCount] = {}

    def set(self, partition: int, producers: int, consumers: int) -> None:
        self.by_partition[partition] = ClientCount(producers, consumers)

    def counts(self, queue_number: int) -> dict[int, ClientCount]:
        return self.by_partition


class FakeTraffic:
    """Operations by partition; `others` are those of other queues."""

    def __init__(self) -> None:
        self.by_partition: Counter[int] = Counter()
        self.others = 0

    def operations(self, queue_number: int, partition: int) -> int:
        return self.by_partition[partition]

    def operations_of_all(self) -> int:
        return self.by_partition.total() + self.others


class FakeRecorder:
    def __init__(self) -> None:
        self.records: list[ControlRecord] = []
        self.failure: Exception | None = None

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def record(self, record: ControlRecord) -> None:
        self.records.append(record)

    @property
    def actions(self) -> list[tuple[ActionKind, int]]:
        return [(each.action.kind, each.action.partition) for each in self.records]


class SizedWorld(SpreadWorld):
    """One queue in memory that sizes itself; capacities are 12 clients unless it works."""

    def __init__(self, **changes: Any) -> None:
        self.clients = FakeClients()
        self.traffic = FakeTraffic()
        self.busy = 0.0
        self.recorder = FakeRecorder()
        self.other_reports: list[bytes] = []
        self.ports = SizingPorts(self.traffic, lambda: self.busy, lambda: self.other_reports)
        changes = {"partitions": 1, "auto": True, **changes}
        super().__init__(sizing=self.ports, clients=self.clients, **changes)
        self.fabric.sizing.controller.recorder = self.recorder

    async def start(self) -> "SizedWorld":
        await super().start()
        self.fabric.noticed(self.queue)
        return self

    async def step(self, count: int = 1) -> None:
        """Seconds that pass, each with one step of the upkeep."""
        for _ in range(count):
            self.manual.advance(STEP_MS)
            await self.fabric.keep_up(leads=True, scan=False)
        await self.refresh()

    @property
    def layout(self) -> Layout:
        return self.queue.settings.layout

    @property
    def control(self) -> ControlMemory:
        return self.queue.settings.control

    @property
    def actions(self) -> list[tuple[ActionKind, int]]:
        return self.recorder.actions
