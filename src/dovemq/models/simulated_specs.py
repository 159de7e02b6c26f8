"""Reads what only simulations know from the table `simulation` of a planning file.

    [simulation.topics.A]
    service = "lognormal:scv=2"          # the mean comes from service_rate
    discipline = "ps"                    # fcfs, ps or preemptive
    room = 20                            # tasks in line and in service
    full = "blocked"                     # or "lost"
    patience = { mean = 5.0, times = "exponential" }
    retry = { mean = 1.0 }
    retry_share = 0.8
    [simulation.jobs.1]
    arrivals = "weibull:shape=0.8"       # the mean comes from arrival_rate
    priority = 1                         # of all its tasks; the smallest number goes first
    batch = 4.0
    batch_sizes = "geometric"            # or "fixed"
    [simulation.jobs.2]
    steps = { rates = [2.0, 6.0], lengths = [8.0, 16.0], linear = false }
    [simulation.jobs.3]
    states = { rates = [1.0, 9.0], switching = [[0.0, 0.1], [0.5, 0.0]] }

Rates of steps and states replace `arrival_rate`, and must have it as their mean; with batches they
are rates of batches. Planning and closed forms refuse the table.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from dovemq.models.arrivals import (
    Arrivals,
    Batches,
    ModulatedPoisson,
    RateSteps,
    Sizes,
    at_rate,
)
from dovemq.models.distributions import Distribution
from dovemq.models.errors import ModelError, ModelSpecInvalid
from dovemq.models.jobs import JobNetwork, JobType, Topic, rate_of
from dovemq.models.named_times import named_time
from dovemq.models.planning.spec import PlanSpec, read_spec
from dovemq.models.specs import SpecTable, read_table, read_tables
from dovemq.models.topic_rules import Discipline, Full, TopicRules


class _Time(SpecTable, frozen=True):
    mean: float
    times: str = "exponential"


class _SimulatedTopic(SpecTable, frozen=True):
    service: str | None = None
    discipline: Discipline = "fcfs"
    room: int | None = None
    full: Full = "lost"
    patience: _Time | None = None
    retry: _Time | None = None
    retry_share: float = 1.0


class _Steps(SpecTable, frozen=True):
    rates: tuple[float, ...]
    lengths: tuple[float, ...]
    linear: bool = False


class _States(SpecTable, frozen=True):
    rates: tuple[float, ...]
    switching: tuple[tuple[float, ...], ...]


class _SimulatedJob(SpecTable, frozen=True):
    arrivals: str | None = None
    steps: _Steps | None = None
    states: _States | None = None
    batch: float = 1.0
    batch_sizes: Sizes = "fixed"
    priority: int = 0


class _Simulation(SpecTable, frozen=True):
    topics: Any = msgspec.field(default_factory=dict)
    jobs: Any = msgspec.field(default_factory=dict)


def read_simulated(content: Mapping[str, Any]) -> tuple[PlanSpec, JobNetwork]:
    """Returns the planning file without the table, and its network with what the table says."""
    rest = {key: value for key, value in content.items() if key != "simulation"}
    spec = read_spec(rest)
    table = read_table(content.get("simulation", {}), _Simulation, "simulation")
    network = spec.problem.network
    topics = dict(read_tables(table.topics, _SimulatedTopic, "simulation.topics"))
    jobs = dict(read_tables(table.jobs, _SimulatedJob, "simulation.jobs"))
    _check_known(topics, [topic.name for topic in network.topics], "simulation.topics")
    _check_known(jobs, [job.name for job in network.jobs], "simulation.jobs")
    changed = JobNetwork(
        tuple(_topic(topic, topics.get(topic.name)) for topic in network.topics),
        tuple(_job(job, jobs.get(job.name)) for job in network.jobs),
    )
    return spec, changed


def _check_known(tables: Mapping[str, Any], names: list[str], place: str) -> None:
    if unknown := [name for name in tables if name not in names]:
        raise ModelSpecInvalid(f"{place}.{unknown[0]}", f"none of {', '.join(names)}")


def _topic(topic: Topic, table: _SimulatedTopic | None) -> Topic:
    if table is None:
        return topic
    place = f"simulation.topics.{topic.name}"
    rules = TopicRules(
        discipline=table.discipline,
        room=table.room,
        full=table.full,
        patience=_time(table.patience, f"{place}.patience"),
        retry=_time(table.retry, f"{place}.retry"),
        retry_share=table.retry_share,
    )
    if table.service is None:
        return replace(topic, rules=rules)
    service = _named(table.service, 1.0 / topic.service_rate, topic.service_scv, place)
    return replace(topic, rules=rules, service=service, service_scv=service.scv)


def _named(text: str, mean: float, scv: float, place: str) -> Distribution:
    """An scv of 1, the default of planning files, says nothing about a named distribution."""
    try:
        return named_time(text, mean, None if scv == 1.0 else scv)
    except ModelError as error:
        raise ModelSpecInvalid(place, str(error)) from error


def _time(table: _Time | None, place: str) -> Distribution | None:
    return None if table is None else _named(table.times, table.mean, 1.0, place)


def _job(job: JobType, table: _SimulatedJob | None) -> JobType:
    if table is None:
        return job
    place = f"simulation.jobs.{job.name}"
    routes = tuple(
        replace(route, tasks=tuple(replace(task, priority=table.priority) for task in route.tasks))
        for route in job.routes
    )
    arrival = _arrivals(job, table, place)
    if arrival is None:
        return replace(job, routes=routes)
    if not math.isclose(rate_of(arrival), job.arrival_rate, rel_tol=1e-6):
        reason = f"has a rate of {rate_of(arrival):g}, and arrival_rate is {job.arrival_rate:g}"
        raise ModelSpecInvalid(place, reason)
    rate = rate_of(arrival)
    return replace(job, routes=routes, arrival=arrival, arrival_scv=arrival.scv, arrival_rate=rate)


def _arrivals(job: JobType, table: _SimulatedJob, place: str) -> Arrivals | None:
    given = [each for each in (table.arrivals, table.steps, table.states) if each is not None]
    if len(given) > 1:
        raise ModelSpecInvalid(place, "arrivals, steps and states exclude each other")
    single = at_rate(job.arrival_time, 1.0 / max(table.batch, 1.0))
    try:
        times: Any = None if table.batch == 1.0 else single
        if table.steps is not None:
            times = RateSteps(table.steps.rates, table.steps.lengths, table.steps.linear)
        elif table.states is not None:
            times = ModulatedPoisson(table.states.rates, table.states.switching)
        elif table.arrivals is not None:
            times = _named(table.arrivals, single.mean, job.arrival_scv, place)
        return times if table.batch == 1.0 else Batches(times, table.batch, table.batch_sizes)
    except ModelSpecInvalid:
        raise
    except ModelError as error:
        raise ModelSpecInvalid(place, str(error)) from error
