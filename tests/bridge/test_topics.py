"""Topic filters, by the examples of section 4.7 of the MQTT 5 specification."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.topics import TopicFilter

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


COVERS = [
    ("#", "a/+/b"),
    ("a/#", "a"),
    ("a/#", "a/#"),
    ("a/+", "a/b"),
    ("+/b/#", "a/b/c"),
    ("+/+", "a/+"),
    ("$share/g/a/#", "$share/g/a/b"),
]
NOT_COVERS = [
    ("#", "$SYS/#"),
    ("+/x", "$SYS/x"),
    ("a/+", "a/#"),
    ("a/b", "a/+"),
    ("a/+", "+/b"),
    ("a/#", "$share/g/a/b"),
    ("$share/g/a/#", "$share/h/a/b"),
]
OVERLAPS = [("a/+", "+/b"), ("plant/#", "+/alarms/#"), ("a/#", "a"), ("a/+/c", "a/b/+")]
DISJOINT = [("a/+", "b/+"), ("a", "a/b"), ("+", "+/+"), ("#", "$SYS/x"), ("a/+/c", "a/b/d")]


@pytest.mark.parametrize(("wide", "narrow"), COVERS)
def test_filter_covers_another(wide: str, narrow: str) -> None:
    assert TopicFilter.parse(wide).covers(TopicFilter.parse(narrow))


@pytest.mark.parametrize(("wide", "narrow"), NOT_COVERS)
def test_filter_does_not_cover_another(wide: str, narrow: str) -> None:
    assert not TopicFilter.parse(wide).covers(TopicFilter.parse(narrow))


@pytest.mark.parametrize(("one", "other"), OVERLAPS)
def test_filters_overlap_in_both_directions(one: str, other: str) -> None:
    assert TopicFilter.parse(one).overlaps(TopicFilter.parse(other))
    assert TopicFilter.parse(other).overlaps(TopicFilter.parse(one))


@pytest.mark.parametrize(("one", "other"), DISJOINT)
def test_filters_are_disjoint_in_both_directions(one: str, other: str) -> None:
    assert not TopicFilter.parse(one).overlaps(TopicFilter.parse(other))
    assert not TopicFilter.parse(other).overlaps(TopicFilter.parse(one))


LEVELS = ("a", "b", "$x")
TOPICS = [
    "/".join(levels) for length in (1, 2, 3) for levels in itertools.product(LEVELS, repeat=length)
]
FILTERS = st.builds(
    lambda levels, end: TopicFilter.parse("/".join([*levels, *end]) or "#"),
    st.lists(st.sampled_from((*LEVELS, "+")), max_size=3),
    st.sampled_from([[], ["#"]]),
)


@given(one=FILTERS, other=FILTERS)
def test_filters_compare_as_the_topics_that_they_match(
    one: TopicFilter, other: TopicFilter
) -> None:
    ours = {topic for topic in TOPICS if one.matches(topic)}
    theirs = {topic for topic in TOPICS if other.matches(topic)}
    assert one.overlaps(other) or not ours & theirs
    assert not one.covers(other) or theirs <= ours
