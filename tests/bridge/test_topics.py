"""Topic filters, by the examples of section 4.7 of the MQTT 5 specification."""

import pytest

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.topics import IDENTIFIER_MAX, TopicFilter

MATCHES = [
    ("sport/tennis/player1/#", "sport/tennis/player1"),
    ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
    ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"),
    ("sport/#", "sport"),
    ("#", "sport/tennis"),
    ("#", "/finance"),
    ("sport/tennis/+", "sport/tennis/player1"),
    ("sport/tennis/+", "sport/tennis/player2"),
    ("sport/+", "sport/"),
    ("+", "finance"),
    ("+/tennis/#", "sport/tennis"),
    ("+/+", "/finance"),
    ("/+", "/finance"),
    ("$SYS/#", "$SYS/monitor/Clients"),
    ("$SYS/monitor/+", "$SYS/monitor/Clients"),
    ("a//b", "a//b"),
    ("$share/consumer1/sport/tennis/+", "sport/tennis/player1"),
    ("$share/consumer2//finance", "/finance"),
]
NO_MATCHES = [
    ("sport/tennis/+", "sport/tennis/player1/ranking"),
    ("sport/+", "sport"),
    ("+", "/finance"),
    ("#", "$SYS/monitor/Clients"),
    ("+/monitor/Clients", "$SYS/monitor/Clients"),
    ("ACCOUNTS", "Accounts"),
    ("/finance", "finance"),
    ("a/b", "a//b"),
    ("sport/tennis/player1/#", "sport/tennis/player2"),
    ("$share/consumer1/sport/+", "$share/consumer1/sport/a"),
]
INVALID = [
    "",
    "sport/tennis#",
    "sport/tennis/#/ranking",
    "sport+",
    "a/b+/c",
    "a\0b",
    "x" * 65_536,
    "$share/",
    "$share/group",
    "$share/group/",
    "$share/gr+up/a",
    "$share//a",
    "$share/group/a#",
]


@pytest.mark.parametrize(("text", "topic"), MATCHES)
def test_filter_matches_the_topic(text: str, topic: str) -> None:
    assert TopicFilter.parse(text).matches(topic)


@pytest.mark.parametrize(("text", "topic"), NO_MATCHES)
def test_filter_does_not_match_the_topic(text: str, topic: str) -> None:
    assert not TopicFilter.parse(text).matches(topic)


@pytest.mark.parametrize("text", INVALID)
def test_invalid_filter_is_refused(text: str) -> None:
    with pytest.raises(BridgePlanInvalid):
        TopicFilter.parse(text)


def test_identifier_depends_on_the_text_alone_and_fits_into_mqtt() -> None:
    filters = [TopicFilter.parse(f"sensors/{number}/#") for number in range(1_000)]
    identifiers = [each.identifier for each in filters]
    assert all(1 <= each <= IDENTIFIER_MAX for each in identifiers)
    assert len(set(identifiers)) == len(identifiers)
    assert identifiers == [TopicFilter.parse(each.text).identifier for each in filters]
