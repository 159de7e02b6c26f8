"""Routes of a delivery: each route gets a message once, however the broker delivers it."""

import pytest

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.routes import Route, RouteTable
from dovemq.bridge.topics import TopicFilter


def route(text: str, queue: str) -> Route:
    return Route(TopicFilter.parse(text), queue)


WIDE = route("sensors/#", "all")
NARROW = route("sensors/+/temperature", "readings")
COPY = route("sensors/+/temperature", "archive")
TABLE = RouteTable([WIDE, NARROW, COPY])
TOPIC = "sensors/7/temperature"


def test_each_filter_is_subscribed_to_once() -> None:
    assert [each.text for each in TABLE.filters] == ["sensors/#", "sensors/+/temperature"]
    assert TABLE.queues == ["all", "readings", "archive"]


def test_delivery_without_identifiers_goes_to_all_routes_that_match() -> None:
    assert TABLE.routes_of(TOPIC, ()) == [WIDE, NARROW, COPY]
    assert TABLE.routes_of("sensors/7/pressure", ()) == [WIDE]
    assert TABLE.routes_of("alarms", ()) == []


def test_one_delivery_for_all_subscriptions_goes_to_all_their_routes() -> None:
    identifiers = {WIDE.filter.identifier, NARROW.filter.identifier}
    assert TABLE.routes_of(TOPIC, identifiers) == [WIDE, NARROW, COPY]


def test_one_delivery_for_each_subscription_goes_to_its_own_routes() -> None:
    assert TABLE.routes_of(TOPIC, [WIDE.filter.identifier]) == [WIDE]
    assert TABLE.routes_of(TOPIC, [NARROW.filter.identifier]) == [NARROW, COPY]


def test_delivery_of_a_subscription_of_an_earlier_run_has_no_route() -> None:
    old = TopicFilter.parse("+/7/#").identifier
    assert TABLE.routes_of(TOPIC, [old]) == []


def test_route_that_is_given_twice_is_refused_and_so_are_no_routes() -> None:
    with pytest.raises(BridgePlanInvalid, match="twice"):
        RouteTable([WIDE, NARROW, WIDE])
    with pytest.raises(BridgePlanInvalid, match="--route"):
        RouteTable([])
