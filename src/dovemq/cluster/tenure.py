"""The lease of one incarnation of this front end, on the monotonic clock of its machine."""

from collections.abc import Callable

MonotonicClock = Callable[[], int]
"""Milliseconds that never go back, and that pass also while the process is stopped."""


class Tenure:
    """Begins with the acknowledged heartbeat that was sent after `sent_ms`.

    Once it has ended it never holds again: the front end goes on as another incarnation.
    """

    def __init__(
        self, incarnation: int, monotonic_ms: MonotonicClock, trusted_ms: int, sent_ms: int
    ) -> None:
        self.incarnation = incarnation
        self._monotonic_ms = monotonic_ms
        self._trusted_ms = trusted_ms
        self._until_ms = sent_ms + trusted_ms
        self._ended = False

    def holds(self) -> bool:
        if not self._ended and self._monotonic_ms() >= self._until_ms:
            self._ended = True
        return not self._ended

    def renew(self, sent_ms: int) -> bool:
        """Count the lease from before this heartbeat was sent; False if it has ended already."""
        if self.holds():
            self._until_ms = max(self._until_ms, sent_ms + self._trusted_ms)
        return self.holds()

    def end(self) -> None:
        self._ended = True
