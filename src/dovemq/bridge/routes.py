"""Routes: which queues get the messages of a topic, and what to subscribe to for them."""

import itertools
from collections.abc import Sequence

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
    """All routes of a bridge.

    Subscriptions of one client must not overlap: brokers may then deliver a message once or once
    for each subscription, and cannot be relied upon to say which. So a filter that another one
    covers is not subscribed to, and filters that overlap in another way are refused.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        if not routes:
            raise BridgePlanInvalid("routes", "there is none; give --route FILTER=QUEUE")
        pairs = [(route.filter.text, route.queue) for route in routes]
        for pair in pairs:
            if pairs.count(pair) > 1:
                raise BridgePlanInvalid(f"{pair[0]}={pair[1]}", "the route is given twice")
        self._routes = tuple(routes)
        filters = list(dict.fromkeys(route.filter for route in routes))
        self.covered = [
            each
            for each in filters
            if any(other.covers(each) for other in filters if other != each)
        ]
        self.subscriptions = [each for each in filters if each not in self.covered]
        for one, other in itertools.combinations(self.subscriptions, 2):
            if one.overlaps(other):
                raise BridgePlanInvalid(
                    f"{one.text} and {other.text}",
                    "the filters overlap, and neither contains the other; run a second bridge "
                    "with its own --client-id for one of them",
                )

    @property
    def queues(self) -> list[str]:
        return list(dict.fromkeys(route.queue for route in self._routes))

    def routes_of(self, topic: str) -> list[Route]:
        return [route for route in self._routes if route.filter.matches(topic)]
