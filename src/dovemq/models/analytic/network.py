"""Open networks of GI/G/m topics with several job types (`elastic`).

Each topic is a GI/G/m station (`approximate.py`) whose arrivals' variability comes from the flows
(`flows.py`); classes that meet at a topic wait alike. Exact for Poisson arrivals and exponential
service; otherwise an approximation, whose error against simulations is in the docs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models import checks
from dovemq.models.analytic.approximate import ALLEN_CUNNEEN, ggm
from dovemq.models.analytic.completion import TimeMoments, completion
from dovemq.models.analytic.erlang import erlang_c
from dovemq.models.analytic.flows import Flows, flows
from dovemq.models.analytic.headroom import Headroom, headroom
from dovemq.models.analytic.percentiles import response_quantile
from dovemq.models.analytic.station import Station
from dovemq.models.checks import Flags, Floats
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.jobs import JobNetwork, JobType

_STEP: Final = 1e-5
"""Relative step of the numerical slopes; their error is of the order of its square."""
_FACTOR_MIN: Final = 1e-12
"""The factor that stands for no load, since a time per job needs jobs."""


@dataclass(frozen=True, slots=True)
class NetworkMeasures:
    """Figures of topics or of jobs lie along the last axis in the order of the network.

    `wip` is Σ L_j, the tasks in progress. `response_time` is from the arrival of a job to the end
    of its last task, and `time_per_job` its mean over all jobs; for chains that is wip over the
    rate of all jobs.
    """

    topics: Station
    arrival_scvs: Floats
    wip: Floats
    time_per_job: Floats
    response_time: Floats
    response_time_deviation: Floats

    @property
    def stable(self) -> Flags:
        return np.asarray(self.topics.stable.all(axis=-1))

    @property
    def response(self) -> TimeMoments:
        return TimeMoments(self.response_time, self.response_time_deviation**2)


@dataclass(frozen=True, slots=True)
class NetworkSensitivity:
    """Numerical slopes of the work in progress; `per_consumer` is for one more at a topic."""

    per_arrival_rate: Floats
    per_service_rate: Floats
    per_consumer: Floats


def network_measures(
    network: JobNetwork,
    consumers: ArrayLike | None = None,
    factor: ArrayLike = 1.0,
    approximation: str = ALLEN_CUNNEEN,
) -> NetworkMeasures:
    """Evaluates the consumers of the network, or others along the last axis of `consumers`.

    `factor` multiplies every arrival rate.
    """
    found = flows(network)
    servers = _consumers(network, consumers)
    times = checks.positive(factor, "factor")[..., None]
    topics, scvs = _topics(found, servers, times, approximation)
    spans = _sojourns(network, topics, found)
    wip = np.sum(topics.number, axis=-1)
    response = _responses(network, spans, wip.shape)
    return NetworkMeasures(
        topics=topics,
        arrival_scvs=scvs,
        wip=wip,
        time_per_job=mean_per_job(network, response.mean),
        response_time=response.mean,
        response_time_deviation=np.sqrt(response.variance),
    )


def service_times(network: JobNetwork) -> TimeMoments:
    """Returns the response times of jobs that never wait, along the last axis."""
    spans = {
        topic.name: TimeMoments(
            np.asarray(1.0 / topic.service_rate),
            np.asarray(topic.service_scv / topic.service_rate**2),
        )
        for topic in network.topics
    }
    return _responses(network, spans, ())


def _responses(
    network: JobNetwork, spans: Mapping[str, TimeMoments], shape: tuple[int, ...]
) -> TimeMoments:
    jobs = [_response(job, spans) for job in network.jobs]
    return TimeMoments(
        np.stack([np.broadcast_to(job.mean, shape) for job in jobs], axis=-1),
        np.stack([np.broadcast_to(job.variance, shape) for job in jobs], axis=-1),
    )


def mean_per_job(network: JobNetwork, times: Floats) -> Floats:
    """Returns the mean of times along the last axis over all jobs that arrive."""
    rates = np.array([job.arrival_rate for job in network.jobs])
    arrive = rates > 0.0
    total: Floats = times[..., arrive] @ rates[arrive] / network.job_rate
    return total


def network_headroom(
    network: JobNetwork, time_per_job_max: float, level: float | None = None
) -> Headroom:
    """Headroom of all arrival rates together; `arrival_rate_max` is the rate of all jobs.

    With a level, every type of job must have its quantile within the time.
    """
    target = checks.positive(time_per_job_max, "time_per_job_max")
    found = flows(network)
    loads = found.rates / (found.service_rates * _consumers(network, None))
    arriving = np.asarray(network.job_rate)
    arrive = np.array([job.arrival_rate > 0.0 for job in network.jobs])

    def time_at(rate: Floats) -> Floats:
        factor = np.maximum(rate / arriving, _FACTOR_MIN)
        measures = network_measures(network, factor=factor)
        if level is None:
            return measures.time_per_job
        longest: Floats = response_quantile(measures.response, level)[..., arrive].max(axis=-1)
        return longest

    return headroom(time_at, arriving, np.asarray(arriving / loads.max()), target)


def network_sensitivity(network: JobNetwork) -> NetworkSensitivity:
    """Every figure is NaN where the network is unstable."""
    now = network_measures(network).wip
    more = _consumers(network, None) + np.eye(len(network.topics))
    with np.errstate(invalid="ignore"):
        per_job = [_slope(network, "jobs", job, "arrival_rate") for job in network.jobs]
        per_topic = [_slope(network, "topics", topic, "service_rate") for topic in network.topics]
        per_consumer = network_measures(network, more).wip - now
    return NetworkSensitivity(np.array(per_job), np.array(per_topic), per_consumer)


def _topics(
    found: Flows, servers: Floats, factor: Floats, approximation: str
) -> tuple[Station, Floats]:
    scvs = found.arrival_scvs(servers, factor)
    rates = found.rates * factor
    topics = ggm(rates, scvs, found.service_rates, found.service_scvs, servers, approximation)
    return topics, scvs


def _slope(network: JobNetwork, kind: str, part: Any, rate: str) -> float:
    """Returns the slope of the work in progress by a rate of one of the jobs or topics."""
    value: float = getattr(part, rate)
    step = _STEP * (value or 1.0)
    low, high = max(value - step, 0.0), value + step
    wips = []
    for at in (low, high):
        other = replace(part, **{rate: at})
        parts: Any = tuple(other if each is part else each for each in getattr(network, kind))
        changed = replace(network, **{kind: parts})
        topics, _ = _topics(flows(changed), _consumers(changed, None), np.ones(1), ALLEN_CUNNEEN)
        wips.append(float(topics.number.sum()))
    return (wips[1] - wips[0]) / (high - low)


def _consumers(network: JobNetwork, consumers: ArrayLike | None) -> Floats:
    if consumers is None:
        return np.array([topic.consumers for topic in network.topics], dtype=np.float64)
    found = np.atleast_1d(checks.servers(consumers, "consumers"))
    if found.shape[-1] != len(network.topics):
        raise ModelSpecInvalid(
            "consumers", f"{found.shape[-1]} were given for {len(network.topics)} topics"
        )
    return found


def _sojourns(network: JobNetwork, topics: Station, found: Flows) -> dict[str, TimeMoments]:
    """Takes the wait of tasks that wait as exponential and as frequent as it is in M/M/m."""
    markov = erlang_c(topics.load, topics.servers)
    waits = np.where(markov > 0.0, markov, 1.0)
    known = np.where(topics.stable, topics.waiting_time, 0.0)
    spread = known * (2.0 * (known / waits) - known) + found.service_scvs / found.service_rates**2
    variance = np.where(topics.stable, spread, np.inf)
    return {
        topic.name: TimeMoments(topics.sojourn_time[..., place], variance[..., place])
        for place, topic in enumerate(network.topics)
    }


def _response(job: JobType, spans: Mapping[str, TimeMoments]) -> TimeMoments:
    """Combines the routes by share; a route of share 0 does not count, even if unstable."""
    taken = [(route.share, completion(route.tasks, spans)) for route in job.routes if route.share]
    mean = sum((share * span.mean for share, span in taken), start=np.zeros(()))
    finite = np.isfinite(mean)
    second = sum(
        (share * (span.variance + span.mean**2) for share, span in taken), start=np.zeros(())
    )
    known = np.where(finite, mean, 0.0)
    return TimeMoments(mean, np.where(finite, np.where(finite, second, 0.0) - known**2, np.inf))
