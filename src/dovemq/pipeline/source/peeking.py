"""Reads the messages in a queue with several tasks, each for a range of sequence numbers.

The admin API returns messages after a given sequence number. The greatest one is found by
bisection, so the server needs no ranges.
"""

import bisect
import contextlib
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa

from dovemq.client import BlockingAdminClient
from dovemq.core.limits import PEEK_COUNT
from dovemq.pipeline.source.columns import peeked_batch
from dovemq.pipeline.source.options import QueueServer, queue_key, queue_url

_SEQUENCE_MAX: Final = (1 << 63) - 1
_COUNTS: Final = ("visible", "leased", "delayed")


class SequenceRange(NamedTuple):
    """Messages after `after` up to and including `last`, at most `count_max` of them."""

    after: int
    last: int
    count_max: int


def spans(server: QueueServer, count_max: int, readers: int) -> list[SequenceRange]:
    with _peeking(server) as peeking:
        return peeking.spans(count_max, readers)


def peeked(server: QueueServer, span: SequenceRange) -> Iterator[pa.RecordBatch]:
    with _peeking(server) as peeking:
        for documents in peeking.pages(span):
            yield peeked_batch(documents, server.region)


@contextlib.contextmanager
def _peeking(server: QueueServer) -> Iterator["Peeking"]:
    with server.connected() as (thread, client):
        url = thread.run(queue_url(client, server.queue))
    admin = BlockingAdminClient(
        server.admin_url, server.key, ca_bundle=server.ca_bundle, region=server.region
    )
    with server.naming(server.admin_url), admin:
        yield Peeking(admin, queue_key(url))


class Peeking:
    """Reads a queue, named `account/name` as on the server."""

    def __init__(self, admin: BlockingAdminClient, queue: str) -> None:
        self._admin = admin
        self._account, _, self._name = queue.partition("/")

    def spans(self, count_max: int, readers: int) -> list[SequenceRange]:
        """Divides the queue into ranges; if it holds more than `count_max`, each task reads its
        share."""
        counts = self._admin.queue(self._account, self._name)["counts"]
        total = sum(int(counts[name]) for name in _COUNTS)
        readers = min(readers, -(-total // PEEK_COUNT.most))
        if readers < 2:
            return [SequenceRange(0, _SEQUENCE_MAX, count_max)]
        first, last = self._first_after(0) or 1, self._greatest()
        edges = [first - 1 + (last - first + 1) * each // readers for each in range(readers + 1)]
        shares = [(count_max + each) // readers for each in range(readers)]
        return [
            SequenceRange(after, last, share if total > count_max else count_max)
            for (after, last), share in zip(itertools.pairwise(edges), shares, strict=True)
        ]

    def pages(self, span: SequenceRange) -> Iterator[list[dict[str, Any]]]:
        left = span.count_max
        cursor: int | str = span.after
        while left:
            # A queue of several partitions has messages with the same sequence.
            after = int(str(cursor).partition(".")[0])
            count = min(left, PEEK_COUNT.most, max(1, span.last - after))
            page = self._admin.messages(self._account, self._name, count, cursor)
            found = [each for each in page["messages"] if each["sequence"] <= span.last]
            if found:
                yield found
            left -= len(found)
            if page["next"] is None or len(found) < len(page["messages"]):
                return
            cursor = page["next"]

    def _greatest(self) -> int:
        """Returns the sequence number of the last message."""
        sequences = range(_SEQUENCE_MAX)
        return bisect.bisect_left(sequences, True, key=lambda at: self._first_after(at) is None)

    def _first_after(self, sequence: int) -> int | None:
        page = self._admin.messages(self._account, self._name, 1, sequence)
        return int(page["messages"][0]["sequence"]) if page["messages"] else None
