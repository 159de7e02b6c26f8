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
from dovemq.telemetry.lanes import NEVER, Chunk, entry_of
from dovemq.telemetry.schema import TraceEvent

FILE_ROWS_MAX: Final = 2_000_000
BLOCK_ROWS: Final = 20_000
_NO_BOUND: Final = 1 << 62
"""The trace of a run has no size limit."""
_US_NS: Final = 1_000
_COLUMNS: Final = {
    TraceEvent.SENT: ("sender", "answered_us", "sent_us"),
    TraceEvent.LEASED: ("receiver", "received_us", "asked_us"),
    # The journal replaces the time of the settle request by that of its answer.
    TraceEvent.SETTLED: ("receiver", "settled_us", None),
}
"""The columns of a journal with the client, the time of the answer and that of the request."""


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
            acknowledged = rows[rows["outcome"] == RequestOutcome.ACKNOWLEDGED]
            if journal.heading.kind == "sender":
                _add(chunk, TraceEvent.SENT, acknowledged, queues)
            else:
                _add(chunk, TraceEvent.LEASED, rows, queues, leased)
                _add(chunk, TraceEvent.SETTLED, acknowledged, queues)
                leased += len(rows)
            rows_total += chunk.rows
            files.add(chunk)
            if files.due:
                files.finish()
    files.finish()
    return rows_total


def _add(
    chunk: Chunk, event: TraceEvent, rows: Rows, queues: Sequence[str], leased: int = 0
) -> None:
    """Adds one row of the trace for each row of a journal; `leased` receives came before."""
    lane = chunk.lanes[event]
    client, at, asked = _COLUMNS[event]
    for number, row in enumerate(_values(rows), 1 + leased):
        message_id = row["message_id"].decode()
        lane.entries += entry_of(message_id, row["send_seq"], row["bytes"], row["body_crc32"])
        if event is not TraceEvent.SENT:
            lane.counts.append(row["receive_count"])
        at_ns = row[at] * _US_NS
        lane.end_group(
            1,
            queues[row["queue"]],
            0,
            at_ns,
            f"{client} {row[client]}",
            row[asked] * _US_NS if asked else NEVER,
            at_ns,
            str(row["sender"]) if asked else None,
            number if event is TraceEvent.LEASED else 0,
        )


def _values(rows: Rows) -> list[dict[str, Any]]:
    names = rows.dtype.names or ()
    return [dict(zip(names, values, strict=True)) for values in rows.tolist()]
