"""The ids that a partition knows: deduplication keys of the last minutes, and adopted messages.

Both are in memory, since the owner alone decides what is a duplicate; sends, adoptions and the
pages of snapshots bring them back after a takeover. A key takes some 300 bytes for the five minutes
that it lives, an adopted message some 110 bytes beside its entry.

Ids of adopted messages are removed late: whoever finds one asks the index whether the message is
still there. They are swept when they are twice as many as after the sweep before.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.stores.owned.logged.encoding import AdoptedRow, KeyRow, LoggedSend

GENERATION_MS: Final = limits.DEDUPLICATION_MS // 10
"""Keys that were claimed within this time are freed together."""
SWEEP_MIN: Final = 1_024
"""Fewer ids of adopted messages than this are not swept."""


class FirstSend(Struct, frozen=True, gc=False):
    """The message that was sent first with a deduplication key."""

    message_id: str
    sequence: int
    expires_ms: int


class Generation(Struct):
    """Keys of about the same age. None of them lives longer than `expires_ms`."""

    begun_ms: int
    expires_ms: int = 0
    keys: dict[bytes, FirstSend] = {}

    def add(self, key: bytes, first: FirstSend) -> None:
        self.keys[key] = first
        self.expires_ms = max(self.expires_ms, first.expires_ms)


class Identities:
    def __init__(self) -> None:
        self._generations: deque[Generation] = deque([Generation(0)])
        self._adopted: dict[bytes, int] = {}
        self._sweep_at = SWEEP_MIN

    def first_send(self, key: bytes, now_ms: int) -> FirstSend | None:
        for generation in reversed(self._generations):
            first = generation.keys.get(key)
            if first is not None:
                return None if first.expires_ms <= now_ms else first
        return None

    def claim(self, key: bytes, message_id: str, sequence: int, sent_ms: int) -> None:
        if sent_ms >= self._generations[-1].begun_ms + GENERATION_MS:
            self._generations.append(Generation(sent_ms))
        expires_ms = sent_ms + limits.DEDUPLICATION_MS
        self._generations[-1].add(key, FirstSend(message_id, sequence, expires_ms))

    def note(self, row: LoggedSend) -> None:
        """A message is durable: remember its key, or that it was adopted."""
        if row.message_id is None:
            return
        if row.key is not None:
            self.claim(row.key, row.message_id, row.sequence, row.sent_ms)
        if row.adopted:
            self._adopted[digest(row.message_id)] = row.sequence

    def restore(self, rows: Iterable[KeyRow]) -> None:
        """Add keys of a snapshot; newer claims of the same key stay."""
        for key, message_id, sequence, expires_ms in rows:
            if self.first_send(key, expires_ms - 1) is None:
                self._generations[-1].add(key, FirstSend(message_id, sequence, expires_ms))

    def forget(self, sent_before_ms: int) -> None:
        """Forget the keys of messages that were sent before that time."""
        before_ms = sent_before_ms + limits.DEDUPLICATION_MS
        for generation in self._generations:
            kept = {
                key: each for key, each in generation.keys.items() if each.expires_ms >= before_ms
            }
            generation.keys = kept

    def expire(self, now_ms: int) -> None:
        """Free the keys of which nobody can repeat a send any more."""
        while len(self._generations) > 1 and self._generations[0].expires_ms <= now_ms:
            self._generations.popleft()

    def adopted(self, message_id: str) -> int | None:
        """The sequence that the message was adopted with; it may have left since."""
        return self._adopted.get(digest(message_id))

    def restore_adopted(self, rows: Iterable[AdoptedRow]) -> None:
        """Add ids of a snapshot; newer adoptions of the same id stay."""
        for key, sequence in rows:
            self._adopted[key] = max(sequence, self._adopted.get(key, 0))

    def sweep(self, is_here: Callable[[int], bool]) -> None:
        """Remove ids of adopted messages that have left, if there are many."""
        if len(self._adopted) > self._sweep_at:
            kept = {key: number for key, number in self._adopted.items() if is_here(number)}
            self._adopted = kept
            self._sweep_at = max(SWEEP_MIN, 2 * len(kept))

    def keys(self) -> list[bytes]:
        return list(chain.from_iterable(each.keys for each in self._generations))

    def key_rows(self, keys: Iterable[bytes], now_ms: int) -> list[KeyRow]:
        """The rows of those keys that are still known."""
        found = ((key, self.first_send(key, now_ms)) for key in keys)
        return [
            (key, first.message_id, first.sequence, first.expires_ms)
            for key, first in found
            if first is not None
        ]

    def adopted_rows(self) -> list[AdoptedRow]:
        return list(self._adopted.items())


def digest(message_id: str) -> bytes:
    """Ids have any length; their digests take 16 bytes."""
    return hashlib.blake2b(message_id.encode(), digest_size=16).digest()
