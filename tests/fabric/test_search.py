"""A receive searches partitions by the strategy of its queue."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.core.errors import InvariantError
from dovemq.fabric.dequeue import (
    STRATEGIES,
    DequeueSettings,
    Finish,
    Park,
    PartitionsView,
    Step,
    TryPartition,
    begin,
    found_at,
    next_step,
    woken,
)
from dovemq.fabric.dequeue.search import RETRIES_MAX

CONVENTIONAL = DequeueSettings("conventional")
PMS = DequeueSettings("pms", monitor_period_ms=1_000)
REGULATED = msgspec.structs.replace(PMS, regulation=True)
RDS = DequeueSettings("rds", sleep_ms=100, wake="timer")
FIVE = PartitionsView((10, 11, 12, 13, 14), position=3)


def _course(
    settings: DequeueSettings,
    view: PartitionsView,
    messages: Mapping[int, int],
    wanted: int = 10,
    wait_ms: int = 0,
) -> tuple[list[int], int, Step]:
    """Partitions tried until a park or the end, messages found, and the last step."""
    search = begin(wanted, settings, wait_ms, 100, now_ms=0)
    while isinstance(step := next_step(search, view, settings, 0), TryPartition):
        found = min(messages.get(step.partition, 0), step.count_max)
        view = view.after(step, settings)
        search = found_at(search, step.partition, found)
    return list(search.tried), search.found, step


def test_conventional_receive_tries_three_partitions_in_turn() -> None:
    assert _course(CONVENTIONAL, FIVE, {}) == ([13, 14, 10], 0, Finish())


def test_receive_ends_when_it_has_what_was_wanted() -> None:
    assert _course(CONVENTIONAL, FIVE, {13: 4, 14: 9}) == ([13, 14], 10, Finish())


def test_partition_is_asked_only_for_what_is_still_wanted() -> None:
    search = found_at(begin(10, CONVENTIONAL, 0, 0, 0), 13, 4)
    view = msgspec.structs.replace(FIVE, position=4)
    assert next_step(search, view, CONVENTIONAL, 0) == TryPartition(14, 6)


def test_fewer_partitions_than_the_fanout_are_tried_once() -> None:
    assert _course(CONVENTIONAL, PartitionsView((7, 8)), {}) == ([7, 8], 0, Finish())


def test_pms_tries_the_fullest_partitions_of_the_last_look_first() -> None:
    view = msgspec.structs.replace(FIVE, counts={10: 1, 11: 5, 12: 0, 13: 0, 14: 3})
    assert _course(PMS, view, {}) == ([11, 14, 10], 0, Finish())


def test_pms_without_a_look_takes_its_turn() -> None:
    assert _course(PMS, FIVE, {}) == ([13, 14, 10], 0, Finish())


def test_pms_without_regulation_tries_partitions_that_had_no_message() -> None:
    view = msgspec.structs.replace(FIVE, counts=dict.fromkeys(FIVE.numbers, 0))
    assert _course(PMS, view, {}) == ([13, 14, 10], 0, Finish())


def test_regulated_pms_waits_for_the_next_look() -> None:
    view = msgspec.structs.replace(FIVE, counts=dict.fromkeys(FIVE.numbers, 0), counted_ms=-400)
    assert _course(REGULATED, view, {}, wait_ms=5_000) == ([], 0, Park(600, False))
    assert _course(REGULATED, view, {}, wait_ms=300) == ([], 0, Park(300, False))
    assert _course(REGULATED, view, {}) == ([], 0, Finish())


def test_regulated_pms_tries_only_partitions_that_had_messages() -> None:
    view = msgspec.structs.replace(FIVE, counts={**dict.fromkeys(FIVE.numbers, 0), 12: 5})
    assert _course(REGULATED, view, {12: 4}, wait_ms=5_000) == ([12], 4, Finish())


def test_regulated_pms_asks_for_no_more_than_the_last_look_has_shown() -> None:
    view = PartitionsView((0, 1), counts={0: 15, 1: 0})
    view = view.after(TryPartition(0, 10), REGULATED)
    assert view.counts == {0: 5, 1: 0}
    view = view.after(TryPartition(0, 10), REGULATED)
    assert view.counts == {0: 0, 1: 0}
    assert _course(REGULATED, view, {0: 9}) == ([], 0, Finish())


def test_look_of_the_monitor_is_due_after_its_period() -> None:
    view = PartitionsView((0, 1), counts={0: 1}, counted_ms=500)
    assert not view.is_monitor_due(PMS, 1_499)
    assert view.is_monitor_due(PMS, 1_500)
    assert PartitionsView((0, 1)).is_monitor_due(PMS, 0)


def test_rds_sleeps_after_the_first_partition_is_found_empty() -> None:
    assert _course(RDS, FIVE, {14: 9}) == ([13], 0, Park(100, False))


def test_rds_goes_on_when_a_later_partition_is_found_empty() -> None:
    assert _course(RDS, FIVE, {13: 1}) == ([13, 14, 10], 1, Finish())


def test_rds_may_be_woken_by_the_arrival_of_a_message() -> None:
    settings = msgspec.structs.replace(RDS, wake="arrival")
    assert _course(settings, FIVE, {})[2] == Park(100, True)


def test_woken_receive_tries_the_next_partition_in_turn() -> None:
    search = woken(found_at(begin(10, RDS, 0, 100, 0), 13, 0))
    view = msgspec.structs.replace(FIVE, position=4)
    assert next_step(search, view, RDS, 100) == TryPartition(14, 10)


def test_partition_of_the_arrival_is_tried_first() -> None:
    search = woken(found_at(begin(10, RDS, 0, 100, 0), 13, 0), hint=12)
    assert next_step(search, FIVE, RDS, 50) == TryPartition(12, 10)
    search = found_at(search, 12, 3)
    assert next_step(search, FIVE, RDS, 50) == TryPartition(13, 7)


def test_rds_parks_for_the_longer_of_wait_and_sleep() -> None:
    search = found_at(begin(10, RDS, 250, 100, 0), 13, 0)
    assert next_step(search, FIVE, RDS, 0) == Park(100, False)
    assert next_step(search, FIVE, RDS, 200) == Park(250, False)
    assert next_step(search, FIVE, RDS, 250) == Finish()
    search = found_at(begin(10, RDS, 0, 100, 0), 13, 0)
    assert next_step(search, FIVE, RDS, 99) == Park(100, False)
    assert next_step(search, FIVE, RDS, 100) == Finish()


def test_receive_that_is_woken_in_vain_too_often_is_answered() -> None:
    search = begin(10, RDS, 10**9, 100, 0)
    search = msgspec.structs.replace(found_at(search, 13, 0), retries=RETRIES_MAX)
    assert next_step(search, FIVE, RDS, 0) == Finish()


@given(
    st.sampled_from([CONVENTIONAL, PMS, REGULATED, RDS]),
    st.integers(1, 6),
    st.integers(1, 8),
    st.lists(st.integers(0, 9), min_size=1, max_size=8),
    st.integers(1, 30),
    st.integers(0, 7),
)
def test_search_tries_each_partition_once_and_keeps_to_its_fanout(
    settings: DequeueSettings,
    fanout: int,
    partitions: int,
    stored: list[int],
    wanted: int,
    position: int,
) -> None:
    settings = msgspec.structs.replace(settings, fanout=fanout)
    numbers = tuple(range(partitions))
    messages = {number: stored[number % len(stored)] for number in numbers}
    view = PartitionsView(numbers, position % partitions, messages)
    tried, found, _ = _course(settings, view, messages, wanted)
    assert len(set(tried)) == len(tried) <= fanout
    assert found == min(wanted, sum(messages[number] for number in tried))


def test_every_strategy_of_the_attribute_has_a_decision() -> None:
    assert set(STRATEGIES) == {"conventional", "pms", "rds"}


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvariantError):
        DequeueSettings(fanout=0)
    with pytest.raises(InvariantError):
        DequeueSettings(sleep_ms=0)
    with pytest.raises(InvariantError):
        PartitionsView(())
