"""The bridge itself: messages of a broker into queues, until it is stopped.

A message of QoS 1 is acknowledged after every queue of its routes has stored it. If broker, bridge
or server fail before that, the broker delivers it again. So nothing is lost, and a message may be
stored twice.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dovemq.bridge.errors import BrokerRefused, BrokerUnreachable
from dovemq.bridge.feeds import FeedEvents, FeedItem, QueueFeed, SendBatch
from dovemq.bridge.holding import HeldMessage, HeldMessages
from dovemq.bridge.messages import MqttMessage, entry_bytes, new_entry
from dovemq.bridge.plan import BridgePlan
from dovemq.bridge.routes import Route
from dovemq.bridge.topics import TopicFilter
from dovemq.client.retrying import Pause
from dovemq.core import limits

PAUSE_SECONDS: Final = 0.5
PAUSE_SECONDS_MAX: Final = 30.0
"""Shortest and longest pause before the next attempt to connect. Each is twice the one before."""
STABLE_SECONDS: Final = 10.0
"""A connection that lasts longer makes the next pause the shortest again."""
DRAIN_SECONDS_MAX: Final = 10.0
"""Time in which a stopped bridge may store the messages that it has received."""
REPORTED_MAX: Final = 100
"""Messages that are reported one by one; more are only counted."""
_TOPIC_SHOWN_MAX: Final = 200


class BrokerLink(Protocol):
    """A connection to a broker, as `BrokerConnection` makes it."""

    async def open(self) -> bool: ...
    async def subscribe(self, filters: Sequence[TopicFilter]) -> list[TopicFilter]: ...
    async def unsubscribe(self, texts: Sequence[str]) -> None: ...
    async def lost(self) -> str: ...
    async def close(self) -> None: ...
    def acknowledge(self, message: MqttMessage) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


Arrived = Callable[[MqttMessage], None]
NewLink = Callable[[Arrived, bool], BrokerLink]
"""Makes a connection; with True it ends the session that the broker keeps for this client."""


@dataclass(slots=True)
class BridgeCounts:
    """Counts of what a bridge has done so far."""

    received: int = 0
    redelivered: int = 0
    """Received messages that the broker may have delivered before."""
    stored: int = 0
    """Copies in queues. A message with two routes is stored twice."""
    acknowledged: int = 0
    refused: int = 0
    """Copies that a queue did not accept. They went to the queue for refused messages, or are
    among those discarded."""
    discarded: int = 0
    """Refused copies that are in no queue."""
    unrouted: int = 0
    """Messages that match no route, from subscriptions of an earlier run."""
    dropped: int = 0
    """Messages of QoS 0 that came faster than the queues could store them."""
    connections: int = 0
    sessions_lost: int = 0
    """Connections that found no session at a broker that should have had one."""


class Bridge:
    """Connects a broker with queues. `run` may be called once."""

    def __init__(
        self,
        plan: BridgePlan,
        urls: Mapping[str, str],
        *,
        new_link: NewLink,
        send: SendBatch,
        report: Callable[[str], None],
        new_id: Callable[[], str],
        pause: Pause = asyncio.sleep,
    ) -> None:
        """`urls` has the URLs of the queues by the names that the plan has for them."""
        self._plan = plan
        self._new_link = new_link
        self._report = report
        self._new_id = new_id
        self._pause = pause
        events = FeedEvents(self._stored, self._refused, report)
        feeds = {url: QueueFeed(url, send, events, pause) for url in urls.values()}
        self._feeds = {name: feeds[url] for name, url in urls.items()}
        self._held = HeldMessages(plan.in_flight_max)
        self._empty = asyncio.Event()
        self._stopping = False
        self._link: BrokerLink | None = None
        self._reported = 0
        self.counts = BridgeCounts()

    @property
    def in_hand(self) -> int:
        """Messages that were received and not yet acknowledged."""
        return len(self._held)

    async def run(self, stopped: Coroutine[Any, Any, object]) -> None:
        """Run until `stopped` ends, or raise a `BridgeError` that only a person can mend."""
        ending = asyncio.create_task(stopped)
        broker = asyncio.create_task(self._stay_connected())
        senders = [
            asyncio.create_task(feed.work())
            for feed in set(self._feeds.values())
            for _ in range(feed.senders)
        ]
        tasks = [ending, broker, *senders]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                broker.cancel()
                await self._drain(senders)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._close()
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _drain(self, senders: Sequence[asyncio.Task[None]]) -> None:
        """Take no more messages, and store those in hand as long as no sender fails."""
        self._stopping = True
        if not self.in_hand:
            return
        self._empty.clear()
        emptied = asyncio.create_task(self._empty.wait())
        await asyncio.wait(
            [emptied, *senders], timeout=DRAIN_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
        )
        emptied.cancel()

    async def _stay_connected(self) -> None:
        loop = asyncio.get_running_loop()
        seconds = PAUSE_SECONDS
        while True:
            try:
                link = await self._connect()
            except (BrokerUnreachable, BrokerRefused) as error:
                if isinstance(error, BrokerRefused) and not self.counts.connections:
                    raise
                problem = str(error)
            else:
                since = loop.time()
                problem = f"{self._plan.broker.url}: {await link.lost()}"
                if loop.time() - since > STABLE_SECONDS:
                    seconds = PAUSE_SECONDS
                else:
                    # Some brokers close the older of two connections without a word.
                    problem += f"; does another client use the id {self._plan.client_id!r}?"
            self._held.lose_connection()
            for feed in self._feeds.values():
                feed.drop_unwanted()
            await self._close()
            self._report(f"{problem}; trying again in {seconds:g} s")
            await self._pause(seconds)
            seconds = min(seconds * 2, PAUSE_SECONDS_MAX)

    async def _connect(self) -> BrokerLink:
        first = not self.counts.connections
        if first and self._plan.clean_start:
            await self._forget_session()
        link = self._link = self._new_link(self._arrived, False)
        resumed = await link.open()
        weak: list[TopicFilter] = []
        if first or not resumed or self._plan.is_version_five:
            # MQTT 3.1.1 would send all retained messages again.
            weak = await link.subscribe(self._plan.routes.subscriptions)
        if first and resumed:
            await link.unsubscribe(self._plan.ended_filters)
        self.counts.connections += 1
        if not first and not resumed:
            self.counts.sessions_lost += 1
            self._report("the broker has lost the session, and with it what came meanwhile")
        for each in weak:
            self._report(f"{each.text!r}: the broker grants QoS 0, which may lose messages")
        how = "resumed" if resumed else "new"
        self._report(f"connected to {self._plan.broker.url} ({how} session)")
        return link

    async def _forget_session(self) -> None:
        link = self._link = self._new_link(self._arrived, True)
        await link.open()
        await self._close()

    async def _close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    def _arrived(self, message: MqttMessage) -> None:
        if self._stopping or self._link is None:
            # The connection is about to end, and the broker repeats the message on the next one.
            return
        self.counts.received += 1
        self.counts.redelivered += message.dup
        routes = self._plan.routes.routes_of(message.topic)
        if routes and not message.qos and self._held.is_full:
            self.counts.dropped += 1
            return
        held = self._held.hold(message)
        if not routes:
            self.counts.unrouted += 1
            self._tell(message, "matches no route; end its subscription by --unsubscribe FILTER")
            self._finish(held)
            return
        held.copies_left = len(routes)
        for route in routes:
            self._offer(held, route, self._feeds[route.queue])
        if self._held.is_overfull and self._link is not None:
            self._link.pause()

    def _offer(self, held: HeldMessage, route: Route, feed: QueueFeed, refusal: str = "") -> None:
        entry = new_entry(held.message, route, self._new_id(), fifo=feed.fifo, refusal=refusal)
        item = FeedItem(held, route, entry, entry_bytes(entry), refusal)
        if item.size > limits.MESSAGE_BYTES.most:
            self._refused(item, f"larger than {limits.MESSAGE_BYTES.most} bytes")
        else:
            feed.put(item)

    def _stored(self, item: FeedItem) -> None:
        self.counts.stored += 1
        self._copy_done(item.held)

    def _refused(self, item: FeedItem, reason: str) -> None:
        """Send a refused message to the queue for these; discard it if that queue refuses too."""
        spare = self._plan.refused_queue
        if not item.refusal:
            self.counts.refused += 1
            self._tell(item.held.message, f"queue {item.route.queue} refuses it: {reason}")
            if spare is not None:
                self._offer(item.held, item.route, self._feeds[spare], reason)
                return
        self.counts.discarded += 1
        self._copy_done(item.held)

    def _copy_done(self, held: HeldMessage) -> None:
        held.copies_left -= 1
        if not held.copies_left:
            self._finish(held)

    def _finish(self, held: HeldMessage) -> None:
        link = self._link
        for message in self._held.finish(held):
            assert link is not None, "messages are held on a connection alone"
            link.acknowledge(message)
            self.counts.acknowledged += 1
        if link is not None and not self._held.is_overfull:
            link.resume()
        if not self.in_hand:
            self._empty.set()

    def _tell(self, message: MqttMessage, problem: str) -> None:
        """Report a problem with a message, without its payload."""
        self._reported += 1
        if self._reported <= REPORTED_MAX:
            topic = repr(message.topic[:_TOPIC_SHOWN_MAX])
            self._report(f"message of topic {topic} ({len(message.payload)} bytes): {problem}")
        if self._reported == REPORTED_MAX:
            self._report("further messages with problems are only counted")
