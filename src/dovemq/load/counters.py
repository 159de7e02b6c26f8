"""Counts and response times of the clients of one process.

The journals record each message. This module has what rates, response times and the end of a run
are computed from.
"""

from collections import Counter

from msgspec import Struct

from dovemq.load.timings import Packed, Timings


class Activity:
    """Requests of one kind. Requests before `counts_from_us` are left out of rates and times."""

    def __init__(self) -> None:
        self.counts_from_us = 0
        self.messages = 0
        self.messages_counted = 0
        self.last_us = 0
        self.timings = Timings()

    def done(self, messages: int, from_us: int, now_us: int) -> None:
        self.messages += messages
        self.last_us = now_us
        if from_us >= self.counts_from_us:
            self.messages_counted += messages
            self.timings.add(now_us - from_us)

    def tallied(self) -> "ActivityTally":
        return ActivityTally(
            self.messages,
            self.messages_counted,
            self.counts_from_us,
            self.last_us,
            self.timings.packed(),
        )


class ActivityTally(Struct, frozen=True):
    messages: int
    messages_counted: int
    counts_from_us: int
    last_us: int
    timings: Packed


class WorkerNews(Struct, frozen=True):
    """The news of a worker: message ids since its last news, and counts since the start.

    `eventful_us` is the time of the last message, acknowledgement or failure.
    """

    worker: int
    acknowledged: list[str]
    received: list[str]
    settled: list[str]
    sent_count: int
    settled_count: int
    sending: bool
    eventful_us: int
    failure: str | None


class WorkerTally(Struct, frozen=True):
    """The totals of a worker at the end of a run.

    `misses` counts receives without a message, `foreign` messages that are not of this run.
    """

    sends: ActivityTally
    receives: ActivityTally
    settles: ActivityTally
    misses: int
    quits: int
    foreign: int
    corrupted: int
    failures: dict[str, int]
    cpu_seconds: float


class WorkerCounters:
    def __init__(self, worker: int) -> None:
        self._worker = worker
        self.sends = Activity()
        self.receives = Activity()
        self.settles = Activity()
        self.misses = 0
        self.quits = 0
        self.foreign = 0
        self.corrupted = 0
        self.failures: Counter[str] = Counter()
        self.acknowledged: list[str] = []
        self.received: list[str] = []
        self.settled: list[str] = []
        self.eventful_us = 0
        self.failure: str | None = None

    def failed(self, what: str, error: Exception, now_us: int) -> None:
        code = getattr(error, "code", None) or type(error).__name__
        self.failures[f"{what}: {code}"] += 1
        self.eventful_us = now_us

    def news(self, *, sending: bool) -> WorkerNews:
        news = WorkerNews(
            self._worker,
            self.acknowledged,
            self.received,
            self.settled,
            self.sends.messages,
            self.settles.messages,
            sending,
            self.eventful_us,
            self.failure,
        )
        self.acknowledged, self.received, self.settled = [], [], []
        return news

    def tally(self, cpu_seconds: float) -> WorkerTally:
        return WorkerTally(
            self.sends.tallied(),
            self.receives.tallied(),
            self.settles.tallied(),
            self.misses,
            self.quits,
            self.foreign,
            self.corrupted,
            dict(self.failures),
            cpu_seconds,
        )
