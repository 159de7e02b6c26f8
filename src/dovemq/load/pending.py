"""The messages that a run still waits for, from the news of its workers.

This only decides when receivers may stop; the checker judges the run from the journals.
"""

from dovemq.load.counters import WorkerNews


class PendingMessages:
    """Holds the ids of messages that are under way.

    Ids and not numbers: a repeated send may make two messages, and both are awaited.
    """

    def __init__(self, workers: int) -> None:
        self._missing: set[str] = set()
        """Acknowledged, and not received yet."""
        self._early: set[str] = set()
        """Received, and not acknowledged yet."""
        self._open: set[str] = set()
        """Received, and not settled with an acknowledgement: they may be received again."""
        self._sending = [True] * workers
        self._sent_counts = [0] * workers
        self._settled_counts = [0] * workers
        self.eventful_us = 0
        self.failure: str | None = None

    def add(self, news: WorkerNews) -> None:
        received = set(news.received)
        self._missing.update(news.acknowledged)
        self._early |= received
        found = self._missing & self._early
        self._missing -= found
        self._early -= found
        self._open |= received
        self._open.difference_update(news.settled)
        self._sending[news.worker] = news.sending
        self._sent_counts[news.worker] = news.sent_count
        self._settled_counts[news.worker] = news.settled_count
        self.eventful_us = max(self.eventful_us, news.eventful_us)
        self.failure = self.failure or news.failure

    @property
    def sending(self) -> bool:
        return any(self._sending)

    @property
    def sent(self) -> int:
        return sum(self._sent_counts)

    @property
    def settled(self) -> int:
        return sum(self._settled_counts)

    @property
    def missing(self) -> int:
        return len(self._missing)

    @property
    def open(self) -> int:
        return len(self._open)
