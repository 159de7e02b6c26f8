"""Counts, response times and news of the clients of one process.

The journals record each message. Rates, response times and the end of a run are computed from this.
`PendingMessages` decides when receivers may stop; the checker judges the run.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from dovemq.load.timings import Timings


class Activity(Struct):
    """Requests of one kind. Requests before `counts_from_us` are left out of rates and times."""

    counts_from_us: int = 0
    messages: int = 0
    messages_counted: int = 0
    last_us: int = 0
    timings: Timings = field(default_factory=Timings)

    def done(self, messages: int, from_us: int, now_us: int) -> None:
        self.messages += messages
        self.last_us = now_us
        if from_us >= self.counts_from_us:
            self.messages_counted += messages
            self.timings.add(now_us - from_us)


class WorkerTally(Struct):
    """The totals of a worker.

    `misses` counts receives without a message, `foreign` messages that are not of this run.
    """

    sends: Activity = field(default_factory=Activity)
    receives: Activity = field(default_factory=Activity)
    settles: Activity = field(default_factory=Activity)
    misses: int = 0
    quits: int = 0
    foreign: int = 0
    corrupted: int = 0
    failures: dict[str, int] = {}
    cpu_seconds: float = 0.0

    def count_failure(self, failure: str) -> None:
        self.failures[failure] = self.failures.get(failure, 0) + 1


class WorkerNews(Struct):
    """The news of a worker: message ids since its last news, and counts since the start.

    `eventful_us` is the time of the last message, acknowledgement or failure.
    """

    worker: int
    acknowledged: list[str] = []
    received: list[str] = []
    settled: list[str] = []
    sent_count: int = 0
    settled_count: int = 0
    sending: bool = True
    eventful_us: int = 0
    failure: str | None = None


class WorkerCounters:
    """The tally so far, and the news since they were last taken."""

    def __init__(self, worker: int) -> None:
        self.tally = WorkerTally()
        self.news = WorkerNews(worker)

    def failed(self, what: str, error: Exception, now_us: int) -> None:
        code = getattr(error, "code", None) or type(error).__name__
        self.tally.count_failure(f"{what}: {code}")
        self.news.eventful_us = now_us

    def take_news(self, *, sending: bool) -> WorkerNews:
        news = self.news
        news.sent_count, news.settled_count = self.tally.sends.messages, self.tally.settles.messages
        news.sending = sending
        self.news = replace(news, acknowledged=[], received=[], settled=[])
        return news


class PendingMessages:
    """Holds the ids of messages that are under way, from the news of all workers.

    Ids and not numbers: a repeated send may make two messages, and both are awaited.
    """

    def __init__(self, workers: int) -> None:
        self._missing: set[str] = set()
        """Acknowledged, and not received yet."""
        self._early: set[str] = set()
        """Received, and not acknowledged yet."""
        self._open: set[str] = set()
        """Received, and not settled with an acknowledgement: they may be received again."""
        self._latest = [WorkerNews(worker) for worker in range(workers)]
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
        self._latest[news.worker] = news
        self.eventful_us = max(self.eventful_us, news.eventful_us)
        self.failure = self.failure or news.failure

    @property
    def sending(self) -> bool:
        return any(news.sending for news in self._latest)

    @property
    def sent(self) -> int:
        return sum(news.sent_count for news in self._latest)

    @property
    def settled(self) -> int:
        return sum(news.settled_count for news in self._latest)

    @property
    def missing(self) -> int:
        return len(self._missing)

    @property
    def open(self) -> int:
        return len(self._open)
