"""Failures of background work that last: logged when they begin, every minute, and at their end."""

import logging
from typing import Final

from dovemq.cluster.tenure import MonotonicClock
from dovemq.core.errors import StoreUnreachable

log = logging.getLogger(__name__)

REMINDER_MS: Final = 60_000


class Troubles:
    def __init__(self, monotonic_ms: MonotonicClock) -> None:
        self._monotonic_ms = monotonic_ms
        self._logged_ms: dict[str, int] = {}
        """The time of the last line about each kind of work that fails now."""

    def note(self, work: str, error: Exception) -> None:
        """The work has failed. It must be tried again by itself."""
        now_ms = self._monotonic_ms()
        logged_ms = self._logged_ms.get(work)
        if logged_ms is None or now_ms - logged_ms >= REMINDER_MS:
            self._logged_ms[work] = now_ms
            found = error.found if isinstance(error, StoreUnreachable) else str(error)
            log.warning("%s failed: %s It is tried again.", work, found or "No answer in time.")

    def end(self, work: str) -> None:
        """The work has succeeded."""
        if self._logged_ms.pop(work, None) is not None:
            log.info("%s works again", work)
