"""Simulated traces: arrivals, services and failures drawn with known parameters."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovemq.models.distributions import Deterministic, Distribution, Exponential, HyperExponential
from dovemq.telemetry.columns import SCHEMA

BEGAN_US = 1_750_000_000_000_000
QUEUE = "000000000000/orders"
TIMEOUT_US = 5_000_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Times in seconds. Each job type has its own arrivals; a failed delivery takes work as
    well."""

    arrivals: Mapping[str | None, Distribution]
    service: Distribution
    consumers: int = 3
    failure_probability: float = 0.0
    messages: int = 2_000


def drawn(distribution: Distribution, count: int, rng: np.random.Generator) -> Floats:
    if isinstance(distribution, HyperExponential):
        phases = rng.choice(len(distribution.shares), count, p=distribution.shares)
        return rng.exponential(np.array(distribution.means)[phases])
    if isinstance(distribution, Deterministic):
        return np.full(count, distribution.mean)
    if isinstance(distribution, Exponential):
        return rng.exponential(distribution.mean, count)
    shape = 1.0 / distribution.scv
    return rng.gamma(shape, distribution.mean / shape, count)


def simulated_trace(world: World, seed: int, queue: str = QUEUE) -> Any:
    """Returns a table with the schema of a trace and unsorted rows."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    waiting: list[tuple[int, int, int, str | None]] = []
    for job, arrivals in world.arrivals.items():
        times = np.cumsum(drawn(arrivals, world.messages, rng))
        waiting += [(int(1e6 * time), 1, at, job) for at, time in enumerate(times)]
    if len(world.arrivals) > 1:
        # A stream that has ended would reduce the load of the others.
        least = min(max(each[0] for each in waiting if each[3] == job) for job in world.arrivals)
        waiting = [each for each in waiting if each[0] <= least]
    rows += [_sent(*each) for each in waiting]
    heapq.heapify(waiting)
    free = [(0, consumer) for consumer in range(world.consumers)]
    services = iter(drawn(world.service, 4 * len(waiting) + 100, rng))
    number = 0
    while waiting:
        visible, count, at, job = heapq.heappop(waiting)
        asked, consumer = heapq.heappop(free)
        number += 1
        start = max(visible, asked)
        end = start + int(1e6 * next(services))
        rows.append(_leased(start, count, at, job, number, consumer, asked))
        if rng.random() < world.failure_probability:
            heapq.heappush(waiting, (max(end, start + TIMEOUT_US), count + 1, at, job))
        else:
            rows.append(_settled(end, count, at, job, consumer))
        heapq.heappush(free, (end, consumer))
    rng.shuffle(rows)
    return trace_of(rows, queue)


def trace_of(rows: Sequence[Mapping[str, Any]], queue: str = QUEUE) -> Any:
    """Returns rows of a front end with its own clients."""
    whole = {"queue": queue, "partition": 0, "front_end": queue}
    columns = {
        field.name: pa.repeat(whole[field.name], len(rows)).cast(_plain(field.type))
        if field.name in whole
        else pa.array([row.get(field.name) for row in rows], _plain(field.type))
        for field in SCHEMA
    }
    return pa.table(columns).cast(SCHEMA)


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _message(at: int, job: str | None) -> dict[str, Any]:
    return {
        "message_id": f"{job}-{at}",
        "sender": "000000000000",
        "send_seq": at + 1,
        "job_type": job,
    }


def _sent(time: int, _: int, at: int, job: str | None) -> dict[str, Any]:
    ts = BEGAN_US + time
    return {**_message(at, job), "event": "sent", "ts_us": ts, "at_us": ts, "client": "sender"}


def _leased(
    start: int, count: int, at: int, job: str | None, number: int, consumer: int, asked: int
) -> dict[str, Any]:
    ts = BEGAN_US + start
    return {
        **_message(at, job),
        "event": "leased",
        "ts_us": ts,
        "it_us": ts,
        "ot_us": ts,
        "latency_us": start - asked,
        "receive_seq": number,
        "receive_count": count,
        "client": f"consumer {consumer}",
    }


def _settled(end: int, count: int, at: int, job: str | None, consumer: int) -> dict[str, Any]:
    ts = BEGAN_US + end
    return {
        "event": "settled",
        "ts_us": ts,
        "ot_us": ts,
        "latency_us": 0,
        "message_id": f"{job}-{at}",
        "send_seq": at + 1,
        "receive_count": count,
        "client": f"consumer {consumer}",
    }


def front_end_trace(service: Distribution, utilisation: float, requests: int, seed: int) -> Any:
    """Simulates sends at a front end that serves one after another, with Poisson arrivals."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(service.mean / utilisation, requests))
    ends, free = [], 0.0
    for arrival, time in zip(arrivals, drawn(service, requests, rng), strict=True):
        free = max(free, float(arrival)) + float(time)
        ends.append(free)
    rows = []
    for at, (arrival, end) in enumerate(zip(arrivals, ends, strict=True)):
        asked, answered = int(1e6 * arrival), int(1e6 * end)
        row = _sent(answered, 1, at, None)
        row |= {"ot_us": BEGAN_US + answered, "latency_us": answered - asked}
        rows.append({**row, "client": f"sender {at % 50}"})
    return trace_of(rows, f"000000000000/{seed}")
