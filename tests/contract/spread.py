"""Queues of four partitions as the contract opens them, and what they do not promise.

The number of partitions is fixed, or the queue sizes itself from four partitions on. Then all that
a sentence asks is asked by one client, which has a session as producer and one as consumer, at two
different partitions. FIFO queues cannot size themselves: they have a fixed number there, too.
"""

import random
from collections.abc import Mapping
from typing import Final

from dovemq.core.observing import Observer
from dovemq.core.partitions import Layout, resized
from dovemq.core.ports import Clock, Partition, Store
from dovemq.core.queue import Queue
from dovemq.core.sessions import SESSION, ClientSession
from dovemq.fabric.store import FabricStore
from dovemq.testing.clock import ManualClock
from tests.contract.unowned import is_unowned, settings_of_unowned
from tests.contract.world import StoreOpener

PARTITIONS: Final = 4
AUTO: Final = "auto"
SPREAD: Final = "spread"
SERVERS: Final = ("cassandra", "redis", "postgresql")

_ORDER: Final = "messages of several partitions have no order among each other"
_GROUPS: Final = "FIFO groups of several partitions have no order among each other"
_FAIRNESS: Final = "whether a group is noisy is judged in its own partition"
_NOT_PROMISED: Final[Mapping[str, tuple[str, ...]]] = {
    "deduplication by queue needs one partition": ("test_id_holds_for_all_groups_of_the_queue",),
    "an answer tells whether there is more where the receive has looked": (
        "test_there_is_more_to_take_when_another_group_is_open",
    ),
    _ORDER: (
        "test_delayed_messages_come_in_the_order_they_are_due",
        "test_message_whose_lease_ended_comes_before_those_sent_later",
        "test_released_message_is_back_in_its_old_place",
        "test_messages_survive_whole_and_in_order",
    ),
    _GROUPS: (
        "test_group_taken_back_undelivered_keeps_its_old_place",
        "test_group_whose_head_was_settled_keeps_its_old_place",
        "test_groups_are_served_by_the_age_of_their_first_message",
        "test_leases_of_no_time_let_the_groups_take_turns",
        "test_thousand_groups_of_one_message_come_in_order",
    ),
    _FAIRNESS: (
        "test_among_noisy_groups_the_one_with_fewest_leases_goes_first",
        "test_group_with_a_small_share_of_the_leases_is_not_noisy",
        "test_group_with_few_leases_is_not_noisy",
        "test_noisy_groups_take_turns_by_their_leases",
    ),
}
_NOT_PROMISED_ON_SERVERS: Final[Mapping[str, tuple[str, ...]]] = {
    "each partition of a shared store numbers its messages for itself": (
        "test_adopted_message_gets_a_sequence_of_its_own",
        "test_sequences_of_a_queue_rise_whatever_other_queues_get",
        "test_sequences_rise_with_every_message",
        "test_sends_at_the_same_time_get_different_sequences",
    ),
}
_NOT_PROMISED_TO_SESSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "a receive is answered with the messages of its session's partition, if there are any": (
        "test_other_groups_have_rates_of_their_own",
    ),
}


def is_promised(sentence: str, store: str) -> bool:
    """Whether the sentence holds for the queues of this store, which may be spread ones."""
    reasons = [_NOT_PROMISED] if is_spread(store) else []
    if is_spread(store) and store.endswith(SERVERS):
        reasons.append(_NOT_PROMISED_ON_SERVERS)
    if store.startswith(AUTO):
        reasons.append(_NOT_PROMISED_TO_SESSIONS)
    return not any(sentence in sentences for each in reasons for sentences in each.values())


class SpreadStore(FabricStore):
    """A spread store that can be left as a killed process would leave it."""

    def __init__(self, store: Store, clock: Clock, observer: Observer) -> None:
        super().__init__(store, clock, observer)
        self._inner = store

    def abandon(self) -> None:
        self._inner.abandon()  # type: ignore[attr-defined]


class AutoStore(SpreadStore):
    """Everything is asked by one client of this front end."""

    def __init__(self, store: Store, clock: Clock, observer: Observer) -> None:
        super().__init__(store, clock, observer)
        self._client = ClientSession()

    def partition(self, queue: Queue, number: int) -> Partition:
        SESSION.set(self._client)
        return super().partition(queue, number)

    def abandon(self) -> None:
        self._client.end()
        super().abandon()

    async def close(self) -> None:
        self._client.end()
        await super().close()


class SpreadOpener:
    """Opens spread stores over those of another opener."""

    def __init__(self, inner: StoreOpener, kind: type[SpreadStore]) -> None:
        self._inner = inner
        self._kind = kind

    async def __call__(self, clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return self._kind(await self._inner(clock, rng, observer), clock, observer)


def is_spread(store: str) -> bool:
    return store.startswith((SPREAD, AUTO))


def settings_of(store: str) -> Mapping[str, object]:
    """The settings of all queues in a store.

    A receive looks into all partitions: otherwise it may miss messages, as short polls of SQS do.
    """
    if is_unowned(store):
        return settings_of_unowned(store)
    if not is_spread(store):
        return {}
    spread = {
        "partitions": PARTITIONS,
        "layout": resized(Layout(), PARTITIONS),
        "dequeue_fanout": PARTITIONS,
        "deduplication_scope": "messageGroup",
    }
    return {**spread, "auto": True} if store.startswith(AUTO) else spread
