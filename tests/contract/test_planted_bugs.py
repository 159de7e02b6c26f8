"""The contract is strict: for each rule, a store that breaks just that rule fails a test.

Each bug of `bugs.py` is played a sentence that guards the rule it breaks, and must fail it; the
suite itself plays the same sentence to the stores without the bug.
"""

import random
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.stores.memory import MemoryPartition
from dovemq.stores.memory_catalogue import MemoryCatalogue
from dovemq.testing.clock import ManualClock
from tests.contract import (
    bugs,
    test_accounts,
    test_catalogue,
    test_counting,
    test_deduplication,
    test_delays,
    test_dropping,
    test_extending,
    test_fairness,
    test_fifo_groups,
    test_group_limits,
    test_leasing,
    test_lifetime,
    test_moves,
    test_order_hint,
    test_peeking,
    test_redrive,
    test_releasing,
    test_retention,
    test_sending,
    test_settling,
    test_sizes,
    test_watching,
)
from tests.contract.test_machine import FifoTwins, StandardTwins, Twins
from tests.contract.twins import Pair
from tests.contract.world import StoreOpener, World

Bug = type[MemoryPartition] | type[MemoryCatalogue]
Sentence = Callable[[World], Awaitable[None]]

CAUGHT: list[tuple[Bug, Sentence]] = [
    (bugs.LeaseHidesNothing, test_leasing.test_message_is_hidden_while_it_is_leased),
    (
        bugs.LeaseEndsOneMillisecondEarly,
        test_leasing.test_message_is_hidden_until_the_last_millisecond_of_its_lease,
    ),
    (
        bugs.LeaseEndsOneMillisecondLate,
        test_leasing.test_message_is_visible_at_the_millisecond_its_lease_ends,
    ),
    (bugs.LeaseTakesOneTooMany, test_leasing.test_receive_takes_at_most_what_was_asked_for),
    (bugs.LeaseDoesNotTellWhenToLookAgain, test_leasing.test_answer_tells_when_the_next_lease_ends),
    (
        bugs.LeaseNeverTellsThatThereIsMore,
        test_leasing.test_answer_tells_when_there_is_more_to_take,
    ),
    (bugs.ReceivesAreNotCounted, test_leasing.test_receive_count_rises_with_every_receive),
    (bugs.FirstReceiveIsForgotten, test_leasing.test_time_of_the_first_receive_is_kept),
    (bugs.PauseIgnored, test_leasing.test_paused_queue_hands_out_nothing),
    (bugs.OrderHintIgnored, test_order_hint.test_draw_reaches_all_of_the_first_k_and_no_other),
    (bugs.DelayIgnored, test_delays.test_delayed_message_is_hidden_until_it_is_due),
    (bugs.AttributesAreLost, test_sending.test_message_keeps_its_attributes),
    (bugs.RetentionIgnored, test_retention.test_message_is_gone_when_its_retention_is_over),
    (bugs.SettleForgets, test_settling.test_settled_message_does_not_come_back),
    (
        bugs.SettleRefusesEndedLeases,
        test_settling.test_standard_queue_honours_a_receipt_whose_lease_has_ended,
    ),
    (
        bugs.FifoHonoursEndedLeases,
        test_settling.test_fifo_queue_refuses_an_old_receipt_and_keeps_the_newer_lease,
    ),
    (
        bugs.StaleReceiptHidesAgain,
        test_extending.test_old_receipt_does_not_hide_a_visible_message,
    ),
    (bugs.StaleReceiptHidesAgain, test_extending.test_old_receipt_leaves_a_newer_lease_alone),
    (
        bugs.ExtensionCountsFromTheOldEnd,
        test_extending.test_extension_counts_from_now_and_not_from_the_old_end,
    ),
    (bugs.ReleaseKeepsTheCount, test_releasing.test_released_receive_does_not_count),
    (bugs.ReleaseLosesThePlace, test_releasing.test_released_message_is_back_in_its_old_place),
    (bugs.ReleaseTakesOldReceipts, test_releasing.test_receipt_of_an_older_lease_is_passed_over),
    (bugs.GroupsAreNotLocked, test_fifo_groups.test_group_with_a_lease_is_locked),
    (
        bugs.DuplicatesGetNewIds,
        test_deduplication.test_second_send_of_an_id_is_answered_with_the_first_ids,
    ),
    (
        bugs.DuplicatesProlongTheInterval,
        test_deduplication.test_duplicate_does_not_prolong_the_interval,
    ),
    (
        bugs.IntervalIsTooShort,
        test_deduplication.test_id_is_remembered_until_the_last_millisecond_of_the_interval,
    ),
    (bugs.IntervalIsTooLong, test_deduplication.test_id_is_free_again_when_the_interval_is_over),
    (
        bugs.SettleForgetsTheDeduplicationId,
        test_deduplication.test_id_is_remembered_after_the_message_was_settled,
    ),
    (
        bugs.ScopeIgnored,
        test_deduplication.test_id_holds_within_its_group_when_the_scope_is_the_group,
    ),
    (bugs.NoisyGroupsGoFirst, test_fairness.test_quiet_group_goes_before_a_noisy_one),
    (
        bugs.NoiseIsForgottenAtOnce,
        test_fairness.test_noisy_group_stays_noisy_when_its_leases_are_settled,
    ),
    (bugs.ConcurrencyIgnored, test_group_limits.test_group_has_no_more_leases_than_its_limit),
    (bugs.PaceIsForgotten, test_group_limits.test_rate_is_free_again_after_exactly_a_second),
    (bugs.ExhaustedMessagesAreHandedOut, test_redrive.test_message_received_too_often_is_set_aside),
    (bugs.ExhaustedOneReceiveTooLate, test_redrive.test_message_received_too_often_is_set_aside),
    (bugs.AdoptStartsAfresh, test_redrive.test_adopted_message_keeps_its_receives),
    (bugs.AdoptTakesTwice, test_redrive.test_adopting_again_changes_nothing),
    (bugs.AdoptResetsTheTimeOfTheSend, test_redrive.test_standard_queue_keeps_the_time_of_the_send),
    (bugs.DropMissesLeasedMessages, test_dropping.test_drop_removes_leased_messages_too),
    (
        bugs.DropTakesWhatWasSentThen,
        test_dropping.test_drop_leaves_what_was_sent_at_that_moment_or_later,
    ),
    (
        bugs.CountsMixUpLeasedAndDelayed,
        test_counting.test_lease_moves_a_message_from_visible_to_leased,
    ),
    (bugs.OldestCountsHiddenMessages, test_counting.test_oldest_passes_over_hidden_messages),
    (
        bugs.LeasedMessagesWeighNothing,
        test_sizes.test_delayed_and_leased_messages_count_as_bytes,
    ),
    (
        bugs.BodiesAloneHaveWeight,
        test_sizes.test_sent_messages_count_their_bodies_and_a_fixed_part,
    ),
    (bugs.PeekCountsAsAReceive, test_peeking.test_peek_does_not_count_as_a_receive),
    (bugs.NobodyIsWoken, test_watching.test_send_wakes_the_watcher),
    (bugs.WatchersCannotLeave, test_watching.test_undone_watch_is_not_woken),
    (bugs.SettingsNeverChange, test_leasing.test_queue_delivers_again_when_the_pause_is_over),
    (bugs.OldSettingsComeBack, test_lifetime.test_partition_does_not_go_back_to_an_older_version),
    (bugs.ChangesAreNotCompared, test_catalogue.test_replace_of_an_old_version_changes_nothing),
    (
        bugs.CreatingAgainOverwrites,
        test_catalogue.test_creating_again_answers_the_queue_that_is_there,
    ),
    (bugs.NumbersAreUsedAgain, test_catalogue.test_number_of_a_removed_queue_is_not_used_again),
    (bugs.PrefixIgnoresCase, test_catalogue.test_page_keeps_to_the_prefix),
    (
        bugs.SourcesOfAnyAccountAreListed,
        test_catalogue.test_sources_are_the_queues_that_send_their_dead_letters_here,
    ),
    (
        bugs.AccountChangesAreNotCompared,
        test_accounts.test_saving_an_old_version_changes_nothing,
    ),
    (
        bugs.NamesOfAccountsAreNotCompared,
        test_accounts.test_change_to_a_taken_name_is_refused_and_changes_nothing,
    ),
    (
        bugs.AccountsWithQueuesAreRemoved,
        test_accounts.test_account_that_owns_a_queue_is_not_removed,
    ),
    (bugs.EveryMoveIsForgotten, test_moves.test_unfinished_moves_are_kept_however_old),
]


def _opener(bug: Bug) -> StoreOpener:
    async def opened(clock: ManualClock, rng: random.Random, _: Observer) -> Store:
        return bugs.BuggyStore(bug, rng)

    return opened


def _name(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("bug", "sentence"), CAUGHT, ids=_name)
async def test_store_with_a_planted_bug_is_caught(bug: Bug, sentence: Sentence) -> None:
    with pytest.raises(AssertionError):
        async with World(_opener(bug)) as world:
            await sentence(world)


def test_every_planted_bug_is_played_a_sentence() -> None:
    planted = {
        value
        for value in vars(bugs).values()
        if isinstance(value, type)
        and value.__module__ == bugs.__name__
        and issubclass(value, MemoryPartition | MemoryCatalogue)
    }
    assert planted - {bugs.SettingsIgnored} == {bug for bug, _ in CAUGHT}


@pytest.mark.parametrize(
    ("bug", "twins"),
    [
        (bugs.LeaseEndsOneMillisecondLate, StandardTwins),
        (bugs.OrderHintIgnored, StandardTwins),
        (bugs.RetentionIgnored, StandardTwins),
        (bugs.AdoptTakesTwice, StandardTwins),
        (bugs.LeasedMessagesWeighNothing, StandardTwins),
        (bugs.SettleForgets, FifoTwins),
        (bugs.GroupsAreNotLocked, FifoTwins),
    ],
    ids=_name,
)
def test_machine_finds_a_planted_bug(bug: Bug, twins: type[Twins]) -> None:
    class BuggyTwins(twins):  # type: ignore[misc, valid-type]
        def new_pair(self) -> Pair:
            return Pair(fifo=self.fifo, oracle=_opener(bug))

    walks = settings(
        max_examples=100,
        stateful_step_count=50,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(BuggyTwins, settings=walks)
