"""All metrics over many streams, batch by batch or at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.consistency.columns import Column, Flags, Integers, flags, integers
from dovemq.models.consistency.metrics import Consistency
from dovemq.models.consistency.order import OrderTally
from dovemq.models.consistency.patience import Extend
from dovemq.models.consistency.sequences import FIRST_SEQ, SequenceSet
from dovemq.models.errors import ModelParameterInvalid

BUFFERED_ROWS_MAX: Final = 1_000_000
"""Rows that are collected before they are counted, so that small batches are not slower."""


class _Stream:
    """The sent, received and corrupted messages of one stream."""

    def __init__(self, first: int, extend: Extend | None) -> None:
        self._sent = SequenceSet(first)
        self._order = OrderTally(first, extend)
        self._flawed: Integers = np.empty(0, np.int64)

    def send(self, seqs: Integers) -> None:
        self._sent.add(seqs)

    def receive(self, seqs: Integers, intact: Flags) -> None:
        new = self._order.add(seqs)
        if len(self._flawed) or not intact.all():
            flawed = np.union1d(self._flawed, np.intersect1d(new, seqs[~intact]))
            self._flawed = np.setdiff1d(flawed, seqs[intact])

    def result(self) -> Consistency:
        received = self._sent.shared(self._order.seen)
        counts = Consistency(
            messages=len(self._sent),
            absent=len(self._sent) - received,
            corrupted=int(np.count_nonzero(self._sent.holds(self._flawed))),
        )
        return counts + self._order.result()


@dataclass(slots=True)
class ConsistencyTally:
    """Counts sent and received messages by streams, which have numbers.

    Sends and receives may be added in any interleaving. The memory per stream is what its
    `SequenceSet`s and its `OrderTally` hold, and 8 bytes per message that never came intact.
    """

    first_seq: int = FIRST_SEQ
    extend: Extend | None = None
    buffered_rows_max: int = BUFFERED_ROWS_MAX
    _streams: dict[int, _Stream] = field(default_factory=dict)
    _sends: list[tuple[Integers, Integers]] = field(default_factory=list)
    _receives: list[tuple[Integers, Integers, Flags]] = field(default_factory=list)
    _buffered_rows: int = 0

    def sent(self, streams: Column, seqs: Column) -> None:
        """Adds sent messages; one that is sent again under its number counts once."""
        self._sends.append((integers(streams).copy(), integers(seqs).copy()))
        self._buffered(*self._sends[-1])

    def received(self, streams: Column, seqs: Column, intact: Column | None = None) -> None:
        """Adds receives in their order; `intact` means that the checksum was right."""
        numbers = integers(seqs).copy()
        whole = np.ones(len(numbers), np.bool_) if intact is None else flags(intact).copy()
        self._receives.append((integers(streams).copy(), numbers, whole))
        self._buffered(*self._receives[-1])

    def by_stream(self) -> dict[int, Consistency]:
        self._take_up()
        return {name: stream.result() for name, stream in sorted(self._streams.items())}

    def result(self) -> Consistency:
        return sum(self.by_stream().values(), Consistency())

    def _buffered(self, streams: Integers, *columns: NDArray[Any]) -> None:
        if any(len(column) != len(streams) for column in columns):
            raise ModelParameterInvalid("length of the columns", "different", "one length")
        self._buffered_rows += len(streams)
        if self._buffered_rows >= self.buffered_rows_max:
            self._take_up()

    def _take_up(self) -> None:
        sends, self._sends = self._sends, []
        receives, self._receives = self._receives, []
        self._buffered_rows = 0
        for stream, (seqs,) in _by_stream(sends):
            self._stream(stream).send(seqs)
        for stream, (seqs, intact) in _by_stream(receives):
            self._stream(stream).receive(seqs, intact)

    def _stream(self, name: int) -> _Stream:
        if name not in self._streams:
            self._streams[name] = _Stream(self.first_seq, self.extend)
        return self._streams[name]


def measure(
    sent: tuple[Column, Column], received: tuple[Column, Column], intact: Column | None = None
) -> Consistency:
    """Measures whole columns: (streams, seqs) of the sends, and of the receives in order."""
    columns = (integers(sent[1]), integers(received[1]))
    lowest = [int(column.min()) for column in columns if len(column)]
    tally = ConsistencyTally(min(lowest, default=FIRST_SEQ))
    tally.sent(*sent)
    tally.received(*received, intact)
    return tally.result()


def order_of(seqs: Column, extend: Extend | None = None) -> Consistency:
    """Returns the order metrics of one sequence of numbers, which may start anywhere."""
    numbers = integers(seqs)
    tally = OrderTally(int(numbers.min()) if len(numbers) else FIRST_SEQ, extend)
    tally.add(numbers)
    return tally.result()


def ranks(values: Column) -> Integers:
    """Returns places in sorted order; equal values keep their order."""
    numbers = integers(values)
    found = np.empty(len(numbers), np.int64)
    found[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    return found


def _by_stream(
    batches: Sequence[tuple[NDArray[Any], ...]],
) -> Iterator[tuple[int, tuple[NDArray[Any], ...]]]:
    """Yields the rows of each stream in their order; the first column names the stream."""
    if not batches:
        return
    streams, *columns = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    order = np.argsort(streams, kind="stable")
    ordered = streams[order]
    ends = [*np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered)]
    columns = [column[order] for column in columns]
    start = 0
    for end in ends:
        if end > start:
            yield int(ordered[start]), tuple(column[start:end] for column in columns)
        start = end
