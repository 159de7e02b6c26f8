"""Queues that were watched, as rows: what tests of the monitor tell and expect."""

import random
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovemq.models.consistency import Consistency
from dovemq.pipeline.monitor.columns import LEASED, SENT, Rows
from tests.models import oracle

SECOND_US = 1_000_000


class Row(NamedTuple):
    at: int
    kind: int
    message: int
    seq: int
    sender: int = 0
    crc: int = 7
    front_end: str = "a"
    receive_seq: int = 0


def sent(at: int, seq: int, **more: Any) -> Row:
    more.setdefault("message", seq)
    return Row(at, SENT, seq=seq, **more)


def leased(at: int, seq: int, **more: Any) -> Row:
    more.setdefault("message", seq)
    return Row(at, LEASED, seq=seq, **{"receive_seq": at, **more})


def columns(rows: Iterable[Row]) -> Rows:
    found = [list(column) for column in zip(*rows, strict=True)]
    if not found:
        return Rows.none()
    at, kind, message, seq, sender, crc, front_end, receive_seq = found
    return Rows(
        moment_us=np.array(at, np.int64),
        kind=np.array(kind, np.int64),
        message=np.array(message, np.int64),
        stream=np.array(sender, np.int64),
        seq=np.array(seq, np.int64),
        crc=np.array(crc, np.int64),
        front_end=np.array(front_end, np.str_),
        receive_seq=np.array(receive_seq, np.int64),
    )


def expected(rows: Sequence[Row]) -> Consistency:
    """By the definitions, for a trace in which nothing is late and no message is silent long."""
    total = Consistency()
    sums = {row.message: row.crc for row in rows if row.kind == SENT}
    leases = sorted(
        (row for row in rows if row.kind == LEASED),
        key=lambda row: (row.at, row.front_end, row.receive_seq),
    )
    for sender in {row.sender for row in rows}:
        total += oracle.consistency(
            [row.seq for row in rows if row.kind == SENT and row.sender == sender],
            [
                (row.seq, row.crc == sums.get(row.message, row.crc))
                for row in leases
                if row.sender == sender
            ],
        )
    return total


def history(seed: int, messages: int = 60, senders: int = 3) -> list[Row]:
    """A queue that loses, repeats, alters and reorders; moments are unique but for some ties."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for sender in range(senders):
        for seq in range(1, messages // senders + 1):
            at = seq * SECOND_US // 4 + rng.randrange(SECOND_US)
            message = zlib.crc32(f"{sender}/{seq}".encode())
            rows.append(Row(at, SENT, message, seq, sender, crc=seq))
            for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 2, 3))):
                later = at + rng.randrange(3 * SECOND_US)
                crc = seq if rng.random() < 0.9 else 0
                front_end = rng.choice("ab")
                rows.append(Row(later, LEASED, message, seq, sender, crc, front_end, len(rows)))
    return rows
