"""The order of the messages of each sender, while they are remembered.

A missing message is given up when no older one of its stream is remembered. First leases whose
number was given up, or belongs to another message, are not ordered.
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
    """Streams by the hash of their sender; `ended` sums up the forgotten ones.

    A stream in which two remembered messages have the same number is *renumbered*: several programs
    count under one name. From then on it has no order.
    """

    def __init__(self, ended: Consistency) -> None:
        self.ended = ended
        self.renumbered: set[int] = set()
        self._tallies: dict[int, OrderTally] = {}

    def add(self, streams: Integers, seqs: Integers) -> None:
        """Adds first leases in order of time."""
        order = np.argsort(streams, kind="stable")
        names, starts = np.unique(streams[order], return_index=True)
        parts = np.split(seqs[order], starts)[1:]
        for name, part in zip(names.tolist(), parts, strict=True):
            if name not in self._tallies:
                self._tallies[name] = OrderTally(LOWEST_SEQ)
            self._tallies[name].add(part)

    def keep(self, messages: RememberedMessages) -> None:
        """Gives up the numbers that are older than every remembered message."""
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
        """Returns the order; `duplicates` are unordered first leases in streams that have an
        order."""
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
