"""Limits on how often a client may fail: a bucket of failures for each key, emptied by time.

A key names the client and the kind of failure: an address whose signatures are invalid, or an
address and an account whose logins fail. Memory is bounded: when it is full, the key that failed
longest ago is dropped.
"""

import logging
from typing import Final

log = logging.getLogger(__name__)

KEYS_MAX: Final = 10_000
KEY_LENGTH_MAX: Final = 200
WARNING_MS: Final = 60_000
"""The least time between two warnings about one key."""


class FailureLimit:
    """Allows `failures_max` at once and one more each `failure_ms`.

    `kind` names the failures in the log.
    """

    def __init__(self, failures_max: int, failure_ms: int, kind: str) -> None:
        self._failure_ms = failure_ms
        self._room_ms = (failures_max - 1) * failure_ms
        self._kind = kind
        # For each key: when its bucket will be empty, and when it was last warned about.
        self._held: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def wait_ms(self, key: str, now_ms: int) -> int:
        """The time until another failure is allowed; 0 if one is allowed now."""
        held = self._held.get(key[:KEY_LENGTH_MAX])
        return 0 if held is None else max(held[0] - self._room_ms - now_ms, 0)

    def record(self, key: str, now_ms: int) -> None:
        """Add one failure."""
        key = key[:KEY_LENGTH_MAX]
        empty_ms, warned_ms = self._held.pop(key, (0, -WARNING_MS))
        empty_ms = max(empty_ms, now_ms) + self._failure_ms
        if empty_ms > now_ms + self._room_ms:
            # Never fuller than full: a client that goes on failing must not be locked out forever.
            empty_ms = min(empty_ms, now_ms + self._room_ms + self._failure_ms)
            if now_ms - warned_ms >= WARNING_MS:
                warned_ms = now_ms
                log.warning("%r: too many failed %s; further ones must wait", key, self._kind)
        if len(self._held) >= KEYS_MAX:
            self._make_room(now_ms)
        self._held[key] = (empty_ms, warned_ms)

    def withdraw(self, key: str) -> None:
        """Remove one failure that was recorded before its outcome was known."""
        held = self._held.get(key[:KEY_LENGTH_MAX])
        if held is not None:
            self._held[key[:KEY_LENGTH_MAX]] = (held[0] - self._failure_ms, held[1])

    def _make_room(self, now_ms: int) -> None:
        """Drop the keys whose bucket is empty, or else the one that failed longest ago."""
        for key, (empty_ms, _) in tuple(self._held.items()):
            if empty_ms <= now_ms:
                del self._held[key]
        if len(self._held) >= KEYS_MAX:
            del self._held[next(iter(self._held))]
