"""Routes: which queues get the messages of a topic."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from dovemq.bridge.errors import BridgePlanInvalid
from dovemq.bridge.topics import TopicFilter


class Route(Struct, frozen=True):
    """Messages whose topics match the filter go to the queue.

    On a FIFO queue the group is the topic, or level `group_level` of it, counted from 1. With
    `deduplicate` the deduplication id is made of topic and payload.
    """

    filter: TopicFilter
    queue: str
    group_level: int | None = None
    deduplicate: bool = False


class RouteTable:
    """All routes of a bridge. Each filter is subscribed to once, whatever its number of routes."""

    def __init__(self, routes: Sequence[Route]) -> None:
        if not routes:
            raise BridgePlanInvalid("routes", "there is none; give --route FILTER=QUEUE")
        pairs = [(route.filter.text, route.queue) for route in routes]
        for pair in pairs:
            if pairs.count(pair) > 1:
                raise BridgePlanInvalid(f"{pair[0]}={pair[1]}", "the route is given twice")
        self._routes = tuple(routes)

    @property
    def filters(self) -> list[TopicFilter]:
        return list(dict.fromkeys(route.filter for route in self._routes))

    @property
    def queues(self) -> list[str]:
        return list(dict.fromkeys(route.queue for route in self._routes))

    def routes_of(self, topic: str, identifiers: Collection[int]) -> list[Route]:
        """The routes of one delivery.

        A broker may deliver a message once for all subscriptions that match, or once for each of
        them. The identifiers say for which, so that each route gets the message once. Without
        identifiers (MQTT 3.1.1) all routes that match get each delivery.
        """
        return [
            route
            for route in self._routes
            if route.filter.matches(topic)
            and (not identifiers or route.filter.identifier in identifiers)
        ]
