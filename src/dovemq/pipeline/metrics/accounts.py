"""Messages to figures: order of each stream, counts and distributions of times.

Takes messages in the order in which they were first leased, batch by batch; those that never were
come before all others. A *stream* is what one sender sent to one queue. What is held between
batches: 8 bytes per message of each stream, what the tallies of order hold, and a table of times.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dovemq.models.consistency import Consistency, OrderTally, order_of
from dovemq.models.consistency.columns import Integers
from dovemq.pipeline.metrics.digits import shortened
from dovemq.pipeline.metrics.matching import MESSAGES, NEVER

ACCOUNTS: Final = pa.schema(
    [
        ("queue_key", pa.int64()),
        ("window", pa.int64()),
        ("measure", pa.string()),
        ("value", pa.int64()),
        ("count", pa.int64()),
        ("total", pa.int64()),
    ]
)
"""`window` is null for what is told of a whole queue; rows with equal first four columns add up.

`value` and `total` are those of times: shortened, and the sum of the whole ones.
"""
TAKEN_UP_ROWS: Final = 200_000
"""Batches are joined to so many rows, since each costs something for each stream in it."""
TABLE_ROWS_MAX: Final = 500_000
_KEYS: Final = ACCOUNTS.names[:4]


class _Stream:
    """Order of one stream, as a whole and window by window.

    Each message comes once, so a number that comes twice says that several programs count under
    one name: the stream is then *renumbered*, and the order of its commits is taken instead.
    """

    def __init__(self) -> None:
        self._tally = OrderTally()
        self._window_tally = OrderTally()
        self._window = NEVER
        self._by_window: dict[int, Consistency] = {}
        self._sent_us: list[Integers] = []
        self._window_rows: list[tuple[int, int]] = []

    def add(self, seqs: Integers, sent_us: Integers, windows: Integers) -> None:
        self._tally.add(seqs)
        self._sent_us.append(sent_us)
        for start, end in _runs(windows):
            if windows[start] != self._window:
                self._end_window()
                self._window = int(windows[start])
            self._window_tally.add(seqs[start:end])
            self._window_rows.append((self._window, end - start))

    def _end_window(self) -> None:
        if self._window != NEVER:
            self._by_window[self._window] = self._window_tally.result()
        self._window_tally = OrderTally()

    def results(self) -> tuple[bool, Consistency, dict[int, Consistency]]:
        """Whether it was renumbered, its order, and the order within each window."""
        self._end_window()
        whole = self._tally.result()
        if not whole.duplicates:
            return False, whole, self._by_window
        sent_us, windows = (
            np.concatenate(self._sent_us),
            np.repeat(*np.transpose(self._window_rows)),
        )
        known = sent_us != NEVER
        sent_us, windows = sent_us[known], windows[known]
        # Equal times are in order either way: a stable sort gives them the order they came in.
        ranks = np.empty(len(sent_us), np.int64)
        ranks[np.argsort(sent_us, kind="stable")] = np.arange(len(sent_us))
        parts = {int(windows[a]): order_of(ranks[a:b]) for a, b in _runs(windows)}
        return True, order_of(ranks), parts


class _Sums:
    """Rows of `ACCOUNTS`, added up now and then."""

    def __init__(self) -> None:
        self._tables: list[Any] = []
        self._rows = 0

    def add(
        self, measure: str, queue_keys: Any, windows: Any, times: Integers | None = None
    ) -> None:
        rows = len(queue_keys)
        if not rows:
            return
        zeros = np.zeros(rows, np.int64)
        columns = {
            "queue_key": queue_keys,
            "window": pa.array(windows, pa.int64()),
            "measure": pa.repeat(measure, rows),
            "value": zeros if times is None else shortened(times),
            "count": np.ones(rows, np.int64),
            "total": zeros if times is None else times,
        }
        self._append(_added_up(pa.table(columns, ACCOUNTS)))

    def add_order(
        self, prefix: str, queue_key: int, window: int | None, order: Consistency
    ) -> None:
        named = {
            "ordered": order.ordered,
            "out_of_order": order.out_of_order,
            "displacement": order.displacement,
        }
        self.add_counts(queue_key, window, {prefix + name: n for name, n in named.items()})

    def add_counts(self, queue_key: int, window: int | None, counts: dict[str, int]) -> None:
        rows = [
            {
                "queue_key": queue_key,
                "window": window,
                "measure": measure,
                "value": 0,
                "count": count,
                "total": 0,
            }
            for measure, count in counts.items()
        ]
        self._append(pa.Table.from_pylist(rows, ACCOUNTS))

    def _append(self, table: Any) -> None:
        self._tables.append(table)
        self._rows += table.num_rows
        if self._rows > TABLE_ROWS_MAX:
            self._tables = [self.table()]
            # A table that does not shrink must not be added up again for every row.
            self._rows = 0

    def table(self) -> Any:
        return _added_up(pa.concat_tables([ACCOUNTS.empty_table(), *self._tables]))


def accounts(tables: Iterable[Any], window_us: int) -> Iterator[Any]:
    """Of all messages of some streams, in order of their first leases."""
    sums = _Sums()
    streams: dict[tuple[int, int], _Stream] = {}
    for table in tables:
        columns = {name: table[name].to_numpy() for name in MESSAGES.names}
        _count(columns, window_us, sums)
        _order(columns, window_us, streams)
    for (queue_key, _), stream in streams.items():
        renumbered, whole, by_window = stream.results()
        sums.add_order("", queue_key, None, whole)
        sums.add_counts(queue_key, None, {"streams": 1, "renumbered": int(renumbered)})
        for window, order in by_window.items():
            sums.add_order("window_", queue_key, window, order)
    yield from sums.table().to_batches()


def joined(batches: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= TAKEN_UP_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _count(columns: dict[str, Any], window_us: int, sums: _Sums) -> None:
    """A message counts in the window in which it was sent, a receive in that of the lease."""
    queues, sent, leased, left = (
        columns[name] for name in ("queue_key", "sent_us", "leased_us", "left_us")
    )
    is_sent, is_leased, has_left = sent != NEVER, leased != NEVER, left != NEVER
    sent_windows, leased_windows = sent // window_us, leased // window_us
    seen_windows = np.where(is_leased, leased, left) // window_us
    for measure, marked, windows, times in (
        ("messages", is_sent, sent_windows, None),
        ("absent", is_sent & ~is_leased, sent_windows, None),
        ("corrupted", columns["corrupted"], sent_windows, None),
        ("unsent", ~is_sent, seen_windows, None),
        ("received", is_leased, leased_windows, None),
        ("waiting", is_sent & is_leased, sent_windows, leased - sent),
        ("sojourn", is_sent & has_left, sent_windows, left - sent),
    ):
        taken = None if times is None else times[marked]
        sums.add(measure, queues[marked], windows[marked], taken)


def _order(columns: dict[str, Any], window_us: int, streams: dict[Any, _Stream]) -> None:
    rows = np.flatnonzero(columns["leased_us"] != NEVER)
    keys = columns["queue_key"][rows], columns["sender_key"][rows]
    # Stable: within a stream messages stay in the order of their leases.
    rows = rows[np.lexsort((keys[1], keys[0]))]
    queues, senders = columns["queue_key"][rows], columns["sender_key"][rows]
    windows = columns["leased_us"][rows] // window_us
    seqs, sent = columns["send_seq"][rows], columns["sent_us"][rows]
    for start, end in _runs(queues, senders):
        stream = streams.setdefault((int(queues[start]), int(senders[start])), _Stream())
        stream.add(seqs[start:end], sent[start:end], windows[start:end])


def _runs(*columns: Integers) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch of equal values."""
    rows = len(columns[0])
    if not rows:
        return
    changes = np.zeros(rows - 1, np.bool_)
    for column in columns:
        changes |= column[1:] != column[:-1]
    start = 0
    for end in (*(np.flatnonzero(changes) + 1).tolist(), rows):
        yield start, end
        start = end


def _added_up(table: Any) -> Any:
    sums = table.group_by(_KEYS).aggregate([("count", "sum"), ("total", "sum")])
    return sums.select([*_KEYS, "count_sum", "total_sum"]).rename_columns(ACCOUNTS.names)
