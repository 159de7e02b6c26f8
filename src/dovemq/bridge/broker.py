"""A connection to an MQTT broker, by paho-mqtt on the event loop of the caller.

Each connection has a client of its own: packet identifiers mean something on one connection alone,
so an acknowledgement must not reach the next one. Reconnecting is left to the caller.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from dovemq.bridge.errors import BridgePlanInvalid, BrokerRefused, BrokerUnreachable
from dovemq.bridge.messages import MqttMessage
from dovemq.bridge.plan import BridgePlan
from dovemq.bridge.topics import TopicFilter

CONNECT_SECONDS_MAX: Final = 5.0
"""Time for the connection with its TLS handshake, and again for each answer of the broker."""
CLOSE_SECONDS_MAX: Final = 2.0
KEEPALIVE_SECONDS: Final = 30
UPKEEP_SECONDS: Final = 1.0
QOS: Final = 1
"""The broker delivers messages of QoS 2 as QoS 1. QoS 2 would move them to a client's memory before
they are stored."""
NEVER_SUBSCRIBED: Final = "dovemq/bridge/never/subscribed"
_TAKEN_OVER: Final = 0x8E
_RETAINED_ONCE: Final = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB

Arrived = Callable[[MqttMessage], None]
T = TypeVar("T")


class BrokerConnection:
    """One connection, from `open` until `lost`. Messages may arrive before `open` returns."""

    def __init__(self, plan: BridgePlan, arrived: Arrived, *, clean: bool = False) -> None:
        """The broker forgets the session of this client if `clean` is true."""
        self._plan = plan
        self._arrived = arrived
        self._clean = clean
        self._loop = asyncio.get_running_loop()
        self._accepted: asyncio.Future[bool] = self._loop.create_future()
        self._lost: asyncio.Future[ReasonCode | None] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[list[ReasonCode]]] = {}
        self._reading = False
        self._client = self._new_client()

    async def open(self) -> bool:
        """Connect. The result says whether the broker resumes a session of this client."""
        plan, address = self._plan, self._plan.broker
        try:
            if (context := trusting(plan)) is not None:
                self._client.tls_set_context(context)
            await asyncio.to_thread(self._connect)
        except ssl.SSLCertVerificationError as error:
            remedy = "give the file of its authority with --broker-ca"
            raise BrokerRefused(address.url, error.verify_message, remedy) from None
        except (OSError, UnicodeError, BridgePlanInvalid) as error:
            raise BrokerUnreachable(address.url, str(error)) from None
        self.resume()
        self._client.on_socket_register_write = self._want_write
        self._client.on_socket_unregister_write = self._want_no_write
        self._client.on_socket_close = self._forget_socket
        return await self._answered(self._accepted)

    async def subscribe(self, filters: Sequence[TopicFilter]) -> list[TopicFilter]:
        """Subscribe to all filters. The result is those that get QoS 0 only."""
        asked = [(each, self._ask_for(each)) for each in filters]
        weak = []
        for each, answer in asked:
            [granted] = await self._answered(answer)
            if granted.is_failure:
                raise BrokerRefused(
                    self._plan.broker.url,
                    f"refuses the filter {each.text!r}: {granted}",
                    "allow it at the broker, or remove the route",
                )
            if granted.value < QOS:
                weak.append(each)
        return weak

    async def unsubscribe(self, texts: Sequence[str]) -> None:
        """End subscriptions that an earlier connection has made. Unknown ones are no error."""
        for text in texts:
            _, packet_id = self._client.unsubscribe(text)
            await self._answered(self._answer_to(packet_id))

    async def lost(self) -> str:
        """Wait until the connection ends. The result is the reason."""
        while not self._lost.done():
            await asyncio.wait([self._lost], timeout=UPKEEP_SECONDS)
            self._client.loop_misc()
        reason = self._lost.result()
        if reason is not None and reason.value == _TAKEN_OVER:
            raise BrokerRefused(
                self._plan.broker.url,
                f"another client has connected as {self._plan.client_id!r}",
                "give each bridge its own --client-id",
            )
        return "the connection broke" if reason is None else f"the broker ended it: {reason}"

    def acknowledge(self, message: MqttMessage) -> None:
        self._client.ack(message.packet_id, message.qos)

    def pause(self) -> None:
        """Read nothing, so that the broker has to wait."""
        if self._reading and (socket := self._client.socket()) is not None:
            self._reading = False
            self._loop.remove_reader(socket)

    def resume(self) -> None:
        if not self._reading and (socket := self._client.socket()) is not None:
            self._reading = True
            self._loop.add_reader(socket, self._read)
            # TLS may hold bytes already, which no event announces.
            self._loop.call_soon(self._read)

    async def close(self) -> None:
        """End the connection after all acknowledgements. The broker keeps the session."""
        if self._client.is_connected():
            await self._await_broker()
        self._client.disconnect()
        if self._client.socket() is not None:
            await asyncio.wait([self._lost], timeout=CLOSE_SECONDS_MAX)
        if (socket := self._client.socket()) is not None:
            self._forget_socket(self._client, None, socket)
            socket.close()

    async def _await_broker(self) -> None:
        """Wait until the broker has read everything, by a request that changes nothing.

        A socket that is closed with unread bytes resets the connection. Acknowledgements that the
        broker has not read by then would be lost, and their messages repeated.
        """
        self.resume()
        with contextlib.suppress(BrokerUnreachable):
            await self.unsubscribe([NEVER_SUBSCRIBED])

    def _new_client(self) -> Client:
        plan = self._plan
        newest = plan.is_version_five
        client = Client(
            CallbackAPIVersion.VERSION2,
            plan.client_id,
            clean_session=None if newest else self._clean,
            protocol=MQTTProtocolVersion.MQTTv5 if newest else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = CONNECT_SECONDS_MAX
        if plan.login is not None:
            client.username_pw_set(plan.login.user, plan.login.password)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_answer
        client.on_unsubscribe = self._on_answer
        client.on_message = self._on_message
        return client

    def _connect(self) -> None:
        """Runs in a thread, since paho-mqtt waits for the connection."""
        address = self._plan.broker
        terms: dict[str, Any] = {}
        if self._plan.is_version_five:
            wanted = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            wanted.SessionExpiryInterval = 0 if self._clean else self._plan.session_seconds
            wanted.ReceiveMaximum = self._plan.in_flight_max
            terms = {"clean_start": self._clean, "properties": wanted}
        self._client.connect(address.host, address.port, KEEPALIVE_SECONDS, **terms)

    def _ask_for(self, wanted: TopicFilter) -> "asyncio.Future[list[ReasonCode]]":
        if self._plan.is_version_five:
            options = SubscribeOptions(QOS, retainHandling=_RETAINED_ONCE)
            _, packet_id = self._client.subscribe([(wanted.text, options)])
        else:
            _, packet_id = self._client.subscribe(wanted.text, QOS)
        return self._answer_to(packet_id)

    def _answer_to(self, packet_id: int | None) -> "asyncio.Future[list[ReasonCode]]":
        answer: asyncio.Future[list[ReasonCode]] = self._loop.create_future()
        if packet_id is not None:
            self._answers[packet_id] = answer
        return answer

    async def _answered(self, answer: "asyncio.Future[T]") -> T:
        """The answer, or an error if the connection ends first or none comes in time.

        A paused connection may take longer: messages that arrive before the answer can fill it.
        """
        either: list[asyncio.Future[Any]] = [answer, self._lost]
        late = False
        while not (late or answer.done() or self._lost.done()):
            # A connection that was resumed during the wait has a whole wait before it is late.
            reading = self._reading
            await asyncio.wait(
                either, timeout=CONNECT_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED
            )
            late = reading and self._reading
            self._client.loop_misc()
        if answer.done():
            return answer.result()
        found = "does not answer as MQTT does"
        if self._lost.done():
            found = "closed the connection without an answer; check port, TLS and certificate"
        raise BrokerUnreachable(self._plan.broker.url, found)

    def _read(self) -> None:
        """Read while TLS holds bytes that no event would announce."""
        more = self._reading
        while more:
            self._client.loop_read()
            socket = self._client.socket()
            more = self._reading and isinstance(socket, ssl.SSLSocket) and socket.pending() > 0

    def _want_write(self, client: Client, _: object, socket: Any) -> None:
        self._loop.add_writer(socket, client.loop_write)

    def _want_no_write(self, client: Client, _: object, socket: Any) -> None:
        self._loop.remove_writer(socket)

    def _forget_socket(self, client: Client, _: object, socket: Any) -> None:
        self._reading = False
        self._loop.remove_reader(socket)
        self._loop.remove_writer(socket)

    def _on_connect(
        self,
        client: Client,
        _: object,
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            remedy = "check user, password, client id and --protocol"
            self._accepted.set_exception(
                BrokerRefused(self._plan.broker.url, f"refuses the client: {reason}", remedy)
            )
            return
        self._accepted.set_result(flags.session_present)

    def _on_disconnect(
        self,
        client: Client,
        _: object,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if not self._lost.done():
            told = flags.is_disconnect_packet_from_server
            self._lost.set_result(reason if told else None)

    def _on_answer(
        self,
        client: Client,
        _: object,
        packet_id: int,
        reasons: list[ReasonCode],
        properties: Properties | None,
    ) -> None:
        if packet_id in self._answers:
            self._answers.pop(packet_id).set_result(reasons)

    def _on_message(self, client: Client, _: object, message: MQTTMessage) -> None:
        self._arrived(_received(message))


def trusting(plan: BridgePlan) -> ssl.SSLContext | None:
    """The terms of TLS, from files that are read now; None without TLS."""
    trust = plan.trust
    if not plan.broker.secure:
        return None
    try:
        context = ssl.create_default_context(cafile=trust.ca)
        if trust.certificate is not None:
            context.load_cert_chain(trust.certificate, trust.key)
    except OSError as error:
        files = ", ".join(str(path) for path in (trust.ca, trust.certificate, trust.key) if path)
        raise BridgePlanInvalid(files, f"no usable certificate or key: {error}") from None
    return context


def _received(message: MQTTMessage) -> MqttMessage:
    def given(name: str, default: Any) -> Any:
        return getattr(message.properties, name, default)

    return MqttMessage(
        topic=_topic(message),
        payload=bytes(message.payload),
        qos=message.qos,
        packet_id=message.mid,
        retain=bool(message.retain),
        dup=bool(message.dup),
        content_type=given("ContentType", ""),
        response_topic=given("ResponseTopic", ""),
        correlation_data=given("CorrelationData", b""),
        user_properties=tuple(given("UserProperty", ())),
    )


def _topic(message: MQTTMessage) -> str:
    """The topic, or an empty one, which matches no route, if it is not UTF-8."""
    try:
        return message.topic
    except UnicodeDecodeError:
        return ""
