"""How often somebody may be wrong: a bucket of failures for each key, which empties with time.

A key says who, and about what: an address whose signatures fail, an account and an address whose
logins do. Memory is bounded: when it is full, the key that failed longest ago is forgotten.
"""

import logging
from typing import Final

log = logging.getLogger(__name__)

KEYS_MAX: Final = 10_000
KEY_LENGTH_MAX: Final = 200
WARNING_MS: Final = 60_000
"""Between two warnings about one key."""


class FailureLimit:
    """`failures_max` at once, one more each `failure_ms`. `what` fails, in the log's words."""

    def __init__(self, failures_max: int, failure_ms: int, what: str) -> None:
        self.restricted_until_ms = 0
        """From then on every key is allowed: whoever looks here first need not know the key."""
        self._failure_ms = failure_ms
        self._room_ms = (failures_max - 1) * failure_ms
        self._what = what
        # When all failures of a key will be forgiven, and when it was warned about.
        self._held: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def allowed(self, key: str, now_ms: int) -> bool:
        return self.wait_ms(key, now_ms) == 0

    def wait_ms(self, key: str, now_ms: int) -> int:
        """Until it is allowed again."""
        held = self._held.get(key[:KEY_LENGTH_MAX])
        return 0 if held is None else max(held[0] - self._room_ms - now_ms, 0)

    def failed(self, key: str, now_ms: int) -> None:
        key = key[:KEY_LENGTH_MAX]
        forgiven_ms, warned_ms = self._held.pop(key, (0, -WARNING_MS))
        forgiven_ms = max(forgiven_ms, now_ms) + self._failure_ms
        full_ms = now_ms + self._room_ms + self._failure_ms
        if forgiven_ms > now_ms + self._room_ms:
            # No fuller than full: who goes on failing must not be kept out for ever.
            forgiven_ms = min(forgiven_ms, full_ms)
            self.restricted_until_ms = max(self.restricted_until_ms, forgiven_ms - self._room_ms)
            if now_ms - warned_ms >= WARNING_MS:
                warned_ms = now_ms
                log.warning("%r: too many failed %s, not heard for a while", key, self._what)
        if len(self._held) >= KEYS_MAX:
            self._forget(now_ms)
        self._held[key] = (forgiven_ms, warned_ms)

    def forgive(self, key: str) -> None:
        """The last one was none."""
        held = self._held.get(key[:KEY_LENGTH_MAX])
        if held is not None:
            self._held[key[:KEY_LENGTH_MAX]] = (held[0] - self._failure_ms, held[1])

    def _forget(self, now_ms: int) -> None:
        """Those first whose failures are forgiven, but at least the oldest."""
        for key, (forgiven_ms, _) in tuple(self._held.items()):
            if forgiven_ms <= now_ms:
                del self._held[key]
        if len(self._held) >= KEYS_MAX:
            del self._held[next(iter(self._held))]
