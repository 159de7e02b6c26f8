"""Whether sends may be tried again after the disk was full. Looks when asked, never by itself."""

from typing import Final

from dovemq.stores.sqlite.directory import SPACE_BYTES_MIN, Reserve

SPACE_CHECK_MS: Final = 1_000


class Space:
    def __init__(self, reserve: Reserve) -> None:
        self.free_pages_bytes = 0
        """Pages inside the database that settled messages have left; known on a full disk."""
        self._reserve = reserve
        self._checked_ms = 0

    def ran_out(self, now_ms: int) -> None:
        self._checked_ms = now_ms

    def has_returned(self, now_ms: int) -> bool:
        """Looked at once a second at most; in between the answer is no."""
        if now_ms - self._checked_ms < SPACE_CHECK_MS:
            return False
        self._checked_ms = now_ms
        return max(self._reserve.free_bytes(), self.free_pages_bytes) >= SPACE_BYTES_MIN
