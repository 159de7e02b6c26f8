"""Routes of a topic, and subscriptions that never overlap."""

import pytest

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.routes import Route, RouteTable
from dovemq.bridge.topics import TopicFilter


def route(text: str, queue: str) -> Route:
    return Route(TopicFilter.parse(text), queue)


WIDE = route("sensors/#", "all")
NARROW = route("sensors/+/temperature", "readings")
COPY = route("sensors/+/temperature", "archive")
OTHER = route("alarms/#", "alarms")
TABLE = RouteTable([NARROW, COPY, WIDE, OTHER])


def test_all_routes_that_match_get_a_message() -> None:
    assert TABLE.routes_of("sensors/7/temperature") == [NARROW, COPY, WIDE]
    assert TABLE.routes_of("sensors/7/pressure") == [WIDE]
    assert TABLE.routes_of("elsewhere") == []
    assert TABLE.queues == ["readings", "archive", "all", "alarms"]


def test_filter_that_another_one_covers_is_not_subscribed_to() -> None:
    assert [each.text for each in TABLE.subscriptions] == ["sensors/#", "alarms/#"]
    assert [each.text for each in TABLE.covered] == ["sensors/+/temperature"]


@pytest.mark.parametrize(
    ("one", "other"), [("plant/#", "+/alarms/#"), ("a/#", "$share/g/a/b"), ("a/+", "+/b")]
)
def test_filters_that_overlap_otherwise_need_two_bridges(one: str, other: str) -> None:
    with pytest.raises(BridgePlanInvalid, match="run a second bridge"):
        RouteTable([route(one, "q"), route(other, "q")])


def test_route_that_is_given_twice_is_refused_and_so_are_no_routes() -> None:
    with pytest.raises(BridgePlanInvalid, match="twice"):
        RouteTable([WIDE, NARROW, WIDE])
    with pytest.raises(BridgePlanInvalid, match="--route"):
        RouteTable([])
