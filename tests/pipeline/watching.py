"""Rows of queues for tests of the monitor, and the expected figures."""

import os
import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovemq.models.consistency import Consistency
from dovemq.pipeline.monitor.columns import LEASED, SENT, MonitoredRows
from dovemq.telemetry.columns import SCHEMA
from tests.models import oracle

SECOND_US = 1_000_000
START_US = 1_700_000_000 * SECOND_US


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


def columns(rows: Iterable[Row]) -> MonitoredRows:
    found = [list(column) for column in zip(*rows, strict=True)]
    if not found:
        return MonitoredRows.none()
    at, kind, message, seq, sender, crc, front_end, receive_seq = found
    return MonitoredRows(
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
    """Computes by the definitions, for a trace without late rows and long silences."""
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


def found(figures: Mapping[str, Any]) -> Consistency:
    """Turns a row of figures into a consistency; open messages count as absent."""
    return Consistency(
        messages=figures["messages"],
        duplicates=figures["duplicates"],
        absent=figures["absent"] + figures["open"],
        corrupted=figures["corrupted"],
        ordered=figures["ordered"],
        out_of_order=figures["out_of_order"],
        displacement=figures["displacement"],
    )


def history(seed: int, messages: int = 60, senders: int = 3) -> list[Row]:
    """A queue that loses, repeats, alters and reorders; times are unique except for some ties."""
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


def write_trace(folder: Path, number: int, rows: Mapping[str, Sequence[Row]]) -> None:
    """Writes one file of the trace, complete when it gets its name; `rows` are by queue."""
    found = [
        {
            "ts_us": START_US + row.at,
            "event": ("sent", "leased")[row.kind],
            "queue": queue,
            "partition": 0,
            "message_id": str(row.message),
            "sender": str(row.sender),
            "send_seq": row.seq,
            "receive_seq": row.receive_seq if row.kind == LEASED else None,
            "front_end": row.front_end,
            "body_crc32": row.crc,
            "at_us": START_US + row.at if row.kind == SENT else None,
            "it_us": START_US + row.at if row.kind == LEASED else None,
        }
        for queue, listed in rows.items()
        for row in listed
    ]
    folder.mkdir(exist_ok=True)
    part = folder / f"{number}.partial"
    pq.write_table(pa.Table.from_pylist(found, SCHEMA), part)
    # Spark orders files by their age, to the second at worst.
    os.utime(part, (number, number))
    part.rename(folder / f"trace-{number:04d}.parquet")


def write_traces(
    folder: Path, histories: Mapping[str, Sequence[Row]], files: Sequence[int]
) -> None:
    """Divides histories by time into ten files, and writes some of them."""
    span = 1 + max(row.at for rows in histories.values() for row in rows) // 10
    for number in files:
        chosen = {
            queue: [row for row in rows if row.at // span == number]
            for queue, rows in histories.items()
        }
        write_trace(folder, number, chosen)
