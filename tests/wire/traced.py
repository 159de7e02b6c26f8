"""A world with a trace that ends in a list, and a client that may lose its responses."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from dovemq.telemetry.columns import TraceOrigin, table_of
from dovemq.telemetry.lanes import Chunk
from dovemq.telemetry.trace import Trace
from tests.wire.speaking import JSON, answer_of, request_of
from tests.wire.world import World

FRONT_END = "front"
STEP_US = 10
"""Every look at the clock moves it, so that no two times are equal."""
EPOCH_US = 1_700_000_000_000_000
ORIGIN = TraceOrigin(FRONT_END, EPOCH_US * 1_000)

Row = dict[str, Any]


class Shelf:
    """A sink that keeps the chunks for the test."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.rows_waiting = 0

    def put(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)


class TracedWorld(World):
    """A world with a trace; it must be created on a running loop."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        self.us = EPOCH_US
        super().__init__(trace=self.new_trace())

    def new_trace(self) -> Trace:
        self.trace = Trace(self.shelf, self.now_ns, asyncio.get_running_loop())
        return self.trace

    def now_ns(self) -> int:
        self.us += STEP_US
        return (self.us - EPOCH_US) * 1_000

    async def call(
        self,
        protocol: str,
        operation: str,
        params: Mapping[str, Any],
        path: str = "/",
        *,
        taken: bool = True,
    ) -> Any:
        """Make a request; the client reads the response, or disconnects before that."""
        asked = request_of(protocol, operation, params, path)
        request = msgspec.structs.replace(asked, read_ns=self.now_ns())
        response = await self.endpoint.handle(request)
        if taken and response.written is not None:
            response.written()
        elif not taken and response.undelivered is not None:
            await response.undelivered()
        return answer_of(protocol, operation, response)

    async def lost(self, operation: str, **params: Any) -> None:
        await self.call(JSON, operation, params, taken=False)

    async def settled(self, queue: str, *receipts: str) -> None:
        entries = [{"Id": str(at), "ReceiptHandle": each} for at, each in enumerate(receipts)]
        await self.done("DeleteMessageBatch", QueueUrl=queue, Entries=entries)

    async def received(self, queue: str, count: int = 10) -> list[dict[str, Any]]:
        answer = await self.done("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=count)
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def rows(self, event: str | None = None) -> list[Row]:
        """All rows so far, in order of time."""
        self.trace.close()
        rows: list[Row] = []
        for chunk in self.shelf.chunks:
            for kind, lane in chunk.lanes.items():
                if lane.rows:
                    table = table_of(kind, lane, ORIGIN)
                    table.validate(full=True)
                    rows += table.to_pylist()
        rows.sort(key=lambda row: row["ts_us"])
        return [row for row in rows if event is None or row["event"] == event]
