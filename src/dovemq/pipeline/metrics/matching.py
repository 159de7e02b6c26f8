"""The rows of each message joined to one row: when it was sent, first leased, and when it left.

Takes a bucket: all rows of some messages, in any order, small enough for memory. Whoever calls has
put rows into buckets by `id_low`. A message is (queue, message id), told by a hash of 128 bits.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from dovemq.models.consistency.columns import Flags, Integers

SENT: Final = 0
LEASED: Final = 1
LEFT: Final = 2
"""Settled, expired or redriven."""
NEVER: Final = -1
"""Instead of a time, a number or a checksum that is not there."""
BUCKET_ROWS: Final = 1_000_000
"""What is aimed at: a bucket takes some 200 bytes of memory per row."""

ROWS: Final = pa.schema(
    [
        ("step", pa.int8()),
        ("queue_key", pa.int64()),
        ("id_high", pa.int64()),
        ("id_low", pa.int64()),
        ("moment_us", pa.int64()),
        ("sender_key", pa.int64()),
        ("send_seq", pa.int64()),
        ("front_end_key", pa.int64()),
        ("receive_seq", pa.int64()),
        ("body_crc32", pa.int64()),
    ]
)
MESSAGES: Final = pa.schema(
    [
        ("queue_key", pa.int64()),
        ("sender_key", pa.int64()),
        ("send_seq", pa.int64()),
        ("sent_us", pa.int64()),
        ("leased_us", pa.int64()),
        ("front_end", pa.int32()),
        ("receive_seq", pa.int64()),
        ("left_us", pa.int64()),
        ("corrupted", pa.bool_()),
    ]
)
"""`front_end` is the place of its name among all, so that ties are broken alike everywhere."""
_LATE: Final = np.iinfo(np.int64).max


class _Bucket(NamedTuple):
    """Columns in the order of messages, and where each message begins."""

    columns: dict[str, Any]
    starts: Integers
    groups: Integers

    def least(self, values: Integers, marked: Flags) -> Integers:
        """Of the marked rows of each message; `NEVER` without any."""
        found = np.minimum.reduceat(np.where(marked, values, _LATE), self.starts)
        return np.where(found == _LATE, NEVER, found)


def matched(batches: Iterable[Any], front_end_keys: Sequence[int]) -> Iterator[Any]:
    """Of one bucket."""
    rows = [batch for batch in batches if batch.num_rows]
    if rows:
        yield match(pa.Table.from_batches(rows), front_end_keys)


def match(table: Any, front_end_keys: Sequence[int]) -> Any:
    """`front_end_keys` in the order of the front ends' names."""
    bucket = _grouped({name: table[name].to_numpy() for name in ROWS.names})
    columns, starts = bucket.columns, bucket.starts
    step = columns["step"]
    leased = step == LEASED
    leased_us = bucket.least(columns["moment_us"], leased)
    firsts = _first_leases(bucket, leased_us, _places(columns["front_end_key"], front_end_keys))
    known = np.where(firsts == NEVER, _sends(bucket), firsts)
    rows = np.where(known == NEVER, starts, known)
    found = {
        "queue_key": columns["queue_key"][starts],
        "sender_key": np.where(known == NEVER, NEVER, columns["sender_key"][rows]),
        "send_seq": np.where(known == NEVER, NEVER, columns["send_seq"][rows]),
        "sent_us": bucket.least(columns["moment_us"], step == SENT),
        "leased_us": leased_us,
        "front_end": _places(columns["front_end_key"][rows], front_end_keys),
        "receive_seq": columns["receive_seq"][rows],
        "left_us": bucket.least(columns["moment_us"], step == LEFT),
        "corrupted": _corrupted(bucket, leased),
    }
    return pa.table({name: found[name] for name in MESSAGES.names}, MESSAGES)


def _grouped(columns: dict[str, Any]) -> _Bucket:
    order = np.argsort(columns["id_high"])
    high, low = columns["id_high"][order], columns["id_low"][order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = high[1:] != high[:-1]
    if np.any(~begins[1:] & (low[1:] != low[:-1])):
        # Two messages agree in one half of their hashes: only then both halves are sorted.
        order = np.lexsort((columns["id_low"], columns["id_high"]))
        high, low = columns["id_high"][order], columns["id_low"][order]
        begins[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ordered = {name: column[order] for name, column in columns.items()}
    return _Bucket(ordered, np.flatnonzero(begins), np.cumsum(begins) - 1)


def _places(keys: Integers, front_end_keys: Sequence[int]) -> Integers:
    """Of each key in the list; all of them are in it."""
    known = np.array(front_end_keys, np.int64)
    if len(known) == 1:
        return np.zeros(len(keys), np.int64)
    order = np.argsort(known)
    return order[np.searchsorted(known, keys, sorter=order) % len(known)]


def _first_leases(bucket: _Bucket, leased_us: Integers, places: Integers) -> Integers:
    """The row of the first lease of each message, by time, front end and its own count."""
    columns = bucket.columns
    is_first = columns["step"] == LEASED
    is_first &= columns["moment_us"] == leased_us[bucket.groups]
    rows = np.flatnonzero(is_first)
    groups = bucket.groups[rows]
    if len(rows) > 1 and np.any(groups[1:] == groups[:-1]):
        order = np.lexsort((columns["receive_seq"][rows], places[rows], groups))
        rows, groups = rows[order], groups[order]
        kept = np.ones(len(rows), np.bool_)
        kept[1:] = groups[1:] != groups[:-1]
        rows, groups = rows[kept], groups[kept]
    firsts = np.full(len(bucket.starts), NEVER)
    firsts[groups] = rows
    return firsts


def _sends(bucket: _Bucket) -> Integers:
    """The row of a send of each message; all of them tell the same of it."""
    rows = np.flatnonzero(bucket.columns["step"] == SENT)
    sends = np.full(len(bucket.starts), NEVER)
    sends[bucket.groups[rows]] = rows
    return sends


def _corrupted(bucket: _Bucket, leased: Flags) -> Flags:
    """Sent and leased, and never with the checksum that it was sent with."""
    checksums = bucket.columns["body_crc32"]
    sends = _sends(bucket)
    is_sent = sends != NEVER
    wanted = np.where(is_sent, checksums[sends], NEVER)[bucket.groups]
    intact = leased & ((checksums == wanted) | (checksums == NEVER) | (wanted == NEVER))
    came = np.logical_or.reduceat(leased, bucket.starts)
    found: Flags = is_sent & came & ~np.logical_or.reduceat(intact, bucket.starts)
    return found
