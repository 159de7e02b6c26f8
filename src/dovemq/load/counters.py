"""What the clients of one process have done so far: counts, response times, and the news.

The journals hold what became of each message; here is what rates and times are made of, and which
messages the run still has to wait for.
"""

from collections import Counter

from msgspec import Struct

from dovemq.load.timings import Packed, Timings


class Activity:
    """Requests of one kind. What began before `counts_from_us` is left out of rates and times."""

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
    """From the worker of that number. Ids of messages are those since its last news: whose send
    was acknowledged, that came, that were settled; counts are of all that was acknowledged.
    `eventful_us`: when something last came, was acknowledged, or failed."""

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
    """At the end. `misses`: receives that brought nothing. `foreign`: messages of others."""

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
