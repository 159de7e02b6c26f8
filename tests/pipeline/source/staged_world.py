"""A fake queue, a staging folder, and the actions of Spark's driver and tasks."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dovemq.pipeline.source.columns import StagedColumns
from dovemq.pipeline.source.folders import LocalStagingFolder, StagingFolder
from dovemq.pipeline.source.keeping import Keeper
from dovemq.pipeline.source.options import ReceiveOptions
from dovemq.pipeline.source.slots import SlotFiller
from dovemq.pipeline.source.staging import Epoch, Promise, Slot, Staging
from dovemq.testing.clock import ManualClock
from tests.pipeline.source.fake_queue import FakeClient, FakeQueue

OPTIONS = ReceiveOptions(
    lease_seconds=30, heartbeat_seconds=10, wait_seconds=0, receivers=2, receives=2
)
QUEUE = "http://queue/000000000000/orders"

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def no_pause(seconds: float) -> None:
    await asyncio.sleep(0)


class World:
    def __init__(
        self,
        folder: Path,
        *,
        fifo: bool = False,
        options: ReceiveOptions = OPTIONS,
        place: Callable[[], StagingFolder] | None = None,
    ) -> None:
        self.queue = FakeQueue(fifo=fifo)
        self.folder = folder
        self.interfere: Callable[[], None] = lambda: None
        self.options = options
        self.new_place = place or (lambda: LocalStagingFolder(folder))
        self._staging: Staging | None = None

    def start(self) -> Keeper:
        """Starts a keeper as a new process beside the driver would."""
        self.end()
        self._staging = Staging(self.new_place(), QUEUE)
        return Keeper(self.client(), QUEUE, self._staging, self.options, ManualClock(), no_pause)

    def end(self) -> None:
        if self._staging is not None:
            self._staging.close()
            self._staging = None

    def client(self) -> FakeClient:
        return FakeClient(self.queue, lambda: self.interfere())

    async def read(self, slot: Slot, columns: Sequence[str] = ("message_id",)) -> list[str]:
        """Runs one attempt of a task."""
        place = self.new_place()
        wish = StagedColumns.of(columns)
        filling = SlotFiller(self.client(), QUEUE, place, self.options, wish, no_pause)
        entry = await filling.filled(slot)
        return [
            value
            for batch in Epoch(place, slot.epoch).read(entry, columns)
            for value in batch.column(0).to_pylist()
        ]

    async def read_all(self, promise: Promise) -> list[str]:
        """Runs all tasks of a batch at the same time."""
        found = await asyncio.gather(*(self.read(slot) for slot in promise.shares()))
        return sorted(message_id for part in found for message_id in part)
