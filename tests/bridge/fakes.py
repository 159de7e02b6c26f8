"""A broker and a queue service in memory, for tests of a bridge without sockets."""

import asyncio
import itertools
from collections.abc import Callable, Sequence

from dovemq.bridge.messages import MqttMessage
from dovemq.bridge.plan import BridgePlan, BrokerAddress
from dovemq.bridge.routes import Route, RouteTable
from dovemq.bridge.run import Arrived, Bridge
from dovemq.bridge.topics import TopicFilter
from dovemq.client.errors import ClientError
from dovemq.sqs.shapes import FailedEntry, SendEntry, SendMessageBatchResponse, SentEntry

TURNS_MAX = 1_000
BROKER = BrokerAddress.parse("mqtt://127.0.0.1")


async def until(condition: Callable[[], bool]) -> None:
    """Lets other tasks run until the condition holds."""
    for _ in range(TURNS_MAX):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("the condition never held")


async def rest(_: float) -> None:
    await asyncio.sleep(0)


class FakeQueues:
    """Stores entries, or fails as the test says: the whole request, or entries by body.

    `refusals` has a code by body, and whether the sender is at fault. They hold in `refusing`
    queues, which are all unless the test names one.
    """

    def __init__(self) -> None:
        self.stored: list[tuple[str, SendEntry]] = []
        self.requests: list[list[SendEntry]] = []
        self.failure: ClientError | None = None
        self.refusals: dict[str, tuple[str, bool]] = {}
        self.refusing = ""
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, queue: str, entries: Sequence[SendEntry]) -> SendMessageBatchResponse:
        self.requests.append(list(entries))
        await self.open.wait()
        if self.failure is not None:
            raise self.failure
        done, failed = [], []
        for entry in entries:
            place, body = entry.id or "", entry.message_body or ""
            if body in self.refusals and queue.endswith(self.refusing):
                code, by_sender = self.refusals[body]
                failed.append(FailedEntry(place, code, "", by_sender))
            else:
                self.stored.append((queue, entry))
                done.append(SentEntry("", f"m{len(self.stored)}", id=place))
        return SendMessageBatchResponse(done, failed)

    def bodies(self, queue: str | None = None) -> list[str]:
        return [
            entry.message_body or ""
            for name, entry in self.stored
            if queue is None or name.endswith(queue)
        ]


class FakeLink:
    """A connection that a test delivers messages on and breaks."""

    def __init__(self, broker: "FakeBroker", arrived: Arrived, *, clean: bool) -> None:
        self._broker = broker
        self._numbers = itertools.count(1)
        self.arrived = arrived
        self.clean = clean
        self.reading = False
        self.closed = False
        self.at_close: Callable[[], None] = lambda: None
        self.subscribed: list[TopicFilter] = []
        self.unsubscribed: list[str] = []
        self.answered: list[int] = []
        self._loss: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self) -> bool:
        self._broker.opened += 1
        if self._broker.failures:
            raise self._broker.failures.pop(0)
        self.reading = True
        return self._broker.has_session

    async def subscribe(self, filters: Sequence[TopicFilter]) -> list[TopicFilter]:
        self.subscribed = list(filters)
        return []

    async def unsubscribe(self, texts: Sequence[str]) -> None:
        self.unsubscribed = list(texts)

    async def lost(self) -> str:
        return await self._loss

    async def close(self) -> None:
        self.at_close()
        self.closed = True

    def acknowledge(self, message: MqttMessage) -> None:
        self.answered.append(message.packet_id)

    def pause(self) -> None:
        self.reading = False

    def resume(self) -> None:
        self.reading = True

    def deliver(self, topic: str, body: str, qos: int = 1) -> None:
        number = next(self._numbers) if qos else 0
        self.arrived(MqttMessage(topic, body.encode(), qos, number))

    def lose(self, error: Exception | None = None) -> None:
        if error is None:
            self._loss.set_result("the connection broke")
        else:
            self._loss.set_exception(error)


class FakeBroker:
    def __init__(self) -> None:
        self.links: list[FakeLink] = []
        self.failures: list[Exception] = []
        self.has_session = False
        self.opened = 0

    def new_link(self, arrived: Arrived, clean: bool) -> FakeLink:
        self.links.append(FakeLink(self, arrived, clean=clean))
        return self.links[-1]

    @property
    def link(self) -> FakeLink:
        return self.links[-1]


class World:
    """A bridge between a fake broker and fake queues, run by `async with`."""

    def __init__(
        self,
        routes: Sequence[tuple[str, str]],
        *,
        in_flight_max: int = 100,
        protocol: str = "5",
        refused_queue: str | None = None,
        clean_start: bool = False,
        unsubscribe: Sequence[str] = (),
    ) -> None:
        self.broker = FakeBroker()
        self.queues = FakeQueues()
        self.reports: list[str] = []
        self.stopped = asyncio.Event()
        plan = BridgePlan(
            BROKER,
            RouteTable([Route(TopicFilter.parse(text), queue) for text, queue in routes]),
            "test",
            protocol,
            in_flight_max,
            60,
            refused_queue=refused_queue,
            clean_start=clean_start,
            unsubscribe=unsubscribe,
        )
        ids = itertools.count()
        self.bridge = Bridge(
            plan,
            {name: f"http://test/0/{name}" for name in plan.queues},
            new_link=self.broker.new_link,
            send=self.queues.send,
            report=self.reports.append,
            new_id=lambda: f"id-{next(ids)}",
            pause=rest,
        )
        self.counts = self.bridge.counts

    async def __aenter__(self) -> "World":
        self.running = asyncio.create_task(self.bridge.run(self.stopped.wait()))
        await until(lambda: self.running.done() or self.counts.connections > 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.stopped.set()
        self.queues.open.set()
        await self.running
