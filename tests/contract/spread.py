"""Queues of four partitions as the contract opens them, and what they do not promise."""

from collections.abc import Mapping
from typing import Final

from dovemq.core.observing import Observer
from dovemq.core.partitions import Layout, resized
from dovemq.core.ports import Clock
from dovemq.fabric.store import FabricStore
from dovemq.stores.sqlite import SqliteStore
from tests.contract.unowned import is_unowned, settings_of_unowned

PARTITIONS: Final = 4

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
NOT_PROMISED: Final[Mapping[str, str]] = {
    sentence: reason for reason, sentences in _NOT_PROMISED.items() for sentence in sentences
}
"""Sentences that a queue of several partitions does not promise, with the reason."""


class SpreadOnDisk(FabricStore):
    """A spread store that can be left as a killed process would leave it."""

    def __init__(self, store: SqliteStore, clock: Clock, observer: Observer) -> None:
        super().__init__(store, clock, observer)
        self.abandon = store.abandon


def is_spread(store: str) -> bool:
    return store.startswith("spread")


def settings_of(store: str) -> Mapping[str, object]:
    """The settings of all queues in a store.

    A receive looks into all partitions: otherwise it may miss messages, as short polls of SQS do.
    """
    if is_unowned(store):
        return settings_of_unowned(store)
    if not is_spread(store):
        return {}
    return {
        "partitions": PARTITIONS,
        "layout": resized(Layout(), PARTITIONS),
        "dequeue_fanout": PARTITIONS,
        "deduplication_scope": "messageGroup",
    }
