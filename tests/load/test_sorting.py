"""Sorting and joining of more rows than may be held."""

import tempfile
from typing import IO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.load.sorting import Cursor, Sorter, joined

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
    blocks = list(sorter_of(rows, rows_max).blocks())
    assert [tuple(row) for block in blocks for row in block.tolist()] == sorted(rows)


@settings(deadline=None)
@given(lefts=pairs, rights=pairs, rows_max=st.integers(1, 60))
def test_joined_parts_hold_all_rows_of_a_key(
    lefts: list[tuple[int, int]], rights: list[tuple[int, int]], rows_max: int
) -> None:
    cursors = (
        Cursor(sorter_of(rows, rows_max).blocks(), PAIR, ["major"]) for rows in (lefts, rights)
    )
    found: tuple[list[tuple[int, int]], ...] = ([], [])
    ended: set[int] = set()
    for parts in joined(*cursors):
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
    assert [row["major"] for block in sorter.blocks() for row in block] == [1, 2]


def test_file_is_closed_when_all_rows_were_read() -> None:
    with tempfile.TemporaryFile() as file:
        sorter = Sorter(PAIR, KEYS, 4, lambda: file)
        sorter.add(np.array([(n, 0) for n in range(20, 0, -1)], PAIR))
        assert sum(map(len, sorter.blocks())) == 20
        assert file.closed
