"""The monitor of front ends: their metrics as a workload of one topic, `front-ends`.

The scheduler of consumers sizes front ends too: a request is a job of one task, and a front end is
a consumer. The service rate cannot be measured from outside, since a response time has waiting in
it. It is the rate at which the model has the response time that was measured.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families

from dovemq.models.analytic import mmc
from dovemq.models.jobs import JobRoute, chain
from dovemq.workflows.sizing.monitor import SECOND_MS
from dovemq.workflows.sizing.workload import MeasuredWorkload, TopicFigures, TypeFigures

FRONT_ENDS: Final = "front-ends"
REQUESTS: Final = "requests"
ROUTES: Final[Mapping[str, tuple[JobRoute, ...]]] = {REQUESTS: (JobRoute(chain(FRONT_ENDS)),)}
METRIC: Final = "dovemq_request_seconds"
WAITING: Final = frozenset({"ReceiveMessage"})
"""Operations that wait on purpose: they count as requests, and their time does not count."""
SAMPLES_MAX: Final = 10_000
_GRID: Final = 100
_REFINEMENTS: Final = 4


class RequestTotals(Struct, frozen=True):
    """Totals of a front end since its start. `timed` requests took `seconds` together."""

    requests: float = 0.0
    timed: float = 0.0
    seconds: float = 0.0

    def since(self, earlier: "RequestTotals") -> "RequestTotals":
        """The difference; all of it if the front end has started again."""
        if self.requests < earlier.requests:
            return self
        return RequestTotals(
            self.requests - earlier.requests,
            self.timed - earlier.timed,
            self.seconds - earlier.seconds,
        )


def read_totals(text: str) -> RequestTotals:
    """Reads the metrics of a front end."""
    requests = timed = seconds = 0.0
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name == METRIC else ():
            waits = sample.labels.get("operation") in WAITING
            if sample.name == f"{METRIC}_count":
                requests += sample.value
                timed += 0.0 if waits else sample.value
            elif sample.name == f"{METRIC}_sum" and not waits:
                seconds += sample.value
    return RequestTotals(requests, timed, seconds)


class FrontEndWindow:
    """The totals of all front ends that answered, within a sliding window."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._samples: deque[tuple[int, Mapping[str, RequestTotals]]] = deque(maxlen=SAMPLES_MAX)

    def add(self, now_ms: int, totals: Mapping[str, RequestTotals]) -> None:
        """The sample before the window is kept: it is where the window begins."""
        self._samples.append((now_ms, totals))
        while len(self._samples) > 2 and self._samples[1][0] <= now_ms - self._window_ms:
            self._samples.popleft()

    def workload(self) -> MeasuredWorkload:
        """The figures of the window; there must be a sample."""
        now_ms, newest = self._samples[-1]
        first_ms, _ = self._samples[0]
        passed = [self._passed(name) for name in newest]
        requests = sum(each.requests for each in passed)
        timed = sum(each.timed for each in passed)
        seconds = sum(each.seconds for each in passed)
        span_ms = now_ms - first_ms
        rate = requests * SECOND_MS / span_ms if span_ms else 0.0
        mean_s = seconds / timed if timed else None
        figures = TypeFigures(
            arrivals=round(requests),
            arrival_rate=rate,
            arrival_scv=1.0,
            ended=round(timed),
            response_ms=None if mean_s is None else SECOND_MS * mean_s,
            running=0,
        )
        service = service_rate(rate, mean_s, len(newest)) if rate and mean_s else 1.0
        topic = TopicFigures(round(timed), service, 1.0, waiting=0, running=0)
        return MeasuredWorkload(now_ms, span_ms, {REQUESTS: figures}, {FRONT_ENDS: topic})

    def _passed(self, name: str) -> RequestTotals:
        """The change of one front end since it was first seen in the window."""
        seen = [found[name] for _, found in self._samples if name in found]
        steps = zip(seen[1:], seen, strict=False)
        parts = [later.since(earlier) for later, earlier in steps]
        return RequestTotals(
            sum(each.requests for each in parts),
            sum(each.timed for each in parts),
            sum(each.seconds for each in parts),
        )


def service_rate(rate: float, response_s: float, front_ends: int) -> float:
    """The service rate of one front end at which the model has this response time."""
    low = max(rate / front_ends, 1.0 / response_s)
    high = rate / front_ends + 1.0 / response_s
    for _ in range(_REFINEMENTS):
        rates = np.linspace(low, high, _GRID)
        quick = mmc(rate, rates, front_ends).sojourn_time <= response_s
        place = int(np.argmax(quick)) if quick.any() else _GRID - 1
        low, high = float(rates[max(place - 1, 0)]), float(rates[place])
    return high
