"""The form of a message in a queue: nothing of it is lost, and SQS accepts it."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.bridge.messages import ATTRIBUTES, EMPTY_BODY, MqttMessage, entry_bytes, new_entry
from dovemq.bridge.routes import Route
from dovemq.bridge.topics import TopicFilter
from dovemq.core import limits
from dovemq.core.sending import check_attributes, has_forbidden_character
from dovemq.sqs.actions.sending import wire_attributes
from dovemq.sqs.shapes import SendEntry

ROUTE = Route(TopicFilter.parse("#"), "queue")
FULL = MqttMessage(
    topic="sensors/7",
    payload=b"\xff",
    retain=True,
    dup=True,
    content_type="application/octet-stream",
    response_topic="answers/7",
    correlation_data=b"\x00\x01",
    user_properties=(("unit", "°C"), ("unit", "K")),
)
MQTT_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def entry_of(message: MqttMessage, refusal: str = "") -> SendEntry:
    return new_entry(message, ROUTE, "id-1", fifo=False, refusal=refusal)


def texts_of(entry: SendEntry) -> dict[str, str | bytes | None]:
    values = entry.message_attributes or {}
    return {name: value.string_value or value.binary_value for name, value in values.items()}


def payload_of(entry: SendEntry) -> bytes:
    """Decodes a message, as the how-to shows consumers."""
    body = entry.message_body or ""
    match texts_of(entry).get("mqtt.encoding"):
        case "base64":
            return base64.b64decode(body)
        case "empty":
            return b""
    return body.encode()


def test_text_stays_as_it_is_and_says_where_it_came_from() -> None:
    entry = entry_of(MqttMessage("sensors/7", "21.5 °C".encode(), qos=0))
    assert entry.message_body == "21.5 °C"
    assert texts_of(entry) == {"mqtt.topic": "sensors/7", "mqtt.qos": "0"}
    assert (entry.message_group_id, entry.message_deduplication_id) == (None, None)


@pytest.mark.parametrize("payload", [b"\xff\xfe", b"a\0b", b"\x1b[1m", "\ufffe".encode()])
def test_bytes_that_sqs_does_not_accept_as_text_are_base64(payload: bytes) -> None:
    entry = entry_of(MqttMessage("t", payload))
    assert texts_of(entry)["mqtt.encoding"] == "base64"
    assert payload_of(entry) == payload


def test_empty_payload_has_a_body_since_sqs_needs_one() -> None:
    entry = entry_of(MqttMessage("t", b""))
    assert entry.message_body == EMPTY_BODY
    assert payload_of(entry) == b""


@given(payload=st.binary() | MQTT_TEXT.map(str.encode))
def test_every_payload_comes_back_and_every_body_is_valid(payload: bytes) -> None:
    entry = entry_of(MqttMessage("t", payload))
    assert payload_of(entry) == payload
    assert entry.message_body
    assert not has_forbidden_character(entry.message_body)


@given(topic=MQTT_TEXT.filter(bool), properties=st.lists(st.tuples(MQTT_TEXT, MQTT_TEXT)))
def test_every_topic_and_property_makes_attributes_that_sqs_accepts(
    topic: str, properties: list[tuple[str, str]]
) -> None:
    entry = entry_of(MqttMessage(topic, b"x", user_properties=tuple(properties)))
    check_attributes(wire_attributes(entry.message_attributes or {}))
    found = texts_of(entry)
    named = found["mqtt.topic"]
    assert (named.decode() if isinstance(named, bytes) else named) == topic
    if properties:
        told = found["mqtt.user-properties"]
        assert told is not None
        assert [tuple(pair) for pair in json.loads(told)] == properties


def test_message_with_everything_has_all_attributes_and_no_more_than_sqs_allows() -> None:
    entry = entry_of(FULL, refusal="MessageTooLong")
    found = texts_of(entry)
    assert set(found) == set(ATTRIBUTES)
    assert len(ATTRIBUTES) <= limits.MESSAGE_ATTRIBUTES_MAX
    assert json.loads(found["mqtt.user-properties"] or "") == [["unit", "°C"], ["unit", "K"]]
    assert (found["mqtt.retain"], found["mqtt.dup"], found["mqtt.qos"]) == ("true", "true", "1")
    assert found["mqtt.correlation-data"] == b"\x00\x01"
    assert found["mqtt.refused"] == "MessageTooLong"


def test_size_of_an_entry_counts_body_and_attributes() -> None:
    entry = entry_of(MqttMessage("topic", b"12345"))
    assert entry_bytes(entry) == 5 + len("mqtt.topicStringtopic") + len("mqtt.qosNumber1")


@pytest.mark.parametrize(
    ("topic", "level", "group"),
    [
        ("plant/3/alarm", None, "plant/3/alarm"),
        ("plant/3/alarm", 2, "3"),
        ("plant", 2, "plant"),
    ],
)
def test_group_is_the_topic_or_a_level_of_it(topic: str, level: int | None, group: str) -> None:
    route = Route(TopicFilter.parse("#"), "queue.fifo", level)
    entry = new_entry(MqttMessage(topic, b"x"), route, "id-1", fifo=True)
    assert entry.message_group_id == group


@given(topic=MQTT_TEXT.filter(bool), level=st.none() | st.integers(1, 3))
def test_every_topic_makes_a_group_that_sqs_accepts(topic: str, level: int | None) -> None:
    route = Route(TopicFilter.parse("#"), "queue.fifo", level)
    entry = new_entry(MqttMessage(topic, b"x"), route, "id-1", fifo=True)
    assert limits.TOKEN.fullmatch(entry.message_group_id or "")


def test_deduplication_id_is_of_the_delivery_or_of_topic_and_payload() -> None:
    def identity(message: MqttMessage, unique_id: str, *, deduplicate: bool) -> str | None:
        route = Route(TopicFilter.parse("#"), "queue.fifo", deduplicate=deduplicate)
        return new_entry(message, route, unique_id, fifo=True).message_deduplication_id

    message, other = MqttMessage("a", b"b/c"), MqttMessage("a/b", b"/c")
    assert identity(message, "id-1", deduplicate=False) == "id-1"
    once = identity(message, "id-1", deduplicate=True)
    assert once == identity(message, "id-2", deduplicate=True)
    assert once != identity(other, "id-1", deduplicate=True)
