"""Sorting and joining of more rows than memory may hold."""

import tempfile
from typing import IO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.load.sorting import Sorter, in_ranges

PAIR = np.dtype([("major", "<i8"), ("minor", "<i8")])
KEYS = ("major", "minor")
pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3)), max_size=400)


def sorter_of(rows: list[tuple[int, int]], rows_max: int) -> Sorter:
    sorter = Sorter(PAIR, KEYS, rows_max, tempfile.TemporaryFile)
    for start in range(0, len(rows), 7):
        sorter.add(np.array(rows[start : start + 7], PAIR))
    return sorter


@settings(deadline=None)
@given(rows=pairs, rows_max=st.integers(1, 300))
def test_rows_come_out_in_order_however_few_may_be_held(
    rows: list[tuple[int, int]], rows_max: int
) -> None:
    ranges = list(in_ranges([sorter_of(rows, rows_max)], KEYS, rows_max))
    assert [tuple(row) for (part,) in ranges for row in part.tolist()] == sorted(rows)


@settings(deadline=None)
@given(order=st.permutations(range(200)), rows_max=st.integers(1, 300))
def test_range_of_unequal_keys_is_no_longer_than_allowed(order: list[int], rows_max: int) -> None:
    sorter = sorter_of([(number, 0) for number in order], rows_max)
    runs = len(order) // max(1, rows_max // 2) + 1
    longest = max(len(part) for (part,) in in_ranges([sorter], KEYS, rows_max))
    assert longest <= max(rows_max, 2 * runs)


@settings(deadline=None)
@given(lefts=pairs, rights=pairs, rows_max=st.integers(1, 60))
def test_joined_parts_hold_all_rows_of_a_key(
    lefts: list[tuple[int, int]], rights: list[tuple[int, int]], rows_max: int
) -> None:
    sorters = [sorter_of(rows, rows_max) for rows in (lefts, rights)]
    found: tuple[list[tuple[int, int]], ...] = ([], [])
    ended: set[int] = set()
    for parts in in_ranges(sorters, ["major"], rows_max):
        keys = {int(key) for part in parts for key in part["major"]}
        assert not keys & ended
        ended |= keys
        for rows, part in zip(found, parts, strict=True):
            rows.extend(part.tolist())
    assert found == (sorted(lefts), sorted(rights))


def test_no_file_is_opened_while_memory_is_enough() -> None:
    def open_file() -> IO[bytes]:
        raise AssertionError("memory was enough")

    sorter = Sorter(PAIR, KEYS, 100, open_file)
    sorter.add(np.array([(2, 0), (1, 0)], PAIR))
    assert [row["major"] for (part,) in in_ranges([sorter], KEYS, 100) for row in part] == [1, 2]


def test_file_is_closed_when_all_rows_were_read() -> None:
    with tempfile.TemporaryFile() as file:
        sorter = Sorter(PAIR, KEYS, 4, lambda: file)
        sorter.add(np.array([(n, 0) for n in range(20, 0, -1)], PAIR))
        assert sum(len(part) for (part,) in in_ranges([sorter], KEYS, 4)) == 20
        assert file.closed
