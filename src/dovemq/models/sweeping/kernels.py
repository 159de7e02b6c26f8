"""Models of a sweep that the kernels simulate: queues, networks of topics, and `vma`.

`queue` is one logical queue (`planning.partitioned`): M/M/c or GI/G/c, with or without partitions.
`network` is a planning file with other values of keys: `topics.A.consumers`, `load` and so on.
`vma` has the parameters of `dovemq model vma`, where `service_rate` or `threads` are for both
stations, and scvs of its times (`…_scv`).
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final, TypeVar

from dovemq.models.distributions import Distribution, by_moments
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.changes import changed
from dovemq.models.planning.partitioned import PartitionedQueue
from dovemq.models.planning.spec import read_spec
from dovemq.models.simulation import (
    NetworkResult,
    SimulationRun,
    TandemResult,
    simulate_network,
    simulate_tandem,
)
from dovemq.models.simulation.columns import SimulationResult
from dovemq.models.sweeping.trials import (
    Measure,
    Question,
    Trial,
    Value,
    check_names,
    chosen,
    number,
    value_of,
    whole,
)
from dovemq.models.vma.parameters import VmaParameters, timed_vma

M = TypeVar("M")
R = TypeVar("R", bound=SimulationResult)

_QUEUE: Final = tuple(field.name for field in fields(PartitionedQueue))
_CONSUMERS: Final = "consumers"


def _summed(parts: list[Estimate], weights: list[float]) -> Estimate:
    """Returns the weighted mean of the values of one replication; unknown values do not count."""
    known = [
        (part.values[0], weight)
        for part, weight in zip(parts, weights, strict=True)
        if part.values and weight
    ]
    whole_weight = sum(weight for _, weight in known)
    values = (sum(value * weight for value, weight in known) / whole_weight,) if known else ()
    return Estimate(values, parts[0].confidence)


def _waiting_time(found: NetworkResult) -> Estimate:
    """The wait for the consumers of all partitions, weighted by the messages they served."""
    own = [each for name, each in found.stations.items() if name.startswith(_CONSUMERS)]
    return _summed([each.wait for each in own], [value_of(each.throughput) for each in own])


def _waiting(found: NetworkResult) -> Estimate:
    own = [each.waiting for name, each in found.stations.items() if name.startswith(_CONSUMERS)]
    return Estimate((sum(map(value_of, own)),), own[0].confidence)


def _utilisation(found: NetworkResult) -> Estimate:
    servers = {topic.name: topic.consumers for topic in found.network.topics}
    names = [name for name in found.stations if name.startswith(_CONSUMERS)]
    parts = [found.stations[name].busy for name in names]
    return _summed(parts, [float(servers[name]) for name in names])


_OF_QUEUE: Final[Mapping[str, Measure[NetworkResult]]] = {
    "sojourn_time": lambda found: found.sojourn,
    "waiting_time": _waiting_time,
    "waiting": _waiting,
    "number": lambda found: found.in_system,
    "utilisation": _utilisation,
    "throughput": lambda found: found.throughput_of["message"],
}
_OF_JOB: Final = {
    "response_time": "sojourn_of",
    "jobs_in_progress": "in_system_of",
    "throughput": "throughput_of",
}
_OF_TOPIC: Final = {"utilisation": "busy", "waiting": "waiting", "waiting_time": "wait"}


def prepare_queue(values: Mapping[str, Value], question: Question) -> Trial:
    check_names(values, _QUEUE)
    counts = {name: whole(values, name, 1) for name in ("consumers", "partitions")}
    others = {name: number(values, name) for name in values if name not in counts}
    for name in ("arrival_rate", "service_rate"):
        number(values, name)
    queue = PartitionedQueue(**others, **counts)  # type: ignore[arg-type]  # counts are whole
    measures = chosen(question.measures, _OF_QUEUE, {"sojourn": None})
    return _network_trial(queue.network(), measures, question)


def prepare_network(values: Mapping[str, Value], question: Question) -> Trial:
    if not isinstance(question.source, Mapping):
        raise ModelSpecInvalid("file", "missing: a network needs its planning file")
    network = read_spec(changed(question.source, values)).problem.network
    quantiles = {"response": None, **{f"response:{job.name}": job.name for job in network.jobs}}
    measures = chosen(question.measures, _of_network(network), quantiles)
    return _network_trial(network, measures, question)


def _of_job(figure: str, name: str, found: NetworkResult) -> Estimate:
    by_name: Mapping[str, Estimate] = getattr(found, figure)
    return by_name[name]


def _of_topic(figure: str, name: str, found: NetworkResult) -> Estimate:
    own: Estimate = getattr(found.stations[name], figure)
    return own


def _of_network(network: JobNetwork) -> dict[str, Measure[NetworkResult]]:
    """The measures of all jobs, of a job (`response_time:1`), of a topic (`utilisation:A`)."""
    measures: dict[str, Measure[NetworkResult]] = {
        "response_time": lambda found: found.sojourn,
        "work_in_progress": lambda found: found.in_stations,
        "jobs_in_progress": lambda found: found.in_system,
    }
    for job in network.jobs:
        for named, figure in _OF_JOB.items():
            measures[f"{named}:{job.name}"] = functools.partial(_of_job, figure, job.name)
    for topic in network.topics:
        for named, figure in _OF_TOPIC.items():
            measures[f"{named}:{topic.name}"] = functools.partial(_of_topic, figure, topic.name)
    return measures


def _network_trial(
    network: JobNetwork, measures: list[Measure[NetworkResult]], question: Question
) -> Trial:
    return _trial(network, simulate_network, measures, question, not network.unstable)


def _trial(
    model: M,
    simulate: Callable[[M, SimulationRun], R],
    measures: list[Measure[R]],
    question: Question,
    stable: bool,
) -> Trial:
    def replicate(seed: int, replication: int) -> tuple[float, ...]:
        found = simulate(model, question.run(seed, replication))
        return tuple(value_of(measure(found)) for measure in measures)

    return Trial(replicate, stable)


_BOTH: Final = {
    "service_rate": ("sender_rate", "broker_rate"),
    "threads": ("sender_threads", "broker_threads"),
}
_TEXTS: Final = {"order": "out", "failure": "ideal"}
_VMA: Final = (
    "arrival_rate",
    *_BOTH,
    *(name for names in _BOTH.values() for name in names),
    "arrival_scv",
    "sender_scv",
    "broker_scv",
    "reliability",
    *_TEXTS,
    "visibility_timeout",
    "link_delay",
)
_OF_VMA: Final[Mapping[str, Measure[TandemResult]]] = {
    "delivery_time": lambda found: found.sojourn,
    "sending_time": lambda found: found.sending,
    "waiting": lambda found: found.waiting,
    "number": lambda found: found.in_system,
    "sender_utilisation": lambda found: found.sender_busy,
    "broker_utilisation": lambda found: found.broker_busy,
    "sender_any_busy": lambda found: found.sender_any_busy,
    "broker_any_busy": lambda found: found.broker_any_busy,
    "throughput": lambda found: found.throughput,
    "gets": lambda found: found.leases,
}


def prepare_vma(values: Mapping[str, Value], question: Question) -> Trial:
    tandem = tandem_of(values)
    measures = chosen(question.measures, _OF_VMA, {"delivery": None})
    return _trial(tandem, simulate_tandem, measures, question, not tandem.overloaded)


def tandem_of(values: Mapping[str, Value]) -> VmaParameters:
    check_names(values, _VMA)
    given = dict(values)
    for name, own in _BOTH.items():
        if name in given:
            given = {**dict.fromkeys(own, given[name]), **given}
    return timed_vma(
        arrival=_time(given, "arrival"),
        sender=_time(given, "sender"),
        broker=_time(given, "broker"),
        sender_threads=whole(given, "sender_threads"),
        broker_threads=whole(given, "broker_threads"),
        reliability=number(given, "reliability", 1.0),
        **{name: _text(given, name) for name in _TEXTS},
        **{name: number(given, name, 0.0) for name in ("visibility_timeout", "link_delay")},
    )


def _time(values: Mapping[str, Value], name: str) -> Distribution:
    rate = number(values, f"{name}_rate")
    if not rate > 0:
        raise ModelSpecInvalid(f"{name}_rate", f"{rate:g}: a number above 0 is needed")
    return by_moments(1.0 / rate, number(values, f"{name}_scv", 1.0))


def _text(values: Mapping[str, Value], name: str) -> str:
    value = values.get(name, _TEXTS[name])
    if not isinstance(value, str):
        raise ModelSpecInvalid(name, f"{value!r} is not a text")
    return value
