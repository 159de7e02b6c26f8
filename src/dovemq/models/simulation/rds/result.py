"""Simulation of the queue system of `rds`, and its results as estimates with their intervals."""

from dataclasses import dataclass
from functools import partial

from dovemq.models.estimates import Estimate
from dovemq.models.simulation.columns import SeriesColumns, SimulationResult
from dovemq.models.simulation.rds.kernel import advance
from dovemq.models.simulation.rds.parameters import RdsParameters
from dovemq.models.simulation.rds.state import grown, rds_arrays, rds_layout
from dovemq.models.simulation.runs import Progress, SimulationRun, simulated


@dataclass(frozen=True, slots=True)
class RdsResult(SimulationResult):
    """The sojourn of a message lasts from its send until a controller has received it.

    throughput         messages received a second
    hit_rate           share of the accesses to queues that find messages
    messages_per_hit   messages that an access finds, if it finds any
    busy               share of the time in which a queue's server works
    stored             messages in the queues, over time
    parked             parked requests, over time
    miss_cost          share of the servers' time that misses take
    rate_of            accesses, requests and refused requests a second, by name
    """

    system: RdsParameters
    throughput: Estimate
    hit_rate: Estimate
    messages_per_hit: Estimate
    busy: Estimate
    stored: Estimate
    parked: Estimate
    miss_cost: Estimate
    rate_of: dict[str, Estimate]


def simulate_dequeues(
    system: RdsParameters, run: SimulationRun, progress: Progress | None = None
) -> RdsResult:
    """Runs all replications; calls `progress` with the number done, from this thread."""
    places = rds_layout()
    warm_up, replications = simulated(
        run, partial(rds_arrays, system), advance, grown, places, progress
    )
    columns = SeriesColumns(replications, run, places)
    load = 0.0 if system.senders else system.enqueue_rate / system.full_batches_rate
    accesses = columns.sums("hits") + columns.sums("misses")
    names = ("hits", "misses", "looks", "requests", "refused", "answered", "woken", "sent")
    return RdsResult(
        system=system,
        unstable=("queues",) if load >= 1 else (),
        throughput=columns.over_time("done"),
        hit_rate=columns.quotient(columns.sums("hits"), accesses),
        messages_per_hit=columns.each("done", "hits"),
        busy=columns.over_time("busy", per=system.queues),
        stored=columns.over_time("stored"),
        parked=columns.over_time("parked"),
        miss_cost=columns.over_time("misses", per=system.queues / (system.miss_cost or 1.0)),
        rate_of={name: columns.over_time(name) for name in names},
        **columns.shared(("message",), system.hit_cost, ("sent", "hits", "misses"), warm_up),
    )
