"""Queues without an owner as the contract opens them, and what they do not promise."""

from collections.abc import Mapping
from typing import Final

_MODES: Final = ("none", "serial")

_OWNER: Final = "FIFO order, deduplication, fairness and limits of groups need an owner: refused"
_NOT_PROMISED: Final[Mapping[str, tuple[str, ...]]] = {
    "whether somebody else has settled or claimed a message is not asked": (
        "test_lease_of_a_message_that_went_settles_as_gone",
        "test_old_receipt_does_not_hide_a_visible_message",
        "test_receipt_from_before_never_touches_a_message_from_after",
        "test_receipt_of_a_message_that_never_was_answers_gone",
    ),
    "sequences of adopted messages are not in order, nor are messages dropped in order": (
        "test_adopted_message_gets_a_sequence_of_its_own",
        "test_dropped_messages_free_their_bytes",
    ),
    "a move that is repeated after its message was settled is the same move": (
        "test_dropped_message_can_be_adopted_again",
        "test_settled_message_can_be_adopted_again",
    ),
    "it is done a moment later, in the background": (
        "test_cancelled_receive_leaves_nothing_leased",
        "test_expiry_is_observed",
        "test_settle_whose_caller_went_away_is_observed",
    ),
    "a poll looks again after a short time, whatever is hidden": (
        "test_nothing_is_due_when_nothing_is_hidden",
        "test_waiting_for_the_due_times_leads_to_the_message",
    ),
    "leases are not counted": ("test_standard_queue_refuses_a_receive_at_the_limit_of_leases",),
    "claims of Coordination=serial have random numbers": (
        "test_hint_of_one_does_not_touch_the_generator",
    ),
    "a queue without an owner has one partition": ("test_partitions_of_one_queue_are_apart",),
    _OWNER: (
        "test_adopted_messages_join_their_fifo_group_at_its_end",
        "test_among_noisy_groups_the_one_with_fewest_leases_goes_first",
        "test_answer_tells_when_the_rate_lets_out_the_next_message",
        "test_deduplication_outlives_the_message",
        "test_deduplication_survives",
        "test_delayed_message_of_a_fifo_queue_holds_back_its_group",
        "test_drop_that_unlocks_a_fifo_group_wakes_the_watcher",
        "test_duplicate_adds_no_bytes",
        "test_duplicate_is_not_observed",
        "test_duplicate_is_not_stored",
        "test_duplicates_sent_at_the_same_time_agree_on_one_message",
        "test_duplicates_within_one_batch_are_found",
        "test_end_of_a_lease_makes_room_below_the_limit",
        "test_ended_lease_is_extended_only_within_the_limit_of_its_group",
        "test_exhausted_head_holds_back_its_fifo_group_until_it_is_settled",
        "test_extension_keeps_a_fifo_group_locked",
        "test_fifo_group_is_unlocked_when_its_leased_message_goes",
        "test_fifo_group_that_is_free_waits_for_its_rate",
        "test_fifo_order_and_locks_survive",
        "test_fifo_queue_hands_out_nothing_at_the_limit_of_leases",
        "test_fifo_queue_refuses_a_receipt_whose_lease_has_ended",
        "test_fifo_queue_refuses_an_old_receipt_and_keeps_the_newer_lease",
        "test_fifo_queue_refuses_to_extend_an_ended_lease",
        "test_fifo_queue_sets_a_new_time_of_the_send",
        "test_group_can_be_had_up_to_its_first_hidden_message",
        "test_group_has_no_more_leases_than_its_limit",
        "test_group_is_leased_no_more_often_than_its_rate",
        "test_group_stays_locked_while_one_of_its_leases_is_left",
        "test_group_whose_lease_ended_comes_after_groups_that_waited",
        "test_group_with_a_lease_is_locked",
        "test_id_holds_for_all_groups_of_the_queue",
        "test_id_holds_within_its_group_when_the_scope_is_the_group",
        "test_id_is_remembered_after_the_message_was_settled",
        "test_id_is_remembered_until_the_last_millisecond_of_the_interval",
        "test_id_is_remembered_while_the_message_is_leased",
        "test_id_sent_after_what_was_dropped_is_remembered",
        "test_leases_of_no_time_let_the_groups_take_turns",
        "test_lifted_limit_holds_no_more",
        "test_limit_of_leases_bounds_the_run_of_a_fifo_group",
        "test_limit_of_leases_holds_within_one_receive",
        "test_many_messages_of_a_full_group_do_not_hold_back_the_rest",
        "test_message_sent_to_a_locked_group_waits",
        "test_message_without_a_group_goes_before_a_noisy_group",
        "test_messages_whose_leases_ended_come_again_in_their_order",
        "test_new_limit_counts_leases_given_before",
        "test_noisy_group_fills_up_what_quiet_ones_leave",
        "test_noisy_group_stays_noisy_when_its_leases_are_settled",
        "test_noisy_groups_take_turns_by_their_leases",
        "test_other_groups_are_served_while_one_is_locked",
        "test_other_groups_go_on_when_one_is_at_its_limit",
        "test_other_groups_have_rates_of_their_own",
        "test_quiet_group_goes_before_a_noisy_one",
        "test_rate_bounds_the_run_of_a_fifo_group",
        "test_rate_holds_in_every_second_and_not_per_tick",
        "test_rate_is_free_again_after_exactly_a_second",
        "test_rate_outlives_the_last_message_of_the_group",
        "test_receive_goes_on_with_the_next_group",
        "test_receive_takes_as_many_of_one_group_as_possible",
        "test_receives_at_the_same_time_never_share_a_group",
        "test_refused_settle_is_not_observed",
        "test_release_makes_room_below_the_limit",
        "test_release_of_some_leases_keeps_a_fifo_group_locked",
        "test_released_group_comes_after_groups_that_waited",
        "test_run_of_a_fifo_group_ends_before_a_delayed_message",
        "test_second_of_a_run_settled_first_leaves_the_order_as_it_was",
        "test_second_send_of_an_id_is_answered_with_the_first_ids",
        "test_send_after_the_interval_starts_a_new_one",
        "test_settle_that_makes_room_in_a_group_wakes_the_watcher",
        "test_settle_that_unlocks_a_fifo_group_wakes_the_watcher",
        "test_settled_leases_count_against_the_rate",
        "test_there_is_no_more_to_take_from_a_group_at_its_limit",
        "test_there_is_no_more_to_take_from_locked_groups",
    ),
}
UNOWNED_NOT_PROMISED: Final[Mapping[str, str]] = {
    sentence: reason for reason, sentences in _NOT_PROMISED.items() for sentence in sentences
}
"""Sentences that a queue without an owner does not promise, with the reason."""


def is_unowned(store: str) -> bool:
    return store.split()[0] in _MODES


def settings_of_unowned(store: str) -> Mapping[str, object]:
    return {"coordination": store.split()[0]}
