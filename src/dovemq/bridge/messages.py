"""Messages of MQTT as messages of SQS: body, attributes, group and deduplication id.

The conversion loses nothing but the expiry interval: a consumer can restore topic, payload and
properties.
"""

import base64
import hashlib
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.bridge.routes import Route
from dovemq.core import limits
from dovemq.core.sending import has_forbidden_character, message_bytes
from dovemq.sqs.actions.sending import wire_attributes
from dovemq.sqs.shapes import AttributeValue, SendEntry

EMPTY_BODY: Final = "(empty)"
"""The body of a message without a payload, since SQS accepts no empty body."""
TOPIC: Final = "mqtt.topic"
QOS: Final = "mqtt.qos"
RETAIN: Final = "mqtt.retain"
DUP: Final = "mqtt.dup"
CONTENT_TYPE: Final = "mqtt.content-type"
RESPONSE_TOPIC: Final = "mqtt.response-topic"
CORRELATION_DATA: Final = "mqtt.correlation-data"
USER_PROPERTIES: Final = "mqtt.user-properties"
ENCODING: Final = "mqtt.encoding"
REFUSED: Final = "mqtt.refused"
ATTRIBUTES: Final = (
    TOPIC,
    QOS,
    RETAIN,
    DUP,
    CONTENT_TYPE,
    RESPONSE_TOPIC,
    CORRELATION_DATA,
    USER_PROPERTIES,
    ENCODING,
    REFUSED,
)
"""All names that a message can have: as many as SQS allows."""
_TRUE: Final = "true"


class MqttMessage(Struct, frozen=True):
    """A message as the broker delivered it. `packet_id` names the delivery for its answer."""

    topic: str
    payload: bytes
    qos: int = 1
    packet_id: int = 0
    retain: bool = False
    dup: bool = False
    content_type: str = ""
    response_topic: str = ""
    correlation_data: bytes = b""
    user_properties: tuple[tuple[str, str], ...] = ()


def new_entry(
    message: MqttMessage, route: Route, unique_id: str, *, fifo: bool, refusal: str = ""
) -> SendEntry:
    """The message for a queue. `unique_id` belongs to this delivery and to no other."""
    body, encoding = _body(message.payload)
    content = _content_id(message) if route.deduplicate else unique_id
    return SendEntry(
        message_body=body,
        message_attributes=_attributes(message, encoding, refusal),
        message_group_id=_group(message.topic, route.group_level) if fifo else None,
        message_deduplication_id=content if fifo else None,
    )


def entry_bytes(entry: SendEntry) -> int:
    """The size that counts against the limits of a message and of a batch."""
    return message_bytes(entry.message_body or "", wire_attributes(entry.message_attributes or {}))


def _body(payload: bytes) -> tuple[str, str]:
    """The body, and how it encodes the payload if it is not the payload itself."""
    if not payload:
        return EMPTY_BODY, "empty"
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        text = ""
    if text and not has_forbidden_character(text):
        return text, ""
    return base64.b64encode(payload).decode(), "base64"


def _attributes(message: MqttMessage, encoding: str, refusal: str) -> dict[str, AttributeValue]:
    properties = message.user_properties
    texts = {
        TOPIC: message.topic,
        RETAIN: _TRUE if message.retain else "",
        DUP: _TRUE if message.dup else "",
        CONTENT_TYPE: message.content_type,
        RESPONSE_TOPIC: message.response_topic,
        USER_PROPERTIES: msgspec.json.encode(properties).decode() if properties else "",
        ENCODING: encoding,
        REFUSED: refusal,
    }
    attributes = {name: _attribute(text) for name, text in texts.items() if text}
    attributes[QOS] = AttributeValue("Number", str(message.qos))
    if message.correlation_data:
        attributes[CORRELATION_DATA] = AttributeValue(
            "Binary", binary_value=message.correlation_data
        )
    return attributes


def _attribute(text: str) -> AttributeValue:
    """A string, or binary if the text has a character that SQS forbids."""
    if has_forbidden_character(text):
        return AttributeValue("Binary", binary_value=text.encode())
    return AttributeValue("String", text)


def _group(topic: str, level: int | None) -> str:
    """The topic or a level of it, or its digest where SQS does not accept it as a group."""
    levels = topic.split("/")
    chosen = levels[level - 1] if level is not None and level <= len(levels) else topic
    if limits.TOKEN.fullmatch(chosen):
        return chosen
    return hashlib.sha256(chosen.encode()).hexdigest()


def _content_id(message: MqttMessage) -> str:
    # The length keeps topic and payload apart.
    topic = message.topic.encode()
    return hashlib.sha256(b"%d:%b%b" % (len(topic), topic, message.payload)).hexdigest()
