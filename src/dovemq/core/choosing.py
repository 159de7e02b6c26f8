"""Rules on values that decide which messages a receive takes. All stores share them."""

import random
from typing import Final

from dovemq.core import limits
from dovemq.core.queue import ADAPTIVE_ORDER, ANY_ORDER, QueueSettings

_SCOPE_SEPARATOR: Final = "\x00"


def window_size(order_hint: int | str, count: int) -> int:
    """The number of first visible tuples that take part in the draw: max(K, n), bounded.

    An adaptive K is 1 here: a partition with an owner has no collisions that a larger one avoids.
    """
    if order_hint == ADAPTIVE_ORDER:
        return count
    k = limits.TUPLES_INSPECTED_MAX if order_hint == ANY_ORDER else int(order_hint)
    return max(k, count)


def choose(window: int, count: int, rng: random.Random) -> list[int]:
    """Positions drawn without replacement among `window` tuples, in order of the tuples.

    bdqs §III.B.2 takes a random one among the oldest K; with K = 1 there is nothing random.
    """
    if window <= count:
        return list(range(window))
    return sorted(rng.sample(range(window), count))


def exhausted(receive_count: int, receives_max: int | None) -> bool:
    """Whether the next receive would exceed what the redrive policy allows."""
    return receives_max is not None and receive_count >= receives_max


def lease_length_ms(lease_ms: int, *, spent: bool) -> int:
    """The time for which a message is hidden; if it is to be moved, long enough for that."""
    return max(lease_ms, limits.REDRIVE_LEASE_MS) if spent else lease_ms


def noisy(group_leases: int, all_leases: int) -> bool:
    """Whether a group of a standard queue must wait for the quiet groups."""
    return (
        group_leases >= limits.NOISY_LEASES_MIN
        and group_leases > all_leases * limits.NOISY_LEASES_SHARE
    )


def deduplication_key(settings: QueueSettings, group: str, deduplication_id: str) -> str:
    """The text that must be unique within the interval: the id, or the group and the id."""
    if settings.deduplication_scope == "messageGroup":
        return group + _SCOPE_SEPARATOR + deduplication_id
    return deduplication_id
