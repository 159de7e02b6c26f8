"""What a run still has to wait for, from the news of its workers.

No verdict: that is the checker's, from the journals. This only says when receivers may stop.
"""

from dovemq.load.counters import WorkerNews


class PendingMessages:
    """Holds what is under way, not what is done.

    By id, not by number: a send that is repeated may make two messages, and both are awaited.
    """

    def __init__(self, workers: int) -> None:
        self._missing: set[str] = set()
        """Acknowledged, and has not come."""
        self._early: set[str] = set()
        """Came, and no acknowledgement has been heard of since."""
        self._open: set[str] = set()
        """Came, and its settle was not acknowledged: it may come again."""
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
