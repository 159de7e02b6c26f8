"""Order of what each sender sent to a queue, for as long as it is heard of.

A message that is missing is given up when its stream goes on without it: when no older one of the
stream is remembered. First leases that find their number given up, or taken by another message,
are not ordered.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.consistency import LOWEST_SEQ, Consistency, KeptOrder, OrderTally
from dovemq.models.consistency.columns import Integers
from dovemq.pipeline.monitor.columns import RememberedMessages

_ARRAYS: Final = ("open", "positions", "tails")


class Streams:
    """By the hash of their sender; `ended` is what came of those that are forgotten.

    A stream in which two remembered messages have one number is *renumbered*: several programs
    count under one name. It has no order from then on.
    """

    def __init__(self, ended: Consistency) -> None:
        self.ended = ended
        self.renumbered: set[int] = set()
        self._tallies: dict[int, OrderTally] = {}

    def add(self, streams: Integers, seqs: Integers) -> None:
        """First leases in the order in which they happened."""
        order = np.argsort(streams, kind="stable")
        names, starts = np.unique(streams[order], return_index=True)
        parts = np.split(seqs[order], starts)[1:]
        for name, part in zip(names.tolist(), parts, strict=True):
            if name not in self._tallies:
                self._tallies[name] = OrderTally(LOWEST_SEQ)
            self._tallies[name].add(part)

    def keep(self, messages: RememberedMessages) -> None:
        """Only what is remembered of these messages may still change."""
        order = np.lexsort((messages.seq, messages.stream))
        streams, seqs = messages.stream[order], messages.seq[order]
        same = (streams[1:] == streams[:-1]) & (seqs[1:] == seqs[:-1])
        self.renumbered |= set(streams[1:][same].tolist())
        names, starts = np.unique(streams, return_index=True)
        lowest = dict(zip(names.tolist(), seqs[starts].tolist(), strict=True))
        for stream in set(self._tallies) - set(lowest):
            if stream not in self.renumbered:
                self.ended += self._tallies[stream].result()
            del self._tallies[stream]
        self.renumbered &= set(lowest)
        for stream, tally in self._tallies.items():
            tally.give_up(lowest[stream])

    def result(self) -> Consistency:
        """`duplicates` are first leases that are not ordered, in streams that have an order."""
        counted = (
            tally.result()
            for stream, tally in self._tallies.items()
            if stream not in self.renumbered
        )
        return sum(counted, self.ended)

    def kept(self) -> dict[str, NDArray[Any]]:
        names = sorted(self._tallies)
        kept = [self._tallies[name].kept() for name in names]
        arrays = {
            "streams.names": np.array(names, np.int64),
            "streams.renumbered": np.array(sorted(self.renumbered), np.int64),
            "streams.numbers": np.array([each.numbers for each in kept], np.int64).reshape(-1, 5),
        }
        for name in _ARRAYS:
            parts = [getattr(each, name) for each in kept]
            arrays[f"streams.{name}"] = np.concatenate([np.empty(0, np.int64), *parts])
            arrays[f"streams.{name}.ends"] = np.cumsum(
                [len(part) for part in parts], dtype=np.int64
            )
        return arrays

    @classmethod
    def resumed(cls, arrays: Mapping[str, NDArray[Any]], ended: Consistency) -> "Streams":
        streams = cls(ended)
        streams.renumbered = set(arrays["streams.renumbered"].tolist())
        columns = [
            np.split(arrays[f"streams.{name}"], arrays[f"streams.{name}.ends"]) for name in _ARRAYS
        ]
        numbers = arrays["streams.numbers"].tolist()
        for place, name in enumerate(arrays["streams.names"].tolist()):
            kept = KeptOrder(tuple(numbers[place]), *(column[place] for column in columns))
            streams._tallies[name] = OrderTally.resumed(kept)
        return streams
