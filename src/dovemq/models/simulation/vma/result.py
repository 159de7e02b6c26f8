"""Simulation of the tandem of `vma`, and its results as estimates with their intervals."""

from dataclasses import dataclass
from functools import partial

from dovemq.models.estimates import Estimate
from dovemq.models.simulation.columns import SeriesColumns, SimulationResult
from dovemq.models.simulation.runs import Progress, SimulationRun, simulated
from dovemq.models.simulation.vma.kernel import advance
from dovemq.models.simulation.vma.state import (
    grown,
    scale_of,
    tandem_arrays,
    tandem_layout,
)
from dovemq.models.vma.parameters import VmaParameters


@dataclass(frozen=True, slots=True)
class TandemResult(SimulationResult):
    """The sojourn lasts from production to the first receive.

    sending          the part of the sojourn until the message is at the broker
    resting          the part from there to the first lease; service and retries follow
    sender_waiting   messages that wait for a thread of the sender, over time
    visible          messages at the broker that are visible and not leased, over time
    waiting          the sum of both: the waiting number of Fig. 12 in the paper
    …_busy           share of the threads that are busy, over time
    …_any_busy       share of the time in which at least one thread is busy
    throughput       messages received for the first time per unit of time
    leases, expired, repeated    leases, ended timeouts, further receives per message received
    record           columns time, message, event (a place in EVENTS), kind (a place in the classes)
    """

    tandem: VmaParameters
    sending: Estimate
    resting: Estimate
    sender_waiting: Estimate
    visible: Estimate
    waiting: Estimate
    sender_busy: Estimate
    broker_busy: Estimate
    sender_any_busy: Estimate
    broker_any_busy: Estimate
    throughput: Estimate
    leases: Estimate
    expired: Estimate
    repeated: Estimate


def simulate_tandem(
    tandem: VmaParameters, run: SimulationRun, progress: Progress | None = None
) -> TandemResult:
    """Runs all replications; calls `progress` with the number done, from this thread."""
    tandem.check_simulable()
    run.check_arrivals(1.0 / tandem.arrival_time.mean)
    places = tandem_layout(tandem)
    warm_up, replications = simulated(
        run, partial(tandem_arrays, tandem), advance, grown, places, progress
    )
    columns = SeriesColumns(replications, run, places)
    names = [each.name for each in tandem.classes]
    counted = ("arrived", "send_started", "sent", "leased", "served")
    return TandemResult(
        tandem=tandem,
        unstable=tandem.overloaded,
        sending=columns.each("sending"),
        resting=columns.each("resting"),
        sender_waiting=columns.over_time("sender_waiting"),
        visible=columns.over_time("visible"),
        waiting=columns.over_time("sender_waiting", "visible"),
        sender_busy=columns.over_time("sender_busy", per=float(tandem.sender_threads)),
        broker_busy=columns.over_time("broker_busy", per=float(tandem.broker_threads)),
        sender_any_busy=columns.over_time("sender_any_busy"),
        broker_any_busy=columns.over_time("broker_any_busy"),
        throughput=columns.over_time("received"),
        leases=columns.each("leased"),
        expired=columns.each("expired"),
        repeated=columns.each("repeated"),
        **columns.shared(names, scale_of(tandem), counted, warm_up),
    )
