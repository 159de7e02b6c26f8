"""What both engines share: times to four digits, matching, the order of streams."""

import random

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dovemq.pipeline.metrics.accounts import accounts, joined
from dovemq.pipeline.metrics.digits import shortened, shortened_sql
from dovemq.pipeline.metrics.matching import LEASED, LEFT, MESSAGES, NEVER, ROWS, SENT, match
from dovemq.pipeline.metrics.packing import from_slices, in_slices
from tests.pipeline.plain_metrics import displacement, longest_in_order

FRONT_ENDS = [70, 30, 50]
"""Keys in the order of names."""


def test_sql_and_numpy_shorten_times_alike() -> None:
    times = [0, 7, 9_999, 10_000, 12_345, 99_999, 100_009, 8_765_432_109, 10**15 + 1, -12_349]
    query = f"SELECT list({shortened_sql('time')}) FROM (SELECT unnest($times) AS time)"
    rows = duckdb.execute(query, {"times": times}).fetchall()
    wanted = [0, 7, 9_999, 10_000, 12_340, 99_990, 100_000, 8_765_000_000, 10**15, -12_340]
    assert rows == [(wanted,)]
    assert shortened(np.array(times)).tolist() == wanted


def row(step: int, message: int, moment_us: int, **columns: int) -> dict[str, int]:
    return {
        "step": step,
        "queue_key": 1,
        "id_high": message,
        "id_low": message,
        "moment_us": moment_us,
        "sender_key": 5,
        "send_seq": message,
        "front_end_key": 30,
        "receive_seq": NEVER,
        "body_crc32": 9,
        **columns,
    }


def matched(*rows: dict[str, int]) -> list[dict[str, int]]:
    shuffled = list(rows)
    random.Random(len(rows)).shuffle(shuffled)
    found: list[dict[str, int]] = match(
        pa.Table.from_pylist(shuffled, ROWS), FRONT_ENDS
    ).to_pylist()
    return sorted(found, key=lambda each: each["send_seq"])


def test_a_message_is_one_row_from_its_send_to_its_leaving() -> None:
    (found,) = matched(
        row(SENT, 4, 100),
        row(LEASED, 4, 120, receive_seq=8, front_end_key=50),
        row(LEASED, 4, 110, receive_seq=9, front_end_key=50),
        row(LEFT, 4, 130, sender_key=NEVER),
    )
    assert found == {
        "queue_key": 1,
        "sender_key": 5,
        "send_seq": 4,
        "sent_us": 100,
        "leased_us": 110,
        "front_end": 2,
        "receive_seq": 9,
        "left_us": 130,
        "corrupted": False,
    }


def test_leases_of_one_microsecond_are_told_apart_by_front_end_and_count() -> None:
    (found,) = matched(
        row(LEASED, 1, 7, front_end_key=50, receive_seq=1),
        row(LEASED, 1, 7, front_end_key=30, receive_seq=6),
        row(LEASED, 1, 7, front_end_key=30, receive_seq=5),
    )
    assert (found["front_end"], found["receive_seq"]) == (1, 5)


def test_messages_that_agree_in_half_of_their_hash_are_two() -> None:
    found = matched(
        row(SENT, 1, 1), row(SENT, 2, 2, id_high=1), row(LEFT, 1, 3), row(LEFT, 2, 4, id_high=1)
    )
    assert [(each["sent_us"], each["left_us"]) for each in found] == [(1, 3), (2, 4)]


def test_a_message_is_corrupted_if_no_lease_had_its_checksum() -> None:
    sums = {1: (8, 9), 2: (7, 8), 3: (9,), 4: ()}
    rows = [row(SENT, message, 1) for message in sums]
    for message, seen in sums.items():
        rows += [row(LEASED, message, 2 + at, body_crc32=one) for at, one in enumerate(seen)]
    assert [each["corrupted"] for each in matched(*rows)] == [False, True, False, False]


def messages(seqs: list[int], sent_us: list[int]) -> pa.Table:
    rows = [
        {
            "queue_key": 1,
            "sender_key": 2,
            "send_seq": seq,
            "sent_us": sent,
            "leased_us": 1_000 + 10 * place,
            "front_end": 0,
            "receive_seq": place,
            "left_us": NEVER,
            "corrupted": False,
        }
        for place, (seq, sent) in enumerate(zip(seqs, sent_us, strict=True))
    ]
    return pa.Table.from_pylist(rows, MESSAGES)


def counted(table: pa.Table, batch_rows: int, window_us: int = 100) -> dict[tuple[str, int], int]:
    batches = accounts(joined(table.to_batches(max_chunksize=batch_rows)), window_us)
    rows = pa.Table.from_batches(batches).to_pylist()
    return {
        (each["measure"], each["window"] or 0): each["count"]
        for each in rows
        if each["measure"] not in ("waiting", "sojourn")
    }


@pytest.mark.parametrize("batch_rows", [3, 1_000])
def test_order_of_a_stream_is_the_same_in_one_batch_and_in_many(
    batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovemq.pipeline.metrics.accounts.TAKEN_UP_ROWS", batch_rows)
    seqs = random.Random(4).sample(range(1, 90), 60)
    found = counted(messages(seqs, [500] * 60), batch_rows)
    assert found["streams", 0] == 1
    assert found["renumbered", 0] == 0
    assert found["out_of_order", 0] == 60 - longest_in_order(seqs)
    assert found["displacement", 0] == displacement(seqs)
    for window in range(10, 16):
        part = seqs[10 * (window - 10) : 10 * (window - 9)]
        assert found["window_out_of_order", window] == 10 - longest_in_order(part)
        assert found["window_displacement", window] == displacement(part)


def test_slices_of_time_come_back_in_order_with_streams_whole() -> None:
    rng = random.Random(8)
    table = messages(list(range(1, 61)), [500] * 60)
    senders = pa.array([rng.randrange(5) for _ in range(60)], pa.int64())
    table = table.set_column(1, "sender_key", senders)
    mixed = table.take(pa.array(rng.sample(range(60), 60)))
    halves = [mixed.slice(0, 30), mixed.slice(30)]
    packed = pa.Table.from_batches(in_slices(halves, parts=3, slice_us=70))
    assert set(packed["slice"].to_pylist()) == set(range(14, 23))
    seen: dict[int, int] = {}
    found = []
    for part in range(3):
        mine = packed.filter(pc.field("part") == part).sort_by("slice")
        rows = [row for each in from_slices(mine.to_batches()) for row in each.to_pylist()]
        assert [row["leased_us"] for row in rows] == sorted(row["leased_us"] for row in rows)
        assert all(seen.setdefault(row["sender_key"], part) == part for row in rows)
        found += rows
    assert sorted(row["send_seq"] for row in found) == list(range(1, 61))


def test_a_stream_that_counts_twice_is_ordered_by_its_commits() -> None:
    seqs = [1, 1, 2, 2, 3]
    sent_us = [10, 30, 20, 20, NEVER]
    found = counted(messages(seqs, sent_us), 1_000)
    assert found["renumbered", 0] == 1
    assert found["ordered", 0] == 4
    assert found["out_of_order", 0] == 1
    assert found["displacement", 0] == displacement([10, 30, 20, 20]) == 4


def test_sums_that_outgrow_their_table_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovemq.pipeline.metrics.accounts.TABLE_ROWS_MAX", 3)
    monkeypatch.setattr("dovemq.pipeline.metrics.accounts.TAKEN_UP_ROWS", 7)
    seqs = list(range(1, 51))
    found = counted(messages(seqs, seqs), 7)
    assert sum(count for (measure, _), count in found.items() if measure == "received") == 50
