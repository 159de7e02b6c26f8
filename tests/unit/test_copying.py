"""Copying a queue into another: the source stays as it is, and the target gets everything."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from dovemq.client import AdminClient, SqsClient
from dovemq.client.copying import CopySummary, QueueCopier, TargetBusy
from dovemq.client.delivering import QueueSide
from dovemq.sqs.shapes import (
    AttributeValue,
    FailedEntry,
    SendEntry,
    SendMessageBatchResponse,
    SendMessageRequest,
)
from dovemq.testing.local_server import LocalServer

numbers = itertools.count()


class Copies:
    """A source, a target, and what the copier reported."""

    def __init__(self, admin: AdminClient, client: SqsClient, source: str, target: str) -> None:
        self.admin, self.client = admin, client
        self.source, self.target = source, target
        self.reports: list[str] = []

    def copier(self, count_max: int = 1_000) -> QueueCopier:
        account, name = self.source.split("/")[-2:]
        side = QueueSide(self.client, self.target)
        return QueueCopier(
            self.admin, account, name, side, self.reports.append, count_max=count_max, pause=_rest
        )

    async def peeked(self, url: str) -> list[dict[str, object]]:
        account, name = url.split("/")[-2:]
        found: list[dict[str, object]] = (await self.admin.messages(account, name, 1_000))[
            "messages"
        ]
        return found


async def _rest(_: float) -> None:
    return


@asynccontextmanager
async def copies(
    server: LocalServer, suffix: str = "", kind: type[SqsClient] = SqsClient, **target: str
) -> AsyncIterator[Copies]:
    key = server.access_key
    fifo = {"FifoQueue": "true"} if suffix else {}
    async with (
        AdminClient(server.admin_url, key) as admin,
        kind(server.endpoint_url, key) as client,
    ):
        names = [f"copy-{next(numbers)}{suffix}" for _ in range(2)]
        source = await client.create_queue(names[0], fifo, {})
        yield Copies(
            admin, client, source, await client.create_queue(names[1], {**fifo, **target}, {})
        )


async def test_copy_keeps_body_attributes_group_and_trace(server: LocalServer) -> None:
    async with copies(server) as made:
        message = SendMessageRequest(
            message_body="héllo\n",
            message_attributes={
                "n": AttributeValue("Number.int", "3"),
                "b": AttributeValue("Binary", binary_value=b"\x00\xff"),
            },
            message_system_attributes={"AWSTraceHeader": AttributeValue("String", "Root=1-57")},
            message_group_id="g",
        )
        await made.client.send(made.source, message)
        assert await made.copier().run() == CopySummary(1, 0, 0, False)
        [old], [new] = await made.peeked(made.source), await made.peeked(made.target)
        for field in ("body", "attributes", "group", "trace"):
            assert old[field] == new[field]


async def test_copy_of_a_fifo_queue_keeps_its_order_beyond_a_page(server: LocalServer) -> None:
    async with copies(server, ".fifo") as made:
        for number in range(120):
            message = SendMessageRequest(
                message_body=str(number),
                message_group_id=f"g{number % 3}",
                message_deduplication_id=str(number),
            )
            await made.client.send(made.source, message)
        assert (await made.copier().run()).copied == 120
        found = await made.peeked(made.target)
        assert [each["body"] for each in found] == [str(number) for number in range(120)]
        again = await made.copier().run()
        assert (again.copied, len(await made.peeked(made.target))) == (120, 120)


async def test_refused_message_is_reported_and_others_are_copied(server: LocalServer) -> None:
    async with copies(server, MaximumMessageSize="1024") as made:
        for body in ("a", "x" * 2_000, "b"):
            await made.client.send(made.source, SendMessageRequest(message_body=body))
        assert await made.copier().run() == CopySummary(2, 1, 0, False)
        assert len(made.reports) == 1
        assert [each["body"] for each in await made.peeked(made.target)] == ["a", "b"]


async def test_stopped_copy_counts_what_it_left_out(server: LocalServer) -> None:
    async with copies(server) as made:
        await made.client.send(made.source, SendMessageRequest(message_body="left"))
        copier = made.copier()
        copier.stop()
        assert await copier.run() == CopySummary(0, 0, 1, True)


class BusyClient(SqsClient):
    """Each message of a batch fails for a reason of the server's own."""

    async def send_batch(
        self, queue: str, entries: Sequence[SendEntry]
    ) -> SendMessageBatchResponse:
        return SendMessageBatchResponse(
            [], [FailedEntry(each.id or "", "InternalError", "later", False) for each in entries]
        )


async def test_target_that_never_takes_a_message_ends_the_copy(server: LocalServer) -> None:
    async with copies(server, kind=BusyClient) as made:
        await made.client.send(made.source, SendMessageRequest(message_body="waiting"))
        with pytest.raises(TargetBusy):
            await made.copier().run()
