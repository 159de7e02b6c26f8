"""Random traces with everything that a trace may contain, as rows and as Parquet files."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovemq.telemetry.columns import SCHEMA

Row = dict[str, Any]

START_US = 1_700_000_000_000_000
FRONT_ENDS = ("front-b", "front-a", "front-c")


def write(rows: Sequence[Row], path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), path, row_group_size=100)
    return path


class Maker:
    """The rows of one run. Times are multiples of `grain_us`, so that they are often equal."""

    def __init__(self, seed: int, seconds: int = 5, grain_us: int = 20_000) -> None:
        self._rng = random.Random(seed)
        self._span = seconds * 1_000_000 // grain_us
        self._grain_us = grain_us
        self._receive_seqs = dict.fromkeys(FRONT_ENDS, 0)
        self.rows: list[Row] = []

    def event(self, event: str, queue: str, at_us: int, **columns: Any) -> Row:
        row = {"ts_us": at_us, "event": event, "queue": queue, "partition": 0, **columns}
        row.setdefault("front_end", self._rng.choice(FRONT_ENDS))
        row.setdefault("client", f"client-{self._rng.randrange(3)}")
        if event in ("sent", "leased", "missed", "settled"):
            row.setdefault("ot_us", self._answered_us(at_us))
            row.setdefault("latency_us", self._latency_us())
        if event == "sent":
            row.setdefault("at_us", at_us)
        if event == "leased":
            row.setdefault("it_us", at_us)
            self._receive_seqs[row["front_end"]] += 1
            row.setdefault("receive_seq", self._receive_seqs[row["front_end"]])
        self.rows.append(row)
        return row

    def queue(self, queue: str, messages: int, senders: int, *, renumbered: bool = False) -> None:
        rng = self._rng
        numbers = dict.fromkeys(range(senders), 0)
        for place in range(messages):
            sender = rng.randrange(senders)
            numbers[sender] += 1
            seq = rng.randrange(1, 1 + messages // 3) if renumbered else numbers[sender]
            self._message(queue, f"id-{place}", f"sender-{sender}", seq)
        for _ in range(messages // 10):
            self.event("missed", queue, self._moment_us())
            self.event("settled", queue, self._moment_us(), send_seq=1)

    def _message(self, queue: str, message_id: str, sender: str, seq: int) -> None:
        rng = self._rng
        known = {"message_id": message_id, "send_seq": seq}
        checksum = rng.randrange(1 << 32)
        at_us = self._moment_us()
        if rng.random() < 0.9:
            self.event("sent", queue, at_us, **known, sender=sender, body_crc32=checksum)
        leases = rng.choices((0, 1, 2, 3), (1, 7, 1, 1))[0]
        for _ in range(leases):
            at_us += rng.choice((0, 1, 1, 5, 40)) * self._grain_us
            seen = checksum if rng.random() < 0.9 else rng.randrange(1 << 32)
            self.event("leased", queue, at_us, **known, sender=sender, body_crc32=seen)
        if rng.random() < 0.8:
            leaving = rng.choices(("settled", "expired", "redriven"), (8, 1, 1))[0]
            self.event(leaving, queue, at_us + rng.randrange(3) * self._grain_us, **known)

    def _moment_us(self) -> int:
        return START_US + self._rng.randrange(self._span) * self._grain_us

    def _answered_us(self, at_us: int) -> int | None:
        return None if self._rng.random() < 0.1 else at_us + self._rng.randrange(2)

    def _latency_us(self) -> int | None:
        if self._rng.random() < 0.1:
            return None
        return int(10 ** (self._rng.random() * 7))


def made(seed: int, *, queues: int = 4, messages: int = 60) -> list[Row]:
    """Every second queue is renumbered; rows are unsorted."""
    maker = Maker(seed)
    for place in range(queues):
        maker.queue(f"account/q{place}", messages, 1 + place % 3, renumbered=place % 2 == 1)
    random.Random(seed).shuffle(maker.rows)
    return maker.rows


def received(queue: str, numbers: Sequence[int], sent: int | None = None) -> list[Row]:
    """A stream that is sent in order, up to `sent`, and received in the order of `numbers`."""
    maker = Maker(0)
    for seq in range(1, 1 + (sent or max(numbers))):
        maker.event("sent", queue, START_US + seq, **_numbered(seq))
    for place, seq in enumerate(numbers):
        maker.event("leased", queue, START_US + 1_000 + place, **_numbered(seq))
    return maker.rows


def _numbered(seq: int) -> Row:
    return {"message_id": str(seq), "send_seq": seq, "sender": "s", "body_crc32": 7}


def bad(rows: Sequence[Row]) -> dict[str, Row]:
    """Returns an invalid row for each reason."""
    sent = next(row for row in rows if row["event"] == "sent")
    leased = next(row for row in rows if row["event"] == "leased")
    missed = next(row for row in rows if row["event"] == "missed")
    return {
        "event is null": {**sent, "event": None},
        "queue is null": {**leased, "queue": None},
        "front_end is null": {**missed, "front_end": None},
        "ts_us is null": {**missed, "ts_us": None},
        "event is unknown": {**sent, "event": "dreamt"},
        "queue is empty": {**sent, "queue": ""},
        "message_id is null": {**leased, "message_id": None},
        "sender is null": {**sent, "sender": None},
        "send_seq is null": {**leased, "send_seq": None},
        "at_us is null": {**sent, "at_us": None},
        "it_us is null": {**leased, "it_us": None},
        "receive_seq is null": {**leased, "receive_seq": None},
        "ts_us is out of range": {**missed, "ts_us": 1_700_000_000},
        "at_us is out of range": {**sent, "at_us": -5},
        "it_us is out of range": {**leased, "it_us": 1 << 62},
        "ot_us is out of range": {**leased, "ot_us": 0},
        "latency_us is below zero": {**missed, "latency_us": -1},
        "send_seq is below 1": {**sent, "send_seq": 0},
    }


def rewrite(
    path: Path, target: Path, *, drop: str | None = None, to_text: str | None = None
) -> None:
    """Writes the same rows without a column, or with another type."""
    table = pq.read_table(path)
    if drop is not None:
        table = table.drop_columns(drop)
    if to_text is not None:
        place = table.schema.get_field_index(to_text)
        table = table.set_column(place, to_text, table[to_text].cast(pa.string()))
    pq.write_table(table, target)


def damage(path: Path) -> None:
    """Damages a page of message ids behind an intact footer."""
    metadata = pq.ParquetFile(path).metadata
    place = next(
        column
        for column in map(metadata.row_group(0).column, range(metadata.num_columns))
        if column.path_in_schema == "message_id"
    )
    contents = bytearray(path.read_bytes())
    start = place.data_page_offset
    for at in range(start + place.total_compressed_size // 2, start + place.total_compressed_size):
        contents[at] ^= 0xFF
    path.write_bytes(contents)
