"""Writes a load run as a lifecycle trace, from the journals of its clients.

Events that only the service knows are missing: misses and expiry. `sender` is the number of the
sender, so that `send_seq` numbers its messages one by one; `client` is the sender or receiver.
Times are the client's, and `latency_us` is its response time. A send or settle without an answer
has no row.
"""

from collections.abc import Sequence
from typing import Any, Final

from dovemq.load.journals import RequestOutcome
from dovemq.load.reading import Rows, Source
from dovemq.telemetry.columns import TraceOrigin
from dovemq.telemetry.files import RotationLimits, TraceFiles
from dovemq.telemetry.folders import Folder
from dovemq.telemetry.lanes import NEVER, Chunk, Lane, entry_of
from dovemq.telemetry.schema import TraceEvent

FILE_ROWS_MAX: Final = 2_000_000
BLOCK_ROWS: Final = 20_000
_NO_BOUND: Final = 1 << 62
"""The trace of a run has no size limit."""
_US_NS: Final = 1_000


def write_trace(
    journals: Sequence[Source], queues: Sequence[str], run: str, began_us: int, folder: Folder
) -> int:
    """Writes the trace and returns the number of rows. `queues` are the names of the queues."""
    rotation = RotationLimits(FILE_ROWS_MAX, float("inf"), _NO_BOUND)
    files = TraceFiles(folder, TraceOrigin(run, 0), rotation, lambda: began_us * _US_NS)
    rows_total, leased = 0, 0
    for journal in journals:
        for rows in journal.blocks(BLOCK_ROWS):
            chunk = Chunk()
            if journal.heading.kind == "sender":
                _add_sent(chunk.lanes[TraceEvent.SENT], rows, queues)
            else:
                _add_leased(chunk.lanes[TraceEvent.LEASED], rows, queues, leased)
                _add_settled(chunk.lanes[TraceEvent.SETTLED], rows, queues)
                leased += len(rows)
            rows_total += chunk.rows
            files.add(chunk)
            if files.due:
                files.finish()
    files.finish()
    return rows_total


def _add_sent(lane: Lane, rows: Rows, queues: Sequence[str]) -> None:
    for row in _values(rows[rows["outcome"] == RequestOutcome.ACKNOWLEDGED]):
        _add_message(lane, row)
        sender = row["sender"]
        _end_row(
            lane,
            queues[row["queue"]],
            row["answered_us"],
            f"sender {sender}",
            row["sent_us"],
            str(sender),
        )


def _add_leased(lane: Lane, rows: Rows, queues: Sequence[str], leased: int) -> None:
    for number, row in enumerate(_values(rows), 1 + leased):
        _add_message(lane, row)
        lane.counts.append(row["receive_count"])
        _end_row(
            lane,
            queues[row["queue"]],
            row["received_us"],
            f"receiver {row['receiver']}",
            row["asked_us"],
            str(row["sender"]),
            number,
        )


def _add_settled(lane: Lane, rows: Rows, queues: Sequence[str]) -> None:
    for row in _values(rows[rows["outcome"] == RequestOutcome.ACKNOWLEDGED]):
        _add_message(lane, row)
        lane.counts.append(row["receive_count"])
        # The journal replaces the time of the settle request by that of its answer.
        _end_row(lane, queues[row["queue"]], row["settled_us"], f"receiver {row['receiver']}")


def _values(rows: Rows) -> list[dict[str, Any]]:
    names = rows.dtype.names or ()
    return [dict(zip(names, values, strict=True)) for values in rows.tolist()]


def _add_message(lane: Lane, row: dict[str, Any]) -> None:
    message_id = row["message_id"].decode()
    lane.entries += entry_of(message_id, row["send_seq"], row["bytes"], row["body_crc32"])


def _end_row(
    lane: Lane,
    queue: str,
    at_us: int,
    client: str,
    asked_us: int | None = None,
    sender: str | None = None,
    receives: int = 0,
) -> None:
    at_ns = at_us * _US_NS
    asked_ns = NEVER if asked_us is None else asked_us * _US_NS
    lane.end_group(1, queue, 0, at_ns, client, asked_ns, at_ns, sender, receives)
