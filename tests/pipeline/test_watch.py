"""The watch of one queue, without Spark."""

import random
from collections.abc import Sequence

import pytest

from dovemq.cli.pipeline_monitor import order_note
from dovemq.pipeline.monitor.watch import Bounds, QueueWatch
from tests.pipeline.watching import SECOND_US, Row, columns, expected, found, history, leased, sent

WIDE = Bounds(late_us=10 * SECOND_US, horizon_us=60 * SECOND_US, messages_max=1_000)
NARROW = Bounds(late_us=0, horizon_us=100, messages_max=1_000)


def watched(batches: Sequence[Sequence[Row]], bounds: Bounds) -> QueueWatch:
    """Keeps and resumes the watch between batches, as a job does."""
    watch, newest_us = QueueWatch(bounds), 0
    for batch in batches:
        newest_us = max([newest_us, *(row.at for row in batch)])
        watch = QueueWatch.resumed(watch.kept(), bounds)
        watch.add(columns(batch), 0, newest_us - bounds.late_us)
    return watch


def told(watch: QueueWatch, *names: str) -> list[int]:
    figures = watch.figures()
    return [figures[name] for name in names]


@pytest.mark.parametrize("seed", range(20))
def test_figures_do_not_depend_on_the_split_into_files(seed: int) -> None:
    rows = history(seed)
    rng = random.Random(seed)
    # Files come in order of time, but rows are up to nine seconds late.
    files = sorted(rows, key=lambda row: row.at + rng.randrange(9 * SECOND_US))
    cuts = sorted(rng.randrange(len(rows)) for _ in range(8))
    batches = [files[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    watch = watched(batches, WIDE)
    assert found(watch.figures()) == expected(rows)
    assert told(watch, "late", "unordered", "unsent", "forgotten") == [0, 0, 0, 0]


def test_a_message_is_open_within_the_horizon_and_lost_beyond_it() -> None:
    watch = watched([[sent(0, 1), sent(10, 2), leased(20, 2)], [sent(100, 3)]], NARROW)
    assert told(watch, "messages", "open", "absent") == [3, 2, 0]
    watch.add(columns([]), 0, 101)
    assert told(watch, "messages", "open", "absent") == [3, 1, 1]


def test_duplicate_is_recognised_while_its_message_is_remembered() -> None:
    watch = watched([[sent(0, 1), leased(90, 1)], [leased(180, 1)], [leased(270, 1)]], NARROW)
    assert told(watch, "receives", "received", "duplicates", "unsent") == [3, 1, 2, 0]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_row_after_the_horizon_is_another_message_in_one_batch_or_two(cut: int) -> None:
    rows = [sent(0, 1), leased(150, 1), sent(300, 2), leased(310, 2)]
    watch = watched([rows[:cut], rows[cut:]], NARROW)
    assert told(watch, "messages", "absent", "unsent", "received") == [2, 1, 1, 2]


def test_lease_that_comes_before_its_send_is_matched() -> None:
    watch = watched([[leased(5, 1, crc=9)], [sent(6, 1, crc=9), leased(7, 1, crc=9)]], NARROW)
    names = ("messages", "received", "duplicates", "corrupted", "unsent", "open")
    assert told(watch, *names) == [1, 1, 1, 0, 0, 0]


def test_message_is_corrupted_until_it_is_received_intact() -> None:
    rows = [sent(0, 1, crc=5), leased(10, 1, crc=6)]
    watch = watched([rows], NARROW)
    assert told(watch, "corrupted") == [1]
    watch.add(columns([leased(20, 1, crc=5)]), 0, 20)
    assert told(watch, "corrupted", "duplicates") == [0, 1]


def test_a_row_that_comes_after_the_watermark_counts_and_is_not_ordered() -> None:
    rows = [sent(0, 1), sent(1, 2), leased(50, 2)]
    watch = watched([rows, [leased(40, 1)]], NARROW)
    assert told(watch, "late", "received", "ordered", "unordered") == [1, 2, 1, 1]
    assert told(watch, "out_of_order", "open") == [0, 0]


def test_lost_message_does_not_hold_back_later_ones() -> None:
    rows = [sent(0, 1)]
    for seq in range(2, 2_000):
        rows += [sent(seq * 10, seq), leased(seq * 10 + 5, seq)]
    watch = watched([rows[at : at + 50] for at in range(0, len(rows), 50)], NARROW)
    assert told(watch, "absent", "ordered", "out_of_order") == [1, 1_998, 0]
    assert told(watch, "remembered")[0] < 15
    assert len(watch.kept()) < 10_000


def test_no_more_messages_are_remembered_than_allowed() -> None:
    bounds = Bounds(late_us=0, horizon_us=1_000_000, messages_max=10)
    watch = watched(
        [[sent(at, at) for at in range(start, start + 25)] for start in (1, 26)], bounds
    )
    assert told(watch, "messages", "remembered", "forgotten", "open", "absent") == [
        50,
        10,
        40,
        10,
        0,
    ]


def test_no_more_rows_wait_than_allowed() -> None:
    bounds = Bounds(late_us=1_000_000, horizon_us=1_000_000, messages_max=10)
    watch = watched([[sent(at, at) for at in range(1, 26)]], bounds)
    assert told(watch, "pending", "messages", "watermark_us") == [10, 25, 15]


def test_senders_that_number_under_one_name_have_no_order() -> None:
    rows = [sent(1, 1, message=10), sent(2, 1, message=20)]
    rows += [leased(3, 1, message=10), leased(4, 1, message=20)]
    other = [sent(1, 1, message=30, sender=5), leased(2, 1, message=30, sender=5)]
    watch = watched([rows + other], NARROW)
    assert told(watch, "received", "ordered", "unordered", "duplicates") == [3, 1, 2, 0]
    note = order_note(watch.figures())
    assert note.startswith("order not judged for 2 of 3 messages: several programs number")


def test_a_sender_that_was_silent_may_number_from_one_again() -> None:
    rows = [sent(0, 1), leased(1, 1), sent(500, 1, message=99), leased(501, 1, message=99)]
    watch = watched([rows[:2], rows[2:3], rows[3:]], NARROW)
    assert told(watch, "ordered", "unordered", "out_of_order") == [2, 0, 0]
