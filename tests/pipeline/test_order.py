"""The order of streams in slices is exact, however a stream is divided."""

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from dovemq.models.consistency import clean_cuts, order_of, ranks
from dovemq.pipeline.metrics.order import order
from dovemq.pipeline.metrics.order_kernel import runs
from tests.pipeline.plain_metrics import displacement, longest_in_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND_US = 1_000_000
FAR = 1 << 62


def shuffled(count: int, reach: int, seed: int) -> list[int]:
    """Returns numbers from 1 on, each taken at random among the first `reach` that are left."""
    rng, left, found = random.Random(seed), list(range(1, count + 1)), []
    while left:
        found.append(left.pop(rng.randrange(min(reach, len(left)))))
    return found


@pytest.mark.parametrize("reach", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_order_adds_up_over_clean_cuts(reach: int, seed: int) -> None:
    values = np.array(shuffled(200, reach, seed))
    cuts = clean_cuts(values, -FAR, FAR)
    assert cuts == (0, 200), "the ends of a whole sequence are clean"
    places = [place for place in range(1, 200) if max(values[:place]) < min(values[place:])]
    inner = clean_cuts(values[50:150], max(values[:50]), min(values[150:]))
    expected = [place - 50 for place in places if 50 <= place <= 150]
    assert inner == ((expected[0], expected[-1]) if expected else None)
    whole, pieces = order_of(values), [order_of(part) for part in np.split(values, places)]
    assert sum(piece.out_of_order for piece in pieces) == whole.out_of_order
    assert sum(piece.displacement for piece in pieces) == whole.displacement


def test_equal_values_may_be_on_both_sides_of_a_cut_where_ties_are_in_order() -> None:
    values = np.array([1, 2, 2, 3])
    assert clean_cuts(values[:2], -FAR, 2) == (0, 1)
    assert clean_cuts(values[:2], -FAR, 2, ties=True) == (0, 2)


def test_runs_are_found_across_batches() -> None:
    keys = ["a", "a", "b", "b", "b", "c", "a"]
    table = pa.table({"key": keys, "at": list(range(len(keys)))})
    for rows in (1, 2, 3, 100):
        batches = [*table.to_batches(max_chunksize=rows), table.slice(0, 0).to_batches()]
        found = [part["at"].to_pylist() for part in runs(filter(None, batches), ("key",))]
        assert found == [[0, 1], [2, 3, 4], [5], [6]]


def streams() -> Iterator[tuple[str, list[int], list[int | None]]]:
    """Yields names, numbers in the order of receiving, and times of the commits."""
    for reach in (1, 4, 400):
        numbers = shuffled(400, reach, reach)
        yield f"reach {reach}", numbers, [10 * number for number in numbers]
    twice = [1 + number // 2 for number in shuffled(400, 6, 9)]
    rng = random.Random(3)
    yield "renumbered", twice, [None if rng.random() < 0.1 else 7 * (n // 3) for n in twice]
    # The two messages with one number are in different slices and windows.
    far = [*shuffled(300, 3, 5), 5]
    yield "renumbered far apart", far, [10 * at for at in range(len(far))]
    yield "one message", [8], [80]


def rows_of(stream: tuple[str, list[int], list[int | None]]) -> Iterator[dict[str, Any]]:
    """A hundred messages are received per second, ten of them in the same microsecond."""
    name, numbers, sent = stream
    for place, (number, sent_us) in enumerate(zip(numbers, sent, strict=True)):
        yield {
            "queue": name,
            "sender": "s",
            "send_seq": number,
            "sent_us": sent_us,
            "leased_us": 5 * SECOND_US + place // 10 * 100_000,
            "front_end": "f",
            "receive_seq": place,
        }


def expected(numbers: Sequence[int], sent: Sequence[int | None], renumbered: bool) -> Any:
    values = list(numbers)
    if renumbered:
        values = [time for time in sent if time is not None]
    moved = len(values) - longest_in_order(values)
    return len(values), moved, displacement(values)


@pytest.mark.parametrize("slice_rows", [1, 70, 100_000])
def test_spark_measures_streams_and_windows_exactly_in_slices_of_any_size(
    spark: "SparkSession", slice_rows: int
) -> None:
    every = list(streams())
    rows = [row for stream in every for row in rows_of(stream)]
    random.Random(1).shuffle(rows)
    schema = (
        "queue string, sender string, send_seq bigint, sent_us bigint, leased_us bigint, "
        "front_end string, receive_seq bigint"
    )
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    found = {
        (row["queue"], row["window"]): row
        for row in order(frame, 2 * SECOND_US, slice_rows).collect()
    }
    wanted: dict[tuple[str, int | None], tuple[Any, ...]] = {}
    for stream in every:
        name, numbers, sent = stream
        renumbered = len(set(numbers)) < len(numbers)
        wanted[name, None] = (renumbered, *expected(numbers, sent, renumbered))
        windows: dict[int, list[int]] = {}
        for place, row in enumerate(rows_of(stream)):
            windows.setdefault(row["leased_us"] // (2 * SECOND_US), []).append(place)
        for window, places in windows.items():
            own = [numbers[place] for place in places], [sent[place] for place in places]
            wanted[name, window] = (renumbered, *expected(*own, renumbered))
    names = ("renumbered", "ordered", "out_of_order", "displacement")
    assert {key: tuple(row[name] for name in names) for key, row in found.items()} == wanted


def test_ranks_keep_equal_values_in_their_order() -> None:
    assert ranks([5, 1, 5, 3]).tolist() == [2, 0, 3, 1]
