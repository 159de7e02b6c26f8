"""A connection to brokers that a test scripts byte by byte."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dovemq.bridge import broker
from dovemq.bridge.broker import BrokerConnection, trusting
from dovemq.bridge.errors import BridgePlanInvalid, BrokerRefused, BrokerUnreachable
from dovemq.bridge.messages import MqttMessage
from dovemq.bridge.plan import BridgePlan, BrokerAddress, BrokerTrust
from dovemq.bridge.routes import Route, RouteTable
from dovemq.bridge.topics import TopicFilter
from tests.bridge.fakes import until
from tests.server.secured import Pair

CONNECT, PUBACK, SUBSCRIBE, UNSUBSCRIBE, DISCONNECT = 0x10, 0x40, 0x82, 0xA2, 0xE0
ACCEPTED = bytes([0x20, 3, 0, 0, 0])
RESUMED = bytes([0x20, 3, 1, 0, 0])
FILTER = TopicFilter.parse("a/#")

Behaviour = Callable[["Scripted"], Awaitable[None]]


class Scripted:
    """The broker's end of a connection. Packets are shorter than 128 bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def expect(self, kind: int) -> bytes:
        head = await self._reader.readexactly(2)
        assert head[0] == kind
        return await self._reader.readexactly(head[1])

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    def publish(self, packet_id: int, payload: bytes) -> None:
        body = b"\x00\x03a/b" + struct.pack(">H", packet_id) + b"\x00" + payload
        self.send(bytes([0x32, len(body)]) + body)

    async def grant(self, reason: int) -> None:
        """Answers the next subscription."""
        packet_id = (await self.expect(SUBSCRIBE))[:2]
        self.send(bytes([0x90, 4]) + packet_id + bytes([0, reason]))

    async def let_go(self) -> None:
        packet_id = (await self.expect(UNSUBSCRIBE))[:2]
        self.send(bytes([0xB0, 4]) + packet_id + bytes([0, 0x11]))
        await self.expect(DISCONNECT)


@contextlib.asynccontextmanager
async def scripted(behave: Behaviour, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A listener whose port is the result; failures of the script fail the test."""
    scripts: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        scripts.append(asyncio.ensure_future(behave(Scripted(reader, writer))))
        await asyncio.wait(scripts)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with listener:
        yield listener.sockets[0].getsockname()[1]
    for script in scripts:
        await script


def plan_of(port: int, scheme: str = "mqtt", trust: BrokerTrust | None = None) -> BridgePlan:
    address = BrokerAddress.parse(f"{scheme}://127.0.0.1:{port}")
    routes = RouteTable([Route(FILTER, "queue")])
    return BridgePlan(address, routes, "test", "5", 3, 60, trust=trust or BrokerTrust())


def connection(
    port: int, arrived: Callable[[MqttMessage], None] = lambda _: None
) -> BrokerConnection:
    return BrokerConnection(plan_of(port), arrived)


async def test_session_is_resumed_and_acknowledgements_are_read_before_the_end() -> None:
    async def behave(end: Scripted) -> None:
        assert b"\x21\x00\x03" in await end.expect(CONNECT), "the receive maximum"
        end.send(RESUMED)
        end.publish(1, b"one")
        await end.grant(1)
        end.publish(2, b"two")
        assert [(await end.expect(PUBACK))[:2] for _ in range(2)] == [b"\x00\x01", b"\x00\x02"]
        await end.let_go()

    arrived: asyncio.Queue[MqttMessage] = asyncio.Queue()
    async with scripted(behave) as port:
        link = connection(port, arrived.put_nowait)
        assert await link.open()
        assert await link.subscribe([FILTER]) == []
        for payload in (b"one", b"two"):
            message = await arrived.get()
            assert (message.topic, message.payload, message.qos) == ("a/b", payload, 1)
            link.acknowledge(message)
        await link.close()


async def test_filter_that_gets_qos_0_only_is_told() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(ACCEPTED)
        await end.grant(0)
        await end.let_go()

    async with scripted(behave) as port:
        link = connection(port)
        assert not await link.open()
        assert await link.subscribe([FILTER]) == [FILTER]
        await link.close()


async def test_refused_subscription_names_its_filter() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(ACCEPTED)
        await end.grant(0x87)
        await end.let_go()

    async with scripted(behave) as port:
        link = connection(port)
        await link.open()
        with pytest.raises(BrokerRefused, match="'a/#': Not authorized"):
            await link.subscribe([FILTER])
        await link.close()


async def test_refused_client_is_told_what_to_check() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(bytes([0x20, 3, 0, 0x86, 0]))

    async with scripted(behave) as port:
        link = connection(port)
        with pytest.raises(BrokerRefused, match="Bad user name or password; check user"):
            await link.open()
        await link.close()


async def test_client_id_that_another_client_takes_is_an_error() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(ACCEPTED + bytes([0xE0, 2, 0x8E, 0]))

    async with scripted(behave) as port:
        link = connection(port)
        await link.open()
        with pytest.raises(BrokerRefused, match="its own --client-id"):
            await link.lost()
        await link.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"", "the connection broke"), (bytes([0xE0, 2, 0x8B, 0]), "Server shutting down")],
)
async def test_end_of_a_connection_has_a_reason(answer: bytes, reason: str) -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(ACCEPTED + answer)

    async with scripted(behave) as port:
        link = connection(port)
        await link.open()
        assert reason in await link.lost()
        link.acknowledge(MqttMessage("a", b"", 1, 1))
        link.pause()
        link.resume()
        await link.close()


async def test_broker_that_closes_the_connection_is_unreachable() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)

    async with scripted(behave) as port:
        link = connection(port)
        with pytest.raises(BrokerUnreachable, match="closed the connection"):
            await link.open()
        await link.close()
    link = connection(port)
    with pytest.raises(BrokerUnreachable, match="refused"):
        await link.open()
    await link.close()


async def test_broker_that_stays_silent_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        await end.expect(DISCONNECT)

    async with scripted(behave) as port:
        link = connection(port)
        monkeypatch.setattr(broker, "CONNECT_SECONDS_MAX", 0.1)
        with pytest.raises(BrokerUnreachable, match="does not answer"):
            await link.open()
        await link.close()


async def test_paused_connection_reads_nothing_until_it_is_resumed() -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(ACCEPTED)
        for number in range(1, 11):
            end.publish(number, b"x")
        await end.let_go()

    arrived: list[int] = []

    def arrive(message: MqttMessage) -> None:
        arrived.append(message.packet_id)
        if len(arrived) == 3:
            link.pause()

    async with scripted(behave) as port:
        link = connection(port, arrive)
        await link.open()
        await until(lambda: len(arrived) == 3)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(arrived) == 3
        link.resume()
        await until(lambda: len(arrived) == 10)
        assert arrived == list(range(1, 11))
        await link.close()


async def test_paused_connection_may_take_long_for_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def behave(end: Scripted) -> None:
        await end.expect(CONNECT)
        end.send(RESUMED)
        end.publish(1, b"x")
        await end.grant(1)
        await end.let_go()

    paused = asyncio.Event()

    def arrive(_: MqttMessage) -> None:
        link.pause()
        paused.set()

    async with scripted(behave) as port:
        link = connection(port, arrive)
        await link.open()
        await paused.wait()
        monkeypatch.setattr(broker, "CONNECT_SECONDS_MAX", 0.01)
        granting = asyncio.create_task(link.subscribe([FILTER]))
        await asyncio.sleep(0.1)
        assert not granting.done()
        monkeypatch.undo()
        link.resume()
        assert await granting == []
        await link.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    async def behave(end: Scripted) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await end.expect(CONNECT)

    pair = Pair(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    async with scripted(behave, context) as port:
        link = BrokerConnection(plan_of(port, "mqtts"), lambda _: None)
        with pytest.raises(BrokerRefused, match="--broker-ca"):
            await link.open()
        await link.close()


def test_file_that_holds_no_certificate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("nothing")
    with pytest.raises(BridgePlanInvalid, match=r"ca\.pem: no usable certificate"):
        trusting(plan_of(1, "mqtts", BrokerTrust(path)))
