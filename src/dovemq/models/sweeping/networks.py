"""Queues and networks of topics, by the kernel of networks.

`queue` is one logical queue (`planning.partitioned`): M/M/c, GI/G/c, with partitions or without.
`network` is a planning file whose keys are changed: `topics.A.consumers`, `load` and so on.
"""

import functools
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.changes import changed
from dovemq.models.planning.partitioned import PartitionedQueue
from dovemq.models.planning.spec import read_spec
from dovemq.models.simulation import NetworkResult, simulate_network
from dovemq.models.sweeping.trials import (
    Measure,
    Quantile,
    Question,
    Trial,
    Value,
    check_names,
    chosen,
    number,
    value_of,
    whole,
)

_QUEUE: Final = tuple(field.name for field in fields(PartitionedQueue))
_CONSUMERS: Final = "consumers"


def _summed(parts: list[Estimate], weights: list[float]) -> Estimate:
    """Of one replication: the parts' only values, weighted; unknown ones weigh nothing."""
    known = [
        (part.values[0], weight)
        for part, weight in zip(parts, weights, strict=True)
        if part.values and weight
    ]
    whole_weight = sum(weight for _, weight in known)
    values = (sum(value * weight for value, weight in known) / whole_weight,) if known else ()
    return Estimate(values, parts[0].confidence)


def _waiting_time(found: NetworkResult) -> Estimate:
    """At the consumers of all partitions, each by the messages that it has served."""
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
_QUANTILES_OF_QUEUE: Final[Mapping[str, Quantile[NetworkResult]]] = {
    "sojourn": lambda found, level: found.quantile(level)
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
    measures = chosen(question.measures, _OF_QUEUE, _QUANTILES_OF_QUEUE)
    return _trial(queue.network(), measures, question)


def prepare_network(values: Mapping[str, Value], question: Question) -> Trial:
    if not isinstance(question.source, Mapping):
        raise ModelSpecInvalid("file", "absent: a network needs its planning file")
    network = read_spec(changed(question.source, values)).problem.network
    measures, quantiles = _of_network(network)
    return _trial(network, chosen(question.measures, measures, quantiles), question)


def _of_job(figure: str, name: str, found: NetworkResult) -> Estimate:
    by_name: Mapping[str, Estimate] = getattr(found, figure)
    return by_name[name]


def _of_topic(figure: str, name: str, found: NetworkResult) -> Estimate:
    own: Estimate = getattr(found.stations[name], figure)
    return own


def _quantile_of_job(name: str, found: NetworkResult, level: float) -> Estimate:
    return found.quantile(level, name)


def _of_network(
    network: JobNetwork,
) -> tuple[dict[str, Measure[NetworkResult]], dict[str, Quantile[NetworkResult]]]:
    """Of all jobs, of a job (`response_time:1`), of a topic (`utilisation:A`)."""
    measures: dict[str, Measure[NetworkResult]] = {
        "response_time": lambda found: found.sojourn,
        "work_in_progress": lambda found: found.in_stations,
        "jobs_in_progress": lambda found: found.in_system,
    }
    quantiles: dict[str, Quantile[NetworkResult]] = {
        "response": lambda found, level: found.quantile(level)
    }
    for job in network.jobs:
        for named, figure in _OF_JOB.items():
            measures[f"{named}:{job.name}"] = functools.partial(_of_job, figure, job.name)
        quantiles[f"response:{job.name}"] = functools.partial(_quantile_of_job, job.name)
    for topic in network.topics:
        for named, figure in _OF_TOPIC.items():
            measures[f"{named}:{topic.name}"] = functools.partial(_of_topic, figure, topic.name)
    return measures, quantiles


def _trial(
    network: JobNetwork, measures: list[Measure[NetworkResult]], question: Question
) -> Trial:
    def replicate(seed: int, replication: int) -> tuple[float, ...]:
        found = simulate_network(network, question.run(seed, replication))
        return tuple(value_of(measure(found)) for measure in measures)

    return Trial(replicate, all(load < 1 for load in network.loads().values()))
