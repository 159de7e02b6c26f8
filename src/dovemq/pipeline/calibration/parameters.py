"""Turns observations into model parameters with intervals.

The consumers of a queue are the clients that receive its messages, and each serves one message at a
time. A service lasts from a lease until the next request of its consumer, who could then take the
next message. `work` is the part until the settle. A delivery failed if the message was leased again
or redriven instead of being settled; open deliveries are not counted.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct

from dovemq.models.calibration import (
    DistributionFit,
    TimeSample,
    fits,
    mean_of,
    rate_of,
    scv_of,
    share_of,
)
from dovemq.models.calibration.samples import SECOND_US
from dovemq.models.checks import Floats
from dovemq.models.estimates import CONFIDENCE, Estimate, Parameter
from dovemq.pipeline.calibration.observed import SLICES, Observed

DELIVERIES_SHOWN_MAX: Final = 20
"""The last entry of the distribution stands for all further deliveries."""

ANSWERED: Final = ("sent", "settled")
"""Requests that are answered as soon as they are done; a receive may wait."""


class Stream(Struct, frozen=True):
    """The arrivals of a queue, or of one job type; None if too few were observed."""

    rate: Parameter | None
    scv: Parameter | None
    fits: tuple[DistributionFit, ...]


class QueueParameters(Struct, frozen=True):
    """Rates per second, times in seconds. `deliveries[i]` messages ended with delivery i + 1.

    `waiting` and `sojourn` are the measured means, which a model predicts.
    """

    queue: str
    seconds: float
    arrivals: Stream
    jobs: Mapping[str, Stream]
    service_rate: Parameter | None
    service_scv: Parameter | None
    service_fits: tuple[DistributionFit, ...]
    work: Parameter | None
    failure_probability: Parameter | None
    retries: Parameter | None
    deliveries: tuple[int, ...]
    consumers: int
    clients: int
    messages_per_lease: float | None
    open: int
    waiting: float | None
    sojourn: float | None


class FrontEndParameters(Struct, frozen=True):
    """`utilisation` is the share of time with a request in work, `service_time` that time per
    request, and `latency` the response time by kind of request."""

    front_end: str
    seconds: float
    request_rate: Parameter | None
    utilisation: Parameter | None
    service_time: Parameter | None
    latency: Mapping[str, Parameter]


class Calibration(Struct, frozen=True):
    queues: tuple[QueueParameters, ...]
    front_ends: tuple[FrontEndParameters, ...]
    observed: Observed
    confidence: float

    def named(self) -> dict[str, Parameter]:
        """Returns all parameters by queue and name, to compare two periods."""
        return dict(self._named())

    def _named(self) -> Iterator[tuple[str, Parameter]]:
        for queue in self.queues:
            own = {
                "arrival_rate": queue.arrivals.rate,
                "arrival_scv": queue.arrivals.scv,
                "service_rate": queue.service_rate,
                "service_scv": queue.service_scv,
                "failure_probability": queue.failure_probability,
            }
            for job, stream in queue.jobs.items():
                if job:
                    own[f"{job}.arrival_rate"] = stream.rate
                    own[f"{job}.arrival_scv"] = stream.scv
            for name, parameter in own.items():
                if parameter is not None:
                    yield f"{queue.queue}.{name}", parameter


def calibrated(observed: Observed, confidence: float = CONFIDENCE) -> Calibration:
    samples = _samples(observed.tables["times"])
    presences = _by(observed.tables["presences"], "queue")
    nobody = observed.tables["presences"].slice(0, 0)
    queues = tuple(
        _queue(row, samples, presences.get(row["queue"], nobody), confidence)
        for row in observed.tables["outcomes"].to_pylist()
    )
    front_ends = tuple(
        _front_end(name, table, confidence)
        for name, table in _by(observed.tables["front_ends"], "front_end").items()
    )
    return Calibration(queues, front_ends, observed, confidence)


_Samples = Mapping[tuple[str, str], Mapping[str, TimeSample]]
_NO_TIMES: Final = TimeSample.of_values([])


def _samples(times: Any) -> _Samples:
    """Groups the samples by kind and queue, then by stream."""
    found: dict[tuple[str, str], dict[str, TimeSample]] = {}
    keys = times.select(["kind", "place", "stream"]).to_pylist()
    columns = [times[name].to_numpy() for name in ("bin", "count", "sum_us", "independent")]
    starts = [at for at in range(len(keys)) if at == 0 or keys[at] != keys[at - 1]]
    for start, end in zip(starts, [*starts[1:], len(keys)], strict=True):
        key = keys[start]
        bins, counts, sums, independent = (column[start:end] for column in columns)
        sample = TimeSample.of_bins(bins, counts, sums, int(independent.sum()))
        found.setdefault((key["kind"], key["place"]), {})[key["stream"]] = sample
    return found


def _by(table: Any, column: str) -> dict[str, Any]:
    names = pc.unique(table[column]).to_pylist()
    return {name: table.filter(pc.equal(table[column], name)) for name in names}


def _queue(
    row: Mapping[str, Any], samples: _Samples, presences: Any, confidence: float
) -> QueueParameters:
    queue = row["queue"]

    def sample(kind: str) -> TimeSample:
        return samples.get((kind, queue), {}).get("", _NO_TIMES)

    service, deliveries = sample("occupancy"), sample("deliveries")
    # A client that never received a message need not be a consumer.
    served = presences.filter(pc.greater(presences["messages"], 0))
    ended = row["settled"] + row["failed"]
    return QueueParameters(
        queue,
        (row["last_us"] - row["first_us"]) / SECOND_US,
        _stream(sample("arrival"), confidence),
        {
            job: _stream(each, confidence)
            for job, each in samples.get(("job_arrival", queue), {}).items()
        },
        rate_of(service, confidence),
        scv_of(service, confidence),
        fits(service),
        _mapped(mean_of(sample("work"), confidence), lambda time_us: time_us / SECOND_US),
        share_of(row["failed"], ended, confidence),
        _mapped(mean_of(deliveries, confidence), lambda count: count - 1.0),
        _distribution(deliveries),
        _most_together(served),
        len(served),
        service.size / service.independent if service.size else None,
        row["leased"] - ended,
        _mean_seconds(sample("waiting")),
        _mean_seconds(sample("sojourn")),
    )


def _stream(sample: TimeSample, confidence: float) -> Stream:
    return Stream(rate_of(sample, confidence), scv_of(sample, confidence), fits(sample))


def _mapped(mean: Parameter | None, change: Callable[[float], float]) -> Parameter | None:
    if mean is None:
        return None
    value, low, high = map(change, (mean.value, mean.low, mean.high))
    return Parameter(value, low, high, mean.samples, mean.error)


def _mean_seconds(sample: TimeSample) -> float | None:
    return sample.total_us / sample.size / SECOND_US if sample.size else None


def _distribution(deliveries: TimeSample) -> tuple[int, ...]:
    """Counts messages by delivery; bins of small numbers have one value each."""
    if not deliveries.size:
        return ()
    numbers = np.minimum(deliveries.bins, DELIVERIES_SHOWN_MAX)
    return tuple(np.bincount(numbers, deliveries.counts).astype(int).tolist()[1:])


def _most_together(presences: Any) -> int:
    """Returns the most clients at the same time, so that a client with a new address counts
    once."""
    first, last = (np.sort(presences[name].to_numpy()) for name in ("first_us", "last_us"))
    gone = np.searchsorted(last, first, side="left")
    return int(np.max(np.arange(1, len(first) + 1) - gone, initial=0))


def _front_end(name: str, table: Any, confidence: float) -> FrontEndParameters:
    """Estimates by slices of time, each of which gives one value."""
    first_us, last_us = table["first_us"][0].as_py(), table["last_us"][0].as_py()
    slice_us = (last_us - first_us + 1) / SLICES
    requests, busy_us = (_per_slice(table, column) for column in ("requests", "busy_us"))
    asked = requests > 0
    latency = {}
    answered = {event: own for event, own in _by(table, "event").items() if event in ANSWERED}
    for event, own in answered.items():
        counts, sums = (_per_slice(own, column) for column in ("requests", "latency_us"))
        mean = _by_slices(sums[counts > 0] / counts[counts > 0] / SECOND_US, confidence)
        if mean is not None:
            latency[event] = mean
    return FrontEndParameters(
        name,
        (last_us - first_us) / SECOND_US,
        _by_slices(requests / slice_us * SECOND_US, confidence),
        _by_slices(busy_us / slice_us, confidence),
        _by_slices(busy_us[asked] / requests[asked] / SECOND_US, confidence),
        latency,
    )


def _per_slice(table: Any, column: str) -> Floats:
    slices, values = table["slice"].to_numpy(), table[column].to_numpy()
    return np.bincount(slices, values, minlength=SLICES).astype(np.float64)


def _by_slices(values: Floats, confidence: float) -> Parameter | None:
    if len(values) < SLICES // 2 or not values.any():
        return None
    found = Estimate(tuple(values.tolist()), confidence, "batches")
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values)) / found.mean
    return Parameter(found.mean, found.low, found.high, found.samples, float(error))
