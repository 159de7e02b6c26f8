"""The histories of the first messages that violate the rules.

Only the keys of these messages are remembered. At the end the journals are read once more for their
rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovemq.load.journals import RequestOutcome
from dovemq.load.judgement import Culprit, Violation
from dovemq.load.reading import Rows, Source


class MessageKey(NamedTuple):
    queue: int
    sender: int
    send_seq: int


class Histories:
    """Remembers up to `count_max` messages for each violation, so that rare ones are included."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._faults: dict[MessageKey, set[Violation]] = {}
        self._counts: Counter[Violation] = Counter()

    def add(self, key: MessageKey, faults: Iterable[Violation]) -> None:
        for fault in faults:
            if self._counts[fault] < self._count_max:
                self._counts[fault] += 1
                self._faults.setdefault(key, set()).add(fault)

    def culprits(
        self, journals: Sequence[Source], queue_name: Callable[[int], str]
    ) -> tuple[Culprit, ...]:
        events: dict[MessageKey, list[tuple[int, str]]] = {key: [] for key in self._faults}
        for journal in journals if self._faults else ():
            events_of = _send_events if journal.heading.kind == "sender" else _receive_events
            for rows in journal.blocks():
                for row in _chosen(rows, self._faults.keys()):
                    key = MessageKey(*(int(row[name]) for name in MessageKey._fields))
                    if key in events:
                        events[key].extend(events_of(row))
        return tuple(
            Culprit(
                tuple(fault for fault in Violation if fault in self._faults[key]),
                queue_name(key.queue),
                key.sender,
                key.send_seq,
                _lines(events[key]),
            )
            for key in sorted(self._faults)
        )


def _chosen(rows: Rows, keys: Iterable[MessageKey]) -> Rows:
    """Returns the rows that may belong to these messages."""
    columns = [list(column) for column in zip(*keys, strict=True)]
    mask = np.ones(len(rows), np.bool_)
    for name, values in zip(MessageKey._fields, columns, strict=True):
        mask &= np.isin(rows[name], values)
    return rows[mask]


def _send_events(row: Any) -> list[tuple[int, str]]:
    size, checksum = int(row["bytes"]), int(row["body_crc32"])
    events = [(int(row["sent_us"]), f"sent {size} bytes, checksum {checksum:08x}")]
    outcome = RequestOutcome(int(row["outcome"]))
    if outcome is RequestOutcome.ACKNOWLEDGED:
        events.append((int(row["answered_us"]), f"acknowledged as {_message_id(row)}"))
    elif outcome is RequestOutcome.REFUSED:
        events.append((int(row["answered_us"]), "refused"))
    else:
        events.append((int(row["sent_us"]), "no answer to this send"))
    return events


def _receive_events(row: Any) -> list[tuple[int, str]]:
    who = f"receiver {row['receiver']}"
    asked_us, received_us = int(row["asked_us"]), int(row["received_us"])
    lease_us = int(row["lease_until_us"]) - asked_us
    events = [
        (asked_us, f"{who} asks"),
        (
            received_us,
            f"{who} receives {_message_id(row)}, receive {row['receive_count']}, leased for "
            f"{lease_us / 1e6:.3f} s, checksum {int(row['body_crc32']):08x}",
        ),
    ]
    outcome = RequestOutcome(int(row["outcome"]))
    if outcome is RequestOutcome.UNKNOWN:
        events.append((int(row["settled_us"]), f"{who} settles, no answer"))
    elif outcome is not RequestOutcome.NONE:
        events.append((int(row["settled_us"]), f"{who}: settle {outcome.name.lower()}"))
    return events


def _message_id(row: Any) -> str:
    return bytes(row["message_id"]).decode(errors="replace")


def _lines(events: list[tuple[int, str]]) -> tuple[str, ...]:
    """Formats the events in order of time, relative to the first."""
    ordered = sorted(events, key=lambda event: event[0])
    return tuple(f"{(at_us - ordered[0][0]) / 1e6:+.6f} s  {what}" for at_us, what in ordered)
