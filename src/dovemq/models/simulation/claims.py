"""Receivers that claim messages from one index without coordination (bdqs, §III.B), simulated.

    queue = ClaimedQueue(ClaimParameters(receivers=3, backlog=300), FixedHint(2), seed=1)
    queue.advance(math.inf)
    queue.consistency().duplication_rate

A receive reads the first K tuples that it sees as visible, claims one of them at random after a
while, and returns its message. Others see the claim only after a lag: until then they may claim the
same tuple. The receiver works on the message, settles it, and receives again. Leases do not end:
work is taken to be shorter than they are. Times are in seconds.
"""

import heapq
import itertools
import math
import random
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, Protocol

from dovemq.models import checks
from dovemq.models.consistency import Consistency, measure

EVENTS_MAX: Final = 50_000_000
RECEIVERS_MAX: Final = 10_000
_BEGIN, _READ, _CLAIM, _SETTLE = range(4)


@dataclass(frozen=True, slots=True)
class ClaimParameters:
    """`read`, `claim` and `lag` are means of exponential times, `work` is constant.

    receivers      receivers at the start; receiver i uses front end i modulo `front_ends`
    remembers      a front end draws nothing that it has drawn itself, as the service does and the
                   front ends of the paper do not
    read           from the request to the state of the index that it sees
    claim          from there until the claim is written
    lag            from there until other receives see the claim
    work           from the answer until the settle
    retry          pause after a receive that found nothing
    backlog        messages at the start
    arrivals       messages a second, a Poisson process, until `messages` have come
    """

    receivers: int = 1
    front_ends: int = 1
    remembers: bool = True
    read: float = 0.005
    claim: float = 0.005
    lag: float = 0.0
    work: float = 0.0
    retry: float = 0.05
    backlog: int = 1_000
    arrivals: float = 0.0
    messages: int = 0

    def __post_init__(self) -> None:
        checks.whole(self.receivers, "receivers", 1, RECEIVERS_MAX)
        checks.whole(self.front_ends, "front_ends", 1, RECEIVERS_MAX)
        for name in ("read", "claim", "retry"):
            checks.positive(getattr(self, name), name)
        for name in ("lag", "work", "arrivals"):
            checks.not_negative(getattr(self, name), name)


class HintPolicy(Protocol):
    """Chooses K for each receive, and is told what its front end can know."""

    def began(self, front_end: int, now: float) -> int: ...

    def claimed(self, front_end: int, message: int) -> None: ...

    def ended(self, front_end: int) -> None: ...

    def checked(self, front_end: int, others: int) -> None:
        """A settle has seen so many other claims of its message."""


@dataclass(frozen=True, slots=True)
class FixedHint:
    """The same K always."""

    k: int

    def began(self, front_end: int, now: float) -> int:
        return self.k

    def claimed(self, front_end: int, message: int) -> None:
        pass

    def ended(self, front_end: int) -> None:
        pass

    def checked(self, front_end: int, others: int) -> None:
        pass


@dataclass(slots=True)
class _Receive:
    """`message` is what it has read, -1 if there was nothing."""

    receiver: int
    k: int = 0
    message: int = -1


class ClaimedQueue:
    """`received` has the messages in the order of the answers, duplicates included.

    Messages are numbered from 1 on, in the order of their T. `answered` has the times.
    """

    def __init__(self, parameters: ClaimParameters, policy: HintPolicy, seed: int) -> None:
        self.parameters = parameters
        self.received: list[int] = []
        self.answered: list[float] = []
        self._policy = policy
        self._rng = random.Random(seed)
        self._wanted = 0
        self._present: set[int] = set()
        self._sent = parameters.backlog
        self._waiting = list(range(1, parameters.backlog + 1))
        self._unseen: dict[int, float] = {}
        """Messages that are claimed, with the time from which others see the first claim."""
        self._drawn_by: list[set[int]] = [set() for _ in range(parameters.front_ends)]
        self._claims: dict[int, list[float]] = {}
        """The times at which others see each claim of a message."""
        self._events: list[tuple[float, int, int, _Receive]] = []
        self._numbers = itertools.count()
        self._arrival = 0.0 if parameters.arrivals else math.inf
        self.now = 0.0
        self._next_arrival()
        self.resize(parameters.receivers)

    def resize(self, receivers: int) -> None:
        """Receivers join or leave now; one that leaves finishes its message."""
        checks.whole(receivers, "receivers", 0, RECEIVERS_MAX)
        self._wanted = receivers
        for number in range(receivers):
            if number not in self._present:
                self._present.add(number)
                self._later(0.0, _BEGIN, _Receive(number))

    def advance(self, until: float) -> None:
        """Runs to a time, or until all messages are received and settled."""
        for _ in range(EVENTS_MAX):
            event = self._events[0][0] if self._events else math.inf
            if min(event, self._arrival) > until or math.isinf(min(event, self._arrival)):
                break
            if self._arrival <= event:
                self._arrive()
                continue
            self.now, _, kind, receive = heapq.heappop(self._events)
            self._step(kind, receive)
        if math.isfinite(until):
            self.now = until

    def consistency(self) -> Consistency:
        """The figures of the messages that were received so far."""
        sent = sorted(set(self.received))
        return measure(([0] * len(sent), sent), ([0] * len(self.received), self.received))

    def _step(self, kind: int, receive: _Receive) -> None:
        parameters, front_end = self.parameters, receive.receiver % self.parameters.front_ends
        if kind == _BEGIN:
            if receive.receiver >= self._wanted or self._over():
                self._present.discard(receive.receiver)
                return
            receive.k = self._policy.began(front_end, self.now)
            self._later(self._time(parameters.read), _READ, receive)
        elif kind == _READ:
            receive.message = self._read(receive.k, front_end)
            if receive.message < 0:
                self._policy.ended(front_end)
                self._later(parameters.retry, _BEGIN, receive)
            else:
                self._later(self._time(parameters.claim), _CLAIM, receive)
        elif kind == _CLAIM:
            self._claim(receive, front_end)
            self._later(parameters.work, _SETTLE, receive)
        else:
            seen = sum(1 for each in self._claims[receive.message] if each <= self.now)
            # One of them is its own, which may not be seen yet.
            self._policy.checked(front_end, max(0, seen - 1))
            self._later(0.0, _BEGIN, receive)

    def _read(self, k: int, front_end: int) -> int:
        """One of the first K messages that look visible; -1 if there is none."""
        for message in [each for each, seen_at in self._unseen.items() if seen_at <= self.now]:
            del self._unseen[message]
        own = self._drawn_by[front_end]
        own -= {each for each in own if each in self._claims and each not in self._unseen}
        # Nothing beyond K and what is left out can be drawn.
        window = sorted((*self._waiting[: k + len(own)], *self._unseen))
        if own:
            window = [each for each in window if each not in own]
        window = window[:k]
        if not window:
            return -1
        message = self._rng.choice(window)
        if self.parameters.remembers:
            own.add(message)
        return message

    def _claim(self, receive: _Receive, front_end: int) -> None:
        message = receive.message
        place = bisect_left(self._waiting, message)
        if place < len(self._waiting) and self._waiting[place] == message:
            del self._waiting[place]
        lag = self.parameters.lag
        seen_at = self.now + (self._time(lag) if lag else 0.0)
        if message not in self._claims:
            self._unseen[message] = seen_at
        self._claims.setdefault(message, []).append(seen_at)
        self.received.append(message)
        self.answered.append(self.now)
        self._policy.claimed(front_end, message)
        self._policy.ended(front_end)

    def _over(self) -> bool:
        """Whether everything was claimed and no more messages come."""
        return not self._waiting and math.isinf(self._arrival)

    def _arrive(self) -> None:
        self.now = self._arrival
        self._sent += 1
        self._waiting.append(self._sent)
        self._next_arrival()

    def _next_arrival(self) -> None:
        parameters = self.parameters
        came = self._sent - parameters.backlog
        if not parameters.arrivals or came >= parameters.messages:
            self._arrival = math.inf
        else:
            self._arrival = self.now + self._rng.expovariate(parameters.arrivals)

    def _later(self, after: float, kind: int, receive: _Receive) -> None:
        heapq.heappush(self._events, (self.now + after, next(self._numbers), kind, receive))

    def _time(self, mean: float) -> float:
        return self._rng.expovariate(1.0 / mean)
