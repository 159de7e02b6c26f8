"""Batches that respect the limits of one request."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dovemq.core import limits

T = TypeVar("T")


def batches(items: Iterable[T], bytes_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Split items into batches, in order. An item that is too large is a batch of its own."""
    batch: list[T] = []
    size = 0
    for item in items:
        length = bytes_of(item)
        if batch and (
            len(batch) == limits.BATCH_COUNT.most or size + length > limits.BATCH_BYTES_MAX
        ):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch
