"""When to take a snapshot, and which segment to clean."""

from dovemq.stores.owned.logged.policy import LogPolicy
from dovemq.stores.owned.logged.positions import segment_start
from dovemq.stores.owned.logged.segments import LogSegment

POLICY = LogPolicy()
MIB = 1024 * 1024


def test_snapshot_is_due_when_the_tail_is_long() -> None:
    assert not POLICY.snapshot_due(16 * MIB - 1, 0, None, 1)
    assert POLICY.snapshot_due(16 * MIB, 0, None, 1)


def test_long_snapshot_is_taken_less_often() -> None:
    assert not POLICY.snapshot_due(39 * MIB, 10 * MIB, 0, 1)
    assert POLICY.snapshot_due(40 * MIB, 10 * MIB, 0, 1)


def test_snapshot_is_due_after_a_day_and_after_many_takeovers() -> None:
    assert POLICY.snapshot_due(0, 0, POLICY.snapshot_age_ms_max, 1)
    assert POLICY.snapshot_due(0, 0, None, POLICY.snapshot_epochs_max)
    assert not POLICY.snapshot_due(0, 0, None, POLICY.snapshot_epochs_max - 1)


def segments(*live: int) -> list[LogSegment]:
    return [LogSegment(number, 4 * MIB, 100, count) for number, count in enumerate(live, 1)]


def test_empty_segment_before_the_bookmark_is_trimmed_at_once() -> None:
    assert POLICY.segment_to_clean(segments(0, 100), segment_start(2)) is not None
    assert POLICY.segment_to_clean(segments(0, 100), segment_start(1)) is None


def test_tail_is_never_cleaned() -> None:
    assert POLICY.segment_to_clean(segments(0, 0, 0), 0) is None
    assert POLICY.segment_to_clean([], segment_start(3)) is None


def test_segment_is_cleaned_only_while_half_of_the_settled_part_is_dead() -> None:
    bookmark = segment_start(5)
    assert POLICY.segment_to_clean(segments(51, 50, 50, 50, 0), bookmark) is None
    chosen = POLICY.segment_to_clean(segments(50, 50, 50, 50, 0), bookmark)
    assert chosen is not None
    assert chosen.number == 1


def test_short_log_is_not_cleaned() -> None:
    assert POLICY.segment_to_clean(segments(1, 1, 1, 1), segment_start(4)) is None
